"""A conversation and its messages: what stands there, and what the platform tells about each change.

The same object whether it is a channel, a private one, a DM or a group DM; shared by several workspaces with Slack Connect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tests.emulators.slack import events
from tests.emulators.slack.messages import Message, Stream, order
from tests.emulators.slack.richtext import links, rich_text

if TYPE_CHECKING:
    from tests.emulators.slack.apps import Bot
    from tests.emulators.slack.members import Member
    from tests.emulators.slack.workspace import Workspace

Json = dict[str, Any]
Kind = Literal["channel", "group", "im", "mpim"]
T = TypeVar("T")

STATUS_S = 120.0


@dataclass(slots=True, kw_only=True, eq=False)
class Channel:
    id: str
    kind: Kind
    name: str
    host: Workspace
    guests: list[Workspace] = field(default_factory=list)  # Slack Connect
    members: dict[str, Member] = field(default_factory=dict)
    archived: bool = False
    unfurled: list[str] = field(default_factory=list)  # addresses Slack fetched, because a message let it
    ephemerals: list[tuple[str, Message]] = field(default_factory=list)  # who alone saw it, and what
    _messages: dict[str, Message] = field(default_factory=dict)  # oldest first, as each new ts is the latest
    _statuses: dict[str, tuple[str, float]] = field(default_factory=dict)
    _last: tuple[int, int] = (0, 0)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def mention(self) -> str:
        return f"<#{self.id}|{self.name}>"

    @property
    def command_name(self) -> str:
        """The name a slash command carries."""
        return {"im": "directmessage", "mpim": f"mpdm-{self.name}", "group": "privategroup"}.get(self.kind, self.name)

    @property
    def workspaces(self) -> list[Workspace]:
        return [self.host, *self.guests]

    def messages(self, thread: str | None = None) -> list[Message]:
        """Return what stands here now, oldest first; with `thread` its root and replies."""
        return [one for one in self._messages.values() if thread is None or thread in (one.ts, one.thread_ts)]

    def find(self, ts: str) -> Message | None:
        return self._messages.get(ts)

    def status(self, thread: str) -> str:
        """Return the status shown in a thread; empty: none."""
        text, until = self._statuses.get(thread, ("", 0.0))
        return text if self.host.slack.clock.now() < until else ""

    async def wait_for(self, predicate: Callable[[list[Message]], T], timeout_s: float = 10.0) -> T:
        """Return what `predicate` says of the messages as soon as that is true; AssertionError after `timeout_s` real seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                while not (found := predicate(self.messages())):
                    await self._changed.wait()
        except TimeoutError:
            there = "\n".join(f"  {one.ts} {one.author.name}: {one.shown[:200]!r}" for one in self.messages())
            raise AssertionError(f"not within {timeout_s} s; #{self.name} holds:\n{there}") from None
        return found

    async def reply(self, bot: Bot, *, after: str, count: int = 1, timeout_s: float = 10.0) -> Message:
        """Return the bot's `count`th finished message later than `after`."""

        def found(messages: list[Message]) -> Message | None:
            later = [one for one in messages if one.author is bot.user and one.order > order(after)]
            done = [one for one in later if one.stream is None or one.stream.ended]
            return done[count - 1] if len(done) >= count else None

        message = await self.wait_for(found, timeout_s)
        assert message is not None
        return message

    # What happens here. Each change is told to the apps that may know of it.

    def next_ts(self, *, event: bool = False) -> str:
        """Return a `ts` later than any before. It ends in zeros often, so that who takes it for a number loses it."""
        now = self.host.slack.clock.now()
        seconds, micros = int(now), 100 * round(now % 1 * 10_000) % 1_000_000
        if not event:
            micros = micros // 1000 * 1000 + 10 * self.host.slack.ids.below(100)
        if (seconds, micros) <= self._last:
            seconds, micros = self._last[0], self._last[1] + 10
            seconds, micros = seconds + micros // 1_000_000, micros % 1_000_000
        self._last = (seconds, micros)
        return f"{seconds:010d}.{micros:06d}"

    def post(
        self,
        *,
        author: Member,
        text: str,
        blocks: Sequence[Json] | None = None,
        thread: str | None = None,
        subtype: str | None = None,
        broadcast: bool = False,
        files: Sequence[Json] = (),
        attachments: Sequence[Json] = (),
        metadata: Json | None = None,
        stream: Stream | None = None,
        link_names: bool = False,
        unfurl: bool = True,
        ephemeral_for: str | None = None,
    ) -> Message:
        slack = self.host.slack
        message = Message(
            ts=self.next_ts(),
            author=author,
            text=text,
            blocks=self._blocks(text, blocks),
            thread_ts=thread,
            subtype="thread_broadcast" if broadcast else subtype,
            client_msg_id=None if author.bot_id else slack.ids.uuid(),
            metadata=metadata,
            files=list(files),
            attachments=list(attachments),
            stream=stream,
            broadcast=broadcast,
            link_names=link_names,
        )
        if ephemeral_for is not None:
            self.ephemerals.append((ephemeral_for, message))
            self.tell_readers()
            return message
        self._messages[message.ts] = message
        root = self._messages.get(thread) if thread is not None else None
        if root is not None:
            message.parent_user_id = root.author.id
            root.thread_ts = root.ts
            root.replies += 1
            self._statuses.pop(root.ts, None)
        self.tell_readers()
        slack.publish_message(self, message)
        if root is not None and self.host.reply_counters:
            self._publish_changed(root, events.wire(root))
        if unfurl and self.host.unfurls and (found := links(message.shown)):
            self._unfurl(message, found)
        return message

    def change(
        self,
        message: Message,
        *,
        text: str,
        blocks: Sequence[Json] | None,
        edited_by: str | None,
        attachments: Sequence[Json] | None = None,
        metadata: Json | None = None,
        link_names: bool = False,
        quiet: bool = False,
    ) -> None:
        """Give a message another content. `edited_by` None: without the mark of an edit. `quiet`: without an event."""
        before = events.wire(message)
        message.history.append(message.shown)
        message.text = text
        message.blocks = self._blocks(text, blocks)
        message.link_names = link_names
        if attachments is not None:
            message.attachments = list(attachments)
        if metadata is not None:
            message.metadata = metadata or None
        if edited_by is not None:
            message.edited = {"user": edited_by, "ts": f"{int(self.host.slack.clock.now())}.000000"}
        self.tell_readers()
        if not quiet:
            self._publish_changed(message, before)
            if edited_by is not None and message.author.bot_id is None:
                self.host.slack.publish_mention_again(self, message)

    def remove(self, message: Message) -> None:
        """Delete a message; a root with replies stays as a tombstone."""
        before = events.wire(message)
        if message.replies:
            message.subtype, message.text, message.blocks = "tombstone", "This message was deleted.", []
            message.files, message.attachments, message.metadata = [], [], None
            self._publish_changed(message, before)
        else:
            del self._messages[message.ts]
            self.host.slack.publish(self, events.deleted(self, message.ts, before, ts=self.next_ts(event=True)))
        self.tell_readers()

    def react(self, member: Member, ts: str, name: str) -> bool:
        """Add a reaction; False: it was there."""
        message = self._messages[ts]
        members = message.reactions.setdefault(name, [])
        if member.id in members:
            return False
        members.append(member.id)
        self.tell_readers()
        self.host.slack.publish(self, events.reaction(self, member, message, name, ts=self.next_ts(event=True)))
        return True

    def set_status(self, thread: str, text: str) -> None:
        self._statuses[thread] = (text, self.host.slack.clock.now() + STATUS_S)
        self.tell_readers()

    def let_in(self, member: Member | Bot, *, by: Member | None = None) -> None:
        """Add a member; `by` invited it. Joins show as a message in channels and come as an event of their own."""
        who = as_member(member)
        self.members[who.id] = who
        ts = self.next_ts(event=True)
        self.host.slack.publish(self, events.membership(self, who, by, joined=True, ts=ts))
        if self.kind in ("channel", "group"):
            text = f"<@{who.id}> has joined the {'channel' if self.kind == 'channel' else 'group'}"
            self.post(author=who, text=text, subtype=f"{self.kind}_join", unfurl=False)

    def let_out(self, member: Member | Bot) -> None:
        """Remove a member, who still hears of that."""
        who = as_member(member)
        if self.kind in ("channel", "group"):
            text = f"<@{who.id}> has left the {'channel' if self.kind == 'channel' else 'group'}"
            self.post(author=who, text=text, subtype=f"{self.kind}_leave", unfurl=False)
        self.host.slack.publish(self, events.membership(self, who, None, joined=False, ts=self.next_ts(event=True)))
        self.members.pop(who.id, None)

    def tell_readers(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _blocks(self, text: str, blocks: Sequence[Json] | None) -> list[Json]:
        if blocks:
            return [{"block_id": self.host.slack.ids.block()} | block for block in blocks]
        return [rich_text(text, block_id=self.host.slack.ids.block())] if text else []

    def _unfurl(self, message: Message, found: list[str]) -> None:
        before = events.wire(message)
        self.unfurled += found
        message.attachments += [
            {"from_url": url, "original_url": url, "title": "A page", "fallback": "A page", "id": number}
            for number, url in enumerate(found, 1)
        ]
        self._publish_changed(message, before)

    def _publish_changed(self, message: Message, before: Json) -> None:
        ts = self.next_ts(event=True)
        self.host.slack.publish(self, events.changed(self, message, before, ts=ts))


def as_member(who: Member | Bot) -> Member:
    """A bot's own account, or the person."""
    user: Member | None = getattr(who, "user", None)
    return user if user is not None else who  # type: ignore[return-value]
