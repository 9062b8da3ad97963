"""From one Telegram update to what the gateway understands, or to the reason why it is nothing for us. Pure.

Never raises: an update that can't be read is one more reason, so that it can't stop those behind it (platform-facts 2.4).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from adapters.base import EditEvent, InboundEvent, MessageEvent, MoveEvent, Place, PresenceEvent, Quote, Sender
from adapters.strict import digest
from adapters.telegram.reading import (
    Chat,
    Fields,
    MemberChange,
    Message,
    Origin,
    User,
    addressed,
    clean,
    command_for,
    language_of,
    mentions,
    name_of,
    said,
)

TENANT = "telegram"
"""Accounts are the same wherever they are met."""

ANONYMOUS_ADMIN, CHANNEL_IDENTITY, SERVICE = 1087968824, 136817688, 777000
"""Accounts that stand for somebody who does not say who he is: an admin, a channel, the platform's own forwarding."""
_HIDING = frozenset({ANONYMOUS_ADMIN, CHANNEL_IDENTITY, SERVICE})

USED = ("message", "edited_message", "my_chat_member")
"""The kinds of updates that Telegram is asked for; it remembers them."""

MEDIA = frozenset(
    {
        "animation", "audio", "checklist", "contact", "dice", "document", "game", "invoice", "live_photo", "location",
        "paid_media", "photo", "poll", "sticker", "story", "venue", "video", "video_note", "voice",
    }
)  # fmt: skip


CAPTIONED = frozenset({"animation", "audio", "document", "live_photo", "paid_media", "photo", "video", "voice"})
"""Those of them that may have words below them."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who we are (`getMe`): the bot's account, its @name without the @, its name."""

    account: int
    username: str
    name: str


class Ignored(msgspec.Struct, frozen=True):
    """Nothing for us. `rule`: `own`, `service` (joins, titles, pins …), `media` (without a word), `rich` (a rich message,
    which has no text), `other_bot` (a command for another bot), `no_sender`, `channel_post`, `membership` (without a
    coming or going), `unused` (another kind of update that Clew does nothing with), `malformed`."""

    rule: str


def parse(update: Fields, *, channel: str, me: Identity) -> InboundEvent | Ignored:
    """Return the event that an update stands for."""
    try:
        return _read(update, channel=channel, me=me)
    except (msgspec.ValidationError, UnicodeError, RecursionError):
        return Ignored("malformed")


def _read(update: Fields, *, channel: str, me: Identity) -> InboundEvent | Ignored:
    number = msgspec.convert(update.get("update_id"), int)
    kind = next((name for name in (*USED, "channel_post", "edited_channel_post") if name in update), None)
    match kind:
        case "message":
            return _Reader(number, update["message"], channel=channel, me=me).message()
        case "edited_message":
            return _Reader(number, update["edited_message"], channel=channel, me=me).edited()
        case "my_chat_member":
            return _presence(number, msgspec.convert(update["my_chat_member"], MemberChange), channel=channel, me=me)
        case None:
            return Ignored("unused")
    return Ignored("channel_post")


class _Reader:
    """One message of an update."""

    def __init__(self, number: int, fields: Fields, *, channel: str, me: Identity) -> None:
        self._number = number
        self._fields = fields
        self._message = msgspec.convert(fields, Message)
        self._channel = channel
        self._me = me

    def message(self) -> InboundEvent | Ignored:
        message, me = self._message, self._me
        if message.migrate_to_chat_id is not None:
            return self._move(message.chat.id, message.migrate_to_chat_id)
        if message.migrate_from_chat_id is not None:
            return self._move(message.migrate_from_chat_id, message.chat.id)
        sender = self._speaker()
        if isinstance(sender, Ignored):
            return sender
        forwarded = self._forwarded()
        mentioned = not forwarded and mentions(message, account=me.account, username=me.username)
        if not forwarded and not mentioned and command_for(said(message)) not in (None, me.username.lower()):
            return Ignored("other_bot")
        target = self._target()
        return MessageEvent(
            **self._place(),
            sender=sender,
            dedupe_ids=self._dedupe_ids("message", str(message.message_id), sender.account),
            message_id=str(message.message_id),
            # What is forwarded is somebody else's word: it is shown as such, and asks for nothing.
            text="" if forwarded else addressed(message, account=me.account, username=me.username),
            mentions_bot=mentioned,
            reply_to_bot=target is not None and target.user is not None and target.user.id == me.account,
            in_reply_to=str(target.message_id) if target is not None else None,
            quote=self._quote(),
            language=language_of(message.user) if message.user is not None and sender.trusted else None,
        )

    def edited(self) -> InboundEvent | Ignored:
        """An edit tells of reactions and link previews too; whether the words changed is the gateway's to compare. Where there
        are none any more (a caption removed, or what can't be read put in their place), it is an edit to none."""
        message, me = self._message, self._me
        emptied = not said(message) and not (CAPTIONED | {"rich_message"}).isdisjoint(self._fields)
        sender = self._sender() if emptied else self._speaker()
        if isinstance(sender, Ignored):
            return sender
        text = "" if self._forwarded() else addressed(message, account=me.account, username=me.username)
        # By the update alone: what is changed back and forth within a second has the same words at the same time.
        ids = self._dedupe_ids("edit", str(message.message_id), str(message.edit_date), text)[:1]
        return EditEvent(
            **self._place(),
            sender=sender,
            dedupe_ids=ids,
            message_id=str(message.message_id),
            text=text,
            quote=self._quote(),
        )

    def _speaker(self) -> Sender | Ignored:
        """Return who said something; what says nothing is told by what it holds, for there will be new kinds of that."""
        if said(self._message):
            return self._sender()
        if "rich_message" in self._fields:
            return Ignored("rich")
        return Ignored("service" if MEDIA.isdisjoint(self._fields) else "media")

    def _move(self, old: int, new: int) -> MoveEvent:
        message, room = self._message, str(old)
        sender = self._sender()
        ids = _dedupe_ids(self._me, self._number, "move", room, str(new))
        return MoveEvent(
            channel=self._channel,
            room=room,
            chat_type="group",
            sender=_identity(message.chat) if isinstance(sender, Ignored) else sender,
            dedupe_ids=ids,
            new_room=str(new),
        )

    def _sender(self) -> Sender | Ignored:
        """Return who wrote. An account that hides somebody is never taken for a person: the same one stands for every
        anonymous admin of every group (tdlib/telegram-bot-api#667)."""
        message = self._message
        if message.sender_chat is not None:
            name = message.author_signature or message.sender_chat.title
            return _identity(message.sender_chat, name=clean(name))
        user, via = message.user, message.via_bot
        if user is None:
            return Ignored("no_sender")
        if self._me.account in (user.id, via.id if via is not None else None):
            return Ignored("own")
        if user.id in _HIDING:
            return _identity(message.chat, name=name_of(user))
        return _person(user, is_bot=user.is_bot or via is not None)

    def _place(self) -> Place:
        message = self._message
        # Replies in plain supergroups and in General have a thread id too, which is no topic and can't be answered in.
        topic = message.message_thread_id if message.is_topic_message else None
        return {
            "channel": self._channel,
            "room": str(message.chat.id),
            "thread": str(topic) if topic is not None else None,
            "chat_type": "private" if message.chat.type == "private" else "group",
        }

    def _dedupe_ids(self, what: Literal["message", "edit"], *ids: str) -> tuple[str, ...]:
        return _dedupe_ids(self._me, self._number, what, str(self._message.chat.id), *ids)

    def _forwarded(self) -> bool:
        return _foreign_origin(self._message) is not None

    def _target(self) -> Message | None:
        """Return what is replied to. Every message of a topic "replies" to the topic's beginning, which says nothing."""
        target = self._message.reply_to_message
        return None if target is None or target.forum_topic_created is not None else target

    def _quote(self) -> Quote | None:
        message, target = self._message, self._target()
        if (origin := _foreign_origin(message)) is not None:
            return _quote_of(origin, said(message))
        part = clean(message.quote.text) if message.quote is not None else ""
        if target is not None:
            words = part or said(target)
            if words and (origin := _foreign_origin(target)) is not None:
                return _quote_of(origin, words)
            by_bot = target.user is not None and target.user.is_bot and target.sender_chat is None
            return Quote(name=_author(target), text=words, by_bot=by_bot) if words else None
        origin = message.external_reply.origin if message.external_reply is not None else None
        return _quote_of(origin or Origin(), part) if part else None


def _presence(number: int, change: MemberChange, *, channel: str, me: Identity) -> PresenceEvent | Ignored:
    before, now = (
        member.status in ("creator", "administrator", "member") or (member.status == "restricted" and member.is_member)
        for member in (change.old_chat_member, change.new_chat_member)
    )
    if before == now or change.chat.type == "channel":  # what a channel posts is nothing for us
        return Ignored("membership")
    room, hides = str(change.chat.id), change.user.id in _HIDING
    return PresenceEvent(
        channel=channel,
        room=room,
        chat_type="private" if change.chat.type == "private" else "group",
        sender=_identity(change.chat, name=name_of(change.user)) if hides else _person(change.user),
        dedupe_ids=_dedupe_ids(me, number, "presence", room, str(change.date), str(now))[:1],
        present=now,
        language=None if hides else language_of(change.user),
    )


def _dedupe_ids(me: Identity, number: int, what: str, *ids: str) -> tuple[str, str]:
    """Name the update and the thing it tells of. The update by its thing, too: after a quiet week the numbers begin anew
    somewhere, and may have been there before."""
    thing = digest((str(me.account), *ids))
    return f"update:{digest((str(number), what, thing))}", f"{what}:{thing}"


def _person(user: User, *, is_bot: bool | None = None) -> Sender:
    account = str(user.id)
    is_bot = user.is_bot if is_bot is None else is_bot
    return Sender(user=account, tenant=TENANT, account=account, name=name_of(user), is_bot=is_bot)


def _identity(chat: Chat, *, name: str = "") -> Sender:
    """Return a chat as a sender: nobody in particular, so without a memory of a person."""
    account = str(chat.id)
    return Sender(user=account, tenant=TENANT, account=account, name=name or clean(chat.title), trusted=False)


def _foreign_origin(message: Message) -> Origin | None:
    """Return whose words a forwarded message holds; None: they are its sender's. A channel's post that its own group gets is
    the channel's."""
    return None if message.is_automatic_forward else message.forward_origin


def _author(message: Message) -> str:
    if message.sender_chat is not None:
        return clean(message.author_signature or message.sender_chat.title) or "?"
    return (name_of(message.user) if message.user is not None else "") or "?"


def _quote_of(origin: Origin, words: str) -> Quote:
    place = origin.sender_chat or origin.chat
    user = origin.sender_user
    name = name_of(user) if user is not None else clean(origin.sender_user_name or (place.title if place else ""))
    return Quote(name=name or "?", text=words, by_bot=user is not None and user.is_bot)
