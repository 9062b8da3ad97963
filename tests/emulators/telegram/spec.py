"""Which methods, parameters and types the Bot API has, and whether a call keeps to them.

Stricter than the platform on purpose: it ignores a parameter it does not know, which is how a misspelt one goes unseen for
months. `api.json` is the structure of Bot API 10.1 (MIT, LICENSE.txt beside it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.emulators.telegram.errors import ApiError, bad_request

_API = json.loads((Path(__file__).parent / "api.json").read_text())
_TYPES: dict[str, Any] = _API["types"]
_METHODS: dict[str, tuple[str, Any]] = {name.lower(): (name, method) for name, method in _API["methods"].items()}

UPDATE_KINDS = frozenset(field["name"] for field in _TYPES["Update"]["fields"]) - {"update_id"}
_ACTIONS = """
typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker find_location
record_video_note upload_video_note
"""
ACTIONS = frozenset(_ACTIONS.split())
_TEXTS_OF_MISSING = {
    "text": "message text is empty",
    "chat_id": "chat_id is empty",
    "message_id": "message identifier is not specified",
}


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it came in a multipart body."""

    name: str
    content: bytes


def method_name(name: str) -> str:
    """Return the method's name as documented; the platform does not look at case. Raises 404 for one it does not have."""
    if name.lower() not in _METHODS:
        raise ApiError(404, "Not Found: method not found")
    return _METHODS[name.lower()][0]


def checked(method: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the call's parameters as what they are (numbers, objects), from strings of a form or from JSON values.

    Raises 400 for an unknown, a missing or a mistyped one; the text names it.
    """
    fields = {field["name"]: field for field in _METHODS[method.lower()][1].get("fields", ())}
    for name in raw:
        if name not in fields:
            raise bad_request(
                f"unknown parameter {name!r} of {method} (the platform ignores it, this emulator does not)"
            )
    values = {name: _value(raw[name], fields[name]["types"], name) for name in raw if raw[name] is not None}
    for name, field in fields.items():
        if field["required"] and values.get(name) in (
            (None,) if name == "url" else (None, "")
        ):  # setWebhook "" removes it
            raise bad_request(_TEXTS_OF_MISSING.get(name, f'parameter "{name}" is required'))
    return values


def _value(raw: Any, types: list[str], path: str) -> Any:
    """Return the value by the first of these types that takes it."""
    problem: ApiError | None = None
    for kind in types:
        try:
            return _as(raw, kind, path)
        except ApiError as error:
            problem = error
    assert problem is not None
    raise problem


def _as(raw: Any, kind: str, path: str) -> Any:
    wrong = bad_request(f"invalid value {str(raw)[:80]!r} of parameter {path!r}: want {kind}")
    if kind == "Integer":
        try:
            if isinstance(raw, bool | float):
                raise wrong
            return int(raw)
        except (TypeError, ValueError):
            raise wrong from None
    if kind == "Boolean":
        return _boolean(raw, wrong)
    if kind == "Float":
        if isinstance(raw, int | float) and not isinstance(raw, bool):
            return float(raw)
        raise wrong
    if kind == "String":
        if not isinstance(raw, str):
            raise wrong
        return raw
    if kind == "InputFile":
        if not isinstance(raw, Upload | str):
            raise wrong
        return raw
    if isinstance(raw, str):  # an object in a form
        try:
            raw = json.loads(raw)
        except ValueError:
            raise bad_request(f"can't parse {path} JSON object") from None
    if kind.startswith("Array of "):
        if not isinstance(raw, list):
            raise wrong
        return [_as(item, kind.removeprefix("Array of "), f"{path}[{number}]") for number, item in enumerate(raw)]
    return _object(raw, kind, path, wrong)


def _boolean(raw: Any, wrong: ApiError) -> bool:
    if isinstance(raw, bool):
        return raw
    if str(raw).lower() in ("true", "1", "yes"):
        return True
    if str(raw).lower() in ("false", "0", "no"):
        return False
    raise wrong


def _object(raw: Any, kind: str, path: str, wrong: ApiError) -> Any:
    if not isinstance(raw, dict):
        raise wrong
    described = _TYPES[kind]
    if described.get("subtypes"):
        return _value(raw, described["subtypes"], path)
    fields = {field["name"]: field for field in described.get("fields", ())}
    for name in raw:
        if name not in fields:
            raise bad_request(f"unknown field {name!r} of {kind} in {path!r}")
    for name, field in fields.items():
        if field["required"] and raw.get(name) is None:
            raise bad_request(f"field {name!r} of {kind} in {path!r} must be given")
    return {
        name: _value(value, fields[name]["types"], f"{path}.{name}") for name, value in raw.items() if value is not None
    }
