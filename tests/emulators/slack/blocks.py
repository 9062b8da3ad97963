"""What a message may hold, pure: texts and blocks within Slack's limits, or the error Slack answers with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.emulators.slack.events import texts
from tests.emulators.slack.faults import ApiError

Json = dict[str, Any]

POST_CHARS = 40_000  # cut there, with a warning
UPDATE_BYTES = 4_000  # of UTF-8, as one live test measured (openclaw/openclaw#115027)
MARKDOWN_CHARS = 12_000
ALL_BLOCKS = 13_200  # about; slackapi/bolt-js#2509, where each further block cost about 125 more
A_BLOCK = 125
SECTION_CHARS = 3_000
MOST_BLOCKS = 50
TABLE_ROWS, TABLE_COLUMNS, TABLE_CHARS = 100, 20, 10_000
KNOWN = frozenset(
    {"actions", "context", "context_actions", "divider", "file", "header", "image", "input", "markdown", "plan"}
    | {"rich_text", "section", "table", "task_card", "video"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A message's content as the call gives it. `blocks` None: Slack makes them of the text."""

    text: str
    blocks: tuple[Json, ...] | None
    attachments: tuple[Json, ...] | None
    metadata: Json | None  # empty: takes the old one away
    warnings: tuple[str, ...] = ()


def content(args: Json, *, update: bool) -> Content:
    """Read the content of a call; raises ApiError as Slack refuses it."""
    text, markdown = args.get("text") or "", args.get("markdown_text")
    blocks, attachments = _array(args, "blocks"), _array(args, "attachments")
    if markdown is not None:
        if text or blocks:
            raise ApiError("markdown_text_conflict")
        if len(markdown) > MARKDOWN_CHARS:
            raise ApiError("msg_too_long")
        blocks = ({"type": "markdown", "text": markdown},) if markdown else None
        text = markdown
    if not (text.strip() or blocks or attachments):
        raise ApiError("no_text")
    if update and markdown is None and len(text.encode()) > UPDATE_BYTES:
        raise ApiError("msg_too_long")
    check_blocks(blocks or ())
    warnings: tuple[str, ...] = ()
    if len(text) > POST_CHARS:
        text, warnings = text[:POST_CHARS], ("message_truncated",)
    if not text:
        text = " ".join(part for block in blocks or () for part in texts(block))
    return Content(
        text=text, blocks=blocks or None, attachments=attachments, metadata=_metadata(args), warnings=warnings
    )


def check_blocks(blocks: Sequence[Json], *, most: int = MOST_BLOCKS) -> None:
    """Raise ApiError if Slack would not take the blocks."""
    if len(blocks) > most:
        raise _invalid(f"no more than {most} items allowed [json-pointer:/blocks]")
    for number, block in enumerate(blocks):
        _check_block(block, f"/blocks/{number}")
    if sum(block["type"] == "table" for block in blocks) > 1:
        raise _invalid("only one table is allowed [json-pointer:/blocks]")
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    size = sum(len(text) for block in blocks for text in texts(block)) + A_BLOCK * max(0, len(blocks) - 1)
    if markdown > MARKDOWN_CHARS or size > ALL_BLOCKS:
        raise ApiError("msg_blocks_too_long")


def _check_block(block: Any, at: str) -> None:
    if not isinstance(block, dict) or block.get("type") not in KNOWN:
        raise _invalid(f"unsupported type [json-pointer:{at}/type]")
    match block["type"]:
        case "markdown":
            _check_text(block.get("text"), f"{at}/text", most=MARKDOWN_CHARS)
        case "section":
            if block.get("text") is None and not block.get("fields"):
                raise _invalid(f"missing required field: text [json-pointer:{at}]")
            _check_object(block.get("text"), f"{at}/text", most=SECTION_CHARS)
            for number, part in enumerate(block.get("fields") or ()):
                _check_object(part, f"{at}/fields/{number}", most=2_000)
        case "header":
            _check_object(block.get("text"), f"{at}/text", most=150)
        case "context" | "actions":
            most = 10 if block["type"] == "context" else 25
            if not 1 <= len(block.get("elements") or ()) <= most:
                raise _invalid(f"no more than {most} items allowed [json-pointer:{at}/elements]")
        case "table":
            _check_table(block.get("rows"), at)
    if len(block.get("block_id") or "") > 255:
        raise _invalid(f"must be less than 256 characters [json-pointer:{at}/block_id]")


def _check_object(part: Any, at: str, *, most: int) -> None:
    if part is None:
        return
    if not isinstance(part, dict) or part.get("type") not in ("mrkdwn", "plain_text"):
        raise _invalid(f"unsupported type [json-pointer:{at}/type]")
    _check_text(part.get("text"), f"{at}/text", most=most)


def _check_text(text: Any, at: str, *, most: int) -> None:
    if not isinstance(text, str) or not text:
        raise _invalid(f"must be more than 0 characters [json-pointer:{at}]")
    if len(text) > most and most == MARKDOWN_CHARS:
        raise ApiError("msg_blocks_too_long")
    if len(text) > most:
        raise _invalid(f"must be less than {most + 1} characters [json-pointer:{at}]")


def _check_table(rows: Any, at: str) -> None:
    if not isinstance(rows, list) or not 1 <= len(rows) <= TABLE_ROWS:
        raise _invalid(f"no more than {TABLE_ROWS} rows allowed [json-pointer:{at}/rows]")
    for number, row in enumerate(rows):
        if not 1 <= len(row) <= TABLE_COLUMNS:
            raise _invalid(f"no more than {TABLE_COLUMNS} columns allowed [json-pointer:{at}/rows/{number}]")
        if any(not "".join(texts(cell)) for cell in row):
            raise _invalid(f"must be more than 0 characters [json-pointer:{at}/rows/{number}]")
    if sum(len(text) for text in texts(rows)) > TABLE_CHARS:
        raise _invalid(f"no more than {TABLE_CHARS} characters allowed [json-pointer:{at}/rows]")


def _invalid(message: str) -> ApiError:
    return ApiError("invalid_blocks", f"[ERROR] {message}")


def _array(args: Json, name: str) -> tuple[Json, ...] | None:
    """Read an array that comes as JSON or as its text; None: not given."""
    value = args.get(name)
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ApiError(f"invalid_{name}_format") from None
    if not isinstance(value, list):
        raise ApiError(f"invalid_{name}_format")
    return tuple(value)


def _metadata(args: Json) -> Json | None:
    value = args.get("metadata")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ApiError("invalid_metadata_format") from None
    if value is None or value == {}:
        return value
    if (
        not isinstance(value, dict)
        or not isinstance(value.get("event_type"), str)
        or set(value) != {"event_type", "event_payload"}
    ):
        raise ApiError("invalid_metadata_format")
    if not isinstance(value["event_payload"], dict):
        raise ApiError("invalid_metadata_format")
    if len(json.dumps(value)) > 8_000:
        raise ApiError("metadata_too_large")
    return value
