"""Turns in which a human has a part, decided over real rows: who is asked, what the person is told, what is stored."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from config.channels.base import RoomSettings
from gateway.admin.takeovers import Takeover, TakeoverRows
from gateway.errors import StoreBusy
from gateway.human_notices import told
from gateway.human_turns import Before, HumanTurns
from gateway.inbox.base import Claim, Outcome
from gateway.lanes import Running
from gateway.outgoing import Outgoing
from gateway.routing import Human, Route
from memory.humans import HumanReply, HumanTalk
from tests.unit.human_world import ANN, World, world

__all__ = ["world"]


class Kept:
    """Memory that keeps what humans said."""

    def __init__(self) -> None:
        self.said: list[HumanReply] = []

    async def append(self, scope: object, said: HumanReply, **_: Any) -> None:
        self.said.append(said)


class Stage:
    def __init__(self, world: World) -> None:
        self.world, self.kept = world, Kept()
        self.turns = HumanTurns(humans=world.humans, talk=cast("HumanTalk", self.kept), made=world.made)

    async def running(self, routed: Route) -> Running:
        turn_id = await self.world.turn(routed)
        event = await self.world.queues.event(turn_id)
        assert event is not None
        return Running(claim=Claim(lane="lane", fence=1), turn_id=turn_id, speaker="zoe", events=(event,), attempts=0)

    async def before(self, text: str, settings: RoomSettings, **changes: object) -> Before:
        routed = self.world.route(text, **changes)
        return await self.turns.before(await self.running(routed), [routed], settings, person_id=None, said=None)

    async def after(
        self, room: RoomSettings, *, failed: bool = False, notice: str | None = None, hand_over: str | None = None
    ) -> str:
        routed = self.world.route("money back")
        outgoing = Outgoing("text", Outcome(state="failed", code="x") if failed else None)
        out = await self.turns.after(
            await self.running(routed), routed, room, outgoing, notice=notice, hand_over=hand_over, person_id=None
        )
        return out.text


def room(**takeover: object) -> RoomSettings:
    return RoomSettings.model_validate({"takeover": takeover})


@pytest.fixture
async def there(world: World) -> Stage:
    return Stage(world)


async def test_the_agent_is_asked_unless_a_human_has_it(there: Stage) -> None:
    """Or was asked for, where that means silence; what is said reaches the human all the same."""
    assert Before() == await there.before("hi", room())
    asked = await there.world.humans.ask_for(await there.world.turn(), None)
    assert [Before(), Before("waiting_for_human")] == [
        await there.before("hello 1", room()), await there.before("hello 2", room(while_waiting="silent"))
    ]  # fmt: skip
    await there.world.humans.take(asked, ANN, over=False)
    assert Before("taken_over") == await there.before("hello 3", room())
    assert Before() == await there.before("hello 4", room(), room="elsewhere")

    posts = "".join(await there.world.posts())
    assert [True, True, True, False] == [f"hello {n}" in posts for n in range(1, 5)]


async def test_words_and_anger_ask_for_a_human_once(there: Stage) -> None:
    """The person is told what follows; asked again while one is waited for, nothing is said."""
    both = room(words=["lawyer"], after_complaints=2)

    first = await there.before("useless!", both)
    second = await there.before("not working", both)
    third = await there.before("my lawyer", both)
    other = await there.before("我的 LAWYER", room(words=["lawyer"], while_waiting="silent"), room="r9")

    assert [Before(), Before(None, told("asked", "en")), Before()] == [first, second, third]
    assert Before("waiting_for_human", told("asked_silent", "en")) == other
    assert ["complaints", "words"] == sorted(row.asked_by for row in await there.world.rows.live())


async def test_what_failed_or_hands_over_is_told_with_the_answer(there: Stage) -> None:
    """The second failure in a row; the agent's own wish, with its reason; what was told before is told once."""
    twice = room(after_failures=2)

    texts = [await there.after(twice, failed=failed) for failed in (True, False, True, True, True)]
    again = await there.after(room(), hand_over="refund 退款")
    noticed = await there.after(room(), notice="asked already", hand_over="x")

    assert ["text", "text", "text", f"text\n\n{told('asked', 'en')}", "text"] == texts
    assert ("text", "text\n\nasked already") == (again, noticed)
    assert ["failures"] == [row.asked_by for row in await there.world.rows.live()]


async def test_an_agents_reason_is_kept_for_who_comes(there: Stage) -> None:
    assert f"text\n\n{told('asked', 'en')}" == await there.after(room(), hand_over="refund 退款")

    (row,) = await there.world.rows.live()
    assert ("agent", "refund 退款") == (row.asked_by, row.note)


async def test_the_command_asks_once(there: Stage) -> None:
    """And says how it stands: asked, asked before, who is there; nobody, where nobody is."""
    routed = there.world.route("/human")

    async def command(settings: RoomSettings, of: Route = routed) -> str:
        return await there.turns.by_command(of, settings, turn_id=await there.world.turn(of), person_id=5, note="late")

    said = [await command(room()), await command(room())]
    (row,) = await there.world.rows.live()
    await there.world.humans.take(row, ANN, over=False)

    assert [told("asked", "en"), told("asked_before", "en")] == said
    assert told("here_already", "en", name="Ann 安") == await command(room())
    assert told("off", "en") == await command(room(people_may_ask=False))
    assert told("off", "en") == await command(room(), there.world.route("/human", channel="hook"))
    assert (5, "late") == (row.person_id, row.note)


@pytest.mark.parametrize(
    ("act", "how", "summary", "notice"),
    [
        ("begun", None, None, "begun"),
        ("ended", "handed_back", "be kind", "handed_back"),
        ("ended", "timed_out", None, "timed_out"),
        ("ended", "not_taken", None, "not_taken"),
    ],
)
async def test_the_person_is_told_who_has_come_and_gone(
    act: Any, how: str | None, summary: str | None, notice: str, there: Stage
) -> None:
    """What was left for the agent is stored for it alone, and not told."""
    human = Human(takeover=1, act=act, operator="user:1", name="Ann *安*", turn_id=7, how=how, summary=summary)
    routed = msgspec.structs.replace(there.world.route(""), human=human)

    out = await there.turns.outgoing(await there.running(routed), routed, human, room(), person_id=7)

    assert told(notice, "en", name="Ann 安", prefix="") == out.text
    assert [(summary, True, 7)] * bool(summary) == [(one.text, one.for_agent, one.turn_id) for one in there.kept.said]


async def test_a_humans_words_are_stored_and_shown_by_name(there: Stage) -> None:
    human = Human(takeover=1, act="said", operator="user:1", name="Ann", turn_id=7)
    routed = msgspec.structs.replace(there.world.route("您好 {x}"), human=human)
    there.world.adapters.pop("chat")

    out = await there.turns.outgoing(await there.running(routed), routed, human, room(), person_id=5)

    assert told("said", "en", name="Ann", text="您好 {x}") == out.text
    assert [("您好 {x}", False, "Ann", 5)] == [
        (one.text, one.for_agent, one.name, one.person_id) for one in there.kept.said
    ], "it is the person's, to be exported and erased with them"


async def test_where_the_rows_are_away_people_are_answered(there: Stage) -> None:
    """No human can be asked for then, and the answer goes out."""

    class Away(TakeoverRows):
        async def add(self, new: Takeover) -> tuple[Takeover, bool]:
            raise StoreBusy("away", retry_after_s=1)

    humans = there.world.another(Away(there.world.database))
    turns = HumanTurns(humans=humans, talk=cast("HumanTalk", there.kept), made=there.world.made)
    routed = there.world.route("my lawyer")

    before = await turns.before(
        await there.running(routed), [routed], room(words=["lawyer"]), person_id=None, said=None
    )

    assert Before() == before
