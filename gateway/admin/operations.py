"""What an admin can do, as data: every act once, for all three doors.

An `Operation` is a constant (`gateway/admin/acts/*.py`); the object that does it binds a handler to it. REST, its OpenAPI
document and the command line are made from the constants; the console calls the same `Service.perform`. So rights are
checked, and acts audited, in one place.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import msgspec

from gateway.admin.rights import Actor, Right, channels_of, may
from gateway.errors import GatewayFault


class Refused(GatewayFault):
    """The actor may not do this; says which right is missing."""


class Missing(GatewayFault):
    """There is no such thing, or none that the actor may know of: told apart by nobody."""


class Disagrees(GatewayFault):
    """What it was decided on has changed since; look again."""


class Invalid(GatewayFault):
    """The request can't be carried out as it is; says what would. `problems` names each field at fault."""

    def __init__(self, message: str, *, problems: tuple[FieldProblem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class FieldProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A field at fault: its path, the value as it may be shown, what is wrong and what to do."""

    path: str
    value: str
    problem: str
    remedy: str


class Empty(msgspec.Struct, frozen=True):
    """Nothing: of an act that needs or gives nothing."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A result that comes piece by piece: a download, or events. Whoever takes it closes it."""

    pieces: AsyncIterator[bytes]
    media: str  # content type
    filename: str | None = None


Audited = Literal["act", "look", "no"]
AuditOutcome = Literal["done", "refused", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One act. Constants of this type are hashable by `name`.

    `name` is `part.verb`: the word of the command line and of the audit log. `path` stands below `/api/v1`; its `{fields}`
    and, for GET and DELETE, the query fill `request`; otherwise the JSON body does. `where`: "gateway" needs the right for
    all channels; "channel" for `request.channel`; "any" for at least one channel, and the handler narrows what it gives or
    requires it for the channel it finds. `result` is the type that is returned, or the media type of a `Stream`.
    `audited`: "act" and "look" leave an audit entry, also where they were refused; "no" is for what shows no person's words
    and changes nothing.
    """

    name: str
    told: str  # one line for the API's document and the command line's help
    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    right: Right
    where: Literal["gateway", "channel", "any"]
    request: type[msgspec.Struct] = Empty
    result: type[Any] | str = Empty
    audited: Audited = "act"

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(slots=True)
class Acting:
    """An act under way: who, with which rights. `about` becomes the audit entry's details: ids, names of settings and
    counts; never a word that was said, never a secret."""

    actor: Actor
    operation: Operation
    about: dict[str, str | int | None] = field(default_factory=dict)
    channel: str | None = None
    each: list[tuple[str | None, dict[str, str | int | None]]] = field(default_factory=list)

    def require(self, channel: str | None, right: Right | None = None) -> None:
        """Go on only with the right (None: the operation's) for the channel; None: for the gateway. Raises `Refused`."""
        needed = right or self.operation.right
        self.channel = channel if self.channel is None else self.channel
        if not may(self.actor, needed, channel):
            where = f"channel {channel!r}" if channel is not None else "the whole gateway"
            raise Refused(
                f"{self.operation.name} needs the right {needed!r} for {where}; ask an owner for a role that has it"
            )

    def channels(self, right: Right | None = None) -> frozenset[str] | None:
        """Return the channels for which the actor holds the right (None: the operation's); None: all."""
        return channels_of(self.actor, right or self.operation.right)

    def may(self, right: Right, channel: str | None = None) -> bool:
        """Whether the actor holds another right, too: to leave out what they may not see."""
        return may(self.actor, right, channel)

    def note(self, **about: str | int | None) -> None:
        """Add to what the audit log keeps of this act."""
        self.about.update(about)

    def note_one(self, channel: str | None, **about: str | int | None) -> None:
        """Add an entry of its own for one of many things that were done at once, by its channel."""
        self.each.append((channel, about))


Handler = Callable[[Acting, Any], Awaitable[Any]]
Handlers = Mapping[Operation, Handler]


class AuditLog(Protocol):
    """Where acts are written; see `gateway/admin/audit.py`."""

    async def write(self, acting: Acting, *, outcome: AuditOutcome) -> None:
        """Append an entry."""
        ...


class Service:
    """Carries operations out: the one way from every door to what an admin can do."""

    def __init__(self, *handlers: Handlers, audit: AuditLog) -> None:
        """Raises ValueError when two handlers are bound to one operation."""
        self._handlers: dict[str, tuple[Operation, Handler]] = {}
        self._audit = audit
        for bound in handlers:
            for operation, handler in bound.items():
                if operation.name in self._handlers:
                    raise ValueError(f"operation {operation.name!r} is bound twice")
                self._handlers[operation.name] = (operation, handler)

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All that can be done, in order of binding."""
        return tuple(operation for operation, _ in self._handlers.values())

    async def perform(self, actor: Actor, operation: Operation, request: msgspec.Struct | None = None) -> Any:
        """Do it, if the actor may, and write the audit entry. Returns the operation's `result` type, or a `Stream`.

        Raises `Refused`, `Missing`, `Disagrees`, `Invalid`; `gateway.errors.StoreBusy` and `memory.errors.MemoryFault` when
        a store is away, also where the act is done and only its entry could not be written. Nothing is shown before its look
        is in the log.
        """
        _, handler = self._handlers[operation.name]
        acting = Acting(actor=actor, operation=operation)
        asked = Empty() if request is None else request
        outcome: AuditOutcome = "failed"
        try:
            self._admit(acting, asked)
            result = await handler(acting, asked)
            outcome = "done"
        except Refused:
            outcome = "refused"
            raise
        finally:
            await self._note(acting, outcome)
        return result

    async def _note(self, acting: Acting, outcome: AuditOutcome) -> None:
        if acting.operation.audited != "no" or outcome == "refused":
            await self._audit.write(acting, outcome=outcome)

    def _admit(self, acting: Acting, asked: msgspec.Struct) -> None:
        match acting.operation.where:
            case "gateway":
                acting.require(None)
            case "channel":
                acting.require(asked.channel)  # type: ignore[attr-defined]  # by the operation's own word it has one
            case "any" if acting.channels() == frozenset():
                raise Refused(
                    f"{acting.operation.name} needs the right {acting.operation.right!r}; ask an owner for a role that has it"
                )
