"""What every database must keep of persons as a whole: the contract of `memory.people.Persons`."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.admin import erasable as admins
from gateway.inbox import erasable
from memory.base import Identity, Message, Quoted
from memory.called import Called
from memory.derived import Fragment, FullStore, Learned
from memory.erasure import KINDS, NOTHING_PERSONAL, nothing
from memory.errors import PersonErased, StoreUnavailable, UnknownScope
from memory.forgetting import Listing
from memory.key import ConversationKey
from memory.links import Linked
from memory.people import Account, Erased, Person, Posted, Traces
from tests.contracts.columns import Column, PostgresColumn, RedisColumn, SqliteColumn
from tests.contracts.derived import answered, learned, live
from tests.contracts.store import NOW, fact, item, key, ledger, opened, put, replied, rule, said, summary, texts, wish
from tests.residues import in_postgres, in_redis, in_sqlite, left_of
from tests.services import POSTGRES_TABLES

ME, YOU = "Zwölf:ender", "other-1"
"""Two accounts: the one to erase, whose id would be found again, and somebody else's."""

WORDS = (
    "Quittengelee",
    "琥珀色河马",
    "Seegurke🥒",
    "翡翠长颈鹿",
    "Zwölf:ender",
    "Zwölf%3Aender",
    "Hieronymus",
    "司马相如",
)
"""What nobody else says: the person's words in two languages, their account in both forms, their names."""


STEPS = (
    "message_versions", "ledgers", "summaries", "observed", "messages", "terms", "fragments", "facts", "sessions", "scopes",
    "agent_choices", "corpora", "profile_items", "listings", "privacy_requests", "identities", "called",
)  # fmt: skip
"""Tables that an erasure deletes from."""

BROKEN = (
    """CREATE OR REPLACE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION USING TABLE = 'broken ' || TG_TABLE_NAME; END $$;
      CREATE TRIGGER broken_{table} BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION broken()""",
    "CREATE TRIGGER broken_{table} BEFORE DELETE ON {table} BEGIN SELECT RAISE(ABORT, 'broken {table}'); END",
)
"""Lets nothing be deleted from a table: on PostgreSQL, on SQLite."""


async def erase(store: FullStore, person_id: int, *posted: Posted, **fields: Any) -> Erased:
    """Erase the person whose account in the channel is `ME`."""
    me = Account(key(user=ME).columns()[0], "web")
    return await store.persons.erase(person_id, **({"accounts": [me], "posted": posted, "now_ms": NOW} | fields))


async def somebody(store: FullStore, account: str) -> int:
    return await store.person(Identity(kind="web", tenant="T1", account=account), now_ms=NOW)


def group(user: str, **parts: Any) -> ConversationKey:
    return key(user=user, room="g1", chat_type="group", **parts)


async def a_life(store: FullStore) -> tuple[int, int]:
    """Give a person a private talk and one in a group, with everything that memory makes of talk, in two languages; beside
    somebody else's who quotes them. Return both persons."""
    me, you = await somebody(store, ME), await somebody(store, YOU)
    mine = await opened(store, user=ME)
    turn = await answered(
        store,
        mine.id,
        1,
        "my jam is Quittengelee 琥珀色河马",
        person_id=me,
        key=key(user=ME),
        speaker_name="Hieronymus",
    )
    await keep(store, turn, me, "Quittengelee 琥珀色河马")
    held = await store.derived.claim(owner="w", now_ms=NOW, lease_ms=9, limit=9)
    assert [] == [due.ledger.turn_id for due in held]
    await store.put_summary(summary(7, mine.id, session_id=turn[0].session_id, text="likes Quittengelee"))
    shared = await opened(store, room="g1", chat_type="group")
    turn = await answered(
        store, shared.id, 2, "I eat Seegurke🥒 翡翠长颈鹿", person_id=me, key=group(ME), speaker_name="司马相如"
    )
    await keep(store, turn, me, "Seegurke🥒 翡翠长颈鹿")
    await store.edit(shared.id, "m2", by=group(ME), text="I eat no Seegurke🥒", tokens=3, low_value=False, now_ms=NOW)
    other = await answered(
        store,
        shared.id,
        3,
        "what is that?",
        person_id=you,
        key=group(YOU),
        speaker_name="Otto",
        reply_to="m2",
        quote=Quoted(name="司马相如", text="I eat no Seegurke🥒"),
    )
    await keep(store, other, you, "otter")
    await store.put_summary(
        summary(
            8, shared.id, session_id=turn[0].session_id, text="翡翠长颈鹿", first_id=turn[0].id, last_id=other[0].id
        )
    )
    for number, account in enumerate((ME, YOU)):
        await store.observe(
            shared.id,
            group(account),
            event_id=50 + number,
            text="翡翠长颈鹿" if account == ME else "weather",
            speaker_name="司马相如" if account == ME else "Otto",
            tokens=1,
            now_ms=NOW,
            keep=9,
            platform_message_id=f"o{number}",
            person_id=me if account == ME else you,
        )
        await store.choose_agent(group(account), "helper", now_ms=NOW)
    alone = await opened(store, mode="speaker", user=ME, room="g1", chat_type="group")
    await put(store, alone.id, said("Quittengelee", 4, key=group(ME), person_id=me), turn_id=4, session=rule("s-9"))
    return me, you


async def keep(store: FullStore, turn: tuple[Message, ...], person_id: int, words: str) -> None:
    """Learn a fact, an item and their index from a turn."""
    source = {"source_ids": (turn[0].id,), "scope_id": turn[0].scope_id, "person_id": person_id}
    made: Learned = learned(
        turn,
        person_id=person_id,
        facts=(fact(0, session_id=turn[0].session_id, value=words, **source),),
        items=(item(0, text=words, value=words, **source),),
        item_terms=(((77, 1),),),
        fragments=(Fragment(scope_id=turn[0].scope_id, id=turn[0].id, terms=((5, 1), (6, 2))),),
        called=(Called(person_id=person_id, channel=turn[0].channel, name=turn[0].speaker_name),),
    )
    assert await store.derived.settle(made)


def residues(column: Column) -> list[str]:
    """Return what is left of the person's words."""
    if isinstance(column, SqliteColumn):
        return left_of(WORDS, in_sqlite(column.path))
    assert isinstance(column, PostgresColumn)
    where = in_postgres(column.url)
    return left_of(WORDS, where + in_redis(column.redis_url) if isinstance(column, RedisColumn) else where)


class ErasureContract:
    """The end of a person: B46, E06, mem0ai/mem0#3245, mem0ai/mem0#3040, getzep/graphiti#1489."""

    async def test_nothing_is_left_of_a_persons_words_and_names(self, store: FullStore, column: Column) -> None:
        """Neither in tables, indexes and the log, nor in what a window cache keeps (CaviraOSS/LongMemory#186)."""
        me, _ = await a_life(store)
        shared = await opened(store, room="g1", chat_type="group")
        await store.load(wish(shared.id, chat_type="group"))
        assert residues(column)

        erased = await erase(store, me)
        await store.persons.unlink(me)

        assert [] == residues(column)
        assert nothing() | {
            "messages": 5, "message_versions": 1, "ledgers": 2, "summaries": 2, "observed": 1, "sessions": 1,
            "agent_choices": 1, "scopes": 4, "fragments": 2, "corpora": 1, "facts": 1, "profile_items": 1, "quotes": 2,
        } == erased.counts  # fmt: skip
        assert erased.scopes == tuple(sorted(erased.scopes))
        assert shared.id in erased.scopes

    async def test_others_keep_theirs(self, store: FullStore) -> None:
        _me, you = await a_life(store)
        before = await live(store, you)

        await erase(store, _me)

        assert before == await live(store, you)
        assert (["otter"], ["order=otter"]) == before
        assert [] == [row for row in await live(store, _me) if row]

    async def test_a_group_keeps_the_places_of_what_was_said(self, store: FullStore) -> None:
        """Without the words, names and account; what others said stands, and no longer quotes them."""
        me, _ = await a_life(store)
        shared = await opened(store, room="g1", chat_type="group")

        await erase(store, me)

        rows = (await store.load(wish(shared.id, chat_type="group", observed=9))).window
        assert [
            ("user", ""),
            ("assistant", ""),
            ("user", "what is that?"),
            ("assistant", "reply to what is that?"),
        ] == [(row.role, row.text) for row in rows]
        assert [NOW, NOW, None, None] == [row.deleted_ms for row in rows]
        assert ["", "", "Otto", "Otto"] == [row.speaker_name for row in rows]
        assert [None, None] == [row.person_id for row in rows[:2]]
        assert rows[0].user.startswith("erased-")
        assert rows[0].user == rows[1].user
        assert None is rows[2].quote
        assert ["weather"] == [row.text for row in (await store.load(wish(shared.id, observed=9))).observed]

    async def test_private_talk_is_gone_with_its_scope(self, store: FullStore) -> None:
        me, _ = await a_life(store)
        mine = await opened(store, user=ME)

        await erase(store, me)

        assert mine.id != (await opened(store, user=ME)).id
        with pytest.raises(UnknownScope):
            await put(store, mine.id, said("late", 9, key=key(user=ME)), turn_id=9)

    async def test_erasing_twice_finds_nothing(self, store: FullStore) -> None:
        me, _ = await a_life(store)
        first = await erase(store, me)

        assert any(first.counts.values())
        assert Erased(counts=nothing()) == await erase(store, me)
        assert (1, 0) == (await store.persons.unlink(me), await store.persons.unlink(me))
        assert Erased(counts=nothing()) == await erase(store, me)
        assert Erased(counts=nothing()) == await erase(store, 404)
        assert not await store.persons.begin(404, now_ms=NOW)

    async def test_late_work_writes_nothing(self, store: FullStore) -> None:
        """A turn, and what is learned from one, that end after the erasure bring nothing back (redis/agent-memory-server#184)."""
        me, _ = await a_life(store)
        shared = await opened(store, room="g1", chat_type="group")
        turn = await answered(store, shared.id, 6, "late", person_id=me, key=group(ME))

        await erase(store, me)

        assert not await store.derived.settle(learned(turn, person_id=me))
        late = replied("late", 6, person_id=me, key=group(ME))
        with pytest.raises(PersonErased, match=str(me)):
            await put(store, shared.id, late, turn_id=6)
        with pytest.raises(PersonErased, match=str(me)):
            await store.save_ledger(ledger(6, shared.id, person_id=me), fence=1)
        with pytest.raises(PersonErased, match=str(me)):
            await store.append_and_load(
                shared.id,
                [said("more", 7, person_id=me, key=group(ME))],
                wish(shared.id, chat_type="group"),
                turn_id=7,
                session=rule(),
                fence=1,
            )
        assert [] == [row for row in await live(store, me) if row]

    async def test_who_comes_again_is_a_new_person_with_nothing(self, store: FullStore) -> None:
        me, you = await a_life(store)
        assert await store.persons.begin(me, now_ms=NOW)
        again = await somebody(store, ME)
        await erase(store, me)
        await store.persons.unlink(me)

        assert again == await somebody(store, ME)
        assert again not in (me, you)
        assert ((), ()) == await store.derived.known(again, now_ms=NOW)
        shared = await opened(store, room="g1", chat_type="group")
        assert ["hello"] == texts(
            await put(store, shared.id, said("hello", 8, person_id=again, key=group(ME)), turn_id=8)
        )

    async def test_a_living_person_is_not_unlinked(self, store: FullStore) -> None:
        me = await somebody(store, ME)

        assert 0 == await store.persons.unlink(me)
        assert me == await somebody(store, ME)

    async def test_a_quote_of_what_was_never_kept_goes_too(self, store: FullStore) -> None:
        """The gateway knows from its queue which messages those are."""
        me, you = await somebody(store, ME), await somebody(store, YOU)
        shared = await opened(store, room="g1", chat_type="group")
        quoting = said(
            "hm", 1, person_id=you, key=group(YOU), reply_to="x9", quote=Quoted(name="H", text="Quittengelee")
        )
        await put(store, shared.id, quoting, turn_id=1)

        erased = await erase(store, me, Posted("web", "g1", "x9"), Posted("web", "g2", "x9"), Posted("web", "g1", "x8"))

        assert nothing() | {"quotes": 1} == erased.counts
        (row,) = (await store.load(wish(shared.id, chat_type="group"))).window
        assert (None, "hm") == (row.quote, row.text)

    async def test_a_long_history_goes_in_batches(self, store: FullStore) -> None:
        """In bounded transactions, so that it holds nobody up; a break between two is mended by another call."""
        me = await somebody(store, ME)
        mine, shared = await opened(store, user=ME), await opened(store, room="g1", chat_type="group")
        for number in range(3):
            of = [said(f"{n}", n, person_id=me, key=key(user=ME)) for n in range(150 * number, 150 * number + 150)]
            await put(store, mine.id, *of, turn_id=number, session=rule("s-m"))
            of = [said(f"{n}", n, person_id=me, key=group(ME)) for n in range(150 * number, 150 * number + 150)]
            await put(store, shared.id, *of, turn_id=100 + number, session=rule("s-g"))

        erased = await erase(store, me)

        assert 900 == erased.counts["messages"]
        assert () == await store.persons.messages(me, after=(0, 0), limit=9)

    async def test_it_goes_on_wherever_it_broke_off(self, store: FullStore, column: Column) -> None:
        """Every step in turn can't be made; what came before it stands, and what is left is found by the note, though the account
        is somebody else's by then, whose words stay."""
        me, _ = await a_life(store)
        mine, shared = await opened(store, user=ME), await opened(store, room="g1", chat_type="group")
        other = await opened(store, user=ME, room="p2")
        await put(
            store,
            other.id,
            said("Quittengelee", 80, person_id=me, key=key(user=ME, room="p2")),
            turn_id=80,
            session=rule("s-8"),
        )
        await store.forgetting.put_listing(me, Listing(listed_ms=NOW, entries=()))
        await store.persons.request(me, "erasure", channel="web", now_ms=NOW)
        await column.sql(
            f"INSERT INTO identities (kind, tenant, account, person_id) VALUES ('web', 'T1', 'second', {me})"
        )
        account = Account(key(user=ME).columns()[0], "web")
        identity = Identity(kind="web", tenant="T1", account=ME)
        assert await store.persons.ask(me, Traces(identities=(identity,), accounts=(account,)))
        assert (me,) == await store.persons.unfinished()
        await store.persons.begin(me, now_ms=NOW)
        again = await somebody(store, ME)
        hello = said("hello", 90, person_id=again, key=key(user=ME), speaker_name="")
        await put(store, mine.id, hello, turn_id=90, session=rule("s-9"))
        await put(store, shared.id, said("hello", 91, person_id=again, key=group(ME)), turn_id=91)
        sqlite = isinstance(column, SqliteColumn)
        for table in STEPS:
            await column.sql(BROKEN[sqlite].format(table=table))

        broke: list[str] = []
        done = False
        while not done and len(broke) < len(STEPS) + 1:
            noted = await store.persons.traces(me)
            try:
                await erase(store, me, accounts=noted.accounts)
                await store.persons.unlink(me)
                done = True
            except StoreUnavailable as fault:
                assert (me,) == await store.persons.unfinished()
                broke += [table for table in STEPS if f"broken {table}" in str(fault)]
                await column.sql(f"DROP TRIGGER broken_{broke[-1]}" + ("" if sqlite else f" ON {broke[-1]}"))

        assert sorted(STEPS) == sorted(broke)
        assert ((), Traces()) == (await store.persons.unfinished(), await store.persons.traces(me))
        assert {ME, "Zwölf%3Aender"} >= {*residues(column)}, "the account is the new person's"
        rows = await store.persons.messages(again, after=(0, 0), limit=9)
        assert ["hello", "hello"] == texts(rows)
        assert (mine.id, shared.id) == (rows[0].scope_id, rows[1].scope_id)
        assert again == await somebody(store, ME)

    async def test_what_a_person_said_without_asking_is_theirs(self, store: FullStore) -> None:
        """Also where nobody knows an account of theirs any more: B46, mem0ai/mem0#3245."""
        me, you = await somebody(store, ME), await somebody(store, YOU)
        shared = await opened(store, room="g1", chat_type="group")
        for number, (account, whose) in enumerate(((ME, me), (YOU, you), (ME, None), (ME, me))):
            text = {"event_id": number, "text": f"翡翠长颈鹿 {number}", "speaker_name": "司马相如", "tokens": 1}
            await store.observe(shared.id, group(account), **text, now_ms=NOW, keep=9, person_id=whose)

        first = await store.persons.overheard(me, after=(0, 0), limit=1)
        rest = await store.persons.overheard(me, after=(first[0].scope_id, first[0].id), limit=9)
        assert ["翡翠长颈鹿 0", "翡翠长颈鹿 3"] == [row.text for row in (*first, *rest)]
        assert (ME, "web", "g1", "司马相如") == (
            first[0].user, first[0].channel, first[0].conversation, first[0].speaker_name,
        )  # fmt: skip
        assert (Account("Zwölf%3Aender", "web"),) == await store.persons.accounts(me)
        by_person = await erase(store, me, accounts=())
        by_account = await erase(store, me)
        await store.observe(shared.id, group(ME), event_id=9, text="late", speaker_name="", tokens=1, now_ms=NOW, keep=9,
            person_id=me)  # fmt: skip

        assert (2, 1) == (by_person.counts["observed"], by_account.counts["observed"])
        assert ["翡翠长颈鹿 1"] == [row.text for row in (await store.load(wish(shared.id, observed=9))).observed]

    async def test_who_was_parted_keeps_their_own_private_talk(self, store: FullStore) -> None:
        """What was said there while both were one is the other's, and goes with the other."""
        me, you = await somebody(store, ME), await somebody(store, YOU)
        theirs = await opened(store, user=YOU)
        await put(store, theirs.id, said("mine", 1, key=key(user=YOU), person_id=you), turn_id=1)
        await put(store, theirs.id, said("as one", 2, key=key(user=YOU), person_id=me), turn_id=2)

        erased = await erase(store, me)

        assert 1 == erased.counts["messages"]
        assert ["mine"] == texts((await store.load(wish(theirs.id))).window)
        assert "mine" == (await opened(store, user=YOU)).title

    async def test_every_table_is_in_the_plan(self, store: FullStore, column: Column) -> None:
        """A new table that holds something personal cannot be forgotten."""
        tables = (
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            if isinstance(column, SqliteColumn)
            else POSTGRES_TABLES
        )

        found = {name for (name,) in await column.sql(tables)} - {*erasable.EMPTIED, *erasable.NOTHING_PERSONAL}
        found -= {*admins.EMPTIED, *admins.NOTHING_PERSONAL}
        assert {*KINDS, *NOTHING_PERSONAL} == found
        assert set() == {*KINDS} & {*NOTHING_PERSONAL}
        assert all(NOTHING_PERSONAL.values())


class PersonsContract:
    """Who there is, and what is stored of one."""

    async def test_persons_are_listed_in_pages(self, store: FullStore) -> None:
        ids = [await somebody(store, account) for account in ("a/b", "中文用户", "👩‍👩‍👧")]
        await store.persons.erase(ids[1], accounts=[], posted=[], now_ms=NOW + 5)

        first = await store.persons.listed(after_id=0, limit=2)
        rest = await store.persons.listed(after_id=first[-1].id, limit=2)

        def person(number: int, account: str, erased_ms: int | None = None) -> Person:
            identity = Identity(kind="web", tenant="T1", account=account)
            return Person(id=ids[number], created_ms=NOW, erased_ms=erased_ms, identities=(identity,))

        assert (person(0, "a/b"), person(1, "中文用户", NOW + 5)) == first
        assert (person(2, "👩‍👩‍👧"),) == rest
        assert person(0, "a/b") == await store.persons.find(ids[0])
        assert None is await store.persons.find(404)

    async def test_what_is_stored_of_a_person_is_read_in_pages(self, store: FullStore) -> None:
        """All of it, and nobody else's: B46, E06."""
        me, _ = await a_life(store)

        pages: list[Message] = []
        while page := await store.persons.messages(
            me, after=(pages[-1].scope_id, pages[-1].id) if pages else (0, 0), limit=2
        ):
            pages += page

        assert [
            "my jam is Quittengelee 琥珀色河马",
            "reply to my jam is Quittengelee 琥珀色河马",
            "I eat no Seegurke🥒",
            "reply to I eat Seegurke🥒 翡翠长颈鹿",
            "Quittengelee",
        ] == texts(tuple(pages))
        assert {ME} == {row.user for row in pages}
        items = await store.persons.items(me, after_id=0, limit=9)
        assert ["Quittengelee 琥珀色河马"] == [row.text for row in items]
        assert () == await store.persons.items(me, after_id=items[-1].id, limit=9)
        facts = await store.persons.facts(me, after_id=0, limit=9)
        assert ["Quittengelee 琥珀色河马"] == [row.value for row in facts]
        assert () == await store.persons.facts(me, after_id=facts[-1].id, limit=9)
        assert ["likes Quittengelee"] == [row.text for row in await store.persons.summaries(me, after_id=0, limit=9)]
        assert () == await store.persons.summaries(me, after_id=7, limit=9)

    async def test_a_persons_accounts_are_those_of_their_messages(self, store: FullStore) -> None:
        me, _ = await a_life(store)

        assert (Account("Zwölf%3Aender", "web"),) == await store.persons.accounts(me)
        assert () == await store.persons.accounts(404)

    async def test_who_only_looks_is_told_the_accounts_by_the_ends_of_talks(self, store: FullStore) -> None:
        """The same as all, also of what was only overheard, and of who was joined; nobody else's."""
        me, you = await a_life(store)
        shared = await opened(store, room="g1", chat_type="group")
        third = await somebody(store, "third")
        await store.observe(shared.id, group("third"), event_id=70, text="hm", speaker_name="", tokens=1, now_ms=NOW, keep=9,
            person_id=third)  # fmt: skip
        for number, account in enumerate((ME, "second", ME)):
            said_so = said("hi", 80 + number, person_id=third, key=group(account))
            await put(store, shared.id, said_so, turn_id=80 + number)

        assert await store.persons.accounts(me) == await store.persons.seen(me)
        assert (Account("other-1", "web"),) == await store.persons.seen(you)
        assert (Account("Zwölf%3Aender", "web"), Account("third", "web")) == await store.persons.seen(third)
        assert 3 == len(await store.persons.accounts(third))
        assert isinstance(await store.links.join(me, you, now_ms=NOW), Linked)
        assert await store.persons.accounts(me) == await store.persons.seen(me)
        assert () == await store.persons.seen(404)
