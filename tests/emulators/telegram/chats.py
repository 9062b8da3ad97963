"""A room of the platform: who is in it, its topics, what was said, and how that reaches the bots in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.messages import Message
from tests.emulators.telegram.privacy import visible

if TYPE_CHECKING:
    from tests.emulators.telegram.world import World

ChatType = Literal["private", "group", "supergroup", "channel"]
DRAFT_S = 30.0
ACTION_S = 5.0


@dataclass(eq=False, kw_only=True)
class Topic:
    id: int
    name: str
    created: Message
    state: Literal["open", "closed", "deleted"] = "open"


@dataclass(eq=False, kw_only=True)
class Member:
    """`reads_all` is the bot's privacy setting as it was when it joined."""

    user: dict[str, Any]
    status: Literal["creator", "administrator", "member", "left", "kicked"] = "member"
    reads_all: bool = False
    bot: Bot | None = None

    @property
    def inside(self) -> bool:
        return self.status not in ("left", "kicked")


@dataclass(frozen=True, kw_only=True)
class Draft:
    at: float
    id: int
    text: str
    topic: int | None


@dataclass(frozen=True, kw_only=True)
class Action:
    at: float
    action: str
    topic: int | None


@dataclass(eq=False, kw_only=True)
class Chat:
    """One chat. A private chat is one person's with one bot, so that two bots share none."""

    world: World
    id: int
    type: ChatType
    title: str | None = None
    username: str | None = None
    first_name: str | None = None
    forum: bool = False
    private_topics: bool = False
    silent_deleted_topics: bool = (
        False  # a send into a deleted topic lands in the chat itself (tdlib/telegram-bot-api#854)
    )
    muted: bool = False  # only admins may write
    members: dict[int, Member] = field(default_factory=dict)
    topics: dict[int, Topic] = field(default_factory=dict)
    log: list[Message] = field(default_factory=list)
    by_id: dict[int, Message] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    migrated_to: Chat | None = None
    linked: Chat | None = None  # a channel's discussion group
    draft: Draft | None = None
    action: Action | None = None
    last_bot: Bot | None = None
    last_id: int = 1  # a room's first message is its creation; as a topic's id, 1 is General's

    # What stands there

    def messages(self) -> list[Message]:
        """Return what is in the chat now, oldest first."""
        return [message for message in self.log if not message.deleted]

    def replies(self) -> list[Message]:
        """Return what bots said and did not take back, oldest first."""
        return [message for message in self.messages() if message.bot is not None]

    async def wait_for(self, wanted: Callable[[Message], bool], *, timeout_s: float = 10.0) -> Message:
        """Return the first message for which `wanted` is true, now or as soon as there is one; an edit counts. Raises
        `TimeoutError` after real seconds."""
        return await self.world.bell.until(
            lambda: next((message for message in self.messages() if wanted(message)), None), timeout_s=timeout_s
        )

    async def until(self, wanted: Callable[[Chat], bool], *, timeout_s: float = 10.0) -> None:
        """Return as soon as that is true of the chat. Raises `TimeoutError` after real seconds."""
        await self.world.bell.until(lambda: wanted(self), timeout_s=timeout_s)

    def message(self, message_id: int) -> Message | None:
        """Return what stands there under this id; None: nothing, or no more."""
        message = self.by_id.get(message_id)
        return None if message is None or message.deleted else message

    def drafted(self) -> Draft | None:
        """Return the draft people see now: it lasts 30 s."""
        return self.draft if self.draft and self.world.clock.now() < self.draft.at + DRAFT_S else None

    def acting(self) -> str | None:
        """Return the action people see now ("typing"): it lasts 5 s or until a message."""
        return self.action.action if self.action and self.world.clock.now() < self.action.at + ACTION_S else None

    def json(self) -> dict[str, Any]:
        """The `Chat` object."""
        body: dict[str, Any] = {"id": self.id, "type": self.type}
        for name in ("title", "username", "first_name"):
            if getattr(self, name) is not None:
                body[name] = getattr(self, name)
        return body | {"is_forum": True} if self.forum else body

    def bots(self) -> list[Member]:
        return [member for member in self.members.values() if member.bot and member.inside]

    # How things come to stand there

    def place(
        self,
        content: dict[str, Any],
        *,
        sender: dict[str, Any] | None,
        bot: Bot | None = None,
        topic: int | None = None,
        reply_to: Message | None = None,
        sender_chat: Chat | None = None,
    ) -> Message:
        """Put a message into the chat and deliver it to whom it concerns."""
        self.last_id += 1
        body: dict[str, Any] = {"message_id": self.last_id}
        if sender is not None:
            body["from"] = sender
        if sender_chat is not None:
            body["sender_chat"] = sender_chat.json()
        body |= {"chat": self.json(), "date": int(self.world.clock.now())}
        body |= self._threaded(topic, reply_to) | content
        message = Message(chat=self, body=body, bot=bot)
        message.texts.append(message.text)
        self.log.append(message)
        self.by_id[message.id] = message
        if bot is not None:
            self.last_bot, self.draft, self.action = bot, None, None
        self.deliver(message, "channel_post" if self.type == "channel" else "message")
        self.world.bell.ring()
        return message

    def change(self, message: Message, content: dict[str, Any], *, silent: bool = False) -> None:
        """Give a message other content and deliver the edit; `silent` for the phantom kind that people don't see."""
        message.body = {
            name: value
            for name, value in message.body.items()
            if silent
            or name not in ("text", "entities", "caption", "caption_entities", "link_preview_options", "reply_markup")
        } | content
        message.body["edit_date"] = int(self.world.clock.now())
        if not silent:
            message.texts.append(message.text)
        self.deliver(message, "edited_channel_post" if self.type == "channel" else "edited_message")
        self.world.bell.ring()

    def deliver(self, message: Message, kind: str) -> None:
        for member in self.bots():
            if member.bot is not message.bot and self._reaches(member, message.body):
                queue = self.id if not kind.startswith("edited") else ("edits", self.id)
                assert member.bot is not None
                member.bot.updates.put(kind, message.body, queue=queue)

    def _reaches(self, member: Member, body: dict[str, Any]) -> bool:
        assert member.bot is not None
        if self.type == "private":
            return True
        if self.type == "channel":
            return member.status == "administrator"
        return visible(
            body,
            bot_id=member.bot.id,
            username=member.bot.username,
            reads_all=member.reads_all or member.status == "administrator",
            bot_spoke_last=self.last_bot is member.bot,
            talks_to_bots=member.bot.talks_to_bots,
        )

    def _threaded(self, topic: int | None, reply_to: Message | None) -> dict[str, Any]:
        """A topic's message carries the topic's creation as `reply_to_message`; a reply elsewhere in a supergroup carries
        the id of the thread's first message, which is no topic."""
        body: dict[str, Any] = {}
        if topic is not None:
            body |= {"message_thread_id": topic, "is_topic_message": True}
            if self.type != "private":
                body["reply_to_message"] = self.topics[topic].created.quoted()
        if reply_to is not None:
            body["reply_to_message"] = reply_to.quoted()
            if topic is None and self.type == "supergroup":
                body["message_thread_id"] = reply_to.body.get("message_thread_id", reply_to.id)
        return body
