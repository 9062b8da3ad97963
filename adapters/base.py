"""The edge's vocabulary: what a platform event becomes, where a reply goes, and what a channel must be able to do.

Adapters know this file and `config`, nothing of the memory core or the gateway. Events are msgspec structs because the
inbox stores them as they are.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

import msgspec

TurnStatus = Literal["accepted", "running", "answered", "observed", "ignored", "applied", "failed", "dead"]
TERMINAL: frozenset[str] = frozenset({"answered", "observed", "ignored", "applied", "failed", "dead"})


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where a reply goes; bound when the message is accepted, never looked up at send time."""

    channel: str
    room: str
    thread: str | None = None
    reply_to: str | None = None


class Sender(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote, as the platform or the caller's credentials vouch for it.

    `user` is the account as it stands in the key, tenant-qualified where a channel carries several tenants. `trusted` False
    (an anonymous admin, a channel's own identity) means: no personal memory.
    """

    user: str
    tenant: str
    account: str
    name: str = ""
    trusted: bool = True
    is_bot: bool = False


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """What the message replies to, when the platform tells: who said it, and what. Data, never instruction."""

    name: str
    text: str
    by_bot: bool = False


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    channel: str
    room: str
    thread: str | None = None
    chat_type: Literal["private", "group"]
    sender: Sender
    dedupe_ids: tuple[str, ...]  # each holds the subject that sent it; any one seen before makes this a duplicate
    sent_ms: int | None = None  # the platform's own time, if it gives one


class MessageEvent(_Event, frozen=True, kw_only=True, tag="message"):
    """Somebody said something. `text` is as the person sees it, with the bot's own mention removed."""

    message_id: str
    text: str
    mentions_bot: bool = False
    reply_to_bot: bool = False
    in_reply_to: str | None = None  # platform id of the message replied to
    quote: Quote | None = None
    session: str | None = None  # a client's wish to continue a session (B34)
    language: str | None = None  # the person's language, if the platform tells (BCP 47)


class EditEvent(_Event, frozen=True, kw_only=True, tag="edit"):
    """A message has a new text. Never asks for an answer."""

    message_id: str
    text: str


class DeleteEvent(_Event, frozen=True, kw_only=True, tag="delete"):
    """A message is gone."""

    message_id: str


InboundEvent = MessageEvent | EditEvent | DeleteEvent


class TurnView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn as its sender may see it (DESIGN 9); ids are strings in JSON."""

    turn: str
    status: TurnStatus
    session: str | None = None
    rule: str | None = None
    reply: dict[str, str] | None = None  # {"text": ...}
    error: dict[str, str] | None = None  # {"code": ..., "message": ...}
    token: str | None = None
    part_of: str | None = None  # the turn this message was answered in, where that is another's (`busy: collect`)
    duplicate: bool = False  # this call met a turn accepted before; not part of the wire form


class StreamEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a turn's stream. `id` grows by one; after a `reset` the text starts again from its beginning.

    `turn`: data is the turn's view. `delta`: {"text"}. `reset`: {"text"}, all of the text so far. `done`, `failed`: the
    final view; nothing comes after.
    """

    id: int
    name: Literal["turn", "delta", "reset", "done", "failed"]
    data: bytes  # JSON


class Intake(Protocol):
    """What the gateway offers its adapters."""

    async def accept(self, event: InboundEvent, *, fingerprint: str | None = None) -> TurnView:
        """Store the event, durably, and return its turn; only then may the platform be acknowledged.

        A known dedupe id returns the turn it met, with `duplicate` set. `fingerprint` is a digest of what was sent:
        the same dedupe id with another one raises `adapters.errors.Conflict`. Raises `Overloaded` (with
        `retry_after_s`) when it can't be stored now.
        """
        ...

    async def turn(self, channel: str, turn_id: str, *, token: str) -> TurnView:
        """Return the turn as it stands. Raises `adapters.errors.UnknownTurn` for a wrong id, channel or token alike."""
        ...

    async def wait(self, channel: str, turn_id: str, *, timeout_s: float) -> TurnView:
        """Return the turn as soon as it is terminal, or as it stands after `timeout_s`."""
        ...

    def events(self, channel: str, turn_id: str, *, after: int | None = None) -> AsyncGenerator[StreamEvent, None]:
        """Follow the turn's stream to its end. `after` is the last id the reader has: a reader that missed part of it
        gets a `reset` first. Ends after `done` or `failed`; leaving early does not touch the turn."""
        ...


class AgentView(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as a person may see it."""

    name: str
    kind: str  # "demo", "openai", ...; `auto` resolved
    model: str | None = None  # None: not a model


class Explains(Protocol):
    """What the gateway offers a channel that shows how its replies came about (the chat page)."""

    async def explain(self, channel: str, turn_id: str, *, token: str) -> bytes:
        """Return what the model saw in a turn, as JSON: the ledger with texts (`adapters/console/README.md` has the
        shape). Raises `adapters.errors.UnknownTurn` for a wrong id, channel or token alike, and where no ledger is kept."""
        ...

    def agents(self, channel: str) -> tuple[AgentView, ...]:
        """Return the agents of a channel, the one that answers first."""
        ...


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """A platform's word that it has a chunk: its message id, None where the platform has none."""

    message_id: str | None = None


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel can do; the gateway asks, never guesses by kind."""

    streams: bool = False  # shows a reply while it is made
    collected: bool = False  # the caller collects its reply: storing it is delivering it, and nothing is sent


class Adapter(Protocol):
    """One configured channel. Lives inside `async with running(intake)`; `send` may be called only there."""

    capabilities: Capabilities

    def running(self, intake: Intake) -> AbstractAsyncContextManager[None]:
        """Open what the channel needs (sockets, pollers), and close it on the way out."""
        ...

    def chunks(self, text: str) -> list[str]:
        """Render a reply and split it into what goes out as single messages, in order. Pure; at least one."""
        ...

    async def send(self, address: Address, chunk: str, *, chunk_id: str) -> Receipt:
        """Hand one chunk to the platform. Raises an `adapters.errors.SendFailed` subclass: `Refused` (never retry),
        `Throttled` (with `retry_after_s`), `Unreachable` (not sent; retry), `Unknown` (it may have arrived)."""
        ...

    async def probe(self) -> None:
        """Prove that the channel works (credentials, reachability); raises `AdapterFault`."""
        ...
