"""What every connection to PostgreSQL is told, and that they are sessions of our own."""

from __future__ import annotations

import psycopg
import pytest

from gateway.admin.postgres import PostgresDatabase
from gateway.inbox.postgres import PostgresInbox
from memory.errors import NoSessions
from memory.stores.postgres_pool import Database
from memory.stores.postgres_statement import statement
from tests.contracts.queues import open_queues
from tests.pooler import Order, pooled

TOLD = {
    "idle_in_transaction_session_timeout": "2500",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "2500",
    "client_connection_check_interval": "1000",
}
ASK = f"SELECT name, setting FROM pg_settings WHERE name IN ({', '.join(repr(name) for name in TOLD)})"
WHOLE = "SELECT setting FROM pg_settings WHERE name = 'transaction_timeout'"


async def test_every_pool_frees_what_a_lost_process_holds(postgres_url: str) -> None:
    """The server lets go of whoever is frozen in a transaction, or cut off: two hours are its defaults. Where it has a limit for
    a whole transaction (PostgreSQL 17), that is set, too."""
    found = []
    async with (
        PostgresInbox(postgres_url, pool_size=2, timeout_s=2.5, lease_s=15, poll_s=1, accept_max=9) as queues,
        queues._connection() as db,
    ):
        for sql in (ASK, WHOLE):
            found.append(await (await db.execute(sql.encode())).fetchall())
    async with Database(postgres_url, pool_size=2, timeout_s=2.5) as memory:
        for sql in (ASK, WHOLE):
            found.append(await memory.fetch(statement(sql)))
    async with PostgresDatabase(postgres_url, pool_size=2, timeout_s=2.5) as admin:
        for sql in (ASK, WHOLE):
            found.append(list(await admin.look(sql)))

    newer = _version(postgres_url) >= 170000
    assert [TOLD] * 3 == [dict(rows) for rows in found[::2]]
    assert [[("6000",)] if newer else []] * 3 == found[1::2]


def _version(url: str) -> int:
    with psycopg.connect(url) as db:
        return db.info.server_version


@pytest.mark.parametrize("order", ["last", "first"])
async def test_a_proxy_that_pools_transactions_is_refused(order: Order, postgres_url: str) -> None:
    """Locks that show who lives would be anybody's there, and settings anybody's, too: said at the start, with what to do."""
    async with pooled(postgres_url, order=order) as url:
        with pytest.raises(NoSessions, match="session pooling"):
            async with open_queues(url):
                pass
