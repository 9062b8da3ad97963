"""The store contract: edits, deletions, versions, observed talk; ledgers, revisions and what keeps a store healthy."""

from __future__ import annotations

import asyncio

import pytest

from memory.base import Message, Quoted, Step, Store
from memory.errors import SchemaTooNew, UnknownScope
from memory.ids import Ids
from tests.contracts.columns import Column, SqliteColumn
from tests.contracts.store import (
    NOW,
    key,
    ledger,
    opened,
    owner,
    put,
    replied,
    rule,
    said,
    talk,
    texts,
    window,
    wish,
)


class EditContract:
    """An edit adds a version, a deletion leaves a place without text."""

    async def test_an_edit_changes_the_message_in_its_place(self, store: Store) -> None:
        """The next turn sees the new text; an edit is a change of context, not a message (openclaw/openclaw#28834)."""
        scope = await opened(store)
        stored = await _said(store, scope.id)

        assert await _edit(store, scope.id, "m1", "new 新", tokens=9, low_value=True, now_ms=NOW + 5)

        edited = (await store.load(wish(scope.id))).window[0]
        assert ("new 新", 2, NOW + 5, 9, True, stored.id) == (
            edited.text,
            edited.version,
            edited.edited_ms,
            edited.tokens,
            edited.low_value,
            edited.id,
        )
        assert "new 新" == (await opened(store)).title

    async def test_every_version_can_be_read_by_its_number(self, store: Store) -> None:
        """Replay needs the text as it was (C13)."""
        scope = await opened(store)
        stored = await _said(store, scope.id)
        await _edit(store, scope.id, "m1", "second", tokens=2, now_ms=NOW + 1)
        await _edit(store, scope.id, "m1", "third", tokens=3, now_ms=NOW + 2)

        versions = await store.messages_by_id(owner(scope.id), [(stored.id, 3), (stored.id, 1), (stored.id, 2)])

        assert [("first", 1, None, 1), ("second", 2, NOW + 1, 2), ("third", 3, NOW + 2, 3)] == [
            (row.text, row.version, row.edited_ms, row.tokens) for row in versions
        ]
        assert stored == versions[0]
        assert () == await store.messages_by_id(owner(scope.id), [(stored.id, 4), (stored.id, 0), (404, 1)])

    async def test_the_same_text_again_is_no_new_version(self, store: Store) -> None:
        """A repeated edit, and one that changed only a preview, change nothing."""
        scope = await opened(store)
        await _said(store, scope.id)

        assert await _edit(store, scope.id, "m1", "first", now_ms=NOW + 1)

        row = (await store.load(wish(scope.id))).window[0]
        assert (1, None) == (row.version, row.edited_ms)

    async def test_messages_come_by_id_oldest_first(self, store: Store) -> None:
        scope = await opened(store)
        await talk(store, scope.id, 2)
        rows = (await store.load(wish(scope.id))).window

        found = await store.messages_by_id(owner(scope.id), [(row.id, 1) for row in reversed(rows)] * 2)

        assert rows == found

    async def test_a_deletion_takes_the_text_out_of_every_version(self, column: Column, store: Store) -> None:
        """Nothing of it is left anywhere in the tables; its place stays (mem0ai/mem0#3245's kind)."""
        scope = await opened(store)
        stored = await _said(
            store,
            scope.id,
            thinking="first thought",
            steps=(Step(name="first step"),),
            quote=Quoted(name="x", text="first quote"),
        )
        await _edit(store, scope.id, "m1", "first edit")

        assert await store.delete(scope.id, "m1", by=key(), now_ms=NOW + 9)

        (tombstone,) = (await store.load(wish(scope.id))).window
        assert (stored.id, "", NOW + 9, None, (), None, 0) == (
            tombstone.id,
            tombstone.text,
            tombstone.deleted_ms,
            tombstone.thinking,
            tombstone.steps,
            tombstone.quote,
            tombstone.tokens,
        )
        versions = await store.messages_by_id(owner(scope.id), [(stored.id, 1), (stored.id, 2)])
        assert [("", NOW + 9), ("", NOW + 9)] == [(row.text, row.deleted_ms) for row in versions]
        for table in ("scopes", "messages", "message_versions"):
            assert "first" not in repr(await column.sql(f"SELECT * FROM {table}"))

    async def test_the_title_goes_with_its_message_and_the_next_one_gives_a_new(self, store: Store) -> None:
        scope = await opened(store)
        await _said(store, scope.id)
        await store.delete(scope.id, "m1", by=key(), now_ms=NOW)
        assert "" == (await opened(store)).title

        await put(store, scope.id, said("next", 2), turn_id=2)

        assert "next" == (await opened(store)).title

    async def test_quotes_of_a_message_change_and_go_with_it(self, store: Store) -> None:
        """Whoever quoted it holds its words too."""
        scope = await opened(store)
        await _said(store, scope.id)
        quoting = said("what?", 2, reply_to="m1", quote=Quoted(name="Ann", text="first"))
        await put(store, scope.id, quoting, said("no quote", 3, reply_to="m1"), turn_id=2)

        await _edit(store, scope.id, "m1", "second")
        edited = (await store.load(wish(scope.id))).window
        await store.delete(scope.id, "m1", by=key(), now_ms=NOW)
        deleted = (await store.load(wish(scope.id))).window

        assert [None, Quoted(name="Ann", text="second"), None] == [row.quote for row in edited]
        assert [None, None, None] == [row.quote for row in deleted]

    @pytest.mark.parametrize(
        "there",
        [
            {"agent": "other"},
            {"chat_type": "group", "user": "u2"},
            {"chat_type": "group", "user": "u2", "agent": "other"},
        ],
        ids=["another agent's", "another speaker's", "both"],
    )
    async def test_the_whole_place_is_reached(self, store: Store, there: dict[str, str]) -> None:
        """The platform knows no agents and no scopes: what is edited or deleted is so in each of them, and quotes of it too,
        whoever answers there now."""
        here = {"chat_type": there.get("chat_type", "private")}
        mine, theirs = await opened(store, mode="speaker", **here), await opened(store, mode="speaker", **there)
        await _said(store, theirs.id)
        quoting = said("what?", 2, reply_to="m1", quote=Quoted(name="Ann", text="first"))
        await put(store, mine.id, quoting, turn_id=2, session=rule("s-2"))

        assert await _edit(store, mine.id, "m1", "second")
        assert ["second"] == await window(store, theirs.id)
        assert Quoted(name="Ann", text="second") == (await store.load(wish(mine.id))).window[0].quote
        assert await store.delete(mine.id, "m1", by=key(), now_ms=NOW)
        assert [""] == await window(store, theirs.id)
        assert (await store.load(wish(mine.id))).window[0].quote is None

    @pytest.mark.parametrize(
        "elsewhere",
        [{"user": "u2"}, {"channel": "web2"}, {"room": "r2"}, {"thread": "t"}, {"chat_type": "group"}],
        ids=str,
    )
    async def test_no_other_place_is_reached(self, store: Store, elsewhere: dict[str, str]) -> None:
        """Equal message ids of other people's private rooms, of other channels and rooms mean other messages."""
        mine, theirs = await opened(store), await opened(store, **elsewhere)
        await _said(store, theirs.id)

        assert not await _edit(store, mine.id, "m1", "second")
        assert not await store.delete(mine.id, "m1", by=key(), now_ms=NOW)
        assert ["first"] == await window(store, theirs.id)

    async def test_what_is_not_there_is_not_changed(self, store: Store) -> None:
        """Unknown, foreign, already deleted, wildcards: False and nothing written."""
        scope, other = await opened(store), await opened(store, user="u2")
        await _said(store, scope.id)

        for scope_id, message in ((scope.id, "m2"), (other.id, "m1"), (404, "m1"), (scope.id, "%"), (scope.id, "m_")):
            assert not await _edit(store, scope_id, message, "x")
            assert not await store.delete(scope_id, message, by=key(), now_ms=NOW)
        assert ["first"] == await window(store, scope.id)

        assert await store.delete(scope.id, "m1", by=key(), now_ms=NOW)
        assert not await store.delete(scope.id, "m1", by=key(), now_ms=NOW)
        assert not await _edit(store, scope.id, "m1", "back again")
        assert [""] == await window(store, scope.id)

    async def test_a_repeated_append_does_not_bring_a_deleted_text_back(self, store: Store) -> None:
        """A late repeat finds the tombstone (redis/agent-memory-server#184)."""
        scope = await opened(store)
        await _said(store, scope.id)
        await store.delete(scope.id, "m1", by=key(), now_ms=NOW)

        again = await _said(store, scope.id)

        assert ("", NOW) == (again.text, again.deleted_ms)
        assert [""] == await window(store, scope.id)


async def _said(store: Store, scope_id: int, **fields: object) -> Message:
    message = said("first", 1, platform_message_id="m1", tokens=1, **fields)
    (stored,) = await put(store, scope_id, message, turn_id=1)
    return stored


async def _edit(
    store: Store,
    scope_id: int,
    message: str,
    text: str,
    *,
    tokens: int = 1,
    low_value: bool = False,
    now_ms: int = NOW,
) -> bool:
    return await store.edit(scope_id, message, by=key(), text=text, tokens=tokens, low_value=low_value, now_ms=now_ms)


class ObservedContract:
    """Group talk as bounded background."""

    async def test_observed_talk_is_background_never_window(self, store: Store) -> None:
        """Two inputs of the prompt, never one list (AstrBot#7179)."""
        scope = await opened(store)
        await put(store, scope.id, said("asked", 1), turn_id=1)
        await _observe(store, scope.id, 2, "旁白", user="T1.b:1")

        loaded = await store.load(wish(scope.id, observed=5))

        assert ["asked"] == texts(loaded.window)
        (seen,) = loaded.observed
        assert (scope.id, 2, "T1.b:1", "Bob", "旁白", 3, NOW, 1) == (
            seen.scope_id,
            seen.event_id,
            seen.user,
            seen.speaker_name,
            seen.text,
            seen.tokens,
            seen.created_ms,
            seen.version,
        )
        assert () == (await store.load(wish(scope.id))).observed

    async def test_only_the_newest_are_kept(self, store: Store) -> None:
        scope, other = await opened(store), await opened(store, user="u2")
        await _observe(store, other.id, 1, "theirs")
        for n in range(1, 8):
            await _observe(store, scope.id, n, f"o{n}", keep=3)

        loaded = await store.load(wish(scope.id, observed=9))

        assert ["o5", "o6", "o7"] == [seen.text for seen in loaded.observed]
        assert ["o6", "o7"] == [seen.text for seen in (await store.load(wish(scope.id, observed=2))).observed]
        assert ["theirs"] == [seen.text for seen in (await store.load(wish(other.id, observed=9))).observed]

    async def test_observing_repeats_by_event(self, store: Store) -> None:
        scope = await opened(store)

        await _observe(store, scope.id, 1, "once")
        await _observe(store, scope.id, 1, "twice")

        assert ["once"] == [seen.text for seen in (await store.load(wish(scope.id, observed=9))).observed]

    async def test_ids_of_observed_and_said_messages_share_one_order(self, store: Store) -> None:
        scope = await opened(store)
        await _observe(store, scope.id, 1, "o1")
        (row,) = await put(store, scope.id, said("q1", 2), turn_id=2)
        await _observe(store, scope.id, 3, "o3")

        first, second = (await store.load(wish(scope.id, observed=9))).observed

        assert first.id < row.id < second.id

    async def test_edits_and_deletions_reach_observed_talk(self, column: Column, store: Store) -> None:
        """What somebody took back does not stay as background."""
        scope = await opened(store)
        await _observe(store, scope.id, 1, "secret one", message="m1")
        await _observe(store, scope.id, 2, "two", message="m2")

        assert await _edit(store, scope.id, "m1", "changed", tokens=9)
        assert await _edit(store, scope.id, "m1", "changed", tokens=9)
        edited = (await store.load(wish(scope.id, observed=9))).observed[0]
        assert await store.delete(scope.id, "m1", by=key(), now_ms=NOW)

        assert ("changed", 2, 9) == (edited.text, edited.version, edited.tokens)
        assert ["two"] == [seen.text for seen in (await store.load(wish(scope.id, observed=9))).observed]
        assert not await store.delete(scope.id, "m1", by=key(), now_ms=NOW)
        assert "secret" not in repr(await column.sql("SELECT * FROM observed"))

    async def test_an_unknown_scope_is_refused(self, store: Store) -> None:
        with pytest.raises(UnknownScope):
            await _observe(store, 404, 1, "lost")


async def _observe(
    store: Store,
    scope_id: int,
    event_id: int,
    text: str,
    *,
    user: str = "b",
    keep: int = 20,
    message: str | None = None,
) -> None:
    await store.observe(
        scope_id,
        key(user=user),
        event_id=event_id,
        text=text,
        speaker_name="Bob",
        tokens=3,
        now_ms=NOW,
        keep=keep,
        platform_message_id=message,
    )


class RecordContract:
    """Ledgers, revisions, and the store's own health."""

    async def test_a_turn_s_messages_are_its_speakers_and_its_reply(self, store: Store) -> None:
        scope = await opened(store)
        await talk(store, scope.id, 1)
        await put(store, scope.id, said("one", 5), said("two", 6), turn_id=5)
        await put(store, scope.id, replied("both", 5), turn_id=5)

        assert ["one", "two", "both"] == texts(await store.turn_messages(owner(scope.id), 5))
        assert () == await store.turn_messages(owner(scope.id), 404)

    async def test_a_ledger_comes_back_as_it_went_in(self, store: Store) -> None:
        """Every field, and the second write replaces the first."""
        scope = await opened(store)
        first = ledger(2**58, scope.id)
        await store.save_ledger(first, fence=1)
        assert first == await store.ledger(2**58)

        second = ledger(2**58, scope.id, usage={}, notes=(), entries=(), person_id=None)
        await store.save_ledger(second, fence=1)

        assert second == await store.ledger(2**58)
        assert await store.ledger(404) is None

    async def test_ledgers_come_in_pages(self, store: Store) -> None:
        """In the order they were made, whatever their turns' ids."""
        scope = await opened(store)
        made = [ledger(9 - n, scope.id, now_ms=NOW + n // 2) for n in range(5)]
        for one in made:
            await store.save_ledger(one, fence=1)

        pages, after = [], (NOW, 8)
        while page := await store.ledgers(after=after, limit=2):
            pages.append([one.turn_id for _, one in page if one is not None])
            after = page[-1][0]

        assert [[9, 6], [7, 5]] == pages

    async def test_tables_tell_how_big_they_are(self, store: Store, column: Column) -> None:
        """By their names, as one where they come apart by time; rows of the moment or as the database estimates them."""
        scope = await opened(store)
        await talk(store, scope.id, 3)
        await store.save_ledger(ledger(1, scope.id), fence=1)
        if not isinstance(column, SqliteColumn):
            await column.sql("ANALYZE messages")  # a moment later by itself
        sizes = {size.name: size for size in await store.tables()}

        assert 6 == sizes["messages"].rows
        assert ["ledgers"] == [name for name in sizes if name.startswith("ledgers")]
        assert all(size.bytes is None or size.bytes > 0 for size in sizes.values())

    async def test_old_ledgers_go_in_small_batches(self, store: Store) -> None:
        """Retention is a tested job (openclaw/openclaw#88005); oldest first, never the young ones."""
        scope = await opened(store)
        for n in range(7):
            await store.save_ledger(ledger(n + 1, scope.id, now_ms=NOW + n), fence=1)

        purged = [await store.purge_ledgers(before_ms=NOW + 5, limit=2) for _ in range(4)]

        assert [2, 2, 1, 0] == purged
        assert [None] * 5 == [await store.ledger(n + 1) for n in range(5)]
        assert ledger(6, scope.id, now_ms=NOW + 5) == await store.ledger(6)

    async def test_a_revision_is_kept_once(self, store: Store) -> None:
        await store.put_revision("r1", '{"a": "文"}', now_ms=NOW)
        await store.put_revision("r1", "{}", now_ms=NOW + 1)

        assert '{"a": "文"}' == await store.revision("r1")
        assert await store.revision("r2") is None

    async def test_ping_proves_that_the_store_can_be_written(self, store: Store) -> None:
        await store.ping()
        await store.ping()

    async def test_two_starters_at_once_make_one_schema(self, column: Column) -> None:
        """Migrations are safe for several starters; the second finds the work done."""

        async def start(instance: int) -> int:
            async with column.open(ids=Ids(instance)) as store:
                return (await opened(store)).id

        scopes = await asyncio.gather(*(start(n) for n in range(4)))

        assert 1 == len(set(scopes))
        versions = await column.sql("SELECT version FROM memory_schema ORDER BY version")
        assert [(n + 1,) for n in range(len(versions))] == versions

    async def test_a_newer_schema_is_refused(self, column: Column) -> None:
        """An older release does not touch what it does not understand."""
        async with column.open():
            pass
        await column.sql("INSERT INTO memory_schema (version, name, applied_ms) VALUES (9999, 'from_the_future', 0)")

        with pytest.raises(SchemaTooNew, match="9999"):
            async with column.open():
                pass

    async def test_a_lost_answer_is_repeated_without_harm(self, store: Store) -> None:
        """Every write can be called again with the same arguments after a time-out."""
        scope = await opened(store)
        for _ in range(2):
            await put(store, scope.id, said("q", 1, platform_message_id="m"), turn_id=1)
            await put(store, scope.id, replied("a", 1), turn_id=1, ledger=ledger(1, scope.id), session=rule("s-9"))
            await _edit(store, scope.id, "m", "Q")

        assert ["Q", "a"] == await window(store, scope.id)
        assert ledger(1, scope.id) == await store.ledger(1)
