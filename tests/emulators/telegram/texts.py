"""A text as a bot sends it, made into what the platform stores: markup parsed, lengths and entities checked. Pure."""

from __future__ import annotations

import re
from typing import Any

from tests.emulators.telegram import markup
from tests.emulators.telegram.entities import checked, found, trimmed, units
from tests.emulators.telegram.errors import bad_request

MAX_UNITS = 4096  # after parsing, in UTF-16 units
MAX_BYTES = 32_768  # as sent

_EMPTY = re.compile("[\\s\u00ad\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufeff\ufffc]*")
"""Nothing but what nobody sees: what TDLib strips from a text, and some more."""


def unmarked(params: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """Return the text and its entities, not checked yet; the platform looks at markup before it looks at the chat."""
    text = params.get("text", "")
    if not text:
        raise bad_request("message text is empty")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise bad_request("text is too long")
    if params.get("parse_mode"):
        return markup.parsed(text, params["parse_mode"])
    return text, params.get("entities", [])


def stored(text: str, entities: list[dict[str, Any]]) -> dict[str, Any]:
    """Return `text` and `entities` as they will stand in the message."""
    text, entities = trimmed(text, checked(text, entities))
    if _EMPTY.fullmatch(text):
        raise bad_request("text must be non-empty")
    if units(text) > MAX_UNITS:
        raise bad_request("message is too long")
    marks = found(text, entities)
    return {"text": text} | ({"entities": marks} if marks else {})
