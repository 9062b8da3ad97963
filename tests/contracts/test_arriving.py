"""What an instance looks at before it joins: is the database whole, and is it the one that it was?"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import psycopg
import pytest
from psycopg import AsyncConnection

from gateway.errors import StoreBusy
from gateway.inbox.postgres import PostgresInbox
from gateway.inbox.postgres_arriving import FENCES_A_SECOND, LEAST_S, SINCE_MS, arrive
from memory.ids import now_ms
from tests.contracts.queues import message
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

    passed_s = (now_ms() - SINCE_MS) // 1000
    assert fence < (passed_s - 60) * FENCES_A_SECOND < moved < (passed_s + 2 * LEAST_S) * FENCES_A_SECOND
    assert instance < passed_s - 60 < joined < passed_s + 2 * LEAST_S
    assert moved - 1 == value(postgres_url, "SELECT value FROM meta WHERE name = 'fence'")
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

    assert fence + LEAST_S * FENCES_A_SECOND < moved


async def test_restored_twice_no_number_is_given_again(postgres_url: str) -> None:
    """From one backup: the second time, too, numbers go on above those of the branch that began with the first. Who is above
    what the time accounts for goes on all the same."""
    async with queues(postgres_url):
        pass
    given = []
    for after_s, backup in ((300_000, 10), (300_001, 10), (300_002, 1 << 60)):
        async with await AsyncConnection.connect(postgres_url, autocommit=True) as db:
            await db.execute("SELECT setval('inbox_fence', %s)", (backup,))
            await db.execute("UPDATE inbox_origin SET origin = 'another'")
            await arrive(db, now_ms=SINCE_MS + after_s * 1000)
        given.append(value(postgres_url, FENCE))

    assert [FENCES_A_SECOND, (1 << 60) + LEAST_S * FENCES_A_SECOND + 2] == [given[1] - given[0], given[2]]


async def test_who_runs_on_notices_another_server(postgres_url: str) -> None:
    """After a failover nobody starts: who connects again looks, and the next lane has a fence above all of before."""
    async with queues(postgres_url) as running:
        fence, seen = value(postgres_url, FENCE), 0
        with psycopg.connect(as_admin(postgres_url), autocommit=True) as db:
            db.execute("UPDATE inbox_origin SET origin = 'another'")
            db.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2")
        async with asyncio.timeout(30):
            while value(postgres_url, FENCE) < fence + FENCES_A_SECOND:
                seen = await running.changed(seen)
        await running.accept(message(), lane="大厅", dedupe_ids=["m1"])
        claims = await running.claim(1)

    assert [True] == [
        claim.fence > value(postgres_url, "SELECT value FROM meta WHERE name = 'fence'") for claim in claims
    ]


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
