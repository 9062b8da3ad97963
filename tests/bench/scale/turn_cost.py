"""What a turn costs gateways and their servers, however these are arranged: one load, and all that is learned from it.

Gateways are started before and ended after by whoever asks. Each message goes to the gateway whose turn it is, and so each
conversation to one and the same: the number of conversations is a multiple of the gateways'.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.consumption import cpu_s, server_cpu_s
from tests.bench.scale.cluster import Helper, learned, percentile
from tests.bench.scale.driver import Load
from tests.bench.servers import Work, work_of
from tests.scenarios.world import Gateway
from tests.services import Postgres

IN_FLIGHT, CONVERSATIONS = 50, 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of a load: CPU in milliseconds a turn, of all gateways, and of all servers together."""

    per_s: float
    p50_ms: float
    gateways_ms: float
    servers_ms: float
    statements: float  # a turn, learning and looks included
    log_bytes: float  # a turn, by the servers
    lost: int

    @property
    def both_ms(self) -> float:
        return self.gateways_ms + self.servers_ms


async def cost(
    gateways: Sequence[Gateway],
    databases: Sequence[tuple[Postgres, str]],
    driver: Helper,
    *,
    turns: int,
    conversations: int = CONVERSATIONS,
    in_flight: int = IN_FLIGHT,
) -> Cost:
    """Drive the load, after a tenth of it to warm up; return what it cost. `databases`: the gateways', each with its server."""

    def load(name: str, turns: int) -> Load:
        return Load(
            urls=[gateway.url for gateway in gateways], turns=turns, in_flight=in_flight, conversations=conversations,
            name=f"{name}{time.monotonic_ns()}",
        )  # fmt: skip

    async def all_learned() -> None:
        for _, url in databases:
            await learned(url)

    def used() -> tuple[float, float, list[Work]]:
        own = cpu_s(*(gateway.pid for gateway in gateways))
        return own, sum(server_cpu_s(server) for server, _ in databases), [work_of(*one) for one in databases]

    await driver.drive(load("warm", max(1, turns // 10)))
    await all_learned()
    own, theirs, work = used()
    went = await driver.drive(load("load", turns))
    await all_learned()
    own_after, theirs_after, work_after = used()
    done = list(zip(work, work_after, strict=True))
    return Cost(
        per_s=turns / went.seconds,
        p50_ms=percentile(went.times_ms, 50),
        gateways_ms=(own_after - own) * 1000 / turns,
        servers_ms=(theirs_after - theirs) * 1000 / turns,
        statements=sum(after.statements - before.statements for before, after in done) / turns,
        log_bytes=sum(after.wal_bytes - before.wal_bytes for before, after in done) / turns,
        lost=went.lost,
    )


def median(costs: Sequence[Cost], name: str) -> float:
    """Return the median of a figure of several loads."""
    return statistics.median(float(getattr(one, name)) for one in costs)
