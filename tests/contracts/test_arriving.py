"""What an instance looks at before it joins: is the database whole, and is it the one that it was?"""

from __future__ import annotations

import logging
from pathlib import Path

import psycopg
import pytest

from gateway.errors import StoreBusy
from gateway.inbox.postgres import PostgresInbox
from gateway.inbox.postgres_arriving import FENCES, INSTANCES
from tests.services import Postgres, as_admin

FENCE = "SELECT nextval('inbox_fence')"
INSTANCE = "SELECT nextval(pg_get_serial_sequence('inbox_instances', 'id'))"


def queues(url: str) -> PostgresInbox:
    return PostgresInbox(url, pool_size=2, timeout_s=10, lease_s=10, poll_s=1, accept_max=10)


def value(url: str, query: str) -> int:
    with psycopg.connect(as_admin(url), autocommit=True) as db:
        row = db.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


async def test_the_same_database_gives_the_next_numbers(postgres_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """A restart, of gateways or of the server, moves nothing."""
    async with queues(postgres_url):
        pass
    fence, instance = value(postgres_url, FENCE), value(postgres_url, INSTANCE)
    async with queues(postgres_url):
        pass

    assert fence + 1 == value(postgres_url, FENCE)
    assert instance + 2 == value(postgres_url, INSTANCE)
    assert "restored" not in caplog.text


@pytest.mark.parametrize("what", ["server", "branch", "database"])
async def test_another_origin_moves_the_numbers_on(
    postgres_url: str, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, and it is logged: fences and instances' numbers that an instance of before may have are not given again."""
    async with queues(postgres_url):
        pass
    fence, instance = value(postgres_url, FENCE), value(postgres_url, INSTANCE)
    place = ["server", "branch", "database"].index(what) + 1
    with psycopg.connect(postgres_url, autocommit=True) as db:
        ((origin,),) = db.execute("SELECT origin FROM inbox_origin").fetchall()
        other = [*origin.split("/")]
        other[place - 1] = "7"
        db.execute("UPDATE inbox_origin SET origin = %s", ("/".join(other),))
    with caplog.at_level(logging.WARNING):
        async with queues(postgres_url):
            pass
        async with queues(postgres_url):
            pass
    moved, joined = value(postgres_url, FENCE), value(postgres_url, INSTANCE)

    assert fence + FENCES < moved < fence + 2 * FENCES
    assert instance + INSTANCES < joined < instance + 2 * INSTANCES
    assert ["the database was restored, or another server has taken over: numbers go on above all given before"] == [
        record.message for record in caplog.records if record.name == "gateway.inbox.postgres_arriving"
    ]


async def test_a_database_copied_by_the_server_is_another(
    postgres_server: Postgres, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As out of a dump: it gives numbers a second time, so it goes on above them."""
    async with queues(postgres_url):
        pass
    fence = value(postgres_url, FENCE)
    name = f"{Path(postgres_url).name}_copy"
    with psycopg.connect(postgres_server.url("postgres", admin=True), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} OWNER clew TEMPLATE {Path(postgres_url).name}".encode())
    try:
        copied = postgres_server.url(name)
        async with queues(copied):
            pass
        moved = value(copied, FENCE)
    finally:
        with psycopg.connect(postgres_server.url("postgres", admin=True), autocommit=True) as admin:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    assert fence + FENCES < moved


async def test_a_server_that_does_not_tell_is_worked_on(postgres_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """Some hosted servers give these functions to nobody: that is logged, and nothing is moved."""
    with psycopg.connect(as_admin(postgres_url), autocommit=True) as db:
        db.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    fence = value(postgres_url, FENCE)
    async with queues(postgres_url):
        pass

    assert fence + 1 == value(postgres_url, FENCE)
    assert "can't be told" in caplog.text


async def test_nobody_works_on_half_a_copy(postgres_url: str) -> None:
    """A gateway refuses to start and says what to do."""
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("CREATE TABLE copy_progress ()")
    with pytest.raises(StoreBusy, match="run `db copy` again"):
        async with queues(postgres_url):
            pass
