"""What people do: write, edit, reply, send media, press buttons, block, come and go. Each act reaches the bots it would reach.

Times between acts are the test's: `await clock.sleep` or `clock.advance` between them.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.emulators.telegram import content
from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.chats import Chat, Topic
from tests.emulators.telegram.entities import Entity, found
from tests.emulators.telegram.membership import change_member
from tests.emulators.telegram.messages import Message

if TYPE_CHECKING:
    from tests.emulators.telegram.world import World

ANONYMOUS_ADMIN = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
CHANNEL_IDENTITY = {"id": 136817688, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"}
CALLBACK_S = 15.0


@dataclass(eq=False, kw_only=True)
class Person:
    """An account. `language_code` is that of the person's app ("zh-hans"), None where it does not tell."""

    world: World
    id: int
    first_name: str
    last_name: str | None = None
    username: str | None = None
    language_code: str | None = None
    deactivated: bool = False

    def user(self) -> dict[str, Any]:
        """The `User` object."""
        body: dict[str, Any] = {"id": self.id, "is_bot": False, "first_name": self.first_name}
        for name in ("last_name", "username", "language_code"):
            if getattr(self, name) is not None:
                body[name] = getattr(self, name)
        return body

    def says(
        self,
        chat: Chat,
        text: str,
        *,
        reply_to: Message | None = None,
        topic: Topic | None = None,
        entities: Sequence[Entity] = (),
        as_: Chat | None = None,
        **extra: Any,
    ) -> Message:
        """Write a text. The platform marks commands, mentions and links in it by itself; `entities` adds what only an app
        can (`text_mention`). `as_` the group itself: an anonymous admin; `as_` a channel: in its name. `extra` stands in the
        message as it is (`quote`, `external_reply`, `forward_origin`, `via_bot`)."""
        marks = found(text, entities)
        body = {"text": text} | ({"entities": marks} if marks else {}) | extra
        return self._puts(chat, body, reply_to=reply_to, topic=topic, as_=as_)

    def sends(
        self,
        chat: Chat,
        kind: str,
        *,
        caption: str | None = None,
        reply_to: Message | None = None,
        topic: Topic | None = None,
        as_: Chat | None = None,
        **extra: Any,
    ) -> Message:
        """Send something that is no text: any kind of `content.KINDS` ("photo", "voice", "location", "rich_message", …)."""
        body = content.of(kind, self.world) | extra
        if caption is not None:
            marks = found(caption)
            body |= {"caption": caption} | ({"caption_entities": marks} if marks else {})
        return self._puts(chat, body, reply_to=reply_to, topic=topic, as_=as_)

    async def sends_album(
        self, chat: Chat, count: int, *, caption: str | None = None, every_s: float = 0.0, topic: Topic | None = None
    ) -> list[Message]:
        """Send photos as one album: single messages that share `media_group_id`, the caption on the first, `every_s`
        between them."""
        group, sent = str(next(self.world.numbers)), []
        for number in range(count):
            if number:
                await self.world.clock.sleep(every_s)
            sent.append(
                self.sends(chat, "photo", caption=None if number else caption, topic=topic, media_group_id=group)
            )
        return sent

    def edits(self, message: Message, text: str) -> None:
        """Give a message other words; "" takes a caption out."""
        name, marks = ("caption" if "caption" in message.body else "text"), found(text)
        place = "caption_entities" if name == "caption" else "entities"
        message.chat.change(message, ({name: text} if text else {}) | ({place: marks} if marks else {}))

    def deletes(self, message: Message) -> None:
        """Take the message away. The platform tells no bot about that."""
        message.deleted = True
        self.world.bell.ring()

    def presses(self, message: Message, data: str) -> str:
        """Press a button under a bot's message; returns the query's id, which can be answered for 15 s."""
        assert message.bot is not None
        query = str(next(self.world.numbers))
        self.world.callbacks[query] = self.world.clock.now() + CALLBACK_S
        body = {
            "id": query,
            "from": self.user(),
            "message": copy.deepcopy(message.body),
            "chat_instance": "1",
            "data": data,
        }
        message.bot.updates.put("callback_query", body, queue=("callback", self.id))
        return query

    def reacts(self, message: Message, emoji: str) -> None:
        """React with one emoji: a `message_reaction` for bots that are admins, or in private. (The edit without a change that
        a first reaction may bring about is `rooms.phantom_edit`.)"""
        body = {
            "chat": message.chat.json(), "message_id": message.id, "user": self.user(),
            "date": int(self.world.clock.now()), "old_reaction": [], "new_reaction": [{"type": "emoji", "emoji": emoji}],
        }  # fmt: skip
        for member in message.chat.bots():
            if member.bot and (message.chat.type == "private" or member.status == "administrator"):
                member.bot.updates.put("message_reaction", body, queue=("reactions", message.chat.id))

    def blocks(self, bot: Bot) -> None:
        """Shut the bot out of the private chat; it hears of that by `my_chat_member`."""
        change_member(self.world.private(self, bot), bot.id, "kicked", by=self.user())

    def unblocks(self, bot: Bot) -> None:
        change_member(self.world.private(self, bot), bot.id, "member", by=self.user())

    def _puts(
        self, chat: Chat, body: dict[str, Any], *, reply_to: Message | None, topic: Topic | None, as_: Chat | None
    ) -> Message:
        sender = self.user()
        if as_ is not None:
            sender = ANONYMOUS_ADMIN if as_ is chat else CHANNEL_IDENTITY
        return chat.place(body, sender=sender, topic=topic.id if topic else None, reply_to=reply_to, sender_chat=as_)
