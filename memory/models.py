"""What memory asks of models: a small one that reads turns, and an embedder that tells what texts are about.

Both are optional, both fail, and what either says is data. Every failure is `memory.errors.ModelFailed`, so that whoever
asks goes on without: recall by words alone, extraction by rules alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec


class SmallModel(Protocol):
    """A cheap language model for extraction and summaries."""

    async def complete(self, *, system: str, prompt: str, schema: Mapping[str, object] | None, max_tokens: int) -> str:
        """Return the model's whole answer to one prompt, never empty. With `schema` the service is asked for JSON of that
        schema, which it may disregard. Ends within a time of its own. Raises `ModelFailed`."""
        ...


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """For whom an embedder is given a text: the turn and person whose words, or whose question, it is, and the place, encoded as
    in the key's columns. What is not known is 0, "" or None; a profile item was said in no one place."""

    turn_id: int = 0
    person_id: int | None = None
    channel: str = ""
    conversation: str = ""
    chat_type: str = "private"


Requested = Callable[[str, range, int | None], None]
"""Hears of a request that a service took: its model's name, which of the texts it was for, and the tokens as reported; None: they
were not, or the answer was not waited for."""


def unheard(model: str, texts: range, tokens: int | None) -> None:
    """Nobody wants to know."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product (their cosine) tells how near the texts are in meaning."""

    @property
    def name(self) -> str:
        """The model and its dimensions; stored with each vector. Vectors of two names never meet."""
        ...

    @property
    def dims(self) -> int:
        """How many numbers a vector has."""
        ...

    @property
    def threshold(self) -> float:
        """The cosine from which a memory counts as related to a question; of this model and of no other."""
        ...

    async def open(self) -> None:
        """Load what is slow to load. Idempotent; the first `embed` does it if need be. Raises `ModelFailed`."""
        ...

    async def embed(self, texts: Sequence[str], *, requested: Requested = unheard) -> list[bytes]:
        """Return one vector per text, in order: float32, little-endian, `dims` of them, of length 1. `requested` hears of each
        request that may have cost something, also where the whole fails.

        Only a text's first 2,000 characters count; NUL and lone surrogates become U+FFFD. A text's vector does not depend
        on the others'. A blank text has no meaning, and whoever asks for its vector gets `ModelFailed`, as on every
        failure; ends within a time of its own, the wait for other calls included.
        """
        ...

    async def aclose(self) -> None:
        """Let go of memory and connections; calls that run may fail. Idempotent."""
        ...
