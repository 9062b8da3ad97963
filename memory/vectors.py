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

from memory.errors import ModelFailed

# Equal vectors may differ in a score's last bits, by where they stand in the matrix; so scores are compared as rounded.
_DECIMALS = 5
_OVERHEAD = 1_000  # bytes a matrix takes beside its numbers


class Hit(NamedTuple):
    """One vector found: the id it was stored under, and its cosine with what was asked, rounded to 5 decimals."""

    id: int
    score: float


class Matrix:
    """One person's vectors of one embedder: `ids`, int64 (n), and `rows`, float32 (n x dims), each row of length 1."""

    __slots__ = ("ids", "rows")

    def __init__(self, ids: npt.NDArray[np.int64], rows: npt.NDArray[np.float32]) -> None:
        self.ids = ids
        self.rows = rows

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self.ids.nbytes + self.rows.nbytes + _OVERHEAD


def unit_vectors(rows: npt.ArrayLike) -> list[bytes]:
    """Return rows of numbers as they are stored: float32, little-endian, of length 1. Raises ValueError for rows that
    point nowhere: not finite, or all zero."""
    exact = np.asarray(rows, dtype=np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError("a vector that is not finite or is zero")
    return [row.tobytes() for row in (exact / lengths).astype("<f4")]


def matrix(vectors: Sequence[tuple[int, bytes]], *, dims: int) -> Matrix:
    """Return the matrix of stored vectors, given as (id, vector). Raises `ModelFailed` if one has other dimensions."""
    strange = [id for id, vector in vectors if len(vector) != 4 * dims]
    if strange:
        raise ModelFailed(f"the vectors of {strange[:5]!r} have not {dims} dimensions: embed their texts again")
    rows = np.frombuffer(b"".join(vector for _, vector in vectors), dtype="<f4").reshape(len(vectors), dims)
    return Matrix(np.fromiter((id for id, _ in vectors), dtype=np.int64, count=len(vectors)), rows)


def top(found_in: Matrix, query: bytes, *, k: int, threshold: float) -> list[Hit]:
    """Return the `k` vectors nearest to `query` among those whose cosine reaches `threshold`: all of them were compared.

    Nearest first; of equally near ones the one with the greater id, which is the later. Raises `ModelFailed` if `query` has
    other dimensions.
    """
    asked = np.frombuffer(query, dtype="<f4")
    if asked.shape[0] != found_in.rows.shape[1]:
        raise ModelFailed(f"asked with {asked.shape[0]} dimensions among vectors of {found_in.rows.shape[1]}")
    if k <= 0 or not found_in.ids.size:
        return []
    scores = found_in.rows @ asked
    near = np.flatnonzero(scores >= threshold - 10**-_DECIMALS)
    if near.size > k:
        least = np.partition(scores[near], near.size - k)[near.size - k]
        near = near[scores[near] >= least - 10**-_DECIMALS]  # whoever may tie with the last one
    rounded = [
        Hit(id, round(score, _DECIMALS))
        for id, score in zip(found_in.ids[near].tolist(), scores[near].tolist(), strict=True)
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
        """Return the matrix of this generation; None if it is not held. One that is older is let go."""
        held = self._held.get(key)
        if held is None:
            return None
        if held[0] != generation:
            if held[0] < generation:
                self._drop(key)
            return None
        self._held.move_to_end(key)
        return held[1]

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

    def forget(self, person_id: int) -> None:
        """Let go of all that is held of a person."""
        for key in [key for key in self._held if key.person_id == person_id]:
            self._drop(key)

    def _drop(self, key: Key) -> None:
        _, matrix = self._held.pop(key)
        self.nbytes -= matrix.nbytes
