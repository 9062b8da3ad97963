"""Which of Slack's messages is ours: each carries a mark in its metadata, by which it is found when its receipt was lost."""

from __future__ import annotations

from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from adapters.base import Address
from adapters.errors import Unreachable
from adapters.slack.authors import Identity
from adapters.slack.reading import TS, Fields, mapping, maps, string
from adapters.slack.web import translated

MARK = "clew"
"""The kind of metadata by which a message is found again: {"chunk": id} of a reply's part, {"turn": id} of what shows one."""

_PAGES, _PAGE = 5, 200
_SKEW_S = 300  # by which our clock may be before Slack's: signatures are refused beyond


def marked(mark: Fields) -> dict[str, Any]:
    """Return the metadata of a message with this mark."""
    return {"event_type": MARK, "event_payload": mark}


async def found(client: AsyncWebClient, address: Address, mark: Fields, *, me: Identity) -> str | None:
    """Return our message with this mark among those that came after the one it answers. Other programs' marks prove nothing:
    a second Clew in the channel counts its chunks too. Raises `SendFailed` where that can't be told."""
    oldest, cursor = _oldest(address), None
    for _ in range(_PAGES):
        answer = await _page(client, address, oldest=oldest, cursor=cursor)
        for message in maps(answer, "messages"):
            metadata = mapping(message, "metadata")
            ours = message.get("user") == me.user or message.get("bot_id") == me.bot
            if ours and metadata.get("event_type") == MARK and metadata.get("event_payload") == mark:
                return string(message, "ts")
        cursor = string(mapping(answer, "response_metadata"), "next_cursor")
        if not cursor:
            return None
    raise Unreachable(f"{_PAGES * _PAGE} messages came since; whether this one is among them can't be told")


async def _page(client: AsyncWebClient, address: Address, *, oldest: str | None, cursor: str | None) -> Fields:
    room = address.room
    if address.thread is not None:
        with translated("conversations.replies", scope="conversations.replies"):
            answer = await client.conversations_replies(
                channel=room, ts=address.thread, oldest=oldest, inclusive=True, include_all_metadata=True,
                limit=_PAGE, cursor=cursor,
            )  # fmt: skip
    else:
        with translated("conversations.history", scope="conversations.history"):
            answer = await client.conversations_history(
                channel=room, oldest=oldest, inclusive=True, include_all_metadata=True, limit=_PAGE, cursor=cursor
            )
    return answer.data if isinstance(answer.data, dict) else {}


def _oldest(address: Address) -> str | None:
    """Return the id before which no answer can stand: of the message that is answered; a slash command has none."""
    if TS.fullmatch(address.reply_to or ""):
        return address.reply_to
    return None if address.since_ms is None else f"{address.since_ms / 1000 - _SKEW_S:.6f}"
