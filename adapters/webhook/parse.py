"""What a webhook's body says: strict JSON in, a `MessageEvent` and its fingerprint out. Pure.

Everything malformed is a `Problem` that names the field and never repeats its content. Unknown fields are refused: a
misspelt `thread` that was passed over would put people into one conversation who never asked to share it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from adapters.base import MessageEvent, Sender
from adapters.problems import Problem
from adapters.webhook.identity import MAX_NAME_CHARS, usable_id, usable_text

Mode = Literal["sync", "stream", "async"]

ID_CHARS = 128
_PATH = re.compile(r" - at `\$\.?(.*)`$")
_MEMBER = re.compile(r"(?:missing required|contains unknown) field `(.*)`$")

Id = Annotated[str, msgspec.Meta(min_length=1, max_length=ID_CHARS)]


class BodySender(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who wrote. `id` may be missing where a bearer token names the caller."""

    id: Id | None = None
    name: Annotated[str, msgspec.Meta(max_length=MAX_NAME_CHARS)] | None = None


class BodyMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was written."""

    id: Id
    text: Annotated[str, msgspec.Meta(min_length=1)]
    in_reply_to: Id | None = None


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call. `conversation` is the room, `thread` the place inside it."""

    conversation: Id
    chat_type: Literal["private", "group"]
    message: BodyMessage
    sender: BodySender = BodySender()
    thread: Id | None = None
    session: Id | None = None
    mode: Mode = "sync"


def parse_body(raw: bytes) -> Body:
    """Return what `raw` says. Raises `Problem`: 400 where it is not JSON as RFC 8259 and I-JSON have it (UTF-8, no NaN, no
    duplicate names, no lone surrogates), 422 where a field is missing, unknown or has a value it can't have."""
    try:
        body = msgspec.convert(_strict_json(raw), Body)
    except msgspec.ValidationError as exc:
        field, reason = _located(str(exc))
        raise Problem(422, "bad_field", f"{field or 'body'}: {reason}", field=field) from exc
    _check_texts(body)
    return body


def _located(message: str) -> tuple[str | None, str]:
    """Return the field that a validation message speaks of (None: the whole body), and what it says about it."""
    reason = _PATH.sub("", message)
    found = (_PATH.search(message), _MEMBER.search(reason))
    return ".".join(match[1] for match in found if match) or None, reason


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


def _check_texts(body: Body) -> None:
    ids = {
        "conversation": body.conversation,
        "thread": body.thread,
        "sender.id": body.sender.id,
        "message.id": body.message.id,
        "message.in_reply_to": body.message.in_reply_to,
        "session": body.session,
    }
    for field, value in ids.items():
        if value is not None and not usable_id(value):
            raise Problem(422, "bad_field", f"{field}: an id holds no control characters", field=field)
    for field, text in {"sender.name": body.sender.name, "message.text": body.message.text}.items():
        if text is not None and not usable_text(text):
            raise Problem(422, "bad_field", f"{field}: text holds no NUL characters", field=field)


def to_event(body: Body, sender: Sender, *, channel: str, delivery: str | None) -> MessageEvent:
    """Return the event. Its dedupe ids hold the sender, so that nobody can occupy another one's message ids; `delivery`
    is the `webhook-id`, which stays over a sender's retries."""
    seen = {"message": body.message.id, "delivery": delivery}
    return MessageEvent(
        channel=channel,
        room=body.conversation,
        thread=body.thread,
        chat_type=body.chat_type,
        sender=sender,
        dedupe_ids=tuple(f"{kind}:{_digest([channel, sender.user, value])}" for kind, value in seen.items() if value),
        message_id=body.message.id,
        text=body.message.text,
        in_reply_to=body.message.in_reply_to,
        session=body.session,
    )


def fingerprint(body: Body, *, user: str) -> str:
    """Return a digest of what was said: equal for retries however they are written, in whatever mode; `user` stands for
    the sender, named in the body or not."""
    message = body.message
    place = [body.conversation, body.thread, body.chat_type, body.session]
    return _digest([*place, user, body.sender.name, message.id, message.text, message.in_reply_to])


def _digest(parts: Sequence[str | None]) -> str:
    """Return 128 bits over `parts`: of one length, whatever strangers put in, and none of their text in an index."""
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()
