"""The bus over NOTIFY, for many instances without Redis.

A NOTIFY takes a lock at its commit that other notifying transactions wait for, so what is said within a tenth of a second goes
in one transaction, never in one that stores. A payload bears 8,000 bytes: what is longer goes in pieces, which one transaction
keeps together and in order.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from base64 import b64decode, b64encode
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import msgspec
from psycopg import AsyncConnection, Error

from adapters.remembering import remember
from gateway.errors import StoreBusy
from gateway.hot.base import MOST_BODY
from gateway.hot.falling_back import REST_S
from gateway.hot.hearing import ProcessBus
from gateway.hot.postgres import HotPool
from gateway.hot.side_tasks import beside
from gateway.inbox.postgres_events import Connection
from gateway.inbox.postgres_member import how_to_connect
from gateway.waits import happens
from memory.lending import within
from memory.postgres_sessions import guards

logger = logging.getLogger(__name__)

CHANNEL = "clew_hot"
PAYLOAD = 7_900
"""Characters of one notification at most."""
TOGETHER_S = 0.1
SWEEP_S = 60.0
WORDS = 1_000
"""Words that wait to be said; the oldest are lost beyond that."""
SPEAKERS = 1_000

Word = tuple[str, bytes]
_decode = msgspec.msgpack.Decoder(Word).decode
_encode = msgspec.msgpack.Encoder().encode


def pieces(speaker: str, number: int, word: Word) -> list[str]:
    """Return the notifications of a word."""
    text = b64encode(_encode(word)).decode()
    cut = [text[start : start + PAYLOAD - 60] for start in range(0, len(text), PAYLOAD - 60)]
    return [f"{speaker} {number} {index} {len(cut)} {piece}" for index, piece in enumerate(cut)]


class Joining:
    """Words put together from their pieces. Those of which one is missing are lost."""

    def __init__(self) -> None:
        self._begun: OrderedDict[str, list[str]] = OrderedDict()

    def heard(self, payload: str) -> Word | None:
        """Return the word of which this is the last piece; None: it is not, or nothing of ours."""
        try:
            speaker, number, index, count, piece = payload.split(" ")
            name = f"{speaker} {number}"
            begun = self._begun.pop(name, []) if int(index) else []
            if len(begun) != int(index):
                return None
            begun.append(piece)
            if len(begun) < int(count):
                remember(self._begun, name, begun, most=SPEAKERS)
                return None
            return _decode(b64decode("".join(begun)))
        except (ValueError, msgspec.MsgspecError):
            return None  # another release's, or somebody else's


class PostgresBus:
    """Implements `Bus`. Between the words of others it deletes what is over in the hot tables."""

    def __init__(self, dsn: str, *, pool: HotPool, heard: ProcessBus, timeout_s: float) -> None:
        """`heard` gets what comes in, and knows who hears it."""
        self._dsn = dsn
        self._pool = pool
        self._timeout_s = timeout_s
        self._heard = heard
        self._speaker = secrets.token_hex(8)
        self._numbers = itertools.count()
        self._line: deque[Word] = deque(maxlen=WORDS)
        self._waiting = asyncio.Event()
        self._listening = asyncio.Event()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[PostgresBus]:
        """Listen and speak, until the end."""
        async with beside(self._listen(), self._speak(), within_s=self._timeout_s):
            await happens(self._listening, within_s=self._timeout_s)
            yield self

    def say(self, topic: str, body: bytes) -> None:
        """See `Bus.say`."""
        if len(body) <= MOST_BODY:
            self._line.append((topic, body))
            self._waiting.set()

    def hear(self, topic: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """See `Bus.hear`."""
        return self._heard.hear(topic)

    async def _speak(self) -> None:
        while True:
            await self._waiting.wait()
            self._waiting.clear()
            payloads = [piece for word in self._line for piece in pieces(self._speaker, next(self._numbers), word)]
            self._line.clear()
            try:
                async with self._pool.lent() as db:
                    await db.execute(f"SELECT pg_notify('{CHANNEL}', said) FROM unnest(%s::text[]) said", (payloads,))
            except StoreBusy:
                logger.debug("words to other instances lost", exc_info=True)
            await asyncio.sleep(TOGETHER_S)  # what is said meanwhile goes together

    async def _listen(self) -> None:
        while True:
            try:
                async with within(self._timeout_s):
                    db = await AsyncConnection.connect(self._dsn, **how_to_connect(self._timeout_s))
                async with db:
                    await self._hear(db)
            except (Error, OSError, TimeoutError):
                logger.warning("other instances' words are not heard", exc_info=True)
            self._listening.clear()
            await asyncio.sleep(REST_S)  # nothing tells when a server is back

    async def _hear(self, db: Connection) -> None:
        joining = Joining()
        async with within(self._timeout_s):
            await db.execute(guards(self._timeout_s).encode())
            await db.execute(f"LISTEN {CHANNEL}")
        self._listening.set()
        while True:
            async for note in db.notifies(timeout=SWEEP_S):
                if (word := joining.heard(note.payload)) is not None:
                    self._heard.say(*word)
            async with within(self._timeout_s):
                await db.execute("SELECT 1")  # a line that is cut without a word is found out
            with suppress(StoreBusy):
                await self._pool.sweep()
