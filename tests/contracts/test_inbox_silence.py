"""Connections that are open and answer nothing: a frozen server, a network that swallows. They cost their time, no more."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from gateway.errors import StoreBusy
from tests.contracts.queues import (
    NOW_MS,
    Queues,
    answered,
    message,
    open_queues,
    until,
)
from tests.services import Postgres, running_postgres, silent_server

OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def backends(url: str) -> list[int]:
    """The server's processes that serve the queues."""
    with psycopg.connect(url) as db:
        return [int(pid) for (pid,) in db.execute(f"SELECT pid {OTHERS} AND backend_type = 'client backend'")]


@contextmanager
def frozen(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def until_accepted(queues: Queues, dedupe_id: str) -> None:
    """Hand the message in as a platform would: again and again."""

    async def accepted() -> bool:
        try:
            return (await queues.accept(message(), lane="l", dedupe_ids=[dedupe_id])).event.lane == "l"
        except StoreBusy:
            return False

    await until(queues, accepted)


@pytest.mark.parametrize("verb", ["accept", "claim", "sent", "due"])
async def test_server_that_falls_silent_is_not_waited_for(postgres_url: str, verb: str) -> None:
    """A statement, a pipeline and a transaction end with StoreBusy in time; when the server speaks again, so does the queue."""
    async with open_queues(postgres_url, timeout_s=0.5) as queues:
        await answered(queues, "lane", queue="room")
        (chunk,) = await queues.due(now_ms=NOW_MS, limit=1)
        verbs: dict[str, Callable[[], Awaitable[object]]] = {
            "accept": lambda: queues.accept(message(), lane="l", dedupe_ids=["m"]),
            "claim": lambda: queues.claim(1),
            "sent": lambda: queues.sent(chunk, message_id="m1", now_ms=NOW_MS),
            "due": lambda: queues.due(now_ms=NOW_MS, limit=1),
        }
        with frozen(backends(postgres_url)), pytest.raises(StoreBusy):
            async with asyncio.timeout(20):
                await verbs[verb]()

        await until_accepted(queues, "m")


async def test_others_hear_of_it_while_the_old_connections_are_silent(postgres_url: str) -> None:
    """New connections take the silent ones' place: for what is accepted, and for the bell of the other instances."""
    async with open_queues(postgres_url, poll_s=0.1, timeout_s=0.5) as queues:
        silent = backends(postgres_url)
        async with open_queues(postgres_url, poll_s=60) as other:
            seen = await queues.changed(0)
            with frozen(silent):
                async with asyncio.timeout(30):
                    heard = await other.changed(0)
                    await until_accepted(queues, "m")
                    assert await queues.changed(seen) > seen
                    await other.changed(heard)


async def test_leaving_does_not_wait_for_a_silent_server(postgres_url: str) -> None:
    """The listener has found a new connection and the pool's are silent still: leaving ends all the same."""
    async with asyncio.timeout(30), open_queues(postgres_url, poll_s=0.1, timeout_s=0.5) as queues:
        silent = backends(postgres_url)
        with frozen(silent):
            await until(queues, lambda: set(backends(postgres_url)) - set(silent))
            await queues.__aexit__(None, None, None)


async def test_server_that_never_says_a_word_is_told_at_the_start() -> None:
    """Whoever takes the connection and is no PostgreSQL, or a hung one, is given up in time."""
    with silent_server() as port, pytest.raises(StoreBusy):
        async with asyncio.timeout(30), open_queues(f"postgresql://clew@127.0.0.1:{port}/clew", timeout_s=0.5):
            pass


def read_only(server: Postgres, *, on: bool) -> None:
    """Let the server refuse to write, as one does that has just become a standby; or let it write again."""
    with psycopg.connect(server.url("postgres", admin=True), autocommit=True) as admin:
        admin.execute("SET default_transaction_read_only = off")
        admin.execute(f"ALTER SYSTEM SET default_transaction_read_only = {'on' if on else 'off'}")
        admin.execute("SELECT pg_reload_conf()")


async def test_a_server_that_must_not_write_is_one_that_is_away() -> None:
    """In a failover the way leads to the old server for a while, which is a standby by then: everything is refused for now, and
    goes on when there is a server that may. Nobody has to start the gateway again."""
    with running_postgres() as server, server.database() as url:
        async with open_queues(url, poll_s=0.05, timeout_s=2) as queues:
            await until_accepted(queues, "before")
            read_only(server, on=True)
            seen = await queues.changed(0)
            refused = False
            while not refused:
                seen = await queues.changed(seen)
                try:
                    await queues.accept(message(), lane="l", dedupe_ids=["during"])
                except StoreBusy:
                    refused = True
            for _ in range(40):
                seen = await queues.changed(seen)
            read_only(server, on=False)

            await until_accepted(queues, "after")
            assert ["l"] == [claim.lane for claim in await queues.claim(5)]
