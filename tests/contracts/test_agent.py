"""The agent contract, on every kind (`tests/contracts/agent.py`)."""

from __future__ import annotations

import pytest

from tests.contracts.agent import KINDS, AgentContract, Kind


@pytest.mark.parametrize("name", KINDS)
class TestAgents(AgentContract):
    @pytest.fixture
    def kind(self, name: str) -> Kind:
        return KINDS[name]
