"""The contract of retention: what people said is older than it may be, and goes, with all that only it bore."""

from __future__ import annotations

from memory.coverage import coverage
from memory.derived import FullStore
from tests.contracts.canaries import TEXT, residues, said_once, tables
from tests.contracts.columns import Column
from tests.contracts.derived import answered, learned, live, person
from tests.contracts.persons import a_life, erase
from tests.contracts.persons import residues as of_a_life
from tests.contracts.store import (
    HOSTILE,
    HOUR,
    NOW,
    key,
    opened,
    owner,
    put,
    replied,
    rule,
    said,
    summary,
    texts,
    window,
    wish,
)

DAY = 24 * HOUR
LATER = NOW + 30 * DAY
NOTHING_DUE = "UPDATE ledgers SET due_ms = NULL"


async def purge(store: FullStore, *, before_ms: int = NOW + 1, limit: int = 50) -> list[int]:
    """Purge until nothing is left to; return how many rows went each time."""
    counts = []
    while rows := await store.purge_messages(before_ms=before_ms, limit=limit):
        counts.append(rows)
    return counts


class PurgeMessagesContract:
    """What is older goes, with all that only it bore; a turn that is not over does not."""

    async def test_nothing_but_what_was_learned_is_left_of_what_was_said(
        self, store: FullStore, column: Column
    ) -> None:
        """No text, title, version, summary or quote, no entry of the index, no vector; neither in a row nor in the log. The facts
        and items that were learned stay, and are known as before."""
        _, scope_id, message = await said_once(store)
        await store.edit(scope_id, "m1", by=key(), text=f"{TEXT}!", tokens=1, low_value=False, now_ms=NOW)
        await column.sql(NOTHING_DUE)
        await store.put_summary(summary(9, scope_id, session_id="s-1", text=TEXT, first_id=message.id, last_id=2**61))

        assert 14 == sum(await purge(store))
        assert set() == await tables(column)
        await store.wipe()
        assert [] == residues(column)
        for table in ("messages", "message_versions", "fragments", "terms", "vectors", "summaries"):
            assert [(0,)] == await column.sql(f"SELECT count(*) FROM {table}"), table
        assert [(0, 0)] == await column.sql("SELECT fragments, length FROM corpora")

    async def test_what_was_learned_stays_without_its_sources(self, store: FullStore, column: Column) -> None:
        """It has a life of its own; who looks for what it came from finds nothing. An erasure takes it all the same (B46)."""
        me, _ = await a_life(store)
        await column.sql(NOTHING_DUE)
        known = await live(store, me)
        await purge(store)

        assert known == await live(store, me)
        assert all(known)
        assert [(0,)] == await column.sql("SELECT count(*) FROM messages")
        assert [(0,)] == await column.sql("SELECT count(*) FROM observed")
        await erase(store, me)
        await store.persons.unlink(me)
        await store.wipe()
        assert [] == of_a_life(column)

    async def test_younger_talk_stays_as_it_is(self, store: FullStore, column: Column) -> None:
        """Its window ends where what is left ends; its title is the next thing that is said; its own session's summary stays."""
        scope, quiet = await opened(store), await opened(store, user="u2")
        for n in (1, 2):
            await put(store, scope.id, said(f"q{n}", n), replied(f"a{n}", n), turn_id=n, session=rule("s-1"))
        await put(store, quiet.id, said("old", 5, key=key(user="u2")), turn_id=5, session=rule("s-3"))
        turn = await put(
            store, scope.id, said("q3 新", 3), replied("a3", 3), turn_id=3, session=rule("s-2"), now_ms=LATER
        )
        await store.put_summary(
            summary(
                9,
                scope.id,
                session_id="s-2",
                text="of now",
                first_id=turn[0].id,
                last_id=turn[1].id,
                digest=coverage("", [(row.id, row.version) for row in turn]),
            )
        )
        before = await store.load(wish(scope.id, now_ms=LATER))

        assert [5] == await purge(store, before_ms=LATER)
        after = await store.load(wish(scope.id, now_ms=LATER))
        assert (["q3 新", "a3"], "of now", False) == (
            texts(after.window),
            after.summary and after.summary.text,
            after.more,
        )
        assert texts(before.window) == texts(after.window)
        await put(store, scope.id, said("named anew", 4), turn_id=4, session=rule("s-2"), now_ms=LATER)
        assert [("named anew",), ("",)] == await column.sql("SELECT title FROM scopes ORDER BY id")
        assert ["q3 新", "a3", "named anew"] == await window(store, scope.id, now_ms=LATER)
        assert [] == await window(store, quiet.id)

    async def test_a_window_that_is_kept_elsewhere_is_read_anew(self, store: FullStore) -> None:
        """A long one, of one session that goes on over the border."""
        scope, always = await opened(store), rule("s-1", idle_ms=99 * DAY)
        for n in range(1, 9):
            now = NOW if n < 5 else LATER
            await put(store, scope.id, said(f"q{n}", n), replied(f"a{n}", n), turn_id=n, session=always, now_ms=now)
        assert 16 == len(await window(store, scope.id, now_ms=LATER))

        await purge(store)

        assert ["q5", "a5", "q6", "a6", "q7", "a7", "q8", "a8"] == await window(store, scope.id, now_ms=LATER)

    async def test_a_turn_that_goes_on_stays_whole(self, store: FullStore) -> None:
        """Its question may be as old as it likes: what was said behind it, days later, belongs to it."""
        scope = await opened(store)
        await put(store, scope.id, said("asked", 1), turn_id=1)
        await put(store, scope.id, replied("answered at last", 1), turn_id=1, now_ms=LATER)

        assert [] == await purge(store, before_ms=LATER)
        assert ["asked", "answered at last"] == texts(await store.turn_messages(owner(scope.id), 1))
        assert [2] == await purge(store, before_ms=LATER + 1)

    async def test_a_turn_that_nothing_was_learned_from_yet_stays(self, store: FullStore) -> None:
        scope, me = await opened(store), await person(store)
        turn = await answered(store, scope.id, 1, person_id=me)
        assert [] == await purge(store)

        await store.derived.settle(learned(turn, person_id=me))

        assert [2] == await purge(store)

    async def test_turns_go_whole_however_small_the_batch(self, store: FullStore) -> None:
        """The oldest first; two scopes with the same turn's number are two turns, hostile accounts or not (C06)."""
        scopes = [await opened(store, user=user) for user in ("u1", *HOSTILE[:4])]
        for scope, user in zip(scopes, ("u1", *HOSTILE[:4]), strict=True):
            mine = key(user=user)
            for n in (1, 2):
                rows = (said(f"{user} {n}", n, key=mine), said("more", n + 9, key=mine), replied("a", n, key=mine))
                await put(store, scope.id, *rows, turn_id=n, session=rule(f"s-{scope.id}"), now_ms=NOW + n)

        first = await store.purge_messages(before_ms=NOW + 2, limit=1)
        left = [await window(store, scope.id) for scope in scopes]
        assert 3 == first
        assert [3] + [6] * 4 == sorted(len(rows) for rows in left)
        assert [3] * 4 == await purge(store, before_ms=NOW + 2, limit=1)
        assert [[f"{user} 2", "more", "a"] for user in ("u1", *HOSTILE[:4])] == [
            await window(store, scope.id) for scope in scopes
        ]

    async def test_a_repeat_of_a_turn_that_is_gone_is_a_turn(self, store: FullStore) -> None:
        """A dead letter that somebody answers again after that is stored anew."""
        scope = await opened(store)
        await put(store, scope.id, said("q", 1), turn_id=1)
        await purge(store)

        await put(store, scope.id, said("q", 1), turn_id=1, session=rule("s-2"), now_ms=LATER)

        assert ["q"] == await window(store, scope.id, now_ms=LATER)
