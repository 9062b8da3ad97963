"""Inbox and outbox in the SQLite file of the memory store: for one process, with nothing to install.

Rows say what waits; which lane is held is in memory (`local.py`), so that claiming costs no commit. After a restart all that
waits or ran can be claimed at once, under greater fences.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from gateway.errors import LeaseLost, StoreBusy
from gateway.inbox import sqlite_erasing as erasing
from gateway.inbox import sqlite_events as events
from gateway.inbox import sqlite_moves as moves
from gateway.inbox import sqlite_outbox as outbox
from gateway.inbox.base import (
    Accepted,
    Announcement,
    Chunk,
    Claim,
    Event,
    Excuse,
    Halt,
    HaltReason,
    NewEvent,
    Outcome,
    Redirect,
    Reply,
    Sent,
    Stats,
)
from gateway.inbox.batch import RETRY_AFTER_S
from gateway.inbox.changes import Changes
from gateway.inbox.erasable import Emptied, Mend, Page
from gateway.inbox.local import LocalLanes
from gateway.inbox.rows import Settlement, dedupe_digests
from gateway.inbox.sqlite_dead import SqliteLetters
from gateway.inbox.sqlite_file import SqliteFile
from gateway.inbox.sqlite_looking import SqliteLooking

T = TypeVar("T")


class SqliteInbox:
    """Implements `Inbox`, `Outbox` and `Erasable`; `async with` opens and closes it. One process per file (see `StoreLock`)."""

    def __init__(
        self,
        path: Path,
        *,
        write_turn: asyncio.Lock,
        timeout_s: float,
        lease_s: float,
        poll_s: float,
        accept_max: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`write_turn` is held while a batch is written: the memory store, whose writes share the file, takes it too.

        `timeout_s` bounds each wait for it and for the file; `accept_max` is how many messages may wait; `clock` counts the
        seconds of leases.
        """
        self._file = SqliteFile(path, write_turn=write_turn, timeout_s=timeout_s)
        self.looking = SqliteLooking(self._file.look)
        self.letters = SqliteLetters(self._file, reopened=self._reopened)
        self._changes = Changes(poll_s=poll_s)
        self._lease_s = lease_s
        self._accept_max = accept_max
        self._taking = asyncio.Lock()  # who looks for chunks decides on the loop, between a read and a write
        self._clock = clock

    async def __aenter__(self) -> SqliteInbox:
        await self._file.__aenter__()
        numbers = self._file.run << 32  # greater than all of an earlier run
        self._seq = itertools.count(numbers + 1)
        self._lanes = LocalLanes(lease_s=self._lease_s, fence=numbers)
        for event_id, lane, state in self._file.read(events.all_waiting):
            self._lanes.arrived(event_id, lane=lane, started=state == "running")
        # Nobody sends any more what an earlier run was sending; `due` hands it out as unknown.
        await self._file.write(outbox.abandon)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._file.__aexit__(kind, exc, tb)

    async def accept(self, event: NewEvent, *, lane: str, dedupe_ids: Sequence[str]) -> Accepted:
        if event.waits and len(self._lanes.unstarted) + self._file.in_line >= self._accept_max:
            raise StoreBusy(f"{self._accept_max} messages wait already", retry_after_s=RETRY_AFTER_S)
        seq, digests = next(self._seq), dedupe_digests(event.channel, dedupe_ids)

        def accepted(result: Accepted) -> None:
            if event.waits and result.verdict == "accepted":
                self._lanes.arrived(result.event.id, lane=lane)
                self._changes.ring()

        return await self._file.write(
            lambda db: events.accept(db, event, lane=lane, digests=digests, seq=seq, owner=self._file.run), accepted
        )

    async def claim(self, n: int) -> list[Claim]:
        return self._lanes.claim(n, now=self._clock())

    async def renew(self, claims: Sequence[Claim]) -> list[Claim]:
        return self._lanes.renew(claims, now=self._clock())

    def mine(self, held: Claim | Chunk) -> bool:
        return isinstance(held, Chunk) or self._lanes.holds(held.lane, held.fence)

    async def waiting(self, lane: str, *, limit: int = 100) -> list[Event]:
        return self._file.read(lambda db: events.waiting(db, lane, limit=limit))

    async def start(self, ids: Sequence[int], *, turn_id: int, lane: str, fence: int) -> list[int]:
        return await self._file.write(
            self._fenced(lane, fence, lambda db: events.start(db, ids, turn_id=turn_id, lane=lane)), self._lanes.started
        )

    async def halt(self, ids: Sequence[int], reason: HaltReason) -> list[int]:
        return await self._file.write(lambda db: events.halt(db, ids, reason), lambda _: self._changes.ring())

    async def halts(self, ids: Sequence[int]) -> list[Halt]:
        return self._file.read(lambda db: events.halts(db, ids))

    async def excuse(self, excuses: Sequence[Excuse]) -> None:
        await self._file.write(lambda db: events.excuse(db, excuses))

    async def show(self, ids: Sequence[int], shown: str, *, lane: str, fence: int) -> None:
        await self._file.write(self._fenced(lane, fence, lambda db: events.show(db, ids, shown, lane=lane)))

    async def finish(self, ids: Sequence[int], outcome: Outcome, *, lane: str, fence: int | None) -> None:
        if fence is None:
            await self._file.write(lambda db: events.finish(db, ids, outcome, lane=None))
            return
        await self._file.write(
            self._fenced(lane, fence, lambda db: events.finish(db, ids, outcome, lane=lane)),
            lambda _: self._lanes.ended(ids, lane=lane),
        )

    async def release(self, claim: Claim, *, hand_over: bool = False) -> bool:
        released = self._lanes.release(claim, hand_over=hand_over)
        if hand_over:
            self._changes.ring()
        return released

    async def move(self, claim: Claim, *, to: str) -> None:
        def moved(messages: list[tuple[int, bool]]) -> None:
            self._lanes.ended((event_id for event_id, _ in messages), lane=claim.lane)
            for event_id, started in messages:
                self._lanes.arrived(event_id, lane=to, started=started)
            self._changes.ring()

        work = self._fenced(claim.lane, claim.fence, lambda db: moves.move_messages(db, claim.lane, to=to))
        await self._file.write(work, moved)

    async def changed(self, after: int) -> int:
        return await self._changes.wait(after)

    async def event(self, event_id: int) -> Event | None:
        return self._file.read(lambda db: events.find(db, event_id))

    async def turn_events(self, turn_id: int) -> list[Event]:
        return self._file.read(lambda db: events.of_turn(db, turn_id))

    async def controls(self, *, before_ms: int) -> list[Event]:
        return await self._file.write(lambda db: events.take_controls(db, owner=self._file.run, before_ms=before_ms))

    async def amendments(self, subjects: Sequence[bytes]) -> list[Event]:
        return self._file.read(lambda db: events.amendments(db, subjects))

    async def pending(self, subject: bytes) -> list[Event]:
        return self._file.read(lambda db: events.pending(db, subject))

    async def withdraw(self, ids: Sequence[int], outcome: Outcome, *, lane: str) -> list[int]:
        return await self._file.write(
            lambda db: events.withdraw(db, ids, outcome, lane=lane), lambda ended: self._lanes.ended(ended, lane=lane)
        )

    async def stats(self) -> Stats:
        return self._file.read(events.stats)

    async def purge(self, *, before_ms: int, dedupe_before_ms: int, limit: int) -> int:
        return await self._file.write(
            lambda db: events.purge(db, before_ms=before_ms, dedupe_before_ms=dedupe_before_ms, limit=limit)
        )

    async def oldest_finished_ms(self) -> int | None:
        return self._file.read(events.oldest_finished_ms)

    async def put(self, reply: Reply) -> bool:
        def stored(_: bool) -> None:
            self._lanes.ended(reply.event_ids, lane=reply.lane)
            self._changes.ring()

        return await self._file.write(self._fenced(reply.lane, reply.fence, lambda db: outbox.put(db, reply)), stored)

    async def reply(self, turn_id: int) -> str | None:
        return self._file.read(lambda db: outbox.reply_text(db, turn_id))

    async def due(
        self,
        *,
        now_ms: int,
        limit: int,
        not_before: Callable[[Chunk], int] = lambda _: 0,
        elsewhere: Collection[str] = (),
    ) -> list[Chunk]:
        # Asked at every change: most often nothing is due, and a look is cheaper than a commit.
        due_ms = await self.next_due_ms(elsewhere=elsewhere)
        if limit <= 0 or due_ms is None or due_ms > now_ms:
            return []
        async with self._taking:
            heads = self._file.read(lambda db: outbox.heads(db, now_ms=now_ms, limit=limit, elsewhere=elsewhere))
            times = [(chunk, not_before(chunk)) for chunk in heads]
            now = [chunk for chunk, due_ms in times if due_ms <= now_ms]
            later = [(chunk, due_ms) for chunk, due_ms in times if due_ms > now_ms]

            def taken(db: sqlite3.Connection) -> list[Chunk]:
                outbox.hold_back(db, later)
                return outbox.take(db, now, owner=self._file.run)

            return await self._file.write(taken)

    async def redirect(self, channel: str, redirect: Redirect) -> None:
        async with self._taking:
            await self._file.write(lambda db: moves.move_chunks(db, channel, redirect), lambda _: self._changes.ring())

    async def announce(self, announcement: Announcement) -> bool:
        return await self._file.write(lambda db: outbox.announce(db, announcement), lambda _: self._changes.ring())

    async def take_back(self, channel: str, name: str, *, former: Sequence[str]) -> bool:
        async with self._taking:
            return await self._file.write(
                lambda db: moves.take_back(db, channel, name, former=former), lambda _: self._changes.ring()
            )

    async def give_up(self, channel: str, gone: Callable[[bytes], bool], *, error: str, now_ms: int) -> list[int]:
        async with self._taking:
            return await self._file.write(
                lambda db: moves.drop_chunks(db, channel, gone, error=error, now_ms=now_ms),
                lambda _: self._changes.ring(),
            )

    async def clear(self, queue: str) -> bool:
        return self._file.read(lambda db: outbox.clear(db, queue))

    async def recent(self, channel: str, *, since_ms: int) -> list[Sent]:
        return self._file.read(lambda db: outbox.recent(db, channel, since_ms=since_ms))

    async def next_due_ms(self, *, elsewhere: Collection[str] = ()) -> int | None:
        return self._file.read(lambda db: outbox.next_due_ms(db, elsewhere=elsewhere))

    async def sent(self, chunk: Chunk, *, message_id: str | None, now_ms: int) -> bool:
        return await self._settle(Settlement(chunk=chunk, state="sent", message_id=message_id, now_ms=now_ms))

    async def unknown(self, chunk: Chunk, *, error: str, now_ms: int) -> bool:
        return await self._settle(Settlement(chunk=chunk, state="unknown", error=error, now_ms=now_ms))

    async def retry(self, chunk: Chunk, *, due_ms: int, error: str, counted: bool = True) -> None:
        await self._settle(Settlement(chunk=chunk, state="waiting", due_ms=due_ms, error=error, counted=counted))

    async def dead(self, chunk: Chunk, *, error: str, now_ms: int) -> None:
        await self._settle(Settlement(chunk=chunk, state="dead", error=error, now_ms=now_ms))

    async def spoken(self, channel: str, speakers: Collection[str], *, after_id: int, limit: int) -> Page:
        return self._file.read(lambda db: erasing.spoken(db, channel, speakers, after_id=after_id, limit=limit))

    async def posted(self, turn_ids: Sequence[int]) -> list[tuple[int, str]]:
        return self._file.read(lambda db: erasing.posted(db, turn_ids))

    async def erase(self, event_ids: Sequence[int], outcome: Outcome, *, now_ms: int) -> Emptied:
        def erased(result: tuple[Emptied, list[tuple[int, str]]]) -> None:
            for event_id, lane in result[1]:
                self._lanes.ended([event_id], lane=lane)
            self._changes.ring()

        async with self._taking:
            emptied, _ = await self._file.write(lambda db: erasing.erase(db, event_ids, outcome, now_ms=now_ms), erased)
        return emptied

    async def unsay(self, turn_ids: Sequence[int], *, now_ms: int) -> tuple[int, list[int]]:
        async with self._taking:
            return await self._file.write(
                lambda db: erasing.unsay(db, turn_ids, now_ms=now_ms), lambda _: self._changes.ring()
            )

    async def mend(self, channel: str, mend: Mend, *, after_id: int, limit: int) -> Page:
        return await self._file.write(lambda db: erasing.mend(db, channel, mend, after_id=after_id, limit=limit))

    def _reopened(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.kind == "message":
                self._lanes.arrived(event.id, lane=event.lane)
        self._changes.ring()

    async def _settle(self, how: Settlement) -> bool:
        return await self._file.write(
            lambda db: outbox.settle(db, how, owner=self._file.run), lambda _: self._changes.ring()
        )

    def _fenced(
        self, lane: str, fence: int, work: Callable[[sqlite3.Connection], T]
    ) -> Callable[[sqlite3.Connection], T]:
        def held(db: sqlite3.Connection) -> T:
            if not self._lanes.holds(lane, fence):
                raise LeaseLost(f"the lane claimed under {fence} is not held any more")
            return work(db)

        return held
