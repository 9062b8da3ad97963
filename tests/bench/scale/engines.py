"""What existing engines do about many gateways, a measured step or a simulation of each: a PostgreSQL each, a read replica,
tables spread over nodes by a column (as Citus does), and a Redis Cluster.

First: the same load through two gateways on one database, and through two with a database each, on servers of their own. What two
on one database cost more than one on one is what they ask because of each other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict

from tests.bench.scale.cluster import gateways, helper, model
from tests.bench.scale.slots import on_a_redis_cluster
from tests.bench.scale.spanning import by_node
from tests.bench.scale.standby import with_a_standby
from tests.bench.scale.turn_cost import IN_FLIGHT, Cost, cost, median
from tests.bench.servers import counting_postgres
from tests.bench.tables import Cell, Table, spread

TURNS, ROUNDS = 400, 3
ALONE, SHARED, APART = (
    "one gateway, one database", "two gateways, one database", "two gateways, a database and a server each",
)  # fmt: skip


async def measure(quick: bool) -> AsyncIterator[Table]:
    turns, rounds = (40, 1) if quick else (TURNS, ROUNDS)
    yield await _a_database_each(turns, rounds)
    for measured in (with_a_standby(turns, rounds), by_node(turns), on_a_redis_cluster(turns, rounds)):
        async for table in measured:
            yield table


async def _a_database_each(turns: int, rounds: int) -> Table:
    taken: dict[str, list[Cost]] = {ALONE: [], SHARED: [], APART: []}
    with counting_postgres() as one, counting_postgres() as other:
        async with model() as (url, _), helper("tests.bench.scale.driver") as driver:
            for _ in range(rounds):
                for arrangement, costs in taken.items():
                    with one.database() as first, other.database() as second:
                        databases = [(one, first), (other, second)][: 2 if arrangement is APART else 1]
                        storages = iter([first, second]) if arrangement is APART else first
                        count = 1 if arrangement is ALONE else 2
                        async with gateways(count, storages=storages, model_url=url) as running:
                            costs.append(await cost(running, databases, driver, turns=turns))
    rows: list[list[Cell]] = [
        [
            arrangement, spread([one.gateways_ms for one in costs]), spread([one.servers_ms for one in costs]),
            *(_ratio(costs, taken[beside], "both_ms") for beside in (SHARED, ALONE)),
            _ratio(costs, taken[SHARED], "servers_ms"), median(costs, "statements"), median(costs, "log_bytes"),
            median(costs, "per_s"), sum(one.lost for one in costs),
        ]
        for arrangement, costs in taken.items()
    ]  # fmt: skip
    return Table(
        title=f"a PostgreSQL each: webhook turns, {IN_FLIGHT} in flight (median of {rounds} [least..most])",
        columns=(
            "arrangement", "gateways' CPU ms a turn", "PostgreSQL's", f"both, x of “{SHARED}”", f"x of “{ALONE}”",
            "PostgreSQL's, x of two on one", "statements a turn", "log bytes a turn", "turns/s", "lost",
        ),
        rows=rows,
        notes=(
            "All on one machine, in turns, learning included. A conversation's messages all go to one gateway in each row.",
            "Two servers are all of one machine's cores here, so rates say nothing of two machines; CPU a turn does.",
        ),
        raw={arrangement: [asdict(one) for one in costs] for arrangement, costs in taken.items()},
    )  # fmt: skip


def _ratio(costs: list[Cost], beside: list[Cost], name: str) -> float:
    return median(costs, name) / median(beside, name)
