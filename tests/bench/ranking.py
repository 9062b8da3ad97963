"""What ranking costs, by the number of hits, and what making a message's terms does: CPU time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from memory.base import Corpus, Hit
from memory.ranking import rank
from memory.terms import term_ids, terms

SIZES = (50, 500, 5_000)
ROUNDS = 5
TEXTS = {
    "an English message": "Could you check whether order 8821 has been shipped, and when it arrives?",
    "a Chinese message": "请帮我查一下订单 8821 有没有发货，什么时候能到？",
    "10,000 characters": "Could you check whether order 8821 has been shipped? 请帮我查一下订单有没有发货。" * 140,
}


def hits(size: int) -> list[Hit]:
    """Return hits of a question of six terms, ten in a session: every one has two of them, or none (a neighbour's place)."""
    return [
        Hit(
            scope_id=1, id=at, session_id=f"s-{at // 10}", position=at % 10, length=8 + at % 9,
            terms={at % 6: 1, (at * 7 + 1) % 6: 2} if at % 4 else {},
        )
        for at in range(size)
    ]  # fmt: skip


def report() -> str:
    """Return a line for each figure: medians of the best round."""
    query = dict.fromkeys(range(6), 1.0)
    lines = []
    for size in SIZES:
        found = hits(size)
        corpus = Corpus(fragments=10 * size, length=100 * size)
        spent = _median_us(lambda f=found, c=corpus: rank(query, f, c, k=10), max(5, 20_000 // size))  # type: ignore[misc]
        lines.append(f"rank {size:5} hits: {spent:8.0f} µs, {spent / size:.2f} µs a hit")
    for name, text in TEXTS.items():
        spent = _median_us(lambda t=text: term_ids(1, terms(t)), 50)  # type: ignore[misc]
        lines.append(f"terms and ids of {name}: {spent:.0f} µs")
    return "\n".join(lines)


def _median_us(work: Callable[[], object], times: int) -> float:
    rounds = []
    for _ in range(ROUNDS):
        spans = []
        for _ in range(times):
            began = time.process_time()
            work()
            spans.append(time.process_time() - began)
        rounds.append(statistics.median(spans))
    return min(rounds) * 1e6


if __name__ == "__main__":
    print(report())
