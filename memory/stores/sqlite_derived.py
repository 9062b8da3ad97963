"""What memory makes of messages, on SQLite: the queue of that work, what came of it, and the index that recall searches.

Runs on an open connection; what writes, inside a write transaction. `SqliteDerived` at the end is what others call.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

import msgspec

from memory.base import Corpus, Fact, Hit, Ledger, Load, Message, Owner, ProfileItem, Summary
from memory.coverage import MOST, Covering
from memory.derived import (
    ENDED_ROWS,
    LIMIT_TURNS,
    READ_FOR_A_HIT,
    Backlog,
    Covered,
    Due,
    Ended,
    Fragment,
    Learned,
    Material,
    Shown,
    live_ids,
    said_by,
)
from memory.forgetting import wordless
from memory.ids import Ids
from memory.stores.called_steps import noted
from memory.stores.rows import readable, storable_struct
from memory.stores.sqlite_rows import FACTS, MESSAGES, PROFILE, SUMMARIES, read_messages
from memory.stores.sqlite_steps import run_asks

Result = TypeVar("Result")

_decode_ids = msgspec.json.Decoder(tuple[int, ...]).decode

# --- the queue ---

_OLDEST = """NOT EXISTS (SELECT 1 FROM ledgers AS older INDEXED BY ledgers_due
    WHERE older.scope_id = l.scope_id AND older.turn_id < l.turn_id AND older.due_ms IS NOT NULL)"""
_DUE = f"""SELECT l.turn_id, l.body, l.tries FROM ledgers AS l INDEXED BY ledgers_due WHERE l.due_ms <= :now AND {_OLDEST}
  AND NOT EXISTS (SELECT 1 FROM learners WHERE scope_id = l.scope_id AND until_ms > :now)
  ORDER BY l.turn_id LIMIT :limit"""
_HOLD = "INSERT OR REPLACE INTO learners (scope_id, owner, until_ms) VALUES (?, ?, ?)"
_RELEASE = "DELETE FROM learners WHERE scope_id = ? AND owner = ?"
_END = "UPDATE ledgers SET due_ms = NULL WHERE turn_id = ?"
_PUT_OFF = "UPDATE ledgers SET due_ms = ?, tries = tries + 1 WHERE turn_id = ? AND due_ms IS NOT NULL"
_BACKLOG = "SELECT count(*), min(turn_id) FROM ledgers INDEXED BY ledgers_due WHERE due_ms IS NOT NULL"
_NEXT = f"""SELECT min(max(l.due_ms, coalesce((SELECT until_ms FROM learners WHERE scope_id = l.scope_id), 0)))
  FROM ledgers AS l INDEXED BY ledgers_due WHERE l.due_ms IS NOT NULL AND {_OLDEST}"""


def claim(db: sqlite3.Connection, *, owner: str, now_ms: int, lease_ms: int, limit: int) -> tuple[Due, ...]:
    """Do what `Derived.claim` promises; the caller commits."""
    unreadable = [0]
    while unreadable:
        due, unreadable = readable(db.execute(_DUE, {"now": now_ms, "limit": limit}).fetchall())
        db.executemany(_END, [(turn_id,) for turn_id in unreadable])
    db.executemany(_HOLD, [(turn.ledger.scope_id, owner, now_ms + lease_ms) for turn in due])
    return tuple(due)


def unlearned(db: sqlite3.Connection, scope_id: int) -> int:
    """Return how many turns of the scope are due."""
    count = "SELECT count(*) FROM ledgers INDEXED BY ledgers_due WHERE scope_id = ? AND due_ms IS NOT NULL"
    return int(db.execute(count, (scope_id,)).fetchone()[0])


# --- what a turn is learned from ---

_PERSON = "SELECT erased_ms, linked_to FROM persons WHERE id = ?"
_OF_TURN = (
    f"SELECT {MESSAGES.select} FROM messages INDEXED BY messages_turn WHERE scope_id = ? AND turn_id = ? ORDER BY id"
)
# No session's messages stand before its first one: what the scope had said earlier is not walked through.
_AFTER = "max(:after, coalesce((SELECT first_id - 1 FROM sessions WHERE id = :session AND scope_id = :scope), 0))"
_BEFORE = f"""SELECT {MESSAGES.select} FROM messages
  WHERE scope_id = :scope AND id < :before AND id > {_AFTER} AND session_id = :session ORDER BY id DESC LIMIT 1"""
_LIVE_FACTS = """SELECT {} FROM facts
  WHERE scope_id = ? AND session_id = ? AND person_id = ? AND status = 'active' AND expires_ms > ? ORDER BY id"""
_LIVE_ITEMS = """SELECT {} FROM profile_items INDEXED BY profile_items_live
  WHERE person_id = ? AND namespace = ? AND status = 'active' AND coalesce(valid_to_ms > ?, TRUE) ORDER BY id"""


_WITHHELD = "SELECT id FROM withheld WHERE scope_id = ? AND id BETWEEN ? AND ?"


def _without_withheld(db: sqlite3.Connection, rows: list[Message]) -> tuple[Message, ...]:
    """Return a scope's messages, oldest first, without the words of those that are withheld."""
    if not rows:
        return ()
    withheld = {id_ for (id_,) in db.execute(_WITHHELD, (rows[0].scope_id, rows[0].id, rows[-1].id))}
    return tuple(wordless(row) if row.id in withheld else row for row in rows)


def known_person(db: sqlite3.Connection, person_id: int | None) -> int | None:
    """Return the person, or whom they are one with now (`memory/links.py`); None: there is none, or they were erased."""
    while person_id is not None:
        row = db.execute(_PERSON, (person_id,)).fetchone()
        if row is None or row[0] is not None:
            return None
        if row[1] is None:
            return person_id
        person_id = row[1]
    return None


def material(db: sqlite3.Connection, ledger: Ledger, *, namespace: str) -> Material:
    """Do what `Derived.material` promises."""
    messages = _without_withheld(db, read_messages(db.execute(_OF_TURN, (ledger.scope_id, ledger.turn_id))))
    before = None
    if messages:
        place = {"scope": ledger.scope_id, "session": messages[0].session_id}
        asked = db.execute(_BEFORE, place | {"before": messages[0].id, "after": 0})
        found = _without_withheld(db, read_messages(asked))
        before = found[0] if found and found[0].role == "assistant" else None
    person_id = known_person(db, ledger.person_id)
    facts: list[Fact] = []
    items: list[ProfileItem] = []
    if person_id is not None:
        of = (ledger.scope_id, ledger.session_id, person_id, ledger.now_ms)
        facts = FACTS.structs(db.execute(_LIVE_FACTS.format(FACTS.select), of))
        items = PROFILE.structs(db.execute(_LIVE_ITEMS.format(PROFILE.select), (person_id, namespace, ledger.now_ms)))
        messages = tuple(said_by(person_id, row, ledger) for row in messages)
    return Material(person_id=person_id, messages=messages, before=before, facts=tuple(facts), items=tuple(items))


# --- what was learned ---

_VERSION = """SELECT version FROM messages AS m WHERE scope_id = ? AND id = ? AND deleted_ms IS NULL
  AND NOT EXISTS (SELECT 1 FROM withheld AS w WHERE w.scope_id = m.scope_id AND w.id = m.id)"""
_DONE = "UPDATE ledgers SET due_ms = NULL, body = ? WHERE turn_id = ? AND scope_id = ? AND due_ms IS NOT NULL"
_END_FACT = (
    "UPDATE facts SET status = ?, expires_ms = min(expires_ms, ?) WHERE id = ? AND person_id = ? AND status = 'active'"
)
_END_ITEM = "UPDATE profile_items SET status = ?, valid_to_ms = ? WHERE id = ? AND person_id = ? AND status = 'active'"
_SLIDE = """UPDATE facts SET expires_ms = max(expires_ms, ?)
  WHERE scope_id = ? AND session_id = ? AND person_id = ? AND status = 'active' AND expires_ms > ?"""


def settle(db: sqlite3.Connection, learned: Learned, *, ids: Ids) -> bool:
    """Do what `Derived.settle` promises; the caller commits."""
    ledger, person_id = learned.ledger, learned.person_id
    if any(_is_another(db, ledger.scope_id, id_, version) for id_, version in learned.versions):
        return False
    speaker = known_person(db, ledger.person_id)
    if person_id is not None and speaker != person_id:
        return False
    if person_id is not None and learned.material is not None and _are_others(db, learned, learned.material, person_id):
        return False
    if not db.execute(_DONE, (msgspec.json.encode(ledger), ledger.turn_id, ledger.scope_id)).rowcount:
        return False
    if person_id is not None:
        for id_, _ in learned.versions:
            _take_along(db, ledger.scope_id, id_)
        _end(db, learned, person_id)
        slide = (learned.facts_until_ms, ledger.scope_id, ledger.session_id, person_id, ledger.now_ms)
        db.execute(_SLIDE, slide)
        facts = [msgspec.structs.replace(storable_struct(fact), id=ids.next()) for fact in learned.facts]
        db.executemany(FACTS.insert, [FACTS.values(fact) for fact in facts])
        items = [msgspec.structs.replace(storable_struct(item), id=ids.next()) for item in learned.items]
        db.executemany(PROFILE.insert, [PROFILE.values(item) for item in items])
        _index(db, learned, person_id, items)
    for one in learned.called:
        if one.person_id == speaker:
            run_asks(db, noted(one))
    return True


def _is_another(db: sqlite3.Connection, scope_id: int, id_: int, version: int) -> bool:
    return bool(db.execute(_VERSION, (scope_id, id_)).fetchone() != (version,))


def _are_others(db: sqlite3.Connection, learned: Learned, material: Material, person_id: int) -> bool:
    """Say whether other rows of the person are live than those of the material."""
    ledger = learned.ledger
    facts = db.execute(_LIVE_FACTS.format("id"), (ledger.scope_id, ledger.session_id, person_id, ledger.now_ms))
    items = db.execute(_LIVE_ITEMS.format("id"), (person_id, learned.namespace, ledger.now_ms))
    return live_ids(material) != ([id_ for (id_,) in facts], [id_ for (id_,) in items])


def _end(db: sqlite3.Connection, learned: Learned, person_id: int) -> None:
    now = learned.ledger.now_ms
    for status, facts, items in (
        ("superseded", learned.superseded_facts, learned.superseded_items),
        ("retracted", learned.retracted_facts, learned.retracted_items),
    ):
        db.executemany(_END_FACT, [(status, now, id_, person_id) for id_ in facts])
        ended = [id_ for id_ in items if db.execute(_END_ITEM, (status, now, id_, person_id)).rowcount]
        drop_fragments(db, [(0, id_) for id_ in ended])


# --- the index of recall ---

_FRAGMENT = """INSERT OR IGNORE INTO fragments
  (scope_id, id, person_id, namespace, chat_type, session_id, position, length, terms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_POSITION = "SELECT coalesce(max(position) + 1, 0) FROM fragments WHERE scope_id = ? AND session_id = ?"
_TERM = "INSERT OR REPLACE INTO terms (term, id, scope_id, times) VALUES (?, ?, ?, ?)"
_COUNT = """INSERT INTO corpora (person_id, namespace, fragments, length, generation) VALUES (?, ?, ?, ?, 1)
  ON CONFLICT (person_id, namespace) DO UPDATE SET fragments = fragments + excluded.fragments,
    length = length + excluded.length, generation = generation + 1"""
_STORED_TERMS = "SELECT person_id, namespace, length, terms FROM fragments WHERE scope_id = ? AND id = ?"
SAME_AGENT = """(EXISTS (SELECT 1 FROM scopes AS s WHERE s.id = f.scope_id AND s.agent = :agent)
    OR EXISTS (SELECT 1 FROM scopes AS s WHERE s.alias_of = f.scope_id AND s.agent = :agent))"""
"""The scope of `f` has, by one of its names, the agent that is asked. Whether the message itself does, who fetches it looks."""

# The newest of the person's wherever it was said are read, a bounded number: in a group or a namespace that has little of it
# the rest would be read in vain.
_HITS = f"""SELECT t.scope_id, t.id, f.session_id, f.position, f.length, t.times
  FROM terms AS t CROSS JOIN fragments AS f ON f.scope_id = t.scope_id AND f.id = t.id
  WHERE t.term = :term AND t.id > coalesce((SELECT id FROM terms WHERE term = :term
      ORDER BY id DESC LIMIT 1 OFFSET {READ_FOR_A_HIT} * :hits), -1)
    AND f.person_id = :person AND f.namespace = :namespace AND (f.chat_type = 'group' OR :private_too)
    AND (f.scope_id = 0 OR f.scope_id = :here OR (:private AND {SAME_AGENT})) ORDER BY t.id DESC LIMIT :hits"""
_CORPUS = "SELECT fragments, length, generation FROM corpora WHERE person_id = ? AND namespace = ?"


def _index(db: sqlite3.Connection, learned: Learned, person_id: int, items: Sequence[ProfileItem]) -> None:
    ledger = learned.ledger
    for fragment in sorted(learned.fragments, key=lambda one: one.id):
        (position,) = db.execute(_POSITION, (fragment.scope_id, ledger.session_id)).fetchone()
        place = (ledger.frame.chat_type, ledger.session_id, position)
        add_fragment(db, fragment, person_id, learned.namespace, place)
    for item, terms in zip(items, learned.item_terms, strict=True):
        fragment = Fragment(scope_id=0, id=item.id, terms=terms)
        add_fragment(db, fragment, person_id, item.namespace, (item.chat_type, "", -1))


def add_fragment(
    db: sqlite3.Connection, fragment: Fragment, person_id: int, namespace: str, place: tuple[str, str, int]
) -> None:
    """Enter a fragment into the index, unless it is there; `place`: chat type, session, position. The caller commits."""
    if not fragment.terms:
        return
    length = sum(times for _, times in fragment.terms)
    packed = struct.pack(f"<{len(fragment.terms)}q", *(term for term, _ in fragment.terms))
    of = (fragment.scope_id, fragment.id, person_id, namespace, *place, length, packed)
    if db.execute(_FRAGMENT, of).rowcount:
        db.executemany(_TERM, [(term, fragment.id, fragment.scope_id, times) for term, times in fragment.terms])
        db.execute(_COUNT, (person_id, namespace, 1, length))


def drop_fragments(db: sqlite3.Connection, fragments: Iterable[tuple[int, int]]) -> int:
    """Take these (scope_id, id) out of the index; the caller commits. Return how many were in it."""
    dropped = 0
    for scope_id, id_ in fragments:
        row = db.execute(_STORED_TERMS, (scope_id, id_)).fetchone()
        if row is None:
            continue
        person_id, namespace, length, packed = row
        terms = struct.unpack(f"<{len(packed) // 8}q", packed)
        db.executemany(
            "DELETE FROM terms WHERE term = ? AND id = ? AND scope_id = ?", [(term, id_, scope_id) for term in terms]
        )
        db.execute("DELETE FROM fragments WHERE scope_id = ? AND id = ?", (scope_id, id_))
        db.execute(_COUNT, (person_id, namespace, -1, -length))
        dropped += 1
    return dropped


def recalled_by(owner: Owner) -> dict[str, Any]:
    """Return the parameters by which what an owner may recall in this place is told from everything else."""
    private = owner.chat_type == "private"
    return {
        "person": owner.person_id,
        "namespace": owner.namespace,
        "here": owner.scope_id,
        "agent": owner.agent,
        "private": private,
        "private_too": private or owner.private_in_group,
    }


def hits(db: sqlite3.Connection, wish: Load) -> tuple[Hit, ...]:
    """Return what shares terms with the question and may be shown in this place."""
    owner = wish.owner
    if owner.person_id is None or not wish.terms:
        return ()
    of = recalled_by(owner) | {"hits": wish.hits}
    found: dict[tuple[int, int], Hit] = {}
    for term in wish.terms:
        for scope_id, id_, session_id, position, length, times in db.execute(_HITS, of | {"term": term}):
            hit = found.setdefault(
                (scope_id, id_),
                Hit(scope_id=scope_id, id=id_, session_id=session_id, position=position, length=length, terms={}),
            )
            hit.terms[term] = times
    return tuple(found.values())


def corpus(db: sqlite3.Connection, owner: Owner) -> Corpus:
    """Return the numbers about what recall can find of the owner's person."""
    row = db.execute(_CORPUS, (owner.person_id, owner.namespace)).fetchone()
    return Corpus() if row is None else Corpus(fragments=row[0], length=row[1], generation=row[2])


# --- what an edit or a deletion takes along ---

_FACTS_OF = """SELECT id FROM facts INDEXED BY facts_source WHERE scope_id = :scope AND last_source >= :id
  AND EXISTS (SELECT 1 FROM json_each(source_ids) WHERE value = :id)"""
_ITEMS_OF = """SELECT id FROM profile_items INDEXED BY profile_items_source WHERE scope_id = :scope AND scope_id <> 0
  AND last_source >= :id AND EXISTS (SELECT 1 FROM json_each(source_ids) WHERE value = :id)"""
_OUTDATED = "DELETE FROM summaries WHERE scope_id = ? AND first_id <= ? AND last_id >= ?"
_DUE_AGAIN = """UPDATE ledgers SET due_ms = ?, tries = 0 WHERE (turn_id, scope_id) =
  (SELECT turn_id, scope_id FROM messages WHERE scope_id = ? AND id = ?)"""


def source_changed(db: sqlite3.Connection, scope_id: int, id_: int, *, now_ms: int) -> None:
    """Take away what was made of a message that has another text now, or none: facts, items and summaries are deleted, words
    and all, and its turn is due again. The caller commits."""
    _take_along(db, scope_id, id_)
    db.execute(_OUTDATED, (scope_id, id_, id_))
    db.execute(_DUE_AGAIN, (now_ms, scope_id, id_))


def _take_along(db: sqlite3.Connection, scope_id: int, id_: int) -> None:
    of = {"scope": scope_id, "id": id_}
    db.executemany("DELETE FROM facts WHERE id = ?", db.execute(_FACTS_OF, of).fetchall())
    items = db.execute(_ITEMS_OF, of).fetchall()
    db.executemany("DELETE FROM profile_items WHERE id = ?", items)
    drop_fragments(db, [(scope_id, id_), *((0, item_id) for (item_id,) in items)])


# --- summaries ---

_NEWEST = f"SELECT {SUMMARIES.select} FROM summaries WHERE scope_id = :scope AND session_id = :session ORDER BY id DESC LIMIT 2"
_NEWEST_ID = "SELECT max(id) FROM summaries WHERE scope_id = ? AND session_id = ?"
_THERE = (
    """{m}.deleted_ms IS NULL AND NOT EXISTS (SELECT 1 FROM withheld WHERE scope_id = {m}.scope_id AND id = {m}.id)"""
)
_TOLD = f"""SELECT m.id, m.version FROM messages AS m
  WHERE m.scope_id = :scope AND m.id > {_AFTER} AND m.id <= :upto AND m.session_id = :session AND {_THERE.format(m="m")}
    AND EXISTS (SELECT 1 FROM messages AS q INDEXED BY messages_turn WHERE q.scope_id = m.scope_id AND q.turn_id = m.turn_id
      AND q.role = 'user' AND {_THERE.format(m="q")})
  ORDER BY m.id LIMIT {MOST + 1}"""
_UNCOVERED = f"""SELECT count(DISTINCT turn_id), coalesce(sum(tokens), 0) FROM (
  SELECT turn_id, tokens FROM messages
  WHERE scope_id = :scope AND id > {_AFTER} AND session_id = :session AND deleted_ms IS NULL
  ORDER BY id LIMIT {2 * LIMIT_TURNS})"""
_STRETCH = f"""SELECT {MESSAGES.select} FROM messages
  WHERE scope_id = :scope AND id > {_AFTER} AND session_id = :session ORDER BY id LIMIT :limit"""
_HOLDS = "SELECT 1 FROM learners WHERE scope_id = ? AND owner = ? AND until_ms > ?"


def covered(db: sqlite3.Connection, scope_id: int, session_id: str) -> Covered:
    """Do what `Derived.covered` promises."""
    newest = covering(db, scope_id, session_id)
    of = {"scope": scope_id, "session": session_id, "after": newest.summary.last_id if newest else 0}
    turns, tokens = db.execute(_UNCOVERED, of).fetchone()
    return Covered(
        summary=None if newest is None else newest.summary,
        sound=newest is None or newest.sound,
        turns=min(turns, LIMIT_TURNS),
        tokens=tokens,
    )


def covering(db: sqlite3.Connection, scope_id: int, session_id: str | None) -> Covering | None:
    """Return the session's newest summary with what it is checked against; None: there is none."""
    of = {"scope": scope_id, "session": session_id}
    newest, *others = SUMMARIES.structs(db.execute(_NEWEST, of)) or (None,)
    if newest is None:
        return None
    earlier = others[0] if others else None
    span = {"after": earlier.last_id if earlier else 0, "upto": newest.last_id}
    told: tuple[tuple[int, int], ...] | None = None
    with suppress(sqlite3.Error):
        told = tuple(db.execute(_TOLD, of | span))
    return Covering(newest, earlier.digest if earlier else None, told)


def put_summary(
    db: sqlite3.Connection,
    summary: Summary,
    *,
    replaces: int | None,
    versions: Sequence[tuple[int, int]],
    owner: str,
    now_ms: int,
) -> bool:
    """Do what `Derived.put_summary` promises; the caller commits."""
    (newest_id,) = db.execute(_NEWEST_ID, (summary.scope_id, summary.session_id)).fetchone()
    if newest_id != replaces or db.execute(_HOLDS, (summary.scope_id, owner, now_ms)).fetchone() is None:
        return False
    if any(_is_another(db, summary.scope_id, id_, version) for id_, version in versions):
        return False
    db.execute(SUMMARIES.insert, SUMMARIES.values(storable_struct(summary)))
    return True


# --- what a person is shown ---

_NEAR = f"""SELECT {MESSAGES.select} FROM messages AS m
  WHERE m.scope_id = :scope AND m.deleted_ms IS NULL AND (m.scope_id = :here OR m.agent = :agent) AND m.id IN (
  SELECT near.id FROM fragments AS f JOIN fragments AS near ON near.scope_id = f.scope_id AND near.session_id = f.session_id
    AND near.position BETWEEN f.position - 2 AND f.position + 2
  WHERE f.scope_id = :scope AND f.id = :id AND f.person_id = :person AND f.namespace = :namespace
    AND near.person_id = :person AND near.namespace = :namespace
    AND (f.scope_id = :here OR :private) AND (f.chat_type = 'group' OR :private_too)) ORDER BY m.id"""
_SHOWABLE_ITEM = f"""SELECT {PROFILE.select} FROM profile_items WHERE id = ? AND person_id = ? AND namespace = ?
  AND status = 'active' AND (chat_type = 'group' OR ?)"""
_SHOWN_FACT = (
    f"SELECT {FACTS.select} FROM facts WHERE id = ? AND scope_id = ? AND person_id = ? AND status <> 'retracted'"
)
_SHOWN_ITEM = f"""SELECT {PROFILE.select} FROM profile_items WHERE id = ? AND person_id = ? AND namespace = ?
  AND status <> 'retracted' AND (chat_type = 'group' OR ?)"""
_ENDED_ITEMS = f"""SELECT 1, scope_id, slot, value, source_ids FROM profile_items
  WHERE person_id = ? AND namespace = ? AND pinned = ? AND status = ? AND value <> '' AND source_ids IS NOT NULL
  ORDER BY id DESC LIMIT {ENDED_ROWS}"""
_ENDED_FACTS = f"""SELECT 0, f.scope_id, f.slot, f.value, f.source_ids FROM (SELECT * FROM facts
    WHERE scope_id = ? AND session_id = ? AND person_id = ? AND status = ? ORDER BY id DESC LIMIT {ENDED_ROWS}) AS f
  WHERE f.value <> '' AND f.source_ids IS NOT NULL AND NOT EXISTS (SELECT 1 FROM facts AS again
      WHERE again.scope_id = f.scope_id AND again.session_id = f.session_id AND again.person_id = f.person_id
        AND again.status = 'active' AND again.slot = f.slot AND again.value = f.value)"""
_SHOWN_SUMMARY = f"SELECT {SUMMARIES.select} FROM summaries WHERE id = ? AND scope_id = ?"
_KNOWN_ITEMS = f"SELECT {PROFILE.select} FROM profile_items WHERE person_id = ? AND status = 'active' ORDER BY id"
_KNOWN_FACTS = (
    f"""SELECT {FACTS.select} FROM facts WHERE person_id = ? AND status = 'active' AND expires_ms > ? ORDER BY id"""
)


def fragments(db: sqlite3.Connection, owner: Owner, wanted: Sequence[tuple[int, int]]) -> tuple[Message, ...]:
    """Do what `Derived.fragments` promises."""
    if owner.person_id is None:
        return ()
    whose = recalled_by(owner)
    found: dict[tuple[int, int], Message] = {}
    for scope_id, id_ in wanted:
        of = whose | {"scope": scope_id, "id": id_}
        found |= {(row.scope_id, row.id): row for row in read_messages(db.execute(_NEAR, of))}
    return tuple(sorted(found.values(), key=lambda row: (row.created_ms, row.id)))


def ended(db: sqlite3.Connection, owner: Owner, sessions: Sequence[tuple[int, str]]) -> tuple[Ended, ...]:
    """Do what `Derived.ended` promises."""
    if owner.person_id is None:
        return ()
    rows: list[tuple[bool, int, str, str, str]] = []
    for status in ("superseded", "retracted"):
        for pinned in (False, True):
            rows += db.execute(_ENDED_ITEMS, (owner.person_id, owner.namespace, pinned, status))
        for scope_id, session_id in set(sessions):
            rows += db.execute(_ENDED_FACTS, (scope_id, session_id, owner.person_id, status))
    return tuple(
        Ended(lasting=bool(lasting), scope_id=scope_id, slot=slot, value=value, source_ids=_decode_ids(sources))
        for lasting, scope_id, slot, value, sources in rows
    )


def items(db: sqlite3.Connection, owner: Owner, ids: Sequence[int]) -> tuple[ProfileItem, ...]:
    """Do what `Derived.items` promises."""
    if owner.person_id is None:
        return ()
    of = (owner.person_id, owner.namespace, owner.chat_type == "private" or owner.private_in_group)
    rows = [row for id_ in sorted(set(ids)) for row in db.execute(_SHOWABLE_ITEM, (id_, *of))]
    return tuple(PROFILE.structs(rows))


def shown(
    db: sqlite3.Connection, owner: Owner, *, facts: Sequence[int], items: Sequence[int], summaries: Sequence[int]
) -> Shown:
    """Do what `Derived.shown` promises."""
    rows = [row for id_ in sorted(set(summaries)) for row in db.execute(_SHOWN_SUMMARY, (id_, owner.scope_id))]
    made = tuple(SUMMARIES.structs(rows))
    if owner.person_id is None:
        return Shown(summaries=made)
    private_too = owner.chat_type == "private" or owner.private_in_group
    theirs = (owner.person_id, owner.namespace, private_too)
    said = [row for id_ in sorted(set(facts)) for row in db.execute(_SHOWN_FACT, (id_, owner.scope_id, theirs[0]))]
    kept = [row for id_ in sorted(set(items)) for row in db.execute(_SHOWN_ITEM, (id_, *theirs))]
    return Shown(facts=tuple(FACTS.structs(said)), items=tuple(PROFILE.structs(kept)), summaries=made)


# --- what others call ---


class Transactions(Protocol):
    """How work gets its transaction: `memory.stores.sqlite.SqliteStore` gives these."""

    def __call__(self, work: Callable[[sqlite3.Connection], Result]) -> Awaitable[Result]: ...


class SqliteDerived:
    """`memory.derived.Derived` on the file of a `SqliteStore`, in its transactions."""

    def __init__(self, *, read: Transactions, write: Transactions, ids: Ids) -> None:
        self._read = read
        self._write = write
        self._ids = ids

    async def claim(self, *, owner: str, now_ms: int, lease_ms: int, limit: int) -> tuple[Due, ...]:
        return await self._write(lambda db: claim(db, owner=owner, now_ms=now_ms, lease_ms=lease_ms, limit=limit))

    async def release(self, scope_id: int, *, owner: str) -> None:
        await self._write(lambda db: db.execute(_RELEASE, (scope_id, owner)))

    async def put_off(self, turn_id: int, *, due_ms: int) -> None:
        await self._write(lambda db: db.execute(_PUT_OFF, (due_ms, turn_id)))

    async def next_due(self) -> int | None:
        (due_ms,) = await self._read(lambda db: db.execute(_NEXT).fetchone())
        return None if due_ms is None else int(due_ms)

    async def backlog(self) -> Backlog:
        turns, oldest = await self._read(lambda db: db.execute(_BACKLOG).fetchone())
        return Backlog(turns=turns, oldest=oldest)

    async def material(self, ledger: Ledger, *, namespace: str) -> Material:
        return await self._read(lambda db: material(db, ledger, namespace=namespace))

    async def settle(self, learned: Learned) -> bool:
        return await self._write(lambda db: settle(db, learned, ids=self._ids))

    async def covered(self, scope_id: int, session_id: str) -> Covered:
        return await self._read(lambda db: covered(db, scope_id, session_id))

    async def drop_summary(self, scope_id: int, id_: int) -> None:
        await self._write(lambda db: db.execute("DELETE FROM summaries WHERE scope_id = ? AND id = ?", (scope_id, id_)))

    async def stretch(self, scope_id: int, session_id: str, *, after_id: int, limit: int) -> tuple[Message, ...]:
        of = {"scope": scope_id, "session": session_id, "after": after_id, "limit": limit}
        return await self._read(lambda db: _without_withheld(db, read_messages(db.execute(_STRETCH, of))))

    async def put_summary(
        self, summary: Summary, *, replaces: int | None, versions: Sequence[tuple[int, int]], owner: str, now_ms: int
    ) -> bool:
        return await self._write(
            lambda db: put_summary(db, summary, replaces=replaces, versions=versions, owner=owner, now_ms=now_ms)
        )

    async def fragments(self, owner: Owner, wanted: Sequence[tuple[int, int]]) -> tuple[Message, ...]:
        return await self._read(lambda db: fragments(db, owner, wanted))

    async def ended(self, owner: Owner, sessions: Sequence[tuple[int, str]]) -> tuple[Ended, ...]:
        return await self._read(lambda db: ended(db, owner, sessions))

    async def items(self, owner: Owner, ids: Sequence[int]) -> tuple[ProfileItem, ...]:
        return await self._read(lambda db: items(db, owner, ids))

    async def shown(
        self, owner: Owner, *, facts: Sequence[int], items: Sequence[int], summaries: Sequence[int]
    ) -> Shown:
        return await self._read(lambda db: shown(db, owner, facts=facts, items=items, summaries=summaries))

    async def known(self, person_id: int, *, now_ms: int) -> tuple[tuple[ProfileItem, ...], tuple[Fact, ...]]:
        def read(db: sqlite3.Connection) -> tuple[tuple[ProfileItem, ...], tuple[Fact, ...]]:
            items = PROFILE.structs(db.execute(_KNOWN_ITEMS, (person_id,)))
            return tuple(items), tuple(FACTS.structs(db.execute(_KNOWN_FACTS, (person_id, now_ms))))

        return await self._read(read)
