"""What every store must keep: the contract of `memory.base.Store`, as classes that `test_store.py` runs on every database.

This module holds the suite's words and the contract of appending; the other `store_*` modules hold the rest.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memory.base import (
    Fact,
    Ledger,
    LedgerEntry,
    Load,
    Message,
    NewMessage,
    Owner,
    ProfileItem,
    Quoted,
    ScopeRow,
    SessionRule,
    Step,
    Store,
    Summary,
)
from memory.coverage import coverage
from memory.errors import Fenced, UnknownScope
from memory.ids import Ids
from memory.key import ConversationKey, ScopeMode, scope_of
from tests.contracts.columns import Column

NOW = 1_790_000_000_000
HOUR = 3_600_000

HOSTILE = [
    "a_b%c",
    "100%_",
    "acme:corp",
    "x/y",
    "*",
    "'; DROP TABLE messages; --",
    '"quoted"',
    "back\\slash",
    "中文用户",
    "👩‍👩‍👧‍👦",
    "\u202eevil\u2066",
    "nul\x00byte",
    "line\nbreak",
    "é",
    "e\u0301",
    "U1",
    "u1 ",
    "x" * 4000,
]
"""Account and room ids that broke other systems, next to `u1`: wildcards, separators, quotes, other scripts, look-alikes."""


def key(**parts: Any) -> ConversationKey:
    """Return a private key of user `u1`; `parts` replace."""
    defaults: dict[str, Any] = {
        "user": "u1",
        "channel": "web",
        "room": "r1",
        "thread": None,
        "chat_type": "private",
        "agent": "helper",
    }
    return ConversationKey(**(defaults | parts))


def said(text: str, event_id: int, **fields: Any) -> NewMessage:
    """Return a user's message; `fields` replace."""
    defaults: dict[str, Any] = {"key": key(), "event_id": event_id, "role": "user", "text": text}
    return NewMessage(**(defaults | fields))


def replied(text: str, event_id: int, **fields: Any) -> NewMessage:
    """Return the agent's message; `fields` replace."""
    return said(text, event_id, **({"role": "assistant"} | fields))


def rule(name: str = "s-1", **fields: Any) -> SessionRule:
    """Return a rule whose new session would be `name`."""
    defaults: dict[str, Any] = {"fresh_id": name, "idle_ms": 2 * HOUR}
    return SessionRule(**(defaults | fields))


def owner(scope_id: int, **fields: Any) -> Owner:
    """Return a private owner without a person; `fields` replace."""
    defaults: dict[str, Any] = {"person_id": None, "namespace": "shared", "chat_type": "private", "agent": "helper"}
    return Owner(scope_id=scope_id, **(defaults | fields))


def wish(
    scope_id: int,
    *,
    now_ms: int = NOW,
    page: int = 40,
    observed: int = 0,
    profile: int = 50,
    terms: tuple[int, ...] = (),
    hits: int = 200,
    **fields: Any,
) -> Load:
    """Return a wish for everything of `owner(scope_id, **fields)`."""
    return Load(
        owner=owner(scope_id, **fields),
        now_ms=now_ms,
        page=page,
        observed=observed,
        profile=profile,
        terms=terms,
        hits=hits,
    )


async def opened(store: Store, *, mode: ScopeMode = "conversation", **parts: Any) -> ScopeRow:
    """Open the scope of `key(**parts)`."""
    return await store.open_scope(scope_of(key(**parts), mode=mode), now_ms=NOW, agent_change="fresh")


async def put(
    store: Store,
    scope_id: int,
    *messages: NewMessage,
    turn_id: int,
    session: SessionRule | None = None,
    now_ms: int = NOW,
    fence: int = 1,
    ledger: Ledger | None = None,
) -> tuple[Message, ...]:
    """Append with everything that the test doesn't care about filled in."""
    return await store.append(
        scope_id,
        messages,
        turn_id=turn_id,
        session=session or rule(),
        now_ms=now_ms,
        fence=fence,
        ledger=ledger,
    )


async def talk(store: Store, scope_id: int, turns: int, *, first: int = 1, **fields: Any) -> None:
    """Append `turns` whole turns: `q1`, `a1`, `q2`, `a2`, …"""
    for n in range(first, first + turns):
        await put(store, scope_id, said(f"q{n}", n), replied(f"a{n}", n), turn_id=n, **fields)


def texts(rows: tuple[Message, ...]) -> list[str]:
    """Return the messages' texts in order."""
    return [row.text for row in rows]


async def window(store: Store, scope_id: int, **fields: Any) -> list[str]:
    """Return the texts of the scope's window."""
    return texts((await store.load(wish(scope_id, **fields))).window)


def ledger(turn_id: int, scope_id: int, **fields: Any) -> Ledger:
    """Return a ledger with something in every field; `fields` replace."""
    defaults: dict[str, Any] = {
        "session_id": "s-1",
        "person_id": 7,
        "agent": "helper",
        "revision": "r1",
        "now_ms": NOW,
        "tokenizer": "o200k",
        "budget": {"history": 6000},
        "entries": (LedgerEntry(section="window", ids=(1, 2), version=1, verdict="in", rule="kept_turns", tokens=12),),
        "failed": ("summary",),
        "notes": ("note 注",),
        "prompt_digest": "d" * 64,
        "usage": {"prompt": 20},
    }
    return Ledger(turn_id=turn_id, scope_id=scope_id, **(defaults | fields))


def summary(id_: int, scope_id: int, **fields: Any) -> Summary:
    defaults: dict[str, Any] = {
        "session_id": "s-1",
        "text": "摘要",
        "first_id": 1,
        "last_id": 2,
        "digest": coverage("", ()),  # it covers nothing of what these tests store
        "tokens": 3,
        "created_ms": NOW,
    }
    return Summary(id=id_, scope_id=scope_id, **(defaults | fields))


def fact(id_: int, scope_id: int, **fields: Any) -> Fact:
    defaults: dict[str, Any] = {
        "session_id": "s-1",
        "person_id": 7,
        "speaker_name": "Ann",
        "slot": "order",
        "value": "8821",
        "source_ids": (1, 2),
        "status": "active",
        "created_ms": NOW,
        "expires_ms": NOW + HOUR,
    }
    return Fact(id=id_, scope_id=scope_id, **(defaults | fields))


def item(id_: int, **fields: Any) -> ProfileItem:
    defaults: dict[str, Any] = {
        "person_id": 7,
        "namespace": "shared",
        "kind": "preference",
        "slot": "",
        "text": f"item {id_}",
        "pinned": False,
        "chat_type": "private",
        "source_ids": (),
        "status": "active",
        "valid_from_ms": NOW - HOUR,
        "valid_to_ms": None,
    }
    return ProfileItem(id=id_, **(defaults | fields))


class AppendContract:
    """Append-only rows with growing ids, repeatable, fenced."""

    async def test_stores_and_returns_what_was_said(self, store: Store) -> None:
        """An append returns the rows as stored, in order (A12, A13, A18)."""
        scope = await opened(store)

        first, second = await put(store, scope.id, said("你好", 1), replied("second", 1), turn_id=10)

        assert ("你好", "second") == (first.text, second.text)
        assert first.id < second.id
        assert (first, second) == (await store.load(wish(scope.id))).window

    async def test_keeps_every_field(self, store: Store) -> None:
        """All fields come back as they went in (A13, A17, E03), the key's parts as columns, the account decoded."""
        parts: dict[str, Any] = {"user": "T1.U:7%", "room": "C/1", "thread": "17.5", "chat_type": "group"}
        scope = await opened(store, **parts)
        new = said(
            "text 文 👩‍🚀",
            3,
            key=key(**parts),
            speaker_name="Ann 安",
            person_id=77,
            tokens=12,
            low_value=True,
            platform_message_id="m:1'",
            reply_to="m%0",
            quote=Quoted(name="Bob", text='said "it"', by_bot=True),
            thinking="hm",
            thinking_s=1.25,
            steps=(Step(name="search", detail="查", ms=3), Step(name="tool")),
            looked_up_ms=NOW - 5,
        )

        (stored,) = await put(store, scope.id, new, turn_id=2)

        expected = Message(
            id=stored.id,
            scope_id=scope.id,
            session_id="s-1",
            turn_id=2,
            event_id=3,
            role="user",
            text="text 文 👩‍🚀",
            user="T1.U:7%",
            channel="web",
            conversation="C%2F1/17.5",
            chat_type="group",
            agent="helper",
            speaker_name="Ann 安",
            person_id=77,
            tokens=12,
            low_value=True,
            created_ms=NOW,
            platform_message_id="m:1'",
            reply_to="m%0",
            quote=Quoted(name="Bob", text='said "it"', by_bot=True),
            thinking="hm",
            thinking_s=1.25,
            steps=(Step(name="search", detail="查", ms=3), Step(name="tool")),
            looked_up_ms=NOW - 5,
        )
        assert expected == stored
        assert (expected,) == (await store.load(wish(scope.id))).window

    async def test_stores_what_no_database_can_hold_with_a_mark(self, store: Store) -> None:
        """NUL and lone surrogates become U+FFFD instead of failing the turn."""
        scope = await opened(store)
        new = said(
            "a\x00b\ud800c",
            1,
            speaker_name="\x00",
            platform_message_id="p\x00",
            reply_to="\udfff",
            thinking="\x00t",
            steps=(Step(name="\x00", detail="\ud900"),),
            quote=Quoted(name="\x00", text="\ud800"),
        )

        (stored,) = await put(store, scope.id, new, turn_id=1)

        assert "a\ufffdb\ufffdc" == stored.text
        assert ("\ufffd", "p\ufffd", "\ufffd", "\ufffdt") == (
            stored.speaker_name,
            stored.platform_message_id,
            stored.reply_to,
            stored.thinking,
        )
        assert (Step(name="\ufffd", detail="\ufffd"),) == stored.steps
        assert (stored,) == (await store.load(wish(scope.id))).window
        assert await store.delete(scope.id, "p\x00", by=key(), now_ms=NOW)

    async def test_long_texts_and_long_ids_are_stored_whole(self, store: Store) -> None:
        """No column has a length that cuts or refuses (F12)."""
        scope = await opened(store, user="u" * 2000, room="r" * 2000)
        long = "长" * 32_000

        (stored,) = await put(store, scope.id, said(long, 1, key=key(user="u" * 2000, room="r" * 2000)), turn_id=2**62)

        assert (long, "u" * 2000, 2**62) == (stored.text, stored.user, stored.turn_id)
        assert [long] == await window(store, scope.id)

    async def test_a_repeated_append_returns_the_first_rows_and_writes_nothing(self, store: Store) -> None:
        """The same turn, event and role again is the same message; the first text stands (getzep/graphiti#963)."""
        scope = await opened(store)
        first = await put(store, scope.id, said("one", 1), said("two", 2), turn_id=5)
        await put(store, scope.id, replied("reply", 1), turn_id=5)

        again = await put(store, scope.id, said("ONE", 1), said("two", 2), turn_id=5)

        assert first == again
        assert ["one", "two", "reply"] == await window(store, scope.id)

    async def test_a_half_stored_append_is_completed(self, store: Store) -> None:
        """Messages that came to a turn after a crash are added to those already there."""
        scope = await opened(store)
        (first,) = await put(store, scope.id, said("one", 1), turn_id=5)

        rows = await put(store, scope.id, said("one", 1), said("two", 2), turn_id=5)

        assert first == rows[0]
        assert ["one", "two"] == texts(rows) == await window(store, scope.id)

    async def test_one_call_cannot_store_a_message_twice(self, store: Store) -> None:
        """A duplicate inside one batch is still a duplicate (engines A.8, 7)."""
        scope = await opened(store)

        rows = await put(store, scope.id, said("one", 1), said("again", 1), turn_id=5)

        assert ["one", "one"] == texts(rows)
        assert ["one"] == await window(store, scope.id)

    async def test_the_same_ids_in_another_scope_are_other_messages(self, store: Store) -> None:
        """Repeating is judged within the scope: ids that two tenants share return nothing foreign."""
        mine, theirs = await opened(store), await opened(store, user="u2")
        await put(store, mine.id, said("mine", 1), turn_id=5)

        (stored,) = await put(store, theirs.id, said("theirs", 1, key=key(user="u2")), turn_id=5, session=rule("s-2"))

        assert "theirs" == stored.text
        assert ["mine"] == await window(store, mine.id)

    async def test_ids_grow_when_the_clock_steps_back(self, column: Column) -> None:
        """Order in a scope does not rest on the clock (A14, A15, spring-projects/spring-ai#3149)."""
        async with column.open(ids=Ids(1, clock=lambda: NOW)) as ahead:
            scope = await opened(ahead)
            (first,) = await put(ahead, scope.id, said("one", 1), turn_id=1)
        async with column.open(ids=Ids(0, clock=lambda: NOW - 24 * HOUR)) as behind:
            (second,) = await put(behind, scope.id, said("two", 2), turn_id=2)

            assert first.id < second.id
            assert ["one", "two"] == await window(behind, scope.id)

    async def test_three_hundred_appends_at_once_keep_their_order(self, store: Store) -> None:
        """Concurrent writers to one scope get distinct, growing ids and lose nothing (langchain4j/langchain4j#1966)."""
        scope = await opened(store)

        rows = await asyncio.gather(*(put(store, scope.id, said(f"m{n}", n), turn_id=n) for n in range(300)))

        stored = [row for (row,) in rows]
        assert 300 == len({row.id for row in stored})
        loaded = (await store.load(wish(scope.id, page=400))).window
        assert sorted(stored, key=lambda row: row.id) == list(loaded)
        assert {"s-1"} == {row.session_id for row in stored}

    async def test_an_older_fence_writes_nothing(self, store: Store) -> None:
        """A zombie that lost its lane is told so, and nothing changes (vercel/chat#685)."""
        scope = await opened(store)
        await put(store, scope.id, said("one", 1), turn_id=1, fence=5)

        with pytest.raises(Fenced):
            await put(store, scope.id, said("zombie", 2), turn_id=2, fence=4)
        with pytest.raises(Fenced):
            await store.append_and_load(
                scope.id, [said("zombie", 2)], wish(scope.id), turn_id=2, session=rule(), fence=4
            )

        assert ["one"] == await window(store, scope.id)

    async def test_a_repeat_by_the_new_owner_fences_the_old_one(self, store: Store) -> None:
        """Taking over begins with repeating: the number counts although no row is written."""
        scope = await opened(store)
        await put(store, scope.id, said("one", 1), turn_id=1, fence=1)
        await put(store, scope.id, said("one", 1), turn_id=1, fence=2)

        with pytest.raises(Fenced):
            await put(store, scope.id, replied("late", 1), turn_id=1, fence=1)

    async def test_an_unknown_scope_is_refused(self, store: Store) -> None:
        """Writing to a scope that does not exist fails loudly (MemTensor/MemOS#1681)."""
        with pytest.raises(UnknownScope, match="404"):
            await put(store, 404, said("lost", 1), turn_id=1)
        with pytest.raises(UnknownScope):
            await store.append_and_load(404, [said("lost", 1)], wish(404), turn_id=1, session=rule(), fence=1)

    async def test_the_ledger_is_stored_with_the_messages_or_not_at_all(self, store: Store) -> None:
        """One transaction holds both (getsentry/junior#33's kind: two writes, one lost)."""
        scope = await opened(store)
        await put(store, scope.id, said("one", 1), turn_id=1, fence=5, ledger=ledger(1, scope.id))

        with pytest.raises(Fenced):
            await put(store, scope.id, said("two", 2), turn_id=2, fence=1, ledger=ledger(2, scope.id))

        assert ledger(1, scope.id) == await store.ledger(1)
        assert await store.ledger(2) is None

    async def test_a_ledger_is_of_the_newest_owner(self, store: Store) -> None:
        """A zombie's record of a turn that got no reply takes the place of no other (vercel/chat#685)."""
        scope = await opened(store)
        await put(store, scope.id, said("one", 1), replied("two", 1), turn_id=1, fence=5, ledger=ledger(1, scope.id))

        with pytest.raises(Fenced):
            await store.save_ledger(ledger(1, scope.id, notes=("agent_timeout",)), fence=4)
        assert ledger(1, scope.id) == await store.ledger(1)

        await store.save_ledger(ledger(1, scope.id, notes=("its own",)), fence=5)
        assert ledger(1, scope.id, notes=("its own",)) == await store.ledger(1)

    async def test_another_scope_s_ledger_is_never_replaced(self, store: Store) -> None:
        """By whatever number a turn comes (C06): neither with an answer nor alone."""
        theirs, mine = await opened(store, user="u2"), await opened(store)
        of_theirs, of_mine = ledger(1, theirs.id), ledger(1, mine.id, notes=("mine",))
        question = said("q", 1, key=key(user="u2"))
        await put(store, theirs.id, question, replied("a", 1), turn_id=1, ledger=of_theirs)
        rows = await put(store, mine.id, said("我", 1), replied("b", 1), turn_id=1, ledger=of_mine, session=rule("s-2"))
        await store.save_ledger(of_mine, fence=9)

        assert ["我", "b"] == [row.text for row in rows]
        assert of_theirs == await store.ledger(1)

    async def test_a_ledger_without_its_scope_is_refused(self, store: Store) -> None:
        """Of a scope that was erased nothing is written late."""
        with pytest.raises(UnknownScope, match="404"):
            await store.save_ledger(ledger(1, 404), fence=1)

        assert await store.ledger(1) is None

    async def test_append_and_load_gives_what_append_and_then_load_give(self, store: Store) -> None:
        """The turn's one call: the new rows, and the window before them."""
        scope = await opened(store)
        await talk(store, scope.id, 3)

        loaded = await store.append_and_load(
            scope.id, [said("now", 9)], wish(scope.id), turn_id=9, session=rule(), fence=1
        )

        assert ["now"] == texts(loaded.appended)
        assert ["q1", "a1", "q2", "a2", "q3", "a3"] == texts(loaded.window)
        assert ("s-1", False, False, ()) == (
            loaded.session_id,
            loaded.session_opened,
            loaded.more,
            loaded.failed,
        )

    async def test_append_and_load_repeated_shows_the_same_window(self, store: Store) -> None:
        """After a crash the turn is run again on what it saw first."""
        scope = await opened(store)
        await talk(store, scope.id, 2)
        wanted = wish(scope.id)
        first = await store.append_and_load(scope.id, [said("now", 9)], wanted, turn_id=9, session=rule(), fence=1)

        again = await store.append_and_load(scope.id, [said("NOW", 9)], wanted, turn_id=9, session=rule(), fence=1)

        assert first == again

    async def test_append_and_load_without_messages_only_loads(self, store: Store) -> None:
        """No message opens no session."""
        scope = await opened(store)

        empty = await store.append_and_load(scope.id, [], wish(scope.id), turn_id=9, session=rule(), fence=1)
        await talk(store, scope.id, 1)
        loaded = await store.append_and_load(scope.id, [], wish(scope.id), turn_id=9, session=rule("s-2"), fence=1)

        assert ("", False, ()) == (empty.session_id, empty.session_opened, empty.window)
        assert ("s-1", ["q1", "a1"]) == (loaded.session_id, texts(loaded.window))

    async def test_a_message_dates_and_names_the_conversation(self, store: Store) -> None:
        """The first thing a user says is the title, on one line; every message moves the last time (A16, A38)."""
        scope = await opened(store)
        await put(store, scope.id, replied("welcome", 1), turn_id=1)
        await put(store, scope.id, said("  Where is\nmy order 8821, the running shoes? ", 2), turn_id=2)
        await put(store, scope.id, said("another", 3), turn_id=3, now_ms=NOW + 5)
        await put(store, scope.id, said("from a slow clock", 4), turn_id=4, now_ms=NOW - 5)

        row = await opened(store)

        assert "Where is my order 8821, the r…" == row.title
        assert NOW + 5 == row.last_ms

    async def test_rows_are_on_disk_for_the_next_process(self, column: Column) -> None:
        """History survives a restart (C03, E17, langbot-app/LangBot#804); nothing of it lives in the store object."""
        async with column.open() as store:
            scope = await opened(store)
            await talk(store, scope.id, 2)
        async with column.open() as store:
            assert scope.id == (await opened(store)).id
            assert ["q1", "a1", "q2", "a2"] == await window(store, scope.id)

    async def test_two_instances_share_one_history(self, column: Column) -> None:
        """Turn 1 on instance A, turn 2 on B: both see the same (B18, B19)."""
        async with column.open(ids=Ids(1)) as a, column.open(ids=Ids(2)) as b:
            scope = await opened(a)
            await talk(a, scope.id, 1)
            assert ["q1", "a1"] == await window(b, scope.id)
            await talk(b, scope.id, 1, first=2)

            assert ["q1", "a1", "q2", "a2"] == await window(a, scope.id)
            await b.end_session(scope.id, now_ms=NOW)
            assert [] == await window(a, scope.id)


class SessionContract:
    """One active session a scope: sliding, server-issued, ended but never deleted."""

    async def test_the_first_message_opens_a_session_with_the_issued_id(self, store: Store) -> None:
        """The id is the server's (B34)."""
        scope = await opened(store)

        loaded = await store.append_and_load(
            scope.id, [said("hi", 1)], wish(scope.id), turn_id=1, session=rule("s-a"), fence=1
        )

        assert ("s-a", True) == (loaded.session_id, loaded.session_opened)
        assert "s-a" == (await opened(store)).session_id

    async def test_a_session_slides_and_expires_after_silence(self, store: Store) -> None:
        """Two hours count from the last message, not from the first (B15, F7, F14)."""
        scope = await opened(store)
        for hours in (0, 1, 2, 3):
            await put(store, scope.id, said(f"h{hours}", hours), turn_id=hours, now_ms=NOW + hours * HOUR)

        (last,) = await put(
            store, scope.id, said("late", 9), turn_id=9, session=rule("s-2"), now_ms=NOW + 3 * HOUR + 2 * HOUR
        )

        assert "s-2" == last.session_id
        assert ["late"] == await window(store, scope.id)

    async def test_one_millisecond_before_the_end_it_goes_on(self, store: Store) -> None:
        scope = await opened(store)
        await put(store, scope.id, said("a", 1), turn_id=1)

        (last,) = await put(store, scope.id, said("b", 2), turn_id=2, session=rule("s-2"), now_ms=NOW + 2 * HOUR - 1)

        assert "s-1" == last.session_id

    async def test_a_known_asked_session_goes_on(self, store: Store) -> None:
        """A client's id is accepted if it is the active one (B34)."""
        scope = await opened(store)
        await put(store, scope.id, said("a", 1), turn_id=1)

        (last,) = await put(store, scope.id, said("b", 2), turn_id=2, session=rule("s-2", asked="s-1"))

        assert "s-1" == last.session_id

    @pytest.mark.parametrize("asked", ["s-unknown", "s-0", "", "s-_", "s-%"])
    async def test_any_other_asked_session_opens_a_new_one(self, store: Store, asked: str) -> None:
        """An unknown, ended or made-up id gives a new session, never an old one back (B34)."""
        scope = await opened(store)
        await put(store, scope.id, said("old", 1), turn_id=1, session=rule("s-0"))
        await store.end_session(scope.id, now_ms=NOW)
        await put(store, scope.id, said("a", 2), turn_id=2, session=rule("s-1"))

        (last,) = await put(store, scope.id, said("b", 3), turn_id=3, session=rule("s-2", asked=asked))

        assert "s-2" == last.session_id
        assert ["b"] == await window(store, scope.id)

    async def test_an_expired_session_is_not_revived_by_asking(self, store: Store) -> None:
        scope = await opened(store)
        await put(store, scope.id, said("a", 1), turn_id=1)

        (last,) = await put(
            store, scope.id, said("b", 2), turn_id=2, session=rule("s-2", asked="s-1"), now_ms=NOW + 2 * HOUR
        )

        assert "s-2" == last.session_id

    async def test_another_scopes_session_cannot_be_asked_for(self, store: Store) -> None:
        """A session id is no key to other people's talk (B33, B34)."""
        theirs = await opened(store, user="u2")
        await put(store, theirs.id, said("secret", 1, key=key(user="u2")), turn_id=1, session=rule("s-theirs"))
        scope = await opened(store)

        loaded = await store.append_and_load(
            scope.id,
            [said("hi", 2)],
            wish(scope.id),
            turn_id=2,
            session=rule("s-mine", asked="s-theirs"),
            fence=1,
        )

        assert ("s-mine", ()) == (loaded.session_id, loaded.window)
        assert () == (await store.load(wish(scope.id), session_id="s-theirs")).window

    async def test_new_ends_the_session_and_keeps_it(self, store: Store) -> None:
        """After `/new` the window is empty; the ended session is still there to read (C12, openclaw/openclaw#148766)."""
        scope = await opened(store)
        await talk(store, scope.id, 2)

        assert await store.end_session(scope.id, now_ms=NOW)

        assert [] == await window(store, scope.id)
        await talk(store, scope.id, 1, first=3, session=rule("s-2"))
        assert ["q3", "a3"] == await window(store, scope.id)
        assert ["q1", "a1", "q2", "a2"] == texts((await store.load(wish(scope.id), session_id="s-1")).window)

    async def test_ending_nothing_says_so(self, store: Store) -> None:
        scope = await opened(store)

        assert not await store.end_session(scope.id, now_ms=NOW)
        assert not await store.end_session(404, now_ms=NOW)
        await talk(store, scope.id, 1)
        assert await store.end_session(scope.id, now_ms=NOW)
        assert not await store.end_session(scope.id, now_ms=NOW)

    async def test_a_reply_overtaken_by_new_stays_in_its_own_session(self, store: Store) -> None:
        """A turn belongs to one session: its late reply neither opens one nor enters the new one's window."""
        scope = await opened(store)
        await put(store, scope.id, said("q1", 1), turn_id=1)
        await store.end_session(scope.id, now_ms=NOW)
        await put(store, scope.id, said("q2", 2), turn_id=2, session=rule("s-2"))

        (late,) = await put(store, scope.id, replied("a1", 1), turn_id=1, session=rule("s-3"))

        assert "s-1" == late.session_id
        assert ["q2"] == await window(store, scope.id)
        assert ["q1", "a1"] == texts((await store.load(wish(scope.id), session_id="s-1")).window)
        assert "s-2" == (await opened(store)).session_id

    async def test_a_late_reply_right_after_new_opens_no_session(self, store: Store) -> None:
        scope = await opened(store)
        await put(store, scope.id, said("q1", 1), turn_id=1)
        await store.end_session(scope.id, now_ms=NOW)

        await put(store, scope.id, replied("a1", 1), turn_id=1, session=rule("s-2"))

        assert (await opened(store)).session_id is None
        assert [] == await window(store, scope.id)

    async def test_a_reply_after_the_idle_time_stays_in_its_session(self, store: Store) -> None:
        """A very slow agent does not tear a turn apart."""
        scope = await opened(store)
        await put(store, scope.id, said("q1", 1), turn_id=1)

        (late,) = await put(store, scope.id, replied("a1", 1), turn_id=1, session=rule("s-2"), now_ms=NOW + 9 * HOUR)

        assert "s-1" == late.session_id
        assert ["q1", "a1"] == await window(store, scope.id)

    async def test_concurrent_first_messages_open_one_session(self, store: Store) -> None:
        """Atomic, not check-then-set (langchain4j/langchain4j#5250)."""
        scope = await opened(store)

        rows = await asyncio.gather(
            *(put(store, scope.id, said(f"m{n}", n), turn_id=n, session=rule(f"s-{n}")) for n in range(20))
        )

        assert 1 == len({row.session_id for (row,) in rows})
