"""What a turn would cost if `messages` came apart by time on PostgreSQL: append, load and turn on some partitions beside one
table, in turns of the same loop. The ratio decides whether it does (memory/README.md); goal 1.1x.

The partitions are ranges of ids, all but the last with an equal share of what is there, the last for what comes; `messages_turn`
is unique in each, as it can't be over all.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
from collections.abc import Sequence
from contextlib import AsyncExitStack

from memory.ids import Ids
from memory.stores.postgres import PostgresStore
from tests.bench.stores import Stored, timed
from tests.bench.stores_postgres import Analyzed, Connection, database
from tests.services import Postgres, running_postgres

SIZES = (100, 100_000)
TURNS = 1_500
PARTS = (2, 4, 8)
ONE, MANY = "one table", "partitions"
KINDS = ("append", "load", "turn")


async def split(connection: Connection, parts: int) -> None:
    """Let the messages that are there come apart into so many tables."""
    for statement in (
        b"ALTER TABLE message_versions DROP CONSTRAINT message_versions_scope_id_id_fkey",
        b"ALTER TABLE messages RENAME TO whole",
        b"CREATE TABLE messages (LIKE whole INCLUDING DEFAULTS) PARTITION BY RANGE (id)",
    ):
        await connection.execute(statement)
    rows = await (
        await connection.execute(
            f"SELECT max(id) FROM (SELECT id, ntile({parts - 1}) OVER (ORDER BY id) AS part FROM whole) w "
            "GROUP BY part ORDER BY part".encode()
        )
    ).fetchall()
    borders = ["MINVALUE", *(str(int(str(last)) + 1) for (last,) in rows), "MAXVALUE"]
    for n, (first, until) in enumerate(itertools.pairwise(borders)):
        await connection.execute(
            f"CREATE TABLE messages_{n} PARTITION OF messages FOR VALUES FROM ({first}) TO ({until})".encode()
        )
        await connection.execute(
            f"CREATE UNIQUE INDEX messages_turn_{n} ON messages_{n} (turn_id, scope_id, event_id, role)".encode()
        )
    for statement in (
        b"ALTER TABLE messages ADD PRIMARY KEY (scope_id, id)",
        b"CREATE INDEX messages_by_platform ON messages (scope_id, platform_message_id) WHERE platform_message_id IS NOT NULL",
        b"CREATE INDEX messages_by_quote ON messages (scope_id, reply_to) WHERE quote IS NOT NULL",
        b"CREATE INDEX messages_by_person ON messages (person_id, scope_id, id) WHERE person_id IS NOT NULL",
        b"INSERT INTO messages SELECT * FROM whole",
        b"DROP TABLE whole",
        b"VACUUM ANALYZE",
    ):
        await connection.execute(statement)


async def measured(postgres: Postgres, messages: int, parts: int) -> dict[tuple[str, str], list[float]]:
    """Return the milliseconds of each kind of call, by (which, kind)."""
    async with AsyncExitStack() as stack:
        subjects: dict[str, Stored] = {}
        for which in (ONE, MANY):
            url, connection = await stack.enter_async_context(database(postgres))
            store = await stack.enter_async_context(PostgresStore(url, ids=Ids(1), pool_size=2, timeout_s=60))
            subjects[which] = Analyzed(store, connection)
            await subjects[which].fill(messages)
            if which == MANY:
                await split(connection, parts)
        took: dict[tuple[str, str], list[float]] = {(which, kind): [] for which in subjects for kind in KINDS}
        for n in range(-50, TURNS):
            for which, subject in subjects.items():
                made = (
                    await timed(subject.append(2_000_000 + n)),
                    await timed(subject.load()),
                    await timed(subject.turn(3_000_000 + n)),
                )
                if n >= 0:
                    for kind, ms in zip(KINDS, made, strict=True):
                        took[which, kind].append(ms)
        return took


def report(messages: int, parts: int, took: dict[tuple[str, str], Sequence[float]]) -> str:
    """Return the medians, and the ratio of the partitions to the one table."""
    lines = []
    for kind in KINDS:
        one, many = (statistics.median(took[which, kind]) for which in (ONE, MANY))
        lines.append(
            f"  {messages:7,} messages, {kind:6}: {ONE} {one:.3f} ms, {parts} {MANY} {many:.3f} ms: {many / one:.2f}x"
        )
    return "\n".join(lines)


def main() -> None:
    with running_postgres() as postgres:
        print("messages in partitions by id, p50 of turns in one loop")
        for messages, parts in itertools.product(SIZES, PARTS):
            print(report(messages, parts, asyncio.run(measured(postgres, messages, parts))), flush=True)


if __name__ == "__main__":
    main()
