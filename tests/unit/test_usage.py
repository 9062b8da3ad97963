"""What is counted and by which times: money to the millionth, days that begin where the admin lives, limits and their shares."""

from __future__ import annotations

from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.channels.base import QuotaLimits, QuotaSettings
from config.settings import PriceSettings
from gateway.usage.counters import Counters
from gateway.usage.entries import Cause, Entry, Tokens, call, cost, message
from gateway.usage.quotas import any_set, is_quota, limits_for, nearing, quota_notice, reached
from gateway.usage.rows import Amounts, Subject
from gateway.usage.windows import ends, starts, zone

PRICES = PriceSettings.model_validate(
    {
        "models": {
            "mini": {"input": 0.25, "cached_input": 0.025, "output": 2},
            "free": {"input": 0, "output": 0},
            "tiny": {"input": 0.02, "output": 0},
        }
    }
)
UTC, SHANGHAI, BERLIN = zone("UTC"), ZoneInfo("Asia/Shanghai"), ZoneInfo("Europe/Berlin")


def ms(text: str, where: tzinfo = UTC) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=where).timestamp() * 1000)


NOON = ms("2026-11-30T12:00:30")
ROOM = Cause(channel="shop", room="客服 👩‍👩‍👧", person=7)


def said(event_id: int, *, at_ms: int = NOON, cause: Cause = ROOM) -> Entry:
    return message(event_id, cause=cause, agent="helper", at_ms=at_ms)


def called(entry_id: int, tokens: int, *, at_ms: int = NOON) -> Entry:
    return call(
        entry_id,
        "answer",
        turn_id=1,
        cause=ROOM,
        agent="helper",
        model="mini",
        tokens=Tokens(tokens, 0),
        failed=False,
        at_ms=at_ms,
        prices=PRICES,
    )


@pytest.mark.parametrize(
    ("tokens", "model", "millionths"),
    [
        (Tokens(1000, 200), "mini", 650),
        (Tokens(1000, 200, cached=1000), "mini", 425),
        (Tokens(1000, 0, cached=5000), "mini", 25),  # no service has more in its cache than was asked
        (Tokens(2, 0), "mini", 0),  # half a millionth, to the even one
        (Tokens(6, 0), "mini", 2),
        (Tokens(10**12, 10**12), "mini", 2_250_000_000_000),
        (Tokens(1000, 200), "free", 0),
        (Tokens(1000, 200), "other", None),
    ],
)
def test_a_call_costs_what_its_tokens_cost(tokens: Tokens, model: str, millionths: int | None) -> None:
    """In whole millionths of the currency; what has no price costs nobody knows what, which is not nothing."""
    assert millionths == cost(tokens, PRICES, model=model)


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 1000, allow_nan=False))
def test_more_tokens_never_cost_less(few: int, more: int, price: float) -> None:
    """Whatever the price; and no float spoils whole millionths."""
    prices = PriceSettings.model_validate({"models": {"m": {"input": price, "output": price}}})
    one, both = cost(Tokens(few, 0), prices, model="m"), cost(Tokens(few + more, 0), prices, model="m")

    assert one is not None
    assert both is not None
    assert one <= both


@pytest.mark.parametrize(
    ("moment", "where", "day", "month"),
    [
        ("2026-11-30T15:59:59", SHANGHAI, "2026-11-30", "2026-11"),
        ("2026-11-30T16:00:00", SHANGHAI, "2026-12-01", "2026-12"),
        ("2026-12-31T23:30:00", BERLIN, "2027-01-01", "2027-01"),
        ("2026-12-31T23:30:00", UTC, "2026-12-31", "2026-12"),
        ("2024-02-29T00:00:00", UTC, "2024-02-29", "2024-02"),
    ],
)
def test_days_begin_where_the_admin_lives(moment: str, where: tzinfo, day: str, month: str) -> None:
    """At midnight of the zone in the settings; minutes are the same everywhere."""
    assert (f"{moment[:16]}", day, month) == starts(ms(moment), where)


@pytest.mark.parametrize(
    ("span", "moment", "where", "over"),
    [
        ("minute", "2026-11-30T12:00:30", UTC, "2026-11-30T12:01:00+00:00"),
        ("day", "2026-11-30T12:00:30", UTC, "2026-12-01T00:00:00+00:00"),
        ("month", "2026-12-01T00:00:00", UTC, "2027-01-01T00:00:00+00:00"),
        ("month", "2026-01-31T12:00:00", UTC, "2026-02-01T00:00:00+00:00"),
        ("day", "2026-10-24T22:30:00", BERLIN, "2026-10-26T00:00:00+01:00"),  # a day of 25 hours
        ("day", "2026-03-28T23:30:00", BERLIN, "2026-03-30T00:00:00+02:00"),  # and one of 23
    ],
)
def test_a_time_ends_when_the_next_begins(span: str, moment: str, where: tzinfo, over: str) -> None:
    """Also where clocks are changed on that day."""
    assert over == ends(span, ms(moment), where).isoformat()  # type: ignore[arg-type]


QUOTA = QuotaSettings.model_validate(
    {"person": {"messages": {"day": 3, "minute": 2}, "money": {"month": 0.5}}, "room": {"tokens": {"day": 100}}}
)
PERSON, PLACE = Subject("person", "", "7"), Subject("room", "shop", ROOM.room)


def limits(*, person: int = 7, room: str = ROOM.room) -> list[str]:
    found = limits_for(channel="shop", room=room, person=person, agent="helper", quota=QUOTA, of_agent=None)
    return [f"{limit.rule}:{limit.most}" for limit in found]


def test_limits_are_those_of_the_place() -> None:
    """The longest time first; no room's in private, and no person's of whom nobody knows anything."""
    persons = ["quota_person_money_month:500000", "quota_person_messages_day:3", "quota_person_messages_minute:2"]

    assert [*persons, "quota_room_tokens_day:100"] == limits()
    assert persons == limits(room="")
    assert ["quota_room_tokens_day:100"] == limits(person=0)
    assert not any_set(QuotaSettings(), QuotaLimits())
    assert any_set(QUOTA, None)
    assert any_set(QuotaSettings(), QuotaLimits.model_validate({"tokens": {"day": 1}}))


def counters(*entries: Entry, subjects: tuple[Subject, ...] = (PERSON, PLACE)) -> Counters:
    counted = Counters(fresh_s=None)
    for subject in subjects:
        counted.put(subject, {}, entries, at_ms=NOON, zone=UTC, now_s=0)
    return counted


def reached_now(counted: Counters, at_ms: int = NOON) -> str | None:
    found = limits_for(channel="shop", room=ROOM.room, person=7, agent="helper", quota=QUOTA, of_agent=None)
    limit = reached(found, lambda subject: counted.used(subject, starts(at_ms, UTC)))
    return None if limit is None else limit.rule


def test_the_smallest_amount_of_money_is_a_limit() -> None:
    """Less than the least that is counted is that: a limit of nothing would hold everybody back from the start."""
    least = QuotaSettings.model_validate({"person": {"money": {"day": 0.0000001}}})
    (limit,) = limits_for(channel="shop", room="", person=7, agent="helper", quota=least, of_agent=None)

    assert 1 == limit.most


def test_a_limit_holds_until_its_time_is_over() -> None:
    """Two in a minute, three in a day: the next minute one more, the next day all anew."""
    counted = counters(said(1), said(2))
    minute_over, day_over = NOON + 60_000, NOON + 86_400_000

    assert "quota_person_messages_minute" == reached_now(counted)
    assert reached_now(counted, minute_over) is None
    counted.add(said(3, at_ms=minute_over), UTC)
    assert "quota_person_messages_day" == reached_now(counted, minute_over)
    assert reached_now(counted, day_over) is None


def test_what_comes_late_counts_for_its_own_time() -> None:
    """A call that ends past midnight but was noted of the day before uses up nothing of the new one."""
    counted = counters()
    counted.used(PERSON, starts(NOON + 86_400_000, UTC))

    counted.add(said(1), UTC)

    used = counted.used(PERSON, starts(NOON + 86_400_000, UTC))
    assert [0, 0, 0] == [amounts.messages for amounts in used.values()]


def test_held_messages_count_at_once() -> None:
    """Before they are stored; what was none is taken back."""
    counted = counters()
    counted.hold([PERSON], 2)

    assert "quota_person_messages_minute" == reached_now(counted)
    counted.hold([PERSON], -2)
    assert reached_now(counted) is None
    counted.hold([PERSON], -2)
    assert 0 == counted.used(PERSON, starts(NOON, UTC))["day"].messages


def test_rooms_of_one_number_are_two() -> None:
    """On two channels, whatever their platforms call them."""
    there = Subject("room", "other", ROOM.room)
    counted = counters(called(1, 100), subjects=(PLACE, there))

    assert (100, 0) == tuple(counted.used(one, starts(NOON, UTC))["day"].tokens for one in (PLACE, there))


def test_tokens_and_money_are_limits_too() -> None:
    """A room's tokens and a person's money, whoever's call it was."""
    counted = counters(called(1, 100))
    assert "quota_room_tokens_day" == reached_now(counted)
    assert "quota_person_money_month" == reached_now(counters(called(1, 2_000_000)))


def test_the_share_that_is_soft() -> None:
    """From 80 of 100 on it is told, and no longer once it is used up."""
    found = limits_for(channel="shop", room=ROOM.room, person=0, agent="helper", quota=QUOTA, of_agent=None)

    def near(tokens: int, soft: float = 0.8) -> int:
        return len(nearing(found, lambda _: {"day": Amounts(tokens=tokens)}, soft=soft))  # type: ignore[dict-item]

    assert [0, 1, 1, 0, 0] == [near(79), near(80), near(99), near(100), near(99, soft=1)]


def test_counters_are_bounded_and_read_again() -> None:
    """Whoever falls out is read anew; where others count, whatever is older than allowed, too. (AstrBot's limiter, which kept a
    counter for every session for ever and took two platforms' rooms of one number for one.)"""
    counted = Counters(fresh_s=1, bound=1)
    counted.put(PERSON, {}, (), at_ms=NOON, zone=UTC, now_s=0)
    counted.put(PLACE, {"day": Amounts(5, 6, 7)}, (), at_ms=NOON, zone=UTC, now_s=0)

    assert [PERSON] == counted.stale([PERSON, PLACE], now_s=0.9)
    assert [PERSON, PLACE] == counted.stale([PERSON, PLACE], now_s=1)
    assert Amounts(5, 6, 7) == counted.used(PLACE, starts(NOON, UTC))["day"]
    assert Amounts() == counted.used(PERSON, starts(NOON, UTC))["day"]
    counted.forget(PLACE)
    assert [PLACE] == counted.stale([PLACE], now_s=0)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            "quota_person_money_month",
            (
                "You have used up what I may do for you this month. From 2026-12-01 00:00 (Asia/Shanghai) on I can "
                "answer you again.",
                "您本月的用量已经用完。2026 年 12 月 1 日 00:00（Asia/Shanghai）起我可以继续回答您。",
            ),
        ),
        (
            "quota_room_messages_minute",
            (
                "This group has used up what I may do here in a minute. Please write again a minute from now.",
                "本群这一分钟的用量已经用完，请一分钟后再发。",
            ),
        ),
    ],
)
def test_people_are_told_when_it_is_free_again(rule: str, words: tuple[str, str]) -> None:
    """In their language, in the zone of the settings; how much it was is the admin's affair."""
    told = tuple(
        quota_notice(rule, language, at_ms=NOON, zone=SHANGHAI, zone_name="Asia/Shanghai") for language in ("en", "zh")
    )

    assert words == told
    assert is_quota(rule)
    assert not is_quota("rate_limited")
