"""An app as its developers set it up, and its bots: one per workspace it is installed in."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tests.emulators.slack.faults import Fault, Faults
from tests.emulators.slack.push import Delivery, Pusher, encoded
from tests.emulators.slack.sockets import Sockets

if TYPE_CHECKING:
    from tests.emulators.slack.members import Member
    from tests.emulators.slack.server import Slack
    from tests.emulators.slack.workspace import Workspace

Json = dict[str, Any]
Siblings = Literal["message first", "mention first", "message only", "mention only"]


@dataclass(slots=True, kw_only=True, eq=False)
class App:
    """`events` are the subscriptions of its manifest (`message.channels`, `app_mention`, …); None: all of them.

    `siblings` says how a mention where the bot is a member arrives. The next `twice` events are delivered twice although
    acknowledged. With `socket_mode` nothing goes to the URLs.
    """

    slack: Slack
    id: str
    name: str
    signing_secret: str = field(default_factory=lambda: secrets.token_hex(16))
    verification_token: str = field(default_factory=lambda: secrets.token_hex(12))
    app_token: str = ""
    events_url: str | None = None
    commands_url: str | None = None  # None: the same
    socket_mode: bool = False
    events: frozenset[str] | None = None
    siblings: Siblings = "message first"
    twice: int = 0
    bots: list[Bot] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    sockets: Sockets = field(init=False)

    def __post_init__(self) -> None:
        self.sockets = Sockets(slack=self.slack, app=self)

    @property
    def pusher(self) -> Pusher:
        return self.slack.pusher

    def will(self, method: str, *faults: Fault | None) -> None:
        """Let the next calls with the app-level token meet these (`faults.py`)."""
        self.faults.will(method, *faults)

    def wants(self, event: Json) -> bool:
        """True if the app subscribed to such an event."""
        if self.events is None:
            return True
        kind = {"channel": "channels", "group": "groups"}.get(event.get("channel_type", ""), event.get("channel_type"))
        return (f"message.{kind}" if event["type"] == "message" else event["type"]) in self.events

    async def subscribe(self, url: str) -> Delivery:
        """Set the events URL as the app's page does: with a challenge that must come back. AssertionError if it does not."""
        payload = {
            "token": self.verification_token,
            "challenge": secrets.token_urlsafe(39),
            "type": "url_verification",
        }
        delivery = await self.pusher.once(
            self,
            url=url,
            body=encoded(payload),
            content_type="application/json",
            kind="url_verification",
            payload=payload,
        )
        returned = payload["challenge"].encode() in delivery.body
        assert returned, f"{url} did not return the challenge: {delivery.failed or delivery.status}"
        self.events_url = url
        return delivery

    async def inject(self, body: Json) -> Delivery:
        """Deliver any JSON at all, once and signed: recorded payloads, nonsense."""
        return await self.pusher.once(
            self,
            url=self.events_url,
            body=encoded(body),
            content_type="application/json",
            kind="events_api",
            payload=body,
        )

    async def tell_rate_limited(self, workspace: Workspace) -> None:
        """Tell that events are being held back (30,000 an hour): an outer event without an inner one."""
        payload = {
            "token": self.verification_token,
            "type": "app_rate_limited",
            "team_id": workspace.id,
            "minute_rate_limited": int(self.slack.clock.now()) // 60 * 60,
            "api_app_id": self.id,
        }
        self.pusher.event(self, payload, chain=workspace.id)


@dataclass(slots=True, kw_only=True, eq=False)
class Bot:
    """An installation: the app's account in a workspace. `scopes` None: all; `revoked` is the error its token meets."""

    app: App
    workspace: Workspace
    user: Member
    token: str
    scopes: frozenset[str] | None = None
    revoked: str | None = None

    @property
    def id(self) -> str:
        """The account's id (`U…`)."""
        return self.user.id

    @property
    def bot_id(self) -> str:
        """The bot's (`B…`)."""
        assert self.user.bot_id is not None
        return self.user.bot_id

    @property
    def mention(self) -> str:
        return self.user.mention
