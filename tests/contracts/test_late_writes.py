"""What a turn has sent to PostgreSQL and was given up there, and arrives when the turn has begun again.

A network that sends again delivers it however long the client has gone: so it is held on its way here, by a connection of its
own that nobody gives up, and let go at the worst moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from gateway.errors import LeaseLost
from gateway.inbox import postgres_events as events
from gateway.inbox import postgres_outbox as outbox
from gateway.inbox.base import Claim, Event, Outcome, Reply
from gateway.inbox.postgres import PostgresInbox
from gateway.inbox.postgres_events import Connection, Finish, Show, Start
from gateway.lanes import Gathering, Lanes, Running
from memory.errors import Fenced, StoreUnavailable
from memory.ids import Ids
from memory.stores.postgres import PostgresStore
from tests.chaos.proxy import Proxy
from tests.contracts.queues import NOW_MS, Queues, accept, claim_one, open_queues
from tests.contracts.store import ledger, opened, put, replied, rule, said, wish

LATER = NOW_MS + 1
T = TypeVar("T")


@asynccontextmanager
async def held_back(url: str) -> AsyncIterator[tuple[Proxy, str]]:
    """Yield a way to the server that can be held, and its address."""
    to = conninfo_to_dict(url)
    proxy = Proxy(lambda: [(str(to["host"]), int(str(to["port"])))])
    async with proxy.running():
        yield proxy, make_conninfo(url, host="127.0.0.1", port=proxy.port)


@asynccontextmanager
async def late(proxy: Proxy, write: Awaitable[T]) -> AsyncIterator[asyncio.Future[T]]:
    """Hold what is written from now on; on the way out of the block it has arrived."""
    proxy.set("deaf")
    task = asyncio.ensure_future(write)
    await asyncio.sleep(0.05)  # on its way; more or less of it changes nothing
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def stores(url: str) -> AsyncIterator[tuple[PostgresStore, PostgresStore, Proxy]]:
    """Yield a store, the same one by a way that can be held, and that way."""
    async with held_back(url) as (proxy, way):
        near = PostgresStore(url, ids=Ids(1), pool_size=4, timeout_s=20)
        far = PostgresStore(way, ids=Ids(2), pool_size=2, timeout_s=20)
        async with near, far:
            yield near, far, proxy


async def test_a_turn_that_begins_again_shuts_out_what_it_had_sent_before(postgres_url: str) -> None:
    """The append of an answer is given up and arrives while the model is asked again: it is refused, so the second answer is
    the only one, in memory and on its way out; no stored answer cost another call."""
    answers: list[str] = []
    fences: list[int] = []
    refused: list[object] = []

    async with stores(postgres_url) as (near, far, proxy), open_queues(postgres_url, poll_s=0.1) as queues:
        scope = await opened(near)

        async def respond(turn: Running) -> None:
            (id_,), fence = (event.id for event in turn.events), turn.claim.fence
            fences.append(fence)
            await queues.start([id_], turn_id=id_, lane=turn.claim.lane, fence=fence)
            loaded = await near.append_and_load(
                scope.id, [said("你好", id_)], wish(scope.id, now_ms=LATER), turn_id=id_, session=rule(), fence=fence
            )
            stored = await near.turn_messages(wish(scope.id).owner, id_)
            assert ["user"] == [row.role for row in stored], loaded
            answers.append(f"answer {len(answers) + 1} 😶")
            if len(answers) == 1:
                proxy.set("deaf")
                sent = put(far, scope.id, replied(answers[0], id_), turn_id=id_, fence=fence)
                under_way.append(asyncio.ensure_future(sent))
                raise StoreUnavailable("gave up")
            proxy.set("pass")
            refused.extend(await asyncio.gather(*under_way, return_exceptions=True))
            await put(near, scope.id, replied(answers[-1], id_), turn_id=id_, fence=fence, ledger=ledger(id_, scope.id))
            await queues.put(reply_of(turn.claim, turn.events[0], answers[-1]))
            lanes.drain()

        under_way: list[asyncio.Future[Any]] = []
        event = await accept(queues, "lane")
        lanes = Lanes(
            queues, respond, lambda _: Gathering(busy="queue", most=1, alone=False), most=1, lease_s=15, retry_s=0.01
        )
        async with asyncio.timeout(60):
            await lanes.run()

        assert [Fenced] == [type(one) for one in refused]
        assert fences[0] < fences[1]
        rows = await near.turn_messages(wish(scope.id).owner, event.id)
        assert [("user", "你好"), ("assistant", "answer 2 😶")] == [(row.role, row.text) for row in rows]
        assert "answer 2 😶" == await queues.reply(event.id)
        stored = await queues.event(event.id)
        assert stored is not None
        assert (2, 1) == (stored.attempts, stored.excused)


def reply_of(claim: Claim, event: Event, text: str) -> Reply:
    return Reply(
        event_ids=[event.id], turn_id=event.id, channel="acme", queue="room", address=b"a", text=text, chunks=(text,),
        failed=None, session="s-1", lane=claim.lane, fence=claim.fence, now_ms=NOW_MS,
    )  # fmt: skip


Write = Callable[[PostgresStore, int], Awaitable[object]]
MEMORY: dict[str, Write] = {
    "append": lambda store, scope: put(store, scope, replied("late", 1), turn_id=1, fence=1),
    "append_and_load": lambda store, scope: store.append_and_load(
        scope, [said("late", 2)], wish(scope), turn_id=1, session=rule(), fence=1
    ),
    "save_ledger": lambda store, scope: store.save_ledger(ledger(1, scope), fence=1),
}


@pytest.mark.parametrize("verb", MEMORY)
async def test_memory_refuses_what_comes_under_the_number_before(verb: str, postgres_url: str) -> None:
    """From the moment when the turn has begun again: nothing is changed by what comes after."""
    async with stores(postgres_url) as (near, far, proxy):
        scope = (await opened(near)).id
        await put(near, scope, said("hi", 1), turn_id=1, fence=1)
        async with late(proxy, MEMORY[verb](far, scope)) as write:
            await put(near, scope, said("hi", 1), turn_id=1, fence=2)
            before = dump(postgres_url)
            proxy.set("pass")
            with pytest.raises(Fenced):
                await write
        assert before == dump(postgres_url)


def dump(url: str) -> list[object]:
    """All that a turn writes."""
    with psycopg.connect(url, autocommit=True) as db:
        names = (
            "scopes",
            "sessions",
            "messages",
            "ledgers",
            "inbox_lanes",
            "inbox_events",
            "outbox_chunks",
            "outbox_replies",
        )
        there = [name for name in names if db.execute("SELECT to_regclass(%s)", (name,)).fetchone() != (None,)]
        return [db.execute(f"SELECT * FROM {name} t ORDER BY t::text").fetchall() for name in there]


Queue = Callable[[Connection, Claim, Event, int], Awaitable[list[Any]]]
QUEUES: dict[str, Queue] = {
    "start": lambda db, old, event, owner: events.start(
        db, [Start([event.id], event.id, old.lane, old.fence)], owner=owner
    ),
    "show": lambda db, old, event, owner: events.show(db, [Show([event.id], "m", old.lane, old.fence)], owner=owner),
    "finish": lambda db, old, event, owner: events.finish(
        db, [Finish([event.id], Outcome(state="dead"), old.lane, old.fence)], owner=owner
    ),
    "put": lambda db, old, event, owner: outbox.put(db, [reply_of(old, event, "late")], owner=owner),
}


@pytest.mark.parametrize("verb", QUEUES)
async def test_the_queue_refuses_what_comes_under_the_number_before(verb: str, postgres_url: str) -> None:
    """Though it is the same instance that has the lane again."""
    async with held_back(postgres_url) as (proxy, way), open_queues(postgres_url) as queues:
        event, old, owner = await begun(queues)
        db: Connection
        async with (
            await psycopg.AsyncConnection.connect(way, autocommit=True) as db,
            late(proxy, QUEUES[verb](db, old, event, owner)) as write,
        ):
            await queues.release(old, hand_over=True)
            claim = await claim_one(queues)
            assert old.fence < claim.fence
            await queues.start([event.id], turn_id=event.id, lane=claim.lane, fence=claim.fence)
            before = dump(postgres_url)
            proxy.set("pass")
            assert [LeaseLost] == [type(one) for one in await write]
        assert before == dump(postgres_url)


async def begun(queues: Queues) -> tuple[Event, Claim, int]:
    """Return a message that runs, its lane, and by which number the instance is known."""
    event = await accept(queues)
    claim = await claim_one(queues)
    await queues.start([event.id], turn_id=event.id, lane="lane", fence=claim.fence)
    assert isinstance(queues, PostgresInbox)
    (one,) = await queues.leases.instances()
    return event, claim, one.id


async def test_a_locked_lane_keeps_no_other_from_being_renewed(postgres_url: str) -> None:
    """Somebody writes to one lane and hangs there: it is still ours and waits for its next time; the others' leases are extended.
    Taken by another, a lane is none of ours."""
    async with open_queues(postgres_url, lease_s=60) as queues:
        claims = []
        for lane in ("free", "locked", "taken"):
            await accept(queues, lane)
            claims.append(await claim_one(queues))
        with psycopg.connect(postgres_url) as db, psycopg.connect(postgres_url, autocommit=True) as other:
            db.execute("SELECT FROM inbox_lanes WHERE lane = 'locked' FOR UPDATE")
            other.execute("UPDATE inbox_lanes SET owner = owner + 1 WHERE lane = 'taken'")
            until = "SELECT lane, lease_until FROM inbox_lanes ORDER BY lane"
            before = dict(other.execute(until).fetchall())
            kept = await queues.renew(claims)
            after = dict(other.execute(until).fetchall())

    assert claims[:2] == kept
    assert ["free"] == [lane for lane in before if before[lane] < after[lane]]


async def test_what_a_process_froze_with_is_free_within_a_third_of_a_lease(postgres_url: str) -> None:
    """Else the rooms that it was sending to, and all whose statements go in one group with theirs, would wait for as long as a
    statement may take."""
    async with open_queues(postgres_url, lease_s=1.5) as queues:
        assert isinstance(queues, PostgresInbox)
        async with queues._connection() as db:
            ((limit,),) = await (await db.execute("SHOW idle_in_transaction_session_timeout")).fetchall()

    assert "500ms" == limit
