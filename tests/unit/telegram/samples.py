"""Hand-made updates, for what no recording holds; shapes as in the recordings."""

from __future__ import annotations

from typing import Any

from adapters.base import InboundEvent, MessageEvent
from adapters.telegram.parse import Identity, Ignored, parse
from tests.emulators.telegram.entities import found

ME = Identity(account=7, username="Clew_bot", name="Clew")
BOT = {"id": 7, "is_bot": True, "first_name": "Clew", "username": "Clew_bot"}
ANN = {"id": 8_000_000_001, "is_bot": False, "first_name": "Ann", "last_name": "李", "language_code": "zh-hans"}
GROUP = {"id": -1001, "type": "supergroup", "title": "Team"}
PRIVATE = {"id": 8_000_000_001, "type": "private", "first_name": "Ann"}


def message(text: str | None = "hello", **fields: Any) -> dict[str, Any]:
    """A message of Ann's in a group, its marks those that the platform would give it; a field that is None is left out."""
    body: dict[str, Any] = {"message_id": 5, "date": 1_700_000_000, "chat": GROUP, "from": ANN}
    if text is not None:
        marks = found(text, ())
        body |= {"text": text} | ({"entities": marks} if marks else {})
    return {name: value for name, value in (body | fields).items() if value is not None}


def update(number: int = 1, **kind: Any) -> dict[str, Any]:
    return {"update_id": number, **kind}


def read(body: dict[str, Any], *, number: int = 1, kind: str = "message") -> InboundEvent | Ignored:
    """Parse a message as the channel `acme` does."""
    return parse(update(number, **{kind: body}), channel="acme", me=ME)


def said(text: str | None = "hello", **fields: Any) -> MessageEvent:
    """Parse a message that is one."""
    event = read(message(text, **fields))
    assert isinstance(event, MessageEvent), event
    return event
