"""What admission counts: what asks for an answer, for its sender, and bots in a row, on however many instances."""

from __future__ import annotations

import asyncio

import pytest

from adapters.base import MessageEvent, Sender
from config.channels.base import RoomSettings
from gateway.admission import DESK
from gateway.admitting import Admitted, Admitting
from gateway.hot.process import ProcessRateLimits
from memory.key import Scope


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def said(
    text: str = "hi", *, user: str = "ann", bot: bool = False, thread: str | None = None, call: bool = True
) -> MessageEvent:
    return MessageEvent(
        channel="acme",
        room="群",
        thread=thread,
        chat_type="group",
        sender=Sender(user=user, tenant="t", account=user, is_bot=bot),
        mentions_bot=call,
        dedupe_ids=("d",),
        message_id="m",
        text=text,
    )


ROOM = RoomSettings.model_validate({"limits": {"per_minute": 3, "message_chars": 20}})
BOTS = RoomSettings.model_validate({"limits": {"per_minute": 100}, "bots": "answer", "bot_depth": 2})


class Desk:
    """Who else may have a say."""

    staff = False
    asked = 0

    async def answered(self, scope: Scope, within: str | None) -> bool:
        self.asked += 1
        return True

    async def at_desk(self, message: MessageEvent) -> bool:
        return self.staff


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def two(desk: Desk) -> tuple[Admitting, Admitting]:
    """Admission on two instances with one place of counts."""
    limits = ProcessRateLimits(clock=Clock())
    one, other = (
        Admitting(limits=limits, answered=desk.answered, desk=desk.at_desk, taken_over=lambda _: False) for _ in "ab"
    )
    return one, other


def rules(admitted: list[Admitted]) -> list[str]:
    return [one.verdict.rule for one in admitted]


async def test_a_minute_is_one_on_all_instances(two: tuple[Admitting, Admitting]) -> None:
    """At once, in whatever order: as many pass as may, and what is refused counts nothing."""
    admitted = await asyncio.gather(*(one.admit(said(), ROOM) for one in two * 5))

    assert 3 == rules(admitted).count("mention")
    assert 7 == rules(admitted).count("rate_limited")
    assert 3 == sum(one.counted for one in admitted)


async def test_only_what_asks_for_an_answer_counts(two: tuple[Admitting, Admitting]) -> None:
    """Talk among people, /stop and what staff say do not; what is too long does."""
    one, other = two
    for _ in range(5):
        assert not (await one.admit(said(call=False), ROOM)).counted
        assert not (await other.admit(said("/stop"), ROOM)).counted
    long = await one.admit(said("x" * 21), ROOM)

    assert ("too_long", True) == (long.verdict.rule, long.counted)
    assert ["mention"] * 2 + ["rate_limited"] == rules([await other.admit(said(), ROOM) for _ in range(3)])
    assert ("too_long", False) == ((late := await one.admit(said("x" * 21), ROOM)).verdict.rule, late.counted)


async def test_what_staff_say_is_no_talk(two: tuple[Admitting, Admitting], desk: Desk) -> None:
    desk.staff = True

    assert [DESK] * 5 == rules([await two[0].admit(said(), ROOM) for _ in range(5)])


async def test_what_was_known_already_is_given_back(two: tuple[Admitting, Admitting]) -> None:
    """What was counted for it, and nothing else: not for one that was refused."""
    one, other = two
    for _ in range(3):
        last = await one.admit(said(), ROOM)
    refused = await other.admit(said(), ROOM)
    await other.give_back(said(), refused)
    assert ["rate_limited"] == rules([await one.admit(said(), ROOM)])
    await other.give_back(said(), last)

    assert ["mention", "rate_limited"] == rules([await one.admit(said(), ROOM) for _ in range(2)])


async def test_one_complaint_a_minute(two: tuple[Admitting, Admitting]) -> None:
    """On all instances together; one that was none leaves it to the next."""
    one, other = two
    assert [True, False] == [await one.may_complain(said()), await other.may_complain(said())]
    await other.untold(said())

    assert [True, False] == [await other.may_complain(said()), await one.may_complain(said())]


async def test_bots_come_to_an_end_on_all_instances(two: tuple[Admitting, Admitting]) -> None:
    """A person's word begins the count anew, whichever instance hears it; and a bot that is ignored uses up no limit."""
    one, other = two
    bots = [said(user=f"bot {number % 2}", bot=True) for number in range(4)]
    before = [await instance.admit(bot, BOTS) for instance, bot in zip((one, other) * 2, bots, strict=True)]
    await other.admit(said(call=False), BOTS)
    after = [await instance.admit(bot, BOTS) for instance, bot in zip((one, other) * 2, bots, strict=True)]

    assert ["mention", "mention", "bot_depth", "bot_depth"] == rules(before) == rules(after)
    assert [True, True, False, False] == [one.in_row for one in before] == [one.counted for one in before]


async def test_a_bots_message_that_came_again_is_not_in_the_row(two: tuple[Admitting, Admitting]) -> None:
    one, other = two
    bot = said(user="bot", bot=True)
    for _ in range(5):
        await other.give_back(bot, await one.admit(bot, BOTS))

    assert ["mention", "mention", "bot_depth"] == rules([await one.admit(bot, BOTS) for _ in range(3)])


async def test_threads_are_asked_about_only_where_it_matters(two: tuple[Admitting, Admitting], desk: Desk) -> None:
    """What calls the bot by itself, or stands in no thread, costs no look."""
    threads = RoomSettings.model_validate({"trigger": ["mention", "thread"]})
    for event in (said(thread="t"), said(call=False)):
        await two[0].admit(event, threads)
    assert 0 == desk.asked

    assert ["thread"] == rules([await two[0].admit(said(thread="t", call=False), threads)])
    assert 1 == desk.asked
