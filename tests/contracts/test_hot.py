"""What hot state promises, in each place it can be in: counts that let through exactly as many as may, a bus, a shelf."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from itertools import cycle

import pytest

from gateway.hot.base import MOST_BODY, RateLimits
from gateway.hot.process import ProcessRateLimits
from tests.contracts.hot import Where, instances, where

__all__ = ["where"]

HOSTILE = [
    "",
    "a",
    "telegram:123",
    "群:王小明",
    "👨‍👩‍👧",
    "x" * 10_000,
    "*",
    "%",
    "\x00",
    "\ud800",
    "'; DROP TABLE hot_counts",
]


class Moment:
    """A clock that the test moves."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


async def taken(limits: RateLimits, who: str, count: int, *, most: int, within_s: float = 60) -> int:
    """Take one after the other; return how many passed."""
    return sum([await limits.take(who, most=most, within_s=within_s) for _ in range(count)])


class TestLimits:
    """`RateLimits`."""

    @pytest.mark.parametrize("takers", [1, 3])
    async def test_of_acts_at_once_exactly_as_many_pass_as_may(self, where: Where, takers: int) -> None:
        """However many come at once, on however many instances."""
        async with instances(where, takers) as hot:
            asked = [(one.limits, who) for one, who in zip(cycle(hot), ["王 a", "b"] * 45, strict=False)]
            passed = await asyncio.gather(*(limits.take(who, most=20, within_s=3600) for limits, who in asked))

            assert [20, 20] == [sum(passed[number::2]) for number in range(2)]
            assert not await hot[0].limits.free("b", most=20, within_s=3600)
            assert await hot[-1].limits.free("nobody yet", most=1)

    async def test_a_window_slides(self, where: Where) -> None:
        """Twenty in the last sixty seconds and not twenty per calendar minute: a burst over the edge is not twice as large."""
        moment = Moment(59)
        async with where.opened(clock=moment) as hot:
            passed = [await taken(hot.limits, "a", 25, most=20)]
            for moment.now in (59.9, 60, 66, 66.1, 119.9, 120, 200, 400):
                passed.append(await taken(hot.limits, "a", 25, most=20))

        assert [20, 0, 0, 2, 0, 17, 1, 19, 20] == passed

    async def test_one_a_minute_is_not_two_over_the_edge(self, where: Where) -> None:
        """What is left of the minute before counts as a whole: a notice at its end is not followed by one a second later."""
        moment = Moment(59.9)
        async with where.opened(clock=moment) as hot:
            passed = [await hot.limits.take("a", most=1)]
            for moment.now in (61, 119, 120, 121):
                passed.append(await hot.limits.take("a", most=1))

        assert [True, False, False, True, False] == passed

    async def test_what_is_refused_counts_nothing(self, where: Where) -> None:
        """Who goes on asking is let through again as soon as who waits."""
        moment = Moment(0)
        async with where.opened(clock=moment) as hot:
            assert 2 == await taken(hot.limits, "a", 40, most=2)
            moment.now = 90

            assert 1 == await taken(hot.limits, "a", 5, most=2)

    async def test_what_was_no_act_is_given_back(self, where: Where) -> None:
        """A repeat, counted before it was known to be one, leaves the count as it was, over the edge of a minute too; never
        below nothing."""
        moment = Moment(59)
        async with where.opened(clock=moment) as hot:
            limits = hot.limits
            await limits.give_back("a")
            assert 2 == await taken(limits, "a", 2, most=2)
            await limits.give_back("a")
            assert 1 == await taken(limits, "a", 2, most=2)
            moment.now = 60.1
            for _ in range(3):
                await limits.give_back("a")

            assert 2 == await taken(limits, "a", 3, most=2)

    async def test_a_count_begins_anew(self, where: Where) -> None:
        async with instances(where, 2) as (one, other):
            assert 3 == await taken(one.limits, "a", 5, most=3, within_s=86_400)
            await other.limits.reset("a")
            await other.limits.reset("nobody")

            assert 3 == await taken(other.limits, "a", 5, most=3, within_s=86_400)

    async def test_limits_of_one_who_may_differ(self, where: Where) -> None:
        """Rooms have limits of their own, and their members one count: also where both are asked for at once."""
        async with instances(where, 2) as (one, other):
            wide = [one.limits.take("a", most=10, within_s=3600) for _ in range(12)]
            narrow = [other.limits.take("a", most=3, within_s=3600) for _ in range(12)]
            passed = await asyncio.gather(*wide, *narrow)

            assert 10 == sum(passed)
            assert not await one.limits.take("a", most=3, within_s=3600)

    async def test_whoever_has_a_name_has_a_count(self, where: Where) -> None:
        """Whatever is in a name, it counts for itself alone."""
        async with where.opened() as hot:
            passed = [await taken(hot.limits, who, 2, most=1, within_s=3600) for who in HOSTILE]
            for who in HOSTILE:
                await hot.limits.give_back(who)

        assert [1] * len(HOSTILE) == passed

    @pytest.mark.parametrize("seed", range(4))
    async def test_whatever_comes_in_whatever_order_counts_alike(self, where: Where, seed: int) -> None:
        """Acts, what is given back and what begins anew, on three instances, while time goes on (now and then for long): as one
        process counts them."""
        dice, moment = random.Random(seed), Moment(1_764_530_000 + seed / 7)
        model = ProcessRateLimits(clock=moment)
        async with instances(where, 3, clock=moment) as hot:
            for _ in range(120):
                moment.now += dice.choice([0, 0, 0.25, 7, 31, 200]) * (dice.random() < 0.5)
                who, most = dice.choice(["ann", "王"]), dice.choice([3, 3, 5])
                limits: RateLimits = dice.choice(hot).limits
                match dice.choice(["take", "take", "take", "take", "free", "give back", "reset"]):
                    case "take":
                        assert await model.take(who, most=most) == await limits.take(who, most=most)
                    case "free":
                        assert await model.free(who, most=most) == await limits.free(who, most=most)
                    case "give back":
                        await model.give_back(who)
                        await limits.give_back(who)
                    case _ if dice.random() < 0.3:
                        await model.reset(who)
                        await limits.reset(who)
                    case _:
                        pass

    async def test_nothing_may_be_done_where_the_limit_is_nothing(self, where: Where) -> None:
        async with where.opened() as hot:
            assert not await hot.limits.take("a", most=0)
            assert not await hot.limits.free("a", most=0)


async def heard(words: AsyncIterator[bytes], count: int) -> list[bytes]:
    """Return the next words."""
    async with asyncio.timeout(30):
        return [await anext(words) for _ in range(count)]


class TestBus:
    """`Bus`."""

    async def test_all_who_hear_a_topic_hear_all_of_it_in_order(self, where: Where) -> None:
        """On every instance, the speaker's own included; and nothing of other topics."""
        said = [f"word {number} 第 👋".encode() for number in range(300)]
        async with (
            instances(where, 3) as hot,
            hot[0].bus.hear("a") as own,
            hot[1].bus.hear("a") as other,
            hot[2].bus.hear("群 *") as elsewhere,
        ):
            for body in said:
                hot[0].bus.say("a", body)
            hot[0].bus.say("群 *", b"for another")

            assert said == await heard(own, 300)
            assert said == await heard(other, 300)
            assert [b"for another"] == await heard(elsewhere, 1)

    async def test_words_arrive_whole(self, where: Where) -> None:
        """Long ones too, also where the way bears short ones only (NOTIFY: 8,000 bytes)."""
        sizes = [0, 1, 5_860, 5_880, 7_999, 100_000, MOST_BODY]
        said = [bytes(number % 251 for number in range(size)) for size in sizes]
        async with instances(where, 2) as hot, hot[1].bus.hear("a") as words:
            for body in said:
                hot[0].bus.say("a", body)

            assert said == await heard(words, len(said))

    async def test_what_is_too_long_is_not_said(self, where: Where) -> None:
        """Its hearers look at the truth."""
        async with instances(where, 2) as hot, hot[1].bus.hear("a") as words:
            hot[0].bus.say("a", bytes(MOST_BODY + 1))
            hot[0].bus.say("a", b"end")

            assert [b"end"] == await heard(words, 1)

    async def test_who_hears_too_slowly_loses_the_oldest(self, where: Where) -> None:
        """And nobody waits for it."""
        async with where.opened() as hot, hot.bus.hear("a") as slow, hot.bus.hear("b") as quick:
            for start in range(0, 3_000, 500):
                for number in range(start, start + 500):
                    hot.bus.say("a", b"%d" % number)
                hot.bus.say("b", b"%d" % start)
                await heard(quick, 1)

            assert [b"2000", b"2001"] == await heard(slow, 2)

    async def test_what_nobody_hears_is_gone(self, where: Where) -> None:
        async with instances(where, 2) as hot:
            async with hot[1].bus.hear("a") as words:
                hot[0].bus.say("a", b"first")
                await heard(words, 1)
            async with hot[1].bus.hear("b"):
                hot[0].bus.say("a", b"unheard")
                async with hot[1].bus.hear("a") as words:
                    hot[0].bus.say("a", b"last")
                    last = (await heard(words, 1))[0]
                    while last == b"unheard":  # it was still on its way
                        last = (await heard(words, 1))[0]

        assert b"last" == last


class TestShelf:
    """`Shelf`."""

    async def test_a_value_is_there_for_every_instance(self, where: Where) -> None:
        """The last one put under the key, whatever is in that."""
        async with instances(where, 2) as (one, other):
            for key in HOSTILE:
                await one.shelf.put(key, b"first", life_s=600)
                await one.shelf.put(key, b"\x00\xff" + key.encode("utf-8", "surrogatepass"), life_s=600)
            for key in HOSTILE:
                assert b"\x00\xff" + key.encode("utf-8", "surrogatepass") == await other.shelf.get(key)
                assert await other.shelf.get(f"{key}?") is None

    async def test_a_value_has_an_end(self, where: Where) -> None:
        async with where.opened() as hot:
            await hot.shelf.put("a", b"short", life_s=0.001)
            await asyncio.sleep(0.01)  # by the server's clock

            assert await hot.shelf.get("a") is None

    async def test_a_value_of_any_size_that_may_be(self, where: Where) -> None:
        async with where.opened() as hot:
            await hot.shelf.put("a", bytes(MOST_BODY), life_s=600)
            with pytest.raises(ValueError, match="262145 bytes"):
                await hot.shelf.put("a", bytes(MOST_BODY + 1), life_s=600)

            assert bytes(MOST_BODY) == await hot.shelf.get("a")
