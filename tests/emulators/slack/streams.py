"""Streamed messages: started, appended to, stopped; ended by Slack after five minutes, by the person's Stop, or by us."""

from __future__ import annotations

import json
from typing import Any

from tests.emulators.slack import events
from tests.emulators.slack.blocks import MARKDOWN_CHARS, check_blocks
from tests.emulators.slack.channels import Channel
from tests.emulators.slack.faults import ApiError
from tests.emulators.slack.messages import Message, Stream
from tests.emulators.slack.methods import Asked, Method

Json = dict[str, Any]
_STATUSES = ("active", "processing", "suspended", "closed")
_CHUNKS = ("markdown_text", "task_update", "plan_update", "blocks")


def start(asked: Asked) -> Json:
    channel = asked.place()
    thread = asked.thread(channel)
    if channel.kind != "im":
        if not asked.args.get("recipient_team_id"):
            raise ApiError("missing_recipient_team_id")
        if not asked.args.get("recipient_user_id"):
            raise ApiError("missing_recipient_user_id")
        if asked.args["recipient_user_id"] not in channel.members:
            raise ApiError("user_not_found")
    text = _text(asked.args)
    message = channel.post(
        author=asked.me.user,
        text=text,
        blocks=_markdown(text),
        thread=thread,
        stream=Stream(started=asked.platform.clock.now()),
        unfurl=False,
    )
    return {"channel": channel.id, "ts": message.ts}


def append(asked: Asked) -> Json:
    channel, message = _streaming(asked)
    text = _text(asked.args)
    if not text and not asked.args.get("chunks"):
        raise ApiError("no_text")
    _extend(channel, message, text, quiet=True)
    return {"channel": channel.id, "ts": message.ts}


def stop(asked: Asked) -> Json:
    channel, message = _streaming(asked)
    status = asked.args.get("session_status")
    if status is not None and status not in _STATUSES:
        raise ApiError("invalid_arguments", "[ERROR] must be one of the allowed values [json-pointer:/session_status]")
    blocks = asked.args.get("blocks") or []
    blocks = json.loads(blocks) if isinstance(blocks, str) else blocks
    check_blocks(blocks)
    text = _text(asked.args)
    assert message.stream is not None
    message.stream.ended = "message_not_in_streaming_state"
    _extend(channel, message, text, blocks=blocks, metadata=asked.args.get("metadata"))
    return {"channel": channel.id, "ts": message.ts, "message": events.wire(message, with_metadata=True)}


def _streaming(asked: Asked) -> tuple[Channel, Message]:
    channel = asked.channel()
    message = asked.message(channel)
    if message.author is not asked.me.user:
        raise ApiError("message_not_owned_by_app")
    over = "message_not_in_streaming_state"
    if message.stream is not None:
        over = message.stream.over(asked.platform.clock.now()) or ""
    if over:
        raise ApiError(over)
    return channel, message


def _extend(
    channel: Channel,
    message: Message,
    more: str,
    *,
    blocks: list[Json] | None = None,
    metadata: Json | None = None,
    quiet: bool = False,
) -> None:
    text = message.text + more
    channel.change(
        message,
        text=text,
        blocks=[*_markdown(text), *(blocks or [])],
        edited_by=None,
        metadata=metadata,
        quiet=quiet,
    )


def _text(args: Json) -> str:
    """Return the text of a call: `markdown_text` or the chunks of that type."""
    chunks = args.get("chunks") or []
    chunks = json.loads(chunks) if isinstance(chunks, str) else chunks
    if any(not isinstance(chunk, dict) or chunk.get("type") not in _CHUNKS for chunk in chunks):
        raise ApiError("invalid_chunks")
    if chunks and args.get("markdown_text"):
        raise ApiError("markdown_text_conflict")
    texts = [chunk.get("text", "") for chunk in chunks if chunk["type"] == "markdown_text"]
    text: str = args.get("markdown_text") or "".join(texts)
    if len(text) > MARKDOWN_CHARS:
        raise ApiError("msg_too_long")
    return text


def _markdown(text: str) -> list[Json]:
    return [{"type": "markdown", "text": text}] if text else []


METHODS = (
    Method(
        name="chat.startStream",
        answer=start,
        required=("channel", "thread_ts"),
        optional=(
            *("markdown_text", "chunks", "recipient_team_id", "recipient_user_id", "task_display_mode"),
            *("icon_emoji", "icon_url", "username"),
        ),
        scope="chat:write",
        tier=2,
    ),
    Method(
        name="chat.appendStream",
        answer=append,
        required=("channel", "ts"),
        optional=("markdown_text", "chunks"),
        scope="chat:write",
        tier=4,
    ),
    Method(
        name="chat.stopStream",
        answer=stop,
        required=("channel", "ts"),
        optional=("markdown_text", "chunks", "blocks", "metadata", "session_status"),
        scope="chat:write",
        tier=2,
    ),
)
