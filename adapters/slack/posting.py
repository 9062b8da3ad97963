"""Replies on their way to Slack: posted, edited, shown while they are made; `finding.py` finds them when a receipt was lost."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from adapters.base import Address, Call, Rate, Receipt
from adapters.errors import SendFailed, Unknown
from adapters.remembering import remember
from adapters.slack import render
from adapters.slack.authors import Identity
from adapters.slack.finding import found, marked
from adapters.slack.response_urls import ResponseUrls
from adapters.slack.web import ApiRefused, translated

logger = logging.getLogger(__name__)

POST, WHISPER = "chat.postMessage", "chat.postEphemeral"
UPDATE, DELETE, STATUS = "chat.update", "chat.delete", "assistant.threads.setStatus"

_NOT_EDITABLE = frozenset(
    {"cant_update_message", "edit_window_closed", "message_not_found", "msg_too_long", "streaming_state_conflict"}
)
_NO_BLOCKS = frozenset(
    {
        "invalid_blocks",
        "invalid_blocks_format",
        "msg_blocks_too_long",
        "invalid_attachments",  # more tables than the one that a message bears
        "only_one_table_allowed",
        "invalid_arguments",
    }
)
_THREAD_GONE = frozenset({"thread_not_found", "invalid_thread_ts", "message_not_found"})
_NOT_THERE = frozenset({"not_in_channel", "channel_not_found", "user_not_in_channel"})
_REMEMBERED = 1_000


class Posting:
    """One channel's outgoing side, over an open client. `status` is the text of the sign, None: no sign."""

    def __init__(
        self, name: str, client: AsyncWebClient, *, me: Identity, urls: ResponseUrls, status: str | None
    ) -> None:
        self._name = name
        self._client = client
        self._me = me
        self._urls = urls
        self._status = status
        self._shown: OrderedDict[str, str] = OrderedDict()  # message -> the piece it shows
        self._no_status: OrderedDict[str, None] = OrderedDict()  # rooms that refused a sign

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None) -> Receipt:
        """See `Adapter.send`. Markdown that Slack won't take goes out as plain text; what can't be edited any more, as a new
        message, and the half of it that was shown is taken away. What only one person is to see has no message's id."""
        if address.only_for is not None:
            await self._posted(address, chunk, chunk_id=chunk_id)
            return Receipt()
        if shown is None:
            return Receipt(message_id=await self._posted(address, chunk, chunk_id=chunk_id))
        self._shown.pop(shown, None)
        if await self._replaced(address, shown, chunk, chunk_id=chunk_id):
            return Receipt(message_id=shown)
        receipt = Receipt(message_id=await self._posted(address, chunk, chunk_id=chunk_id))
        try:
            await self.remove(address.room, shown)
        except SendFailed as fault:  # the answer stands, and nothing is lost with it
            logger.info("half an answer stays", extra={"channel": self._name, "reason": str(fault)})
        return receipt

    async def _posted(self, address: Address, chunk: str, *, chunk_id: str) -> str | None:
        """Return the new message's id; None for one that only whoever gave a command sees, as we are not in his room."""
        whole, plain = _forms(address, chunk, chunk_id=chunk_id)
        try:
            return await self._post(address, whole())
        except ApiRefused as refused:
            if refused.code in _NO_BLOCKS:
                return await self._post(address, {**plain(), "mrkdwn": False})
            if refused.code not in _NOT_THERE or not await self._urls.answer(address.reply_to, whole()):
                raise
        return None

    async def _replaced(self, address: Address, shown: str, chunk: str, *, chunk_id: str) -> bool:
        """Let the chunk stand in the message, in the first form that Slack takes; False: it takes none."""
        for form in _forms(address, chunk, chunk_id=chunk_id):
            try:
                await self._update(address.room, shown, form())
            except ApiRefused as refused:
                if refused.code in _NOT_EDITABLE:
                    return False
                if refused.code not in _NO_BLOCKS:
                    raise
            else:
                return True
        return False

    async def remove(self, room: str, shown: str) -> None:
        """Take a message of ours away. Raises `SendFailed`."""
        with translated(DELETE, scope=scope(self._name, DELETE)):
            await self._client.chat_delete(channel=room, ts=shown)

    async def show(self, address: Address, text: str, *, turn: str, shown: str | None) -> str | None:
        """Post the answer as far as it has come, then edit that message. What is longer than one message shows its first
        part until the answer is whole."""
        # Where it is dense with marks, that takes long enough for others to notice.
        piece = await asyncio.to_thread(render.beginning, text)
        if not piece.strip() or (shown is not None and self._shown.get(shown) == piece):
            return shown
        content = render.message(piece, quoted=address.quoted)
        if shown is None:
            shown = await self._post(address, {**content, "metadata": marked(_shows(turn))})
        else:
            await self._update(address.room, shown, content)
        remember(self._shown, shown, piece, most=_REMEMBERED)
        return shown

    async def sign(self, address: Address, *, on: bool) -> None:
        """Set or clear the status of the thread. Outside threads there is no place for one; a room that has refused it once
        is not asked again."""
        if self._status is None or address.thread is None or address.room in self._no_status:
            return
        try:
            with translated(STATUS, scope=scope(self._name, STATUS)):
                await self._client.assistant_threads_setStatus(
                    channel_id=address.room, thread_ts=address.thread, status=self._status if on else ""
                )
        except ApiRefused as refused:
            if refused.code not in _THREAD_GONE:
                remember(self._no_status, address.room, None, most=_REMEMBERED)
            raise

    async def find(self, address: Address, *, chunk_id: str) -> Receipt | None:
        """See `Reconciles.find`. What only one person sees is in no history, and seeing it twice does no harm."""
        if address.only_for is not None:
            return None
        ts = await found(self._client, address, {"chunk": chunk_id}, me=self._me)
        return Receipt(message_id=ts) if ts is not None else None

    async def find_shown(self, address: Address, *, turn: str) -> str | None:
        """See `Reconciles.find_shown`."""
        return await found(self._client, address, _shows(turn), me=self._me)

    async def _post(self, address: Address, content: Mapping[str, Any]) -> str:
        """Return the new message's id. Raises `SendFailed`."""
        if address.only_for is not None:
            return await self._whisper(address, address.only_for, content)
        with translated(POST, scope=scope(self._name, POST)):
            answer = await self._client.chat_postMessage(
                channel=address.room, thread_ts=address.thread, unfurl_links=False, unfurl_media=False, **content
            )
        ts = answer.get("ts")
        if not isinstance(ts, str):
            raise Unknown(f"{POST}: the answer names no message")
        return ts

    async def _whisper(self, address: Address, account: str, content: Mapping[str, Any]) -> str:
        """As `_post`, for one person. In a thread that the message itself would begin, Slack shows him nothing."""
        thread = address.thread if address.thread != address.reply_to else None
        shown = {name: content[name] for name in ("text", "blocks") if name in content}  # it takes no metadata
        with translated(WHISPER, scope=scope(self._name, WHISPER)):
            answer = await self._client.chat_postEphemeral(
                channel=address.room, user=account, thread_ts=thread, **shown
            )
        return str(answer.get("message_ts"))

    async def _update(self, room: str, ts: str, content: Mapping[str, Any]) -> None:
        """Let the message say this and nothing else: without `blocks` the old ones may stay, and `parse` has another default
        than for new messages."""
        with translated(UPDATE, scope=scope(self._name, UPDATE)):
            await self._client.chat_update(channel=room, ts=ts, **{"parse": "none", "blocks": [], **content})


def rates(name: str, address: Address, call: Call) -> tuple[Rate, ...]:
    """Return Slack's limits as documented: a message a second in a channel with short bursts (taken as four in four seconds) and
    a few hundred a minute in the workspace; `chat.update` and `chat.delete` are of tier 3, 50 a minute, `chat.postEphemeral` of
    tier 4, 100; what `setStatus` bears is not documented, so as an edit. A 429 speaks of its method in the workspace
    (platform-facts 0.5): to what one room bears we keep ourselves."""
    match call:
        case "send" if address.only_for is not None:
            return (Rate(scope=scope(name, WHISPER), count=100, per_s=60),)
        case "send":
            alone = address.thread is None and address.room.startswith("D")  # elsewhere each thread is a conversation
            in_room = Rate(scope=scope(name, POST, address.room), count=4, per_s=4, of_room=alone)
            return in_room, Rate(scope=scope(name, POST), count=300, per_s=60)
        case "edit":
            return (Rate(scope=scope(name, UPDATE), count=50, per_s=60),)
        case "sign":
            return (Rate(scope=scope(name, STATUS), count=50, per_s=60),)
        case "remove":
            return (Rate(scope=scope(name, DELETE), count=50, per_s=60),)


def scope(name: str, method: str, room: str = "") -> str:
    """Return the name of a budget: a channel's method, in one room where its limit is the room's."""
    return f"{name} {method} {room}".rstrip()


def _forms(
    address: Address, chunk: str, *, chunk_id: str
) -> tuple[Callable[[], dict[str, Any]], Callable[[], dict[str, Any]]]:
    """Return what makes the chunk with its Markdown, and what makes it as plain text."""
    metadata = {"metadata": marked({"chunk": chunk_id})}
    return (
        lambda: render.message(chunk, quoted=address.quoted) | metadata,
        lambda: render.text_only(chunk, quoted=address.quoted) | metadata,
    )


def _shows(turn: str) -> dict[str, str]:
    """Return the mark of the message that shows a turn's reply."""
    return {"turn": turn}
