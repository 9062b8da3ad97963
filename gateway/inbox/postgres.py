"""Inbox and outbox on PostgreSQL, for any number of instances.

The server does the locking, the durability and the clock of leases; ours is the shape of the tables and the batches: calls of
one kind that wait together go in one statement (`engines.md` A.1, A.8).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from types import TracebackType

from psycopg import AsyncConnection, Error
from psycopg_pool import AsyncConnectionPool

from gateway.errors import StoreBusy
from gateway.inbox import postgres_erasing as erasing
from gateway.inbox import postgres_events as events
from gateway.inbox import postgres_moves as moves
from gateway.inbox import postgres_outbox as outbox
from gateway.inbox import postgres_subjects as subject_events
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
from gateway.inbox.batch import RETRY_AFTER_S, GroupCommit
from gateway.inbox.changes import Changes
from gateway.inbox.erasable import Emptied, Mend, Page
from gateway.inbox.patience import Patience
from gateway.inbox.postgres_accept import Arrival, accept
from gateway.inbox.postgres_dead import PostgresLetters
from gateway.inbox.postgres_events import Connection, Finish, Release, Show, Start
from gateway.inbox.postgres_joining import Entry
from gateway.inbox.postgres_leases import PostgresLeases
from gateway.inbox.postgres_looking import PostgresLooking
from gateway.inbox.postgres_member import Member, how_to_connect
from gateway.inbox.postgres_sessions import require_sessions
from gateway.inbox.rows import Settlement, dedupe_digests
from gateway.inbox.schema import QUEUES
from gateway.waits import boottime_s
from memory.ids import now_ms
from memory.lending import lent, within
from memory.postgres_errors import PASSING
from memory.postgres_locks import Lock
from memory.postgres_migrating import bring_up_to_date
from memory.postgres_sessions import guards

# A queue's statistics are always stale: plans are made once, and never scan what has an index (`engines.md` A.8, 4).
# What was acknowledged is on disk, also where the server's default is to be quick instead.
_SESSION = """
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET jit = off;
SET statement_timeout = {ms};
SET default_transaction_isolation = 'read committed';
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
{guards}"""


class PostgresInbox:
    """Implements `Inbox`, `Outbox` and `Erasable`; `async with` opens and closes it. Leaving hands all held lanes to others."""

    def __init__(
        self,
        dsn: str,
        *,
        pool_size: int,
        timeout_s: float,
        lease_s: float,
        poll_s: float,
        accept_max: int,
        entry: Entry | None = None,
        clock_s: Callable[[], float] = boottime_s,
    ) -> None:
        """`pool_size` connections work at once; one more is for renewals, as a lease that waits behind work is lost, and the work
        done again. `timeout_s` bounds one statement and the wait for a connection; leases last `lease_s` without renewal, by
        the server's clock; `poll_s` is the time between two looks for what no signal told; `accept_max` messages may wait;
        `entry` is what this instance tells the others of itself (None: nothing), and the number it insists on. `clock_s` is
        ours, for what must not happen when a lease may have run out."""
        self._dsn = dsn
        self._timeout_s = timeout_s
        self._lease_s = lease_s
        self._clock_s = clock_s
        # As whom we got it: what was got before the others gave us up for dead is not ours any more.
        self._held: dict[int, tuple[int, float]] = {}  # by fence; and when the lane's lease may run out
        self._taken: dict[int, int] = {}  # by chunk, those being sent
        self._taking = asyncio.Lock()  # what one call has just taken must not look unheard to another
        self._next_freeing_s = clock_s() + lease_s
        self._accept_max = accept_max
        self._changes = Changes(poll_s=poll_s)
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            dsn,
            connection_class=AsyncConnection,
            kwargs=how_to_connect(timeout_s),
            min_size=2,
            max_size=pool_size + 1,
            open=False,
            configure=self._configure,
            timeout=timeout_s,
            reconnect_timeout=timeout_s,  # whoever needs a connection then tries at once: no waits grow with the outage
            name="queues",
        )
        self._working = asyncio.Semaphore(pool_size)
        self._member = Member(
            dsn,
            pool=self._pool,
            changes=self._changes,
            lease_s=lease_s,
            poll_s=poll_s,
            timeout_s=timeout_s,
            entry=entry,
            clock_s=clock_s,
        )
        self.leases = PostgresLeases(self._connection, self._member, rest_s=poll_s)
        self._lanes_left = Patience(self._member.tell)
        self._queues_left = Patience(self._member.tell)
        self._accept = GroupCommit(self._accept_batch, name="accept")
        self._waiting = GroupCommit(self._waiting_batch, name="waiting")
        self._amendments = GroupCommit(self._amendments_batch, name="amendments")
        self._start = GroupCommit(self._start_batch, name="start")
        self._excuse = GroupCommit(self._excuse_batch, name="excuses")
        self._show = GroupCommit(self._show_batch, name="show")
        self._finish = GroupCommit(self._finish_batch, name="finish")
        self._release = GroupCommit(self._release_batch, name="release")
        self._put = GroupCommit(self._put_batch, name="put")
        self._settle = GroupCommit(self._settle_batch, name="receipts")
        self.looking = PostgresLooking(self._connection)
        self.letters = PostgresLetters(self._connection, reopened=self._reopened)
        self._releasing = asyncio.Lock()
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> PostgresInbox:
        async with AsyncExitStack() as opened:
            with translated():
                await opened.enter_async_context(self._pool)
                await self._pool.wait(self._timeout_s)
                await self._look_at_the_way()
                await self._migrate()
                await opened.enter_async_context(self._member)
                await opened.enter_async_context(self.leases)
            for group in (
                self._accept,
                self._waiting,
                self._amendments,
                self._start,
                self._excuse,
                self._show,
                self._finish,
                self._release,
                self._put,
                self._settle,
            ):
                await opened.enter_async_context(group)
            opened.callback(self._lanes_left.close)
            opened.callback(self._queues_left.close)
            self._opened = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    # --- the inbox

    async def accept(self, event: NewEvent, *, lane: str, dedupe_ids: Sequence[str]) -> Accepted:
        if _waits(event) and self._member.backlog + len(self._accept) >= self._accept_max:
            raise StoreBusy(f"{self._accept_max} messages wait already", retry_after_s=RETRY_AFTER_S)
        return await self._accept(Arrival(event, lane, dedupe_digests(event.channel, dedupe_ids)))

    async def claim(self, n: int) -> list[Claim]:
        asked, owner = self._clock_s(), self._member.id
        async with self._connection() as db:
            claims = await events.claim(db, n, owner=owner, lease_s=self._lease_s)
        self._hold(claims, owner, asked)
        self._lanes_left.taken(claim.lane for claim in claims)
        return claims

    async def renew(self, claims: Sequence[Claim]) -> list[Claim]:
        # Not while lanes are being given up: a lane just released would look lost to a caller not yet told so.
        async with self._releasing, self._connection(spare=True) as db:
            asked, owner = self._clock_s(), self._member.id
            renewed, held = await events.renew(db, claims, owner=owner, lease_s=self._lease_s)
        self._hold(renewed, owner, asked)
        return renewed + held

    def mine(self, held: Claim | Chunk) -> bool:
        if isinstance(held, Chunk):
            return self._member.valid() and self._taken.get(held.id) == self._member.id
        owner, until = self._held.get(held.fence, (None, 0.0))
        return self._member.valid() and owner == self._member.id and self._clock_s() < until

    def _hold(self, claims: Sequence[Claim], owner: int, asked: float) -> None:
        """Remember until when these are ours, and forget the leases that have run out."""
        now = self._clock_s()
        self._held = {fence: (of, until) for fence, (of, until) in self._held.items() if until > now}
        self._held |= {claim.fence: (owner, asked + self._lease_s) for claim in claims}

    async def waiting(self, lane: str, *, limit: int = 100) -> list[Event]:
        return await self._waiting((lane, limit))

    async def start(self, ids: Sequence[int], *, turn_id: int, lane: str, fence: int) -> list[int]:
        return await self._start(Start(ids, turn_id, lane, fence))

    async def halt(self, ids: Sequence[int], reason: HaltReason) -> list[int]:
        async with self._connection() as db:
            halted = await events.halt(db, ids, reason)
        self._changed()
        return halted

    async def halts(self, ids: Sequence[int]) -> list[Halt]:
        async with self._connection() as db:
            return await events.halts(db, ids)

    async def excuse(self, excuses: Sequence[Excuse]) -> None:
        await self._excuse(excuses)

    async def show(self, ids: Sequence[int], shown: str, *, lane: str, fence: int) -> None:
        await self._show(Show(ids, shown, lane, fence))

    async def finish(self, ids: Sequence[int], outcome: Outcome, *, lane: str, fence: int | None) -> None:
        await self._finish(Finish(ids, outcome, lane, fence))

    async def release(self, claim: Claim, *, hand_over: bool = False) -> bool:
        return await self._release(Release(claim, hand_over))

    async def move(self, claim: Claim, *, to: str) -> None:
        async with self._connection() as db:
            await moves.move_messages(db, claim, to=to, owner=self._member.id)
        self._changed()

    async def changed(self, after: int) -> int:
        return await self._changes.wait(after)

    async def event(self, event_id: int) -> Event | None:
        async with self._connection() as db:
            return await events.find(db, event_id)

    async def turn_events(self, turn_id: int) -> list[Event]:
        async with self._connection() as db:
            return await events.of_turn(db, turn_id)

    async def controls(self, *, before_ms: int) -> list[Event]:
        async with self._connection() as db:
            return await events.take_controls(db, owner=self._member.id, before_ms=before_ms)

    async def amendments(self, subjects: Sequence[bytes]) -> list[Event]:
        return await self._amendments(subjects)

    async def pending(self, subject: bytes) -> list[Event]:
        async with self._connection() as db:
            return await subject_events.pending(db, subject)

    async def withdraw(self, ids: Sequence[int], outcome: Outcome, *, lane: str) -> list[int]:
        async with self._connection() as db:
            ended = await subject_events.withdraw(db, ids, outcome, lane=lane)
        self._member.backlog -= len(ended)
        return ended

    async def stats(self) -> Stats:
        async with self._connection() as db:
            return await events.stats(db)

    async def purge(self, *, before_ms: int, dedupe_before_ms: int, limit: int) -> int:
        async with self._connection() as db:
            return await events.purge(db, before_ms=before_ms, dedupe_before_ms=dedupe_before_ms, limit=limit)

    async def oldest_finished_ms(self) -> int | None:
        async with self._connection() as db:
            return await events.oldest_finished_ms(db)

    # --- the outbox

    async def put(self, reply: Reply) -> bool:
        return await self._put(reply)

    async def reply(self, turn_id: int) -> str | None:
        async with self._connection() as db:
            return await outbox.reply_text(db, turn_id)

    async def due(
        self,
        *,
        now_ms: int,
        limit: int,
        not_before: Callable[[Chunk], int] = lambda _: 0,
        elsewhere: Collection[str] = (),
    ) -> list[Chunk]:
        if limit <= 0:
            return []
        async with self._taking, self._connection() as db:
            owner = self._member.id
            if self._clock_s() >= self._next_freeing_s:
                await outbox.free_unheard(db, owner=owner, sending=list(self._taken))
                self._next_freeing_s = self._clock_s() + self._lease_s
            chunks = await outbox.take_due(
                db, now_ms=now_ms, limit=limit, owner=owner, not_before=not_before, elsewhere=elsewhere
            )
            self._taken |= {chunk.id: owner for chunk in chunks}
        self._queues_left.taken(chunk.queue for chunk in chunks)
        return chunks

    async def redirect(self, channel: str, redirect: Redirect) -> None:
        async with self._connection() as db:
            await moves.move_chunks(db, channel, redirect)
        self._changed()

    async def announce(self, announcement: Announcement) -> bool:
        async with self._connection() as db:
            announced = await outbox.announce(db, announcement)
        self._changed()
        return announced

    async def take_back(self, channel: str, name: str, *, former: Sequence[str]) -> bool:
        async with self._connection() as db:
            taken_back = await moves.take_back(db, channel, name, former=former)
        self._changed()
        return taken_back

    async def give_up(self, channel: str, gone: Callable[[bytes], bool], *, error: str, now_ms: int) -> list[int]:
        async with self._connection() as db:
            turns = await moves.drop_chunks(db, channel, gone, error=error, now_ms=now_ms)
        self._changed()
        return turns

    async def clear(self, queue: str) -> bool:
        async with self._connection() as db:
            return await outbox.clear(db, queue)

    async def recent(self, channel: str, *, since_ms: int) -> list[Sent]:
        async with self._connection() as db:
            return await outbox.recent(db, channel, since_ms=since_ms)

    async def next_due_ms(self, *, elsewhere: Collection[str] = ()) -> int | None:
        async with self._connection() as db:
            return await outbox.next_due_ms(db, elsewhere=elsewhere)

    async def sent(self, chunk: Chunk, *, message_id: str | None, now_ms: int) -> bool:
        return await self._settle(Settlement(chunk=chunk, state="sent", message_id=message_id, now_ms=now_ms))

    async def unknown(self, chunk: Chunk, *, error: str, now_ms: int) -> bool:
        return await self._settle(Settlement(chunk=chunk, state="unknown", error=error, now_ms=now_ms))

    async def retry(self, chunk: Chunk, *, due_ms: int, error: str, counted: bool = True) -> None:
        await self._settle(Settlement(chunk=chunk, state="waiting", due_ms=due_ms, error=error, counted=counted))

    async def dead(self, chunk: Chunk, *, error: str, now_ms: int) -> None:
        await self._settle(Settlement(chunk=chunk, state="dead", error=error, now_ms=now_ms))

    # --- a person's end

    async def spoken(self, channel: str, speakers: Collection[str], *, after_id: int, limit: int) -> Page:
        async with self._connection() as db:
            return await erasing.spoken(db, channel, speakers, after_id=after_id, limit=limit)

    async def posted(self, turn_ids: Sequence[int]) -> list[tuple[int, str]]:
        async with self._connection() as db:
            return await erasing.posted(db, turn_ids)

    async def erase(self, event_ids: Sequence[int], outcome: Outcome, *, now_ms: int) -> Emptied:
        async with self._connection() as db:
            emptied, unbegun = await erasing.erase(db, event_ids, outcome, now_ms=now_ms)
        self._member.backlog -= unbegun
        self._changed()
        return emptied

    async def unsay(self, turn_ids: Sequence[int], *, now_ms: int) -> tuple[int, list[int]]:
        async with self._connection() as db:
            done = await erasing.unsay(db, turn_ids, now_ms=now_ms)
        self._changed()
        return done

    async def mend(self, channel: str, mend: Mend, *, after_id: int, limit: int) -> Page:
        async with self._connection() as db:
            return await erasing.mend(db, channel, mend, after_id=after_id, limit=limit)

    # --- batches

    async def _accept_batch(self, batch: Sequence[Arrival]) -> Sequence[Accepted]:
        async with self._connection() as db:
            results = await accept(db, batch, owner=self._member.id)
        stored = [
            job.lane
            for job, result in zip(batch, results, strict=True)
            if result.verdict == "accepted" and _waits(job.event)
        ]
        self._member.backlog += len(stored)
        self._changes.ring()
        self._lanes_left.put(stored)
        return results

    async def _waiting_batch(self, batch: Sequence[tuple[str, int]]) -> Sequence[list[Event]]:
        async with self._connection() as db:
            return await events.waiting(db, batch)

    async def _amendments_batch(self, batch: Sequence[Sequence[bytes]]) -> Sequence[list[Event]]:
        async with self._connection() as db:
            return await subject_events.amendments(db, batch)

    async def _start_batch(self, batch: Sequence[Start]) -> Sequence[list[int] | Exception]:
        async with self._connection() as db:
            results = await events.start(db, batch, owner=self._member.id)
        self._member.backlog -= sum(len(result) for result in results if isinstance(result, list))
        return results

    async def _excuse_batch(self, batch: Sequence[Sequence[Excuse]]) -> Sequence[None]:
        async with self._connection() as db:
            await events.excuse(db, [excuse for excuses in batch for excuse in excuses])
        return [None] * len(batch)

    async def _show_batch(self, batch: Sequence[Show]) -> Sequence[Exception | None]:
        async with self._connection() as db:
            return await events.show(db, batch, owner=self._member.id)

    async def _finish_batch(self, batch: Sequence[Finish]) -> Sequence[Exception | None]:
        async with self._connection() as db:
            return await events.finish(db, batch, owner=self._member.id)

    async def _release_batch(self, batch: Sequence[Release]) -> Sequence[bool]:
        async with self._connection() as db, self._releasing:
            results = await events.release(db, batch, owner=self._member.id)
        for job, released in zip(batch, results, strict=True):
            if released:
                self._held.pop(job.claim.fence, None)
        if any(job.hand_over for job in batch):
            self._changed()
        return results

    async def _put_batch(self, batch: Sequence[Reply]) -> Sequence[Exception | bool]:
        async with self._connection() as db:
            results = await outbox.put(db, batch, owner=self._member.id)
        self._changes.ring()
        self._queues_left.put(job.queue for job in batch if job.chunks)
        return results

    async def _settle_batch(self, batch: Sequence[Settlement]) -> Sequence[bool]:
        async with self._connection() as db:
            results = await outbox.settle(db, batch, owner=self._member.id)
        for how in batch:
            self._taken.pop(how.chunk.id, None)
        self._changes.ring()
        return results

    def _reopened(self, events: Sequence[Event]) -> None:
        self._member.backlog += sum(event.kind == "message" for event in events)
        self._changed()

    def _changed(self) -> None:
        self._changes.ring()
        self._member.tell()

    # --- connections

    @asynccontextmanager
    async def _connection(self, *, spare: bool = False) -> AsyncIterator[Connection]:
        with translated(), ExitStack() as place:
            if not spare:
                async with asyncio.timeout(self._timeout_s):
                    await self._working.acquire()
                place.callback(self._working.release)
            # The server's own limit, for one statement, comes first, unless the server or the way there hangs.
            async with lent(self._pool, limit_s=2 * self._timeout_s) as db:
                yield db

    async def _configure(self, db: Connection) -> None:
        async with within(self._timeout_s):
            # What a frozen process has locked holds up others' rooms, and their groups of statements with them.
            held = guards(self._timeout_s, idle_s=self._lease_s / 3)
            session = _SESSION.format(ms=round(self._timeout_s * 1000), guards=held)
            await db.execute(session.encode())

    async def _look_at_the_way(self) -> None:
        async with (
            lent(self._pool, limit_s=self._timeout_s) as one,
            lent(self._pool, limit_s=self._timeout_s) as other,
        ):
            await require_sessions(one, other)

    async def _migrate(self) -> None:
        async with await AsyncConnection.connect(self._dsn, **how_to_connect(self._timeout_s)) as db:
            await bring_up_to_date(db, QUEUES, lock=Lock.QUEUE_SCHEMA, now_ms=now_ms())


def _waits(event: NewEvent) -> bool:
    return event.kind == "message" and event.outcome is None


@contextmanager
def translated() -> Iterator[None]:
    """Raise `StoreBusy` for what passes: the server away, too slow, or at odds with another transaction. ValueError for the
    rest: what a caller handed in that the database refuses."""
    try:
        yield
    except TimeoutError as exc:
        raise StoreBusy("PostgreSQL does not answer", retry_after_s=RETRY_AFTER_S) from exc
    except Error as exc:
        if exc.sqlstate is not None and exc.sqlstate[:2] not in PASSING:
            raise ValueError(f"PostgreSQL refuses: {type(exc).__name__}") from exc
        raise StoreBusy(f"PostgreSQL: {type(exc).__name__}", retry_after_s=RETRY_AFTER_S) from exc
