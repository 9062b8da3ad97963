"""What both markups share: a mark that was begun, what a link's address makes of it, and the form of a complaint."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.emulators.telegram.entities import Entity
from tests.emulators.telegram.errors import ApiError, bad_request
from tests.emulators.telegram.links import checked_link


@dataclass(kw_only=True)
class Open:
    """A mark that was begun: where in the markup and where in the text."""

    kind: str
    source: int
    offset: int
    argument: str = ""


def cannot(problem: str) -> ApiError:
    return bad_request(f"can't parse entities: {problem}")


def size_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def linked(url: str, kind: str) -> Entity:
    """Return what a link makes of its entity; an address the platform does not take leaves plain text (`url` empty)."""
    if kind == "custom_emoji":
        number = re.fullmatch(r"tg:(?://)?emoji/?\?(?:[^#]*&)?id=(\d+)(?:[&#].*)?", url, re.IGNORECASE)
        if number is None:
            raise cannot("Invalid custom emoji identifier specified")
        return {"custom_emoji_id": number.group(1)}
    person = re.fullmatch(r"tg:(?://)?user\?id=(\d+)", url, re.IGNORECASE)
    if person is not None:
        return {"type": "text_mention", "user": {"id": int(person.group(1)), "is_bot": False, "first_name": "User"}}
    return {"url": checked_link(url)}


def python_index(text: str, offset: int) -> int:
    """Return the Python index of a UTF-16 offset."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * offset].decode("utf-16-le", "surrogatepass"))


def ordered(entities: list[Entity]) -> list[Entity]:
    return sorted(entities, key=lambda mark: (mark["offset"], -mark["length"]))
