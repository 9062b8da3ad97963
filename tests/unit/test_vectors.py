"""Vectors: as they are written, the exact search through one person's, and what stays in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import ModelFailed
from memory.vectors import Hit, Key, Matrices, Matrix, matrix, top, unit_vectors

DIMS = 8
ANN, BOB = Key(1, "shared", "m/8"), Key(2, "shared", "m/8")


def random_vectors(count: int, *, seed: int = 0, dims: int = DIMS) -> list[tuple[int, bytes]]:
    rows = np.random.default_rng(seed).normal(size=(count, dims))
    return list(enumerate(unit_vectors(rows), 100))


def of_rows(*rows: list[float]) -> Matrix:
    return matrix(list(enumerate(unit_vectors(rows), 1)), dims=len(rows[0]))


@settings(deadline=None)
@given(
    count=st.integers(0, 300),
    copies=st.integers(1, 4),
    k=st.integers(0, 10),
    threshold=st.floats(-1, 1),
    seed=st.integers(0, 10**6),
)
def test_finds_exactly_what_comparing_everything_finds(
    count: int, copies: int, k: int, threshold: float, seed: int
) -> None:
    """Recall is 1.00 for every size, with any number of equal vectors: never through an approximate index (P1, B26)."""
    (_, query), *single = random_vectors(count + 1, seed=seed)
    vectors = [(id * 10 + copy, vector) for id, vector in single for copy in range(copies)]
    asked = np.frombuffer(query, "<f4").astype(np.float64)
    scores = {id: float(np.frombuffer(vector, "<f4").astype(np.float64) @ asked) for id, vector in vectors}
    expected = sorted((score for score in scores.values() if score >= threshold), reverse=True)[:k]

    hits = top(matrix(vectors, dims=DIMS), query, k=k, threshold=threshold)

    if any(abs(score - threshold) < 1e-4 for score in scores.values()):
        return  # float32 may put it on the other side; the next test is about that
    assert expected == pytest.approx([hit.score for hit in hits], abs=2e-5)
    assert all(scores[hit.id] == pytest.approx(hit.score, abs=2e-5) for hit in hits)
    assert len(hits) == len({hit.id for hit in hits})
    assert hits == sorted(hits, key=lambda hit: (-hit.score, -hit.id))


def test_a_cosine_that_reaches_the_threshold_counts() -> None:
    """0.6 is found at 0.6, whatever float32 makes of it; below it, nothing is injected (B26)."""
    rows = of_rows([3.0, 4.0], [0.0, 1.0])
    (east,) = unit_vectors([[1.0, 0.0]])

    assert [Hit(1, 0.6)] == top(rows, east, k=3, threshold=0.6)
    assert [] == top(rows, east, k=3, threshold=0.61)


@pytest.mark.parametrize("copies", [4, 5, 40])
def test_of_equally_near_ones_the_latest_comes_first(copies: int) -> None:
    """Contradicting memories that say it in equal words: the later one counts, however many there are (B47)."""
    (vector,) = unit_vectors([[1.0, 2.0, 3.0]])
    rows = matrix([(id, vector) for id in range(copies)], dims=3)

    assert [copies - 1, copies - 2, copies - 3] == [hit.id for hit in top(rows, vector, k=3, threshold=0.5)]


def test_vectors_of_other_dimensions_are_refused() -> None:
    """After a change of model the old vectors are told, not compared (mem0ai/mem0#5405, memodb-io/memobase#76)."""
    (short,), (long,) = unit_vectors([[1.0, 0.0]]), unit_vectors([[1.0, 0.0, 0.0]])

    with pytest.raises(ModelFailed, match=r"vectors of \[7\] have not 3 dimensions: embed their texts again"):
        matrix([(5, long), (7, short)], dims=3)
    with pytest.raises(ModelFailed, match="asked with 2 dimensions among vectors of 3"):
        top(matrix([(5, long)], dims=3), short, k=3, threshold=0.1)


@pytest.mark.parametrize("row", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_a_row_that_points_nowhere_is_refused(row: list[float]) -> None:
    """Nothing is near to it, or everything."""
    with pytest.raises(ValueError, match="not finite or is zero"):
        unit_vectors([[1.0, 0.0], row])


def test_a_matrix_of_another_generation_is_never_used() -> None:
    """A change of a person's items makes another generation; a reader that is behind does not bring the old one back."""
    held, old, new = Matrices(max_bytes=10**6), of_rows([1.0]), of_rows([2.0], [3.0])

    held.put(ANN, new, generation=6)
    held.put(ANN, old, generation=5)

    assert held.get(ANN, generation=5) is None
    assert new is held.get(ANN, generation=6)
    assert held.get(ANN, generation=7) is None
    assert new is held.last(ANN), "the next one can be made from it"
    assert held.last(BOB) is None


def test_people_namespaces_and_embedders_are_apart() -> None:
    """The owner is part of the key, and so is the model."""
    held = Matrices(max_bytes=10**6)
    keys = [ANN, BOB, ANN._replace(namespace="hr"), ANN._replace(embedder="other/8")]
    matrices = [of_rows([float(n + 1)]) for n in range(4)]
    for key, one in zip(keys, matrices, strict=True):
        held.put(key, one, generation=1)

    assert matrices == [held.get(key, generation=1) for key in keys]
    held.clear()
    assert [None] * 4 == [held.get(key, generation=1) for key in keys]


def test_what_was_used_longest_ago_makes_room() -> None:
    """The bound is in bytes; one matrix that is larger than all is not held at all."""
    small = matrix(random_vectors(10), dims=DIMS)
    held = Matrices(max_bytes=3 * small.nbytes)
    keys = [ANN._replace(person_id=number) for number in range(4)]
    for key in keys[:3]:
        held.put(key, small, generation=1)
    held.get(keys[0], generation=1)
    held.put(keys[3], small, generation=1)
    held.put(BOB._replace(person_id=9), matrix(random_vectors(500), dims=DIMS), generation=1)

    assert [True, False, True, True] == [held.get(key, generation=1) is not None for key in keys]
    assert 3 * small.nbytes == held.nbytes


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from(("put", "get", "clear")), st.integers(1, 40)),
        max_size=60,
    )
)
def test_never_more_than_allowed_and_never_another_generation(steps: list[tuple[int, int, str, int]]) -> None:
    """Whatever is put, asked for and forgotten, in whatever order."""
    held = Matrices(max_bytes=6_000)
    put: dict[tuple[int, int], Matrix] = {}
    for person, generation, what, rows in steps:
        key = ANN._replace(person_id=person)
        if what == "clear":
            held.clear()
            assert held.get(key, generation=generation) is None
        elif what == "get":
            found = held.get(key, generation=generation)
            assert found is None or found is put[person, generation]
        else:
            one = matrix(random_vectors(rows), dims=DIMS)
            held.put(key, one, generation=generation)
            if held.get(key, generation=generation) is one:
                put[person, generation] = one
        assert 0 <= held.nbytes <= 6_000
