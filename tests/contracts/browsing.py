"""What every store must show of conversations: the contract of `memory.browsing.Browsing`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from memory.base import HANDED_BACK, Quoted, ScopeRow, Step
from memory.browsing import SEARCHED_LINES, SEARCHED_TALKS, TALKS, Older, Talks, Wanted, folded
from memory.derived import FullStore
from memory.key import scope_of
from tests.contracts.columns import Column
from tests.contracts.derived import answered, learned
from tests.contracts.store import HOSTILE, HOUR, NOW, key, opened, put, replied, rule, said

ALL = Wanted()


async def spoken(
    store: FullStore, text: str, *, at_ms: int, turn_id: int, person_id: int | None = None, **parts: Any
) -> ScopeRow:
    """Let one thing be said, and answered, in the conversation of `key(**parts)`."""
    scope = await opened(store, **parts)
    told = key(**parts)
    messages = (said(text, turn_id, key=told, person_id=person_id), replied(f"re: {text}", turn_id, key=told))
    await put(store, scope.id, *messages, turn_id=turn_id, now_ms=at_ms, session=rule(f"s-{turn_id}"))
    return scope


async def listed(store: FullStore, wanted: Wanted, *, limit: int = 100) -> list[int]:
    """Return the ids of all pages in their order."""
    found: list[int] = []
    page: Talks | None = None
    while page is None or page.next is not None:
        page = await store.browsing.talks(wanted, after=page.next if page else None, limit=limit)
        found += [talk.id for talk in page.talks]
    return found


async def finds(store: FullStore, text: str, wanted: Wanted = ALL, *, limit: int = 50) -> list[str]:
    """Return the texts that all pages of a search find, in their order."""
    found: list[str] = []
    after, words = None, folded(text).split()
    while True:
        page = await store.browsing.search(words, wanted, after=after, limit=limit)
        found += [one.line.text for one in page.found]
        after = page.next
        if after is None:
            return found


class TalksContract:
    """Which conversations there are."""

    async def test_the_one_last_spoken_in_comes_first(self, store: FullStore) -> None:
        """Whatever the order in which they began, over many hours, in pages of any size."""
        scopes = [
            await spoken(store, f"hi {n}", at_ms=NOW + (n * 7 % 20) * HOUR // 3, turn_id=n, room=f"r{n}")
            for n in range(1, 20)
        ]
        order = sorted(range(1, 20), key=lambda n: -(n * 7 % 20))

        expected = [scopes[n - 1].id for n in order]
        assert expected == await listed(store, ALL) == await listed(store, ALL, limit=3)
        await put(
            store,
            scopes[4].id,
            said("again", 99, key=key(room="r5")),
            turn_id=99,
            now_ms=NOW + 50 * HOUR,
            session=rule("s-99"),
        )
        assert scopes[4].id == (await listed(store, ALL, limit=1))[0]

    async def test_same_moment_loses_none(self, store: FullStore) -> None:
        """Several that were spoken in within one millisecond are each on one page."""
        scopes = [await spoken(store, "hi", at_ms=NOW, turn_id=n, room=f"r{n}") for n in range(1, 8)]

        assert sorted((scope.id for scope in scopes), reverse=True) == await listed(store, ALL, limit=2)

    async def test_only_of_the_channels_asked_for(self, store: FullStore) -> None:
        """None of another channel, whatever its name looks like; no channels, no conversations."""
        mine = await spoken(store, "hi", at_ms=NOW, turn_id=1, channel="a_b")
        other = await spoken(store, "hi", at_ms=NOW + 1, turn_id=2, channel="aXb")

        assert [mine.id] == await listed(store, Wanted(channels=("a_b",)))
        assert [] == await listed(store, Wanted(channels=()))
        assert [] == await listed(store, Wanted(channels=("a%", "*", "a")))
        assert [other.id, mine.id] == await listed(store, Wanted(channels=("a_b", "aXb"))) == await listed(store, ALL)

    async def test_of_a_room_behind_many_others(self, store: FullStore, column: Column) -> None:
        """One page looks far, and says where the next one goes on; nothing is passed over, in whatever channel it is."""
        here, there = {"room": "r1"}, {"room": "r1", "channel": "quiet"}
        mine = await spoken(store, "needle", at_ms=NOW - HOUR, turn_id=1, **here)
        other = await spoken(store, "needle", at_ms=NOW - 2 * HOUR, turn_id=2, **there)
        await column.sql(
            'INSERT INTO scopes (id, last_ms, created_ms, "user", channel, conversation, chat_type, agent)'
            f" SELECT n, {NOW}, 1, 'u', 'web', 'r1' || n, 'group', 'helper' FROM ({_series(column, TALKS + 5)}) AS s"
        )

        first = await store.browsing.talks(Wanted(room="r1"), after=None, limit=9)
        assert ((), False) == (first.talks, first.next is None)
        rest = await store.browsing.talks(Wanted(room="r1"), after=first.next, limit=9)
        assert ([mine.id, other.id], None) == ([talk.id for talk in rest.talks], rest.next)
        assert [mine.id, other.id] == await listed(store, Wanted(room="r1"), limit=1)
        assert ["re: needle", "needle"] * 2 == await finds(store, "needle", Wanted(room="r1"))

    async def test_of_a_person_in_many_conversations(self, store: FullStore, column: Column) -> None:
        """None is left out, and the one last spoken in comes first, though it began first."""
        scope = await spoken(store, "hi", at_ms=NOW + HOUR, turn_id=1, person_id=5)
        await column.sql(
            'INSERT INTO scopes (id, last_ms, created_ms, "user", channel, conversation, chat_type, agent)'
            f" SELECT {scope.id} + n, {NOW} + n, 1, 'u', 'web', 'thread' || n, 'group', 'helper'"
            f" FROM ({_series(column, 1_200)}) AS s"
        )
        copied = "turn_id, created_ms, tokens, version, low_value, session_id, role, text, person_id, " + (
            '"user", channel, conversation, chat_type, agent, speaker_name, steps'
        )
        await column.sql(
            f"INSERT INTO messages (scope_id, id, event_id, {copied}) SELECT {scope.id} + n, id + n, n, {copied}"
            f" FROM messages, ({_series(column, 1_200)}) AS s WHERE role = 'user'"
        )

        found = await listed(store, Wanted(person_id=await person(column, 5)), limit=200)
        assert [scope.id, *(scope.id + n for n in range(1_200, 0, -1))] == found

    async def test_of_a_room_with_its_threads(self, store: FullStore) -> None:
        """A room whose id begins like another's is another."""
        room, thread = {"room": "C/1:ü", "chat_type": "group"}, {"room": "C/1:ü", "thread": "t", "chat_type": "group"}
        first = await spoken(store, "hi", at_ms=NOW, turn_id=1, **room)
        second = await spoken(store, "hi", at_ms=NOW + 1, turn_id=2, **thread)
        await spoken(store, "hi", at_ms=NOW + 2, turn_id=3, room="C/1:ü2", chat_type="group")

        for limit in (1, 2, 9):
            assert [second.id, first.id] == await listed(store, Wanted(room="C/1:ü"), limit=limit)
        assert [] == await listed(store, Wanted(room="C"))

    async def test_of_a_person(self, store: FullStore, column: Column) -> None:
        """Where they spoke and where they were overheard, not where others did; within the channels asked for."""
        private = await spoken(store, "hi", at_ms=NOW, turn_id=1, person_id=5)
        await spoken(store, "hi", at_ms=NOW, turn_id=2, room="r2", person_id=6)
        group = await opened(store, room="g", chat_type="group", channel="other")
        await store.observe(
            group.id, key(room="g", chat_type="group", channel="other"), event_id=9, text="hm", speaker_name="", tokens=1,
            now_ms=NOW, keep=9, person_id=5,
        )  # fmt: skip

        me = await person(column, 5)
        assert {private.id, group.id} == set(await listed(store, Wanted(person_id=me)))
        assert [private.id] == await listed(store, Wanted(person_id=me, channels=("web",)))
        assert [] == await listed(store, Wanted(person_id=12345))

    async def test_a_conversation_and_its_names(self, store: FullStore) -> None:
        """Another name leads to it; what was opened and never spoken in is no conversation yet."""
        scope = await spoken(store, "first words", at_ms=NOW, turn_id=1)
        alias = scope_of(key(room="moved"), mode="conversation")
        await store.alias_scope(alias, scope.id)
        empty = await opened(store, room="empty")

        talk = await store.browsing.talk(scope.id)
        assert talk is not None
        assert ("first words", NOW, scope.root) == (talk.title, talk.last_ms, talk.scope)
        assert (scope.root, alias) == await store.browsing.names(scope.id)
        assert [scope.id] == await listed(store, ALL)
        assert empty.id not in await listed(store, ALL)
        assert None is await store.browsing.talk(1)

    async def test_hostile_names(self, store: FullStore) -> None:
        """Rooms, channels and accounts are compared as they are: each is found under its own name alone."""
        scopes = {
            odd: await spoken(store, "hi", at_ms=NOW, turn_id=n, user=odd, room=odd, channel=odd)
            for n, odd in enumerate(HOSTILE, start=1)
        }

        for odd, scope in scopes.items():
            assert [scope.id] == await listed(store, Wanted(channels=(odd,), room=odd))
            assert [scope.id] == await listed(store, Wanted(room=odd))
            assert {odd} == {line.user for line in (await store.browsing.page(scope.id, limit=9)).lines}


async def person(column: Column, number: int) -> int:
    """Make a person of this number: families are looked up among persons."""
    await column.sql(f"INSERT INTO persons (id, created_ms) VALUES ({number}, 1)")
    return number


class PageContract:
    """A conversation as it went."""

    async def test_pages_meet_without_a_gap(self, store: FullStore) -> None:
        """Backwards from the end, forwards from the beginning; each says whether there is more on either side."""
        scope = await opened(store)
        for n in range(1, 8):
            await put(store, scope.id, said(f"q{n}", n), replied(f"a{n}", n), turn_id=n)
        whole = await store.browsing.page(scope.id, limit=100)
        assert [text for n in range(1, 8) for text in (f"q{n}", f"a{n}")] == [line.text for line in whole.lines]
        assert (False, False) == (whole.before, whole.behind)

        last = await store.browsing.page(scope.id, limit=5)
        middle = await store.browsing.page(scope.id, limit=5, before_id=last.lines[0].id)
        first = await store.browsing.page(scope.id, limit=5, before_id=middle.lines[0].id)
        assert whole.lines == (*first.lines, *middle.lines, *last.lines)
        assert [(False, True), (True, True), (True, False)] == [(p.before, p.behind) for p in (first, middle, last)]
        assert middle == await store.browsing.page(scope.id, limit=5, after_id=first.lines[-1].id)
        assert (True, False) == _ends(await store.browsing.page(scope.id, limit=9, after_id=middle.lines[-1].id))
        assert () == (await store.browsing.page(scope.id, limit=5, after_id=whole.lines[-1].id)).lines

    async def test_what_was_overheard_stands_where_it_was_said(self, store: FullStore) -> None:
        """Between the turns; it belongs to no turn."""
        parts = {"room": "g", "chat_type": "group"}
        scope = await opened(store, **parts)
        told = key(**parts)
        await put(store, scope.id, said("one", 1, key=told), turn_id=1)
        await store.observe(scope.id, told, event_id=2, text="两", speaker_name="小红", tokens=1, now_ms=NOW, keep=9)
        await put(store, scope.id, said("three", 3, key=told), turn_id=3)

        lines = (await store.browsing.page(scope.id, limit=9)).lines
        assert ["one", "两", "three"] == [line.text for line in lines]
        assert ("overheard", "小红", 2, 0) == (
            lines[1].role,
            lines[1].speaker_name,
            lines[1].event_id,
            lines[1].turn_id,
        )
        assert lines[1:] == (await store.browsing.page(scope.id, limit=2)).lines

    async def test_edits_and_deletions_show(self, store: FullStore) -> None:
        """An edited line keeps what it said before, a deleted one its place alone."""
        scope = await opened(store)
        quote = Quoted(name="Ann", text="before", by_bot=True)
        await put(store, scope.id, said("first", 1, platform_message_id="m1", reply_to="m0", quote=quote), turn_id=1)
        await put(store, scope.id, said("secret", 2, platform_message_id="m2"), turn_id=2)
        for text in ("second", "third"):
            await store.edit(scope.id, "m1", by=key(), text=text, tokens=1, low_value=False, now_ms=NOW + 5)
        await store.delete(scope.id, "m2", by=key(), now_ms=NOW + 6)

        edited, deleted = (await store.browsing.page(scope.id, limit=9)).lines
        assert ("third", 3, NOW + 5, quote) == (edited.text, edited.version, edited.edited_ms, edited.quote)
        assert ["first", "second"] == [earlier.text for earlier in edited.earlier]
        assert ("", NOW + 6, ()) == (deleted.text, deleted.deleted_ms, deleted.earlier)

    async def test_what_humans_wrote_is_told_apart(self, store: FullStore) -> None:
        """Who said it; and what was left for the agent alone, whatever a text spells."""
        scope = await opened(store)
        left = (Step(name=HANDED_BACK),)
        spelled = (Step(name="look", detail=f'"{HANDED_BACK}"'),)
        for n, (name, steps) in enumerate((("", ()), ("Ann 安", spelled), ("Ann 安", left), ("", left)), start=1):
            await put(store, scope.id, replied(f"{n}", n, speaker_name=name, steps=steps), turn_id=n)
        await store.observe(scope.id, key(), event_id=9, text="aside", speaker_name="Bob", tokens=1, now_ms=NOW, keep=9)

        lines = (await store.browsing.page(scope.id, limit=9)).lines
        assert [("", False), ("Ann 安", False), ("Ann 安", True), ("", False), ("Bob", False)] == [
            (line.speaker_name, line.for_agent) for line in lines
        ]

    async def test_a_page_reads_no_more_of_a_long_conversation(self, store: FullStore, column: Column) -> None:
        """Its time does not grow with what is stored: it takes as long where 20,000 stand before it as where 60 do."""
        scope = await opened(store)
        await filled(column, scope.id, 30_000)

        async def took_s(before_id: int) -> float:
            began = time.perf_counter()
            page = await store.browsing.page(scope.id, limit=50, before_id=before_id)
            assert 50 == len(page.lines)
            return time.perf_counter() - began

        few = min([await took_s(60) for _ in range(9)])
        many = min([await took_s(20_000) for _ in range(9)])
        assert many < 8 * few  # 20,000 rows sorted take thirty times as long


class LearningContract:
    """What is still to be learned."""

    async def test_whether_a_turn_waits_to_be_learned_from(self, store: FullStore) -> None:
        """Its ledger tells, until the turn is learned from; of a turn without one nothing is known."""
        scope = await opened(store)
        turn = await answered(store, scope.id, 7, "I like tea")

        assert True is await store.browsing.unlearned(7)
        assert await store.derived.settle(learned(turn, person_id=None))
        assert False is await store.browsing.unlearned(7)
        assert None is await store.browsing.unlearned(8)


class AgeContract:
    """What retention would take."""

    async def test_lines_from_before_a_moment_are_counted(self, store: FullStore) -> None:
        """Of everybody, people's, agents' and what was overheard; up to a bound. Where there is none, there is no oldest."""
        assert Older(count=0, oldest_ms=None) == await store.browsing.older(before_ms=NOW, limit=9)
        for n in range(1, 4):
            scope = await spoken(store, f"早 {n}", at_ms=NOW + n, turn_id=n, room=f"r{n}", person_id=40 + n)
        await store.observe(scope.id, key(), event_id=9, text="旁", speaker_name="Bob", tokens=1, now_ms=NOW, keep=9)

        assert Older(count=0, oldest_ms=None) == await store.browsing.older(before_ms=NOW, limit=9)
        assert Older(count=5, oldest_ms=NOW) == await store.browsing.older(before_ms=NOW + 3, limit=9)
        assert Older(count=2, oldest_ms=NOW) == await store.browsing.older(before_ms=NOW + 3, limit=2)


class SearchContract:
    """Finding what was said."""

    async def test_words_in_any_order_case_and_width(self, store: FullStore) -> None:
        """All words, anywhere in a text; Chinese needs no spaces between them (B04's scripts alike)."""
        size = "Die GRÖßE der Bestellung ＡＢ１２ ist falsch"
        await spoken(store, size, at_ms=NOW, turn_id=1)
        await spoken(store, "我的订单号是 8821，还没发货", at_ms=NOW + 1, turn_id=2, room="r2")

        assert [f"re: {size}", size] == await finds(store, "größe ab12") == await finds(store, "GRÖSSE")
        assert ["re: 我的订单号是 8821，还没发货", "我的订单号是 8821，还没发货"] == await finds(store, "订单 发货")
        assert [] == await finds(store, "订单 größe")

    async def test_no_character_is_special(self, store: FullStore) -> None:
        """A pattern's characters and quotes are words like others."""
        await spoken(store, "100%_ ';DROP [a-z]* 👩‍👩‍👧‍👦", at_ms=NOW, turn_id=1)
        await spoken(store, "100 percent", at_ms=NOW, turn_id=2, room="r2")

        for word in ("0%_", "';drop", "[a-z]*", "👩‍👩‍👧‍👦"):
            assert 2 == len(await finds(store, word))
        assert [] == await finds(store, "1%t")

    async def test_only_where_one_may_look(self, store: FullStore, column: Column) -> None:
        """By channel, room and person, on every page."""
        for n in range(1, 7):
            parts = {"channel": f"c{n % 2}", "room": f"r{n}"}
            await spoken(store, f"banana {n}", at_ms=NOW + n, turn_id=n, person_id=40 + n % 3, **parts)

        assert 12 == len(await finds(store, "banana", limit=1))
        odd = await finds(store, "BANANA", Wanted(channels=("c1",)), limit=1)
        assert [f"{re}banana {n}" for n in (5, 3, 1) for re in ("re: ", "")] == odd
        assert [] == await finds(store, "banana", Wanted(channels=()))
        assert ["re: banana 4", "banana 4"] == await finds(store, "banana", Wanted(room="r4"))
        me = await person(column, 41)
        assert ["re: banana 1", "banana 1"] == (await finds(store, "banana", Wanted(person_id=me)))[-2:]

    async def test_overheard_and_edited_but_not_what_is_gone(self, store: FullStore) -> None:
        """What was deleted is not found, nor what an edit took away."""
        parts = {"room": "g", "chat_type": "group"}
        scope, told = await opened(store, **parts), key(**parts)
        await store.observe(
            scope.id, told, event_id=2, text="kiwi 奇异果", speaker_name="", tokens=1, now_ms=NOW, keep=9
        )
        await put(store, scope.id, said("papaya", 3, key=told, platform_message_id="m3"), turn_id=3)
        await put(store, scope.id, said("mango", 4, key=told, platform_message_id="m4"), turn_id=4)
        await store.delete(scope.id, "m3", by=told, now_ms=NOW)
        await store.edit(scope.id, "m4", by=told, text="lychee", tokens=1, low_value=False, now_ms=NOW)

        assert ["kiwi 奇异果"] == await finds(store, "奇异果")
        assert [] == await finds(store, "papaya")
        assert [] == await finds(store, "mango")
        assert ["lychee"] == await finds(store, "lychee")

    async def test_nobody_waits_while_texts_are_compared(self, store: FullStore) -> None:
        """Long messages take seconds to compare: that is no work for the loop in which everybody is heard."""
        await spoken(store, "我的订单 " * 1_000, at_ms=NOW, turn_id=1)
        threads: set[int] = set()

        class Words(list[str]):
            def __iter__(self) -> Iterator[str]:
                threads.add(threading.get_ident())
                return super().__iter__()

        await store.browsing.search(Words(["订单"]), ALL, after=None, limit=9)
        assert threads
        assert threading.get_ident() not in threads

    async def test_one_page_reads_a_bounded_part(self, store: FullStore, column: Column) -> None:
        """Of a history that nobody wants to wait for it says where to go on, and goes on there."""
        scope = await opened(store)
        await filled(column, scope.id, SEARCHED_LINES + 500)
        other = await spoken(store, "needle", at_ms=NOW - HOUR, turn_id=5, room="r2")

        page = await store.browsing.search(["needle"], ALL, after=None, limit=9)
        assert (SEARCHED_LINES, ()) == (page.lines, page.found)
        rest = await store.browsing.search(["needle"], ALL, after=page.next, limit=9)
        assert (502, None) == (rest.lines, rest.next)
        assert {other.id} == {one.talk.id for one in rest.found}

    async def test_many_conversations_take_several_pages(self, store: FullStore, column: Column) -> None:
        """A page opens so many at most."""
        first = await spoken(store, "needle", at_ms=NOW - HOUR, turn_id=1)
        await column.sql(
            'INSERT INTO scopes (id, last_ms, created_ms, "user", channel, conversation, chat_type, agent)'
            f" SELECT n, {NOW}, 1, 'u', 'web', 'room' || n, 'private', 'helper' FROM ({_series(column, SEARCHED_TALKS)}) AS s"
        )

        page = await store.browsing.search(["needle"], ALL, after=None, limit=9)
        assert ((), False) == (page.found, page.next is None)
        rest = await store.browsing.search(["needle"], ALL, after=page.next, limit=9)
        assert {first.id} == {one.talk.id for one in rest.found}


def _ends(page: Any) -> tuple[bool, bool]:
    return page.before, page.behind


async def filled(column: Column, scope_id: int, lines: int) -> None:
    """Store so many lines of one conversation, with ids from 1 on."""
    no = "false" if hasattr(column, "url") else "0"
    await column.sql(
        "INSERT INTO messages (scope_id, id, turn_id, event_id, created_ms, tokens, version, low_value, session_id, role, text,"
        ' "user", channel, conversation, chat_type, agent, speaker_name, steps)'
        f" SELECT {scope_id}, n, n, n, {NOW}, 1, 1, {no}, 's', 'user', 'hay ' || n,"
        " 'u1', 'web', 'r1', 'private', 'helper', '', '[]'"
        f" FROM ({_series(column, lines)}) AS s"
    )
    await column.sql(f"UPDATE scopes SET last_ms = {NOW}, last_id = {lines} WHERE id = {scope_id}")


def _series(column: Column, count: int) -> str:
    if hasattr(column, "url"):
        return f"SELECT generate_series(1, {count}) AS n"
    return f"WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count}) SELECT n FROM s"
