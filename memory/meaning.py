"""Recall by meaning: what of a person's memory is near to a question, and the vectors that are missing, made in the background.

Imported only where an embedder is on. A question waits a short time of its own for its vector; after a failure the next ones
do not wait at all for a while: words alone find most of it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

import numpy as np

from memory.base import Corpus, Owner
from memory.choosing import UNKNOWN, Near
from memory.embedding import Embedded, Unembedded, Vectors
from memory.errors import ModelFailed, StoreUnavailable
from memory.models import Asker, Embedder
from memory.vectors import Key, Matrices, Matrix, matrix_of, top

logger = logging.getLogger(__name__)

MESSAGES, ITEMS = 40, 10
"""The nearest of a person's that a question brings."""

BATCH = 64
"""Texts that are embedded and stored at once."""

LEAST = 5_000
"""A person's newest vectors that are searched, however small the cache; otherwise as many as half of it holds."""

PROBE = "Is anybody there?"

NOBODY = Asker()
Asked = tuple[Asker, str]
Spent = Callable[[str, Sequence[Asked], int | None], None]
"""Hears of a request: the model's name, its texts and for whom each is, and the tokens as reported; None: they were not."""


class Meaning:
    """Finds by meaning. The first of `embedders` is the one in use; others are those that it replaces, and serve a person for
    as long as they have more of their vectors.

    `question_s`: how long a question waits at most; `rest_s`: how long questions don't wait after one waited in vain.
    """

    def __init__(
        self,
        embedders: Sequence[Embedder],
        vectors: Vectors,
        *,
        cache_bytes: int,
        question_s: float,
        rest_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        spent: Spent = lambda model, texts, tokens: None,
    ) -> None:
        """`spent` hears of every request to a service, and whose texts it was for."""
        self._spent = spent
        self._embedders = embedders
        self._vectors = vectors
        self._matrices = Matrices(max_bytes=cache_bytes)
        self._cache_bytes = cache_bytes
        self._question_s = question_s
        self._rest_s = rest_s
        self._clock = clock
        self._resting_until = 0.0
        self._opened = False

    @property
    def names(self) -> list[str]:
        """The embedders' names, the one in use first."""
        return [embedder.name for embedder in self._embedders]

    async def open(self) -> None:
        """Load what is slow to load; until then words alone find. Raises `ModelFailed`."""
        for embedder in self._embedders:
            await embedder.open()
        self._opened = True

    async def aclose(self) -> None:
        """Let go of the embedders."""
        self._opened = False
        for embedder in self._embedders:
            await embedder.aclose()

    def forget(self) -> None:
        """Let go of what is held of persons: one was erased."""
        self._matrices.clear()

    async def near(self, owner: Owner, question: str, corpus: Corpus, *, asker: Asker = NOBODY) -> Near | None:
        """Return what is near to the question of all that the owner's person may be shown in the owner's place; None: that could
        not be found out. `corpus` is as it was loaded for the question, which is the `asker`'s."""
        if owner.person_id is None or not corpus.fragments or not question.strip():
            return UNKNOWN
        if not self._opened or self._clock() < self._resting_until:
            return None
        try:
            async with asyncio.timeout(self._question_s):
                return await self._near(owner, owner.person_id, question, corpus.generation, asker)
        except (ModelFailed, TimeoutError) as exc:
            self._resting_until = self._clock() + self._rest_s
            reason = str(exc) or f"no vector within {self._question_s:g} s"
            logger.warning("recall by words alone", extra={"scope": owner.scope_id, "reason": reason})
        except StoreUnavailable:
            logger.exception("vectors could not be read", extra={"scope": owner.scope_id})
        return None

    async def _near(self, owner: Owner, person_id: int, question: str, generation: int, asker: Asker) -> Near:
        found = [(one, await self._matrix(one, person_id, owner.namespace, generation)) for one in self._embedders]
        embedder, held = max(found, key=lambda pair: len(pair[1]))  # of equals the first, which is in use
        shown = held.shown_to(owner)
        if not shown.any():
            return UNKNOWN
        (asked,) = await self._embedded(embedder, [(asker, question)])
        items = held.scopes == 0
        hits = [
            *top(held, asked, k=MESSAGES, threshold=embedder.threshold, among=shown & ~items),
            *top(held, asked, k=ITEMS, threshold=embedder.threshold, among=shown & items),
        ]
        # The matrix only proposes: whose they are, and whether they may be shown here, the database says.
        scores = {(hit.scope_id, hit.id): hit.score for hit in hits}
        placed = await self._vectors.placed(owner, list(scores)) if scores else ()
        return Near(
            similar={key: scores[key] for key in ((hit.scope_id, hit.id) for hit in placed)},
            hits=placed,
            compared=frozenset(held.ids[np.flatnonzero(shown & items)].tolist()),
        )

    async def _matrix(self, embedder: Embedder, person_id: int, namespace: str, generation: int) -> Matrix:
        """Return the person's newest vectors: those held, those held and what was added since, or all read anew."""
        key = Key(person_id, namespace, embedder.name)
        if (held := self._matrices.get(key, generation=generation)) is not None:
            return held
        most = max(LEAST, self._cache_bytes // (8 * embedder.dims))
        made = await self._grown(embedder, key, most)
        if made is None:
            read = await self._vectors.read(*key, after=0, first=0, limit=most)
            made = matrix_of(read.rows, dims=embedder.dims)
        self._matrices.put(key, made, generation=generation)
        return made

    async def _grown(self, embedder: Embedder, key: Key, most: int) -> Matrix | None:
        """Return what is held with what was added since; None: nothing is held, or something of it is gone."""
        held = self._matrices.last(key)
        if not held:
            return None
        after, first = int(held.seqs[-1]), int(held.seqs[0])
        read = await self._vectors.read(*key, after=after, first=first, limit=most)
        if len(held) + len(read.rows) != read.total:
            return None
        return held.with_newer(matrix_of(read.rows, dims=embedder.dims), most=most) if read.rows else held

    async def embed_some(self, *, owner: str, now_ms: int, lease_ms: int) -> int | None:
        """Embed some of what has no vector of the embedder in use; return how much that was. None: somebody else does it.
        Raises `ModelFailed`, and what the store raises."""
        embedder = self._embedders[0]
        missing = await self._vectors.missing(embedder.name, limit=BATCH, owner=owner, now_ms=now_ms, lease_ms=lease_ms)
        if not missing:
            return None if missing is None else 0
        telling = [one for one in missing if one.text.strip()]
        found = await self._whatever_it_takes(embedder, [(asker_of(one), one.text) for one in telling])
        vectors = dict(zip(telling, found, strict=True))
        await self._vectors.put(embedder.name, [Embedded(of=one, vector=vectors.get(one)) for one in missing])
        return len(missing)

    async def leave(self, *, owner: str) -> None:
        """Let other instances embed."""
        await self._vectors.leave(owner=owner)

    async def _whatever_it_takes(self, embedder: Embedder, texts: Sequence[Asked]) -> list[bytes | None]:
        """Return the texts' vectors; None for one that the embedder refuses though it answers otherwise."""
        if not texts:
            return []
        try:
            return list(await self._embedded(embedder, texts))
        except ModelFailed:
            await self._embedded(embedder, [(NOBODY, PROBE)])
            if len(texts) == 1:
                logger.warning("a text is left without a vector: the embedder refuses it")
                return [None]
        half = len(texts) // 2
        return [
            *await self._whatever_it_takes(embedder, texts[:half]),
            *await self._whatever_it_takes(embedder, texts[half:]),
        ]

    async def _embedded(self, embedder: Embedder, texts: Sequence[Asked]) -> list[bytes]:
        def requested(model: str, which: range, tokens: int | None) -> None:
            self._spent(model, [texts[n] for n in which], tokens)

        return await embedder.embed([text for _, text in texts], requested=requested)


def asker_of(one: Unembedded) -> Asker:
    """Return for whom a fragment is embedded: whoever said it, in their turn. Pure."""
    return Asker(
        turn_id=one.turn_id,
        person_id=one.person_id,
        channel=one.channel,
        conversation=one.conversation,
        chat_type=one.chat_type,
    )
