"""What tables spread over nodes would mean for a turn: Citus, which can't be had here, simulated by the statements alone.

What a loaded gateway sends is sorted by the column that its tables would go by (`by_column.py`): a statement with tables of both
spans nodes, and so does one that names no single scope or person.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

import psycopg

from tests.bench.scale.by_column import (
    BOTH,
    ERASED,
    MIXED,
    NONE,
    OTHER,
    PERSON,
    QUEUE,
    SCOPE,
    UNKNOWN,
    Sent,
    Spread,
    sorted_out,
    spread,
)
from tests.bench.scale.cluster import gateways, helper, model
from tests.bench.scale.turn_cost import IN_FLIGHT, cost
from tests.bench.servers import counting_postgres
from tests.bench.tables import Cell, Table
from tests.services import Postgres

TOLD = {
    SCOPE: "tables that go by `scope_id`, no other",
    PERSON: "tables that go by `person_id`, no other",
    BOTH: "**tables of both**: spans nodes",
    ERASED: "**tables of both, but of persons' only `persons` itself**: spans nodes, unless that is on every one",
    QUEUE: "the queue's tables, no other",
    MIXED: "**the queue's and tables that go by a column**: spans nodes",
    OTHER: "some other table: small and on every node, or on the queue's",
    NONE: "no table (transactions, locks, NOTIFY, settings)",
    UNKNOWN: "not planned: PostgreSQL could not, without its values",
}
SPANNING = {BOTH: "tables of both", ERASED: "tables of scopes, and `persons`", MIXED: "the queue's and others"}
SHOWN = 12

_CALLS = """SELECT query, sum(calls)::bigint, sum(total_exec_time) FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid
  WHERE toplevel AND rolname = 'clew' AND dbid = (SELECT oid FROM pg_database WHERE datname = %s)
  GROUP BY query"""


async def by_node(turns: int) -> AsyncIterator[Table]:
    """Yield what would go by which column, what a turn sends, and what would span nodes."""
    with counting_postgres() as server, server.database() as url:
        async with (
            model() as (model_url, _),
            helper("tests.bench.scale.driver") as driver,
            gateways(1, storages=url, model_url=model_url) as running,
        ):
            await cost(running, [(server, url)], driver, turns=max(10, turns // 10))  # what is asked once, at a start
            before = _calls(server, url)
            went = await cost(running, [(server, url)], driver, turns=turns)
            after = _calls(server, url)
        tables = spread(url)
        grown = {
            query: (calls - before.get(query, (0, 0.0))[0], ms - before.get(query, (0, 0.0))[1])
            for query, (calls, ms) in after.items()
        }
        with psycopg.connect(url, autocommit=True) as db:  # as the gateways' own role: policies are in the plans
            sent = [sorted_out(db, tables, query, calls=calls, ms=ms) for query, (calls, ms) in grown.items() if calls]
    done = turns + max(1, turns // 10)
    yield _tables_table(tables)
    yield _kinds_table(sent, done, lost=went.lost)
    yield _spanning_table(sent, done)


def _calls(server: Postgres, url: str) -> dict[str, tuple[int, float]]:
    with psycopg.connect(server.url("postgres", admin=True), autocommit=True) as db:
        found = db.execute(_CALLS, (url.rpartition("/")[2],)).fetchall()
    return {str(query): (int(calls), float(ms)) for query, calls, ms in found}


def _tables_table(tables: Mapping[str, Spread]) -> Table:
    rows: list[list[Cell]] = []
    for by in (SCOPE, PERSON, QUEUE, OTHER):
        of = {name: one for name, one in tables.items() if one.by == by and one.of == name}
        lacking = sorted(name for one in of.values() for name in one.lacking) if by in (SCOPE, PERSON) else []
        count = len(lacking) if by in (SCOPE, PERSON) else None
        rows.append([by, len(of), ", ".join(sorted(of)), count, ", ".join(lacking) or None])
    return Table(
        title="Citus, simulated: by which column each table would go, by the catalogue",
        columns=("by", "tables", "which", "unique keys without the column", "which"),
        rows=rows,
        notes=(
            "Citus asks that each unique key holds the column: those that lack it would have to change, or be given up.",
            "What is guarded by a policy for persons goes by them; `scopes` and `persons` go by their own id.",
        ),
    )


def _kinds_table(sent: Sequence[Sent], turns: int, *, lost: int) -> Table:
    calls, ms = sum(one.calls for one in sent), sum(one.ms for one in sent)
    rows: list[list[Cell]] = []
    for kind, told in TOLD.items():
        of = [one for one in sent if one.kind == kind]
        own_calls, own_ms = sum(one.calls for one in of), sum(one.ms for one in of)
        everywhere = [one for one in of if not one.one] if kind in (SCOPE, PERSON) else None
        rows.append(
            [
                told, len(of), own_calls / turns, f"{own_calls / calls:.1%}", f"{own_ms / ms:.1%}",
                None if everywhere is None else sum(one.calls for one in everywhere) / turns,
                None if everywhere is None else f"{sum(one.ms for one in everywhere) / ms:.1%}",
            ]
        )  # fmt: skip
    rows.append(["all", len(sent), calls / turns, "100.0%", "100.0%", None, None])
    return Table(
        title=f"Citus, simulated: what {turns:,} webhook turns sent, {IN_FLIGHT} in flight, by the tables of each statement",
        columns=(
            "statements that name", "kinds of statement", "calls a turn", "of all calls", "of the server's time",
            "calls a turn that name no single value of the column", "of the server's time",
        ),
        rows=rows,
        notes=(
            "Learning and the looks each second are in it. A statement's tables are those of its plan (EXPLAIN GENERIC_PLAN).",
            "Time is the statements' own, as `pg_stat_statements` counts it: without reading them, planning and commits.",
            "What one transaction does is not looked at: one that writes by scope and by person commits on two nodes.",
            f"{lost} turns were lost.",
        ),
        raw=[
            {"query": one.query, "calls": one.calls, "ms": one.ms, "tables": list(one.tables), "kind": one.kind, "one": one.one}
            for one in sent
        ],
    )  # fmt: skip


def _spanning_table(sent: Sequence[Sent], turns: int) -> Table:
    spanning = [one for one in sent if one.kind in SPANNING or (one.kind in (SCOPE, PERSON) and not one.one)]
    ms = sum(one.ms for one in sent)
    rows: list[list[Cell]] = [
        [
            " ".join(one.query.split())[:110].replace("|", "¦"), one.calls / turns, f"{one.ms / ms:.1%}",
            SPANNING.get(one.kind, "names no single one"),
            ", ".join(one.tables),
        ]
        for one in sorted(spanning, key=lambda one: -one.ms)[:SHOWN]
    ]  # fmt: skip
    return Table(
        title=f"Citus, simulated: the {len(rows)} of {len(spanning)} statements that span nodes and take most time",
        columns=("statement", "calls a turn", "of the server's time", "why", "tables"),
        rows=rows,
    )
