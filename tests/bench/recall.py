"""How much of the evidence of LoCoMo's questions recall finds: `python -m tests.bench.recall SET.json`, or LOCOMO=SET.json.

The set (https://github.com/snap-research/locomo, CC BY-NC 4.0) is read where it lies, and nothing of it stands in this project.
No language model: a question counts as answered by what was retrieved for it. A message is one turn of the set, with its
image's caption; a few references to evidence are malformed, and repaired or skipped as the last line says. Weights and word
lists were tuned on the first three conversations of the set's developing half; the figures of the others are what counts.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import Any

from memory.ranking import Ranked, rank
from memory.terms import message_terms, terms
from tests.bench.recall_vectors import by_both
from tests.bench.talk import Said, Talk

TUNED_ON = frozenset({"conv-26", "conv-41", "conv-43"})
KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ALL = 10_000

Find = Callable[["Dialogue", "Question"], list[int]]
"""Returns the places of a dialogue's turns, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, of what kind, and the places of the turns that hold the evidence."""

    text: str
    kind: int
    evidence: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """One conversation of the set."""

    name: str
    talk: Talk
    texts: Sequence[str]  # of the turns, with captions
    sessions: Sequence[str]  # of the turns
    speakers: frozenset[str]
    questions: Sequence[Question]
    skipped: int  # references to evidence that lead nowhere


def load(raw: bytes) -> list[Dialogue]:
    """Return the set's conversations, in its order."""
    return [_dialogue(entry) for entry in json.loads(raw)]


def _dialogue(entry: Mapping[str, Any]) -> Dialogue:
    conversation = entry["conversation"]
    ids: dict[str, int] = {}
    said: list[Said] = []
    texts = []
    for session, turns in _sessions(conversation):
        day = datetime.strptime(conversation[f"{session}_date_time"].split(" on ")[1], "%d %B, %Y").date()
        for position, turn in enumerate(turns):
            text = f"{turn['text']} {turn.get('blip_caption', '')}".strip()
            found = message_terms(text, speaker=turn["speaker"], day=day)
            ids[turn["dia_id"]] = len(said)
            said.append(Said(session=session, position=position, text=turn["text"], terms=found))
            texts.append(text)
    questions, skipped = _questions(entry["qa"], ids)
    return Dialogue(
        name=entry["sample_id"], talk=Talk(said), texts=texts, sessions=[one.session for one in said],
        speakers=frozenset({conversation["speaker_a"], conversation["speaker_b"]}), questions=questions, skipped=skipped,
    )  # fmt: skip


def _sessions(conversation: Mapping[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    numbers = sorted(int(name[8:]) for name in conversation if re.fullmatch(r"session_\d+", name))
    return ((f"session_{number}", conversation[f"session_{number}"]) for number in numbers)


def _questions(entries: Iterable[Mapping[str, Any]], ids: Mapping[str, int]) -> tuple[list[Question], int]:
    """Return the questions with evidence. Several ids in one string are taken apart; what isn't there is counted."""
    questions, skipped = [], 0
    for entry in entries:
        named = [f"D{a}:{b}" for text in entry["evidence"] for a, b in re.findall(r"D:?(\d+):0*(\d+)", text)]
        evidence = frozenset(ids[name] for name in named if name in ids)
        skipped += sum(name not in ids for name in named)
        if evidence:
            questions.append(Question(text=entry["question"], kind=entry["category"], evidence=evidence))
    return questions, skipped


def keywords(dialogue: Dialogue, question: Question) -> list[int]:
    """Find as recall does without an embedder."""
    return _ids(dialogue.talk.recall(terms(question.text), k=ALL))


def words_alone(dialogue: Dialogue, question: Question) -> list[int]:
    """Find by the same words, without neighbours and sessions."""
    query = dialogue.talk.query(terms(question.text))
    ranked = rank(query, dialogue.talk.hits(query), dialogue.talk.corpus, k=ALL)
    return _ids(sorted(ranked, key=lambda one: (-one.words, -one.id)))


def _ids(ranked: Iterable[Ranked]) -> list[int]:
    return [one.id for one in ranked]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Percentages. `recall10` is the part of a question's evidence among the first ten turns, averaged; `sessions5` the part
    of the evidence's sessions among the first five sessions that turn up."""

    questions: int
    recall10: float
    mrr: float
    any5: float
    all10: float
    sessions5: float
    kinds: Mapping[str, float]  # recall10 of each

    def line(self) -> str:
        kinds = ", ".join(f"{kind} {value:.1f}" for kind, value in self.kinds.items())
        return (
            f"R@10 {self.recall10:.1f}, MRR {self.mrr:.1f}, any@5 {self.any5:.1f}, all@10 {self.all10:.1f}, "
            f"sessions R@5 {self.sessions5:.1f}; R@10 by kind: {kinds} ({self.questions} questions)"
        )


def measure(dialogues: Iterable[Dialogue], find: Find) -> Figures:
    """Return the figures of one way to find, over all questions of some dialogues."""
    rows: list[tuple[float, float, float, float, float]] = []
    kinds: defaultdict[str, list[float]] = defaultdict(list)
    for dialogue in dialogues:
        for question in dialogue.questions:
            rows.append(row := _row(find(dialogue, question), question.evidence, dialogue.sessions))
            kinds[KINDS[question.kind]].append(row[0])
    recall10, mrr, any5, all10, sessions5 = (100 * fmean(column) for column in zip(*rows, strict=True))
    return Figures(
        questions=len(rows), recall10=recall10, mrr=mrr, any5=any5, all10=all10, sessions5=sessions5,
        kinds={kind: 100 * fmean(kinds[kind]) for kind in KINDS.values() if kind in kinds},
    )  # fmt: skip


def _row(
    found: Sequence[int], evidence: frozenset[int], sessions: Sequence[str]
) -> tuple[float, float, float, float, float]:
    first = next((place for place, id_ in enumerate(found, 1) if id_ in evidence), None)
    recalled = len(evidence & set(found[:10])) / len(evidence)
    wanted = {sessions[id_] for id_ in evidence}
    seen = list(dict.fromkeys(sessions[id_] for id_ in found))[:5]
    return (
        recalled,
        1 / first if first else 0.0,
        float(bool(first and first <= 5)),
        float(recalled == 1),
        len(wanted & set(seen)) / len(wanted),
    )


def report(dialogues: Sequence[Dialogue], ways: Mapping[str, Find]) -> str:
    """Return a line for each half and way."""
    halves = {
        "tuned on": [one for one in dialogues if one.name in TUNED_ON],
        "not tuned on": [one for one in dialogues if one.name not in TUNED_ON],
    }
    lines = [
        f"{name}, {half}: {measure(some, find).line()}"
        for name, find in ways.items()
        for half, some in halves.items()
        if some
    ]
    return "\n".join([*lines, f"references to evidence that lead nowhere: {sum(one.skipped for one in dialogues)}"])


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("LOCOMO")
    if not path:
        print("LoCoMo: no set given (LOCOMO=path, or a path as argument)")
        sys.exit(0)
    with open(path, "rb") as file:
        dialogues = load(file.read())
    ways: dict[str, Find] = {"words alone": words_alone, "keywords": keywords}
    if (both := by_both(dialogues)) is not None:
        ways["keywords and vectors"] = both
    print(report(dialogues, ways))
