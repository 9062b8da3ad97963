"""How much of what a Chinese speaker said is found again by a question in other words, with and without pairs of characters.

Questions of our own over messages of one person (`labelled/chinese_recall.jsonl`), of the kinds that people ask of a memory:
simple, conditional ("the friend who…"), comparative and aggregate (several messages answer), noisy, and paraphrases that share
hardly a character with what they ask for. The whole set is one memory. Those written `before` helped to choose how Chinese is
cut and which words count as the same; those written `after` were measured once, when that stood. One hand wrote them all.
Goal of engines.md B.1: 85 of 100 targets.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import msgspec

from memory.terms import terms
from tests.bench.talk import Said, Talk

SET = Path(__file__).parent / "labelled" / "chinese_recall.jsonl"
SESSION = 6  # messages each

Cut = Callable[[str], Counter[str]]
RUN = re.compile(r"[\u4e00-\u9fff]+|[a-z0-9]+")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question and the messages that answer it."""

    id: int
    written: str  # before or after the terms were made
    kind: str
    asked: str
    said: list[str]


def load() -> list[Asked]:
    """Return the set, in its order."""
    return [msgspec.json.decode(line, type=Asked) for line in SET.read_bytes().splitlines()]


def runs(text: str) -> Counter[str]:
    """Cut as most full-text searches do: a whole run of characters is one word (mem0ai/mem0#7164)."""
    return Counter(RUN.findall(text.casefold()))


def pairs(text: str) -> Counter[str]:
    """Cut into pairs of characters and nothing else."""
    return Counter(
        part
        for run in RUN.findall(text.casefold())
        for part in ([run] if run.isascii() or len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)])
    )


def measure(questions: Sequence[Asked], cut: Cut) -> dict[int, tuple[float, float, float]]:
    """Return, by question, the part of its messages among the first ten and five, and whether the very first is one."""
    said = [message for question in questions for message in question.said]
    talk = Talk([
        Said(session=f"s{at // SESSION}", position=at % SESSION, text=message, terms=cut(message))
        for at, message in enumerate(said)
    ])  # fmt: skip
    figures, first = {}, 0
    for question in questions:
        wanted = set(range(first, first + len(question.said)))
        first += len(question.said)
        found = [one.id for one in talk.recall(cut(question.asked), k=10)]
        ten, five = (len(wanted & set(found[:k])) / len(wanted) for k in (10, 5))
        figures[question.id] = (ten, five, float(bool(wanted & set(found[:1]))))
    return figures


def report(questions: Sequence[Asked], ways: Mapping[str, Cut]) -> str:
    """Return a line for each way, and one for each part and kind of the last one."""
    lines = []
    for name, cut in ways.items():
        figures = measure(questions, cut)
        lines.append(f"{name}: {_line([figures[one.id] for one in questions])}")
    parts: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for one in questions:
        parts[f"written {one.written}"].append(figures[one.id])
        parts[one.kind].append(figures[one.id])
    return "\n".join([*lines, *(f"  {name}: {_line(rows)}" for name, rows in parts.items())])


def _line(rows: Sequence[tuple[float, float, float]]) -> str:
    ten, five, first = (100 * fmean(column) for column in zip(*rows, strict=True))
    return f"R@10 {ten:.1f}, R@5 {five:.1f}, first {first:.1f} ({len(rows)} questions)"


if __name__ == "__main__":
    print(report(load(), {"runs of characters as words": runs, "pairs alone": pairs, "our terms": terms}))
