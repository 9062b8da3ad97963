"""How much of what people say about themselves the rules find, and how much they make up, on labelled turns.

Goal of engines.md B.1: precision 0.95 and recall 0.6 on the reporting half. Even ids are for tuning, odd ids for reporting.
A finding counts only if its change, its slot and its whole value are the labelled ones.
"""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from memory.candidates import Candidate, KnownValue, Source
from memory.rules.extract import propose

Half = Literal["tuning", "reporting"]

LABELLED = Path(__file__).parent / "labelled"
LANGUAGES = ("english", "chinese")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change that a reader of the turn would make; an empty value takes back all of the slot's."""

    op: Literal["set", "retract"]
    slot: str
    value: str


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A labelled turn: `asked` is the assistant's message before it, `known` what the session already had."""

    id: int
    kind: str
    asked: str
    text: str
    known: tuple[KnownValue, ...]
    expect: tuple[Change, ...]

    @property
    def half(self) -> Half:
        return "reporting" if self.id % 2 else "tuning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts of found and labelled changes; a ratio over nothing is 1."""

    right: int
    found: int
    labelled: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.labelled if self.labelled else 1.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def turns(language: str) -> list[Turn]:
    """Return the labelled turns of a language, in order of their ids."""
    lines = (LABELLED / f"{language}.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Turn) for line in lines]


def found(turn: Turn) -> tuple[Candidate, ...]:
    """Return what the rules make of a turn."""
    source = Source(id=turn.id, person_id=1, text=turn.text)
    return propose([source], known=turn.known, asked=turn.asked)


def score(chosen: Iterable[Turn], *, slot: str | None = None) -> Score:
    """Return the counts over some turns, of one slot or of all (None)."""
    right = seen = labelled = 0
    for turn in chosen:
        got = _counted(found(turn), slot)
        want = _counted(turn.expect, slot)
        right += (got & want).total()
        seen += got.total()
        labelled += want.total()
    return Score(right=right, found=seen, labelled=labelled)


def report() -> str:
    """Return all figures as lines of text: a language's halves, then its slots over the reporting half."""
    lines = []
    for language in LANGUAGES:
        everything = turns(language)
        empty = sum(not turn.expect for turn in everything)
        lines.append(f"{language}: {len(everything)} turns, {empty} of them with nothing to find")
        for half in ("tuning", "reporting"):
            lines.append(_line(f"  {half} half", score(_half(everything, half))))
        reporting = _half(everything, "reporting")
        for slot in sorted({change.slot for turn in reporting for change in turn.expect}):
            lines.append(_line(f"    {slot}", score(reporting, slot=slot)))
    return "\n".join(lines)


def misses(language: str) -> str:
    """Return what went wrong on the tuning half; the reporting half is for figures only."""
    lines = []
    for turn in _half(turns(language), "tuning"):
        got, want = _counted(found(turn), None), _counted(turn.expect, None)
        if got != want:
            lines.append(f"{turn.id}: {turn.text}\n     wrong {list(got - want)}\n    missed {list(want - got)}")
    return "\n".join(lines)


def main(arguments: Sequence[str] = ()) -> None:
    """Print the figures, or with the argument `misses` the tuning half's errors."""
    print("\n".join(map(misses, LANGUAGES)) if "misses" in arguments else report())


def _half(everything: Iterable[Turn], half: str) -> list[Turn]:
    return [turn for turn in everything if turn.half == half]


def _counted(changes: Iterable[Candidate | Change], slot: str | None) -> Counter[tuple[str, str, str]]:
    return Counter((one.op, one.slot, _plain(one.value)) for one in changes if slot in (None, one.slot))


def _plain(value: str) -> str:
    return unicodedata.normalize("NFKC", value).casefold()


def _line(what: str, figures: Score) -> str:
    return (
        f"{what:24} precision {figures.precision:5.3f}  recall {figures.recall:5.3f}  F1 {figures.f1:5.3f}"
        f"  ({figures.right} right of {figures.found} found, {figures.labelled} labelled)"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
