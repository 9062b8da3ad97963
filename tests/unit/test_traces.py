"""Ids of traces, and what spans cost where nobody collects them."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.telemetry import TelemetrySettings
from gateway.traces import OFF, Outcome, root_id, trace_id, traced
from tests.emulators.collector import collector

TURNS = st.integers(0, 2**63 - 1)


@given(TURNS, TURNS)
def test_ids_come_from_the_turn_alone(one: int, other: int) -> None:
    """Every process finds the same ones: 128 and 64 bits, never 0, of another turn others."""
    assert (trace_id(one), root_id(one)) == (trace_id(one), root_id(one))
    assert 0 < trace_id(one) < 2**128
    assert 0 < root_id(one) < 2**64
    assert (one == other) == (trace_id(one) == trace_id(other))


def test_their_low_bits_look_random() -> None:
    """Samplers keep a share of traces by them: of turns counted up, as of any."""
    low = [trace_id(turn) & (2**64 - 1) for turn in range(10_000)]

    assert 0.23 < sum(one < 2**62 for one in low) / len(low) < 0.27


def test_off_is_one_object_that_does_nothing() -> None:
    """No span is made: not even one object a step."""
    first, second = OFF.span("turn", turn=1, channel="acme"), OFF.span("load")
    with first as span:
        span.note(anything=1)
    OFF.accepted(1, since_ns=0, first=True, channel="acme")

    assert first is second
    with pytest.raises(ValueError, match="passes"), OFF.span("load"):
        raise ValueError("passes")


async def test_a_share_of_turns_is_traced_whole() -> None:
    """By the turn's id, so that every process keeps or leaves out the same ones, with all their steps."""
    ended: Counter[str] = Counter()
    lock = threading.Lock()

    def count(outcome: Outcome, number: int) -> None:
        with lock:
            ended[outcome] += number

    async with collector() as watching:
        settings = TelemetrySettings(traces_url=watching.url, sample=0.5, timeout_s=5)
        async with traced(settings, instance="1", version="1", ended=count) as traces:
            for turn in range(200):
                traces.accepted(turn, since_ns=1, first=True)
                with traces.span("turn", turn=turn), traces.span("load"):
                    await asyncio.sleep(0)
        names: dict[str, set[str]] = {}
        for span in watching.spans:
            names.setdefault(span.trace, set()).add(span.name)

    kept = {f"{trace_id(turn):032x}" for turn in range(200) if trace_id(turn) & (2**64 - 1) < 2**63}
    assert kept == names.keys()
    assert {"accept", "turn", "load"} == set.intersection(*names.values())
    assert {"exported": 3 * len(kept)} == dict(ended)


async def test_more_than_can_be_held_is_counted_and_left_out() -> None:
    """The queue is bounded: with a collector that hangs, spans are dropped and counted, and nothing waits for it."""
    ended: Counter[str] = Counter()

    def count(outcome: Outcome, number: int) -> None:
        ended[outcome] += number

    async with collector() as watching:
        watching.held = asyncio.Event()
        settings = TelemetrySettings(traces_url=watching.url, timeout_s=60)
        async with traced(settings, instance="1", version="1", ended=count) as traces:
            for turn in range(6_000):
                traces.accepted(turn, since_ns=1, first=True)
            dropped = ended["dropped"]
            watching.held.set()

    assert dropped > 500
    assert 6_000 == sum(ended.values())
