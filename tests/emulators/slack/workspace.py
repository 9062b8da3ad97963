"""A workspace: its people, channels and bots, what its Web API was asked, and which rules were broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.emulators.slack.apps import App, Bot
from tests.emulators.slack.channels import Channel, Kind, as_member
from tests.emulators.slack.faults import Call, Fault, Faults
from tests.emulators.slack.limits import Limits, Violation
from tests.emulators.slack.members import Member

if TYPE_CHECKING:
    from tests.emulators.slack.server import Slack

Json = dict[str, Any]
LOCALES = {"en": "en-US", "zh": "zh-CN", "de": "de-DE", "fr": "fr-FR", "ja": "ja-JP"}
PREFIX: dict[Kind, str] = {"channel": "C", "group": "C", "im": "D", "mpim": "C"}


@dataclass(slots=True, kw_only=True, eq=False)
class Workspace:
    """`unfurls`: links that may be unfurled are, with a `message_changed`. `reply_counters`: each reply changes its root, too."""

    slack: Slack
    id: str
    name: str
    domain: str
    enterprise: str | None = None
    unfurls: bool = True
    reply_counters: bool = False
    members: dict[str, Member] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    bots: list[Bot] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    limits: Limits = field(default_factory=Limits)

    @property
    def violations(self) -> list[Violation]:
        """The platform's rate limits as they were broken (`limits.py`)."""
        return self.limits.violations

    def will(self, method: str, *faults: Fault | None) -> None:
        """Let the next calls of a method meet these (`faults.py`); None is a normal call."""
        self.faults.will(method, *faults)

    def called(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    def person(self, name: str, *, lang: str = "en") -> Member:
        return self._enter(
            Member(id=self.slack.ids.new("U"), workspace=self, name=name, locale=LOCALES.get(lang, lang))
        )

    def bot(self, name: str) -> Member:
        """Another bot, of an app that is none of ours; it says what the test lets it say."""
        bot = Member(id=self.slack.ids.new("U"), workspace=self, name=name, bot_id=self.slack.ids.new("B"))
        return self._enter(bot)

    def install(self, app: App, *, scopes: Sequence[str] | None = None) -> Bot:
        """Install an app: its bot joins the workspace (no channel yet). `scopes` None: it may do everything."""
        user = Member(
            id=self.slack.ids.new("U"),
            workspace=self,
            name=app.name,
            bot_id=self.slack.ids.new("B"),
            app=app,
        )
        token = f"xoxb-{self.slack.ids.number()}-{self.slack.ids.token(24)}"
        bot = Bot(
            app=app,
            workspace=self,
            user=self._enter(user),
            token=token,
            scopes=None if scopes is None else frozenset(scopes),
        )
        self.bots.append(bot)
        app.bots.append(bot)
        return bot

    def channel(
        self,
        name: str,
        *,
        members: Sequence[Member | Bot] = (),
        private: bool = False,
        shared_with: Sequence[Workspace] = (),
    ) -> Channel:
        """Open a channel with these members; `shared_with` other workspaces by Slack Connect."""
        return self._open("group" if private else "channel", name, members, guests=shared_with)

    def dm(self, *members: Member | Bot) -> Channel:
        """Return the one conversation of these: a DM of two, a group DM of more."""
        ids = {as_member(member).id for member in members}
        kind: Kind = "im" if len(ids) == 2 else "mpim"
        for channel in self.channels.values():
            if channel.kind == kind and set(channel.members) == ids:
                return channel
        return self._open(kind, "-".join(sorted(as_member(member).name.lower() for member in members)), members)

    def file(self, name: str, content: bytes, *, by: Member, mimetype: str = "text/plain") -> Json:
        """Keep a file and return what a message carries of it."""
        return self.slack.files.keep(self, name, content, by=by, mimetype=mimetype)

    def _enter(self, member: Member) -> Member:
        self.members[member.id] = member
        return member

    def _open(
        self, kind: Kind, name: str, members: Sequence[Member | Bot], *, guests: Sequence[Workspace] = ()
    ) -> Channel:
        channel = Channel(
            id=self.slack.ids.new(PREFIX[kind]),
            kind=kind,
            name=name,
            host=self,
            guests=list(guests),
            members={as_member(member).id: as_member(member) for member in members},
        )
        for workspace in channel.workspaces:
            workspace.channels[channel.id] = channel
        return channel
