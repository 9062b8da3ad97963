"""People's vectors: how they are written, the exact search through one person's, and the few that stay in memory.

Imported only where an embedder is on, because NumPy comes with one. Searching all of a person's vectors is exact and takes
less than a millisecond; an index over everybody's would find a third of the true answers and mix owners.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memory.base import Owner
from memory.embedding import VectorRow
from memory.errors import ModelFailed

# Equal vectors may differ in a score's last bits, by where they stand in the matrix; so scores are compared as rounded.
_DECIMALS = 5
_OVERHEAD = 1_000  # bytes a matrix takes beside its numbers


class Hit(NamedTuple):
    """One vector found: the id it was stored under, its cosine with what was asked, rounded to 5 decimals, and its scope."""

    id: int
    score: float
    scope_id: int = 0


class Matrix:
    """One person's vectors of one embedder: `rows`, float32 (n x dims), each of length 1, and for each one its `ids` and
    `scopes`, int64, whether it is of a group (`groups`, bool) and `seqs`, int64, in whose order they are."""

    __slots__ = ("groups", "ids", "rows", "scopes", "seqs")

    def __init__(
        self,
        rows: npt.NDArray[np.float32],
        *,
        ids: npt.NDArray[np.int64],
        scopes: npt.NDArray[np.int64],
        groups: npt.NDArray[np.bool_],
        seqs: npt.NDArray[np.int64],
    ) -> None:
        self.rows = rows
        self.ids = ids
        self.scopes = scopes
        self.groups = groups
        self.seqs = seqs

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        arrays = (self.rows, self.ids, self.scopes, self.groups, self.seqs)
        return sum(array.nbytes for array in arrays) + _OVERHEAD

    def with_newer(self, newer: Matrix, *, most: int) -> Matrix:
        """Return the vectors of both, the newest `most` of them."""
        return Matrix(
            np.concatenate((self.rows, newer.rows))[-most:],
            ids=np.concatenate((self.ids, newer.ids))[-most:],
            scopes=np.concatenate((self.scopes, newer.scopes))[-most:],
            groups=np.concatenate((self.groups, newer.groups))[-most:],
            seqs=np.concatenate((self.seqs, newer.seqs))[-most:],
        )

    def shown_to(self, owner: Owner) -> npt.NDArray[np.bool_]:
        """Return which of the vectors may be shown in the owner's place: in private all, in a group what was said there, and
        profile items, both only if they were said in groups, unless the room allows more."""
        if owner.chat_type == "private":
            return np.ones(len(self), dtype=np.bool_)
        here: npt.NDArray[np.bool_] = (self.scopes == 0) | (self.scopes == owner.scope_id)
        return here if owner.private_in_group else here & self.groups


def unit_vectors(rows: npt.ArrayLike) -> list[bytes]:
    """Return rows of numbers as they are stored: float32, little-endian, of length 1. Raises ValueError for rows that
    point nowhere: not finite, or all zero."""
    exact = np.asarray(rows, dtype=np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError("a vector that is not finite or is zero")
    return [row.tobytes() for row in (exact / lengths).astype("<f4")]


def matrix(vectors: Sequence[tuple[int, bytes]], *, dims: int) -> Matrix:
    """Return the matrix of vectors given as (id, vector), all of one place. Raises `ModelFailed` as `matrix_of` does."""
    rows = [VectorRow(n, 0, id, True, vector) for n, (id, vector) in enumerate(vectors)]
    return matrix_of(rows, dims=dims)


def matrix_of(rows: Sequence[VectorRow], *, dims: int) -> Matrix:
    """Return the matrix of stored vectors. Raises `ModelFailed` if one has other dimensions."""
    strange = [row.id for row in rows if len(row.vector) != 4 * dims]
    if strange:
        raise ModelFailed(f"the vectors of {strange[:5]!r} have not {dims} dimensions: embed their texts again")
    count = len(rows)
    return Matrix(
        np.frombuffer(b"".join([row.vector for row in rows]), dtype="<f4").reshape(count, dims),
        ids=np.fromiter((row.id for row in rows), dtype=np.int64, count=count),
        scopes=np.fromiter((row.scope_id for row in rows), dtype=np.int64, count=count),
        groups=np.fromiter((row.group for row in rows), dtype=np.bool_, count=count),
        seqs=np.fromiter((row.seq for row in rows), dtype=np.int64, count=count),
    )


def top(
    found_in: Matrix, query: bytes, *, k: int, threshold: float, among: npt.NDArray[np.bool_] | None = None
) -> list[Hit]:
    """Return the `k` vectors nearest to `query` among those whose cosine reaches `threshold`: all of them were compared.
    `among`: those to look at; None: all.

    Nearest first; of equally near ones the one with the greater id, which is the later. Raises `ModelFailed` if `query` has
    other dimensions.
    """
    asked = np.frombuffer(query, dtype="<f4")
    if asked.shape[0] != found_in.rows.shape[1]:
        raise ModelFailed(f"asked with {asked.shape[0]} dimensions among vectors of {found_in.rows.shape[1]}")
    if k <= 0 or not found_in.ids.size:
        return []
    scores = found_in.rows @ asked
    near = np.flatnonzero((scores >= threshold - 10**-_DECIMALS) & (True if among is None else among))
    if near.size > k:
        least = np.partition(scores[near], near.size - k)[near.size - k]
        near = near[scores[near] >= least - 10**-_DECIMALS]  # whoever may tie with the last one
    rounded = [
        Hit(id, round(score, _DECIMALS), scope_id)
        for id, score, scope_id in zip(
            found_in.ids[near].tolist(), scores[near].tolist(), found_in.scopes[near].tolist(), strict=True
        )
    ]
    rounded.sort(key=lambda hit: (-hit.score, -hit.id))
    return [hit for hit in rounded[:k] if hit.score >= threshold]


class Key(NamedTuple):
    """Whose vectors, and of which embedder: its `name`."""

    person_id: int
    namespace: str
    embedder: str


class Matrices:
    """The matrices used last, of at most `max_bytes` together. A matrix belongs to one generation of its person's items, a
    number that grows with every change, and is never used for another."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[Key, tuple[int, Matrix]] = OrderedDict()
        self.nbytes = 0

    def get(self, key: Key, *, generation: int) -> Matrix | None:
        """Return the matrix of this generation; None if it is not held."""
        held = self._held.get(key)
        if held is None or held[0] != generation:
            return None
        self._held.move_to_end(key)
        return held[1]

    def last(self, key: Key) -> Matrix | None:
        """Return the matrix that is held, of whatever generation: not to search, but to make the next one from."""
        held = self._held.get(key)
        return None if held is None else held[1]

    def put(self, key: Key, matrix: Matrix, *, generation: int) -> None:
        """Hold a matrix instead of an older generation's. One that is older than what is held, or too large, is not held."""
        held = self._held.get(key)
        if held is not None:
            if held[0] > generation:
                return
            self._drop(key)
        if matrix.nbytes > self._max_bytes:
            return
        self._held[key] = (generation, matrix)
        self.nbytes += matrix.nbytes
        while self.nbytes > self._max_bytes:
            self._drop(next(iter(self._held)))

    def clear(self) -> None:
        """Let go of all that is held."""
        self._held.clear()
        self.nbytes = 0

    def _drop(self, key: Key) -> None:
        _, matrix = self._held.pop(key)
        self.nbytes -= matrix.nbytes
