"""Hot state when what keeps it is killed, emptied, frozen, locked or never there: it costs speed, or a minute's generosity."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack

import psycopg
import pytest

from gateway.errors import StoreBusy
from gateway.hot.base import Hot, RateLimits
from gateway.hot.falling_back import REST_S, FallingBackLimits, FallingBackShelf, Places
from gateway.hot.hearing import ProcessBus
from gateway.hot.postgres import HotPool, PostgresLimits, PostgresShelf
from gateway.hot.postgres_bus import Joining, pieces
from gateway.hot.process import ProcessRateLimits, ProcessShelf
from gateway.hot.redis import RedisLimits, RedisShelf, open_redis
from gateway.hot.redis_bus import RedisBus
from tests.contracts.hot import opened
from tests.services import Postgres, Valkey, as_admin, running_postgres, running_valkey, silent_server


@pytest.fixture(scope="module")
def server() -> Iterator[Valkey]:
    """A Redis of this module's own, to be lost."""
    with running_valkey() as valkey:
        yield valkey


@pytest.fixture
def valkey(server: Valkey) -> Iterator[Valkey]:
    server.emptied()
    yield server
    if server.process is None:
        server.start()
    else:
        server.process.send_signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def base() -> Iterator[Postgres]:
    """A PostgreSQL of this module's own, to be lost."""
    with running_postgres() as server:
        yield server


def killed(valkey: Valkey) -> None:
    valkey.stop()


def frozen(valkey: Valkey) -> None:
    assert valkey.process is not None
    valkey.process.send_signal(signal.SIGSTOP)


def flushed(valkey: Valkey) -> None:
    valkey.emptied()


async def passed(hot: Hot, count: int) -> int:
    """Take at once; return how many passed, of two in an hour."""
    return sum(await asyncio.gather(*(hot.limits.take("ann 安", most=2, within_s=3600) for _ in range(count))))


@pytest.mark.parametrize("lose", [killed, frozen, flushed])
async def test_redis_lost_in_the_middle(valkey: Valkey, postgres_url: str, lose: Callable[[Valkey], None]) -> None:
    """Counts begin anew in the next place, once; what lay on the shelf is still there; words go another way."""
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(opened(postgres_url, valkey.url, shared_s=2)) for _ in range(2)]
        words = await stack.enter_async_context(other.bus.hear("a"))
        one.bus.say("a", b"before")
        await one.shelf.put("k", b"kept", life_s=600)
        before = [await passed(one, 3), await passed(other, 3)]
        said = [await anext(words)]
        lose(valkey)
        async with asyncio.timeout(60):
            after = [await passed(one, 3), await passed(other, 3), await passed(one, 3)]
            found = await other.shelf.get("k")
            one.bus.say("a", b"after")
            said.append(await anext(words))

    assert [2, 0] == before
    assert [2, 0, 0] == after
    assert b"kept" == found
    assert [b"before", b"after"] == said


async def test_who_is_cut_off_from_redis_alone_is_told_another_way(valkey: Valkey, postgres_url: str) -> None:
    """Redis takes the word, and nobody is there to hear it: at once, not when the other has found out and come back."""
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(opened(postgres_url, valkey.url)) for _ in range(2)]
        words = await stack.enter_async_context(other.bus.hear("to other"))
        client = await stack.enter_async_context(open_redis(valkey.url, timeout_s=5))
        one.bus.say("to other", b"by Redis")
        said = [await anext(words)]
        await client.client_kill_filter(_type="pubsub")
        one.bus.say("to other", "晚上好".encode())
        async with asyncio.timeout(REST_S - 1):
            said.append(await anext(words))

    assert [b"by Redis", "晚上好".encode()] == said


async def test_redis_that_comes_back_is_asked_again(valkey: Valkey, postgres_url: str) -> None:
    """After a rest; and the bus hears it again."""
    now, told = 0.0, list[str]()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_redis(valkey.url, timeout_s=5))
        places = {"redis": RedisLimits(client, timeout_s=5), "process": ProcessRateLimits()}
        limits = FallingBackLimits(Places[RateLimits](places, passed_over=told.append, clock=lambda: now))
        first = await limits.take("a", most=1)
        valkey.stop()
        without = [await limits.take("a", most=1), await limits.take("a", most=1)]
        valkey.start()
        resting = await limits.take("a", most=1)
        now = REST_S
        back = [await limits.take("a", most=1), await limits.take("a", most=1)]

    assert [True, [True, False], False, [True, False]] == [first, without, resting, back]
    assert ["redis"] == told


async def test_a_silence_is_looked_into(valkey: Valkey, caplog: pytest.LogCaptureFixture) -> None:
    """A Redis that has nothing to say is told from one that hangs: the first is heard on, of the second it is said that nothing
    is heard."""
    bus = RedisBus(valkey.url, heard=ProcessBus(), otherwise=lambda *_: None, timeout_s=1, beat_s=0.02)
    async with asyncio.timeout(60), bus.opened(), bus.hear("a") as words:
        await asyncio.sleep(0.2)  # several silences
        bus.say("a", b"word")
        assert b"word" == await anext(words)
        frozen(valkey)
        while not [one for one in caplog.records if one.getMessage() == "other instances' words are not heard"]:
            await asyncio.sleep(0.01)


async def test_what_is_said_while_redis_rests_goes_the_other_way(valkey: Valkey) -> None:
    """In order, at once, and all of it."""
    said = list[bytes]()
    bus = RedisBus(valkey.url, heard=ProcessBus(), otherwise=lambda _, body: said.append(body), timeout_s=1)
    valkey.stop()
    async with asyncio.timeout(60), bus.opened():
        for number in range(3):
            bus.say("a", b"%d" % number)
            while len(said) <= number:
                await asyncio.sleep(0.01)

    assert [b"0", b"1", b"2"] == said


async def test_redis_that_was_never_there(postgres_url: str) -> None:
    """A wrong address, or a server that says no word: everything goes by PostgreSQL, whole."""
    with silent_server() as port:
        async with (
            opened(postgres_url, f"redis://127.0.0.1:{port}/0", shared_s=1) as one,
            opened(postgres_url, "redis://127.0.0.1:9/0", shared_s=1) as other,
            other.bus.hear("a") as words,
            asyncio.timeout(60),
        ):
            one.bus.say("a", b"word")
            await one.shelf.put("k", b"kept", life_s=600)

            assert b"word" == await anext(words)
            assert 2 == await passed(one, 2) + await passed(other, 2)
            assert b"kept" == await other.shelf.get("k")


async def test_other_things_in_redis_cost_their_key_only(valkey: Valkey, postgres_url: str) -> None:
    """Somebody else's kind of value under one of our names counts as a Redis that refuses."""
    async with opened(postgres_url, valkey.url) as hot:
        await hot.limits.take("a", most=1)
        async with open_redis(valkey.url, timeout_s=5) as redis:
            (name,) = await redis.keys("clew:count:*")
            await redis.set(name, "a string")

        assert await hot.limits.take("a", most=1)
        assert not await hot.limits.take("a", most=1)


async def test_the_database_lost_in_the_middle(base: Postgres) -> None:
    """Each goes by its own, and by the database again when it is back; the tables are empty after a crash, and are used."""
    with base.database() as url:
        async with opened(url, shared_s=2) as one, opened(url, shared_s=2) as other:
            before = [await passed(one, 3), await passed(other, 3)]
            await one.shelf.put("k", b"kept", life_s=600)
            base.stop()
            async with asyncio.timeout(60):
                after = [await passed(one, 3), await passed(other, 3)]
                found = [await one.shelf.get("k"), await other.shelf.get("k")]
            base.start()
        async with opened(url) as anew, asyncio.timeout(60):
            again = [await passed(anew, 3), await passed(anew, 3)]

    assert [2, 0] == before
    assert [2, 2] == after, "a minute of generosity on each"
    assert [b"kept", None] == found
    assert [2, 0] == again


async def test_a_locked_table_holds_nobody_up(postgres_url: str) -> None:
    """What waits in PostgreSQL is given up in its time, and counted here."""
    with psycopg.connect(as_admin(postgres_url)) as holder:
        async with opened(postgres_url, shared_s=0.3) as hot, asyncio.timeout(60):
            holder.execute("LOCK TABLE hot_counts, hot_shelf")

            assert 2 == await passed(hot, 5)
            await hot.limits.give_back("ann 安")
            await hot.limits.reset("nobody")
            assert 1 == await passed(hot, 5)
            assert await hot.limits.free("somebody", most=1)
            await hot.shelf.put("k", b"kept", life_s=600)
            assert b"kept" == await hot.shelf.get("k")


async def test_what_is_over_is_swept(postgres_url: str) -> None:
    """The tables are as large as what counts now."""
    async with HotPool(postgres_url, timeout_s=20).opened() as pool, PostgresLimits(pool).opened() as limits:
        shelf = PostgresShelf(pool)
        for number in range(10):
            await limits.take(f"short {number}", most=1, within_s=0.001)
            await shelf.put(f"short {number}", b"x", life_s=0.001)
        await limits.take("long", most=1)
        await shelf.put("long", b"x", life_s=600)
        await asyncio.sleep(0.02)  # by the server's clock
        await pool.sweep()
        async with pool.lent() as db:
            counts = await (await db.execute("SELECT count(*) FROM hot_counts")).fetchone()
            values = await (await db.execute("SELECT count(*) FROM hot_shelf")).fetchone()

    assert [(1,), (1,)] == [counts, values]


async def test_no_name_of_a_person_stands_anywhere(valkey: Valkey, postgres_url: str) -> None:
    """Who lists keys, or reads the tables, learns of nobody."""
    async with AsyncExitStack() as stack:
        hot = await stack.enter_async_context(opened(postgres_url, valkey.url))
        pool = await stack.enter_async_context(HotPool(postgres_url, timeout_s=20).opened())
        limits = await stack.enter_async_context(PostgresLimits(pool).opened())
        for one in (hot.limits, limits):
            await one.take("telegram:Quittengelee", most=1)
        await hot.shelf.put("Quittengelee", b"sealed", life_s=600)
        redis = await stack.enter_async_context(open_redis(valkey.url, timeout_s=20))
        kept = [await redis.keys("*")]
        async with pool.lent() as db:
            for table in ("hot_counts", "hot_shelf"):
                kept.append(await (await db.execute(f"SELECT * FROM {table}")).fetchall())

    assert [2, 1, 1] == [len(rows) for rows in kept]
    assert b"Quittengelee" not in repr(kept).encode()
    assert b"Quittengelee".hex() not in repr(kept)


async def test_a_fault_that_is_none_of_the_servers_is_told() -> None:
    """Falling back is for what is away: a value too large for any shelf, or a bug, is not hidden."""

    class Broken(ProcessShelf):
        async def get(self, key: str) -> bytes | None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await FallingBackShelf(Places({"broken": Broken(), "process": ProcessShelf()})).get("k")


async def test_the_last_place_has_the_last_word() -> None:
    """Where even that is away, it says so."""

    class Away(ProcessRateLimits):
        async def take(self, who: str, *, most: int, within_s: float = 60) -> bool:
            raise StoreBusy("away", retry_after_s=1)

    with pytest.raises(StoreBusy, match="away"):
        await FallingBackLimits(Places({"redis": Away(), "process": Away()})).take("a", most=1)


class TestJoining:
    """Words put together from notifications."""

    def test_a_piece_that_is_missing_costs_its_word_only(self) -> None:
        joining = Joining()
        first, second = pieces("me", 0, ("a", bytes(20_000))), pieces("me", 1, ("a", b"second"))
        lost = [joining.heard(piece) for piece in [*first[:1], *first[2:]]]
        later = [joining.heard(piece) for piece in second]

        assert 4 == len(first)
        assert [None] * 3 == lost
        assert [("a", b"second")] == later
        assert all(len(piece) < 8_000 for piece in (*first, *second))

    @pytest.mark.parametrize(
        "payload", ["", "x", "a b c d e", "me 0 0 1 !!!", "me 0 0 1 AAAA", "me 1 5 9 AAAA", "一 0 0 1 二"]
    )
    def test_what_is_nothing_of_ours_is_passed_over(self, payload: str) -> None:
        assert Joining().heard(payload) is None

    def test_words_of_many_may_be_mixed(self) -> None:
        joining = Joining()
        one, other = pieces("one", 0, ("a", bytes(9_000))), pieces("other", 0, ("b", bytes(9_000)))
        heard = [joining.heard(piece) for pair in zip(one, other, strict=True) for piece in pair]

        assert [("a", bytes(9_000)), ("b", bytes(9_000))] == [word for word in heard if word is not None]


async def test_redis_shelf_takes_only_what_it_put(valkey: Valkey) -> None:
    """Nothing is read from Redis but what lies there as it should."""
    async with open_redis(valkey.url, timeout_s=5) as redis:
        shelf = RedisShelf(redis, timeout_s=5)
        await shelf.put("k", b"v", life_s=600)
        (name,) = await redis.keys("*")
        await redis.delete(name)
        await redis.hset(name, "a", "b")

        with pytest.raises(StoreBusy, match="Redis: ResponseError"):
            await shelf.get("k")
