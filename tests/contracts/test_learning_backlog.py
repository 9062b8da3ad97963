"""What is asked of a database where much waits to be learned from, and far more was: nothing that grows with either."""

from __future__ import annotations

import psycopg
import pytest

from memory.ids import Ids
from memory.key import ConversationKey
from tests.bench.core import opened
from tests.contracts.columns import PostgresColumn
from tests.services import as_admin

LEARNED, DUE, ROUNDS = 20_000, 3_000, 10
_READ = """SELECT (SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_user_tables WHERE relname LIKE 'ledgers%')
  + (SELECT coalesce(sum(idx_tup_read), 0) FROM pg_stat_user_indexes WHERE relname LIKE 'ledgers%')"""


@pytest.mark.parametrize("scopes", [1, 30])
async def test_what_is_next_is_found_among_many_without_reading_them(postgres_url: str, scopes: int) -> None:
    """Beside 20,000 turns that were learned from and 3,000 that were not, ten claims, and looks at when there is more, read a few
    rows a scope."""
    column = PostgresColumn(postgres_url)
    await _fill(column, postgres_url, scopes=scopes)
    before = _rows_read(postgres_url)

    async with column.open() as store:
        for round_ in range(ROUNDS):
            claimed = await store.derived.claim(owner="a", now_ms=2_000 + round_, lease_ms=1, limit=4)
            assert min(scopes, 4) == len(claimed)
            assert await store.derived.next_due() is not None

    assert _rows_read(postgres_url) - before < ROUNDS * (8 * scopes + 40)


async def test_what_is_to_be_learned_is_counted_by_its_own_index(postgres_url: str) -> None:
    """Beside twenty thousand that were learned from, an entry for each that was not."""
    column = PostgresColumn(postgres_url)
    await _fill(column, postgres_url, scopes=30)
    before = _rows_read(postgres_url)

    async with column.open() as store:
        found = [await store.derived.backlog() for _ in range(ROUNDS)]

    assert {DUE} == {one.turns for one in found}
    assert _rows_read(postgres_url) - before <= ROUNDS * (DUE + 10)


async def _fill(column: PostgresColumn, url: str, *, scopes: int) -> None:
    """Have so much learned from, and so much not. Plans are made, and kept, while next to nothing is there."""
    async with opened(column) as core:
        key = ConversationKey(user="u", channel="web", room="r", thread=None, chat_type="private", agent="a")
        await core.say(key, "hello", person=await core.person("u"))
        await core.learn()
        for _ in range(ROUNDS):
            assert () == await core.store.derived.claim(owner="a", now_ms=core.clock(), lease_ms=1, limit=4)
            assert await core.store.derived.next_due() is None
            assert 0 == (await core.store.derived.backlog()).turns
    last = Ids(2).next()
    with psycopg.connect(as_admin(url), autocommit=True) as db:
        for first, count, due_ms in ((last - DUE - LEARNED, LEARNED, None), (last - DUE, DUE, 1_000)):
            db.execute(
                "INSERT INTO ledgers (turn_id, scope_id, created_ms, due_ms, body)"
                " SELECT %s::bigint + n, 1 + n %% %s, 0, %s, body"
                " FROM generate_series(1, %s) n, (SELECT body FROM ledgers LIMIT 1) one",
                (first, scopes, due_ms, count),
            )
        db.execute("ANALYZE ledgers")


def _rows_read(url: str) -> int:
    with psycopg.connect(as_admin(url), autocommit=True) as db:
        return int(db.execute(_READ).fetchall()[0][0])
