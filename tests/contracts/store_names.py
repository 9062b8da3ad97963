"""The store contract: what happens to names when a room moves, a setting changes, or another instance did it; and the version
of the codec that all names are written in."""

from __future__ import annotations

from typing import Any

import pytest

from memory.base import Quoted, Store
from memory.errors import OtherKeys, ScopeMoved
from memory.ids import Ids
from memory.key import KEY_VERSION, Scope, scope_of
from tests.contracts.columns import Column
from tests.contracts.store import HOSTILE, NOW, key, opened, put, replied, rule, said, talk, texts, window, wish

GROUP = {"chat_type": "group"}


def scope(**parts: Any) -> Scope:
    mode = parts.pop("mode", "conversation")
    return scope_of(key(**(GROUP | parts)), mode=mode)


class NameContract:
    """Names that come to lead elsewhere while others use them."""

    async def test_a_name_knows_the_scope_that_it_leads_to(self, store: Store) -> None:
        """`root` names the lane: one scope, one lane, whatever names lead to it (DESIGN 2)."""
        old = await opened(store)
        await store.alias_scope(scope_of(key(room="房间"), mode="conversation"), old.id)

        renamed = await opened(store, room="房间")

        assert (old.scope, old.scope) == (old.root, renamed.root)

    async def test_a_turn_begins_in_no_scope_that_has_become_a_name(self, store: Store) -> None:
        """Whoever looked the scope up before it became another's name learns so when the turn is stored, and nothing is."""
        before = await opened(store, room="r2")
        target = await opened(store)
        await store.alias_scope(before.scope, target.id)

        with pytest.raises(ScopeMoved):
            await put(store, before.id, said("q", 1), turn_id=1)
        with pytest.raises(ScopeMoved):
            await store.append_and_load(before.id, [said("q", 1)], wish(before.id), turn_id=1, session=rule(), fence=1)

        assert [] == await window(store, before.id) == await window(store, target.id)

    async def test_a_turn_ends_where_it_began(self, store: Store) -> None:
        """A room that moves in mid-turn costs no reply."""
        before = await opened(store, room="r2")
        await put(store, before.id, said("q", 1), turn_id=1)
        await store.alias_scope(before.scope, (await opened(store)).id)

        stored = await put(store, before.id, said("q", 1), replied("a", 1), turn_id=1)

        assert ["q", "a"] == texts(stored)

    async def test_a_name_can_be_taken_back(self, store: Store) -> None:
        """Without a target a name is a scope of its own again; one that was none is empty."""
        old = await opened(store, **GROUP)
        await talk(store, old.id, 1)
        await store.alias_scope(scope(mode="room"), old.id)

        await store.alias_scope(scope(mode="room"), None)
        await store.alias_scope(scope(mode="room"), None)
        await store.alias_scope(old.scope, None)

        freed = await opened(store, mode="room", **GROUP)
        assert (scope(mode="room"), []) == (freed.root, await window(store, freed.id))
        assert old.id == (await opened(store, **GROUP)).id

    async def test_others_can_tell_that_a_name_changed(self, column: Column) -> None:
        """Many instances remember names: the store's count tells when to look again."""
        async with column.open(ids=Ids(1)) as mine, column.open(ids=Ids(2)) as theirs:
            target = await opened(mine)
            seen = [await theirs.name_changes()]
            await mine.alias_scope(scope(room="r2"), target.id)
            seen.append(await theirs.name_changes())
            await mine.alias_scope(scope(room="r2"), None)
            seen.append(await theirs.name_changes())
            await mine.move_room("web", "r1", "r9", now_ms=NOW)
            seen.append(await theirs.name_changes())
            await talk(mine, target.id, 1)

            assert sorted(set(seen)) == seen
            assert seen[-1] == await theirs.name_changes()

    async def test_all_names_in_groups_are_told(self, store: Store) -> None:
        """With when the scope behind each was last spoken in, and whether it has something to continue: what a changed
        setting is compared with (AstrBot#4331)."""
        names = {
            "told": await opened(store, room="told", **GROUP),
            "mine": await opened(store, room="told", mode="speaker", **GROUP),
            "ended": await opened(store, room="ended", **GROUP),
            "silent": await opened(store, room="silent", **GROUP),
            "elsewhere": await opened(store, channel="web2", **GROUP),
            "private": await opened(store, room="p"),
        }
        for n, (name, row) in enumerate(names.items()):
            if name != "silent":
                await put(store, row.id, said("q", n), turn_id=n, session=rule(f"s-{n}"), now_ms=NOW + n)
        await store.end_session(names["ended"].id, now_ms=NOW)
        await store.alias_scope(scope(room="told", mode="room"), names["told"].id)

        found = {
            (row.scope, row.root_id, row.last_ms, row.active, row.alias) for row in await store.group_scopes("web")
        }

        assert {
            (names["told"].scope, names["told"].id, NOW, True, False),
            (names["mine"].scope, names["mine"].id, NOW + 1, True, False),
            (names["ended"].scope, names["ended"].id, NOW + 2, False, False),
            (names["silent"].scope, names["silent"].id, 0, False, False),
            (scope(room="told", mode="room"), names["told"].id, NOW, True, True),
        } == found

    async def test_keys_of_another_codec_are_refused(self, column: Column) -> None:
        """A store says which codec its keys are written in; another one would find nothing that was said before
        (AstrBot#4331)."""
        async with column.open():
            assert [(KEY_VERSION,)] == await column.sql("SELECT value FROM meta WHERE name = 'key_version'")
        await column.sql(f"UPDATE meta SET value = {KEY_VERSION + 1} WHERE name = 'key_version'")

        with pytest.raises(OtherKeys, match=f"version {KEY_VERSION + 1}, this release writes version {KEY_VERSION}"):
            async with column.open():
                pass


class RoomMoveContract:
    """A room that gets another id."""

    async def test_everything_in_the_room_goes_along(self, store: Store) -> None:
        """Every conversation, person and agent of the old room, and nobody else's: rooms whose names begin alike are
        other rooms."""
        inside: list[dict[str, Any]] = [
            {},
            {"thread": "t"},
            {"thread": "话题/1"},
            {"mode": "room"},
            {"mode": "speaker"},
            {"mode": "speaker", "user": "u2"},
            {"agent": "other"},
            {"chat_type": "private"},
        ]
        outside: list[dict[str, Any]] = [{"room": "old2"}, {"room": "old/x"}, {"room": "ol"}, {"channel": "web2"}]
        ids = {}
        for place in (*inside, *outside):
            parts = {"room": "old"} | GROUP | place
            ids[str(place)] = (await opened(store, **parts)).id

        await store.move_room("web", "old", "new", now_ms=NOW)

        for place in inside:
            assert ids[str(place)] == (await opened(store, **(GROUP | place | {"room": "new"}))).id
            assert ids[str(place)] == (await opened(store, **({"room": "old"} | GROUP | place))).id
        for place in outside:
            row = await opened(store, **({"room": "old"} | GROUP | place))
            assert (ids[str(place)], row.scope) == (row.id, row.root)
            assert row.id != (await opened(store, **({"room": "old"} | GROUP | place | {"room": "new"}))).id

    async def test_the_talk_goes_on(self, store: Store) -> None:
        old = await opened(store, room="-100", **GROUP)
        await talk(store, old.id, 1)

        await store.move_room("web", "-100", "-1001", now_ms=NOW)

        new = await opened(store, room="-1001", **GROUP)
        await talk(store, new.id, 1, first=2)
        assert (old.root, ["q1", "a1", "q2", "a2"]) == (new.root, await window(store, new.id))

    async def test_repeating_a_move_changes_nothing(self, store: Store) -> None:
        """Both rooms tell of the move, in any order, and each may be delivered twice."""
        old = await opened(store, room="old", **GROUP)
        for n in range(3):
            await store.move_room("web", "old", "new", now_ms=NOW + n)

        assert old.id == (await opened(store, room="new", **GROUP)).id
        (moved,) = await store.moved_rooms()
        assert ("web", "old", "new", NOW) == (moved.channel, moved.room, moved.now_room, moved.moved_ms)

    async def test_what_was_said_there_before_the_move_was_known(self, store: Store) -> None:
        """The old scope, with its history, goes on; also for the names that led to the new one."""
        old = await opened(store, room="old", **GROUP)
        early = await opened(store, room="new", **GROUP)
        await store.alias_scope(scope(room="new", agent="other"), early.id)
        await store.alias_scope(scope(room="old", agent="other"), old.id)

        await store.move_room("web", "old", "new", now_ms=NOW)

        assert [old.id] * 2 == [(await opened(store, room="new", agent=a, **GROUP)).id for a in ("helper", "other")]
        with pytest.raises(ScopeMoved):
            await put(store, early.id, said("q", 1), turn_id=1)

    async def test_moves_one_after_the_other_end_at_the_last_id(self, store: Store) -> None:
        first = await opened(store, room="a", **GROUP)
        await store.move_room("web", "a", "b", now_ms=NOW)
        await store.move_room("web", "b", "c", now_ms=NOW + 1)

        assert {first.id} == {(await opened(store, room=room, **GROUP)).id for room in "abc"}
        assert {"a": "c", "b": "c"} == {moved.room: moved.now_room for moved in await store.moved_rooms()}

    async def test_a_room_that_moves_back(self, store: Store) -> None:
        """No circle, and the first id is the current one again."""
        first = await opened(store, room="a", **GROUP)
        await store.move_room("web", "a", "b", now_ms=NOW)
        await store.move_room("web", "b", "a", now_ms=NOW + 1)
        await store.move_room("web", "a", "a", now_ms=NOW + 2)

        assert {first.id} == {(await opened(store, room=room, **GROUP)).id for room in "ab"}
        assert {"b": "a"} == {moved.room: moved.now_room for moved in await store.moved_rooms()}

    @pytest.mark.parametrize("hostile", [*HOSTILE, "old/t", "old%2Ft"])
    async def test_hostile_rooms_move_like_any(self, store: Store, hostile: str) -> None:
        there = await opened(store, room=hostile, thread="t", **GROUP)
        other = await opened(store, room="old", **GROUP)

        await store.move_room("web", hostile, "new %/:*", now_ms=NOW)

        assert there.id == (await opened(store, room="new %/:*", thread="t", **GROUP)).id
        assert other.id == (await opened(store, room="old", **GROUP)).id
        (moved,) = await store.moved_rooms()
        assert (hostile, "new %/:*") == (moved.room, moved.now_room)

    async def test_a_choice_of_agent_goes_along(self, store: Store) -> None:
        """And a choice made in the new room already stands."""
        await store.choose_agent(key(room="old", **GROUP), "poet", now_ms=NOW)
        await store.choose_agent(key(room="old", user="u2", **GROUP), "poet", now_ms=NOW)
        await store.choose_agent(key(room="new", user="u2", **GROUP), "诗人", now_ms=NOW)

        await store.move_room("web", "old", "new", now_ms=NOW)

        assert ("poet", "诗人") == (
            await store.chosen_agent(key(room="new", **GROUP)),
            await store.chosen_agent(key(room="new", user="u2", **GROUP)),
        )

    async def test_edits_reach_what_was_said_before_and_after(self, store: Store) -> None:
        """The scope has two names, so its place is both rooms: with another agent answering now, too."""
        old = await opened(store, room="old", **GROUP)
        await put(store, old.id, said("before", 1, platform_message_id="m"), turn_id=1)
        await store.move_room("web", "old", "new", now_ms=NOW)
        other = await opened(store, room="new", agent="other", **GROUP)

        by = key(room="new", agent="other", **GROUP)
        known = await store.edit(other.id, "m", by=by, text="mended", tokens=1, low_value=False, now_ms=NOW)

        assert (True, ["mended"]) == (known, await window(store, old.id))
        assert await store.delete(other.id, "m", by=by, now_ms=NOW)
        assert [""] == await window(store, old.id)

    async def test_an_id_given_anew_after_a_move_is_another_message(self, store: Store) -> None:
        """A platform that counts a new room's messages from one gives Bob's number to Ann: her edits and deletions change
        nothing of his, be it asked, overheard or quoted."""
        scope = await opened(store, room="old", thread="t", **GROUP)
        there = {"room": "old", "thread": "t", **GROUP}
        bob = key(user="bob", **there)
        quote = Quoted(name="Bob", text="Bob's")
        await put(store, scope.id, said("Bob's", 1, key=bob, platform_message_id="7"), turn_id=1)
        await put(store, scope.id, said("so", 2, key=key(**there), reply_to="7", quote=quote), turn_id=2)
        await store.observe(
            scope.id,
            bob,
            event_id=3,
            text="旁白",
            speaker_name="Bob",
            tokens=1,
            now_ms=NOW,
            keep=5,
            platform_message_id="8",
        )
        await store.move_room("web", "old", "old-new", now_ms=NOW)
        ann = key(user="ann", room="old-new", thread="t", **GROUP)
        await put(store, scope.id, said("Ann's", 4, key=ann, platform_message_id="7"), turn_id=4)

        known = [
            await store.edit(scope.id, name, by=ann, text="mended", tokens=1, low_value=False, now_ms=NOW)
            for name in "78"
        ]
        loaded = await store.load(wish(scope.id, observed=5))

        assert [True, False] == known
        assert ["Bob's", "so", "mended"] == texts(loaded.window)
        assert quote == loaded.window[1].quote
        assert ["旁白"] == texts(loaded.observed)
        assert [True, False] == [await store.delete(scope.id, name, by=ann, now_ms=NOW) for name in "78"]
        loaded = await store.load(wish(scope.id, observed=5))
        assert ["Bob's", "so", ""] == texts(loaded.window)
        assert quote == loaded.window[1].quote
        assert ["旁白"] == texts(loaded.observed)
