"""One conversation that gets all the messages: its turns run one at a time, whatever the number of instances.

Beside it the same messages in 500 lanes, and the limit of a chain: as many commits by hand, one behind the other. Then the whole
gateway with one conversation, which queues what waits (`busy: queue`), beside 400.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator

import psycopg

from tests.bench.consumption import server_cpu_s
from tests.bench.scale.cluster import gateways, helper, model, percentile
from tests.bench.scale.driver import Load
from tests.bench.scale.queue import BODY, Queue, inboxes
from tests.bench.tables import Cell, Table, spread
from tests.services import Postgres, running_postgres

MESSAGES, AT_ONCE, ROUNDS = 3_000, 250, 3
TURNS = 500


async def measure(quick: bool) -> AsyncIterator[Table]:
    messages, turns = (300, 40) if quick else (MESSAGES, TURNS)
    with running_postgres() as server:
        hand: list[float] = []
        taken: dict[tuple[int, int], list[tuple[float, float, bool]]] = {
            (lanes, instances): [] for lanes in (1, 500) for instances in (1, 2)
        }
        for _ in range(1 if quick else ROUNDS):
            with server.database() as url:
                hand.append(await _commits(url, messages))
            for (lanes, instances), each in taken.items():
                each.append(await _worked_off(server, instances, lanes, messages))
        by_hand = statistics.median(hand)
        rows: list[list[Cell]] = [["commits by hand, one behind the other", None, spread(hand), 1.0, None, None]]
        for (lanes, instances), each in taken.items():
            per_s, cpu_ms, ordered = zip(*each, strict=True)
            name = "one lane" if lanes == 1 else f"{lanes} lanes"
            x, order = statistics.median(per_s) / by_hand, "kept" if all(ordered) else "BROKEN"
            rows.append([name, instances, spread(per_s), x, statistics.median(cpu_ms), order])
        yield Table(
            title=f"the queue alone: {messages:,} messages as fast as they go in, turns that do nothing, {len(hand)} rounds",
            columns=("messages in", "instances", "messages/s", "x of commits by hand", "PostgreSQL's CPU ms", "order"),
            rows=rows,
            notes=(
                "The instances share a process here: one core does all but PostgreSQL's work.",
                "A turn of a lane is three statements behind each other (look, begin, end), two of them commits.",
            ),
        )
        yield await _whole(server, turns)


async def _commits(url: str, count: int) -> float:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, prepare_threshold=0) as db:
        await db.execute("SET synchronous_commit = on")
        await db.execute("CREATE TABLE by_hand (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea)")
        began = time.perf_counter()
        for _ in range(count):
            await db.execute("INSERT INTO by_hand (body) VALUES (%s)", (BODY,))
        return count / (time.perf_counter() - began)


async def _worked_off(server: Postgres, instances: int, lanes: int, messages: int) -> tuple[float, float, bool]:
    """Return messages a second, the server's CPU a message in ms, and whether each lane's turns began in order."""
    with server.database() as url:
        async with inboxes(instances, url) as opened:
            queue = Queue(opened)
            async with queue.running():
                cpu, began = server_cpu_s(server), time.perf_counter()
                for first in range(0, messages, AT_ONCE):  # their order in a lane is that of the calls
                    numbers = range(first, min(first + AT_ONCE, messages))
                    await asyncio.gather(*(queue.put(f"lane-{number % lanes}") for number in numbers))
                await queue.began(messages)
                seconds, cpu = time.perf_counter() - began, server_cpu_s(server) - cpu
            ordered = all(ids == sorted(ids) for ids in queue.order.values())
            return messages / seconds, cpu * 1000 / messages, ordered


async def _whole(server: Postgres, turns: int) -> Table:
    rows: list[list[Cell]] = []
    async with model() as (url, _), helper("tests.bench.scale.driver") as driver:
        for instances in (1, 2):
            with server.database() as storage:
                async with gateways(instances, storages=storage, model_url=url, hook="busy: queue") as running:
                    for conversations in (1, 400):
                        load = Load(
                            urls=[gateway.url for gateway in running], turns=turns, in_flight=10,
                            conversations=conversations, name=f"hot{instances}-{conversations}",
                        )  # fmt: skip
                        went = await driver.drive(load)
                        rows.append(
                            [
                                conversations, instances, turns / went.seconds, percentile(went.times_ms, 50),
                                percentile(went.times_ms, 99), went.lost,
                            ]
                        )  # fmt: skip
    return Table(
        title="the whole gateway, 10 in flight, a model that answers at once",
        columns=("conversations", "instances", "turns/s", "p50 ms", "p99 ms", "lost"),
        rows=rows,
        notes=("With one conversation nine of ten wait for those before them, as they should.",),
    )
