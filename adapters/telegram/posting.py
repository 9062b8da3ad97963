"""Replies on their way to Telegram: sent, edited, and shown while they are made."""

from __future__ import annotations

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import Callable

import msgspec
from telegram import Bot, LinkPreviewOptions, MessageEntity, ReplyParameters

from adapters.base import Address, Call, Rate, Receipt
from adapters.errors import Refused
from adapters.remembering import remember
from adapters.telegram import render
from adapters.telegram.marks import Mark, Rendered, bare
from adapters.telegram.web import ApiRefused, translated
from config.channels.telegram import TelegramSettings

SEND, EDIT, DELETE = "sendMessage", "editMessageText", "deleteMessage"
DRAFT, ACTION = "sendMessageDraft", "sendChatAction"

GENERAL = "1"
"""The topic of a forum that must not be named (platform-facts 2.7)."""

_NOT_EDITABLE = ("message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID", "no text in the message")
_NOT_MODIFIED = "message is not modified"
_NO_THREAD = ("message thread not found", "TOPIC_DELETED")
_NO_MARKS = ("can't parse entities", "ENTITY_")
_REMEMBERED = 1_000

REFUSED_S = 3_600.0
"""Seconds after which a place that has refused a draft or a sign is asked again: what people may do there changes."""


class Posting:
    """One channel's outgoing side, over an open bot."""

    def __init__(self, name: str, bot: Bot, *, settings: TelegramSettings, clock: Callable[[], float]) -> None:
        """`clock` gives seconds that only grow."""
        self._name = name
        self._bot = bot
        self._typing = settings.typing
        self._preview = LinkPreviewOptions(is_disabled=not settings.link_previews)
        self._shown: OrderedDict[str, str] = OrderedDict()  # room and message -> the piece it shows
        self._clock = clock
        self._no_drafts: OrderedDict[str, float] = OrderedDict()  # rooms that refused one, and when
        self._no_sign: OrderedDict[str, float] = OrderedDict()  # rooms and topics that refused one, and when

    async def send(self, address: Address, chunk: str, *, shown: str | None) -> Receipt:
        """See `Adapter.send`. What can't be edited any more goes out as a new message, what was for a topic that is gone
        into the chat, text whose marks Telegram won't take without them."""
        told = render.message(chunk, calls=is_private(address))
        message = _message_in(address, shown)
        if message is not None:
            self._shown.pop(shown or "", None)
            try:
                await self._edit(address, message, told, repeatable=True)
            except ApiRefused as refused:
                if not refused.because(*_NOT_EDITABLE):
                    raise
            else:
                return Receipt(message_id=message)
        return Receipt(message_id=await self._post(address, told))

    async def show(self, address: Address, text: str, *, turn: str, shown: str | None) -> str | None:
        """Show the answer as far as it has come: in private as a draft, which the finished message dismisses; else, and
        where drafts are refused, in a message that is edited. What is longer than one message shows its first part."""
        # Where it is dense with marks, that takes long enough for others to notice.
        piece = await asyncio.to_thread(render.beginning, text)
        if not render.visible(piece) or (shown is not None and self._shown.get(shown) == piece):
            return shown
        told, message = render.message(piece, calls=is_private(address)), _message_in(address, shown)
        if message is None and is_private(address) and not self._refused(self._no_drafts, address.room):
            await self._draft(address, told, turn=turn)
            return None
        if message is None:
            message = await self._post(address, told)
        else:
            await self._edit(address, message, told, repeatable=False)
        shown = f"{address.room}/{message}"
        remember(self._shown, shown, piece, most=_REMEMBERED)
        return shown

    async def remove(self, address: Address, shown: str) -> None:
        """Take the message away that shows the answer, if it is in this room. Raises `SendFailed`."""
        message = _message_in(address, shown)
        if message is not None:
            with translated(DELETE, scope=scope(self._name, address.room)):
                await self._bot.delete_message(address.room, _number(message))

    async def sign(self, address: Address) -> None:
        """Show that the bot is writing; it ends by itself after five seconds, or with a message. A place that has refused
        it is left alone for a while."""
        key = f"{address.room}/{address.thread or ''}"
        if not self._typing or self._refused(self._no_sign, key):
            return
        try:
            with translated(ACTION, scope=scope(self._name, address.room)):
                await self._bot.send_chat_action(address.room, "typing", message_thread_id=thread_of(address))
        except Refused:
            remember(self._no_sign, key, self._clock(), most=_REMEMBERED)
            raise

    async def _draft(self, address: Address, told: Rendered, *, turn: str) -> None:
        number = 1 + zlib.crc32(turn.encode()) % (2**31 - 1)  # the same for one turn, and never zero
        try:
            with translated(DRAFT, scope=scope(self._name, address.room), repeatable=True):
                await self._bot.send_message_draft(
                    _number(address.room), number, told.text,
                    message_thread_id=thread_of(address), entities=_entities(told.marks),
                )  # fmt: skip
        except ApiRefused:
            # Not raised: that would end the showing, while the next state can be shown in a message.
            remember(self._no_drafts, address.room, self._clock(), most=_REMEMBERED)

    def _refused(self, known: OrderedDict[str, float], place: str) -> bool:
        since = known.get(place)
        return since is not None and self._clock() - since < REFUSED_S

    async def _post(self, address: Address, told: Rendered) -> str:
        try:
            with translated(SEND, scope=scope(self._name, address.room)):
                sent = await self._bot.send_message(
                    address.room, told.text, entities=_entities(told.marks), message_thread_id=thread_of(address),
                    link_preview_options=self._preview, reply_parameters=_reply(address),
                )  # fmt: skip
        except ApiRefused as refused:
            if told.marks and refused.because(*_NO_MARKS):
                return await self._post(address, bare(told, calls=is_private(address)))
            if address.thread is not None and refused.because(*_NO_THREAD):
                return await self._post(msgspec.structs.replace(address, thread=None), told)
            raise
        return str(sent.message_id)

    async def _edit(self, address: Address, message: str, told: Rendered, *, repeatable: bool) -> None:
        """`repeatable`: it is the last text, which does no harm however often and late it arrives."""
        try:
            with translated(EDIT, scope=scope(self._name, address.room), repeatable=repeatable):
                await self._bot.edit_message_text(
                    told.text, address.room, _number(message),
                    entities=_entities(told.marks), link_preview_options=self._preview,
                )  # fmt: skip
        except ApiRefused as refused:
            if refused.because(_NOT_MODIFIED):
                return
            if not told.marks or not refused.because(*_NO_MARKS):
                raise
            await self._edit(address, message, bare(told, calls=is_private(address)), repeatable=repeatable)


def rates(name: str, address: Address, call: Call) -> tuple[Rate, ...]:
    """Return Telegram's limits as documented: about one message a second in a private chat, bursts borne; 20 a minute in a
    group; 30 a second overall; of taking messages away none. Edits, drafts and actions count like messages, which is not
    documented but reported (anything-llm#5447)."""
    if call == "remove":
        return ()
    in_room = scope(name, address.room)
    private = is_private(address)  # in a group each topic, or each speaker, may have a conversation of its own
    count, per_s = (3, 3) if private else (20, 60)
    return Rate(scope=in_room, count=count, per_s=per_s, of_room=private), Rate(scope=scope(name), count=30, per_s=1)


def scope(name: str, room: str = "") -> str:
    """Return the name of a budget: the bot's, or its in one chat."""
    return f"{name} {room}".rstrip()


def is_private(address: Address) -> bool:
    """Whether the room is a person's chat with the bot: groups and channels have ids below zero."""
    return not address.room.startswith("-")


def thread_of(address: Address) -> int | None:
    """Return the topic as it is named in calls."""
    return _number(address.thread) if address.thread not in (None, GENERAL) else None


def _reply(address: Address) -> ReplyParameters | None:
    """Return what the message answers; shown only where that is not plain anyway, and never worth losing the answer for."""
    if address.quoted is None or address.reply_to is None:
        return None
    return ReplyParameters(_number(address.reply_to), allow_sending_without_reply=True)


def _message_in(address: Address, shown: str | None) -> str | None:
    """Return the message that shows a reply, if it is in this room: a group that became a supergroup counts its messages anew,
    and a number of the old one may be another message's here."""
    room, _, message = (shown or "").rpartition("/")
    return message if message and room == address.room else None


def _number(given: str | None) -> int:
    """Return an id of Telegram's as a number. Raises `Refused` for what is none."""
    try:
        return int(given or "")
    except ValueError as exc:
        raise Refused(f"{given!r} is no id of Telegram's") from exc


def _entities(marks: tuple[Mark, ...]) -> list[MessageEntity]:
    return [MessageEntity(mark.kind, mark.offset, mark.length, url=mark.url, language=mark.language) for mark in marks]
