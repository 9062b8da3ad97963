"""The threshold of an embedder is what the calibration measures, not what somebody liked."""

from __future__ import annotations

import numpy as np
import pytest

from config.embedders import USEM3
from tests.bench.calibrate import LANGUAGES, Measured, calibrate, choose, measure, rates, report, triples
from tests.contracts.embedder import usem3


def measured(*, same: list[float], other: list[float], strangers: list[float]) -> Measured:
    return Measured(same=np.array(same), other=np.array(other), strangers=np.array(strangers))


async def test_the_threshold_in_use_is_the_one_measured() -> None:
    """B26 and F9: 0.72 belongs to another model, and would let this one recall next to nothing."""
    embedder = usem3()

    assert USEM3.threshold == await calibrate(embedder)
    for language in LANGUAGES:
        found = (await measure(embedder, half=1, language=language))["recall"]
        own, foreign = rates(found, USEM3.threshold), rates(found, 0.72)
        assert own.precision >= 0.95
        assert own.recall >= 0.5
        assert foreign.recall <= 0.05


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_pairs_are_many_and_distinct(language: str) -> None:
    """At least sixty related and sixty unrelated pairs a language; none is its own answer, and no question stands twice."""
    found = triples(language)

    assert len(found) >= 100
    assert {"paraphrase", "recall"} == {one.kind for one in found}
    assert len(found) == len({(one.text, one.same) for one in found})
    assert all(3 == len({one.text, one.same, one.other}) for one in found)


def test_the_least_threshold_that_is_good_in_every_language() -> None:
    """One language alone would choose less."""
    easy = measured(same=[0.5, 0.6], other=[0.01], strangers=[0.02] * 100)
    hard = measured(same=[0.5, 0.9], other=[0.301], strangers=[0.41] * 3 + [0.0] * 97)

    assert 0.05 == choose([easy])
    assert 0.42 == choose([easy, hard])


def test_a_model_to_which_all_is_related_gets_none() -> None:
    """Some score 0.84 for anything: recall by them would add noise to every prompt."""
    blind = measured(same=[0.99], other=[0.999], strangers=[1.0] * 100)

    with pytest.raises(ValueError, match="no threshold keeps what is unrelated away"):
        choose([blind])


async def test_the_report_says_what_was_chosen() -> None:
    """Precision and recall by threshold, for both languages."""
    text = await report(usem3())

    assert text.endswith(f"chosen: {USEM3.threshold:.2f} (in use: {USEM3.threshold:.2f})")
    assert all(f"{language}, recall (" in text for language in LANGUAGES)
