"""The recorded payloads of `tests/payloads/telegram`, each with its name, as updates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adapters.base import EditEvent, InboundEvent, MessageEvent, MoveEvent
from adapters.telegram.parse import Identity, Ignored

ROOT = Path(__file__).parents[2] / "payloads" / "telegram"

_BOTS = {"chat-sdk-private-text": "vercelchatsdkbot", "command_tag_valid": "foo_bot", "command_tag_wrong": "foo_bot"}
"""The bots that recordings were sent to, where that matters."""

Payload = dict[str, Any]


def bot_of(name: str) -> Identity:
    """Return the bot that a recording was sent to."""
    return Identity(
        account=987654321,
        username=next((_BOTS[part] for part in name.split("/") if part in _BOTS), "mytestbot"),
        name="Test Bot",
    )


def recorded(folder: str) -> dict[str, Payload]:
    """Return a folder's updates by name. A message that was recorded without its update gets one."""
    return {name: _update(body) for name, body in _bodies(ROOT / folder) if _is_update(body)}


def _bodies(folder: Path) -> Iterator[tuple[str, Payload]]:
    for path in sorted(folder.rglob("*.json")):
        document = json.loads(path.read_text())
        name = str(path.relative_to(folder).with_suffix(""))
        if isinstance(document, list):
            yield from ((entry["test"], entry["payload"]) for entry in document)
        elif isinstance(document.get("result"), list):
            yield from ((f"{name}/{number}", body) for number, body in enumerate(document["result"]))
        else:
            yield name, document
            inner = {} if "update_id" in document else document
            yield from ((f"{name}/{key}", body) for key, body in inner.items() if "update_id" in _fields(body))


def _fields(body: Any) -> Payload:
    return body if isinstance(body, dict) else {}


def _is_update(body: Any) -> bool:
    """Whether this is something that happened, and no answer to a call."""
    return "update_id" in _fields(body) or {"message_id", "chat"} <= _fields(body).keys()


def _update(body: Payload) -> Payload:
    return body if "update_id" in body else {"update_id": 1, "message": body}


def outcome(event: InboundEvent | Ignored) -> str:
    """Return what became of an update in one line; a text by its beginning."""
    told = ""
    match event:
        case Ignored(rule=rule):
            return f"ignored: {rule}"
        case MessageEvent():
            what = "message"
            flags = {
                "mention": event.mentions_bot,
                "reply": event.reply_to_bot,
                "bot": event.sender.is_bot,
                "quote": event.quote is not None,
                "untrusted": not event.sender.trusted,
            }
            told = f": {event.text[:24]}"
        case EditEvent():
            what, flags, told = "edit", {"untrusted": not event.sender.trusted}, f": {event.text[:24]}"
        case MoveEvent():
            what, flags, told = "move", {}, f": {event.room} -> {event.new_room}"
        case _:
            what, flags = "presence", {"came" if getattr(event, "present", False) else "went": True}
    place = ("private" if event.chat_type == "private" else "group") + (" topic" if event.thread is not None else "")
    return " ".join([what, place, *(flag for flag, is_set in flags.items() if is_set), event.sender.user]) + told
