"""Stand-ins for what lies beyond a port, for tests of the other side of it."""

from __future__ import annotations

import asyncio
import math
import secrets
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from adapters.base import (
    TERMINAL,
    Address,
    Capabilities,
    InboundEvent,
    Intake,
    MessageEvent,
    Receipt,
    StreamEvent,
    TurnView,
)
from adapters.errors import Conflict, Overloaded, UnknownTurn
from gateway.admin.takeovers import Takeover
from memory.errors import ModelFailed
from memory.models import Requested, unheard


class QuietChannel:
    """A platform's connection that stays open, and takes what it is sent."""

    capabilities = Capabilities()

    @asynccontextmanager
    async def running(self, intake: Intake) -> AsyncIterator[None]:
        yield

    def chunks(self, text: str) -> list[str]:
        return [text]

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        return Receipt()

    async def probe(self) -> None:
        """Not asked here."""


@dataclass
class FakeTurn:
    """One turn: its event, its view and its stream so far."""

    event: InboundEvent
    fingerprint: str | None
    view: TurnView
    text: str = ""
    stream: list[StreamEvent] = field(default_factory=list)
    readers: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)


class FakeIntake:
    """The gateway as its adapters see it, in memory. `answer` gives the reply to a message at once; None leaves the turn to
    the test, which moves it by `delta`, `reset` and `end`."""

    def __init__(self, answer: Callable[[MessageEvent], str | None] = lambda event: None) -> None:
        self.answer = answer
        self.turns: dict[str, FakeTurn] = {}
        self.seen: dict[str, str] = {}
        self.overloaded = False
        self.bug: Exception | None = None
        self._accepted = asyncio.Condition()

    @property
    def messages(self) -> list[MessageEvent]:
        return [turn.event for turn in self.turns.values() if isinstance(turn.event, MessageEvent)]

    async def accept(self, event: InboundEvent, *, fingerprint: str | None = None) -> TurnView:
        if self.bug is not None:
            raise self.bug
        if self.overloaded:
            raise Overloaded("the queue is full", retry_after_s=2.5)
        known = next((self.seen[dedupe_id] for dedupe_id in event.dedupe_ids if dedupe_id in self.seen), None)
        if known is not None:
            if self.turns[known].fingerprint != fingerprint:
                raise Conflict("another body")
            return msgspec.structs.replace(self.turns[known].view, duplicate=True)
        turn = str(7_000_000_000_000_000_000 + len(self.turns))
        view = TurnView(turn=turn, status="accepted", session="s-1", token=secrets.token_urlsafe(24))
        self.turns[turn] = FakeTurn(event, fingerprint, view)
        self.seen |= dict.fromkeys(event.dedupe_ids, turn)
        text = self.answer(event) if isinstance(event, MessageEvent) else None
        if text is not None:
            await self.delta(turn, text)
            await self.end(turn)
        async with self._accepted:
            self._accepted.notify_all()
        return self.turns[turn].view

    async def holding(self, count: int) -> list[str]:
        """Return the turns' ids, oldest first, once there are `count`."""
        async with self._accepted:
            await self._accepted.wait_for(lambda: len(self.turns) >= count)
        return list(self.turns)

    async def followed(self, turn_id: str, *, readers: int) -> None:
        """Return once that many readers follow the turn."""
        turn = self.turns[turn_id]
        async with turn.changed:
            await turn.changed.wait_for(lambda: turn.readers == readers)

    async def turn(self, channel: str, turn_id: str, *, token: str) -> TurnView:
        turn = self._known(channel, turn_id)
        if not secrets.compare_digest((turn.view.token or "").encode(), token.encode()):
            raise UnknownTurn("wrong token")
        return turn.view

    async def wait(self, channel: str, turn_id: str, *, timeout_s: float) -> TurnView:
        turn = self._known(channel, turn_id)
        try:
            async with asyncio.timeout(timeout_s), turn.changed:
                await turn.changed.wait_for(lambda: turn.view.status in TERMINAL)
        except TimeoutError:
            pass
        return _public(turn.view)

    async def events(
        self, channel: str, turn_id: str, *, after: int | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        turn = self._known(channel, turn_id)
        await self._count(turn, 1)
        try:
            yield StreamEvent(id=after or 0, name="turn", data=msgspec.json.encode(_public(turn.view)))
            sent = len([item for item in turn.stream if after is not None and item.id <= after])
            while True:
                async with turn.changed:
                    while len(turn.stream) <= sent:
                        await turn.changed.wait()
                while sent < len(turn.stream):
                    yield turn.stream[sent]
                    sent += 1
                if turn.view.status in TERMINAL:
                    return
        finally:
            await self._count(turn, -1)

    async def delta(self, turn_id: str, text: str) -> None:
        turn = self.turns[turn_id]
        turn.text += text
        await self._show(turn, "delta", {"text": text})

    async def reset(self, turn_id: str, text: str = "") -> None:
        turn = self.turns[turn_id]
        turn.text = text
        await self._show(turn, "reset", {"text": text})

    async def end(self, turn_id: str, *, code: str | None = None) -> None:
        """End the turn: answered with the text so far, or failed with `code`."""
        turn = self.turns[turn_id]
        if code is None:
            turn.view = msgspec.structs.replace(turn.view, status="answered", reply={"text": turn.text})
            await self._show(turn, "done", _public(turn.view))
        else:
            error = {"code": code, "message": "the agent could not answer"}
            turn.view = msgspec.structs.replace(turn.view, status="failed", error=error)
            await self._show(turn, "failed", _public(turn.view))

    async def _show(self, turn: FakeTurn, name: str, data: object) -> None:
        async with turn.changed:
            event = {"id": len(turn.stream) + 1, "name": name, "data": msgspec.json.encode(data)}
            turn.stream.append(msgspec.convert(event, StreamEvent))
            turn.changed.notify_all()

    async def _count(self, turn: FakeTurn, change: int) -> None:
        async with turn.changed:
            turn.readers += change
            turn.changed.notify_all()

    def _known(self, channel: str, turn_id: str) -> FakeTurn:
        turn = self.turns.get(turn_id)
        if turn is None or turn.event.channel != channel:
            raise UnknownTurn("no such turn")
        return turn


def _public(view: TurnView) -> TurnView:
    return msgspec.structs.replace(view, token=None)


class FakeEmbedder:
    """An embedder that knows a few words, each on an axis of its own meaning: texts of one meaning have cosine 1, a text of two
    is half near to both, and what it knows no word of is near to nothing else.

    `refuses` are texts it fails at; `down`: it fails at all; `strange`: in a way that none should. `gate`: it answers once that
    is set."""

    threshold = 0.5

    def __init__(self, name: str, meanings: Sequence[tuple[str, ...]]) -> None:
        self.dims = len(meanings) + 1
        self.name = f"{name}/{self.dims}"
        self._meanings = meanings
        self.asked: list[list[str]] = []
        self.tokens: int | None = None  # as it reports them
        self.refuses: set[str] = set()
        self.down = False
        self.strange = False
        self.gate: asyncio.Event | None = None
        self.closed = False

    async def open(self) -> None:
        if self.down:
            raise ModelFailed(f"embedder {self.name!r} is down")

    async def embed(self, texts: Sequence[str], *, requested: Requested = unheard) -> list[bytes]:
        self.asked.append(list(texts))
        requested(self.name, range(len(texts)), self.tokens)
        if self.gate is not None:
            await self.gate.wait()
        if self.strange:
            raise ZeroDivisionError
        if self.down or self.refuses.intersection(texts):
            raise ModelFailed(f"embedder {self.name!r} refused")
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        axes = [float(any(word in text for word in words)) for words in self._meanings]
        row = [*axes, 0.0 if any(axes) else 1.0]
        length = math.sqrt(sum(number * number for number in row))
        return struct.pack(f"<{self.dims}f", *(number / length for number in row))

    async def aclose(self) -> None:
        self.closed = True


class NoTakeovers:
    """What an eraser finds where no human ever took a conversation over."""

    async def about(self, persons: Collection[int], accounts: Collection[tuple[str, str]]) -> list[Takeover]:
        return []

    async def of_person(self, persons: Collection[int], accounts: Collection[tuple[str, str]]) -> list[int]:
        return []

    async def erase(self, persons: Collection[int], accounts: Collection[tuple[str, str]], *, now_ms: int) -> int:
        return 0
