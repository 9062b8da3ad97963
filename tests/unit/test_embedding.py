"""The task that makes missing vectors: it goes on after whatever fails, and leaves the work to one instance."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from gateway.embedding import Embedding
from gateway.metrics import Metrics
from memory.derived import FullStore
from memory.meaning import Meaning
from tests.contracts.columns import SqliteColumn
from tests.contracts.derived import person
from tests.contracts.store import NOW
from tests.contracts.vectors import heard
from tests.fakes import FakeEmbedder


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[FullStore]:
    async with SqliteColumn(tmp_path).open() as opened:
        yield opened


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder("small", [("tea", "茶")])


class Running:
    """The task, and what it has counted."""

    def __init__(self, store: FullStore, embedder: FakeEmbedder, *, owner: str = "a") -> None:
        self.store = store
        self.metrics = Metrics(version="1")
        self.embedding = Embedding(
            Meaning([embedder], store.vectors, cache_bytes=1_000_000, question_s=1),
            metrics=self.metrics,
            owner=owner,
            wait_s=0.001,
            lease_s=60,
            clock=lambda: NOW,
        )

    @asynccontextmanager
    async def started(self) -> AsyncIterator[Running]:
        task = asyncio.create_task(self.embedding.run())
        try:
            yield self
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def ended(self, outcome: str) -> float:
        return (
            self.metrics.registry.get_sample_value("clew_learning_total", {"work": "vectors", "outcome": outcome}) or 0
        )

    async def until(self, outcome: str, times: int) -> None:
        async with asyncio.timeout(10):
            while self.ended(outcome) < times:
                await asyncio.sleep(0.001)

    async def vectors(self) -> int:
        me = await person(self.store)
        read = await self.store.vectors.read(me, "shared", "small/2", after=0, first=0, limit=99)
        return read.total


async def test_what_was_left_by_a_kill_is_embedded_at_the_start(store: FullStore, embedder: FakeEmbedder) -> None:
    """What is missing is found in the store, whoever learned it."""
    await heard(store, 1, "tea")

    async with Running(store, embedder).started() as running:
        await running.until("done", 1)

        assert 2 == await running.vectors()
        assert running.embedding.problem is None
    assert embedder.closed


async def test_what_is_learned_later_is_embedded_when_that_is_told(store: FullStore, embedder: FakeEmbedder) -> None:
    async with Running(store, embedder).started() as running:
        await heard(store, 1, "tea")
        running.embedding.wake()
        await running.until("done", 1)
        await heard(store, 2, "茶")
        running.embedding.wake()
        await running.until("done", 2)

        assert 4 == await running.vectors()


async def test_an_embedder_that_comes_back_goes_on(store: FullStore, embedder: FakeEmbedder) -> None:
    """What went wrong is told as long as it does."""
    embedder.down = True
    await heard(store, 1, "tea")

    async with Running(store, embedder).started() as running:
        await running.until("put_off", 3)
        assert "embedder 'small/2' is down" == running.embedding.problem
        embedder.down = False
        await running.until("done", 1)
        await asyncio.sleep(0)

        assert 2 == await running.vectors()


async def test_a_fault_of_its_own_code_ends_nothing_else(
    store: FullStore, embedder: FakeEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    """Words alone find most of what was said: the gateway goes on."""
    await heard(store, 1, "tea")
    embedder.strange = True

    async with Running(store, embedder).started() as running:
        await running.until("put_off", 1)

        assert "vectors could not be made (ZeroDivisionError); the log tells more" == running.embedding.problem
    assert "vectors could not be made" in caplog.text


async def test_what_another_instance_embeds_is_left_to_it(store: FullStore, embedder: FakeEmbedder) -> None:
    await heard(store, 1, "tea")
    await store.vectors.missing("small/2", limit=1, owner="b", now_ms=NOW, lease_ms=60_000)

    async with Running(store, embedder).started() as running:
        for _ in range(3):
            running.embedding.wake()
            await asyncio.sleep(0.01)

        assert 0 == running.ended("done")
        await store.vectors.leave(owner="b")
        running.embedding.wake()
        await running.until("done", 1)
