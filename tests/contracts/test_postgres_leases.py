"""Leases between instances on one PostgreSQL: handed over, taken over, and lost by who is late."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from functools import partial

import psycopg
import pytest

from gateway.inbox.postgres import PostgresInbox
from gateway.inbox.postgres_joining import Entry
from gateway.leases import DEPARTED, one_at_a_time
from tests.chaos.proxy import Mode, Proxy
from tests.contracts.leases import ABOUT, Worker, holding
from tests.contracts.queues import victim
from tests.services import running_postgres

LONG_S = 60.0
NAME = "channel:acme"


def opened(url: str, *, poll_s: float = 0.05, lease_s: float = LONG_S) -> AbstractAsyncContextManager[PostgresInbox]:
    return PostgresInbox(
        url, pool_size=3, timeout_s=5, lease_s=lease_s, poll_s=poll_s, accept_max=10, entry=Entry(about=ABOUT)
    )


@pytest.fixture
async def pair(postgres_url: str) -> AsyncIterator[tuple[PostgresInbox, PostgresInbox]]:
    """Two instances that hear each other or wait for a minute."""
    async with opened(postgres_url, poll_s=LONG_S) as first:
        seen = await first.changed(0)
        async with opened(postgres_url, poll_s=LONG_S) as second:
            await first.changed(seen)  # the second has joined
            yield first, second


async def test_lease_given_up_is_another_ones_at_once(pair: tuple[PostgresInbox, PostgresInbox]) -> None:
    """Long before the next look, when the work here has ended; and it is not taken back."""
    first, second = pair
    here, there = Worker(), Worker()
    async with holding(first.leases, NAME, here):
        await here.until(lambda: here.works)
        async with holding(second.leases, NAME, there):
            await there.until(lambda: there.elsewhere == 1)
            await first.leases.give_up({"channel", "job"})
            assert not here.works
            assert not here.held[0].valid()
            await there.until(lambda: there.works)
            assert there.held[0].fence == here.held[0].fence + 1
            assert {NAME} == {name for one in await second.leases.instances() for name in one.leases}


async def test_a_start_sweeps_away_what_nobody_holds(
    pair: tuple[PostgresInbox, PostgresInbox], postgres_url: str
) -> None:
    """Leases of channels that are none any more don't stay for ever; those that are held do, and a name that comes back has a
    greater fence than it ever had."""
    first, second = pair
    gone, kept = Worker(), Worker()
    async with holding(first.leases, NAME, gone):
        await gone.until(lambda: gone.works)
    async with holding(second.leases, "send:其他", kept):
        await kept.until(lambda: kept.works)
        async with opened(postgres_url) as third:
            again = Worker()
            async with holding(third.leases, "job:any", again):
                await again.until(lambda: again.works)
                assert {"send:其他", "job:any"} == leases(postgres_url)
            async with holding(third.leases, NAME, again):
                await again.until(lambda: again.works)
        assert again.held[-1].fence > gone.held[0].fence
        assert kept.works
        assert kept.held[0].valid()


def leases(url: str) -> set[str]:
    """The names of all leases there are."""
    with psycopg.connect(url) as db:
        return {name for (name,) in db.execute("SELECT name FROM inbox_leases").fetchall()}


async def test_other_kinds_are_kept(pair: tuple[PostgresInbox, PostgresInbox]) -> None:
    """A gateway that stops receiving still sends what it has."""
    first, _second = pair
    sending = Worker()
    async with holding(first.leases, "send:acme", sending):
        await sending.until(lambda: sending.works)
        await first.leases.give_up({"channel", "job"})
        assert sending.works


async def test_two_slots_go_to_two_instances(pair: tuple[PostgresInbox, PostgresInbox]) -> None:
    """A third would wait; one instance that goes leaves the other's alone."""
    first, second = pair
    here, there = Worker(), Worker()
    async with holding(first.leases, NAME, here, slots=2), holding(second.leases, NAME, there, slots=2):
        await here.until(lambda: here.works)
        await there.until(lambda: there.works)
        held = {name for one in await first.leases.instances() for name in one.leases}
        assert {f"{NAME}/0", f"{NAME}/1"} == held
        await first.leases.give_up({"channel"})
        assert there.works


async def test_instance_that_leaves_leaves_its_leases(postgres_url: str) -> None:
    """Also where nobody gave them up."""
    async with opened(postgres_url, poll_s=LONG_S) as second:
        there = Worker()
        seen = await second.changed(0)
        async with opened(postgres_url, poll_s=LONG_S) as first:
            await second.changed(seen)
            here = Worker()
            async with holding(first.leases, NAME, here):
                await here.until(lambda: here.works)
                with psycopg.connect(postgres_url, autocommit=True) as db:
                    db.execute(
                        "CREATE RULE nobody_gives_up AS ON UPDATE TO inbox_leases WHERE new.owner IS NULL DO INSTEAD NOTHING"
                    )
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute("DROP RULE nobody_gives_up ON inbox_leases")
        async with holding(second.leases, NAME, there):
            await there.until(lambda: there.works)


async def test_one_buried_alive_stops_its_work(postgres_url: str) -> None:
    """Given up for dead, it lets go before it asks anew, under its new number."""
    async with opened(postgres_url) as queues:
        worker = Worker()
        async with holding(queues.leases, NAME, worker):
            await worker.until(lambda: worker.works)
            with psycopg.connect(postgres_url, autocommit=True) as db:
                db.execute("DELETE FROM inbox_instances")
            await worker.until(lambda: len(worker.held) == 2)
            assert not worker.held[0].valid()
            assert worker.held[1].valid()


async def test_killed_holder_is_followed_long_before_its_lease_ends(postgres_url: str) -> None:
    """As soon as the server has noticed that its connection is gone."""
    async with victim(postgres_url, "lead", lease_s=600) as owner, opened(postgres_url) as queues:
        assert "held" == await owner.line()
        worker = Worker()
        async with holding(queues.leases, NAME, worker):
            await worker.until(lambda: worker.elsewhere == 1)
            await owner.kill()
            await worker.until(lambda: worker.works)


async def test_stopped_holder_is_followed_and_knows_when_it_wakes(postgres_url: str) -> None:
    """Its lease runs out; once awake, it does not take its lease for valid for a moment (engines.md A.8, 2)."""
    async with victim(postgres_url, "lead", lease_s=1) as owner, opened(postgres_url, lease_s=1) as queues:
        assert "held" == await owner.line()
        worker = Worker()
        async with holding(queues.leases, NAME, worker):
            await worker.until(lambda: worker.elsewhere == 1)
            owner.signal(signal.SIGSTOP)
            await worker.until(lambda: worker.works)
            owner.signal(signal.SIGCONT)
            assert "lost" == await owner.line()
            assert worker.works


async def test_caller_who_leaves_while_asking_holds_nothing(pair: tuple[PostgresInbox, PostgresInbox]) -> None:
    """Whatever moment it is cancelled at, another instance can have the lease."""
    first, second = pair
    for turns in range(40):
        task = asyncio.create_task(first.leases.hold(f"job:{turns}", Worker().work))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
    there = Worker()
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(second.leases.hold(f"job:{turns}", there.work)) for turns in range(40)]
        await there.until(lambda: len(there.held) == 40)
        for task in running:
            task.cancel()


async def test_two_instances_do_one_thing_one_at_a_time(pair: tuple[PostgresInbox, PostgresInbox]) -> None:
    """Two admins who erase at the same moment, at two instances: the second waits for the first to end."""
    busy: list[str] = []

    async def act(name: str) -> str:
        assert [] == busy
        busy.append(name)
        await asyncio.sleep(0.02)
        busy.remove(name)
        return name

    acts = (
        one_at_a_time(queues.leases, "erasure:one", partial(act, f"{number}"), wait_s=30)
        for number, queues in enumerate([*pair, *pair])
    )
    assert ["0", "1", "2", "3"] == await asyncio.gather(*acts)


async def test_leases_wait_for_a_database_that_is_away(postgres_url: str) -> None:
    """Nobody is told that others have it; it is taken when the database is back."""
    async with opened(postgres_url) as queues:
        worker = Worker()
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute("ALTER TABLE inbox_leases RENAME TO elsewhere")
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid()"
            )
            db.execute("ALTER TABLE elsewhere RENAME TO inbox_leases")
        async with holding(queues.leases, NAME, worker):
            await worker.until(lambda: worker.works)
        assert 0 == worker.elsewhere


async def test_server_away_for_a_while_closes_no_socket() -> None:
    """What one instance alone may do ends with its lease; what one more may do beside others goes on for a minute."""
    with running_postgres() as server:
        async with opened(server.url("postgres"), poll_s=0.1, lease_s=1) as queues:
            polling, socket = Worker(), Worker()
            async with (
                holding(queues.leases, "channel:bot", polling),
                holding(queues.leases, "channel:app", socket, slots=2),
            ):
                await polling.until(lambda: polling.works)
                await socket.until(lambda: socket.works)
                server.stop()
                await polling.until(lambda: not polling.works)
                server.start()
                await polling.until(lambda: polling.works)
            assert (1, 2) == (len(socket.held), len(polling.held))


@pytest.mark.parametrize("mode", ["hole", "deaf", "mute"])
async def test_instance_cut_off_from_the_database_has_stopped_before_another_begins(
    postgres_url: str, mode: Mode
) -> None:
    """By its own clock, as nothing reaches it; when the network is whole again, it stands by."""
    port = int(postgres_url.rpartition(":")[2].partition("/")[0])
    here, there = Worker(), Worker()
    async with (
        Proxy(lambda: [("127.0.0.1", port)]).running() as proxy,
        opened(postgres_url, lease_s=1) as second,
        opened(postgres_url.replace(f":{port}/", f":{proxy.port}/"), lease_s=1) as first,
        holding(first.leases, NAME, here),
    ):
        await here.until(lambda: here.works)
        async with holding(second.leases, NAME, there):
            await there.until(lambda: there.elsewhere == 1)
            proxy.set(mode)
            await there.until(lambda: there.works)
            assert not here.held[0].valid()
            await here.until(lambda: not here.works)
            proxy.set("pass")
            await here.until(lambda: here.elsewhere > 0)
            assert there.works


async def test_who_has_gone_is_remembered(postgres_url: str) -> None:
    """Who left, and who was given up for dead: where it ran, and when it was; since a moment, and a hundred at most."""
    async with opened(postgres_url) as queues:
        async with opened(postgres_url):
            pass
        left, *before = await queues.leases.departed(since_ms=0)
        assert [left] == list(await queues.leases.departed(since_ms=left.left_ms))
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute(
                "INSERT INTO inbox_instances (lease_until, host) SELECT '2026-01-01', '机房-' || n FROM generate_series(1, 120) n"
            )
        async with asyncio.timeout(30):
            while len(gone := await queues.leases.departed(since_ms=0)) < 121:
                await asyncio.sleep(0.02)  # looked at from outside: nothing tells it there
        async with opened(postgres_url):
            kept = await queues.leases.departed(since_ms=0)

    assert (ABOUT.where, "0.1.0", False) == (left.host, left.release, left.lost)
    assert left.joined_ms <= left.left_ms
    assert {True} == {one.lost for one in gone[:120]}
    assert {f"机房-{n}" for n in range(1, 121)} == {one.host for one in gone[:120]}
    assert [left, *before] == list(gone[120:])
    assert left not in kept
    assert DEPARTED <= len(kept) <= 120


async def test_what_another_release_tells_is_not_read(postgres_url: str) -> None:
    """An earlier one tells nothing of how it is, a later one perhaps otherwise: neither keeps the others from being listed."""
    async with opened(postgres_url) as queues:
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute(
                "INSERT INTO inbox_instances (lease_until, told) VALUES ('2126-01-01', NULL), ('2126-01-01', '{\"lease_s\": []}')"
            )
        here, *others = await queues.leases.instances()

        assert here.condition is not None
        assert LONG_S == here.condition.lease_s
        assert [None, None] == [one.condition for one in others]
