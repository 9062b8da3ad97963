"""Live streams that reach whichever instance holds the reader's connection.

Who follows a turn calls out that it is wanted; the instance that runs it sends from then on what there is, and what comes, to
those who asked. What nobody wants elsewhere is sent nowhere. What gets lost on the way is asked for again, and at the end the
row is the truth.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from adapters.base import StreamEvent
from adapters.remembering import remember
from gateway.hot.base import Bus
from gateway.hot.process import ProcessStreams
from gateway.hot.side_tasks import beside
from gateway.hot.wanted import MOST, Piece, Want, Wanted

AGAIN_S: Final = 3.0
"""Seconds after which a reader's instance asks again, so that what it follows stays wanted."""
TOGETHER_S: Final = 0.1
"""Seconds within which what is added to a text goes out as one piece."""

WANTS, FORGET = "wants", "forget"

_encode = msgspec.msgpack.Encoder().encode
_want_of = msgspec.msgpack.Decoder(Want).decode
_piece_of = msgspec.msgpack.Decoder(Piece).decode
_ids_of = msgspec.msgpack.Decoder(list[int]).decode

Said = TypeVar("Said")


def _read(decode: Callable[[bytes], Said], body: bytes) -> Said | None:
    """Return what was said; None: another release says it in another way."""
    try:
        return decode(body)
    except msgspec.MsgspecError:
        return None


@dataclass(slots=True)
class _Relay:
    """What comes from elsewhere of one stream, while `readers` follow it here."""

    readers: int = 0
    source: str = ""
    number: int = 0
    asked_at: float = 0.0


class SharedStreams:
    """Implements `Streams` over those of this process."""

    def __init__(self, local: ProcessStreams, bus: Bus, *, within_s: float) -> None:
        """`within_s`: seconds that the end may take."""
        self._local = local
        self._bus = bus
        self._within_s = within_s
        self._me = secrets.token_hex(8)
        self._running: OrderedDict[int, None] = OrderedDict()
        self._wanted = Wanted(self._me)
        self._relays: dict[int, _Relay] = {}
        self._more = asyncio.Event()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[SharedStreams]:
        """Hear other instances and be heard, until the end."""
        async with (
            self._bus.hear(WANTS) as wants,
            self._bus.hear(f"to {self._me}") as pieces,
            self._bus.hear(FORGET) as forgotten,
            beside(
                self._hear_wants(wants),
                self._hear_pieces(pieces),
                self._hear_forgotten(forgotten),
                self._send(),
                within_s=self._within_s,
            ),
        ):
            yield self

    # --- by who runs the turn

    def begin(self, event_ids: Sequence[int]) -> None:
        """See `Streams.begin`."""
        self._local.begin(event_ids)
        for event_id in event_ids:
            remember(self._running, event_id, None, most=MOST)
            self._wanted.anew(event_id)
        self._more.set()

    def delta(self, event_ids: Sequence[int], text: str) -> None:
        """See `Streams.delta`."""
        self._local.delta(event_ids, text)
        for event_id in event_ids:
            self._wanted.grew(event_id, text)
        self._more.set()

    def reset(self, event_ids: Sequence[int], text: str = "") -> None:
        """See `Streams.reset`."""
        self._local.reset(event_ids, text)
        for event_id in event_ids:
            self._wanted.anew(event_id)
        self._more.set()

    def left(self, event_ids: Sequence[int]) -> None:
        """See `Streams.left`."""
        self._local.left(event_ids)
        for event_id in event_ids:
            self._running.pop(event_id, None)

    def close(self, event_id: int, *, name: str, view: bytes) -> None:
        """See `Streams.close`."""
        self._running.pop(event_id, None)
        self._local.close(event_id, name=name, view=view)
        self._tell_end(event_id)

    def forget(self, event_ids: Sequence[int]) -> None:
        """See `Streams.forget`; on all instances that hear of it."""
        self._bus.say(FORGET, _encode(list(event_ids)))
        self._forget(event_ids)

    def knows(self, event_id: int) -> bool:
        """See `Streams.knows`."""
        return self._local.knows(event_id)

    # --- by who reads

    async def follow(
        self, event_id: int, *, after: int | None, idle_s: float
    ) -> AsyncGenerator[StreamEvent | None, None]:
        """See `Streams.follow`."""
        relay = self._relays.setdefault(event_id, _Relay())
        relay.readers += 1
        try:
            self._ask(event_id, relay)
            async with aclosing(self._local.follow(event_id, after=after, idle_s=idle_s)) as events:
                async for event in events:
                    if event is None or asyncio.get_running_loop().time() - relay.asked_at > AGAIN_S:
                        self._ask(event_id, relay)
                    yield event
        finally:
            relay.readers -= 1
            if not relay.readers:
                del self._relays[event_id]
                if relay.source or not self._at_hand(event_id):  # what came from elsewhere goes on there
                    self._local.forget([event_id])

    def _at_hand(self, event_id: int) -> bool:
        """Whether there is more of the stream here than that somebody has asked for it."""
        known = self._local.text(event_id) or self._local.end(event_id) is not None
        return event_id in self._running or bool(known)

    def _ask(self, event_id: int, relay: _Relay) -> None:
        if self._local.end(event_id) is None:
            relay.asked_at = asyncio.get_running_loop().time()
            self._bus.say(WANTS, _encode(Want(event_id, self._me, relay.source, relay.number)))

    # --- among instances

    async def _hear_wants(self, words: AsyncIterator[bytes]) -> None:
        async for body in words:
            want = _read(_want_of, body)
            if want is None or want.by == self._me:
                continue
            self._wanted.want(want, now=asyncio.get_running_loop().time())
            if self._local.end(want.event_id) is not None:
                self._tell_end(want.event_id)
            elif want.event_id in self._running:
                self._wanted.grew(want.event_id, "")
                self._more.set()

    async def _send(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            for by, piece in self._wanted.pieces(self._local.text, now=asyncio.get_running_loop().time()):
                self._bus.say(f"to {by}", _encode(piece))
            await asyncio.sleep(TOGETHER_S)  # what is added meanwhile goes together

    def _tell_end(self, event_id: int) -> None:
        end = self._local.end(event_id)
        if end is not None:
            for by, piece in self._wanted.end(event_id, "done" if end.name == "done" else "failed", end.data):
                self._bus.say(f"to {by}", _encode(piece))

    async def _hear_pieces(self, words: AsyncIterator[bytes]) -> None:
        async for body in words:
            piece = _read(_piece_of, body)
            relay = None if piece is None else self._relays.get(piece.event_id)
            if piece is not None and relay is not None:
                self._take(piece, relay)

    def _take(self, piece: Piece, relay: _Relay) -> None:
        """Let those who follow the stream here see the piece, in its place."""
        event_id, running = piece.event_id, piece.event_id in self._running
        match piece.name:
            case "reset" if not running:
                relay.source, relay.number = piece.source, piece.number
                self._show(event_id, piece.text)
            case "delta" if not running and piece.source == relay.source:
                if piece.number == relay.number + 1:
                    relay.number += 1
                    self._local.delta([event_id], piece.text)
                elif piece.number > relay.number:  # some were lost
                    relay.number = 0
                    self._ask(event_id, relay)
            case "done" | "failed":
                relay.source = relay.source or piece.source
                self._local.close(event_id, name=piece.name, view=piece.view)

    def _show(self, event_id: int, text: str) -> None:
        if self._local.text(event_id) != text:
            self._local.reset([event_id], text)

    async def _hear_forgotten(self, words: AsyncIterator[bytes]) -> None:
        async for body in words:
            self._forget(_read(_ids_of, body) or ())

    def _forget(self, event_ids: Sequence[int]) -> None:
        self._local.forget(event_ids)
        for event_id in event_ids:
            self._running.pop(event_id, None)
            self._wanted.drop(event_id)
