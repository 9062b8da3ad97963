"""What acts past the lane meets its message between inbox and memory, out of order, or cannot be applied at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.base import DeleteEvent, EditEvent, InboundEvent, MessageEvent, MoveEvent, Sender
from config.loader import load
from gateway.admission import DESK
from gateway.amending import subject_of
from gateway.control import Control
from gateway.errors import StoreBusy
from gateway.inbox.base import Event, NewEvent
from gateway.lanes import Gathering, Lanes, Running
from gateway.naming import Naming
from gateway.people import People
from gateway.presence import Presence
from gateway.rooms import Rooms
from gateway.routing import encode, route
from memory.base import Load, Store
from memory.ids import Ids
from memory.key import scope_of
from memory.service import Memory
from memory.tokens import Tokenizers
from tests.contracts.columns import COLUMNS
from tests.contracts.queues import URLS, Queues, open_queues
from tests.contracts.store import owner
from tests.unit.test_delivery import One, Platform

SETTINGS = """
agents: {default: {kind: demo}}
channels: {web: {kind: console, observe: true, trigger: [mention]}}
"""
SENDER = Sender(user="ann", tenant="t", account="ann", name="Ann")
PLACE: dict[str, Any] = {"channel": "web", "room": "r", "chat_type": "group", "sender": SENDER}


class Names(Platform):
    """A platform that looks a name up for as long as the text is in `held`."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, asyncio.Event] = {}
        self.asked = asyncio.Event()

    async def named(self, event: MessageEvent) -> MessageEvent:
        if event.text in self.held:
            self.asked.set()
            await self.held[event.text].wait()
        return event


class House:
    """Control with real queues and memory; nothing runs but what a test starts."""

    def __init__(self, store: Store, queues: Queues, folder: Path) -> None:
        (folder / "my.yaml").write_text(SETTINGS, "utf-8")
        self.configuration = load(folder / "my.yaml", {})
        self.store, self.queues, self.ids = store, queues, Ids(3)
        self.memory = Memory(store, tokenizers=Tokenizers())
        self.platform = Names()
        self.ended: list[str] = []
        self.counted: list[tuple[str, str]] = []
        self.staff: list[str] = []
        self.control = self.another()

    def another(self, queues: Queues | None = None) -> Control:
        """The control of another process, or of one with other queues."""
        queues = queues or self.queues
        rooms = Rooms(names=self.memory.names, outbox=queues, changed=lambda: None)
        return Control(
            inbox=queues,
            memory=self.memory,
            people=People(self.store),
            naming=Naming(channels=One(self.platform), names_s=30),
            lanes=Lanes(
                queues, _never, lambda _: Gathering(busy="queue", most=1, alone=True), most=1, lease_s=9, retry_s=1
            ),
            configuration=lambda: self.configuration,
            presence=Presence(
                outbox=queues, names=self.memory.names, ids=self.ids, made=lambda _: None, ended=_ignored
            ),
            moved=rooms.move,
            desk_said=self._staff_said,
            settled=lambda events, _: self.ended.extend(event.state for event in events),
            ended=lambda _, outcome, rule: self.counted.append((outcome, rule)),
            retry_s=0.01,
            look_s=0.01,
        )

    async def _staff_said(self, _event: Event, message: MessageEvent) -> None:
        self.staff.append(message.text)

    async def told(self, event: InboundEvent, *, rule: str = "observe", lane: str = "lane") -> Event:
        """Store an event as intake does; as a message that waits if its rule is `always`."""
        routed = route(event, configuration=self.configuration, chosen_agent=None, rule=rule)
        number = self.ids.next()
        new = NewEvent(
            id=number,
            channel="web",
            kind="message" if rule == "always" else "control",
            speaker="ann",
            body=encode(routed),
            token="t",
            fingerprint=None,
            now_ms=1,
            subject=subject_of(event),
        )
        return (await self.queues.accept(new, lane=lane, dedupe_ids=[str(number)])).event

    async def background(self) -> list[str]:
        """What memory has of the room as background."""
        routed = route(_message("x"), configuration=self.configuration, chosen_agent=None)
        scope = scope_of(routed.conversation_key(), mode="conversation")
        row = await self.store.open_scope(scope, now_ms=1, agent_change="fresh")
        loaded = await self.store.load(Load(owner=owner(row.id), now_ms=1, observed=9))
        return [said.text for said in loaded.observed]

    async def outcome(self, event: Event) -> tuple[str, str | None]:
        stored = await self.queues.event(event.id)
        assert stored is not None
        return stored.state, stored.outcome and (stored.outcome.rule or stored.outcome.code)


async def _never(turn: Running) -> None:
    raise AssertionError("no lane runs here")


async def _ignored(turn_id: int) -> None:
    """Nothing ends here."""


def _message(text: str, name: str = "m") -> MessageEvent:
    return MessageEvent(**PLACE, dedupe_ids=("1",), message_id=name, text=text)


def _edit(text: str, name: str = "m") -> EditEvent:
    return EditEvent(**PLACE, dedupe_ids=("2",), message_id=name, text=text)


def _delete(name: str = "m") -> DeleteEvent:
    return DeleteEvent(**PLACE, dedupe_ids=("3",), message_id=name)


@pytest.fixture(params=["sqlite", "postgres"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    name = request.param
    async with AsyncExitStack() as stack:
        queues = await stack.enter_async_context(open_queues(URLS[name](request)))
        store = await stack.enter_async_context(COLUMNS[name](request).open())
        yield House(store, queues, tmp_path)


async def test_an_older_edit_that_had_to_wait_undoes_no_newer_one(house: House) -> None:
    """The first came while its message had begun and was not in memory yet; the second found it there."""
    message = await house.told(_message("one"), rule="always")
    (claim,) = await house.queues.claim(1)
    await house.queues.start([message.id], turn_id=message.id, lane="lane", fence=claim.fence)
    first = await house.told(_edit("two"), rule="edit")
    await house.control.act(first)
    await house.control.act(await house.told(_message("one")))  # memory has it now
    second = await house.told(_edit("三"), rule="edit")
    await house.control.act(second)

    await house.control.act(first)

    assert ["三"] == await house.background()
    assert [("applied", "edit")] * 2 == [await house.outcome(event) for event in (first, second)]


async def test_an_edit_whose_names_are_long_in_coming_undoes_no_newer_one(house: House) -> None:
    await house.control.act(await house.told(_message("one")))
    house.platform.held["two"] = asyncio.Event()
    slow = asyncio.ensure_future(house.control.act(await house.told(_edit("two"), rule="edit")))
    await house.platform.asked.wait()
    await house.control.act(await house.told(_edit("三"), rule="edit"))
    house.platform.held["two"].set()
    await slow

    assert ["三"] == await house.background()


@pytest.mark.parametrize(("said", "left"), [(_edit("mended 改"), ["mended 改"]), (_edit(" "), []), (_delete(), [])])
async def test_what_is_said_of_overheard_talk_while_its_names_are_looked_up_counts(
    house: House, said: InboundEvent, left: list[str]
) -> None:
    """It found nothing in memory, and must not be forgotten when the message gets there."""
    house.platform.held["slip"] = asyncio.Event()
    overheard = await house.told(_message("slip"))
    slow = asyncio.ensure_future(house.control.act(overheard))
    await house.platform.asked.wait()
    await house.control.act(await house.told(said, rule="edit"))
    house.platform.held["slip"].set()
    await slow

    assert left == await house.background()
    assert ("observed" if left else "ignored") == (await house.outcome(overheard))[0]


@pytest.mark.parametrize("said", [_message("slow 慢"), _edit("slow 慢")], ids=["overheard", "edited"])
async def test_the_acknowledgement_waits_for_no_names(house: House, said: InboundEvent) -> None:
    """Not for long: a platform that is slow with a name gets its answer in time all the same, and it is applied behind that."""
    house.platform.held["slow 慢"] = asyncio.Event()
    await house.control.act(await house.told(_message("before")))
    event = await house.told(said, rule="observe" if isinstance(said, MessageEvent) else "edit")
    async with _running(house):
        await house.control.take(event)
        assert "accepted" == (await house.outcome(event))[0]
        await house.platform.asked.wait()
        house.platform.held["slow 慢"].set()
        await _until_ended(house, event)

    assert "slow 慢" in await house.background()


async def test_what_staff_say_stays_in_order(house: House) -> None:
    """Also where the name of who said the first thing takes long: each is passed on to the person as it comes."""
    house.platform.held["first 一"] = asyncio.Event()
    first, second = [await house.told(_message(text), rule=DESK) for text in ("first 一", "second 二")]
    async with _running(house):
        for event in (first, second):
            await house.control.take(event)
        house.platform.held["first 一"].set()
        for event in (first, second):
            await _until_ended(house, event)

    assert ["first 一", "second 二"] == house.staff


async def test_what_still_waits_for_names_at_the_end_stays_for_the_next_start(house: House) -> None:
    """The end of the gateway waits for no platform."""
    house.platform.held["slow"] = asyncio.Event()
    event = await house.told(_message("slow"))
    async with _running(house):
        await house.control.take(event)
        await house.platform.asked.wait()
    house.platform.held.clear()
    assert "accepted" == (await house.outcome(event))[0]

    await house.another().act(event)  # as `recover` does

    assert ["slow"] == await house.background()


async def test_what_cant_be_applied_ends_in_sight_and_keeps_nobody(house: House) -> None:
    """Neither what came behind it, nor the next start."""
    bad = await house.told(MoveEvent(**PLACE, dedupe_ids=("4",), new_room=""), rule="move")
    good = await house.told(_message("overheard"))

    await house.control.act(bad)
    await house.control.act(good)

    assert ("dead", "not_applied") == await house.outcome(bad)
    assert ("observed", "observe") == await house.outcome(good)
    assert ["dead", "observed"] == house.ended
    assert [("dead", "not_applied"), ("observed", "observe")] == house.counted


class Busy:
    """Queues that say once that they are busy when an end is to be stored."""

    def __init__(self, queues: Queues) -> None:
        self._queues, self.left = queues, 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queues, name)

    async def finish(self, *args: Any, **more: Any) -> None:
        if self.left:
            self.left -= 1
            raise StoreBusy("away", retry_after_s=1)
        await self._queues.finish(*args, **more)


async def test_what_could_not_be_stored_is_tried_again(house: House) -> None:
    """Also if the platform does not tell of it again."""
    busy: Any = Busy(house.queues)
    control = house.another(busy)
    event = await house.told(_message("overheard"))

    with pytest.raises(StoreBusy):
        await control.take(event)
    running = asyncio.ensure_future(control.run())
    await _until_ended(house, event)
    again = await house.told(_message("again 又", "n"))
    busy.left = 1
    with pytest.raises(StoreBusy):
        await control.take(again)
    await _until_ended(house, again)
    running.cancel()

    assert ("observed", "observe") == await house.outcome(event)
    assert ["overheard", "again 又"] == await house.background()


@asynccontextmanager
async def _running(house: House) -> AsyncIterator[None]:
    """Let the house's control run for as long as the block takes."""
    running = asyncio.ensure_future(house.control.run())
    await asyncio.sleep(0)  # it has begun
    yield
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def _until_ended(house: House, event: Event) -> None:
    seen = 0
    async with asyncio.timeout(20):
        while (await house.outcome(event))[0] == "accepted":
            seen = await house.queues.changed(seen)


async def test_what_another_instance_left_is_applied_while_this_one_runs(
    postgres_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """It went when this one had started already."""
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(COLUMNS["postgres"](request).open())
        mine = await stack.enter_async_context(open_queues(postgres_url))
        house = House(store, mine, tmp_path)
        following = asyncio.ensure_future(house.control.follow())
        async with open_queues(postgres_url) as others:
            event = await House(store, others, tmp_path).told(_message("overheard"))
        await _until_ended(house, event)
        following.cancel()

        assert ["overheard"] == await house.background()


async def test_what_was_stored_while_its_accepting_broke_off_is_applied(house: House) -> None:
    """The database's word that it is stored never came, and its platform has given up: nobody here knows of it."""
    event = await house.told(_message("overheard 听到"))
    following = asyncio.ensure_future(house.control.follow())
    await _until_ended(house, event)
    following.cancel()

    assert ["overheard 听到"] == await house.background()


async def test_what_is_being_applied_is_not_taken_for_forgotten(house: House) -> None:
    """However long its names take, or its turn."""
    house.platform.held["slow"] = asyncio.Event()
    slow = await house.told(_message("slow"))
    acting = asyncio.ensure_future(house.control.act(slow))
    await house.platform.asked.wait()
    await house.control.recover()
    house.platform.held["slow"].set()
    await acting

    assert [("observed", "observe")] == house.counted
