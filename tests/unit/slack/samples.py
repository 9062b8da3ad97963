"""Hand-made Slack payloads, for what no recording holds; shapes as in the recordings."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from adapters.base import InboundEvent
from adapters.slack.authors import Identity
from adapters.slack.bolt import dispatcher
from adapters.slack.parse import Ignored, parse
from config.channels.slack import SlackSettings

ME = Identity(team="T1", user="UBOT", bot="BBOT", name="clew")
TS = "1700000000.000100"


def callback(event: dict[str, Any], **outer: Any) -> dict[str, Any]:
    """An event callback for the installation `ME`."""
    authorizations = [{"team_id": "T1", "user_id": "UBOT", "is_bot": True, "enterprise_id": None}]
    body = {"type": "event_callback", "team_id": "T1", "api_app_id": "A1", "event_id": "Ev1", "event": event}
    return {**body, "authorizations": authorizations, **outer}


def message(text: str = "hello", **fields: Any) -> dict[str, Any]:
    """A message of Ann's in an open channel."""
    said = {"type": "message", "user": "U1", "team": "T1", "text": text, "ts": TS}
    return {**said, "channel": "C1", "channel_type": "channel", **fields}


def read(event: dict[str, Any], *, reply_in_thread: bool = True, **outer: Any) -> InboundEvent | Ignored:
    """Parse an event as the channel `acme` does."""
    return parse(callback(event, **outer), channel="acme", me=ME, reply_in_thread=reply_in_thread)


async def dispatched(
    body: dict[str, Any], *, me: Identity = ME, fault: Exception | None = None
) -> tuple[list[InboundEvent | Ignored], web.Response]:
    """Send a body through Bolt, as the channel `acme` does; return what was taken and what Slack is answered. `fault` is what
    taking it raises."""
    taken: list[InboundEvent | Ignored] = []

    async def take(event: InboundEvent | Ignored) -> None:
        if fault is not None:
            raise fault
        taken.append(event)

    client = AsyncWebClient(token="xoxb-1", base_url="http://127.0.0.1:9/api/")
    settings = SlackSettings.model_validate({"bot_token": "xoxb-1", "signing_secrets": ["s"]})
    answer = await dispatcher("acme", settings=settings, client=client, me=me, take=take)(body)
    return taken, answer
