"""What names of scopes lead to, remembered: by one process among several on the same store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from memory import names as names_module
from memory.errors import ScopeMoved, StoreUnavailable
from memory.ids import Ids
from memory.key import scope_of
from memory.names import Names
from memory.policy import Policy
from memory.service import Memory
from memory.tokens import Tokenizers
from memory.turn import Incoming, TurnRequest
from tests.contracts.columns import COLUMNS, Column
from tests.contracts.store import NOW, key

OLD = scope_of(key(room="old", chat_type="group"), mode="conversation")
NEW = scope_of(key(room="新", chat_type="group"), mode="conversation")


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@asynccontextmanager
async def two(column: Column) -> AsyncIterator[tuple[Names, Names]]:
    """Two processes' names."""
    async with column.open(ids=Ids(1)) as a, column.open(ids=Ids(2)) as b:
        yield Names(a, clock=lambda: NOW), Names(b, clock=lambda: NOW)


async def test_a_renamed_scope_has_one_lane(column: Column) -> None:
    """The scope behind a name is the same whatever it is called: it names the lane (DESIGN 2)."""
    async with two(column) as (names, _):
        old = await names.find(OLD, agent_change="fresh")
        await names.move_room("web", "old", "新")

        assert old == await names.find(NEW, agent_change="fresh")
        assert OLD == old.root


async def test_a_continued_agent_has_the_lane_of_the_one_before(column: Column) -> None:
    """`agent_change: alias`: the lane is that of the scope which goes on, from the first look at the new name."""
    other = scope_of(key(room="old", chat_type="group", agent="other"), mode="conversation")
    async with two(column) as (names, theirs):
        old = await names.find(OLD, agent_change="alias")

        assert old == await theirs.find(other, agent_change="alias") == await names.find(other, agent_change="alias")


async def test_another_instances_change_is_followed_after_the_next_look(column: Column) -> None:
    """What is remembered stays until the store's count says that something changed."""
    async with two(column) as (mine, theirs):
        await theirs.look()
        before = await theirs.find(NEW, agent_change="fresh")
        target = await mine.find(OLD, agent_change="fresh")
        await mine.alias(NEW, target.id)

        stale = await theirs.find(NEW, agent_change="fresh")
        looks = [await theirs.look(), await theirs.look()]

        assert (before, [True, False]) == (stale, looks)
        assert target == await theirs.find(NEW, agent_change="fresh")
        await theirs.alias(NEW, None)
        assert [True, before] == [await mine.look(), await mine.find(NEW, agent_change="fresh")]


async def test_a_turn_that_was_too_late_is_told_so(column: Column) -> None:
    """A name that changed between two looks is noticed when a turn is to begin there: nothing is stored, and the next
    answer is right."""
    said = Incoming(key=key(room="新", chat_type="group"), event_id=1, text="hello")
    request = TurnRequest(turn_id=1, scope=NEW, messages=(said,), policy=Policy(), fence=1)
    async with column.open(ids=Ids(1)) as a, column.open(ids=Ids(2)) as b:
        memory, mine = Memory(b, tokenizers=Tokenizers()), Names(a, clock=lambda: NOW)
        await memory.names.find(NEW, agent_change="fresh")
        target = await mine.find(OLD, agent_change="fresh")
        await mine.alias(NEW, target.id)

        with pytest.raises(ScopeMoved):
            await memory.load_and_append(request)

        assert target == await memory.names.find(NEW, agent_change="fresh")
        assert target.id == (await memory.load_and_append(request)).ledger.scope_id


async def test_those_who_ask_go_on_in_order(column: Column) -> None:
    """A lane's order is that of the calls: the first one's look-up delays the others, and none overtakes it."""
    order: list[int] = []

    async def ask(names: Names, n: int) -> None:
        await names.find(OLD, agent_change="fresh")
        order.append(n)

    async with two(column) as (names, _), asyncio.TaskGroup() as tasks:
        for n in range(20):
            tasks.create_task(ask(names, n))
            if n % 5 == 4:
                await asyncio.sleep(0)
        await names.find(OLD, agent_change="fresh")

    assert list(range(20)) == order


async def test_one_who_gives_up_takes_nobody_along(column: Column) -> None:
    """A caller that is cancelled leaves the question to the next."""
    async with two(column) as (names, _):
        first = asyncio.ensure_future(names.find(OLD, agent_change="fresh"))
        second = asyncio.ensure_future(names.find(OLD, agent_change="fresh"))
        await asyncio.sleep(0)
        first.cancel()

        assert OLD == (await second).root
        await asyncio.gather(first, return_exceptions=True)


async def test_a_store_that_is_away_is_told_and_nothing_remembered(column: Column) -> None:
    async with column.open() as store:
        names = Names(store, clock=lambda: NOW)
    with pytest.raises(StoreUnavailable):
        await names.find(OLD, agent_change="fresh")

    async with column.open() as store:
        assert OLD == (await Names(store, clock=lambda: NOW).find(OLD, agent_change="fresh")).root


async def test_only_so_many_names_are_remembered(request: pytest.FixtureRequest) -> None:
    """Ten thousand; what was forgotten is asked for again."""
    async with COLUMNS["sqlite"](request).open() as store:
        names = Names(store, clock=lambda: NOW)
        for n in range(names_module.REMEMBERED + 10):
            await names.find(scope_of(key(room=f"r{n}"), mode="conversation"), agent_change="fresh")

        assert names_module.REMEMBERED == len(names._known)
        assert not names._asking
