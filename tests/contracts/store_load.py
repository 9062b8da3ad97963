"""The store contract: what a turn loads, how far it reads, and what stays when a part is broken."""

from __future__ import annotations

import pytest

from memory.base import Store
from memory.coverage import coverage
from tests.contracts.columns import Column
from tests.contracts.store import (
    HOUR,
    NOW,
    fact,
    item,
    key,
    opened,
    owner,
    put,
    rule,
    said,
    summary,
    talk,
    texts,
    window,
    wish,
)


class LoadContract:
    """The seven parts."""

    async def test_an_empty_scope_loads_empty(self, store: Store) -> None:
        scope = await opened(store)

        loaded = await store.load(wish(scope.id, person_id=7, observed=5))

        assert ("", (), False, None, ()) == (
            loaded.session_id,
            loaded.window,
            loaded.more,
            loaded.summary,
            loaded.failed,
        )

    async def test_the_window_is_the_newest_page_oldest_first(self, store: Store) -> None:
        """Newest first with a limit, then turned round (A33)."""
        scope = await opened(store)
        await talk(store, scope.id, 5)

        loaded = await store.load(wish(scope.id, page=3))

        assert (["a4", "q5", "a5"], True) == (texts(loaded.window), loaded.more)

    @pytest.mark.parametrize(("page", "more"), [(9, True), (10, False), (11, False)])
    async def test_more_is_told_exactly(self, store: Store, page: int, more: bool) -> None:
        scope = await opened(store)
        await talk(store, scope.id, 5)

        loaded = await store.load(wish(scope.id, page=page))

        assert (min(page, 10), more) == (len(loaded.window), loaded.more)

    async def test_older_pages_go_back_to_the_session_s_start(self, store: Store) -> None:
        """Page by page, never into the session before (E18)."""
        scope = await opened(store)
        await talk(store, scope.id, 2)
        await store.end_session(scope.id, now_ms=NOW)
        await talk(store, scope.id, 4, first=10, session=rule("s-2"))
        loaded = await store.load(wish(scope.id, page=3))
        mine = owner(scope.id)

        first = await store.older(mine, session_id="s-2", before_id=loaded.window[0].id, limit=3)
        second = await store.older(mine, session_id="s-2", before_id=first[0].id, limit=3)

        assert ["a12", "q13", "a13"] == texts(loaded.window)
        assert ["q11", "a11", "q12"] == texts(first)
        assert ["q10", "a10"] == texts(second)
        assert ["q1", "a1", "q2", "a2"] == texts(
            await store.older(mine, session_id="s-1", before_id=loaded.window[0].id, limit=9)
        )
        assert () == await store.older(mine, session_id="s-none", before_id=2**62, limit=9)

    async def test_the_asked_session_is_read(self, store: Store) -> None:
        scope = await opened(store)
        await talk(store, scope.id, 1)
        await store.put_summary(summary(1, scope.id))
        await store.end_session(scope.id, now_ms=NOW)
        await talk(store, scope.id, 1, first=2, session=rule("s-2"))

        old = await store.load(wish(scope.id), session_id="s-1")
        now = await store.load(wish(scope.id))

        assert ("s-1", ["q1", "a1"], summary(1, scope.id)) == (old.session_id, texts(old.window), old.summary)
        assert ("s-2", ["q2", "a2"], None) == (now.session_id, texts(now.window), now.summary)

    async def test_a_group_shares_its_window_with_speakers_told_apart(self, store: Store) -> None:
        """One scope, every row with its own speaker (B49, B52)."""
        parts = {"chat_type": "group", "room": "g"}
        scope = await opened(store, user="ann", **parts)
        assert scope.id == (await opened(store, user="bob", **parts)).id

        for n, user in enumerate(("ann", "bob", "ann")):
            message = said(f"by {user}", n, key=key(user=user, **parts), speaker_name="Same Name", person_id=n)
            await put(store, scope.id, message, turn_id=n)

        loaded = await store.load(wish(scope.id, chat_type="group"))
        assert ["ann", "bob", "ann"] == [row.user for row in loaded.window]
        assert [0, 1, 2] == [row.person_id for row in loaded.window]

    async def test_the_newest_summary_of_the_session_loads(self, store: Store) -> None:
        """History of summaries is kept (A44); a repeated write replaces itself."""
        scope = await opened(store)
        await talk(store, scope.id, 1)
        old = summary(1, scope.id, text="old")
        newest = summary(2, scope.id, text="newest 新", digest=coverage(old.digest, ()))
        await store.put_summary(summary(2, scope.id, text="new 新"))
        await store.put_summary(old)
        await store.put_summary(summary(3, scope.id, session_id="s-other"))
        await store.put_summary(newest)

        loaded = await store.load(wish(scope.id))

        assert newest == loaded.summary

    async def test_a_summary_that_does_not_cover_what_it_says_is_not_shown(self, column: Column, store: Store) -> None:
        """Window and summary provably cover every message: what the newest one covers is looked at with every load, and one
        that is not sound is told like any part that can't be read."""
        scope = await opened(store)
        (first,) = await put(store, scope.id, said("one", 1), turn_id=1)
        (second,) = await put(store, scope.id, said("two 二", 2), turn_id=2)
        sound = summary(1, scope.id, last_id=first.id, digest=coverage("", [(first.id, 1)]))
        await store.put_summary(sound)
        before = await store.load(wish(scope.id))
        for made in (
            summary(2, scope.id, last_id=second.id, digest=coverage(sound.digest, ())),  # the second was not told
            summary(2, scope.id, last_id=second.id, digest=coverage("", [(second.id, 1)])),  # nothing before it
            summary(2, scope.id, last_id=second.id, digest=coverage(sound.digest, [(second.id, 2)])),  # in other words
        ):
            await store.put_summary(made)
            loaded = await store.load(wish(scope.id))
            assert (None, ("summary",)) == (loaded.summary, loaded.failed)
        await store.put_summary(
            summary(2, scope.id, last_id=second.id, digest=coverage(sound.digest, [(second.id, 1)]))
        )
        after = await store.load(wish(scope.id))
        await column.sql(f"UPDATE messages SET version = 2 WHERE id = {second.id}")  # past the store
        changed = await store.load(wish(scope.id))

        assert [1, 2] == [one.summary and one.summary.id for one in (before, after)]
        assert () == before.failed == after.failed
        assert (None, ("summary",)) == (changed.summary, changed.failed)

    async def test_facts_are_this_session_s_this_speaker_s_active_and_alive(self, store: Store) -> None:
        """Scope, session, speaker, status and TTL are all part of the query (B15, B50)."""
        scope, other = await opened(store), await opened(store, user="u2")
        await talk(store, scope.id, 1)
        await talk(store, other.id, 1, session=rule("s-2"))
        await store.put_facts(
            [
                fact(2, scope.id, value="first", slot="值"),
                fact(3, scope.id, value="second", source_ids=()),
                fact(4, scope.id, status="superseded"),
                fact(5, scope.id, status="retracted"),
                fact(6, scope.id, expires_ms=NOW),
                fact(7, scope.id, session_id="s-0"),
                fact(8, scope.id, person_id=8),
                fact(9, other.id),
            ]
        )

        loaded = await store.load(wish(scope.id, person_id=7))

        assert (fact(2, scope.id, value="first", slot="值"), fact(3, scope.id, value="second", source_ids=())) == (
            loaded.facts
        )
        await store.put_facts([fact(2, scope.id, status="retracted")])
        assert [3] == [row.id for row in (await store.load(wish(scope.id, person_id=7))).facts]

    async def test_profile_items_are_this_person_s_valid_ones_newest_first(self, store: Store) -> None:
        """Person, namespace, status and time are part of the query (B26, B47, MemTensor/MemOS#881)."""
        scope = await opened(store)
        await store.put_profile(
            [
                item(1, text="老"),
                item(2, valid_to_ms=NOW + 1, source_ids=(4, 5), slot="size", kind="fact"),
                item(3, status="superseded"),
                item(4, status="retracted"),
                item(5, valid_to_ms=NOW),
                item(6, valid_from_ms=NOW + 1),
                item(7, person_id=8),
                item(8, namespace="other"),
                item(9, pinned=True),
                item(10, pinned=True, valid_to_ms=NOW),
                item(11, pinned=True),
            ]
        )

        loaded = await store.load(wish(scope.id, person_id=7))

        assert (item(2, valid_to_ms=NOW + 1, source_ids=(4, 5), slot="size", kind="fact"), item(1, text="老")) == (
            loaded.profile
        )
        assert (item(9, pinned=True), item(11, pinned=True)) == loaded.pinned

    async def test_the_profile_is_bounded_and_the_pinned_are_not(self, store: Store) -> None:
        """Hard constraints always come along (D16); the rest only as far as asked (D08)."""
        scope = await opened(store)
        await store.put_profile([item(n, pinned=n > 10) for n in range(1, 21)])

        loaded = await store.load(wish(scope.id, person_id=7, profile=3))
        none = await store.load(wish(scope.id, person_id=7, profile=0))

        assert [10, 9, 8] == [row.id for row in loaded.profile]
        assert list(range(11, 21)) == [row.id for row in loaded.pinned]
        assert ((), 10) == (none.profile, len(none.pinned))

    async def test_what_was_said_in_private_stays_out_of_groups(self, store: Store) -> None:
        """Unless the room allows it (hermes#52900); group items may enter private talk of the same person."""
        scope = await opened(store)
        await store.put_profile(
            [
                item(1, chat_type="private"),
                item(2, chat_type="group"),
                item(3, chat_type="private", pinned=True),
                item(4, chat_type="group", pinned=True),
            ]
        )

        async def seen(chat_type: str, *, allowed: bool = False) -> tuple[list[int], list[int]]:
            wanted = wish(scope.id, person_id=7, chat_type=chat_type, private_in_group=allowed)
            loaded = await store.load(wanted)
            return [row.id for row in loaded.profile], [row.id for row in loaded.pinned]

        assert ([2], [4]) == await seen("group")
        assert ([2, 1], [3, 4]) == await seen("group", allowed=True)
        assert ([2, 1], [3, 4]) == await seen("private")

    async def test_a_profile_follows_its_person_into_any_scope(self, store: Store) -> None:
        """Long-term memory crosses sessions and conversations (B21, B22, C21, D06)."""
        await store.put_profile([item(1)])
        scope = await opened(store, room="elsewhere", channel="other")

        loaded = await store.load(wish(scope.id, person_id=7, now_ms=NOW + 30 * 24 * HOUR))

        assert (item(1),) == loaded.profile

    async def test_texts_that_no_database_can_hold_are_marked_here_too(self, store: Store) -> None:
        scope = await opened(store)
        await talk(store, scope.id, 1)
        await store.put_summary(summary(1, scope.id, text="a\x00"))
        await store.put_facts([fact(1, scope.id, slot="\x00", value="\ud800", speaker_name="\x00")])
        await store.put_profile([item(1, text="\x00", slot="\ud800")])

        loaded = await store.load(wish(scope.id, person_id=7))

        assert loaded.summary is not None
        assert "a\ufffd" == loaded.summary.text
        assert ["\ufffd"] * 3 == [loaded.facts[0].slot, loaded.facts[0].value, loaded.facts[0].speaker_name]
        assert ["\ufffd"] * 2 == [loaded.profile[0].text, loaded.profile[0].slot]


class BrokenPartContract:
    """One part that cannot be read costs itself only."""

    @pytest.mark.parametrize(
        ("table", "failed"),
        [
            ("summaries", {"summary"}),
            ("facts", {"facts"}),
            ("profile_items", {"pinned", "profile"}),
            ("observed", {"observed"}),
        ],
    )
    async def test_the_others_stand_when_a_part_is_gone(
        self, column: Column, store: Store, table: str, failed: set[str]
    ) -> None:
        """The summary's table is dropped, history still loads, and so for each (A28, A30, A31)."""
        scope = await _full(store)
        before = await store.load(wish(scope, person_id=7, observed=5))
        await column.sql(f"ALTER TABLE {table} RENAME TO gone")

        loaded = await store.load(wish(scope, person_id=7, observed=5))
        after = await store.append_and_load(
            scope, [said("go on", 9)], wish(scope, person_id=7, observed=5), turn_id=9, session=rule(), fence=1
        )

        assert failed == set(loaded.failed) == set(after.failed)
        for part in {"window", "summary", "facts", "pinned", "profile", "observed"} - failed:
            assert getattr(before, part) == getattr(loaded, part) == getattr(after, part), part
        for part in failed:
            assert not getattr(loaded, part)
        assert ["q1", "a1", "go on"] == await window(store, scope)

    async def test_the_summary_stands_when_the_messages_are_gone(self, column: Column, store: Store) -> None:
        """A broken message table costs the window, not the summary, the facts or the profile (A29, A30, F1)."""
        scope = await _full(store)
        before = await store.load(wish(scope, person_id=7, observed=5))
        await column.sql("ALTER TABLE messages RENAME TO gone")

        loaded = await store.load(wish(scope, person_id=7, observed=5))

        assert ((), ("window",)) == (loaded.window, loaded.failed)
        for part in ("summary", "facts", "pinned", "profile", "observed"):
            assert getattr(before, part) == getattr(loaded, part) != (), part

    async def test_a_row_that_cannot_be_read_as_what_it_is_costs_its_part(self, column: Column, store: Store) -> None:
        """Damaged, or of another release: the turn is stored and answered all the same, from what is left (A29, A31, F1)."""
        scope = await _full(store)
        before = await store.load(wish(scope, person_id=7, observed=5))
        await column.sql("UPDATE messages SET quote = '{}'")

        loaded = await store.load(wish(scope, person_id=7, observed=5))
        after = await store.append_and_load(
            scope, [said("go on", 9)], wish(scope, person_id=7, observed=5), turn_id=9, session=rule(), fence=1
        )

        assert ("window",) == loaded.failed == after.failed
        assert () == loaded.window == after.window
        assert ["go on"] == texts(after.appended)
        for part in ("summary", "facts", "pinned", "profile", "observed"):
            assert getattr(before, part) == getattr(loaded, part) == getattr(after, part) != (), part

    async def test_the_store_works_again_when_the_part_is_back(self, column: Column, store: Store) -> None:
        """No failure sticks to a connection or a prepared statement."""
        scope = await _full(store)
        await column.sql("ALTER TABLE summaries RENAME TO gone")
        assert ("summary",) == (await store.load(wish(scope))).failed

        await column.sql("ALTER TABLE gone RENAME TO summaries")

        loaded = await store.load(wish(scope))
        assert ((), summary(1, scope)) == (loaded.failed, loaded.summary)


async def _full(store: Store) -> int:
    """Return the id of a scope with something in every part."""
    scope = await opened(store)
    await talk(store, scope.id, 1)
    await store.put_summary(summary(1, scope.id))
    await store.put_facts([fact(1, scope.id)])
    await store.put_profile([item(1), item(2, pinned=True)])
    await store.observe(
        scope.id, key(), event_id=50, text="by the way", speaker_name="Bob", tokens=2, now_ms=NOW, keep=5
    )
    return scope.id
