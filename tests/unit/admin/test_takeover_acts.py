"""The acts about take-overs: who may do what where, what is told to whom, and what the audit log keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec
import pytest

from gateway.admin.acts import takeover as acts
from gateway.admin.operations import Acting, AuditOutcome, Disagrees, Invalid, Missing, Operation, Refused, Service
from gateway.admin.rights import Actor, Grant, Role
from memory.base import HANDED_BACK, Message, Step
from memory.errors import ModelFailed
from memory.humans import HumanTalk
from tests.unit.human_world import World, world

__all__ = ["world"]


def row(id_: int, role: str, text: str, *, name: str = "", **fields: Any) -> Message:
    return Message(
        id=id_, scope_id=1, session_id="s", turn_id=1, event_id=id_, role=cast("Any", role), text=text, user="zoe",
        channel="chat", conversation="r1", chat_type="private", agent="default", speaker_name=name, created_ms=5, **fields,
    )  # fmt: skip


class Talk:
    """Memory that has this talk; `draft` is what a model makes of it, or why it makes nothing."""

    def __init__(self) -> None:
        self.draft: str | ModelFailed = "in short 简而言之"

    async def recent(self, scope: object, *, agent_change: str, most: int) -> tuple[Message, ...]:
        return (
            row(1, "user", "where? 订单", name="Zoe"),
            row(2, "assistant", "one moment"),
            row(3, "assistant", "hello", name="Ann"),
            row(4, "assistant", "be kind", name="Ann", steps=(Step(name=HANDED_BACK),)),
            row(5, "user", "", deleted_ms=7),
        )[-most:]

    async def draft_summary(self, *_: object, **__: object) -> str:
        if isinstance(self.draft, ModelFailed):
            raise self.draft
        return self.draft


class Door:
    """A service over a world's take-overs; keeps what its audit log was told."""

    def __init__(self, world: World) -> None:
        self.world, self.talk = world, Talk()
        self.model: object | None = object()
        self.log: list[tuple[str, str, Mapping[str, object]]] = []
        made = acts.TakeoverActs(
            humans=world.humans, rows=world.rows, talk=cast("HumanTalk", self.talk), model=self._model,
            configuration=lambda: world.configuration,
        )  # fmt: skip
        self.service = Service(made.handlers(), audit=self)

    async def _model(self, *_: object) -> Any:
        return self.model

    async def write(self, acting: Acting, *, outcome: AuditOutcome) -> None:
        self.log.append((acting.operation.name, outcome, dict(acting.about)))

    async def ask(
        self, operation: Operation, *, by: Role = "operator", at: str | None = None, id_: int = 1, **asked: Any
    ) -> Any:
        actor = Actor(id=f"user:{id_}", name=f"Op {id_}", grants=(Grant(role=by, channel=at),), door="api")
        return await self.service.perform(actor, operation, msgspec.convert(asked, operation.request))


@pytest.fixture
async def door(world: World) -> Door:
    return Door(world)


async def test_the_whole_of_it(door: Door) -> None:
    """Asked for, taken, read, answered, handed back; the log has numbers, and no words."""
    turn = str(await door.world.turn())
    asked = await door.ask(acts.ASK, turn=turn, note="late 晚了")
    taken = await door.ask(acts.BEGIN, takeover=asked.takeover)
    read = await door.ask(acts.MESSAGES, takeover=asked.takeover)
    drafted = await door.ask(acts.DRAFT, takeover=asked.takeover)
    said = [await door.ask(acts.SAY, takeover=asked.takeover, text="您好", message="m1") for _ in range(2)]
    ended = await door.ask(acts.HAND_BACK, takeover=asked.takeover, summary="done")
    after = await door.ask(acts.MESSAGES, takeover=asked.takeover)

    assert ("asked", "operator", None, False) == (asked.state, asked.asked_by, asked.operator, asked.mine)
    assert ("active", "Op 1", True) == (taken.state, taken.operator, taken.mine)
    assert [("person", "Zoe", False), ("agent", "default", False), ("human", "Ann", False), ("human", "Ann", True)] == [
        (one.by, one.name, one.hidden) for one in read.messages[:4]
    ]
    assert read.messages[4].deleted
    assert "in short 简而言之" == drafted.summary
    assert said[0] == said[1]
    assert ("ended", "handed_back", None) == (ended.state, ended.how, ended.ends_ms)
    assert [("late 晚了", None), ("late 晚了", "done")] == [(told.note, told.summary) for told in (read, after)]
    assert [name for name, outcome, _ in door.log if outcome == "done"] == [
        "takeovers.ask", "takeovers.begin", "takeovers.messages", "takeovers.draft_summary", "takeovers.say", "takeovers.say",
        "takeovers.hand_back", "takeovers.messages",
    ]  # fmt: skip
    assert not [word for word in ("late", "您好", "done") if word in str([about for *_, about in door.log])]


async def test_who_may_not_read_sees_no_words(door: Door) -> None:
    """That there is one and who has it is for all who may see; why and what was left is with what was said, where each look is
    noted."""
    turn = str(await door.world.turn())
    asked = await door.ask(acts.ASK, turn=turn, note="secret")

    seen = await door.ask(acts.SHOW, by="viewer", takeover=asked.takeover)

    assert asked.takeover == seen.takeover
    assert "secret" not in str((asked, seen))
    for operation, more in ((acts.MESSAGES, {}), (acts.SAY, {"text": "x"}), (acts.DRAFT, {}), (acts.HAND_BACK, {})):
        with pytest.raises(Refused):
            await door.ask(operation, by="viewer", takeover=asked.takeover, **more)
    for operation, more in ((acts.ASK, {"turn": turn}), (acts.BEGIN, {"turn": turn})):
        with pytest.raises(Refused):
            await door.ask(operation, by="viewer", **more)


async def test_other_channels_have_none_that_one_may_know_of(door: Door) -> None:
    """By number, by turn and in lists; told apart from nothing."""
    turn = str(await door.world.turn())
    asked = await door.ask(acts.ASK, turn=turn)

    for operation, more in (
        (acts.SHOW, {"takeover": asked.takeover}), (acts.SAY, {"takeover": asked.takeover, "text": "x"}),
        (acts.BEGIN, {"takeover": asked.takeover}), (acts.BEGIN, {"turn": turn}), (acts.ASK, {"turn": turn}),
    ):  # fmt: skip
        with pytest.raises(Missing):
            await door.ask(operation, at="page", **more)
    assert () == (await door.ask(acts.LIST, at="page")).takeovers
    assert [asked.takeover] == [one.takeover for one in (await door.ask(acts.LIST, at="chat")).takeovers]
    with pytest.raises(Refused):
        await door.ask(acts.LIST, at="page", channel="chat")


async def test_lists_come_in_pages(door: Door) -> None:
    """Newest first; live, ended or all; of one channel."""
    made = [
        await door.ask(acts.ASK, turn=str(await door.world.turn(door.world.route(room=f"房间 {n}", channel=channel))))
        for n, channel in enumerate(("chat", "page", "chat"))
    ]
    await door.ask(acts.HAND_BACK, takeover=made[0].takeover)

    async def ids(**asked: Any) -> list[str]:
        return [one.room for one in (await door.ask(acts.LIST, **asked)).takeovers]

    first = await door.ask(acts.LIST, state="all", limit=2)
    assert ["房间 2", "房间 1"] == [one.room for one in first.takeovers]
    assert ["房间 0"] == await ids(state="all", limit=2, after=first.next)
    assert ["房间 2", "房间 1"] == await ids()
    assert ["房间 0"] == await ids(state="ended")
    assert ["房间 2"] == await ids(channel="chat")


async def test_what_can_not_be_done_says_why(door: Door) -> None:
    """No model to draft, a model that fails, no way to tell which, a person who was erased, a number that nothing has."""
    asked = await door.ask(acts.ASK, turn=str(await door.world.turn()))
    for asks in ({}, {"turn": "1", "takeover": "1"}):
        with pytest.raises(Invalid, match="either"):
            await door.ask(acts.BEGIN, **asks)
    door.talk.draft = ModelFailed("an excuse")
    with pytest.raises(Disagrees, match="write the summary yourself"):
        await door.ask(acts.DRAFT, takeover=asked.takeover)
    door.model = None
    with pytest.raises(Disagrees, match="no model"):
        await door.ask(acts.DRAFT, takeover=asked.takeover)
    await door.world.rows.erase((), {("chat", "zoe")}, now_ms=1)
    with pytest.raises(Missing, match="erased"):
        await door.ask(acts.MESSAGES, takeover=asked.takeover)
    erased = await door.ask(acts.SHOW, takeover=asked.takeover)
    assert ("", None, "erased") == (erased.room, erased.user, erased.how)
    for number in ("5", str(2**63)):
        with pytest.raises((Missing, msgspec.ValidationError)):
            await door.ask(acts.SHOW, takeover=number)
