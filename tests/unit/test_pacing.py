"""Pacing: no limit broken in any window, nobody passed in a line, and a block that holds its own scope only."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Rate
from gateway.pacing import GONE_S, JITTER_S, Pacing

CHAT = Rate(scope="chat", count=20, per_s=60)
ALL = Rate(scope="全部 🌍", count=30, per_s=1)
ONE = Rate(scope="one", count=1, per_s=1)


def room(name: str) -> Rate:
    return Rate(scope=f"room {name}", count=1, per_s=1)


def simulated(
    pacing: Pacing, wishes: dict[str, tuple[int, tuple[Rate, ...]]], *, late: float = 0.0, until: float = 1e9
) -> list[tuple[float, str]]:
    """Let every queue make its number of calls, one after another, asking again when it is told to (`late` seconds late);
    return (time, queue) of each call in order."""
    line = [(0.0, n, queue) for n, queue in enumerate(wishes)]
    left = {queue: count for queue, (count, _) in wishes.items()}
    calls: list[tuple[float, str]] = []
    asked = len(line)
    while line:
        line.sort()
        now, _, queue = line.pop(0)
        if now > until:
            break
        at = pacing.turn_at("c", queue, wishes[queue][1], now=now)
        if at <= now:
            calls.append((now, queue))
            left[queue] -= 1
        if left[queue]:
            asked += 1
            line.append((max(at, now) + late, asked, queue))
    return calls


def most_in_window(times: list[float], *, per_s: float) -> int:
    """The most calls in any half-open window."""
    return max((sum(start <= time < start + per_s for time in times) for start in times), default=0)


@given(
    st.lists(st.tuples(st.integers(1, 8), st.booleans()), min_size=1, max_size=6),
    st.integers(1, 5),
    st.floats(0.1, 10),
    st.sampled_from([0.0, 0.01, 0.3, 2.0]),
)
def test_no_window_holds_more_than_the_limit(
    queues: list[tuple[int, bool]], count: int, per_s: float, late: float
) -> None:
    """Whoever asks, and however late he comes back: never more than `count` calls in any `per_s` seconds, and none is lost."""
    limit = Rate(scope="all", count=count, per_s=per_s)
    wishes = {f"q{n}": (calls, (room(f"q{n}"), limit) if own else (limit,)) for n, (calls, own) in enumerate(queues)}
    calls = simulated(Pacing(), wishes, late=late)

    assert {queue: wanted for queue, (wanted, _) in wishes.items()} == Counter(queue for _, queue in calls)
    assert count >= most_in_window([time for time, _ in calls], per_s=per_s + JITTER_S - 1e-9)
    for n, (_, own) in enumerate(queues):
        if own:
            assert 1 >= most_in_window([time for time, queue in calls if queue == f"q{n}"], per_s=1 + JITTER_S - 1e-9)


def test_one_message_does_not_wait_for_a_hundred() -> None:
    """Rooms take turns within a scope: who has much to send is passed by who has one thing to say."""
    pacing = Pacing()
    calls = simulated(pacing, {"long": (100, (ONE,)), "short": (1, (ONE,)), "也短": (2, (ONE,))})

    assert ["long", "short", "也短", "long", "也短", "long", "long"] == [queue for _, queue in calls[:7]]


def test_a_line_keeps_its_order_when_it_stalls() -> None:
    """Coming back late costs the time it takes, not the place."""
    calls = simulated(Pacing(), {f"q{n}": (2, (ONE,)) for n in range(5)}, late=0.4)

    assert [f"q{n}" for n in range(5)] * 2 == [queue for _, queue in calls]


def test_a_busy_room_does_not_hold_up_the_others() -> None:
    """Places in a room's own line take nothing from the budget that all share."""
    pacing = Pacing()
    for n in range(40):
        chat = Rate(scope=f"chat{n}", count=1, per_s=60)
        pacing.turn_at("c", f"busy{n}", (chat, ALL), now=n / 20)
        pacing.turn_at("c", f"busy{n}", (chat, ALL), now=n / 20)

    assert 5.0 == pacing.turn_at("c", "calm", (room("calm"), ALL), now=5.0)


def test_a_block_holds_its_scope_and_no_other() -> None:
    """Retry-After counts for what it was asked of (openclaw#50866); who waited already keeps his place behind it."""
    pacing = Pacing()
    assert 0.0 == pacing.turn_at("c", "a", (ONE,), now=0.0)
    first, second = (pacing.turn_at("c", queue, (ONE,), now=0.0) for queue in ("b", "a"))
    pacing.block("c", "one", until=100.0, now=0.5)

    assert 0.6 == pacing.turn_at("c", "other", (room("other"),), now=0.6)
    assert 0.6 == pacing.turn_at("d", "b", (ONE,), now=0.6), "another channel's scope of that name is another one"
    assert [100.0, 100.0 + second - first] == [
        pytest.approx(pacing.turn_at("c", queue, (ONE,), now=first)) for queue in ("b", "a")
    ]
    assert 100.0 == pacing.turn_at("c", "b", (ONE,), now=100.0)
    assert 101.1 <= pacing.turn_at("c", "a", (ONE,), now=100.5) < 101.3


def test_a_queue_can_be_blocked_itself() -> None:
    """What was asked of an address holds there, whether or not its channel has limits."""
    pacing = Pacing()
    pacing.block("c", "room", until=30.0, now=0.0)

    assert 30.0 == pacing.turn_at("c", "room", (), now=1.0)
    assert 30.0 == pacing.turn_at("c", "room", (ONE,), now=1.0)
    assert not pacing.spare("c", "room", (), now=1.0)
    assert 1.0 == pacing.turn_at("c", "next door", (ONE,), now=1.0)
    assert 30.0 == pacing.turn_at("c", "room", (ONE,), now=30.0)


def test_what_may_be_dropped_leaves_half_to_what_may_not() -> None:
    """Of 20 a minute ten may show a reply while it is made; where somebody waits none may."""
    pacing = Pacing()
    shown = [pacing.spare("c", "r", (CHAT,), now=n * 0.1) for n in range(20)]
    sent = [pacing.turn_at("c", f"q{n}", (CHAT,), now=3.0) for n in range(11)]

    assert [True] * 10 + [False] * 10 == shown
    assert [3.0] * 10 == sent[:10]
    assert sent[10] >= 60
    assert not pacing.spare("c", "r", (CHAT,), now=61.5)


def test_a_single_call_is_free_when_nobody_wants_it() -> None:
    """One of one leaves no half; it is given while unused, and not while its scope is blocked."""
    pacing = Pacing()

    assert [True, False, True] == [pacing.spare("c", "r", (ONE,), now=now) for now in (0.0, 1.05, 1.1)]
    pacing.block("c", "one", until=5.0, now=1.1)
    assert [False, True] == [pacing.spare("c", "r", (ONE,), now=now) for now in (4.9, 5.0)]


def test_of_three_calls_two_may_show_something() -> None:
    """The sign that an answer is being made does not keep its first words waiting."""
    pacing, three = Pacing(), Rate(scope="one", count=3, per_s=3)

    assert [True, True, False] == [pacing.spare("c", "r", (three,), now=now) for now in (0.0, 1.0, 2.0)]
    assert 2.0 == pacing.turn_at("c", "r", (three,), now=2.0)


def test_who_does_not_come_back_is_forgotten() -> None:
    """A place whose message is gone holds up the line for a minute at most."""
    pacing = Pacing()
    for queue in ("a", "b", "c", "d"):
        pacing.turn_at("c", queue, (ONE,), now=0.0)
    late = 5.0 + GONE_S

    assert late == pacing.turn_at("c", "new", (ONE,), now=late)


def test_memory_is_bounded() -> None:
    """A million rooms leave no million budgets; what is at rest is dropped first."""
    pacing = Pacing(most=50)
    for n in range(1000):
        pacing.turn_at("c", f"q{n}", (room(str(n)), ALL), now=n / 10)
        pacing.turn_at("c", f"q{n}", (Rate(scope=str(n), count=1, per_s=900), ALL), now=n / 10)
        pacing.turn_at("c", f"p{n}", (Rate(scope=str(n), count=1, per_s=900), ALL), now=n / 10)

    assert len(pacing._scopes) <= 53
    assert len(pacing._places) <= 51


@given(
    st.integers(1, 25),
    st.lists(st.floats(0, 60), max_size=25),
    st.lists(st.floats(0, 60), max_size=13),
    st.floats(0, 5),
)
def test_who_goes_on_breaks_no_limit_that_another_has_used(
    count: int, sends: list[float], shows: list[float], handed_over_s: float
) -> None:
    """What another has sent is known, what it has shown is not (half of a budget at most); within its own limits. Whoever comes
    after it makes calls as fast as it may, and no minute holds more than the platform bears."""
    rate, took_over = Rate(scope="群", count=count, per_s=60), 60 + handed_over_s
    shown = sorted(shows)[: (count + 1) // 2]
    sent = sorted(sends)[: count - len(shown)]
    pacing = Pacing()
    pacing.goes_on("c", [((rate,), at) for at in sent], now=took_over)
    assert not pacing.spare("c", "q", [rate], now=took_over), "nobody knows what was shown"
    calls, now = [*sent, *shown], took_over
    for _ in range(2 * count):
        while (at := pacing.turn_at("c", "q", [rate], now=now)) > now:
            now = at
        calls.append(now)

    assert most_in_window(calls, per_s=60) <= count
    assert now <= took_over + 3 * (60 + 1), "and nobody waits longer than the platform makes them"
    assert pacing.spare("c", "q", [rate], now=now + 61)


def test_a_room_that_was_quiet_before_is_answered_at_once() -> None:
    """Of three in three seconds one is left right after another has begun to send; who has one in a second waits for it."""
    pacing, private = Pacing(), Rate(scope="a", count=3, per_s=3)
    pacing.goes_on("c", [((CHAT,), 0.0)], now=1.0)

    assert 1.0 == pacing.turn_at("c", "q", [private], now=1.0)
    assert 1.0 + 3 + JITTER_S == pytest.approx(pacing.turn_at("c", "q", [private], now=1.0))
    assert 1.0 + 1 + JITTER_S == pytest.approx(pacing.turn_at("c", "p", [ONE], now=1.0))
    assert 1.0 == pacing.turn_at("another", "p", [ONE], now=1.0)


def test_who_only_hears_of_waits_keeps_no_more_than_others() -> None:
    """An instance that sends nothing forgets as well: what is over, and beyond the bound what is oldest."""
    pacing = Pacing(most=10)
    for number in range(1_000):
        pacing.block("c", f"房 {number}", until=5.0 + number, now=float(number))

    assert len(pacing._scopes) <= 11
