"""How many bytes a message is in PostgreSQL, tables and indexes, once nothing is in flight and VACUUM has been there.

Turns through the whole gateway, then learned from; the size of each table of the three schemas, over the messages stored (two a
turn). What grows with conversations, persons or days and not with messages is small here, and named so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from tests.bench.scale.cluster import admin, gateways, helper, learned, model
from tests.bench.scale.driver import Load
from tests.bench.tables import Cell, Table
from tests.services import running_postgres

TURNS, CONVERSATIONS = 5_000, 200
LARGE = 0.5
"""Bytes a message, from which a table has a row of its own."""

_SIZES = """SELECT c.relname, CASE WHEN c.relname ~ '^(inbox|outbox|queue|hot)' THEN 'queue'
    WHEN c.relname ~ '^ledgers' THEN 'ledger' WHEN c.relname ~ '^(usage|admin)' THEN 'admin' ELSE 'memory' END,
  pg_table_size(c.oid), pg_indexes_size(c.oid)
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'"""


async def measure(quick: bool) -> AsyncIterator[Table]:
    turns = 200 if quick else TURNS
    with running_postgres() as server, server.database() as url:
        async with (
            model() as (model_url, _),
            helper("tests.bench.scale.driver") as driver,
            gateways(1, storages=url, model_url=model_url) as (gateway,),
        ):
            before = _sizes(url)
            went = await driver.drive(
                Load(urls=[gateway.url], turns=turns, in_flight=20, conversations=CONVERSATIONS, name="s")
            )
            await learned(url)
        with admin(url) as db:
            db.execute("VACUUM ANALYZE")
            ((messages, text),) = db.execute("SELECT count(*), avg(octet_length(text)) FROM messages").fetchall()
            ((ledger,),) = db.execute("SELECT avg(octet_length(body)) FROM ledgers").fetchall()
        after = _sizes(url)
    grown = {
        name: (part, (rows - before[name][1]) / messages, (index - before[name][2]) / messages)
        for name, (part, rows, index) in after.items()
    }
    rows: list[list[Cell]] = []
    for part in ("memory", "ledger", "queue", "admin"):
        sizes = [(rows_, index) for of, rows_, index in grown.values() if of == part]
        table, index = (float(sum(column)) for column in zip(*sizes, strict=True))
        rows.append([f"**{part}**", table, index, table + index])
        each = [(name, one) for name, one in grown.items() if one[0] == part and one[1] + one[2] >= LARGE]
        for name, (_, table, index) in sorted(each, key=lambda one: -(one[1][1] + one[1][2])):
            rows.append([name, table, index, table + index])
    table, index = (float(sum(one[column] for one in grown.values())) for column in (1, 2))  # type: ignore[misc]
    rows.append(["**all**", table, index, table + index])
    yield Table(
        title=f"bytes a message, {messages:,} messages of {float(text):.0f} bytes on average, after VACUUM",
        columns=("table", "rows", "indexes", "together"),
        rows=rows,
        notes=(
            f"A ledger is {float(ledger):.0f} bytes before the server packs it. {went.lost} turns were lost.",
            f"{turns:,} turns in {CONVERSATIONS} conversations: scopes, sessions, lanes and persons are spread over them.",
        ),
    )  # fmt: skip


def _sizes(url: str) -> dict[str, tuple[str, int, int]]:
    """Return each table's part of ours, and the bytes of its rows and of its indexes; partitions count for what they are of."""
    with admin(url) as db:
        return {
            str(name): (str(part), int(rows), int(index)) for name, part, rows, index in db.execute(_SIZES).fetchall()
        }
