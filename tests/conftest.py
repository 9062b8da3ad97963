"""Fixtures shared by all tests: real services, one per test process, and a fresh database per test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.services import Postgres, Valkey, running_postgres, running_valkey

# No test asserts a time. In CI the examples are the same each run; elsewhere they are new ones.
settings.register_profile("clew", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("clew")

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: Postgres) -> Iterator[str]:
    """The URL of an empty database of this test's own, with the tables of this release."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture
def bare_postgres_url(postgres_server: Postgres) -> Iterator[str]:
    """The URL of a database of this test's own that nothing was made in yet."""
    with postgres_server.database(schema=False) as url:
        yield url


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[Valkey]:
    with running_valkey() as server:
        yield server


@pytest.fixture
def redis_url(valkey_server: Valkey) -> str:
    """The URL of the test process's server, emptied."""
    return valkey_server.emptied()
