"""How often a turn waits for the way to its database and back, and what that costs where it is long: goal M5 of engines.md B.1.

At most two round trips a turn (the question with the load in one; the reply), and at 0.7 ms a round trip 0.9 ms for a load and
1.2 ms for append and load. Counted on the wire (`wire.py`), not by statements. Beside the store: the least statement by hand, the
memory core's whole part, and the whole gateway.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable

import psycopg

from memory.ids import Ids
from memory.key import ConversationKey
from memory.stores.postgres import PostgresStore
from tests.bench.core import opened
from tests.bench.scale.cluster import Helper, gateways, helper, model, percentile
from tests.bench.scale.driver import Load
from tests.bench.stores import Stored
from tests.bench.tables import Cell, Table
from tests.contracts.columns import PostgresColumn
from tests.services import as_admin, running_postgres

ONE_WAY_MS = 0.35
MESSAGES, TURNS = 1_000, 300
Rows = list[list[Cell]]


async def measure(quick: bool) -> AsyncIterator[Table]:
    turns = 30 if quick else TURNS
    rows: Rows = []
    with running_postgres() as server:
        for one_way_ms in (0.0, ONE_WAY_MS):
            async with helper("tests.bench.scale.wire", str(server.port), str(one_way_ms)) as wire:
                port = int(await wire.line())
                with server.database() as url, server.database() as also, server.database() as third:
                    far = [one.replace(f":{server.port}/", f":{port}/") for one in (url, also, third)]
                    rtt = f"{2 * one_way_ms:.1f} ms"
                    await _store(wire, url, far[0], rows, rtt, turns)
                    await _core(wire, far[1], rows, rtt, turns)
                    await _whole(wire, far[2], rows, rtt, turns)
    yield Table(
        title="round trips, and what they cost",
        columns=("what", "round trip", "round trips each", "p50 ms", "p99 ms"),
        rows=rows,
        notes=(
            "The wire itself costs about 0.2 ms a round trip, and more on a busy machine: see the rows of 0.0 ms.",
            "A whole gateway's round trips are all that it makes while it answers: the queue's, the outbox's, learning's and its "
            "looks each second too; its turns wait for few of them.",
        ),
    )  # fmt: skip


async def _each(
    wire: Helper, name: str, rtt: str, rows: Rows, turns: int, call: Callable[[int], Awaitable[object]]
) -> None:
    for n in range(20):
        await call(n)
    times = []
    await wire.told("")
    for n in range(20, turns + 20):
        began = time.perf_counter()
        await call(n)
        times.append((time.perf_counter() - began) * 1000)
    trips = int(await wire.told(""))
    rows.append([name, rtt, round(trips / turns, 2), percentile(times, 50), percentile(times, 99)])


async def _store(wire: Helper, near: str, far: str, rows: Rows, rtt: str, turns: int) -> None:
    async with await psycopg.AsyncConnection.connect(far, autocommit=True, prepare_threshold=0) as raw:
        await _each(wire, "one statement by hand", rtt, rows, turns, lambda _: raw.execute("SELECT 1"))
    async with PostgresStore(near, ids=Ids(1), pool_size=4, timeout_s=30) as store:
        await Stored(store, _nothing).fill(MESSAGES)
    with psycopg.connect(as_admin(near), autocommit=True) as db:
        db.execute("VACUUM ANALYZE")
        ((scope_id,),) = db.execute("SELECT id FROM scopes WHERE \"user\" = 'u1'").fetchall()
    async with PostgresStore(far, ids=Ids(1), pool_size=4, timeout_s=30) as store:
        stored = Stored(store, _nothing)
        stored.continues(int(scope_id))
        await _each(wire, "load: window, summary, facts, profile", rtt, rows, turns, lambda _: stored.load())
        await _each(wire, "append the question and load", rtt, rows, turns, lambda n: stored.ask(10**6 + n))
        await _each(wire, "a turn: that, and append the reply", rtt, rows, turns, lambda n: stored.turn(10**7 + n))


async def _nothing() -> None:
    return None


async def _core(wire: Helper, far: str, rows: Rows, rtt: str, turns: int) -> None:
    async with opened(PostgresColumn(far)) as core:
        person = await core.person("u")
        key = ConversationKey(user="u", channel="web", room="r", thread=None, chat_type="private", agent="a")

        async def say(_: int) -> None:
            await core.say(key, "Could you check whether order 8821 has been shipped?", person=person)

        await _each(wire, "the memory core's part of a turn", rtt, rows, turns, say)


async def _whole(wire: Helper, far: str, rows: Rows, rtt: str, turns: int) -> None:
    async with (
        model() as (url, _),
        helper("tests.bench.scale.driver") as driver,
        gateways(1, storages=far, model_url=url) as (gateway,),
    ):
        warm, load = (
            Load(urls=[gateway.url], turns=n, in_flight=1, conversations=50, name=name)
            for n, name in ((100, "w"), (turns, "l"))
        )
        await driver.drive(warm)
        await wire.told("")
        times = (await driver.drive(load)).times_ms
        trips = int(await wire.told(""))
        whole = "a whole gateway, one in flight"
        rows.append([whole, rtt, round(trips / turns, 2), percentile(times, 50), percentile(times, 99)])
