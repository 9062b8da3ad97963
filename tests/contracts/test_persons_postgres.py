"""A person's end where others write at the same time: what only PostgreSQL has to see to."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from memory.people import Account
from tests.contracts.columns import PostgresColumn
from tests.contracts.persons import ME, YOU, group, somebody
from tests.contracts.store import NOW, key, opened, put, said
from tests.services import as_admin

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def _waiting(column: PostgresColumn, count: int) -> None:
    """Wait until so many statements wait for each other."""
    async with asyncio.timeout(10):
        while await column.sql(WAITING) != [(count,)]:
            await asyncio.sleep(0)


@pytest.mark.parametrize("chat_type", ["private", "group"])
async def test_what_was_being_written_when_the_erasure_began_goes_too(postgres_url: str, chat_type: str) -> None:
    """An append that had begun before, and waited behind another one, does not know of it: redis/agent-memory-server#184."""
    column = PostgresColumn(postgres_url)
    async with column.open() as store, await psycopg.AsyncConnection.connect(as_admin(postgres_url)) as other:
        me, you = await somebody(store, ME), await somebody(store, YOU)
        of: dict[str, Any] = {"user": ME} if chat_type == "private" else {"room": "g1", "chat_type": "group"}
        mine = key(user=ME) if chat_type == "private" else group(ME)
        scope = await opened(store, **of)
        if chat_type == "group":
            await put(store, scope.id, said("mine", 2, key=group(YOU), person_id=you), turn_id=2)
        await other.execute("SELECT id FROM scopes WHERE id = %s FOR UPDATE", (scope.id,))
        late = asyncio.create_task(put(store, scope.id, said("late", 3, key=mine, person_id=me), turn_id=3))
        await _waiting(column, 1)

        accounts = [Account(mine.columns()[0], "web")]
        erasing = asyncio.create_task(store.persons.erase(me, accounts=accounts, posted=(), now_ms=NOW))
        await _waiting(column, 2)
        await other.commit()
        await asyncio.gather(late, erasing)

        left = await column.sql("SELECT text FROM messages WHERE text <> ''")
        assert ([("mine",)] if chat_type == "group" else []) == left
        assert [(0,)] == await column.sql(f"SELECT count(*) FROM messages WHERE person_id = {me}")
