"""What only several instances on one PostgreSQL can show: sharing, take-over of the hung, a server that goes away."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from gateway.errors import LeaseLost, StoreBusy
from gateway.inbox.base import Event, Outcome
from gateway.inbox.postgres import PostgresInbox
from gateway.inbox.schema import QUEUES
from memory.errors import SchemaTooNew
from memory.schema import read_migrations
from tests.contracts.queues import (
    DAY_MS,
    NOW_MS,
    Queues,
    accept,
    accept_many,
    answered,
    claim_one,
    claim_when_free,
    due_when_free,
    fresh_id,
    message,
    open_queues,
    reply,
    until,
    victim,
)
from tests.services import running_postgres

FAILED = Outcome(state="failed")
_READING = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT address%settled_ms >=%'"
UNHEARD = Outcome(state="ignored", rule="unheard")


@pytest.fixture
async def pair(postgres_url: str) -> AsyncIterator[tuple[Queues, Queues]]:
    """Two instances that hear each other or wait for a minute."""
    async with open_queues(postgres_url, poll_s=60) as first:
        seen = await first.changed(0)
        async with open_queues(postgres_url, poll_s=60) as second:
            await first.changed(seen)  # the second has joined
            yield first, second


def execute(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as db:
        cursor = db.execute(sql)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else []


async def test_instances_share_the_lanes(pair: tuple[Queues, Queues]) -> None:
    """Two instances claim at once: every lane has one owner, and only that one can write."""
    first, second = pair
    events = {lane: (await accept_many(first, 1, lane=lane))[0] for lane in (f"l{n}" for n in range(10))}
    mine, theirs = await asyncio.gather(first.claim(6), second.claim(6))

    assert sorted(events) == sorted(claim.lane for claim in [*mine, *theirs])
    for claim in mine:
        with pytest.raises(LeaseLost):
            await second.start([events[claim.lane].id], turn_id=1, lane=claim.lane, fence=claim.fence)
        assert await second.release(claim), "not theirs: nothing to give up"
        assert [] == await second.renew([claim])
        await first.start([events[claim.lane].id], turn_id=1, lane=claim.lane, fence=claim.fence)


async def test_one_instance_hears_what_another_accepts(pair: tuple[Queues, Queues]) -> None:
    """The bell rings across instances, long before the poll: for a message, a hand-over and a reply."""
    first, second = pair
    events: list[Event] = []

    async def arrives() -> None:
        events.append(await accept(first))

    async def handed_over() -> None:
        assert await first.release(await claim_one(first), hand_over=True)

    async def answered() -> None:
        await reply(first, await claim_one(first), events)

    async with asyncio.timeout(30):
        for act in (arrives, handed_over, answered):
            seen = await second.changed(0)
            await act()
            await second.changed(seen)


async def test_same_message_at_two_instances_is_one_event(pair: tuple[Queues, Queues]) -> None:
    """A platform that delivers to both at the same moment gets one turn (platform-facts 0, 2)."""
    ids = [fresh_id() for _ in range(100)]
    results = await asyncio.gather(
        *(queues.accept(message(), lane=f"l{n % 3}", dedupe_ids=[ids[n]]) for n in range(100) for queues in pair)
    )

    for n in range(100):
        both = results[2 * n : 2 * n + 2]
        assert ["accepted", "duplicate"] == sorted(result.verdict for result in both)
        assert both[0].event.id == both[1].event.id


async def test_lanes_stay_in_order_across_instances(pair: tuple[Queues, Queues]) -> None:
    """One scope's messages through two instances stand in the order in which they were accepted, and no batch waits for
    another in a circle."""
    accepted: list[list[int]] = [[], []]

    async def feed(which: int) -> None:
        for _ in range(40):
            events = await asyncio.gather(*(accept(pair[which], f"l{n}") for n in range(5)))
            accepted[which].append(events[0].id)

    await asyncio.gather(feed(0), feed(1))
    waiting = [event.id for event in await pair[0].waiting("l0", limit=1_000)]

    assert 80 == len(waiting)
    for ids in accepted:
        assert ids == [id_ for id_ in waiting if id_ in set(ids)]


async def test_stopped_process_is_taken_over_and_fenced_when_it_wakes(postgres_url: str) -> None:
    """A process that hangs keeps its connection and its lock; its lease runs out, others go on, and when it wakes it writes
    nothing more (engines.md A.8, 2 and 3)."""
    async with (
        victim(postgres_url, "hold", lease_s=1) as owner,
        open_queues(postgres_url, lease_s=1, poll_s=0.1) as queues,
    ):
        ids = [int(part) for part in (await owner.line()).split()]
        owner.signal(signal.SIGSTOP)
        claim = await claim_when_free(queues)
        assert ids == [event.id for event in await queues.waiting(claim.lane)]
        await queues.finish(ids, FAILED, lane=claim.lane, fence=claim.fence)
        owner.signal(signal.SIGCONT)

        assert "fenced" == await owner.line()
        assert ["failed"] * 3 == [event.state for id_ in ids if (event := await queues.event(id_))]


@pytest.mark.parametrize("act", ["freeze", "freeze_taking"])
async def test_locks_of_a_process_that_froze_come_free(act: str, postgres_url: str) -> None:
    """It was stopped in the middle of a transaction: its kernel goes on to answer for it, so only the server's limit for an idle
    transaction gives the lane, or the chunk, to others; when it wakes it has written nothing."""
    async with (
        victim(postgres_url, act, lease_s=1) as owner,
        open_queues(postgres_url, lease_s=1, poll_s=0.1) as queues,
    ):
        event_id = int(await owner.line())
        if act == "freeze":
            claim = await claim_when_free(queues)
            assert [event_id] == await queues.start([event_id], turn_id=event_id, lane=claim.lane, fence=claim.fence)
        else:
            chunk = await due_when_free(queues)
            assert (event_id, "sending", 1) == (chunk.turn_id, chunk.state, chunk.attempts)
            assert await queues.sent(chunk, message_id="m", now_ms=NOW_MS)
            owner.signal(signal.SIGCONT)
            assert "took nothing" == await owner.line()


async def test_a_lease_ends_by_our_own_clock(postgres_url: str) -> None:
    """As long as no renewal has answered since, whatever the server may say: a process that was stopped knows it at once. What
    the instance took to send is by its own lease, a lane by both."""
    now = 0.0
    async with PostgresInbox(
        postgres_url, pool_size=2, timeout_s=5, lease_s=15, poll_s=60, accept_max=9, clock_s=lambda: now
    ) as queues:
        await answered(queues, "a", queue="room")
        await accept(queues)
        claim = await claim_one(queues)
        (chunk,) = await queues.due(now_ms=NOW_MS, limit=1)
        now = 14.9
        assert (True, True) == (queues.mine(claim), queues.mine(chunk))
        assert [claim] == await queues.renew([claim])
        now = 15.1
        assert (False, False) == (queues.mine(claim), queues.mine(chunk)), (
            "the lane's is of no use without the instance's"
        )
        now = 14.9
        await queues.sent(chunk, message_id="m", now_ms=NOW_MS)
        assert not queues.mine(chunk), "it has been sent"


async def test_killed_process_is_taken_over_beside_a_live_one(postgres_url: str) -> None:
    """With a lease of minutes, a killed process's lane and its unsent chunk come free as soon as its connection is gone."""
    async with (
        open_queues(postgres_url, lease_s=600, poll_s=0.1) as queues,
        victim(postgres_url, "send", lease_s=600) as owner,
    ):
        await owner.line()
        await owner.kill()
        taken: list[object] = []

        async def found() -> bool:
            taken.extend(await queues.due(now_ms=NOW_MS, limit=1))
            return bool(taken)

        await until(queues, found)
        assert "two" in str(taken)


async def test_instance_given_up_for_dead_joins_anew(postgres_url: str) -> None:
    """Whoever was buried alive loses its lanes, says so to nobody's harm, and goes on as another."""
    async with open_queues(postgres_url, poll_s=0.05) as queues:
        event = await accept(queues)
        old = await claim_one(queues)
        await answered(queues, "other", queue="room")
        (chunk,) = await queues.due(now_ms=NOW_MS, limit=1)
        assert (True, True) == (queues.mine(old), queues.mine(chunk))
        execute(postgres_url, "DELETE FROM inbox_instances")
        started: list[int] = []

        async def goes_on() -> bool:
            try:
                for new in await queues.claim(1):
                    started.extend(await queues.start([event.id], turn_id=event.id, lane="lane", fence=new.fence))
            except LeaseLost:  # claimed while it did not know yet that it was buried: its last lane under the old name
                pass
            return bool(started)

        await until(queues, goes_on)
        assert [event.id] == started
        assert (False, False) == (queues.mine(old), queues.mine(chunk)), "of that one, not of this"
        with pytest.raises(LeaseLost):
            await queues.start([event.id], turn_id=event.id, lane="lane", fence=old.fence)


async def test_short_loss_of_the_listening_connection_costs_no_lane(postgres_url: str) -> None:
    """A connection that breaks is opened again; nothing held is lost by that, and the bell still rings."""
    async with open_queues(postgres_url, poll_s=0.5) as queues:
        await accept(queues)
        claim = await claim_one(queues)
        execute(
            postgres_url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR pid IN"
            " (SELECT pid FROM pg_locks WHERE locktype = 'advisory')",
        )
        locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        await until(queues, lambda: execute(postgres_url, locks) == [(1,)])

        assert [claim] == await queues.renew([claim])


async def test_side_task_that_breaks_is_heard(postgres_url: str) -> None:
    """Nobody runs on beside a recovery that has died (engines.md A.8, 5)."""
    async with open_queues(postgres_url, poll_s=0.05) as queues:
        execute(postgres_url, "ALTER TABLE inbox_lanes RENAME TO elsewhere")
        with pytest.raises(psycopg.errors.UndefinedTable):
            await until(queues, lambda: False)
        execute(postgres_url, "ALTER TABLE elsewhere RENAME TO inbox_lanes")


async def test_server_restart_is_survived() -> None:
    """While the server is away every verb says so; when it is back the same object works on, with what it held."""
    with running_postgres() as server:
        url = server.url("postgres")
        async with open_queues(url, poll_s=0.2, timeout_s=1) as queues:
            await accept(queues)
            claim = await claim_one(queues)
            server.stop()
            results = await asyncio.gather(
                queues.accept(message(), lane="l", dedupe_ids=["m"]),
                queues.claim(1),
                queues.waiting("lane"),
                queues.due(now_ms=NOW_MS, limit=1),
                queues.finish([1], FAILED, lane="lane", fence=claim.fence),
                return_exceptions=True,
            )
            assert [StoreBusy] * 5 == [type(result) for result in results]
            server.start()

            async def back() -> bool:
                try:
                    return (await queues.accept(message(), lane="l", dedupe_ids=["m"])).verdict == "accepted"
                except StoreBusy:
                    return False

            await until(queues, back)
            assert [claim] == await queues.renew([claim])
            assert ["l"] == [claim.lane for claim in await queues.claim(5)]


async def test_lock_held_by_a_stranger_is_busy_not_for_ever(postgres_url: str) -> None:
    """A table that somebody locks delays, then refuses; afterwards the queue works on."""
    async with open_queues(postgres_url, timeout_s=0.5) as queues:
        with psycopg.connect(postgres_url) as stranger:
            stranger.execute("LOCK TABLE inbox_dedupe IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(StoreBusy):
                await queues.accept(message(), lane="l", dedupe_ids=["m"])
        assert "accepted" == (await queues.accept(message(), lane="l", dedupe_ids=["m"])).verdict


async def test_a_renewal_waits_for_no_work(postgres_url: str) -> None:
    """Every connection that works hangs in a slow database, and more work waits for one: leases are renewed all the same, as
    each that is lost makes the slow database do its turn again."""
    async with open_queues(postgres_url, timeout_s=30) as queues, open_queues(postgres_url) as other:
        await accept(queues)
        claim = await claim_one(queues)
        async with await psycopg.AsyncConnection.connect(postgres_url) as stranger:
            await stranger.execute("LOCK TABLE outbox_chunks IN ACCESS EXCLUSIVE MODE")
            reading = [asyncio.create_task(queues.recent("hook", since_ms=NOW_MS)) for _ in range(20)]
            async with asyncio.timeout(20):
                while execute(postgres_url, _READING)[0][0] < 6:
                    await asyncio.sleep(0.05)
                kept = await queues.renew([claim])
            assert [claim] == kept
            assert not any(task.done() for task in reading)
            assert execute(postgres_url, _READING)[0][0] == 6, "those that work are no more than the pool"
        assert [[]] * 20 == await asyncio.gather(*reading)
        assert [] == await other.claim(1)


async def test_the_backlog_is_counted_by_one_for_all(postgres_url: str) -> None:
    """What another instance counted a moment ago is not counted again; who joins counts, unless somebody is just doing so."""
    async with open_queues(postgres_url, poll_s=60) as first:
        await accept_many(first, 3)
        async with open_queues(postgres_url, poll_s=60):
            assert [(3,)] == execute(postgres_url, "SELECT waiting FROM inbox_backlog")
        execute(
            postgres_url, "UPDATE inbox_backlog SET waiting = 5000, counted = clock_timestamp() + interval '1 hour'"
        )
        async with open_queues(postgres_url, poll_s=60, accept_max=5000) as third:
            with pytest.raises(StoreBusy, match="5000 messages wait"):
                await accept(third)


async def test_traffic_for_hours_leaves_the_tables_as_small_as_it_found_them(postgres_url: str) -> None:
    """What comes and goes makes room for what comes next: after as many rounds again not a page more."""
    ignored = Outcome(state="ignored", rule="no_mention")
    tables = ("inbox_events", "inbox_dedupe", "outbox_chunks", "outbox_replies")
    sizes = []
    async with open_queues(postgres_url) as queues:
        for _ in range(8):
            await asyncio.gather(*(accept(queues, "a", outcome=ignored) for _ in range(300)))
            await answered(queues, "b", queue="room", chunks=("one", "two", "three"))
            while chunks := await queues.due(now_ms=NOW_MS, limit=9):
                for chunk in chunks:
                    await queues.sent(chunk, message_id=None, now_ms=NOW_MS)
            after = NOW_MS + DAY_MS
            while await queues.purge(before_ms=after, dedupe_before_ms=after, limit=100):
                pass
            for table in tables:
                execute(postgres_url, f"VACUUM {table}")
            sizes.append(
                execute(
                    postgres_url,
                    f"SELECT sum(pg_total_relation_size(t)) FROM unnest('{{{','.join(tables)}}}'::regclass[]) t",
                )
            )

    assert sizes[3] == sizes[-1]
    assert [(0,)] == execute(postgres_url, "SELECT count(*) FROM inbox_events")


async def test_newer_schema_is_refused(postgres_url: str) -> None:
    """An older release does not touch what a newer one wrote."""
    async with open_queues(postgres_url):
        pass
    execute(postgres_url, "INSERT INTO queue_schema (version) VALUES (9999)")

    with pytest.raises(SchemaTooNew):
        async with open_queues(postgres_url):
            pass


async def test_several_starters_share_an_empty_database(bare_postgres_url: str) -> None:
    """Instances that start together make the schema once."""

    async def start() -> None:
        async with open_queues(bare_postgres_url) as queues:
            await accept(queues, fresh_id())

    await asyncio.gather(*(start() for _ in range(4)))

    assert [(len(read_migrations(QUEUES.folder / "postgres")),)] == execute(
        bare_postgres_url, "SELECT count(*) FROM queue_schema"
    )
    assert [(4,)] == execute(bare_postgres_url, "SELECT count(*) FROM inbox_events")


async def test_unreachable_server_is_told_at_the_start(tmp_path: Path) -> None:
    """Opening fails within the time limit and names no password."""
    with pytest.raises(StoreBusy) as refused:
        async with open_queues("postgresql://clew:hidden@127.0.0.1:1/clew", timeout_s=0.5):
            pass

    assert "hidden" not in str(refused.value)


async def test_no_statement_scans_what_has_grown(postgres_url: str) -> None:
    """Beside 30,000 finished events and stale statistics, a whole turn reads big tables by index, a few rows each
    (engines.md A.8, 4)."""
    async with open_queues(postgres_url) as queues:
        await _whole_turn(queues)  # plans are made, and kept, while the tables are empty
        for _ in range(6):
            await _whole_turn(queues)
        execute(
            postgres_url,
            """
            INSERT INTO inbox_events (id, turn_id, lane, channel, kind, speaker, body, token, state, attempts, accepted_ms,
              owner, subject)
            SELECT n, n, 'old' || n % 50, 'acme', CASE WHEN n % 2 = 0 THEN 'message' ELSE 'control' END, '', '', '',
              'answered', 1, 0, 0, decode(md5((n / 4)::text), 'hex') FROM generate_series(1, 30000) n;
            INSERT INTO inbox_dedupe SELECT decode(md5(n::text), 'hex'), n FROM generate_series(1, 30000) n;
            INSERT INTO outbox_replies SELECT n, '' FROM generate_series(1, 30000) n;
            INSERT INTO outbox_chunks (turn_id, channel, queue, address, part, parts, text, state, attempts, put_ms, due_ms)
            SELECT n, 'acme', 'old' || n % 50, '', 0, 1, '', 'sent', 1, 0, 0 FROM generate_series(1, 30000) n""",
        )
    before = await _reads(postgres_url)
    async with open_queues(postgres_url) as queues:
        for _ in range(12):
            await _whole_turn(queues)
    after = await _reads(postgres_url)

    for table, rows in after.items():
        assert rows - before[table] < 2_000, f"{table}: {rows - before[table]} rows read for 12 turns"


async def _whole_turn(queues: Queues) -> None:
    lane = fresh_id()
    event = await accept(queues, lane, subject=lane)
    ids = [fresh_id(), fresh_id()]
    unheard = await queues.accept(message(outcome=UNHEARD), lane=lane, dedupe_ids=ids[:1])
    await queues.accept(message(subject=lane, revives=("unheard",)), lane=lane, dedupe_ids=ids)
    edit = await accept(queues, lane, kind="control", subject=lane)
    assert edit.subject is not None
    assert [edit] == await queues.amendments([edit.subject])
    assert 2 == len(await queues.pending(edit.subject))
    await queues.finish([edit.id], FAILED, lane=lane, fence=None)
    assert [unheard.event.id] == await queues.withdraw([unheard.event.id], FAILED, lane=lane)
    await queues.accept(message(), lane=lane, dedupe_ids=[fresh_id()])
    claim = await claim_one(queues)
    await queues.start([event.id], turn_id=event.id, lane=lane, fence=claim.fence)
    assert [event.id] == await queues.halt([event.id], "stopped")
    assert 1 == len(await queues.halts([event.id]))
    await reply(queues, claim, [event], queue=lane)
    rest = await queues.waiting(lane)
    await queues.finish([one.id for one in rest], FAILED, lane=lane, fence=claim.fence)
    await queues.release(claim)
    for chunk in await queues.due(now_ms=NOW_MS, limit=5):
        await queues.sent(chunk, message_id=None, now_ms=NOW_MS)
    await queues.turn_events(event.id)
    await queues.stats()
    await queues.purge(before_ms=NOW_MS - 30 * DAY_MS, dedupe_before_ms=0, limit=5)


async def _reads(url: str) -> dict[str, int]:
    """Rows read so far by scans and by indexes, per table; every other session has ended and so has told its counts."""
    rows = execute(
        url,
        "SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables"
        " WHERE relname IN ('inbox_events', 'inbox_dedupe', 'outbox_chunks', 'outbox_replies')",
    )
    return {str(table): int(str(count)) for table, count in rows}
