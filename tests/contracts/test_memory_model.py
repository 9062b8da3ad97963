"""The memory facade against a model: random talks in many places, on every database, give the prompts the rules promise."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contracts.columns import COLUMNS, Column
from tests.contracts.memory_model import Model

_examples = itertools.count(1)

VERBS = ("say", "say", "say", "unanswered", "overtaken", "twice", "observe", "edit", "delete", "new", "wait", "restart")
PLACES = st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True)
STEPS = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 2), st.integers(0, 40)), min_size=10, max_size=40)


@pytest.fixture(params=COLUMNS)
def column(request: pytest.FixtureRequest) -> Column:
    return COLUMNS[request.param](request)


@given(places=PLACES, steps=STEPS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_talk_gives_the_prompts_the_rules_promise(
    column: Column, places: list[int], steps: list[tuple[str, int, int]]
) -> None:
    """Whatever is said, edited, deleted, forgotten, repeated or restarted, wherever: all that the rules promise is in the
    prompt, nothing else is, the array is valid, the ledger complete and the replay identical (A33 to A36, C19, D05, B58)."""
    name = f"x{next(_examples)}"
    model: Model | None = None
    rest = list(steps)
    while rest or model is None:
        async with column.open() as store:
            model = model or Model(store, name=name)
            model.restart(store)
            while rest:
                verb, place, number = rest.pop(0)
                if verb == "restart":
                    break
                await getattr(model, verb)(places[place % len(places)], number)
            if not rest:
                await model.compare()
