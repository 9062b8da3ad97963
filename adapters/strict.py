"""Reading what strangers send: strict JSON into typed bodies, ids and texts that every store can keep. Pure.

Everything malformed is a `Problem` that names the field and never repeats its content.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar

import msgspec

from adapters.problems import Problem

Body = TypeVar("Body")

Id = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
"""An id of the caller's: with every character four bytes long, three of them still fit one row of a database index."""

_PATH = re.compile(r" - at `\$\.?(.*)`$")
_MEMBER = re.compile(r"(?:missing required|contains unknown) field `(.*)`$")
# Controls, line and paragraph separators and the byte order mark tear log lines apart and hide in what people see.
_NOT_IN_IDS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


def decode(raw: bytes, kind: type[Body]) -> Body:
    """Return what `raw` says. Raises `Problem`: 400 where it is not JSON as RFC 8259 and I-JSON have it (UTF-8, no NaN, no
    duplicate names, no lone surrogates), 422 where a field is missing, unknown or has a value it can't have."""
    try:
        return msgspec.convert(_strict_json(raw), kind)
    except msgspec.ValidationError as exc:
        field, reason = _located(str(exc))
        raise Problem(422, "bad_field", f"{field or 'body'}: {reason}", field=field) from exc


def require(*, ids: Mapping[str, str | None], texts: Mapping[str, str | None]) -> None:
    """Raise a 422 `Problem` for the first field, by its path, that is no usable id or text; None stands for absent."""
    for field, value in ids.items():
        if value is not None and not usable_id(value):
            raise Problem(422, "bad_field", f"{field}: an id holds no control characters", field=field)
    for field, value in texts.items():
        if value is not None and not usable_text(value):
            raise Problem(422, "bad_field", f"{field}: text holds no NUL characters", field=field)


def usable_id(text: str) -> bool:
    """Tell whether `text` can be an id: not empty, no control characters, valid Unicode."""
    return bool(text) and not _NOT_IN_IDS.search(text) and usable_text(text)


def usable_text(text: str) -> bool:
    """Tell whether every store can keep `text`: no NUL, no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in text


def digest(parts: Sequence[str | None]) -> str:
    """Return 128 bits over `parts`: of one length, whatever strangers put in, and none of their text in an index."""
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()


def _strict_json(raw: bytes) -> object:
    try:
        document: object = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
        msgspec.json.encode(document)  # refuses what is not Unicode, wherever it stands
    except RecursionError as exc:
        raise Problem(400, "bad_json", "the body is nested too deeply") from exc
    except UnicodeEncodeError as exc:
        raise Problem(400, "bad_json", "the body holds a lone surrogate; send valid Unicode") from exc
    except UnicodeDecodeError as exc:
        raise Problem(400, "bad_json", f"the body is not UTF-8: byte {exc.start} can't stand there") from exc
    except json.JSONDecodeError as exc:
        raise Problem(400, "bad_json", f"the body is not JSON: {exc.msg} (character {exc.pos})") from exc
    except ValueError as exc:  # an integer of thousands of digits, which Python will not read
        raise Problem(400, "bad_json", "the body holds a number that is too large") from exc
    return document


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        # Which of the two counts differs between parsers; that is how a checked and a used value come apart.
        raise Problem(400, "bad_json", "the body names a field twice in one object")
    return members


def _no_constant(name: str) -> object:
    raise Problem(400, "bad_json", f"{name} is not JSON")


def _located(message: str) -> tuple[str | None, str]:
    """Return the field that a validation message speaks of (None: the whole body), and what it says about it."""
    reason = _PATH.sub("", message)
    found = (_PATH.search(message), _MEMBER.search(reason))
    return ".".join(match[1] for match in found if match) or None, reason
