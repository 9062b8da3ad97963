"""A read replica: what a streaming standby costs the primary, how far it is behind, and which lines of ours it can answer.

A real standby, made by `pg_basebackup`, on the same machine. Commits are on the primary's disk when they return, as in
production; the standby is not waited for. The rows with and without it are taken in turns: without, it is stopped, and catches
up before the next one with it.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from tests.bench.consumption import server_cpu_s
from tests.bench.scale.cluster import admin, config_in, gateways, helper, model, percentile
from tests.bench.scale.turn_cost import IN_FLIGHT, Cost, cost, median
from tests.bench.servers import COUNTING, counting_postgres
from tests.bench.tables import Cell, Table, spread
from tests.scenarios.world import command
from tests.services import Postgres

LOOK_S = 0.1
SLOT = "standby"
OPTIONS = f"-c synchronous_commit=on {COUNTING} -c max_connections=200"

_BEHIND = """SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 1000 * extract(epoch FROM coalesce(replay_lag, '0'))
  FROM pg_stat_replication WHERE replay_lsn IS NOT NULL"""


@dataclass(slots=True)
class Behind:
    """How far the standby was behind at each look: bytes not replayed yet, and how long what was last replayed took."""

    bytes_: list[float] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How a line of the command line ended on a server."""

    code: int
    out: str
    reason: str


async def with_a_standby(turns: int, rounds: int) -> AsyncIterator[Table]:
    """Yield both tables."""
    alone: list[Cost] = []
    beside: list[Cost] = []
    own_ms: list[float] = []
    behind = Behind()
    with counting_postgres(durable=True) as primary, primary.database() as url, standby_of(primary) as standby:
        async with model() as (model_url, _), helper("tests.bench.scale.driver") as driver:
            for _ in range(rounds):
                standby.stop()
                async with gateways(1, storages=url, model_url=model_url) as running, _looking(url, Behind()):
                    alone.append(await cost(running, [(primary, url)], driver, turns=turns))
                standby.start()
                await caught_up(url)
                own = server_cpu_s(standby)
                async with gateways(1, storages=url, model_url=model_url) as running, _looking(url, behind):
                    beside.append(await cost(running, [(primary, url)], driver, turns=turns))
                await caught_up(url)
                own_ms.append((server_cpu_s(standby) - own) * 1000 / (turns + max(1, turns // 10)))
            yield _cost_table(alone, beside, own_ms, behind, rounds)
            async with gateways(1, storages=url, model_url=model_url):
                await caught_up(url)
                on_standby = standby.url(url.rpartition("/")[2])
                yield await _lines_table(url, on_standby, model_url)


@contextmanager
def standby_of(primary: Postgres) -> Iterator[Postgres]:
    """Run a server that follows the primary and lets read."""
    folder = Path(tempfile.mkdtemp(prefix="clew-pg-"))
    standby = Postgres(folder, options=OPTIONS)
    try:
        primary.own(folder)
        source = primary.url("postgres", admin=True)
        primary.shell(f"pg_basebackup -d {source} -D {folder}/data -R -C -S {SLOT} -X stream -c fast")
        with (folder / "data" / "postgresql.auto.conf").open("a") as file:  # it goes over the primary's own lines
            file.write(f"port = {standby.port}\nunix_socket_directories = '{folder}'\n")
        standby.start()
        yield standby
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            standby.stop()
        shutil.rmtree(folder, ignore_errors=True)


async def caught_up(url: str) -> None:
    """Wait until the standby has replayed all that the primary has written by now."""
    with admin(url) as db:
        ((until,),) = db.execute("SELECT pg_current_wal_insert_lsn()").fetchall()
        seen = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE replay_lsn >= %s::pg_lsn)"
        async with asyncio.timeout(120):
            while not db.execute(seen, (until,)).fetchall()[0][0]:
                await asyncio.sleep(LOOK_S)  # nothing tells who looks from outside


@asynccontextmanager
async def _looking(url: str, behind: Behind) -> AsyncIterator[None]:
    """Note on the primary how far the standby is behind, until the end; the looks cost the same where there is none."""

    async def look(db: psycopg.Connection) -> None:
        while True:
            for bytes_, ms in db.execute(_BEHIND).fetchall():
                behind.bytes_.append(float(bytes_))
                behind.ms.append(float(ms))
            await asyncio.sleep(LOOK_S)

    with admin(url) as db:
        async with asyncio.TaskGroup() as tasks:
            looking = tasks.create_task(look(db))
            yield
            looking.cancel()


def _cost_table(alone: list[Cost], beside: list[Cost], own_ms: list[float], behind: Behind, rounds: int) -> Table:
    rows: list[list[Cell]] = [
        [
            name, spread([one.servers_ms for one in costs]), median(costs, "servers_ms") / median(alone, "servers_ms"),
            spread([one.gateways_ms for one in costs]), median(costs, "log_bytes"), median(costs, "p50_ms"),
            median(costs, "per_s"), sum(one.lost for one in costs),
            *(cells if costs is beside else [None] * len(cells)),
        ]
        for cells in [[spread(own_ms), *_of(behind.bytes_), *_of(behind.ms)]]
        for name, costs in (("no standby", alone), ("one streaming standby", beside))
    ]  # fmt: skip
    return Table(
        title=f"a read replica: one gateway, {IN_FLIGHT} webhook turns in flight (median of {rounds} [least..most])",
        columns=(
            "primary with", "primary's CPU ms a turn", "x of none", "gateway's", "log bytes a turn", "p50 ms", "turns/s",
            "lost", "standby's own CPU ms a turn", "behind, bytes, p50", "p99", "most", "behind, ms, p50", "p99", "most",
        ),
        rows=rows,
        notes=(
            f"*Behind* is what the primary's `pg_stat_replication` says each {LOOK_S} s, warm-up and waits for learning too. "
            "The standby is on the same cores and the same disk, and only replays what the primary writes: nobody reads there.",
            "The primary's CPU holds the process that sends the log.",
        ),
        raw={"alone": [asdict(one) for one in alone], "beside": [asdict(one) for one in beside], "behind": asdict(behind)},
    )  # fmt: skip


def _of(values: list[float]) -> list[Cell]:
    return [percentile(values, 50), percentile(values, 99), max(values)] if values else [None, None, None]


async def _lines_table(url: str, on_standby: str, model_url: str) -> Table:
    with admin(url) as db:
        ((turn,),) = db.execute("SELECT max(turn_id) FROM ledgers").fetchall()
        ((person,),) = db.execute("SELECT min(id) FROM persons").fetchall()
    lines = (
        ["check"], ["show", "hook"], ["explain", str(turn)], ["replay", str(turn)], ["people", "list"],
        ["people", "show", str(person)], ["people", "export", str(person)], ["db", "status"], ["db", "migrate"],
        ["admin", "turns.list"], ["people", "erase", str(person)],
    )  # fmt: skip
    rows: list[list[Cell]] = []
    with TemporaryDirectory(prefix="clew-bench-") as folder:
        config = config_in(Path(folder), model_url)
        for line in lines:
            there, here = await _run(config, on_standby, *line), await _run(config, url, *line)
            rows.append([_named(line, turn, person), here.code, there.code, _differing(here, there), there.reason])
        there = await _run(config, on_standby, "serve")
        rows.append(["serve, and by it the console, REST and `admin`", 0, there.code, None, there.reason])
    return Table(
        title="the command line with `storage:` at a standby that has replayed all",
        columns=("python -m gateway …", "exit code on the primary", "on the standby", "lines that differ", "what it said"),
        rows=rows,
        notes=(
            "Each line on the standby first, then on the primary beside a gateway; `serve` on the primary is that gateway.",
            "`admin turns.list` asks a running gateway by `--url`, never a database; here none is named.",
        ),
    )  # fmt: skip


def _named(line: list[str], turn: object, person: object) -> str:
    shown = {str(turn): "TURN", str(person): "PERSON"}
    return " ".join(shown.get(word, word) for word in line)


def _differing(here: Line, there: Line) -> str | None:
    """Return how many lines of the output are others on the standby, and how those begin; None where one of the two failed."""
    if here.code or there.code:
        return None
    both = list(itertools.zip_longest(here.out.splitlines(), there.out.splitlines(), fillvalue=""))
    others = [(one.split() or [""])[0] for one, other in both if one != other]
    return f"{len(others)} of {len(both)}{': ' if others else ''}{', '.join(others[:3])}"


async def _run(config: Path, storage: str, *line: str) -> Line:
    code, out, err = await command(*line, "--config", config, STORAGE=storage)
    said = [told for told in err.splitlines() if told.strip()]
    return Line(code=code, out=_without_place(out, storage), reason=_short(said[-1], storage) if said else "")


def _without_place(text: str, storage: str) -> str:
    """Return the output without the server's port, which is no difference."""
    return text.replace(storage.rpartition(":")[2].partition("/")[0], "PORT")


def _short(told: str, storage: str) -> str:
    return " ".join(_without_place(told, storage).split()).replace("|", "¦")[:200]
