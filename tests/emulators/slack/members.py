"""Who is in a workspace: people and bots. What they do here is what happens on the platform; nobody's token is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tests.emulators.slack.push import Delivery
from tests.emulators.slack.richtext import typed

if TYPE_CHECKING:
    from tests.emulators.slack.apps import App
    from tests.emulators.slack.channels import Channel
    from tests.emulators.slack.messages import Message
    from tests.emulators.slack.workspace import Workspace

Json = dict[str, Any]


@dataclass(slots=True, kw_only=True, eq=False)
class Member:
    """An account of one workspace."""

    id: str
    workspace: Workspace
    name: str
    locale: str = "en-US"
    bot_id: str | None = None  # None: a person
    app: App | None = None  # the app whose bot this is
    deleted: bool = False

    @property
    def mention(self) -> str:
        """How a message addresses this account."""
        return f"<@{self.id}>"

    async def says(
        self,
        channel: Channel,
        text: str,
        *,
        thread: str | None = None,
        broadcast: bool = False,
        legacy: bool = False,
        wire: bool = False,
        subtype: str | None = None,
        files: Sequence[Json] = (),
        attachments: Sequence[Json] = (),
        blocks: Sequence[Json] | None = None,
    ) -> str:
        """Say something; return the message's `ts` at once, while its events are on their way.

        `text` is what was typed: tokens such as `bot.mention` or `<#C…>` stay, the rest is escaped as Slack does; `wire`: it is
        mrkdwn already. `thread` is the root's `ts`; `broadcast` shows the reply in the channel too. `legacy`: a bot of the old
        kind, without an account (`bot_message`). `files` come from `workspace.file(…)`.
        """
        message = channel.post(
            author=self,
            text=text if wire else typed(text),
            thread=thread,
            subtype="bot_message" if legacy else "file_share" if files else subtype,
            broadcast=broadcast,
            files=files,
            attachments=attachments,
            blocks=blocks,
        )
        return message.ts

    async def edits(self, channel: Channel, ts: str, text: str) -> None:
        """Give one's message another text."""
        channel.change(self._own(channel, ts), text=typed(text), blocks=None, edited_by=self.id)

    async def deletes(self, channel: Channel, ts: str) -> None:
        channel.remove(self._own(channel, ts))

    async def reacts(self, channel: Channel, ts: str, name: str) -> None:
        channel.react(self, ts, name)

    async def joins(self, channel: Channel) -> None:
        channel.let_in(self)

    async def leaves(self, channel: Channel) -> None:
        channel.let_out(self)

    async def stops(self, channel: Channel, ts: str) -> None:
        """Press Stop on a streamed answer."""
        stream = self._there(channel, ts).stream
        assert stream is not None, f"{ts!r} is not streamed"
        stream.ended = "stopped_by_user"

    async def runs(self, app: App, channel: Channel, command: str, text: str = "") -> Delivery:
        """Use a slash command; return what the app answered within Slack's three seconds. Never repeated by Slack."""
        form = {
            "token": app.verification_token,
            "team_id": self.workspace.id,
            "team_domain": self.workspace.domain,
            "channel_id": channel.id,
            "channel_name": channel.command_name,
            "user_id": self.id,
            "user_name": self.name.lower(),
            "command": command,
            "text": typed(text),
            "api_app_id": app.id,
            "is_enterprise_install": "false",
            "response_url": self.workspace.slack.hooks.new(app, channel, self),
            "trigger_id": self.workspace.slack.ids.trigger(),
        }
        if self.workspace.enterprise is not None:
            form["enterprise_id"] = self.workspace.enterprise
        return await app.pusher.once(
            app,
            url=app.commands_url or app.events_url,
            body=urlencode(form).encode(),
            content_type="application/x-www-form-urlencoded",
            kind="slash_commands",
            payload=form,
        )

    def _there(self, channel: Channel, ts: str) -> Message:
        message = channel.find(ts)
        assert message is not None, f"no message {ts!r} in {channel.id}"
        return message

    def _own(self, channel: Channel, ts: str) -> Message:
        message = self._there(channel, ts)
        assert message.author is self, f"{ts!r} in {channel.id} is not {self.name}'s"
        return message


def profile(member: Member, *, seen_from: Workspace, with_locale: bool) -> Json:
    """`users.info`'s user. Seen from another workspace it is a stranger of limited profile."""
    stranger = member.workspace is not seen_from
    user: Json = {
        "id": member.id,
        "team_id": member.workspace.id,
        "name": member.name.lower().replace(" ", "."),
        "deleted": member.deleted,
        "real_name": member.name,
        "tz": "Europe/Athens",
        "profile": {
            "real_name": member.name,
            "real_name_normalized": member.name,
            "display_name": "" if member.bot_id else member.name,
            "display_name_normalized": "" if member.bot_id else member.name,
            "team": member.workspace.id,
        },
        "is_bot": member.bot_id is not None,
        "is_app_user": False,
        "updated": 1_770_000_000,
    }
    if member.bot_id is not None:
        user["profile"] |= {"bot_id": member.bot_id, "api_app_id": member.app.id if member.app else ""}
    if stranger:
        user["is_stranger"] = True
    elif member.bot_id is None:
        user["profile"]["email"] = f"{member.id.lower()}@{member.workspace.domain}.example"
    if with_locale and not stranger:
        user["locale"] = member.locale
    return user
