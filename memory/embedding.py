"""Where the vectors of fragments are kept, and how those that are missing are found: the protocol of the stores.

A fragment (`memory/derived.py`) knows which embedder its vector is of; what is to be embedded is therefore found by a query,
and a kill loses none of it. A vector's owner is its fragment's, and it goes with its fragment: the databases see to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from memory.base import Hit, Owner


class Unembedded(msgspec.Struct, frozen=True, kw_only=True):
    """A fragment without a vector of the embedder: a message, or a profile item (`scope_id` 0). `text` is empty, and
    `version` 0, where what it stands for is gone."""

    scope_id: int
    id: int
    person_id: int
    namespace: str
    text: str
    version: int  # of the message's text; 1 for an item
    turn_id: int = 0  # of the message, as are the columns of its key that follow; none of an item
    channel: str = ""
    conversation: str = ""
    chat_type: str = "private"


class Embedded(msgspec.Struct, frozen=True, kw_only=True):
    """A fragment's vector, as its embedder made it. None: it has none, and is not asked for again."""

    of: Unembedded
    vector: bytes | None


class VectorRow(NamedTuple):
    """A stored vector. `seq` grows with every one that is stored, and no two have had the same."""

    seq: int
    scope_id: int
    id: int
    group: bool  # said in a group
    vector: bytes


class VectorRows(NamedTuple):
    """Vectors as asked for, in the order of `seq`. `total`: how many there are from the first one asked about."""

    total: int
    rows: list[VectorRow]


class Vectors(Protocol):
    """The vectors on one database, beside its `memory.base.Store` (there as `vectors`).

    Every implementation passes `tests/contracts/vectors.py`. Everything is read and written by its person, by equality on
    columns. Database trouble surfaces as `memory.errors.StoreUnavailable`.
    """

    async def missing(
        self, model: str, *, limit: int, owner: str, now_ms: int, lease_ms: int
    ) -> tuple[Unembedded, ...] | None:
        """Return up to `limit` fragments without a vector of the embedder named `model`, whosever: those that have none at all
        first, then person by person. None: somebody else is embedding, until their lease ends or they `leave`."""
        ...

    async def leave(self, *, owner: str) -> None:
        """Let others embed."""
        ...

    async def put(self, model: str, vectors: Sequence[Embedded]) -> int:
        """Store vectors instead of those that their fragments have of this embedder. Return how many fragments were still
        there, with the text that was embedded; the others are passed over.

        Once all fragments of a person in a namespace have one of `model`, those of other embedders are deleted. Until then
        they can be read."""
        ...

    async def read(
        self, person_id: int, namespace: str, model: str, *, after: int, first: int, limit: int
    ) -> VectorRows:
        """Return the newest `limit` of the person's vectors with a greater `seq` than `after` (0: of all), and how many there
        are from `first` on."""
        ...

    async def placed(self, owner: Owner, keys: Sequence[tuple[int, int]]) -> tuple[Hit, ...]:
        """Return, as hits without terms, those of these (scope_id, id) that the owner's person may be shown there."""
        ...
