"""A message as it stands in a chat, and the parts others quote of it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.emulators.telegram.bots import Bot

if TYPE_CHECKING:
    from tests.emulators.telegram.chats import Chat


@dataclass(eq=False, kw_only=True)
class Message:
    """`body` is the platform's `Message` object, kept as it stands now; `texts` is every text it had, the first one first."""

    chat: Chat
    body: dict[str, Any]
    bot: Bot | None = None  # set where a bot sent it
    deleted: bool = False
    reactions: dict[int, list[dict[str, Any]]] = field(default_factory=dict)  # by bot
    texts: list[str] = field(default_factory=list)

    @property
    def id(self) -> int:
        return int(self.body["message_id"])

    @property
    def text(self) -> str:
        """The text or caption; empty where there is neither."""
        return str(self.body.get("text", self.body.get("caption", "")))

    @property
    def entities(self) -> list[dict[str, Any]]:
        return list(self.body.get("entities", self.body.get("caption_entities", ())))

    @property
    def topic(self) -> int | None:
        """The id of the topic it stands in."""
        return self.body["message_thread_id"] if self.body.get("is_topic_message") else None

    @property
    def reply_to(self) -> int | None:
        """The id of the message it answers; the message that created its topic is not one."""
        target = self.body.get("reply_to_message")
        return None if target is None or "forum_topic_created" in target else int(target["message_id"])

    def quoted(self) -> dict[str, Any]:
        """The body as another message shows it: never nested."""
        return copy.deepcopy({name: value for name, value in self.body.items() if name != "reply_to_message"})

    def __repr__(self) -> str:
        return f"<message {self.id} in {self.chat.id}: {self.text[:60]!r}>"
