"""The embedder contract, on every kind (`tests/contracts/embedder.py`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memory.models import Embedder
from tests.contracts.embedder import EMBEDDERS, EmbedderContract


@pytest.mark.parametrize("name", EMBEDDERS)
class TestEmbedders(EmbedderContract):
    @pytest.fixture
    async def embedder(self, name: str) -> AsyncIterator[Embedder]:
        async with EMBEDDERS[name]() as embedder:
            yield embedder
