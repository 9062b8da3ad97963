"""What is remembered of a person of the page: from its JSON to the gateway, and back. No sockets."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from adapters import strict
from adapters.base import Remembers, Sender
from adapters.console.parse import sender_of
from adapters.console.render import Language
from adapters.problems import Problem
from adapters.strict import Id

Act = Literal["forget", "forget-all", "correct"]

_Kept = Annotated[str, msgspec.Meta(min_length=1, max_length=4000)]


class Whose(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The body of `POST /chat/memory/forget-all`, and what all bodies hold: the person, and the page's language."""

    person: Id
    language: Language = "en"


class Forget(Whose, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The body of `POST /chat/memory/forget`: one thing, by the id that it was shown with."""

    id: _Kept


class Correct(Forget, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The body of `POST /chat/memory/correct`: what it is to be instead."""

    value: str


_BODIES: dict[Act, type[Whose]] = {"forget": Forget, "forget-all": Whose, "correct": Correct}


async def shown(remembers: Remembers, channel: str, *, person: str, language: str) -> bytes:
    """Return what is remembered of the person, as JSON. Raises `Problem`."""
    whose = strict.decode(msgspec.json.encode({"person": person, "language": language}), Whose)
    return await _shown(remembers, channel, whose)


async def changed(remembers: Remembers, channel: str, act: Act, body: bytes) -> bytes:
    """Do what the body says and return what is remembered then, as JSON. Raises `Problem`: 422 `refused`, in the page's
    language, for a correction that is not kept."""
    whose = strict.decode(body, _BODIES[act])
    sender = _sender(channel, whose)
    match whose:
        case Correct(id=kept, value=value):
            strict.require(ids={}, texts={"value": value})
            refused = await remembers.correct(channel, sender, kept, value, language=whose.language)
            if refused is not None:
                raise Problem(422, "refused", refused, field="value")
        case Forget(id=kept):
            await remembers.forget(channel, sender, kept)
        case _:
            await remembers.forget(channel, sender, None)
    return await _shown(remembers, channel, whose)


def _sender(channel: str, whose: Whose) -> Sender:
    strict.require(ids={"person": whose.person}, texts={})
    return sender_of(whose.person, channel=channel)


async def _shown(remembers: Remembers, channel: str, whose: Whose) -> bytes:
    told = await remembers.remembered(channel, _sender(channel, whose), language=whose.language)
    return msgspec.json.encode(told)
