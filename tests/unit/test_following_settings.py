"""What becomes of changed settings: put in place, put off while a store is away, or told as not in force."""

from __future__ import annotations

import pytest

from config.loader import Configuration, load
from config.problems import InvalidSettings, Problem
from gateway.errors import StoreBusy
from gateway.following import follow_change
from memory.errors import StoreUnavailable
from tests.links import ROOT


@pytest.fixture
def changed() -> Configuration:
    return load(ROOT / "config" / "default.yaml", {})


async def _followed(change: Configuration | InvalidSettings, *faults: Exception) -> tuple[int, list[str]]:
    """Return how often it was tried, and what was told of it."""
    told: list[str] = []
    left, tries = list(faults), 0

    async def put_in_place(_changed: Configuration) -> None:
        nonlocal tries
        tries += 1
        if left:
            raise left.pop(0)

    await follow_change(change, put_in_place, not_in_force=told.append, retry_s=0)
    return tries, told


async def test_a_store_that_is_away_is_waited_for(changed: Configuration) -> None:
    """Memory's or the queues': the file will not change a second time."""
    assert (3, []) == await _followed(changed, StoreUnavailable("away"), StoreBusy("away", retry_after_s=1))


async def test_what_cannot_be_put_in_place_is_told(changed: Configuration) -> None:
    """Valid settings that fail for another reason leave the last good ones, and whoever asks is told so, without their words."""
    assert (1, ["RuntimeError: could not be put in place; the log says why"]) == await _followed(
        changed, RuntimeError("sk-secret")
    )


async def test_refused_settings_are_not_tried() -> None:
    """The loader has said why."""
    problem = Problem(file="f", line=1, path="x", value="", problem="is wrong", remedy="mend it")

    assert (0, []) == await _followed(InvalidSettings([problem]))
