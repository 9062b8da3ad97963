"""Where rooms are now: learnt at once from the platform's word, and from the store when another instance heard it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from adapters.base import Address, Quote
from config.loader import load
from gateway.hot.hearing import ProcessBus
from gateway.inbox.base import Reply
from gateway.rooms import Rooms, target_of
from memory.base import Identity, MovedRoom, Store
from memory.errors import StoreUnavailable
from memory.ids import Ids
from memory.key import scope_of
from memory.links import Linked
from memory.names import Names
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.queues import NOW_MS, URLS, Queues, accept, claim_one, open_queues
from tests.contracts.store import NOW, key

SETTINGS = """
agents: {default: {kind: demo}, other: {kind: demo}}
channels:
  web: {kind: console, rooms: {"-100": {agent: other}}}
"""
OLD = Address(channel="web", room="-100", thread="t", reply_to="m1", quoted=Quote(name="Ann", text="hi"))


@pytest.fixture(params=["sqlite", "postgres"])
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@pytest.fixture
async def queues(column: Column, request: pytest.FixtureRequest) -> AsyncIterator[Queues]:
    name = "sqlite" if "sqlite" in request.node.name else "postgres"
    async with open_queues(URLS[name](request)) as opened:
        yield opened


def rooms_on(store: Store, queues: Queues, changed: Callable[[], None] = lambda: None) -> Rooms:
    return Rooms(names=Names(store, clock=lambda: NOW), outbox=queues, changed=changed)


async def test_everything_goes_along(column: Column, queues: Queues, tmp_path: Path) -> None:
    """Talk, settings, and the replies that wait, in one call that may be repeated."""
    (tmp_path / "my.yaml").write_text(SETTINGS, "utf-8")
    configuration, told = load(tmp_path / "my.yaml", {}), []
    async with column.open() as store:
        scope = scope_of(key(room="-100", chat_type="group"), mode="conversation")
        before = await store.open_scope(scope, now_ms=NOW, agent_change="fresh")
        rooms = rooms_on(store, queues, lambda: told.append(True))
        target = target_of(OLD)
        event = await accept(queues, "lane")
        claim = await claim_one(queues)
        await _put(queues, event.id, claim.fence, target.queue, target.address)

        for _ in range(2):
            await rooms.move("web", "-100", "-1001 新")

        moved = scope_of(key(room="-1001 新", chat_type="group"), mode="conversation")
        assert before.id == (await store.open_scope(moved, now_ms=NOW, agent_change="fresh")).id
        assert "other" == rooms.applied(configuration).effective("web", "-1001 新").agent
        (chunk,) = await queues.due(now_ms=NOW_MS, limit=2)
        address = msgspec.msgpack.decode(chunk.address, type=Address)
        assert Address(channel="web", room="-1001 新", thread="t") == address, "no message of the old room"
        assert target_of(address).queue == chunk.queue
        assert told


async def _put(queues: Queues, event_id: int, fence: int, queue: str, address: bytes) -> None:
    await queues.put(
        Reply(
            event_ids=[event_id],
            turn_id=event_id,
            channel="web",
            queue=queue,
            address=address,
            text="hello",
            chunks=["hello"],
            failed=None,
            session=None,
            lane="lane",
            fence=fence,
            now_ms=NOW_MS,
        )
    )


async def test_another_instance_learns_of_it(column: Column, queues: Queues) -> None:
    """At its next look; nothing is done where nothing changed."""
    changes: list[None] = []
    async with column.open(ids=Ids(1)) as mine, column.open(ids=Ids(2)) as theirs:
        other = rooms_on(theirs, queues, lambda: changes.append(None))
        await other.look()
        assert OLD == other.current(OLD)
        await rooms_on(mine, queues).move("web", "-100", "-1001")

        before = len(changes)
        await other.look()
        await other.look()

        assert 1 == len(changes) - before
        assert "-1001" == other.current(OLD).room
        elsewhere = msgspec.structs.replace(OLD, channel="web2")
        assert elsewhere == other.current(elsewhere)


class Slow:
    """A store whose first answer about moved rooms is long on its way."""

    def __init__(self, store: Store) -> None:
        self._store, self.asked, self.answer = store, asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def moved_rooms(self) -> tuple[MovedRoom, ...]:
        rooms = await self._store.moved_rooms()
        if not self.asked.is_set():
            self.asked.set()
            await self.answer.wait()
        return rooms


async def test_an_answer_that_is_long_on_its_way_undoes_no_newer_one(column: Column, queues: Queues) -> None:
    """A look that began before a move ends after it."""
    async with column.open() as store:
        slow = Slow(store)
        rooms = rooms_on(cast("Any", slow), queues)
        look = asyncio.create_task(rooms.look())
        await slow.asked.wait()
        move = asyncio.create_task(rooms.move("web", "-100", "-1001"))
        await asyncio.wait({move}, timeout=0.2)
        slow.answer.set()
        await asyncio.gather(look, move)

    assert "-1001" == rooms.current(OLD).room


async def test_it_is_followed_for_as_long_as_the_gateway_runs(column: Column, queues: Queues) -> None:
    """Nobody has to ask for it."""
    heard = asyncio.Event()
    async with column.open(ids=Ids(1)) as mine, column.open(ids=Ids(2)) as theirs:
        other = Rooms(names=Names(theirs, clock=lambda: NOW), outbox=queues, changed=heard.set, look_s=0.01)
        await other.look()
        heard.clear()
        following = asyncio.create_task(other.follow())
        await rooms_on(mine, queues).move("web", "-100", "-1001")
        async with asyncio.timeout(30):
            await heard.wait()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    assert "-1001" == other.current(OLD).room


async def test_others_look_as_soon_as_they_are_told(column: Column, queues: Queues) -> None:
    """A moved room, and accounts that are another person's by now: nobody waits for the next look."""
    bus, changes = ProcessBus(), asyncio.Semaphore(0)
    async with column.open(ids=Ids(1)) as mine, column.open(ids=Ids(2)) as theirs:
        one = Rooms(names=Names(mine, clock=lambda: NOW), outbox=queues, changed=lambda: None, look_s=3600, bus=bus)
        other = Rooms(
            names=Names(theirs, clock=lambda: NOW), outbox=queues, changed=changes.release, look_s=3600, bus=bus
        )
        await other.look()
        await changes.acquire()
        following = asyncio.create_task(other.follow())
        await asyncio.sleep(0)
        async with asyncio.timeout(30):
            await one.move("web", "-100", "-1001")
            await changes.acquire()
            assert "-1001" == other.current(OLD).room
            ann, bob = [await mine.person(Identity(kind="web", tenant="", account=name), now_ms=NOW) for name in "ab"]
            assert isinstance(await mine.links.join(ann, bob, now_ms=NOW), Linked)
            one.tell()
            await changes.acquire()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_a_store_that_is_away_is_looked_for_again(column: Column, queues: Queues) -> None:
    """A move that the store did not take is the platform's to tell again."""
    async with AsyncExitStack() as opened:
        rooms = rooms_on(await opened.enter_async_context(column.open()), queues)
    with pytest.raises(StoreUnavailable):
        await rooms.move("web", "-100", "-1001")
    assert OLD == rooms.current(OLD)
