"""Fixtures of the scenarios: where the gateway stores, and an HTTP session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.scenarios.world import MEASURE
from tests.services import Postgres, Valkey

HOOK = """
  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}}
"""


COLUMNS = ("sqlite", "postgres", "postgres+redis")
MEASURED = pytest.StashKey[bool]()


@contextmanager
def stored(column: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """Yield the `storage:` line (and `redis:`, on that column) of a settings file: an empty database."""
    if column == "sqlite":
        yield f"sqlite:///{folder / 'clew.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres_server")
    with server.database() as url:
        if column == "postgres":
            yield url
        else:
            cache: Valkey = request.getfixturevalue("valkey_server")
            yield f"{url}\nredis: {cache.emptied()}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Choose of each test one case whose gateways are measured, of its columns the last: measuring takes half as long again as
    running. What differs between columns is in suites of its own, which are measured on all."""
    chosen = dict.fromkeys(item.nodeid.partition("[")[0] for item in items)
    for item in items:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        name, names = item.nodeid.partition("[")[0], {value for value in params.values() if isinstance(value, str)}
        if name in chosen and not {"sqlite", "postgres"} & names:
            del chosen[name]
            item.stash[MEASURED] = True


@pytest.fixture(autouse=True)
def _measured_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.node.stash.get(MEASURED, False):
        monkeypatch.delenv(MEASURE, raising=False)


@pytest.fixture(params=COLUMNS)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a gateway of the test's own stores: `storage:` and what follows it in a settings file."""
    with stored(request.param, request, tmp_path) as line:
        yield line


@pytest.fixture(scope="module", params=COLUMNS)
def shared_storage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the gateway of a module's tests stores."""
    with stored(request.param, request, tmp_path_factory.mktemp("storage")) as line:
        yield line


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened
