"""A database where a gateway of tomorrow has been, for every contract that this release has to keep there too."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import psycopg
import pytest

from tests.services import Postgres
from tests.tomorrow import migrate_postgres

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def tomorrow(postgres_server: Postgres) -> Iterator[str]:
    """The name of such a database, to be copied."""
    with postgres_server.database() as url:
        migrate_postgres(url)
        yield url.rpartition("/")[2]


@pytest.fixture
def tomorrows_url(postgres_server: Postgres, tomorrow: str) -> Iterator[str]:
    """The URL of a copy of it, of this test's own."""
    name = f"{tomorrow}_{next(_numbers)}"
    with psycopg.connect(postgres_server.url("postgres", admin=True), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} OWNER clew TEMPLATE {tomorrow}".encode())
        yield postgres_server.url(name)
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
