"""An instance among others on one PostgreSQL: its number, its clock, and how long it may believe that its lease is its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool

from gateway.errors import CannotJoin, StoreBusy
from gateway.inbox.changes import Changes
from gateway.inbox.postgres_joining import Entry, leave
from gateway.inbox.postgres_member import Member, how_to_connect
from gateway.leases import About
from gateway.waits import boottime_s
from memory.ids import now_ms
from tests.chaos.proxy import Proxy

LEASE_S = 30.0


@dataclass
class Clock:
    """A machine's clock that moves when told."""

    now_s: float = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@asynccontextmanager
async def joined(
    url: str,
    clock_s: Callable[[], float] = boottime_s,
    *,
    poll_s: float = 0.05,
    lease_s: float = LEASE_S,
    entry: Entry | None = None,
) -> AsyncIterator[Member]:
    """An instance that looks at the others every `poll_s`."""
    changes = Changes(poll_s=poll_s)
    pool: AsyncConnectionPool[psycopg.AsyncConnection[tuple[object, ...]]] = AsyncConnectionPool(
        url, kwargs=how_to_connect(5), min_size=1, open=False
    )
    async with (
        pool,
        Member(
            url, pool=pool, changes=changes, lease_s=lease_s, poll_s=poll_s, timeout_s=5, clock_s=clock_s, entry=entry
        ) as member,
    ):
        yield member


async def test_lease_counts_from_before_it_was_asked_for(postgres_url: str) -> None:
    """It holds for its time and not a moment longer (engines.md A.8, 3), by a clock that runs on while the machine sleeps."""
    clock = Clock()
    async with joined(postgres_url, clock, poll_s=60) as member:
        assert member.valid()
        clock.now_s += LEASE_S - 0.001
        assert member.valid()
        clock.now_s += 0.001
        assert not member.valid()


async def test_a_slow_database_is_none_that_is_away(postgres_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """A look is many questions, and each is answered in time: who hangs up instead loses the lock that shows that it lives, is
    given up for dead with all its lanes, and whatever ran begins again, on a database that is slow already."""
    to = conninfo_to_dict(postgres_url)
    proxy = Proxy(lambda: [(str(to["host"]), int(str(to["port"])))])
    async with proxy.running():
        way = make_conninfo(postgres_url, host="127.0.0.1", port=proxy.port)
        async with joined(way, lease_s=3) as member:
            first = member.id
            proxy.set("slow")  # 0.3 s a question
            until = await member.looked.wait(0) + 3
            while await member.looked.wait(until - 1) < until:
                assert member.valid()
            proxy.set("pass")
            assert first == member.id

    assert "lost the database" not in caplog.text


async def test_renewal_makes_a_lease_valid_again(postgres_url: str) -> None:
    """An instance that was late, and that nobody has given up, goes on."""
    clock = Clock()
    async with joined(postgres_url, clock) as member:
        clock.now_s += LEASE_S
        assert not member.valid()
        seen = 0
        while not member.valid():
            seen = await member.looked.wait(seen)


async def test_one_buried_alive_is_valid_again_under_its_new_number(postgres_url: str) -> None:
    """What it held under the old one is gone: whoever asks looks at the number, too."""
    async with joined(postgres_url, boottime_s) as member:
        old, seen = member.id, await member.looked.wait(0)
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute("DELETE FROM inbox_instances")
        while member.id == old:
            seen = await member.looked.wait(seen)
        assert member.valid()


def numbering(numbers: list[int], *, number: int | None = None, ahead_s: float = 0, host: str = "eins") -> Entry:
    """An entry that keeps the numbers it gets."""
    return Entry(
        about=About(release="0.1.0", host=host, process=1),
        number=number,
        numbered=numbers.append,
        clock_ms=lambda: now_ms() + round(ahead_s * 1000),
    )


async def test_each_instance_has_a_number_of_its_own(postgres_url: str) -> None:
    """Ids of many instances never meet (A14)."""
    numbers: list[int] = []
    async with AsyncExitStack() as instances:
        for _ in range(5):
            await instances.enter_async_context(joined(postgres_url, entry=numbering(numbers)))

    assert 5 == len(set(numbers))


async def test_number_longest_unused_is_given_first(postgres_url: str) -> None:
    """Two machines whose clocks differ would draw the same ids if one got the other's number at once."""
    numbers: list[int] = []
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(
            "INSERT INTO inbox_numbers SELECT n, clock_timestamp() - make_interval(secs => 2000 - n)"
            " FROM generate_series(0, 1023) n ON CONFLICT (number) DO UPDATE SET left_at = excluded.left_at"
        )
    for _ in range(2):
        async with joined(postgres_url, entry=numbering(numbers)):
            pass
        async with (
            joined(postgres_url, entry=numbering(numbers)) as member,
            await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as other,
        ):
            count, seen = len(numbers), 0
            await leave(other, me=member.id)  # given up for dead, it gets another
            while len(numbers) == count:
                seen = await member.looked.wait(seen)

    assert sorted(set(numbers)) == sorted(numbers), "none came twice"
    assert list(range(len(numbers))) == numbers


async def test_more_than_there_are_numbers_for_are_refused(postgres_url: str) -> None:
    """1,024 instances are the most: the next one waits for one to go."""
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(
            "INSERT INTO inbox_instances (lease_until, number) SELECT clock_timestamp() + '1 hour', n"
            " FROM generate_series(0, 1023) n"
        )
    with pytest.raises(StoreBusy, match="1,024"):
        async with joined(postgres_url):
            pass


async def test_number_taken_twice_is_refused_naming_who_has_it(postgres_url: str) -> None:
    """`server.instance` in a file that was copied to another machine."""
    async with joined(postgres_url, entry=numbering([], number=5, host="maschine-一")):
        with pytest.raises(CannotJoin, match=r"server\.instance: 5 is taken by the instance on maschine-一/1, since 2"):
            async with joined(postgres_url, entry=numbering([], number=5)):
                pass
        numbers: list[int] = []
        async with joined(postgres_url, entry=numbering(numbers, number=6)):
            assert [6] == numbers


async def test_process_started_again_gets_its_number_back(postgres_url: str) -> None:
    """What a killed process left behind does not keep its successor away for a whole lease."""
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("INSERT INTO inbox_instances (lease_until, number) VALUES (clock_timestamp() + '1 hour', 5)")
    numbers: list[int] = []
    async with joined(postgres_url, entry=numbering(numbers, number=5)) as member:
        assert [5] == numbers
        assert 1 == member.live


@pytest.mark.parametrize(("ahead_s", "told"), [(90.0, "90 s ahead of"), (-3700.0, "3,700 s behind")])
async def test_clock_too_far_off_is_refused(postgres_url: str, ahead_s: float, told: str) -> None:
    """What is due when, and what is old, goes by it."""
    with pytest.raises(CannotJoin, match=f"clock is {told} the database's"):
        async with joined(postgres_url, entry=numbering([], ahead_s=ahead_s)):
            pass


async def test_clock_that_is_off_is_measured(postgres_url: str) -> None:
    """To half a round trip."""
    async with joined(postgres_url, entry=numbering([], ahead_s=-20)) as member:
        assert -20 == pytest.approx(member.skew_s, abs=1)
