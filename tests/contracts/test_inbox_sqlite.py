"""What only the queues in one SQLite file must show: one process at a time, the disk before the ack, one file with memory."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from gateway.errors import LeaseLost, StoreBusy
from gateway.inbox import sqlite_events, sqlite_outbox
from gateway.inbox.base import Outcome, Reply
from gateway.inbox.rows import Settlement
from gateway.inbox.schema import QUEUES
from gateway.inbox.sqlite import SqliteInbox
from memory.base import Identity
from memory.errors import SchemaTooNew
from memory.ids import Ids
from memory.sqlite_migrating import bring_up_to_date
from memory.stores.sqlite import SqliteStore
from tests.contracts.queues import (
    NOW_MS,
    accept,
    accept_many,
    answered,
    claim_one,
    fresh_id,
    message,
    open_queues,
    reply,
)

FAILED = Outcome(state="failed")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clew.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


def inbox(path: Path, *, write_turn: asyncio.Lock, timeout_s: float = 0.2) -> SqliteInbox:
    return SqliteInbox(path, write_turn=write_turn, timeout_s=timeout_s, lease_s=15, poll_s=1, accept_max=100)


async def test_earlier_opening_writes_nothing_more(url: str) -> None:
    """Should two gateways ever have one file, the older one is fenced by the rows."""
    async with open_queues(url) as older:
        event = await accept(older)
        claim = await claim_one(older)
        await answered(older, "sending", queue="room")
        (chunk,) = await older.due(now_ms=NOW_MS, limit=1)
        async with open_queues(url) as newer:
            for write in (
                older.start([event.id], turn_id=event.id, lane="lane", fence=claim.fence),
                older.finish([event.id], FAILED, lane="lane", fence=claim.fence),
                older.accept(message(), lane="lane", dedupe_ids=[fresh_id()]),
                older.sent(chunk, message_id=None, now_ms=NOW_MS),
            ):
                with pytest.raises(LeaseLost):
                    await write
            again = await claim_one(newer)
            assert again.fence > claim.fence
            assert [event] == await newer.waiting("lane")


async def test_acknowledged_is_on_disk(path: Path) -> None:
    """The writer waits for the disk at every commit, whatever the memory store's connection does (engines.md A.8, 9)."""
    async with inbox(path, write_turn=asyncio.Lock()) as queues:
        levels = await queues._file.write(
            lambda db: (
                db.execute("PRAGMA synchronous").fetchone()[0],
                db.execute("PRAGMA journal_mode").fetchone()[0],
            )
        )

    assert (2, "wal") == levels


async def test_write_waits_its_turn_and_not_for_ever(path: Path) -> None:
    """Somebody else's write is waited for; one that takes too long makes the queue busy, and nothing is half done."""
    turn = asyncio.Lock()
    async with inbox(path, write_turn=turn) as queues:
        async with turn:
            waiting = asyncio.ensure_future(queues.accept(message(), lane="a", dedupe_ids=["m1"]))
            await asyncio.sleep(0)
        assert "accepted" == (await waiting).verdict
        async with turn:
            with pytest.raises(StoreBusy):
                await queues.accept(message(), lane="a", dedupe_ids=["m2"])
        assert "accepted" == (await queues.accept(message(), lane="a", dedupe_ids=["m2"])).verdict


async def test_file_locked_by_a_stranger_is_busy_not_broken(path: Path) -> None:
    """Another program that writes to the file delays, then refuses; afterwards the queue works on."""
    async with inbox(path, write_turn=asyncio.Lock()) as queues:
        stranger = sqlite3.connect(path, isolation_level=None)
        stranger.execute("BEGIN IMMEDIATE")
        results = await asyncio.gather(
            *(queues.accept(message(), lane="a", dedupe_ids=[f"m{n}"]) for n in range(3)), return_exceptions=True
        )
        assert [StoreBusy] * 3 == [type(result) for result in results]
        assert [] == await queues.waiting("a"), "reading goes on"
        stranger.execute("ROLLBACK")
        stranger.close()
        assert 3 == len(await accept_many(queues, 3, lane="a"))


async def test_full_disk_is_busy_not_broken(path: Path) -> None:
    """A write that the file can't take fails whole; what was stored before stays readable, and room again is used again."""
    async with inbox(path, write_turn=asyncio.Lock()) as queues:
        first = await accept(queues)
        pages = await queues._file.write(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
        await queues._file.write(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 2}").fetchall())
        with pytest.raises(StoreBusy):
            await queues.accept(message(body=b"x" * 100_000), lane="lane", dedupe_ids=["big"])
        assert [first] == await queues.waiting("lane")
        await queues._file.write(lambda db: db.execute("PRAGMA max_page_count = 1000000").fetchall())
        await queues.accept(message(body=b"x" * 100_000), lane="lane", dedupe_ids=["big"])
        assert 2 == len(await queues.waiting("lane"))


async def test_unusable_path_is_told(tmp_path: Path) -> None:
    """A folder that does not exist is a clear refusal at the start."""
    with pytest.raises(StoreBusy, match="SQLite"):
        async with inbox(tmp_path / "missing" / "clew.db", write_turn=asyncio.Lock()):
            pass


async def test_closed_queue_takes_nothing(url: str) -> None:
    """After closing, writes are refused, not lost."""
    async with open_queues(url) as queues:
        pass
    with pytest.raises(StoreBusy):
        await queues.accept(message(), lane="a", dedupe_ids=["m1"])


async def test_newer_schema_is_refused(url: str, path: Path) -> None:
    """An older release does not touch what a newer one wrote."""
    async with open_queues(url):
        pass
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO queue_schema (version) VALUES (9999)")
    db.close()

    with pytest.raises(SchemaTooNew):
        async with open_queues(url):
            pass


async def test_lanes_claimed_before_a_restart_come_in_order_of_waiting(url: str) -> None:
    """What waits longest is served first also after a restart, started or not."""
    async with open_queues(url) as queues:
        for n in range(5):
            await accept(queues, f"l{n}")
        claims = {claim.lane: claim for claim in await queues.claim(5)}
        (event,) = await queues.waiting("l3")
        await queues.start([event.id], turn_id=event.id, lane="l3", fence=claims["l3"].fence)
    async with open_queues(url, accept_max=5) as queues:
        assert [f"l{n}" for n in range(5)] == [claim.lane for claim in await queues.claim(9)]
        await accept(queues, "room for one: a started event does not count")
        with pytest.raises(StoreBusy):
            await accept(queues, "and no more")


def test_no_statement_scans_a_table() -> None:
    """Every statement of a turn finds its rows by an index, so that a million finished rows cost nothing."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    bring_up_to_date(db, QUEUES, now_ms=NOW_MS)
    ran: list[str] = []
    db.set_trace_callback(ran.append)
    _whole_turn(db)
    db.set_trace_callback(None)
    plans = {
        statement: [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}")]
        for statement in ran
        if statement.startswith(("SELECT", "UPDATE", "DELETE", "INSERT"))
    }
    db.close()

    assert len(plans) > 20
    scans = {
        statement: step
        for statement, plan in plans.items()
        for step in plan
        if step.startswith("SCAN") and "INDEX" not in step and "CONSTANT" not in step and "SUBQUERY" not in step
    }
    assert {} == {
        statement: step for statement, step in scans.items() if "outbox_queues SET owner = NULL" not in statement
    }


def _whole_turn(db: sqlite3.Connection) -> None:
    new, unheard = message(subject="m"), message(outcome=Outcome(state="ignored", rule="r"))
    for digests in ([b"a"], [b"a", b"b"]):
        sqlite_events.accept(db, new, lane="lane", digests=digests, seq=1, owner=1)
    sqlite_events.accept(db, unheard, lane="lane", digests=[b"c"], seq=1, owner=1)
    sqlite_events.accept(db, message(revives=("r",)), lane="lane", digests=[b"c", b"d"], seq=1, owner=1)
    sqlite_events.amendments(db, [b"m", b"n"])
    sqlite_events.pending(db, b"m")
    sqlite_events.withdraw(db, [unheard.id], FAILED, lane="lane")
    sqlite_events.all_waiting(db)
    sqlite_events.start(db, [new.id], turn_id=new.id, lane="lane")
    sqlite_events.waiting(db, "lane", limit=5)
    sqlite_events.of_turn(db, new.id)
    sqlite_events.finish(db, [1], FAILED, lane="lane")
    sqlite_events.finish(db, [1], FAILED, lane=None)
    sqlite_events.take_controls(db, owner=2, before_ms=1)
    put = Reply(
        event_ids=[new.id],
        turn_id=new.id,
        channel="acme",
        queue="room",
        address=b"",
        text="",
        chunks=["one", "two"],
        failed=None,
        session=None,
        lane="lane",
        fence=1,
        now_ms=NOW_MS,
    )
    sqlite_outbox.put(db, put)
    sqlite_outbox.reply_text(db, new.id)
    sqlite_outbox.next_due_ms(db)
    for state in ("waiting", "sent", "dead"):
        heads = sqlite_outbox.heads(db, now_ms=NOW_MS, limit=5, elsewhere=())
        sqlite_outbox.hold_back(db, [(chunk, NOW_MS) for chunk in heads])
        for chunk in sqlite_outbox.take(db, heads, owner=1):
            sqlite_outbox.settle(db, Settlement(chunk=chunk, state=state), owner=1)  # type: ignore[arg-type]
    sqlite_outbox.abandon(db)
    sqlite_events.stats(db)
    sqlite_events.purge(db, before_ms=NOW_MS, dedupe_before_ms=NOW_MS, limit=5)


async def test_reply_of_a_lost_lane_is_not_stored(url: str) -> None:
    """A write refused inside a batch leaves no trace, and those beside it stand."""
    async with open_queues(url) as queues:
        events = await accept_many(queues, 1, lane="a") + await accept_many(queues, 1, lane="b")
        claims = {claim.lane: claim for claim in await queues.claim(2)}
        await queues.release(claims["a"], hand_over=True)
        results = await asyncio.gather(
            reply(queues, claims["a"], events[:1]), reply(queues, claims["b"], events[1:]), return_exceptions=True
        )

        assert [True, False] == [isinstance(result, LeaseLost) for result in results]
        assert [None, "hello"] == [await queues.reply(event.id) for event in events]


async def test_queues_and_memory_share_one_file(path: Path) -> None:
    """The writer's thread and the memory store's writes on the loop take turns: nobody is told that the file is busy."""
    turn = asyncio.Lock()
    identities = [Identity(kind="webhook", tenant="t", account=f"u{n}") for n in range(100)]
    async with (
        SqliteStore(path, ids=Ids(1), write_turn=turn, timeout_s=5) as store,
        inbox(path, write_turn=turn, timeout_s=5) as queues,
    ):
        people, events = await asyncio.gather(
            asyncio.gather(*(store.person(identity, now_ms=NOW_MS) for identity in identities)),
            asyncio.gather(*(accept(queues, f"l{n}") for n in range(100))),
        )

        assert 100 == len(set(people))
        assert 100 == len(await queues.claim(1_000)) == len(events)
