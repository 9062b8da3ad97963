"""A forged owner through what the gateway calls: every verb of `Memory` and `HumanTalk`, with Mallory's own verified key and all
of Ann's numbers, session and message ids in whatever else can be said; and the person's own commands, whose words are patterns.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from memory.base import Quoted
from memory.errors import ModelFailed
from memory.humans import HumanReply, HumanTalk
from memory.policy import Policy
from memory.service import Memory
from memory.summary import Summarising
from memory.tokens import Tokenizers
from memory.turn import Incoming, Prepared, Reply, TurnRequest
from tests.attacks.neighbours import ANN, MALLORY, WORDS, Neighbours, neighbours
from tests.attacks.test_forged_owners import column
from tests.attacks.verbs import WILD
from tests.contracts.columns import Column
from tests.contracts.store import NOW

pytestmark = pytest.mark.asyncio(loop_scope="module")

__all__ = ["column"]

WIDE = Policy(
    agent="helper", turns=40, messages=200, candidates=1000, profile_items=50, fragments=50, observed_messages=99,
    private_in_group=True, down_weight="none",
)  # fmt: skip
"""Everything that may enter a prompt, does."""


class Told:
    """A small model that keeps what it was shown."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def complete(self, *, system: str, prompt: str, schema: Mapping[str, object] | None, max_tokens: int) -> str:
        self.prompts.append(prompt)
        return "ok"


class Forger:
    """Mallory, who speaks to a memory."""

    def __init__(self, there: Neighbours) -> None:
        self.there = there
        self.memory = Memory(there.store, tokenizers=Tokenizers(), clock=lambda: NOW + 1000)
        self.humans = HumanTalk(there.store, names=self.memory.names, clock=lambda: NOW + 1000)
        self._turns = 1000

    def turn(self, text: str, **fields: Any) -> TurnRequest:
        """A turn in private; `fields` replace the message's, and `turn_id`, `asked_session` and `key` of the request."""
        self._turns += 1
        me = self.there.me
        number = fields.pop("turn_id", self._turns)
        key = me.key(**fields.pop("key", {}))
        asked = fields.pop("asked_session", None)
        said: dict[str, Any] = {
            "key": key, "event_id": number, "text": text, "speaker_name": "M%", "person_id": me.person_id,
        } | fields  # fmt: skip
        scope = me.name(room=key.room, chat_type=key.chat_type)
        return TurnRequest(
            turn_id=number, scope=scope, messages=(Incoming(**said),), policy=WIDE, fence=1, asked_session=asked
        )

    async def asks(self, text: str, **fields: Any) -> Prepared:
        return await self.memory.load_and_append(self.turn(text, **fields))


QUESTIONS = (
    "What is my order?", "what did ann-7 say?", "我喜欢什么？", "%", "_", "* OR 1=1", "what jam do I like?",
)  # fmt: skip

Attack = Callable[[Forger], Awaitable[object]]


async def _load_and_append(f: Forger) -> object:
    ann = f.there.ann
    prompts = [await f.asks(question) for question in QUESTIONS]
    prompts.append(await f.asks("mine?", asked_session=ann.rows[0].session_id, reply_to="m100"))
    prompts.append(await f.asks("mine?", turn_id=ann.turn_id, event_id=ann.rows[0].event_id))
    prompts.append(await f.asks("mine?", key={"room": f"d-{ANN}"}))
    prompts += [await f.asks("mine?", key={"room": wild}) for wild in WILD if "\x00" not in wild]
    prompts.append(await f.asks("mine?", key={"room": f"g-{MALLORY}", "chat_type": "group"}, reply_to="o100"))
    prompts.append(await f.asks("mine?", quote=Quoted(name="x", text="?"), reply_to="%"))
    return [(prepared.context, prepared.stored_reply) for prepared in prompts]


async def _handed_over(f: Forger) -> object:
    prepared = await f.asks("What is my order?")
    others = [
        msgspec.structs.replace(WIDE, namespace=space, agent=space or "x") for space in ("shared", "%", "", "_hared")
    ]
    return [(await f.memory.handed_over(prepared, policy=policy, revision="r")).context for policy in others]


async def _append(f: Forger) -> object:
    return await f.memory.append(await f.asks("hi", reply_to="m100"), Reply(text="ho"), fence=1)


async def _record(f: Forger) -> object:
    return await f.memory.record(await f.asks("hi"))


async def _observe(f: Forger) -> object:
    key = f.there.me.key(room=f"g-{MALLORY}", chat_type="group")
    said = Incoming(key=key, event_id=160, text="x", person_id=f.there.me.person_id, platform_message_id="o100")
    return await f.memory.observe(f.there.me.name(room=key.room, chat_type="group"), said, agent_change="fresh")


async def _edit(f: Forger) -> object:
    """In rooms that are named like Ann's, nearly: her message's id is in none of them."""
    done = []
    for room in (f"d-{ANN}", *WILD[:12], "d-%", "_-ann-7"):
        for kind in ("private", "group"):
            scope, key = f.there.me.name(room=room, chat_type=kind), f.there.me.key(room=room, chat_type=kind)
            done += [await f.memory.edit(scope, id_, by=key, text="x") for id_ in ("m100", "m_00", "%")]
    assert not any(done)
    return done


async def _delete(f: Forger) -> object:
    done = []
    for room in (f"d-{ANN}", *WILD[:12], "d-%", "_-ann-7"):
        for kind in ("private", "group"):
            scope, key = f.there.me.name(room=room, chat_type=kind), f.there.me.key(room=room, chat_type=kind)
            done += [await f.memory.delete(scope, id_, by=key) for id_ in ("m100", "m_00", "%")]
    assert not any(done)
    return done


async def _load(f: Forger) -> object:
    me = f.there.me
    rooms = [me.name(), me.name(room=f"d-{ANN}"), me.name(room="d-%"), me.name(room="%", chat_type="group")]
    return [
        await f.memory.load(scope, person_id=who, policy=WIDE, agent_change="alias")
        for scope in rooms
        for who in (me.person_id, None, 0)
    ]


async def _human_append(f: Forger) -> object:
    said = HumanReply(key=f.there.me.key(), turn_id=f.there.ann.turn_id, event_id=9_900, text="x", name="Otto")
    return await f.humans.append(f.there.me.name(), said, idle_ms=10**9, fence=1, agent_change="fresh")


async def _draft(f: Forger) -> object:
    model = Told()
    try:
        await f.humans.draft_summary(f.there.me.name(), model, Summarising(), agent_change="fresh")
    except ModelFailed as exc:
        return str(exc)
    assert model.prompts
    return model.prompts


ATTACKS: dict[str, Attack] = {
    "Memory.load_and_append": _load_and_append,
    "Memory.load": _load,
    "Memory.handed_over": _handed_over,
    "Memory.append": _append,
    "Memory.record": _record,
    "Memory.observe": _observe,
    "Memory.edit": _edit,
    "Memory.delete": _delete,
    "Memory.end_session": lambda f: f.memory.end_session(f.there.me.name(room=f"d-{ANN}"), agent_change="fresh"),
    "HumanTalk.append": _human_append,
    "HumanTalk.recent": lambda f: f.humans.recent(f.there.me.name(room=f"d-{ANN}"), agent_change="alias", most=99),
    "HumanTalk.steps": lambda f: f.humans.steps(f.there.me.name(), f.there.ann.turn_id, agent_change="fresh"),
    "HumanTalk.draft_summary": _draft,
}
_ADMINS = "by a turn's number: an admin's look, whose rights for the turn's channel the door asks about"
NOBODYS = {
    "Memory.shortened": "pure: it has what the prompt had",
    "Memory.ledger": _ADMINS,
    "Memory.explain": _ADMINS,
    "Memory.replay": _ADMINS,
    "HumanTalk.failed": "says yes or no about a turn, to who answers in it",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(column: Column) -> AsyncIterator[Neighbours]:
    async with neighbours(column) as living:
        yield living


@pytest.mark.parametrize("verb", ATTACKS)
async def test_nothing_of_somebody_else_s_is_told_or_changed(there: Neighbours, verb: str) -> None:
    """In no prompt, no result, no row."""
    before = there.seen or there.hers()

    result = await ATTACKS[verb](Forger(there))

    assert [] == there.leaks(result)
    there.seen = there.hers()
    assert before == there.seen


async def test_whoever_she_is_is_told_all_of_it(there: Neighbours) -> None:
    """The same questions in Ann's own place: it is no empty memory that was asked."""
    forger = Forger(there)
    ann = there.ann
    said = Incoming(key=ann.key(), event_id=5_000, text="What is my order?", person_id=ann.person_id)
    turn = TurnRequest(turn_id=5_000, scope=ann.name(), messages=(said,), policy=WIDE, fence=1)

    prepared = await forger.memory.load_and_append(turn)

    assert set(WORDS[:3]) <= set(there.leaks(prepared.context))


async def test_no_verb_is_without_an_attack() -> None:
    promised = {
        f"{kind.__name__}.{name}" for kind in (Memory, HumanTalk) for name in vars(kind) if not name.startswith("_")
    }

    assert promised == set(ATTACKS) | set(NOBODYS)
