"""The way in: what counts for a limit, what acts at once, and what a sender is told while a store is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from adapters.base import DeleteEvent, MessageEvent, MoveEvent, Sender
from adapters.errors import Conflict, Overloaded
from config.loader import load
from gateway.admitting import Admitting
from gateway.errors import StoreBusy
from gateway.hot.process import ProcessRateLimits, ProcessStreams
from gateway.inbox.base import Event, Outcome
from gateway.inbox.sqlite import SqliteInbox
from gateway.intake import Intake
from gateway.people import People
from gateway.routing import decode
from gateway.talk import Talk
from memory.base import AgentChange, ScopeRow, Store
from memory.errors import StoreUnavailable
from memory.ids import Ids, now_ms
from memory.key import Scope
from memory.names import Names
from memory.stores.sqlite import SqliteStore
from tests.usage import counting

SETTINGS = """\
agents: {default: {}, other: {}}
channels:
  web:
    kind: webhook
    secrets: ["whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    trigger: [mention, command]
    limits: {per_minute: 3}
    rooms:
      choice: {agents: [other]}
      talk: {observe: true}
      two: {limits: {per_minute: 100}, quota: {room: {messages: {day: 2}}}}
"""


class Shaky:
    """A store in which no scope can be opened while it is `away`."""

    def __init__(self, store: Store) -> None:
        self._store, self.away = store, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def open_scope(self, scope: Scope, *, now_ms: int, agent_change: AgentChange) -> ScopeRow:
        if self.away:
            raise StoreUnavailable("away")
        return await self._store.open_scope(scope, now_ms=now_ms, agent_change=agent_change)


@dataclass
class Way:
    """An intake on real queues. `act` is what happens to control events; what else came of events is in the lists."""

    intake: Intake
    inbox: SqliteInbox
    store: SqliteStore
    scopes: Shaky
    limits: ProcessRateLimits
    opened: AsyncExitStack
    act: Callable[[Event], Awaitable[None]]
    ended: list[tuple[str, str]] = field(default_factory=list)
    acted: list[int] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    number: int = 0

    def said(self, text: str = "@bot hi", *, user: str = "u1", room: str = "r", **fields: Any) -> MessageEvent:
        self.number += 1
        return MessageEvent(
            channel="web",
            room=room,
            chat_type="group",
            sender=Sender(user=user, tenant="web", account=user),
            mentions_bot=text.startswith("@bot"),
            message_id=f"m{self.number}",
            text=text,
            **{"dedupe_ids": (f"{user}:m{self.number}",)} | fields,
        )

    async def say(self, text: str = "@bot hi", **fields: Any) -> tuple[str, str | None]:
        """Return the new turn's status and rule."""
        view = await self.intake.accept(self.said(text, **fields))
        return view.status, view.rule

    async def apply(self, event: Event) -> None:
        """Give a control event its end, as the gateway's control does."""
        self.acted.append(event.id)
        await self.inbox.finish([event.id], Outcome(state="applied", rule="done"), lane=event.lane, fence=None)


@pytest.fixture
async def way(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Way]:
    queue = {"accept_max": 1000} | getattr(request, "param", {})
    (tmp_path / "my.yaml").write_text(SETTINGS, "utf-8")
    configuration = load(tmp_path / "my.yaml", {})
    write_turn, ids = asyncio.Lock(), Ids(1)
    async with AsyncExitStack() as opened:
        store = await opened.enter_async_context(
            SqliteStore(tmp_path / "s.db", ids=ids, write_turn=write_turn, timeout_s=10)
        )
        inbox = await opened.enter_async_context(
            SqliteInbox(tmp_path / "s.db", write_turn=write_turn, timeout_s=10, lease_s=30, poll_s=0.05, **queue)
        )

        usage = await opened.enter_async_context(counting(tmp_path, store=store, configuration=lambda: configuration))
        scopes, limits = Shaky(store), ProcessRateLimits()

        async def act(event: Event) -> None:
            await made.act(event)

        async def arrived(event: Event) -> None:
            made.arrived.append(event.id)

        intake = Intake(
            inbox=inbox,
            outbox=inbox,
            streams=ProcessStreams(),
            admitting=Admitting(limits=limits, answered=store.answered, desk=_not_at_desk, taken_over=lambda _: False),
            quotas=usage.quotas,
            talk=Talk(),
            people=People(store),
            names=Names(cast("Store", scopes), clock=now_ms),
            ids=ids,
            configuration=lambda: configuration,
            act=act,
            arrived=arrived,
            ended_at_once=lambda channel, outcome, rule: made.ended.append((outcome, rule)),
            delivered=lambda channel, seconds: None,
            poll_s=0.05,
        )
        made = Way(intake=intake, inbox=inbox, store=store, scopes=scopes, limits=limits, opened=opened, act=act)
        made.act = made.apply
        yield made


async def _not_at_desk(_message: MessageEvent) -> bool:
    return False


class TestLane:
    """Which lane an event goes to."""

    async def test_all_names_of_a_scope_share_its_lane(self, way: Way) -> None:
        """A room that moved, before and after; a continued agent (DESIGN 2)."""
        await way.intake.accept(way.said())
        await way.store.move_room("web", "r", "新", now_ms=now_ms())
        views = [await way.intake.accept(way.said(room=name)) for name in ("r", "新")]

        lanes = {event.lane for view in views if (event := await way.inbox.event(int(view.turn)))}
        assert {"*:web:r:group:default"} == lanes

    async def test_what_says_nothing_opens_no_scope(self, way: Way) -> None:
        """Talk that is ignored, in however many rooms, leaves nothing in memory; nor does a room's move."""
        await way.say("lunch?", room="never heard of")
        move = MoveEvent(
            channel="web",
            room="nor of this",
            chat_type="group",
            sender=Sender(user="u1", tenant="web", account="u1"),
            dedupe_ids=("move",),
            new_room="or that",
        )
        view = await way.intake.accept(move)

        assert ("applied", "done") == (view.status, view.rule)
        assert 0 == (await way.store.size())["scopes"]


class TestLimits:
    """At most so many questions a minute from one person; a notice once, then silence."""

    async def test_messages_sent_at_once_are_counted_one_by_one(self, way: Way) -> None:
        """Ten messages in the same moment: as many pass as would one after the other."""
        told = await asyncio.gather(*(way.say() for _ in range(10)))

        assert 3 == [status for status, _ in told].count("accepted") - 1, "three questions and one that gets the notice"
        assert [("ignored", "rate_limited")] * 6 == [view for view in told if view[0] == "ignored"]

    async def test_talk_between_people_does_not_count(self, way: Way) -> None:
        """Who chatted with the others may still ask the bot, whether it listens (`observe`) or not."""
        for number in range(10):
            await way.say(f"lunch? 吃饭吗 {number}", room="talk" if number % 2 else "r")

        assert ("accepted", None) == await way.say()

    async def test_stop_works_beyond_the_limit(self, way: Way) -> None:
        """The one who has asked too much can still stop what runs."""
        for _ in range(6):
            await way.say()

        assert ("applied", "done") == await way.say("/stop")
        assert ("ignored", "rate_limited") == await way.say()

    async def test_repeats_do_not_count(self, way: Way) -> None:
        """A platform that delivers the same message ten times has used up one."""
        again = way.said()
        for _ in range(10):
            await way.intake.accept(again)

        assert [("accepted", None)] * 2 == [await way.say(), await way.say()]

    async def test_repeats_use_up_no_quota_and_no_notice(self, way: Way) -> None:
        """A message that comes twice counts once, also the one that uses up the last of it: its twin is not refused in its place,
        and the notice is left for who comes next."""
        one, two = way.said(room="two"), way.said(room="two")
        views = [await way.intake.accept(event) for event in (one, one, two, two, two)]
        over = [await way.intake.accept(way.said(room="two")) for _ in range(2)]

        assert ["accepted"] * 5 == [view.status for view in views]
        assert [False, True, False, True, True] == [view.duplicate for view in views]
        events = [await way.inbox.event(int(view.turn)) for view in over]
        rules = [decode(event.body).refused for event in events if event is not None]
        assert ([True, True], ["accepted", "ignored"]) == (rules, [view.status for view in over])

    @pytest.mark.parametrize("way", [{"accept_max": 2}], indirect=True)
    async def test_what_could_not_be_stored_does_not_count(self, way: Way) -> None:
        """Retries while the queue is full are not held against their sender."""
        assert [("accepted", None)] * 2 == [await way.say(), await way.say()]
        for _ in range(5):
            with pytest.raises(Overloaded):
                await way.say()
        (claim,) = await way.inbox.claim(1)
        await way.inbox.start(way.arrived, turn_id=way.arrived[0], lane=claim.lane, fence=claim.fence)

        await way.say()
        (newest,) = (await way.inbox.waiting(claim.lane))[2:]
        assert not decode(newest.body).refused

    async def test_what_memory_could_not_take_does_not_count(self, way: Way) -> None:
        """However often the platform comes again meanwhile: the message is answered once memory is back, not refused."""
        question, way.scopes.away = way.said(), True
        for _ in range(5):
            with pytest.raises(Overloaded):
                await way.intake.accept(question)
        way.scopes.away = False

        assert ("accepted", None) == await way.say()
        stored = await way.inbox.event(int((await way.intake.accept(question)).turn))
        assert stored is not None
        assert not decode(stored.body).refused

    @pytest.mark.parametrize(
        ("most", "there", "elsewhere"),
        [(2, {"room": "two"}, {"room": "two", "thread": "新"}), (3, {"room": "r"}, {"room": "r 2"})],
        ids=["quota", "minute"],
    )
    async def test_what_memory_could_not_take_leaves_the_notice_to_the_next(
        self, most: int, there: dict[str, str], elsewhere: dict[str, str], way: Way
    ) -> None:
        """Who is refused hears so once memory is back, however often they came in vain meanwhile."""
        for _ in range(most):
            await way.say(**there)
        refused, way.scopes.away = way.said(**elsewhere), True
        for _ in range(3):
            with pytest.raises(Overloaded):
                await way.intake.accept(refused)
        way.scopes.away = False
        view = await way.intake.accept(refused)
        stored = await way.inbox.event(int(view.turn))

        assert stored is not None
        assert ("accepted", True) == (view.status, decode(stored.body).refused)
        assert "ignored" == (await way.say(**elsewhere))[0]

    async def test_repeats_of_what_was_refused_do_not_count(self, way: Way) -> None:
        """Nor keep their sender waiting for longer."""
        for _ in range(3):
            await way.say()
        refused = way.said()
        for _ in range(9):
            await way.intake.accept(refused)

        assert await way.limits.free("web:u1", most=5)


class TestControl:
    """What acts at once is applied, or is applied when it comes again."""

    @pytest.mark.parametrize(
        "fault", [StoreUnavailable("away"), StoreBusy("away", retry_after_s=1)], ids=["store", "queue"]
    )
    async def test_one_that_could_not_be_applied_is_applied_when_it_comes_again(
        self, way: Way, fault: Exception
    ) -> None:
        """The sender is asked to come again, and its repeat is no mere duplicate: it ends applied, once."""
        faults = [fault]

        async def act(event: Event) -> None:
            if faults:
                raise faults.pop()
            await way.apply(event)

        way.act = act
        deletion = DeleteEvent(
            channel="web", room="r", chat_type="group", sender=Sender(user="u1", tenant="web", account="u1"),
            dedupe_ids=("u1:d1",), message_id="m1",
        )  # fmt: skip
        with pytest.raises(Overloaded):
            await way.intake.accept(deletion)
        views = [await way.intake.accept(deletion) for _ in range(2)]

        assert [("applied", True)] * 2 == [(view.status, view.duplicate) for view in views]
        assert 1 == len(way.acted)
        assert [] == way.arrived

    async def test_a_repeat_with_another_body_applies_nothing(self, way: Way) -> None:
        """Another body under a known id is refused before anything is done."""
        stop = way.said("/stop")
        await way.intake.accept(stop, fingerprint="a")
        with pytest.raises(Conflict):
            await way.intake.accept(stop, fingerprint="b")

        assert 1 == len(way.acted)


class TestStoreAway:
    """A store that is away is said in the edge's own words, and takes nothing with it."""

    async def test_a_choice_that_cannot_be_read_asks_to_come_again(self, way: Way) -> None:
        """Which agent answers is part of the key: it is not guessed."""
        await way.opened.aclose()
        with pytest.raises(Overloaded) as caught:
            await way.say(room="choice")

        assert caught.value.retry_after_s > 0

    async def test_the_end_of_a_turn_can_be_told_later(self, way: Way) -> None:
        """Delivery reports an end at the moment in which the queue goes away: nobody dies of it."""
        view = await way.intake.accept(way.said())
        await way.opened.aclose()

        await way.intake.ended(int(view.turn))


async def test_a_choice_made_elsewhere_counts_at_once(way: Way) -> None:
    """Another instance on the same store has taken /agent: the next message here goes to that agent (B18)."""
    first = way.said(room="choice")
    await way.intake.accept(first)
    await People(way.store).choose_agent(first, "other")
    await way.intake.accept(way.said(room="choice"))

    lanes = [claim.lane for claim in await way.inbox.claim(9)]
    assert ["default", "other"] == sorted(lane.rpartition(":")[2] for lane in lanes)
