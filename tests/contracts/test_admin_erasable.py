"""What the admins' tables hold of persons is known, table by table, on every database."""

from __future__ import annotations

import pytest

from gateway.admin.erasable import EMPTIED, NOTHING_PERSONAL
from gateway.inbox import erasable
from memory import erasure
from tests.contracts.admin_database import URLS, open_admin_database
from tests.scenarios.world import rows
from tests.services import POSTGRES_TABLES


@pytest.fixture(params=URLS)
def url(request: pytest.FixtureRequest) -> str:
    return URLS[request.param](request)


async def test_every_table_is_in_the_plan(url: str) -> None:
    """A new table that holds something personal cannot be forgotten (B46, mem0ai/mem0#3245)."""
    tables = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        if url.startswith("sqlite")
        else POSTGRES_TABLES
    )
    async with open_admin_database(url):
        there = {name for (name,) in rows(url, tables)}

    others = {*erasure.KINDS, *erasure.NOTHING_PERSONAL, *erasable.EMPTIED, *erasable.NOTHING_PERSONAL}
    assert {*EMPTIED, *NOTHING_PERSONAL} == there - others
    assert set() == {*EMPTIED} & {*NOTHING_PERSONAL}
    assert all((EMPTIED | NOTHING_PERSONAL).values())
