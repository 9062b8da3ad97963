"""Quotas at work: who is let in, who is told, who is warned, and what is free."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.base import DeleteEvent, MessageEvent, Sender
from config.loader import load
from gateway.admission import Verdict
from gateway.metrics import Metrics
from gateway.usage.enforcing import Admitted, cause_of_event
from gateway.usage.entries import message
from gateway.usage.parts import UsageParts
from gateway.usage.rows import person_subject
from memory.base import Identity
from memory.derived import FullStore
from tests.contracts.columns import COLUMNS
from tests.unit.test_usage import NOON, called
from tests.usage import counting

SETTINGS = """
prices: {models: {mini: {input: 0.25, output: 2}}}
agents:
  helper: {kind: demo}
  dear: {kind: demo, quota: {tokens: {day: 1000}}}
defaults: {agent: helper}
channels:
  shop:
    kind: webhook
    secrets: [whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=]
    quota: {soft: 0.5, person: {messages: {day: 2}, tokens: {day: 5000}}, room: {messages: {minute: 5}}}
  free: {kind: webhook, secrets: [whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=]}
"""
ANSWER = Verdict("answer", "private")
ADA = Identity(kind="webhook", tenant="t", account="u1")


class World:
    """The quotas of one instance, at a time that tests set."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "my.yaml"
        self.path.write_text(SETTINGS, "utf-8")
        self.configuration = load(self.path, {})
        self.now, self.number, self.human = NOON, 0, False
        self.metrics = Metrics(version="1")
        self.usage: UsageParts
        self.store: FullStore

    def said(self, text: str = "hi", user: str = "u1", channel: str = "shop", **fields: Any) -> MessageEvent:
        self.number += 1
        made: dict[str, Any] = {"chat_type": "private", "room": f"dm-{user}"} | fields
        bot = made.pop("is_bot", False)
        trusted = made.pop("trusted", not bot)
        return MessageEvent(
            channel=channel,
            sender=Sender(user=user, tenant="t", account=user, is_bot=bot, trusted=trusted),
            message_id=f"m{self.number}",
            text=text,
            dedupe_ids=(f"m{self.number}",),
            **made,
        )

    async def admit(self, event: Any, verdict: Verdict = ANSWER, agent: str = "helper") -> Admitted:
        room = self.configuration.effective(event.channel, event.room, event.thread)
        return await self.usage.quotas.admit(event, room, agent=agent, verdict=verdict)

    async def say(self, text: str = "hi", user: str = "u1", **fields: Any) -> str:
        """Let a message in if it may be, and store it; return the rule."""
        admitted = await self.admit(self.said(text, user, **fields))
        if admitted.held is not None:
            self.usage.quotas.stored(admitted.held, self.number)
        return admitted.verdict.rule


@pytest.fixture
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    there = World(tmp_path)
    async with (
        COLUMNS["sqlite"](request).open() as store,
        counting(
            tmp_path,
            store=store,
            configuration=lambda: there.configuration,
            metrics=there.metrics,
            taken_over=lambda _: there.human,
            clock_ms=lambda: there.now,
        ) as usage,
    ):
        there.usage, there.store = usage, store
        yield there


async def test_a_person_has_one_quota_everywhere(world: World) -> None:
    """In private and in groups, written and only held; the next day begins anew."""
    held = await world.admit(world.said())
    assert held.held is not None
    assert "private" == await world.say(room="r", chat_type="group")
    assert "quota_person_messages_day" == await world.say(thread="t")
    world.usage.quotas.take_back(held.held)
    assert "private" == await world.say()
    assert "private" == await world.say(user="u2")

    world.now += 86_400_000
    assert "private" == await world.say()


async def test_at_once_as_many_pass_as_may(world: World) -> None:
    """Also of those whose count must be read first."""
    admitted = await asyncio.gather(*(world.admit(world.said()) for _ in range(10)))

    assert 2 == sum(one.held is not None for one in admitted)


@pytest.mark.parametrize(
    "text", ["/memory", "/forget all yes", "／帮助", "/new", "forget that", "忘了这个", "/human please"]
)
async def test_commands_are_free(world: World, text: str) -> None:
    """Nobody loses the right to be forgotten, or to ask for a human, with the last of their quota; what follows /new is
    answered, so it counts."""
    await world.say()
    await world.say()

    assert "private" == await world.say(text)
    assert "quota_person_messages_day" == await world.say("/new what was I saying?")


async def test_what_a_human_answers_is_free(world: World) -> None:
    """Nobody's message is lost while a human has the conversation."""
    await world.say()
    await world.say()
    world.human = True

    assert "private" == await world.say()


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict("ignore", "bot"),
        Verdict("observe", "observe"),
        Verdict("refuse", "too_long"),
        Verdict("answer", "probe"),
    ],
    ids=lambda verdict: verdict.rule,
)
async def test_what_asks_no_agent_counts_nothing(world: World, verdict: Verdict) -> None:
    """Neither does the gateway's own probe, an edit or a deletion, nor anything where no quota holds."""
    assert Admitted(verdict) == await world.admit(world.said(), verdict)
    sender = world.said().sender
    gone = DeleteEvent(
        channel="shop", room="r", chat_type="private", sender=sender, message_id="m1", dedupe_ids=("d1",)
    )
    assert Admitted(ANSWER) == await world.admit(gone)
    assert Admitted(ANSWER) == await world.admit(world.said(channel="free"))


async def test_a_channel_that_was_removed_meanwhile_has_no_quota(world: World) -> None:
    """Its message is let in all the same: its turn says that the channel is gone, and nothing is lost."""
    room = world.configuration.effective("shop", "r", None)

    admitted = await world.usage.quotas.admit(world.said(channel="gone"), room, agent="helper", verdict=ANSWER)

    assert Admitted(ANSWER) == admitted


async def test_an_account_that_hides_people_has_no_persons_quota(world: World) -> None:
    """It may be many, or one of many; its room's quota holds. A program that is over it is not told."""
    rules = [await world.say(user="anonymous", trusted=False, room="r", chat_type="group") for _ in range(6)]
    told = await world.admit(world.said(user="bot", is_bot=True, room="r", chat_type="group"))

    assert ["private"] * 5 + ["quota_room_messages_minute"] == rules
    assert Verdict("ignore", "quota_room_messages_minute") == told.verdict


async def test_an_agent_has_its_own(world: World) -> None:
    """Whoever asks; where its tokens are used up, memory asks it nothing either."""
    assert not await world.usage.quotas.agent_used_up("dear")
    assert not await world.usage.quotas.agent_used_up("helper")
    assert not await world.usage.quotas.agent_used_up("gone")
    world.usage.meter.note(msgspec.structs.replace(called(900, 1000), agent="dear"))

    assert "quota_agent_tokens_day" == (await world.admit(world.said(channel="free"), agent="dear")).verdict.rule
    assert await world.usage.quotas.agent_used_up("dear")


async def test_what_waited_is_asked_about_again(world: World) -> None:
    """Tokens that others before it in line have used up since; a message that was let in counts for itself no more."""
    event = world.said()
    room = world.configuration.effective("shop", event.room, None)
    person = await world.store.person(ADA, now_ms=NOON)
    await world.admit(event)
    await world.admit(world.said())

    async def ask() -> str | None:
        return await world.usage.quotas.used_up(event, room, agent="helper", person=person)

    assert await ask() is None
    world.usage.meter.note(msgspec.structs.replace(called(901, 5000), person=person))
    assert "quota_person_tokens_day" == await ask()
    free = world.configuration.effective("free", "r", None)
    assert await world.usage.quotas.used_up(world.said(channel="free"), free, agent="helper", person=person) is None


async def test_the_second_look_reads_nothing_for_limits_of_messages(world: World) -> None:
    """Those were counted as they came, this one among them; where there is no other limit nobody is looked up."""
    (folder := world.path).write_text(SETTINGS.replace(", tokens: {day: 5000}", ""), "utf-8")
    world.configuration = load(folder, {})
    person = await world.store.person(ADA, now_ms=NOON)
    await world.say()
    await world.say()
    world.usage.meter.counters.clear()

    room = world.configuration.effective("shop", "dm-u1", None)
    assert await world.usage.quotas.used_up(world.said(), room, agent="helper", person=person) is None
    assert [person_subject(person)] == world.usage.meter.counters.stale([person_subject(person)], now_s=0)


async def test_people_are_told_now_and_then(world: World) -> None:
    """Once an hour each, about a minute once a minute; each rule and person on their own."""
    quotas, rule = world.usage.quotas, "quota_person_messages_day"
    first = [quotas.may_tell(world.said(), rule) for _ in range(3)]
    other = quotas.may_tell(world.said(user="u2"), rule)
    another = quotas.may_tell(world.said(), "quota_room_messages_minute")
    world.now += 60_000
    minute = quotas.may_tell(world.said(), "quota_room_messages_minute")
    world.now += 3_600_000
    hour = quotas.may_tell(world.said(), rule)

    assert [True, False, False] == first
    assert [True] * 4 == [other, another, minute, hour]


async def test_admins_are_warned_of_what_comes_near(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """From the soft share on each message is counted, and the first one is in the log, with nobody's words."""
    await world.say("secret words")
    await world.say()
    await world.say()

    shown = world.metrics.render().decode()
    assert 'clew_quota_hits_total{channel="shop",limit="soft",per="person",unit="messages"} 1.0' in shown
    assert 'clew_quota_hits_total{channel="shop",limit="hard",per="person",unit="messages"} 1.0' in shown
    (warning,) = [record for record in caplog.records if "nearly used up" in record.message]
    assert "quota_person_messages_day" == warning.__dict__["quota"]
    assert "secret" not in caplog.text


async def test_people_may_be_told_before(world: World) -> None:
    """Once in its time, in their language, where the place wants it; nobody of whom nothing is known."""
    quotas, person = world.usage.quotas, await world.store.person(ADA, now_ms=NOON)
    room = world.configuration.effective("shop", "r", None)
    telling = room.model_copy(update={"quota": room.quota.model_copy(update={"tell": True})})
    await world.say()

    silent = [quotas.word_for(person, room, language="en"), quotas.word_for(None, telling, language="en")]
    told = [quotas.word_for(person, telling, language=language) for language in ("zh", "en")]  # type: ignore[arg-type]
    world.now += 86_400_000
    await world.say()
    another_day = quotas.word_for(person, telling, language="en")

    assert [None, None] == silent
    assert ["（您今天的用量已用去 50%。）", None] == told
    assert "(You have used up 50 % of what I may do for you today.)" == another_day


async def test_what_is_spent_is_measured(world: World) -> None:
    """Tokens and money in the currency of the settings, calls without a price apart, memory's apart, messages as neither."""
    event = world.said()
    world.usage.meter.note(called(950, 1_000_000))
    world.usage.meter.note(msgspec.structs.replace(called(951, 9), money=None))
    world.usage.meter.note(msgspec.structs.replace(called(953, 40), purpose="memory", completion=2))
    world.usage.meter.note(message(952, cause=cause_of_event(event, None), agent="helper", at_ms=NOON))

    shown = world.metrics.render().decode()
    assert 'clew_cost_total{agent="helper",currency="USD"} 0.25001' in shown
    assert 'clew_tokens_total{agent="helper",kind="prompt"} 1.000009e+06' in shown
    assert 'clew_tokens_total{agent="helper",kind="memory_prompt"} 40.0' in shown
    assert 'clew_tokens_total{agent="helper",kind="memory_completion"} 2.0' in shown
    assert 'clew_unpriced_calls_total{agent="helper"} 1.0' in shown
