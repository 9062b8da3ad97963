"""A few acts as any part might have them, and an audit log that can be read: what the doors are tested with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Literal

import msgspec

from gateway.admin.operations import (
    Acting,
    AuditOutcome,
    Disagrees,
    Empty,
    FieldProblem,
    Handlers,
    Invalid,
    Missing,
    Operation,
    Refused,
    Service,
    Stream,
)
from gateway.admin.rights import Actor, Grant, Role
from gateway.errors import StoreBusy


class Find(msgspec.Struct, frozen=True, kw_only=True):
    channel: str
    words: tuple[str, ...] = ()
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 50
    open: bool = False


class Found(msgspec.Struct, frozen=True, kw_only=True):
    channel: str
    words: tuple[str, ...]
    limit: int
    open: bool
    next: str | None = None


class Put(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    text: str
    kind: Literal["a", "b"] = "a"
    weights: dict[str, float] = {}


class One(msgspec.Struct, frozen=True, kw_only=True):
    thing: str


FIND = Operation(
    name="things.find", told="Find things", method="GET", path="/channels/{channel}/things", right="see",
    where="channel", request=Find, result=Found, audited="no",
)  # fmt: skip
PUT = Operation(
    name="things.put", told="Put a thing", method="PUT", path="/things/{number}", right="configure", where="gateway",
    request=Put, result=Put,
)  # fmt: skip
READ = Operation(
    name="things.read", told="Read a thing", method="GET", path="/things/{thing}", right="read", where="any",
    request=One, result=One, audited="look",
)  # fmt: skip
DROP = Operation(
    name="things.drop", told="Drop a thing", method="DELETE", path="/things/{thing}", right="handle", where="any",
    request=One,
)  # fmt: skip
FOLLOW = Operation(
    name="things.follow", told="Follow things", method="GET", path="/things/tail", right="read", where="any",
    result="text/event-stream", audited="look",
)  # fmt: skip

FAULTS = {
    "none": Missing("no such thing"),
    "changed": Disagrees("it has changed since; look again"),
    "odd": Invalid("odd", problems=(FieldProblem(path="thing", value="odd", problem="is odd", remedy="give another"),)),
    "away": StoreBusy("away", retry_after_s=1),
}


async def _find(acting: Acting, asked: Find) -> Found:
    return Found(channel=asked.channel, words=asked.words, limit=asked.limit, open=asked.open)


async def _put(acting: Acting, asked: Put) -> Put:
    acting.note(thing=asked.number)
    return asked


async def _read(acting: Acting, asked: One) -> One:
    acting.require("acme" if asked.thing != "other" else "other")
    if asked.thing in FAULTS:
        raise FAULTS[asked.thing]
    return asked


async def _drop(acting: Acting, asked: One) -> Empty:
    acting.require("acme")
    return Empty()


async def _pieces() -> AsyncIterator[bytes]:
    for number in range(3):
        yield f"data: {number}\n\n".encode()


async def _follow(acting: Acting, asked: Empty) -> Stream:
    return Stream(_pieces(), media="text/event-stream")


HANDLERS: Handlers = {FIND: _find, PUT: _put, READ: _read, DROP: _drop, FOLLOW: _follow}


class Kept:
    """An audit log in a list: (operation, actor, outcome, channel, details)."""

    def __init__(self, *, away: bool = False) -> None:
        self.entries: list[tuple[str, str, AuditOutcome, str | None, dict[str, str | int | None]]] = []
        self._away = away

    async def write(self, acting: Acting, *, outcome: AuditOutcome) -> None:
        if self._away:
            raise StoreBusy("away", retry_after_s=1)
        self.entries.append((acting.operation.name, acting.actor.id, outcome, acting.channel, acting.about))


def made(audit: Kept | None = None) -> Service:
    return Service(HANDLERS, audit=audit or Kept())


def actor(role: Role, channel: str | None = None) -> Actor:
    return Actor(id="user:1", name="Ada", grants=(Grant(role=role, channel=channel),), door="api")


__all__ = ["DROP", "FIND", "FOLLOW", "PUT", "READ", "Find", "Kept", "One", "Put", "Refused", "actor", "made"]
