"""Rooms of more than two: made, joined, left, administered, divided into topics, upgraded; channels and what they post."""

from __future__ import annotations

from typing import Any, Literal

from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.chats import Chat, Member, Topic
from tests.emulators.telegram.entities import found
from tests.emulators.telegram.membership import change_member
from tests.emulators.telegram.messages import Message
from tests.emulators.telegram.people import ANONYMOUS_ADMIN, Person

LINKED_CHANNEL = {"id": 777000, "is_bot": False, "first_name": "Telegram"}


def add(chat: Chat, newcomer: Bot | Person, *, by: Person) -> None:
    """Bring somebody in: a service message for all, and for a bot its own `my_chat_member`. A bot's privacy setting of this
    moment is the one that counts from now on."""
    bot = newcomer if isinstance(newcomer, Bot) else None
    chat.members.setdefault(newcomer.id, Member(user=newcomer.user(), status="left", bot=bot))
    chat.members[newcomer.id].reads_all = bot.reads_all if bot else False
    change_member(chat, newcomer.id, "administrator" if chat.type == "channel" else "member", by=by.user())
    if chat.type != "channel":
        service(chat, by=by, new_chat_members=[newcomer.user()])


def remove(chat: Chat, member: Bot | Person, *, by: Person, leaves: bool = False) -> None:
    """Kick somebody out (a bot can't come back by itself), or let them leave."""
    change_member(chat, member.id, "left" if leaves else "kicked", by=by.user())
    service(chat, by=by, left_chat_member=member.user())


def promote(chat: Chat, bot: Bot, *, by: Person) -> None:
    """Make the bot an admin: it gets every message from now on."""
    change_member(chat, bot.id, "administrator", by=by.user())


def service(chat: Chat, *, by: Person, topic: int | None = None, **content: Any) -> Message:
    """Place a service message, by the name of its content: `new_chat_title="…"`, `pinned_message={…}`."""
    return chat.place(content, sender=by.user(), topic=topic)


def pin(chat: Chat, message: Message, *, by: Person) -> Message:
    return service(chat, by=by, pinned_message=message.quoted())


def phantom_edit(message: Message) -> None:
    """Deliver an edit without any change of the text, as a reaction or a link's preview brings about."""
    message.chat.change(message, {}, silent=True)


def open_topic(chat: Chat, name: str, *, by: Person | Bot) -> Topic:
    """Create a topic: of a forum, or of a private chat that has topics. Its id is that of the message that created it."""
    if not (chat.forum or chat.private_topics):
        raise ValueError(f"chat {chat.id} has no topics")
    created = chat.place(
        {"forum_topic_created": {"name": name, "icon_color": 7322096}, "message_thread_id": chat.last_id + 1,
         "is_topic_message": True},
        sender=by.user(), bot=by if isinstance(by, Bot) else None,
    )  # fmt: skip
    topic = Topic(id=created.id, name=name, created=created)
    chat.topics[topic.id] = topic
    return topic


def close_topic(chat: Chat, topic: Topic, *, by: Person) -> None:
    service(chat, by=by, topic=topic.id, forum_topic_closed={})
    topic.state = "closed"


def delete_topic(topic: Topic) -> None:
    """Take the topic away with all it holds. The platform tells no bot about that."""
    topic.state = "deleted"
    for message in topic.created.chat.log:
        if message.topic == topic.id:
            message.deleted = True


def migrate(group: Chat, *, by: Person, first: Literal["old", "new"] = "old", joining: tuple[Bot, ...] = ()) -> Chat:
    """Upgrade a group: it becomes a supergroup under another id with new message ids. `first` says which of the two
    service messages comes first; the platform promises no order. Bots that are `joining` are told before both that they
    are in the new one."""
    world = group.world
    new = Chat(world=world, id=world.room_id("supergroup"), type="supergroup", title=group.title)
    new.members = group.members
    world.add_room(new)
    for bot in joining:
        new.members[bot.id].status = "left"
        change_member(new, bot.id, "member", by=by.user())

    def tell_old() -> None:
        service(group, by=by, migrate_to_chat_id=new.id)

    def tell_new() -> None:
        new.place({"migrate_from_chat_id": group.id}, sender=ANONYMOUS_ADMIN, sender_chat=new)

    for tell in (tell_old, tell_new) if first == "old" else (tell_new, tell_old):
        tell()
    group.migrated_to = new
    return new


def post(channel: Chat, text: str) -> Message:
    """Post in a channel: bots that are its admins get a `channel_post` without `from`; its discussion group gets the
    automatic forward."""
    marks = found(text)
    body = {"text": text} | ({"entities": marks} if marks else {})
    message = channel.place(body, sender=None, sender_chat=channel)
    if channel.linked is not None:
        origin = {
            "type": "channel", "chat": channel.json(), "message_id": message.id, "date": message.body["date"],
        }  # fmt: skip
        forward = {"forward_origin": origin, "is_automatic_forward": True}
        channel.linked.place(body | forward, sender=LINKED_CHANNEL, sender_chat=channel)
    return message
