"""How a browser wants the console to look, and what it was told last: small cookies that hold nothing secret. Pure.

Reading them never fails: a cookie that makes no sense is none.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Literal

import msgspec

from gateway.admin.console.words import Language, language_of

Theme = Literal["light", "dark", "system"]

LANGUAGE_COOKIE, THEME_COOKIE, TOLD_COOKIE = "clew_language", "clew_theme", "clew_told"
_MOST_TOLD = 1500  # a browser refuses cookies beyond 4 kB without a word


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The choices that count now. `theme` `system`: as the reader's machine is set."""

    language: Language
    theme: Theme


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a form's end says on the next page: a key of the catalogue and what is filled in."""

    key: str
    values: dict[str, str] = {}


def look_of(cookies: Mapping[str, str], accept_language: str) -> Look:
    """Return the look chosen by cookie, else by the browser's own settings."""
    theme = cookies.get(THEME_COOKIE)
    return Look(
        language=language_of(cookies.get(LANGUAGE_COOKIE), accept_language),
        theme="light" if theme == "light" else "dark" if theme == "dark" else "system",
    )


def told_cookie(told: Told) -> str:
    """Return the cookie's value; long values are cut."""
    short = {name: value[:200] for name, value in told.values.items()}
    value = base64.urlsafe_b64encode(msgspec.json.encode(Told(key=told.key, values=short))).decode()
    return (
        value
        if len(value) <= _MOST_TOLD
        else base64.urlsafe_b64encode(msgspec.json.encode(Told(key=told.key))).decode()
    )


def told_of(cookies: Mapping[str, str]) -> Told | None:
    """Return what was to be told; None: nothing, or nothing that can be read."""
    value = cookies.get(TOLD_COOKIE, "")
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(value), type=Told) if value else None
    except (ValueError, msgspec.MsgspecError):
        return None
