"""Every verb by which memory is read or written, tried in Mallory's name with Ann's numbers; and the verbs that name nobody, each
with the reason why none can be tried.

A new verb of a protocol that stands in neither list fails the suite (`test_forged_owners.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from memory.base import Identity, SessionRule, Store
from memory.browsing import Browsing, Wanted
from memory.called import Called
from memory.derived import Derived
from memory.embedding import Embedded, Unembedded, Vectors
from memory.errors import MemoryFault
from memory.forgetting import Entry, Forgetting, Listing, Worded
from memory.links import Links, digest_of
from memory.people import Account, Persons, Posted
from tests.attacks.neighbours import ANN, CODE, MALLORY, MODEL, Neighbours
from tests.contracts.derived import learned
from tests.contracts.store import NOW, fact, item, put, replied, said, summary

Attack = Callable[[Neighbours], Awaitable[object]]

PROTOCOLS = (Store, Derived, Vectors, Forgetting, Links, Persons, Browsing)

WILD = (
    "%",
    "_",
    "*",
    "\\",
    "%%",
    "_nn-7",
    "ann%",
    "ann-_",
    "a*",
    "ANN-7",
    "ａｎｎ-７",
    "％",
    "＿",
    "＊",
    "ann-7\x00",
    "' OR 1=1 --",
)
"""Patterns that Ann's account would match, in any dialect, and its twins of other widths and cases."""

PLACES = {"window", "appended", "observed", "summary", "handover", "carried", "session_id", "session_opened", "more"}
"""What a scope's number brings of a load: what was said there. It belongs to the place, as `memory/README.md` says; nobody but
`memory/names.py` makes a number out of a verified key."""


def personal(loaded: Any) -> dict[str, object]:
    """Return what a load brought of its person."""
    return {name: value for name, value in msgspec.structs.asdict(loaded).items() if name not in PLACES}


def verbs(protocol: type) -> set[str]:
    """Return `Protocol.verb` of all that it promises itself."""
    return {f"{protocol.__name__}.{name}" for name in vars(protocol) if not name.startswith("_")}


async def _each(*results: Awaitable[object]) -> list[object]:
    return [await result for result in results]


async def _refused(result: Awaitable[object]) -> object:
    """Do what a store may also refuse: on PostgreSQL by the row's policy, with an error."""
    try:
        return await result
    except MemoryFault as exc:
        return str(exc)


async def _load(t: Neighbours) -> object:
    wishes = [t.me.load(), *(t.me.load(scope_id=id_) for id_ in (t.ann.scope.id, t.ann.group.id))]
    wishes += [t.ann.load(person_id=who) for who in (None, 0, -1, 2**62, t.eve.person_id)]
    wishes += [t.me.load(namespace=name, scope_id=t.ann.scope.id) for name in ("%", "", "sha_ed", "*")]
    loaded = [await t.store.load(wish) for wish in wishes]
    theirs = await t.store.load(t.me.load(), session_id=t.ann.rows[0].session_id)
    assert () == theirs.window, "a session is of its scope"
    return [personal(one) for one in loaded]


async def _append(t: Neighbours) -> object:
    hers = {"event_id": t.ann.rows[0].event_id, "platform_message_id": "m100-too", "reply_to": "m100"}
    mine = {"key": t.me.key(), "person_id": t.me.person_id}
    first = await put(t.store, t.me.scope.id, said("hi", **(hers | mine)), turn_id=t.ann.turn_id)
    second = await put(t.store, t.me.scope.id, replied("hi", **(hers | mine)), turn_id=t.ann.turn_id)
    return first, second


async def _append_and_load(t: Neighbours) -> object:
    said_now = said("hello", 251, key=t.me.key(), person_id=t.me.person_id)
    session = SessionRule(fresh_id="s-forged", idle_ms=10**9, asked=t.ann.rows[0].session_id)
    loaded = await t.store.append_and_load(
        t.me.scope.id, [said_now], t.me.load(), turn_id=251, session=session, fence=1
    )
    assert t.ann.rows[0].session_id != loaded.session_id, "a session is asked for in one's own scope only"
    elsewhere = said("hello", 252, key=t.me.key(), person_id=t.me.person_id)
    forged = t.me.load(scope_id=t.ann.scope.id)
    session = SessionRule(fresh_id="s-forged-too", idle_ms=10**9)
    other = await t.store.append_and_load(t.me.scope.id, [elsewhere], forged, turn_id=252, session=session, fence=1)
    return loaded, personal(other)


async def _edit(t: Neighbours) -> object:
    done = [
        await t.store.edit(scope_id, f"{letter}100", by=by, text="x", tokens=1, low_value=False, now_ms=NOW)
        for scope_id in (t.me.scope.id, t.me.group.id, t.ann.scope.id, t.ann.group.id)
        for letter in "mo"
        for by in (t.me.key(), t.me.key(room=f"g-{MALLORY}", chat_type="group"))
    ]
    assert not any(done[len(done) // 2 :]), "in Ann's places"
    return done


async def _delete(t: Neighbours) -> object:
    done = [
        await t.store.delete(scope_id, f"{letter}100", by=by, now_ms=NOW)
        for scope_id in (t.me.scope.id, t.me.group.id, t.ann.scope.id, t.ann.group.id)
        for letter in ("m", "o", "%", "_")
        for by in (t.me.key(), t.me.key(room=f"g-{MALLORY}", chat_type="group"))
    ]
    assert not any(done[len(done) // 2 :]), "in Ann's places"
    return done


async def _settle(t: Neighbours) -> object:
    """Learn from an own turn, and name Ann's rows as what it ends, and Ann as whose its new ones are."""
    mine = t.me.rows
    ends = {
        "superseded_facts": t.ann.facts, "retracted_facts": t.ann.facts,
        "superseded_items": t.ann.items, "retracted_items": t.ann.items,
    }  # fmt: skip
    own = t.me.waiting_turn_id
    rows = await t.store.turn_messages(t.me.owner(), own)
    fields = {
        "person_id": t.me.person_id,
        **ends,
        "called": (Called(person_id=t.me.person_id, channel="web", name="x"),),
    }
    done = await t.store.derived.settle(learned(rows, **fields))
    theirs = msgspec.structs.replace(t.ann.ledger(), turn_id=t.ann.waiting_turn_id, person_id=t.me.person_id)
    forged = [
        learned(
            mine, person_id=t.me.person_id, ledger=theirs, items=(item(0, person_id=t.ann.person_id),), item_terms=((),)
        ),
        learned(
            mine, person_id=t.ann.person_id, ledger=theirs, facts=(fact(0, t.me.scope.id, person_id=t.me.person_id),)
        ),
    ]
    assert not any([await t.store.derived.settle(one) for one in forged])
    return done


async def _shown(t: Neighbours) -> object:
    hers = {"facts": t.ann.facts, "items": t.ann.items, "summaries": [t.ann.summary_id]}
    mine = await t.store.derived.shown(t.me.owner(), **hers)
    there = await t.store.derived.shown(t.me.owner(scope_id=t.ann.scope.id), **(hers | {"summaries": []}))
    nobody = await t.store.derived.shown(t.ann.owner(person_id=None), **(hers | {"summaries": []}))
    return mine, there, nobody


async def _material(t: Neighbours) -> object:
    here = await t.store.derived.material(t.ann.ledger(person_id=t.me.person_id), namespace="shared")
    ledger = msgspec.structs.replace(t.me.ledger(), turn_id=t.ann.turn_id)
    mine = await t.store.derived.material(ledger, namespace="shared")
    return here.facts, here.items, mine


async def _put_vectors(t: Neighbours) -> object:
    of = [
        Unembedded(
            scope_id=scope, id=id_, person_id=t.me.person_id, namespace="shared", text=" ".join(("weather",)), version=1
        )
        for scope, id_ in (*t.ann.keys, *((0, id_) for id_ in t.ann.items))
    ]
    assert 0 == await t.store.vectors.put(MODEL, [Embedded(of=one, vector=b"87654321") for one in of])
    return None


async def _erase(t: Neighbours) -> object:
    """Somebody whose account is a pattern of Ann's is erased, and names hers as their own."""
    eve = t.eve.person_id
    accounts = [Account(name, "web") for name in ("%25", "_nn-7", "%", "_", "%2A", "ann%25")] + [Account(ANN, "%")]
    posted = [Posted("web", f"d-{ANN}", "%"), Posted("%", "%", "%"), Posted("web", "_-ann-7", "m100")]
    assert await t.store.persons.begin(eve, now_ms=NOW)
    done = await t.store.persons.erase(eve, accounts=accounts, posted=posted, now_ms=NOW)
    assert done.counts["messages"] > 0
    return done


async def _people(t: Neighbours, look: Callable[[str], Awaitable[object]]) -> object:
    """Look for each pattern, one by one."""
    return [await look(name) for name in WILD]


async def _find_by_name(t: Neighbours) -> object:
    parts = ("%", "_", "*", "\\", "%ero%", "_ieronymus", "h*s", "司_相如", "司％", "＊", "%相%", "\U0010ffff", "")
    channels = [("web",), ("%",), ("w_b",), ("WEB",), ()]
    return [
        await t.store.persons.called(name, channels=where, limit=9)
        for name in parts
        for where in (channels if name else channels[1:])
    ]


async def _twins(t: Neighbours) -> object:
    """Accounts that differ from Ann's in width, case, kind or tenant, are somebody else's."""
    twins = [Identity(kind="web", tenant="T1", account=name) for name in WILD if name not in (MALLORY, t.eve.account)]
    twins += [Identity(kind=kind, tenant="T1", account=ANN) for kind in ("WEB", "w%", "we_", "other")]
    twins += [Identity(kind="web", tenant=tenant, account=ANN) for tenant in ("", "T", "T%", "T_", "T1/", "t1")]
    found = [await t.store.person(one, now_ms=NOW) for one in twins]
    assert len({one.account.replace("\x00", "\ufffd") for one in twins}) <= len(set(found)), (
        "each is a person of their own"
    )
    return found


async def _of(t: Neighbours) -> object:
    known = [Identity(kind="web", tenant="T1", account=name) for name in WILD]
    known += [Identity(kind=kind, tenant="T1", account=ANN) for kind in ("%", "w_b", "WEB", "*")]
    known += [Identity(kind="web", tenant=tenant, account=ANN) for tenant in ("%", "T_", "*")]
    return [await t.store.persons.of(one) for one in known]


async def _searched(t: Neighbours) -> object:
    mine = Wanted(person_id=t.me.person_id)
    elsewhere = [Wanted(channels=names) for names in ((), ("%",), ("w_b",), ("*",), ("WEB",), ("ｗｅｂ",))]
    elsewhere += [Wanted(room=room) for room in ("%", "_-ann-7", "d-%", "d-ann-_", "*", "D-ANN-7")]
    words = [["quittengelee"], ["河马"], ["%"], ["_"], ["*"], ["\\"], [""], []]
    return [
        await t.store.browsing.search(one, where, after=None, limit=99) for one in words for where in (mine, *elsewhere)
    ]


async def _talks(t: Neighbours) -> object:
    rooms = ("%", "_-ann-7", "d-%", "d-ann-_", "*", "D-ANN-7", "ｄ-ann-7", "d-ann", "d-ann-7/%")
    wanted = [Wanted(person_id=t.me.person_id), *(Wanted(room=room) for room in rooms)]
    wanted += [Wanted(channels=names) for names in ((), ("%",), ("w_b",), ("*",), ("WEB",))]
    return [await t.store.browsing.talks(one, after=None, limit=99) for one in wanted]


ATTACKS: dict[str, Attack] = {
    "Store.open_scope": lambda t: _each(
        *(
            t.store.open_scope(t.me.name(room=f"d-{ANN}", agent=agent), now_ms=NOW, agent_change=change)
            for agent, change in (("helper", "fresh"), ("second", "carry"), ("third", "alias"))
        ),
        *(t.store.open_scope(t.me.name(user=wild, room=f"d-{ANN}"), now_ms=NOW, agent_change="alias") for wild in WILD),
    ),
    "Store.scope_in_place": lambda t: _each(
        t.store.scope_in_place(t.me.name(room=f"d-{ANN}")),
        *(t.store.scope_in_place(t.ann.name(user=wild)) for wild in WILD),
        *(t.store.scope_in_place(t.ann.name(room=f"g-{wild}", chat_type="group")) for wild in WILD if wild not in ("%", "_nn-7")),
    ),
    "Store.alias_scope": lambda t: _each(
        *(t.store.alias_scope(t.me.name(user=wild, room="%"), t.me.scope.id) for wild in WILD)
    ),
    "Store.group_scopes": lambda t: _each(*(t.store.group_scopes(name) for name in ("%", "w_b", "*", "WEB", "ｗｅｂ"))),
    "Store.move_room": lambda t: _each(
        *(
            t.store.move_room(channel, room, "elsewhere", now_ms=NOW)
            for channel, room in (("web", "%-ann-7"), ("web", "_-ann-7"), ("web", "g-ann"), ("%", "g-ann-7"), ("WEB", "g-ann-7"))
        )
    ),
    "Store.moved_rooms": lambda t: t.store.moved_rooms(),
    "Store.answered": lambda t: _nowhere(t),
    "Store.append": _append,
    "Store.load": _load,
    "Store.append_and_load": _append_and_load,
    "Store.older": lambda t: _each(
        t.store.older(t.me.owner(), session_id=t.ann.rows[0].session_id, before_id=2**62, limit=99),
        t.store.older(t.me.owner(), session_id="%", before_id=2**62, limit=99),
    ),
    "Store.turn_messages": lambda t: t.store.turn_messages(t.me.owner(), t.ann.turn_id),
    "Store.messages_by_id": lambda t: t.store.messages_by_id(t.me.owner(), [(row.id, row.version) for row in t.ann.rows]),
    "Store.observe": lambda t: t.store.observe(
        t.me.group.id, t.me.key(room=f"g-{MALLORY}", chat_type="group"), event_id=160, text="x", speaker_name="M",
        tokens=1, now_ms=NOW, keep=1, platform_message_id="o100", person_id=t.me.person_id,
    ),
    "Store.edit": _edit,
    "Store.delete": _delete,
    "Store.end_session": lambda t: t.store.end_session(t.me.scope.id, now_ms=NOW),
    "Store.put_summary": lambda t: _refused(t.store.put_summary(summary(t.ann.summary_id, t.me.scope.id, text="x"))),
    "Store.put_facts": lambda t: _refused(
        t.store.put_facts([fact(id_, t.me.scope.id, person_id=t.me.person_id, value="x") for id_ in t.ann.facts])
    ),
    "Store.put_profile": lambda t: _refused(
        t.store.put_profile([item(id_, person_id=t.me.person_id, text="x") for id_ in t.ann.items])
    ),
    "Store.person": _twins,
    "Store.choose_agent": lambda t: _each(
        *(t.store.choose_agent(t.ann.key(user=wild), "theirs", now_ms=NOW) for wild in WILD),
        t.store.choose_agent(t.me.key(room=f"d-{ANN}"), None, now_ms=NOW),
    ),
    "Store.chosen_agent": lambda t: _no_choice(t),
    "Derived.material": _material,
    "Derived.settle": _settle,
    "Derived.drop_summary": lambda t: t.store.derived.drop_summary(t.me.scope.id, t.ann.summary_id),
    "Derived.covered": lambda t: t.store.derived.covered(t.me.scope.id, t.ann.rows[0].session_id),
    "Derived.stretch": lambda t: t.store.derived.stretch(t.me.scope.id, t.ann.rows[0].session_id, after_id=0, limit=99),
    "Derived.put_summary": lambda t: _refused(
        t.store.derived.put_summary(
            summary(t.ann.summary_id, t.me.scope.id, text="x"), replaces=None, versions=(), owner="w", now_ms=NOW
        )
    ),
    "Derived.fragments": lambda t: _each(
        *(
            t.store.derived.fragments(owner, t.ann.keys)
            for owner in (t.me.owner(), t.me.owner(scope_id=t.ann.scope.id), t.ann.owner(person_id=None))
        )
    ),
    "Derived.items": lambda t: _each(
        *(
            t.store.derived.items(owner, t.ann.items)
            for owner in (t.me.owner(), t.me.owner(scope_id=t.ann.scope.id), t.ann.owner(person_id=0))
        )
    ),
    "Derived.ended": lambda t: _each(
        *(
            t.store.derived.ended(owner, [(t.ann.scope.id, t.ann.rows[0].session_id)])
            for owner in (t.me.owner(), t.me.owner(scope_id=t.ann.scope.id), t.ann.owner(person_id=None))
        )
    ),
    "Derived.shown": _shown,
    "Derived.known": lambda t: _each(*(t.store.derived.known(who, now_ms=NOW) for who in (t.me.person_id, 0, -1, 2**62))),
    "Vectors.put": _put_vectors,
    "Vectors.read": lambda t: _each(
        *(
            t.store.vectors.read(who, space, model, after=0, first=0, limit=99)
            for who, space, model in (
                (0, "shared", MODEL), (t.me.person_id, "%", MODEL), (t.me.person_id, "shared", "%"), (-1, "shared", MODEL),
            )
        )
    ),
    "Vectors.placed": lambda t: _each(
        *(
            t.store.vectors.placed(owner, [*t.ann.keys, *((0, id_) for id_ in t.ann.items)])
            for owner in (t.me.owner(), t.me.owner(scope_id=t.ann.scope.id), t.ann.owner(person_id=None))
        )
    ),
    "Forgetting.waiting": lambda t: t.store.forgetting.waiting(t.me.person_id),
    "Forgetting.forget": lambda t: t.store.forgetting.forget(
        t.me.person_id, items=t.ann.items, facts=t.ann.facts, withhold=t.ann.rows, now_ms=NOW
    ),
    "Forgetting.forget_slots": lambda t: t.store.forgetting.forget_slots(
        t.me.person_id, slots=("%", "_", "*", "or_er"), withhold=t.ann.rows, now_ms=NOW
    ),
    "Forgetting.correct": lambda t: t.store.forgetting.correct(
        t.me.person_id,
        items=[Worded(id=id_, fresh_id=9_001 + n, value="x", text="x") for n, id_ in enumerate(t.ann.items)],
        facts=[Worded(id=id_, fresh_id=9_101 + n, value="x") for n, id_ in enumerate(t.ann.facts)],
        withhold=t.ann.rows, now_ms=NOW,
    ),
    "Forgetting.forget_turn": lambda t: _each(
        t.store.forgetting.forget_turn(t.me.scope.id, person_id=t.me.person_id, user=ANN, now_ms=NOW),
        *(t.store.forgetting.forget_turn(t.ann.scope.id, person_id=t.me.person_id, user=wild, now_ms=NOW) for wild in WILD),
    ),
    "Forgetting.forget_all": lambda t: t.store.forgetting.forget_all(t.eve.person_id, now_ms=NOW),
    "Forgetting.put_listing": lambda t: t.store.forgetting.put_listing(
        t.me.person_id, Listing(listed_ms=NOW, entries=(Entry(items=t.ann.items, facts=t.ann.facts),))
    ),
    "Forgetting.listing": lambda t: t.store.forgetting.listing(t.me.person_id),
    "Links.offer": lambda t: _offers_hers(t),
    "Links.link": lambda t: _each(
        *(t.store.links.link(t.eve.person_id, guess, now_ms=NOW) for guess in ("%", "_" * 32, "*", digest_of("%"), CODE))
    ),
    "Links.made": lambda t: t.store.links.made(t.me.person_id),
    "Links.unlink": lambda t: _each(
        *(
            t.store.links.unlink(Identity(kind=kind, tenant=tenant, account=name), fresh_id=2**61, now_ms=NOW)
            for kind, tenant, name in (
                ("web", "T1", "ann%"), ("web", "T1", "ann-_econd"), ("%", "T1", "ann-second"), ("web", "%", "ann-second"),
                ("web", "", "ann-second"), ("WEB", "T1", "ann-second"), ("web", "T1", "ANN-SECOND"), ("web", "T1", "*"),
            )
        )
    ),
    "Persons.find": lambda t: _each(*(t.store.persons.find(who) for who in (t.me.person_id, 0, -1))),
    "Persons.family": lambda t: t.store.persons.family(t.me.person_id),
    "Persons.of": _of,
    "Persons.having": lambda t: _people(t, lambda name: t.store.persons.having(name, limit=99)),
    "Persons.called": _find_by_name,
    "Persons.names": lambda t: _each(
        t.store.persons.names(t.me.person_id, channels=None, limit=99),
        t.store.persons.names(t.ann.person_id, channels=["%", "w_b", "*", "WEB"], limit=99),
    ),
    "Persons.counts": lambda t: t.store.persons.counts(t.me.person_id),
    "Persons.request": lambda t: t.store.persons.request(t.me.person_id, "export", channel="%", now_ms=NOW),
    "Persons.requests": lambda t: t.store.persons.requests(after=(0, 0), limit=99, person_id=t.me.person_id),
    "Persons.accounts": lambda t: t.store.persons.accounts(t.me.person_id),
    "Persons.seen": lambda t: t.store.persons.seen(t.me.person_id),
    "Persons.messages": lambda t: t.store.persons.messages(t.me.person_id, after=(0, 0), limit=99),
    "Persons.sources": lambda t: t.store.persons.sources(t.me.person_id, t.ann.keys),
    "Persons.overheard": lambda t: t.store.persons.overheard(t.me.person_id, after=(0, 0), limit=99),
    "Persons.items": lambda t: t.store.persons.items(t.me.person_id, after_id=0, limit=99),
    "Persons.facts": lambda t: t.store.persons.facts(t.me.person_id, after_id=0, limit=99),
    "Persons.summaries": lambda t: t.store.persons.summaries(t.me.person_id, after_id=0, limit=99),
    "Persons.traces": lambda t: t.store.persons.traces(t.me.person_id),
    "Browsing.talks": _talks,
    "Browsing.search": _searched,
    "Persons.erase": _erase,
    "Persons.unlink": lambda t: t.store.persons.unlink(t.eve.person_id),
}  # fmt: skip
"""In this order: the last ones end the memory of who made them."""

_WORKERS = "a background job's: it takes whosever turn is due, and what it then reads and writes is tried itself"
_BY_NUMBER = (
    "by the number of a place or a turn: who may look there is the gateway's to say (tried in `test_forged_talk.py`)"
)
_ADMINS = "an admin's act, by the number of the person or request that it is about: rights are checked at the door"
_EVERYBODY = "about the whole store, or about nobody: no person is named"

NOBODYS: dict[str, str] = {
    "Store.name_changes": _EVERYBODY,
    "Store.save_ledger": _BY_NUMBER,
    "Store.ledger": _BY_NUMBER,
    "Store.ledgers": _WORKERS,
    "Store.purge_ledgers": _EVERYBODY,
    "Store.purge_messages": _EVERYBODY,
    "Store.make_room": _EVERYBODY,
    "Store.wipe": _EVERYBODY,
    "Store.put_revision": _EVERYBODY,
    "Store.revision": _EVERYBODY,
    "Store.schema_version": _EVERYBODY,
    "Store.size": _EVERYBODY,
    "Store.tables": _EVERYBODY,
    "Store.ping": _EVERYBODY,
    "Derived.claim": _WORKERS,
    "Derived.release": _WORKERS,
    "Derived.put_off": _WORKERS,
    "Derived.next_due": _EVERYBODY,
    "Derived.backlog": _EVERYBODY,
    "Vectors.missing": _WORKERS,
    "Vectors.leave": _WORKERS,
    "Forgetting.places": _BY_NUMBER,
    "Links.revoke": "by the code itself, which nobody has but who it was shown to",
    "Links.join": _ADMINS,
    "Links.undo": _ADMINS,
    "Links.move": _WORKERS,
    "Persons.listed": _ADMINS,
    "Persons.met": _ADMINS,
    "Persons.ask": _ADMINS,
    "Persons.unfinished": _ADMINS,
    "Persons.begin": _ADMINS,
    "Browsing.talk": _BY_NUMBER,
    "Browsing.names": _BY_NUMBER,
    "Browsing.page": _BY_NUMBER,
    "Browsing.unlearned": _BY_NUMBER,
    "Browsing.older": _EVERYBODY,
}
"""Verbs that nothing of anybody's can be asked of by a forged owner, and why."""


async def _nowhere(t: Neighbours) -> object:
    asked = [(t.me.name(room=f"d-{ANN}"), None), (t.me.name(room="nowhere"), f"d-{ANN}")]
    asked += [(t.me.name(user=wild, room="nowhere"), None) for wild in WILD]
    assert not any([await t.store.answered(scope, conversation) for scope, conversation in asked])
    return None


async def _no_choice(t: Neighbours) -> object:
    asked = [t.me.key(room=f"d-{ANN}"), t.ann.key(room="%"), t.ann.key(channel="w_b"), t.ann.key(user="an_-7")]
    assert [None] * len(asked) == [await t.store.chosen_agent(key) for key in asked]
    return None


async def _offers_hers(t: Neighbours) -> object:
    """Offer a code that somebody else's is by chance: theirs stays theirs."""
    return await _refused(t.store.links.offer(t.me.person_id, digest_of(CODE), now_ms=NOW))
