"""Asking agents: not where another instance may be asking them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from gateway.asking import Asking, Draft, Lent
from gateway.errors import LeaseLost
from gateway.inbox.base import Claim
from gateway.lanes import Running
from gateway.traces import OFF
from tests.unit.test_lanes import event


async def test_who_may_have_lost_the_lane_asks_no_agent() -> None:
    """A process that was stopped before its first call, before a shorter try or a fallback, and wakes late: another one is
    answering by then, and would be paid for twice. Nothing is touched, so nothing else is needed here."""
    nothing = cast("Any", None)
    asking = Asking(
        live=nothing, memory=nothing, streams=nothing, metrics=nothing, quotas=nothing, spending=nothing, traces=OFF
    )
    claim = Claim(lane="room:大厅", fence=1)
    turn = Running(claim=claim, turn_id=1, speaker="a", events=(event(1),), attempts=0, mine=lambda: False)
    policy = cast("Any", type("Policy", (), {"agent": "demo"}))
    made = cast("Any", type("Made", (), {"model": ""}))

    with pytest.raises(LeaseLost, match="claimed under 1 "):
        await asking.ask(turn, nothing, Draft(nothing), lent=Lent(made=made, policy=policy), caller=nothing)
