"""What PostgreSQL reads for what is deleted in batches: what goes, and nothing that grows with what stays.

Planned as a join, each batch read all ledgers, or all messages, that there were: 200,000 ledgers took 21 s instead of 3.
"""

from __future__ import annotations

import psycopg
import pytest

from memory.key import ConversationKey
from memory.people import Account
from tests.bench.core import START_MS
from tests.bench.scale.filler import Talk, fill
from tests.contracts.columns import PostgresColumn
from tests.services import as_admin

TALKED = 4_000
"""Messages of 200 people, each in a conversation of their own; every second one has a ledger."""
MINE = Talk(
    ConversationKey(user="me", channel="web", room="r", thread=None, chat_type="private", agent="a"),
    10**15,
    10**14,
    2_000,
)
READ = """SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables
  WHERE relname IN ('messages', 'fragments', 'scopes', 'summaries') OR relname LIKE 'ledgers%'"""


@pytest.fixture
def filled(postgres_url: str) -> str:
    fill(postgres_url, [MINE], others=TALKED)
    with psycopg.connect(as_admin(postgres_url), autocommit=True) as db:
        db.execute(
            "INSERT INTO ledgers (turn_id, scope_id, created_ms, body)"
            " SELECT turn_id, scope_id, created_ms, '{}' FROM messages WHERE role = 'user'"
        )
        db.execute("INSERT INTO persons (id, created_ms) VALUES (%s, 0)", (MINE.person_id,))
        db.execute("VACUUM ANALYZE")
    return postgres_url


def _read(url: str) -> int:
    with psycopg.connect(as_admin(url), autocommit=True) as db:
        return int(db.execute(READ).fetchall()[0][0])


async def test_messages_that_have_had_their_time(filled: str) -> None:
    """A hundred of many scopes at once."""
    before = _read(filled)
    async with PostgresColumn(filled).open() as store:
        assert 100 == await store.purge_messages(before_ms=START_MS + 1, limit=100)

    assert _read(filled) - before <= 20 * 100


async def test_ledgers_that_have_had_their_time(filled: str) -> None:
    before = _read(filled)
    async with PostgresColumn(filled).open() as store:
        assert 100 == await store.purge_ledgers(before_ms=START_MS + 1, limit=100)

    assert _read(filled) - before <= 5 * 100


async def test_a_person_who_is_erased(filled: str) -> None:
    """All that they said, in batches, beside what others did (B46)."""
    before = _read(filled)
    async with PostgresColumn(filled).open() as store:
        erased = await store.persons.erase(MINE.person_id, accounts=[Account("me", "web")], posted=[], now_ms=START_MS)

    assert (MINE.messages, MINE.messages // 2) == (erased.counts["messages"], erased.counts["ledgers"])
    assert _read(filled) - before <= 25 * MINE.messages
