"""Turns in which a human has a part, over real rows and a real store: who is asked, what the person is told, what is kept."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from config.channels.base import RoomSettings
from gateway.admin.takeovers import Takeover, TakeoverRows
from gateway.agent import HAND_OVER
from gateway.errors import StoreBusy
from gateway.human_notices import told
from gateway.human_turns import BY_NAME, Before, HumanTurns
from gateway.humans import Humans
from gateway.inbox.base import Claim, Outcome
from gateway.lanes import Running
from gateway.outgoing import Outgoing
from gateway.routing import Human, Route
from memory.base import HANDED_BACK, Call, Step
from memory.errors import StoreUnavailable
from memory.humans import HumanTalk
from memory.policy import Policy
from memory.service import Memory
from memory.tokens import Tokenizers
from memory.turn import Incoming, Prepared, Reply, TurnRequest
from tests.unit.human_world import ANN, World, world

__all__ = ["world"]


class Stage:
    """Turns of one person's, as the responder runs them. `failed` answers end so."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.memory = Memory(world.store, tokenizers=Tokenizers(), clock=world.clock)
        self.talk = HumanTalk(world.store, names=self.memory.names, clock=world.clock)
        self.turns = self.on(world.humans)

    def on(self, humans: Humans) -> HumanTurns:
        """An instance that has just started."""
        return HumanTurns(humans=humans, talk=self.talk, made=self.world.made)

    async def running(self, routed: Route) -> Running:
        turn_id = await self.world.turn(routed)
        event = await self.world.queues.event(turn_id)
        assert event is not None
        return Running(claim=Claim(lane="lane", fence=1), turn_id=turn_id, speaker="zoe", events=(event,), attempts=0)

    async def stored(self, turn: Running, routed: Route) -> Prepared:
        said = Incoming(key=routed.conversation_key(), event_id=turn.turn_id, text=routed.event.text)  # type: ignore[union-attr]
        request = TurnRequest(
            turn_id=turn.turn_id, scope=routed.memory_scope(), messages=(said,), policy=Policy(agent="default"), fence=1
        )
        return await self.memory.load_and_append(request)

    async def before(self, text: str, settings: RoomSettings, **changes: object) -> Before:
        routed = self.world.route(text, **changes)
        turn = await self.running(routed)
        await self.stored(turn, routed)
        return await self.turns.before(turn, [routed], settings, person_id=5, said=None)

    async def answered(self, settings: RoomSettings, *, code: str = "", hand_over: str | None = None) -> str:
        """What the person sees of a turn whose agent answered, or failed by this code."""
        routed = self.world.route("money back 退钱")
        turn = await self.running(routed)
        prepared = await self.stored(turn, routed)
        call = Call(agent="default", ms=1, code="" if code == "stopped" else code)
        if code:
            await self.memory.record(prepared, notes=(code,), calls=(call,))
        else:
            await self.memory.append(prepared, Reply(text="text", calls=(call,)), fence=1)
        outgoing = Outgoing("text", Outcome(state="failed", code=code) if code else None)
        out = await self.turns.after(turn, routed, settings, outgoing, notice=None, hand_over=hand_over, person_id=None)
        return out.text


def room(**takeover: object) -> RoomSettings:
    return RoomSettings.model_validate({"takeover": takeover})


ASKED = f"text\n\n{told('asked', 'en')}"


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


async def test_complaints_in_a_row_are_counted_by_what_was_said(there: Stage) -> None:
    """By all instances, past a restart, each message once however often its turn begins; a calm word, a request that was turned
    down and another conversation begin anew."""
    angry = room(after_complaints=3)
    await there.before("this is useless", angry)
    routed = there.world.route("没用!!!")
    turn = await there.running(routed)
    await there.stored(turn, routed)
    for _ in range(3):
        assert Before() == await there.turns.before(turn, [routed], angry, person_id=None, said=None)
    assert Before() == await there.before("useless", angry, room="r2")
    there.turns = there.on(there.world.another())
    third = await there.before("still wrong", angry)
    (asked,) = await there.world.rows.live()
    await there.world.humans.hand_back(asked, ANN, None)
    later = [
        await there.before(text, angry) for text in ("useless", "useless", "oh, thanks", "useless", "没用", "垃圾")
    ]

    assert Before(None, told("asked", "en")) == third
    assert [Before()] * 5 == later[:-1]
    assert third == later[-1]


async def test_failures_in_a_row_are_counted_by_what_is_on_record(there: Stage) -> None:
    """By all instances, past a restart; an answer begins anew, and so does a person's /stop. It is asked for once."""
    twice = room(after_failures=2)

    texts = [await there.answered(twice, code=code) for code in ("down", "", "down", "stopped", "down")]
    there.turns = there.on(there.world.another())
    texts += [await there.answered(twice, code="down") for _ in range(2)]

    assert ["text"] * 5 == texts[:5]
    assert [ASKED, "text"] == texts[5:]
    assert ["failures"] == [row.asked_by for row in await there.world.rows.live()]


async def test_one_failure_may_be_enough(there: Stage) -> None:
    assert ASKED == await there.answered(room(after_failures=1), code="down")


async def test_an_agents_reason_is_kept_for_who_comes(there: Stage) -> None:
    """And what it had answered to comes with it; it asks once."""
    assert ASKED == await there.answered(room(), hand_over="refund 退款")
    assert "text" == await there.answered(room(), hand_over="again")

    (row,) = await there.world.rows.live()
    assert ("agent", "refund 退款") == (row.asked_by, row.note)
    assert "> refund 退款\n\n> money back 退钱" in (await there.world.posts())[0]


async def test_what_was_told_before_is_told_once(there: Stage) -> None:
    routed = there.world.route("x")
    turn = await there.running(routed)
    out = await there.turns.after(
        turn, routed, room(), Outgoing("text"), notice="asked already", hand_over="x", person_id=None
    )

    assert "text\n\nasked already" == out.text


async def test_a_crash_behind_the_answer_loses_no_request(there: Stage) -> None:
    """The answer was stored with the agent's wish, and then nothing: it is asked for when the answer goes out, and told as often
    as the turn comes back, as nobody saw it yet. A plain answer goes out as it is."""
    routed = there.world.route("refund!")
    turn = await there.running(routed)
    step = Step(name=HAND_OVER, detail="wants 退款")
    await there.memory.append(await there.stored(turn, routed), Reply(text="text", steps=(step,)), fence=1)
    plain = await there.running(there.world.route("hi", room="r2"))
    await there.memory.append(
        await there.stored(plain, there.world.route("hi", room="r2")), Reply(text="text"), fence=1
    )

    outs = [(await there.turns.again(turn, routed, room(), Outgoing("text"), person_id=None)).text for _ in range(2)]
    other = await there.turns.again(plain, there.world.route("hi", room="r2"), room(), Outgoing("text"), person_id=None)

    assert [ASKED, ASKED] == outs
    assert "text" == other.text
    (row,) = await there.world.rows.live()
    assert ("agent", "wants 退款") == (row.asked_by, row.note)


async def test_a_crash_behind_the_request_keeps_nobody_in_the_dark(there: Stage) -> None:
    """The bot would be silent, and nobody told why; the staff hear the message once."""
    silent = room(words=["lawyer"], while_waiting="silent")
    routed = there.world.route("my lawyer")
    turn = await there.running(routed)

    found = [await there.turns.before(turn, [routed], silent, person_id=None, said=None) for _ in range(2)]

    assert [Before("waiting_for_human", told("asked_silent", "en"))] * 2 == found
    assert 1 == "".join(await there.world.posts()).count("my lawyer")


async def test_the_command_asks_once(there: Stage) -> None:
    """And says how it stands: asked, asked before, who is there; nobody, where nobody is. No agent is asked, and whoever comes
    hears what is said behind it."""
    said = [await there.before("/human late", room()), await there.before("/人工 still late", room())]
    (row,) = await there.world.rows.live()
    await there.world.humans.take(row, ANN, over=False)

    assert [Before(BY_NAME, told("asked", "en")), Before(BY_NAME, told("asked_before", "en"))] == said
    assert Before("taken_over", told("here_already", "en", name="Ann 安")) == await there.before("/human", room())
    off = Before(BY_NAME, told("off", "en"))
    assert off == await there.before("/human", room(people_may_ask=False), room="r2")
    assert off == await there.before("/human", room(), channel="hook")
    assert (5, "late") == (row.person_id, row.note)
    assert "/人工 still late" in "".join(await there.world.posts())


@pytest.mark.parametrize(
    ("act", "how", "summary", "notice"),
    [
        ("asked", None, None, "asked"),
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
    assert [(summary, True, 7)] * bool(summary) == await kept(there, routed)


async def test_a_humans_words_are_stored_and_shown_by_name(there: Stage) -> None:
    human = Human(takeover=1, act="said", operator="user:1", name="Ann", turn_id=7)
    routed = msgspec.structs.replace(there.world.route("您好 {x}"), human=human)
    there.world.adapters.pop("chat")

    out = await there.turns.outgoing(await there.running(routed), routed, human, room(), person_id=5)

    assert told("said", "en", name="Ann", text="您好 {x}") == out.text
    assert [("您好 {x}", False, 7)] == await kept(there, routed)
    rows = await there.talk.recent(routed.memory_scope(), agent_change="fresh", most=9)
    assert [("Ann", 5)] == [(row.speaker_name, row.person_id) for row in rows], (
        "to be exported and erased with the person"
    )


async def kept(there: Stage, routed: Route) -> list[tuple[str, bool, int]]:
    """What is stored of humans: the text, whether it is for the agent alone, and the turn."""
    rows = await there.talk.recent(routed.memory_scope(), agent_change="fresh", most=9)
    return [(row.text, HANDED_BACK in [step.name for step in row.steps], row.turn_id) for row in rows]


async def test_where_the_rows_are_away_people_are_answered(there: Stage) -> None:
    """No human can be asked for then, and the answer goes out."""

    class Away(TakeoverRows):
        async def add(self, new: Takeover) -> tuple[Takeover, bool]:
            raise StoreBusy("away", retry_after_s=1)

    there.turns = there.on(there.world.another(Away(there.world.database)))

    assert Before() == await there.before("my lawyer", room(words=["lawyer"]))


async def test_where_what_was_said_can_not_be_read_nobody_is_asked_for(there: Stage) -> None:
    """How often in a row is not known then; the person is answered."""

    class Away(HumanTalk):
        async def recent(self, *_: Any, **__: Any) -> Any:
            raise StoreUnavailable("away")

    there.talk = Away(there.world.store, names=there.memory.names, clock=there.world.clock)
    there.turns = there.on(there.world.humans)

    assert [Before()] * 3 == [await there.before("useless", room(after_complaints=2)) for _ in range(3)]
