"""Windows in Redis: the same answers as without, whatever happens to Redis; and what it spares the database."""

from __future__ import annotations

import logging
import os
import random
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

import pytest
import redis.asyncio

from memory.base import Identity, Load, Loaded, Message, Owner
from memory.errors import Fenced, StoreUnavailable
from memory.ids import Ids
from memory.people import Account, Traces
from memory.stores.postgres import PostgresStore
from memory.stores.redis import REST_S, TAIL, WORTH, RedisCache
from tests.contracts.columns import PostgresColumn
from tests.contracts.store import NOW, key, opened, put, replied, rule, said, talk, texts, wish
from tests.services import Valkey, running_valkey

PAGE = 30
Client = redis.asyncio.Redis


class ReadCounter(PostgresStore):
    """The PostgreSQL store, noting which pages are asked of it."""

    def __init__(self, url: str) -> None:
        super().__init__(url, ids=Ids(1), pool_size=4, timeout_s=5)
        self.pages: list[int] = []

    async def load(self, load: Load, *, session_id: str | None = None) -> Loaded:
        self.pages.append(load.page)
        return await super().load(load, session_id=session_id)

    async def older(self, owner: Owner, *, session_id: str, before_id: int, limit: int) -> tuple[Message, ...]:
        self.pages.append(limit)
        return await super().older(owner, session_id=session_id, before_id=before_id, limit=limit)


@dataclass
class Clock:
    """Seconds that pass when told to."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[ReadCounter]:
    async with ReadCounter(postgres_url) as opened_store:
        yield opened_store


@pytest.fixture
def own_redis() -> Iterator[Valkey]:
    """A server that a test may stop, freeze and fill."""
    with running_valkey() as server:
        yield server


def cache_of(
    store: PostgresStore, url: str, *, timeout_s: float = 5, ttl_s: float = 60, clock: Clock | None = None
) -> RedisCache:
    return RedisCache(store, url, ttl_s=ttl_s, timeout_s=timeout_s, worth=0, clock=clock or Clock())


async def spoken(store: ReadCounter, turns: int) -> int:
    """Return the id of a scope with so many turns."""
    scope = await opened(store)
    await talk(store, scope.id, turns)
    return scope.id


async def both(cache: RedisCache, store: ReadCounter, scope_id: int, *, page: int = PAGE) -> Loaded:
    """Return what the cache loads, having seen that it is what the store loads."""
    load = wish(scope_id, page=page, observed=5, person_id=7)
    loaded = await cache.load(load)
    assert await store.load(load) == loaded
    store.pages.clear()
    return loaded


class TestErasure:
    """What a person's end takes out of Redis."""

    async def _cached(self, cache: RedisCache, user: str, person_id: int | None) -> int:
        """Return the id of somebody's scope whose window is in Redis."""
        scope = await opened(cache, user=user)
        messages = [said(f"{n}", n, key=key(user=user), person_id=person_id) for n in range(40)]
        await put(cache, scope.id, *messages, turn_id=scope.id, session=rule(f"s-{user}"))
        await cache.load(wish(scope.id, page=PAGE))
        assert await cache.kept(scope.id) is not None
        return scope.id

    async def test_others_windows_stay(self, store: ReadCounter, redis_url: str) -> None:
        async with cache_of(store, redis_url) as cache:
            me = await cache.person(Identity(kind="web", tenant="", account="me"), now_ms=NOW)
            mine, yours = await self._cached(cache, "me", me), await self._cached(cache, "you", None)

            for _ in range(2):  # once more, with what was found meanwhile
                assert await cache.persons.ask(me, Traces())
            await cache.persons.erase(me, accounts=[Account("me", "web")], posted=(), now_ms=NOW)
            await cache.persons.unlink(me)

            assert (None, True) == (await cache.kept(mine), await cache.kept(yours) is not None)

    async def test_after_one_that_broke_off_all_go(self, store: ReadCounter, redis_url: str) -> None:
        """Here by an error, elsewhere by a kill: which scopes it had touched nobody knows (CaviraOSS/LongMemory#186)."""
        async with cache_of(store, redis_url) as cache, cache_of(store, redis_url) as elsewhere:
            me = await cache.person(Identity(kind="web", tenant="", account="me"), now_ms=NOW)
            mine = await self._cached(cache, "me", me)
            assert await cache.persons.ask(me, Traces())
            await store.persons.erase(me, accounts=[Account("me", "web")], posted=(), now_ms=NOW)
            assert await cache.kept(mine) is not None, "as a kill leaves it"

            assert await elsewhere.persons.ask(me, Traces())

            assert await cache.kept(mine) is None

    async def test_one_that_fails_here_is_no_longer_under_way(self, store: ReadCounter, redis_url: str) -> None:
        async with cache_of(store, redis_url) as cache:
            me = await cache.person(Identity(kind="web", tenant="", account="me"), now_ms=NOW)
            mine, yours = await self._cached(cache, "me", me), await self._cached(cache, "you", None)
            assert await cache.persons.ask(me, Traces())
            with pytest.raises(StoreUnavailable):
                await cache.persons.erase(me, accounts=[Account("\x00", "web")], posted=(), now_ms=NOW)
            assert await cache.kept(mine) is not None

            assert await cache.persons.ask(me, Traces())

            assert (None, None) == (await cache.kept(mine), await cache.kept(yours))


class TestWindow:
    """What comes from Redis, and what never may."""

    async def test_a_window_in_redis_spares_the_database_all_but_its_end(
        self, store: ReadCounter, redis_url: str
    ) -> None:
        """The second load reads the newest messages only, and so does a turn later (A09)."""
        scope_id = await spoken(store, 20)
        async with cache_of(store, redis_url) as cache:
            await both(cache, store, scope_id)

            await cache.load(wish(scope_id, page=PAGE))
            assert [TAIL] == store.pages
            loaded = await cache.append_and_load(
                scope_id, [said("q", 900)], wish(scope_id, page=PAGE), turn_id=900, session=rule(), fence=1
            )

            assert [TAIL] == store.pages
            assert (PAGE, "a20", True) == (len(loaded.window), loaded.window[-1].text, loaded.more)

    async def test_a_conversation_goes_on_for_long(self, store: ReadCounter, redis_url: str) -> None:
        """Forty turns through the cache, each the same as without it; only the first long one is read twice."""
        scope = await opened(store)
        async with cache_of(store, redis_url) as cache:
            twice = 0
            for n in range(1, 41):
                await put(store, scope.id, said(f"q{n}", n), turn_id=n)
                await cache.load(wish(scope.id, page=PAGE))
                twice += len(store.pages) - 1
                await both(cache, store, scope.id)
                await cache.append(scope.id, [replied(f"a{n}", n)], turn_id=n, session=rule(), now_ms=NOW, fence=1)

            assert 1 == twice

    async def test_short_windows_need_no_redis(self, store: ReadCounter, own_redis: Valkey) -> None:
        """A few messages are never worth a second server: it may be gone, and nobody waits for it."""
        scope_id = await spoken(store, TAIL // 2)
        own_redis.stop()
        async with cache_of(store, own_redis.url) as cache:
            assert TAIL == len((await cache.load(wish(scope_id, page=TAIL))).window)
            assert [TAIL] == store.pages

    async def test_windows_that_are_not_worth_it_are_left_to_the_database(
        self, store: ReadCounter, redis_url: str
    ) -> None:
        """By default only long windows are kept: shorter ones are read whole, in one go, and leave nothing in Redis."""
        scope_id = await spoken(store, 40)
        async with (
            RedisCache(store, redis_url, ttl_s=60, timeout_s=5) as cache,
            Client.from_url(redis_url) as client,
        ):
            await cache.load(wish(scope_id, page=WORTH))
            assert ([WORTH], []) == (store.pages, await client.keys())

            await cache.load(wish(scope_id, page=WORTH + 1))

            assert 1 == len(await client.keys())

    async def test_what_another_instance_does_is_seen_at_once(self, store: ReadCounter, redis_url: str) -> None:
        """Turn 1 on one instance, turn 2 on the other, with an edit, a deletion and a new session between (B18)."""
        scope = await opened(store)
        async with cache_of(store, redis_url) as one, cache_of(store, redis_url) as two:
            for n in range(1, 16):
                await put(store, scope.id, said(f"q{n}", n, platform_message_id=f"p{n}"), turn_id=n)
            await both(one, store, scope.id)
            await both(two, store, scope.id)

            await one.edit(scope.id, "p2", by=key(), text="edited", tokens=1, low_value=False, now_ms=NOW)
            assert "edited" in texts((await both(two, store, scope.id)).window)
            await two.delete(scope.id, "p2", by=key(), now_ms=NOW)
            assert "edited" not in texts((await both(one, store, scope.id)).window)
            await one.end_session(scope.id, now_ms=NOW)
            assert () == (await both(two, store, scope.id)).window
            await put(store, scope.id, said("fresh", 99), turn_id=99, session=rule("s-2"))
            assert ["fresh"] == texts((await both(one, store, scope.id)).window)

    async def test_an_edit_that_redis_never_heard_of_is_seen(self, store: ReadCounter, redis_url: str) -> None:
        """An instance without Redis edits: the window that lies there is of an older generation and is not served."""
        scope = await opened(store)
        await put(store, scope.id, said("old", 1, platform_message_id="p"), turn_id=1)
        await talk(store, scope.id, 12, first=2)
        async with cache_of(store, redis_url) as cache:
            await both(cache, store, scope.id)

            await store.edit(scope.id, "p", by=key(), text="new", tokens=1, low_value=False, now_ms=NOW)

            assert "new" == (await both(cache, store, scope.id)).window[0].text

    async def test_a_deletion_takes_the_text_out_of_redis(self, store: ReadCounter, redis_url: str) -> None:
        """Nothing of a deleted message stays under any key."""
        scope = await opened(store)
        await put(store, scope.id, said("very private", 1, platform_message_id="p"), turn_id=1)
        await talk(store, scope.id, 12, first=2)
        async with cache_of(store, redis_url) as cache, Client.from_url(redis_url) as client:
            await both(cache, store, scope.id)
            assert any(b"very private" in value for value in await _values(client))

            await cache.delete(scope.id, "p", by=key(), now_ms=NOW)

            assert [] == await _values(client)

    async def test_a_window_lives_as_long_as_it_is_used(self, store: ReadCounter, redis_url: str) -> None:
        """Each read begins the time to live anew."""
        scope_id = await spoken(store, 12)
        async with cache_of(store, redis_url, ttl_s=60) as cache, Client.from_url(redis_url) as client:
            await both(cache, store, scope_id)
            (key,) = await client.keys()
            await client.pexpire(key, 5_000)

            await both(cache, store, scope_id)

            assert await client.pttl(key) > 50_000

    async def test_a_restored_database_is_believed_and_not_redis(
        self, store: ReadCounter, redis_url: str, postgres_url: str
    ) -> None:
        """After a backup is restored Redis knows messages that the database does not: they are never shown."""
        scope_id = await spoken(store, 20)
        async with cache_of(store, redis_url) as cache:
            await both(cache, store, scope_id)
            await PostgresColumn(postgres_url).sql("DELETE FROM messages WHERE turn_id > 18")

            assert "a18" == (await both(cache, store, scope_id)).window[-1].text

    async def test_windows_of_other_sizes_are_each_right(self, store: ReadCounter, redis_url: str) -> None:
        """One reader's short window does not shorten another's."""
        scope_id = await spoken(store, 30)
        async with cache_of(store, redis_url) as cache:
            for page in (10, 50, 20, 200, 60, 59):
                assert min(page, 60) == len((await both(cache, store, scope_id, page=page)).window)

    async def test_an_ended_session_is_read_from_the_database(self, store: ReadCounter, redis_url: str) -> None:
        """Only the active session lies in Redis."""
        scope_id = await spoken(store, 12)
        async with cache_of(store, redis_url) as cache:
            await both(cache, store, scope_id)
            await cache.end_session(scope_id, now_ms=NOW)

            loaded = await cache.load(wish(scope_id, page=PAGE), session_id="s-1")

            assert 24 == len(loaded.window)

    async def test_an_error_of_the_store_comes_through(self, store: ReadCounter, redis_url: str) -> None:
        """A fenced turn stops, cache or not."""
        scope_id = await spoken(store, 12)
        async with cache_of(store, redis_url) as cache:
            await put(store, scope_id, said("q", 900), turn_id=900, fence=5)

            with pytest.raises(Fenced):
                await cache.append_and_load(
                    scope_id, [said("q", 901)], wish(scope_id, page=PAGE), turn_id=901, session=rule(), fence=4
                )

    async def test_an_append_stands_when_the_rest_of_the_window_cannot_be_read(
        self, postgres_url: str, redis_url: str
    ) -> None:
        """The database is lost between the two reads of a turn: the turn has a shorter window and knows it."""

        class LostOnTheWay(ReadCounter):
            async def older(self, owner: Owner, *, session_id: str, before_id: int, limit: int) -> tuple[Message, ...]:
                raise StoreUnavailable("gone")

        async with LostOnTheWay(postgres_url) as store, cache_of(store, redis_url) as cache:
            scope_id = await spoken(store, 12)

            loaded = await cache.append_and_load(
                scope_id, [said("q", 900)], wish(scope_id, page=PAGE), turn_id=900, session=rule(), fence=1
            )

            assert (TAIL, True, "q") == (len(loaded.window), loaded.more, loaded.appended[0].text)


class TestTrouble:
    """Redis gone, frozen, emptied, restarted, full, or holding something else: speed is lost, and nothing more."""

    async def test_gone_then_back(self, store: ReadCounter, own_redis: Valkey) -> None:
        """A killed Redis is passed over; one that is back, empty, is used again."""
        scope_id = await spoken(store, 12)
        clock = Clock()
        async with cache_of(store, own_redis.url, clock=clock) as cache:
            await both(cache, store, scope_id)
            own_redis.stop()
            await both(cache, store, scope_id)
            own_redis.start()
            clock.now += REST_S
            await both(cache, store, scope_id)

            await cache.load(wish(scope_id, page=PAGE))

            assert [TAIL] == store.pages

    async def test_a_frozen_one_is_waited_for_once(
        self, store: ReadCounter, own_redis: Valkey, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The first turn waits for the time that the settings give; those after it don't wait at all, for a while."""
        scope_id = await spoken(store, 12)
        clock = Clock()
        async with cache_of(store, own_redis.url, timeout_s=0.2, clock=clock) as cache:
            await both(cache, store, scope_id)
            assert own_redis.process is not None
            os.kill(own_redis.process.pid, signal.SIGSTOP)
            caplog.clear()
            with caplog.at_level(logging.WARNING, "memory.stores.redis"):
                for _ in range(20):
                    await both(cache, store, scope_id)
                assert await cache.delete(scope_id, "nothing", by=key(), now_ms=NOW) is False
            assert 1 == len(caplog.records)

            os.kill(own_redis.process.pid, signal.SIGCONT)
            clock.now += REST_S
            await both(cache, store, scope_id)

            await cache.load(wish(scope_id, page=PAGE))

            assert [TAIL] == store.pages

    async def test_a_late_reply_is_not_taken_for_another_scope_s(self, store: ReadCounter, own_redis: Valkey) -> None:
        """A connection whose reply came too late is not used again, so no scope gets another one's window."""
        scopes = [await opened(store, room=f"r{n}") for n in range(3)]
        for scope in scopes:
            for n in range(1, 13):
                await put(store, scope.id, said(f"{scope.id} {n}", n), turn_id=n, session=rule(f"s-{scope.id}"))
        clock = Clock()
        async with cache_of(store, own_redis.url, timeout_s=0.1, clock=clock) as cache:
            for scope in scopes:
                await both(cache, store, scope.id)
            assert own_redis.process is not None
            for _ in range(3):
                os.kill(own_redis.process.pid, signal.SIGSTOP)
                await both(cache, store, scopes[0].id)
                os.kill(own_redis.process.pid, signal.SIGCONT)
                clock.now += REST_S
                for scope in scopes:
                    assert f"{scope.id} 12" == (await both(cache, store, scope.id)).window[-1].text

    @pytest.mark.parametrize(
        "value",
        [b"", b"\x00", b"not ours", b"\xc1" * 99, b"\x95\x01\xa1s\x00\xc2\x90"],
        ids=["empty", "nul", "text", "bytes", "no messages"],
    )
    async def test_something_else_under_the_key(self, store: ReadCounter, redis_url: str, value: bytes) -> None:
        """Whatever lies under the key is replaced by the window."""
        scope_id = await spoken(store, 12)
        async with cache_of(store, redis_url) as cache, Client.from_url(redis_url) as client:
            await both(cache, store, scope_id)
            (key,) = await client.keys()
            await client.set(key, value)

            await both(cache, store, scope_id)

            assert value != await client.get(key)

    async def test_another_kind_of_value_under_the_key(self, store: ReadCounter, redis_url: str) -> None:
        """A list where the window belongs is refused by Redis and replaced."""
        scope_id = await spoken(store, 12)
        async with cache_of(store, redis_url) as cache, Client.from_url(redis_url) as client:
            await both(cache, store, scope_id)
            (key,) = await client.keys()
            await client.delete(key)
            await client.rpush(key, b"x")

            await both(cache, store, scope_id)

            assert b"string" == await client.type(key)

    async def test_another_scope_s_window_under_the_key(self, store: ReadCounter, redis_url: str) -> None:
        """A window that was copied under another scope's key is recognised as foreign (langchain-ai/langgraph#8300)."""
        one, two = await opened(store, user="john-doe"), await opened(store, user="john_doe")
        for scope in (one, two):
            for n in range(1, 13):
                await put(store, scope.id, said(f"{scope.scope.user} {n}", n), turn_id=n, session=rule(f"s-{scope.id}"))
        async with cache_of(store, redis_url) as cache, Client.from_url(redis_url) as client:
            await both(cache, store, one.id)
            (key,) = await client.keys()
            await client.copy(key, key.replace(str(one.id).encode(), str(two.id).encode()))

            assert {"john_doe"} == {text.split()[0] for text in texts((await both(cache, store, two.id)).window)}

    async def test_a_full_one_refuses_and_is_passed_over(self, store: ReadCounter, own_redis: Valkey) -> None:
        """Out of memory Redis refuses to keep; it is asked again next time all the same."""
        scope_id = await spoken(store, 12)
        async with cache_of(store, own_redis.url) as cache, Client.from_url(own_redis.url) as client:
            await client.config_set("maxmemory", "1kb")
            await both(cache, store, scope_id)
            await client.config_set("maxmemory", "0")
            await both(cache, store, scope_id)

            await cache.load(wish(scope_id, page=PAGE))

            assert [TAIL] == store.pages

    @pytest.mark.parametrize("seed", range(4))
    async def test_a_random_life_reads_the_same_with_and_without(
        self, store: ReadCounter, own_redis: Valkey, seed: int
    ) -> None:
        """Two instances talk, edit, delete and start anew while Redis is emptied and restarted: never a stale window."""
        chance = random.Random(seed)
        clock = Clock()
        scopes = [(await opened(store, room=f"r{n}")).id for n in range(2)]
        async with (
            cache_of(store, own_redis.url, clock=clock) as one,
            cache_of(store, own_redis.url, clock=clock) as two,
        ):
            for n in range(1, 150):
                await _something(chance, chance.choice((one, two, store)), chance.choice(scopes), n)
                clock.now += chance.choice((0, 0, 1, REST_S))
                if n % 40 == 0:
                    own_redis.stop()
                elif own_redis.process is None and n % 40 == 4:
                    own_redis.start()
                elif own_redis.process is not None and n % 17 == 0:
                    async with Client.from_url(own_redis.url) as client:
                        await client.flushall()
                await both(chance.choice((one, two)), store, chance.choice(scopes), page=chance.choice((9, 20, 40)))


async def _something(chance: random.Random, store: RedisCache | PostgresStore, scope_id: int, n: int) -> None:
    """Do one thing that people do."""
    wanted = wish(scope_id, page=20)
    match chance.choices(("turn", "edit", "delete", "new"), (10, 2, 2, 1))[0]:
        case "turn":
            question = said(f"q{n}", n, platform_message_id=f"p{n % 25}")
            session = rule(f"s-{scope_id}-{n}")
            await store.append_and_load(scope_id, [question], wanted, turn_id=n, session=session, fence=1)
            await store.append(scope_id, [replied(f"a{n}", n)], turn_id=n, session=session, now_ms=NOW, fence=1)
        case "edit":
            name = f"p{chance.randrange(25)}"
            await store.edit(scope_id, name, by=key(), text=f"edited {n}", tokens=1, low_value=False, now_ms=NOW)
        case "delete":
            await store.delete(scope_id, f"p{chance.randrange(25)}", by=key(), now_ms=NOW)
        case _:
            await store.end_session(scope_id, now_ms=NOW)


async def _values(client: Client) -> Sequence[bytes]:
    return [await client.get(key) or b"" for key in await client.keys()]
