"""What is left of words after they were deleted, edited or forgotten: raw bytes, every table, Redis. The whole of a person:
`tests/contracts/persons.py`."""

from __future__ import annotations

from memory.base import Message, Quoted
from memory.derived import FullStore
from memory.embedding import Embedded
from tests.contracts.columns import Column, PostgresColumn, RedisColumn, SqliteColumn
from tests.contracts.derived import person
from tests.contracts.persons import keep
from tests.contracts.store import NOW, key, ledger, opened, put, replied, rule, said, summary, wish
from tests.residues import in_postgres, in_redis, in_sqlite, left_of
from tests.services import POSTGRES_TABLES

WORDS = ("Quittengelee", "琥珀色河马", "Seegurke🥒")
TEXT = " ".join(WORDS)


def residues(column: Column) -> list[str]:
    """Return what is left of the words."""
    if isinstance(column, SqliteColumn):
        return left_of(WORDS, in_sqlite(column.path))
    assert isinstance(column, PostgresColumn)
    where = in_postgres(column.url)
    return left_of(WORDS, where + in_redis(column.redis_url) if isinstance(column, RedisColumn) else where)


async def tables(column: Column) -> set[str]:
    """Return the tables that hold one of the words."""
    names = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        if isinstance(column, SqliteColumn)
        else POSTGRES_TABLES
    )
    found = set()
    for (name,) in await column.sql(names):
        if left_of(WORDS, repr(await column.sql(f"SELECT * FROM {name}")).encode()):
            found.add(name)
    return found


async def said_once(store: FullStore) -> tuple[int, int, Message]:
    """Say the words in one message, and let everything be made of it: title, fact, item, index, vector, summary, a long window
    that is cached, and a quote in another message. Return person, scope and the message."""
    me, scope = await person(store), await opened(store)
    turn = await put(store, scope.id, said(TEXT, 1, person_id=me, platform_message_id="m1"), turn_id=1)
    # The bot's own replies are not what is deleted: here they repeat nothing.
    turn += await put(
        store, scope.id, replied("I see", 1, person_id=me), turn_id=1, ledger=ledger(1, scope.id, person_id=me)
    )
    await keep(store, turn, me, TEXT)
    missing = await store.vectors.missing("m/2", limit=9, owner="w", now_ms=NOW, lease_ms=9)
    assert missing
    await store.vectors.put("m/2", [Embedded(of=one, vector=bytes(8)) for one in missing])
    await store.put_summary(summary(7, scope.id, session_id="s-1", text=TEXT, first_id=turn[0].id, last_id=turn[0].id))
    for number in range(2, 8):
        quote = {"reply_to": "m1", "quote": Quoted(name="x", text=TEXT)} if number == 2 else {}
        await put(store, scope.id, said("hm", number, person_id=me, **quote), turn_id=number, session=rule("s-1"))
        await put(store, scope.id, replied("oh", number, person_id=me), turn_id=number, ledger=ledger(number, scope.id))
    await store.load(wish(scope.id, person_id=me, page=200))
    return me, scope.id, turn[0]


class CanaryContract:
    """B46, E06, mem0ai/mem0#3245, getzep/graphiti#1489, CaviraOSS/LongMemory#186."""

    async def test_nothing_is_left_of_a_deleted_message(self, store: FullStore, column: Column) -> None:
        """Neither in a row nor, when the retention job was there, in a free page or the log."""
        me, scope_id, _ = await said_once(store)
        assert {"messages", "scopes", "facts", "profile_items", "summaries"} == await tables(column)

        await store.delete(scope_id, "m1", by=key(), now_ms=NOW)

        assert set() == await tables(column)
        await store.wipe()
        assert [] == residues(column)
        counted = (
            "SELECT (SELECT count(*) FROM fragments), (SELECT count(*) FROM terms), (SELECT count(*) FROM vectors)"
        )
        assert [(0, 0, 0)] == await column.sql(counted)
        assert ((), ()) == await store.derived.known(me, now_ms=NOW)

    async def test_an_edit_leaves_the_old_words_to_replays_alone(self, store: FullStore, column: Column) -> None:
        me, scope_id, _ = await said_once(store)

        await store.edit(scope_id, "m1", by=key(), text="tea", tokens=1, low_value=False, now_ms=NOW)

        assert {"message_versions"} == await tables(column)
        assert ((), ()) == await store.derived.known(me, now_ms=NOW)
        await store.delete(scope_id, "m1", by=key(), now_ms=NOW)
        await store.wipe()
        assert [] == residues(column)

    async def test_what_is_forgotten_stands_in_the_talk_alone(self, store: FullStore, column: Column) -> None:
        """The transcript goes with the person, or the message; nothing that was made of it stays."""
        me, scope_id, message = await said_once(store)
        items, facts = await store.derived.known(me, now_ms=NOW)

        await store.forgetting.forget(
            me, items=[row.id for row in items], facts=[row.id for row in facts], withhold=[message], now_ms=NOW
        )

        assert {"messages", "scopes"} == await tables(column)
        await store.delete(scope_id, "m1", by=key(), now_ms=NOW)
        await store.wipe()
        assert [] == residues(column)
