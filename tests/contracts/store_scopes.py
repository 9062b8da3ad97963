"""The store contract: scopes, their names, and people. Whoever may not read gets nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memory.base import Identity, Owner, ScopeRow, Store
from memory.errors import UnknownScope
from memory.ids import Ids
from memory.key import InvalidKey, scope_of
from tests.contracts.columns import Column
from tests.contracts.store import (
    HOSTILE,
    NOW,
    fact,
    item,
    key,
    opened,
    put,
    replied,
    rule,
    said,
    summary,
    talk,
    texts,
    window,
    wish,
)


class ScopeContract:
    """One row a scope; names that lead to it."""

    async def test_opening_twice_gives_one_scope(self, store: Store) -> None:
        first = await opened(store)

        assert first == await opened(store)
        assert (scope_of(key(), mode="conversation"), "", 0, None) == (
            first.scope,
            first.title,
            first.last_ms,
            first.session_id,
        )

    async def test_concurrent_openers_get_one_scope(self, column: Column) -> None:
        """Atomic get-or-create, also between instances (langchain4j/langchain4j#5250)."""
        async with column.open(ids=Ids(1)) as a, column.open(ids=Ids(2)) as b:
            rows = await asyncio.gather(*(opened(store) for store in (a, b) * 20))

        assert 1 == len({row.id for row in rows})

    @pytest.mark.parametrize(
        "other",
        [
            {"user": "u2"},
            {"channel": "web2"},
            {"room": "r2"},
            {"thread": "t1"},
            {"chat_type": "group"},
            {"agent": "other"},
        ],
        ids=lambda other: next(iter(other)),
    )
    async def test_each_part_of_the_key_separates(self, store: Store, other: dict[str, Any]) -> None:
        """User, channel, conversation, chat type, agent: one difference, nothing shared (C17 to C20)."""
        mine, theirs = await opened(store), await opened(store, **other)

        await talk(store, mine.id, 1)

        assert mine.id != theirs.id
        assert ["q1", "a1"] == await window(store, mine.id)
        assert [] == await window(store, theirs.id)

    @pytest.mark.parametrize("part", ["user", "room", "thread", "channel", "agent"])
    async def test_hostile_ids_neither_meet_nor_break(self, store: Store, part: str) -> None:
        """Wildcards, separators, quotes, look-alikes: equality on columns only (langchain-ai/langgraph#8300,
        langchain-ai/langgraphjs#2721, F10, F12)."""
        neighbours = [*HOSTILE, "u1", "aXbYc", "acme", "acme:corp2", "a", "john-doe", "john_doe"]
        scopes = {}
        for n, hostile in enumerate(neighbours):
            parts = {part: hostile}
            scopes[hostile] = scope = await opened(store, **parts)
            await put(store, scope.id, said(hostile, n, key=key(**parts)), turn_id=n, session=rule(f"s-{n}"))

        assert len(neighbours) == len({scope.id for scope in scopes.values()})
        for hostile, scope in scopes.items():
            loaded = await store.load(wish(scope.id))
            assert [hostile.replace("\x00", "\ufffd")] == texts(loaded.window)
            if part == "user":
                assert hostile == loaded.window[0].user

    async def test_wrong_owners_read_nothing(self, store: Store) -> None:
        """Every read is filtered by its owner inside the query (B53, E06, agiresearch/AIOS#551, openclaw/openclaw#85240)."""
        mine = await opened(store)
        theirs = await opened(store, user="u2")
        stored = await put(store, mine.id, said("mine", 1, person_id=7), replied("reply", 1), turn_id=5)
        await put(store, theirs.id, said("theirs", 2, key=key(user="u2")), turn_id=6, session=rule("s-2"))
        foreign = Owner(scope_id=theirs.id, person_id=7, namespace="shared", chat_type="private")
        nobody = Owner(scope_id=404, person_id=7, namespace="shared", chat_type="private")

        for owner in (foreign, nobody):
            assert () == await store.turn_messages(owner, 5)
            assert () == await store.messages_by_id(owner, [(row.id, 1) for row in stored])
            assert () == await store.older(owner, session_id="s-1", before_id=2**62, limit=10)
        assert ["mine", "reply"] == texts(await store.turn_messages(wish(mine.id).owner, 5))
        assert () == (await store.load(wish(404))).window
        assert "" == (await store.load(wish(404))).session_id

    async def test_a_place_is_found_without_opening_a_scope(self, store: Store) -> None:
        """By the name itself, else by another agent's or, in a group, another speaker's; a private place is one person's."""
        shared = {"room": "群 1", "chat_type": "group"}
        theirs = await opened(store, user="u2", agent="other", **shared)
        named = scope_of(key(**shared), mode="speaker")
        strangers = [key(), key(room="群 1"), key(channel="web2", **shared), key(thread="t", **shared)]

        assert [None] * 4 == [await store.scope_in_place(scope_of(stranger, mode="speaker")) for stranger in strangers]
        assert theirs.id == await store.scope_in_place(named)
        mine = await store.open_scope(named, now_ms=NOW, agent_change="fresh")
        assert mine.id == await store.scope_in_place(named)
        await store.alias_scope(named, theirs.id)
        assert theirs.id == await store.scope_in_place(named)
        private = await opened(store, user="u2", agent="other")
        assert None is await store.scope_in_place(scope_of(key(), mode="conversation"))
        assert private.id == await store.scope_in_place(scope_of(key(user="u2"), mode="conversation"))


class AliasContract:
    """Renames, migrations and other agents."""

    async def test_an_alias_leads_to_the_same_memory(self, store: Store) -> None:
        """A renamed room goes on where it was (DESIGN 2)."""
        old = await opened(store)
        await talk(store, old.id, 1)
        new = scope_of(key(room="r2"), mode="conversation")

        await store.alias_scope(new, old.id)
        await store.alias_scope(new, old.id)

        renamed = await opened(store, room="r2")
        assert (old.id, new, "q1") == (renamed.id, renamed.scope, renamed.title)
        assert ["q1", "a1"] == await window(store, renamed.id)
        assert old.id == (await opened(store)).id

    async def test_chains_of_aliases_end_at_one_scope(self, store: Store) -> None:
        """Renamed twice, and a name that was already in use: every name is one step from its scope."""
        first = await opened(store)
        used = await opened(store, room="r3")
        await store.alias_scope(scope_of(key(room="r2"), mode="conversation"), used.id)

        await store.alias_scope(used.scope, first.id)

        assert {first.id} == {(await opened(store, room=room)).id for room in ("r1", "r2", "r3")}
        await store.alias_scope(scope_of(key(room="r4"), mode="conversation"), used.id)
        assert first.id == (await opened(store, room="r4")).id

    async def test_an_alias_of_itself_changes_nothing(self, store: Store) -> None:
        """A room renamed back makes no circle."""
        first = await opened(store)
        other = scope_of(key(room="r2"), mode="conversation")
        await store.alias_scope(other, first.id)

        await store.alias_scope(first.scope, first.id)
        await store.alias_scope(other, (await opened(store, room="r2")).id)

        assert first.id == (await opened(store)).id == (await opened(store, room="r2")).id

    async def test_an_alias_needs_a_target(self, store: Store) -> None:
        with pytest.raises(UnknownScope):
            await store.alias_scope(scope_of(key(room="r2"), mode="conversation"), 404)

        assert 404 != (await opened(store, room="r2")).id

    async def test_another_agent_starts_fresh_by_default(self, store: Store) -> None:
        """Agents never share a scope unasked (C18, C19, D09)."""
        old = await opened(store)
        await talk(store, old.id, 1)

        new = await opened(store, agent="other")

        assert (None, None) == (new.carry_scope_id, new.carry_last_id)
        later = await store.load(wish(new.id))
        assert ((), None) == (later.carried, later.handover)

    async def test_another_agent_carries_the_last_window_over(self, store: Store) -> None:
        """`carry`: what was said up to the change, and its summary, open the new scope, during its first session only."""
        old = await opened(store)
        await talk(store, old.id, 12)

        made = summary(31, old.id)
        await store.put_summary(made)

        new = await _changed(store, "carry", agent="other")
        await talk(store, old.id, 1, first=50)

        assert (old.id, new.carry_scope_id) == (new.carry_scope_id, old.id)
        loaded = await store.append_and_load(
            new.id, [said("go on", 99)], wish(new.id), turn_id=99, session=rule("s-new"), fence=1
        )
        assert [f"{role}{n}" for n in range(3, 13) for role in "qa"] == texts(loaded.carried)
        assert {old.id} == {row.scope_id for row in loaded.carried}
        assert loaded.carried == (await store.load(wish(new.id))).carried
        assert made == loaded.handover
        assert () == loaded.window
        await store.end_session(new.id, now_ms=NOW)
        await talk(store, new.id, 1, first=200, session=rule("s-next"))
        assert () == (await store.load(wish(new.id))).carried

    async def test_talk_that_was_ended_is_not_carried_over(self, store: Store) -> None:
        """`/new` before a change of agent stands: what was left behind does not come back (openclaw#148766)."""
        old = await opened(store)
        await talk(store, old.id, 2)
        await store.end_session(old.id, now_ms=NOW)

        ended = await _changed(store, "carry", agent="second")
        await talk(store, old.id, 1, first=50, session=rule("s-later"))
        later = await _changed(store, "carry", agent="third")

        assert (None, old.id) == (ended.carry_scope_id, later.carry_scope_id)
        assert ["q50", "a50"] == texts((await store.load(wish(later.id))).carried)

    async def test_another_agent_continues_the_old_scope(self, store: Store) -> None:
        """`alias`: the new key goes on where the old one was."""
        old = await opened(store)
        await talk(store, old.id, 1)

        new = await _changed(store, "alias", agent="other")

        assert old.id == new.id
        assert ["q1", "a1"] == await window(store, new.id)

    async def test_of_several_agents_the_last_spoken_to_is_continued(self, store: Store) -> None:
        for n, agent in enumerate(("a", "c", "b")):
            scope = await opened(store, agent=agent)
            await put(store, scope.id, said("hi", n), turn_id=n, session=rule(f"s-{n}"), now_ms=NOW + (n % 2))

        assert (await opened(store, agent="c")).id == (await _changed(store, "carry", agent="new")).carry_scope_id

    @pytest.mark.parametrize("change", ["carry", "alias"])
    async def test_a_change_of_agent_takes_nothing_from_elsewhere(self, store: Store, change: Any) -> None:
        """Only the same user, channel, conversation and chat type are continued."""
        for n, parts in enumerate(
            ({"user": "u2"}, {"channel": "web2"}, {"room": "r2"}, {"thread": "t"}, {"chat_type": "group"})
        ):
            scope = await opened(store, **parts)
            await put(store, scope.id, said("theirs", n, key=key(**parts)), turn_id=n, session=rule(f"s-{n}"))

        new = await _changed(store, change, agent="new")

        assert new.carry_scope_id is None
        assert ([], ()) == (await window(store, new.id), (await store.load(wish(new.id))).carried)

    async def test_a_change_counts_at_creation_only(self, store: Store) -> None:
        """An existing scope keeps what it is."""
        old = await opened(store)
        mine = await opened(store, agent="other")
        await talk(store, old.id, 1)

        again = await _changed(store, "carry", agent="other")

        assert mine == again


async def _changed(store: Store, change: Any, **parts: Any) -> ScopeRow:
    return await store.open_scope(scope_of(key(**parts), mode="conversation"), now_ms=NOW, agent_change=change)


class PersonContract:
    """Accounts and people; what is personal is read for its person only."""

    async def test_one_account_is_one_person(self, store: Store) -> None:
        ann = Identity(kind="web", tenant="acme", account="ann")

        person = await store.person(ann, now_ms=NOW)

        assert person == await store.person(ann, now_ms=NOW + 1)

    async def test_concurrent_first_sights_make_one_person(self, column: Column) -> None:
        ann = Identity(kind="web", tenant="", account="ann")
        async with column.open(ids=Ids(1)) as a, column.open(ids=Ids(2)) as b:
            people = await asyncio.gather(*(store.person(ann, now_ms=NOW) for store in (a, b) * 20))

        assert 1 == len(set(people))

    async def test_two_tenants_with_the_same_ids_are_two_people(self, store: Store) -> None:
        """Kind, tenant and account are three columns (rasahq/rasa#7941's kind, S16)."""
        people = [
            await store.person(Identity(kind=kind, tenant=tenant, account=account), now_ms=NOW)
            for kind, tenant, account in (
                ("web", "a", "u1"),
                ("web", "b", "u1"),
                ("web", "", "u1"),
                ("hook", "a", "u1"),
                ("web", "a:u", "1"),
                ("web", "a", "u:1"),
                ("web:a", "u", "1"),
            )
        ]

        assert len(people) == len(set(people))

    async def test_hostile_accounts_are_people_of_their_own(self, store: Store) -> None:
        people = [
            await store.person(Identity(kind="web", tenant=account, account=account), now_ms=NOW) for account in HOSTILE
        ]

        assert len(HOSTILE) == len(set(people))

    async def test_an_account_that_is_no_text_is_refused(self, store: Store) -> None:
        for account in ("", "\ud800"):
            with pytest.raises(InvalidKey, match="account"):
                await store.person(Identity(kind="web", tenant="", account=account), now_ms=NOW)

    async def test_a_stranger_reads_nothing_personal(self, store: Store) -> None:
        """No trustworthy sender, no personal memory (B33, hermes#17989); another person gets their own only (B50, D09)."""
        scope = await opened(store)
        await talk(store, scope.id, 1)
        await store.put_facts([fact(1, scope.id)])
        await store.put_profile([item(1), item(2, pinned=True)])
        await store.put_summary(summary(1, scope.id))

        for person_id in (None, 8):
            loaded = await store.load(wish(scope.id, person_id=person_id))
            assert ((), (), ()) == (loaded.facts, loaded.pinned, loaded.profile)
            assert loaded.summary is not None
        loaded = await store.load(wish(scope.id, person_id=7))
        assert (1, 1, 1) == (len(loaded.facts), len(loaded.pinned), len(loaded.profile))

    async def test_a_chosen_agent_is_one_speaker_s_in_one_conversation(self, store: Store) -> None:
        """`/agent` counts for who asked, where they asked, whatever agent the key names now; it can be taken back."""
        asked = key(user="ann:%", room="r", chat_type="group")
        await store.choose_agent(asked, "poet", now_ms=NOW)
        await store.choose_agent(asked, "诗人", now_ms=NOW + 1)

        assert "诗人" == await store.chosen_agent(key(user="ann:%", room="r", chat_type="group", agent="other"))
        for other in ({"user": "ann"}, {"room": "r2"}, {"chat_type": "private"}, {"channel": "hook"}, {"thread": "t"}):
            assert (
                await store.chosen_agent(key(**({"user": "ann:%", "room": "r", "chat_type": "group"} | other))) is None
            )

        await store.choose_agent(asked, None, now_ms=NOW + 2)

        assert await store.chosen_agent(asked) is None
