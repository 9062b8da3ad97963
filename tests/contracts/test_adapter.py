"""The adapter contract, on every channel kind (`tests/contracts/adapter.py`)."""

from __future__ import annotations

import pytest

from tests.contracts.adapter import CHANNELS, AdapterContract, Channel


@pytest.mark.parametrize("kind", CHANNELS)
class TestAdapters(AdapterContract):
    @pytest.fixture
    def channel(self, kind: str) -> Channel:
        return CHANNELS[kind]
