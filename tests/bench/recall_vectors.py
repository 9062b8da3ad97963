"""Recall by words and vectors together, for `tests.bench.recall`: the embedder that comes along, one vector per message."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from config.settings import EmbedderSettings
from memory.embedders.choice import choose_embedder
from memory.models import Embedder
from memory.terms import terms
from memory.vectors import Matrix, matrix, top

if TYPE_CHECKING:
    from tests.bench.recall import Dialogue, Find, Question

NEAREST = 100  # messages that a question's vector may bring


def by_both(dialogues: Sequence[Dialogue]) -> Find | None:
    """Embed everything (a minute or more) and return the way to find with it; None: no embedder is installed."""
    embedder = choose_embedder(EmbedderSettings(timeout_s=300))
    return None if embedder is None else asyncio.run(_embedded(dialogues, embedder))


async def _embedded(dialogues: Iterable[Dialogue], embedder: Embedder) -> Find:
    said: dict[str, Matrix] = {}
    asked: dict[tuple[str, str], bytes] = {}
    for one in dialogues:
        said[one.name] = matrix(list(enumerate(await embedder.embed(one.texts))), dims=embedder.dims)
        questions = [_without(one.speakers, question.text) for question in one.questions]
        vectors = await embedder.embed(questions)
        asked.update(zip([(one.name, question.text) for question in one.questions], vectors, strict=True))
    await embedder.aclose()

    def find(dialogue: Dialogue, question: Question) -> list[int]:
        near = top(said[dialogue.name], asked[dialogue.name, question.text], k=NEAREST, threshold=embedder.threshold)
        similar = {hit.id: hit.score for hit in near}
        return [one.id for one in dialogue.talk.recall(terms(question.text), k=10_000, similar=similar)]

    return find


def _without(speakers: Iterable[str], question: str) -> str:
    """A name is in the index, but in no message's own text, and a vector would look for it there."""
    names = "|".join(map(re.escape, speakers))
    return re.sub(rf"\b(?:{names})\b", "I", re.sub(rf"\b(?:{names})'s\b", "my", question))
