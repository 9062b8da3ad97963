"""What is read and erased of a person, in SQL that SQLite and PostgreSQL share, step by step.

A step is a generator: it yields statements, is sent their rows, and is run in one transaction by its database's module. So
the plan of an erasure (`memory/erasure.py`) is written once for both.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from memory.derived import Fragment
from memory.key import decode_part
from memory.people import DUE_MS, SEEN_TALKS, Account, Person, Posted, Request, RequestKind
from memory.stores.rows import identity_of

Result = TypeVar("Result")
Rows = list[tuple[Any, ...]]
Values = dict[str, int | str | None]

BATCH = 200
"""Messages, facts or other rows that one transaction erases at most."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A statement with parameters `:name`."""

    sql: str
    values: Values


@dataclass(frozen=True, slots=True)
class Drop:
    """Fragments (scope_id, id) to take out of the index of recall; no rows come back."""

    fragments: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Name:
    """Whose personal rows the statements that follow are about, for a database that guards them (`postgres_owner.py`): the
    persons', or, of a scope, everybody's of whom something came from it, or everybody's whom these fragments (scope_id, id) are
    of. No rows come back."""

    persons: Sequence[int] = ()
    scope_id: int | None = None
    fragments: Sequence[tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True)
class Put:
    """A fragment to enter into the index of recall; no rows come back."""

    fragment: Fragment
    person_id: int
    namespace: str
    chat_type: str
    session_id: str
    position: int


Step = Generator[Ask | Drop | Put | Name, Rows, Result]

FAMILY = """(WITH RECURSIVE family (id) AS (
  SELECT id FROM persons WHERE id = :person UNION SELECT p.id FROM persons AS p JOIN family ON p.linked_to = family.id)
  SELECT id FROM family)"""
"""The person with all whose accounts were joined to theirs (`memory/links.py`): whose messages theirs are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Where the databases differ. The rows of `message` and the other four are JSON texts, of tables named by a letter."""

    message: str
    overheard: str
    item: str
    fact: str
    summary: str
    no_steps: str  # the column of a message without steps
    no_ids: str  # the column of a row that comes from no message
    among: str  # follows a column: it is one of the numbers of `:ids`, a JSON array
    pairs: str  # the rows of `:pairs`, a JSON array of arrays of two numbers
    stretches: str  # the rows (scope_id, session_id, first_id) of `:stretches`, a JSON array of such arrays
    lock: str  # follows a SELECT whose rows are to stay as they are
    touch: str | None  # tells caches that a scope has changed
    barrier: str | None  # waits for whoever is just writing what people said, by what they saw before


@dataclass(frozen=True, slots=True)
class Batch:
    """What one step has done; there may be more to do."""

    counts: dict[str, int]
    scopes: tuple[int, ...] = ()


# --- reading ---


def listed(*, after_id: int, limit: int) -> Step[tuple[Person, ...]]:
    """Do what `Persons.listed` promises."""
    sql = """SELECT id, created_ms, erased_ms FROM persons WHERE id > :after AND linked_to IS NULL
      ORDER BY id LIMIT :limit"""
    rows = yield Ask(sql, {"after": after_id, "limit": limit})
    found: list[Person] = []
    for row in rows:
        person = yield from _person(*row)
        found.append(person)
    return tuple(found)


def find(person_id: int) -> Step[Person | None]:
    """Do what `Persons.find` promises."""
    sql = """WITH RECURSIVE who (id, linked_to, created_ms, erased_ms) AS (
        SELECT id, linked_to, created_ms, erased_ms FROM persons WHERE id = :person
        UNION ALL SELECT p.id, p.linked_to, p.created_ms, p.erased_ms FROM persons AS p JOIN who ON p.id = who.linked_to)
      SELECT id, created_ms, erased_ms FROM who WHERE linked_to IS NULL"""
    rows = yield Ask(sql, {"person": person_id})
    return (yield from _person(*rows[0])) if rows else None


def _person(person_id: int, created_ms: int, erased_ms: int | None) -> Step[Person]:
    sql = "SELECT kind, tenant, account FROM identities WHERE person_id = :person ORDER BY kind, tenant, account"
    rows = yield Ask(sql, {"person": person_id})
    identities = tuple(identity_of(*row) for row in rows)
    return Person(id=person_id, created_ms=created_ms, erased_ms=erased_ms, identities=identities)


def family(person_id: int) -> Step[tuple[int, ...]]:
    """Return the person and all whose accounts were joined to theirs."""
    rows = yield Ask(f"SELECT id FROM persons WHERE id IN {FAMILY} ORDER BY id", {"person": person_id})
    return tuple(row[0] for row in rows)


def of(kind: str, tenant: str, account: str) -> Step[int | None]:
    """Do what `Persons.of` promises, for an identity's columns."""
    sql = """SELECT i.person_id FROM identities AS i JOIN persons AS p ON p.id = i.person_id
      WHERE i.kind = :kind AND i.tenant = :tenant AND i.account = :account AND p.erased_ms IS NULL"""
    rows = yield Ask(sql, {"kind": kind, "tenant": tenant, "account": account})
    return rows[0][0] if rows else None


def having(account: str, *, limit: int) -> Step[tuple[int, ...]]:
    """Do what `Persons.having` promises, for an identity's column."""
    sql = """SELECT DISTINCT i.person_id FROM identities AS i JOIN persons AS p ON p.id = i.person_id
      WHERE i.account = :account AND p.erased_ms IS NULL ORDER BY i.person_id LIMIT :limit"""
    return tuple(row[0] for row in (yield Ask(sql, {"account": account, "limit": limit})))


_COUNTED = {
    "messages": f"SELECT count(*) FROM messages WHERE person_id IN {FAMILY}",
    "observed": f"SELECT count(*) FROM observed WHERE person_id IN {FAMILY}",
    "ledgers": f"""SELECT count(*) FROM ledgers WHERE turn_id IN (
      SELECT turn_id FROM messages WHERE person_id IN {FAMILY})""",
    "facts": "SELECT count(*) FROM facts WHERE person_id = :person",
    "profile_items": "SELECT count(*) FROM profile_items WHERE person_id = :person",
    "fragments": "SELECT count(*) FROM fragments WHERE person_id = :person",
    "identities": "SELECT count(*) FROM identities WHERE person_id = :person",
}


def counts(person_id: int) -> Step[dict[str, int]]:
    """Do what `Persons.counts` promises."""
    yield Name([person_id])
    found: dict[str, int] = {}
    for kind, sql in _COUNTED.items():
        found[kind] = (yield Ask(sql, {"person": person_id}))[0][0]
    return found


def accounts(person_id: int) -> Step[tuple[Account, ...]]:
    """Do what `Persons.accounts` promises."""
    found: set[Account] = set()
    for table in ("messages", "observed"):
        sql = f'SELECT DISTINCT "user", channel FROM {table} WHERE person_id IN {FAMILY}'
        found |= {Account(*row) for row in (yield Ask(sql, {"person": person_id}))}
    return tuple(sorted(found))


def seen(person_id: int) -> Step[tuple[Account, ...]]:
    """Do what `Persons.seen` promises."""
    members = yield from family(person_id)
    found: set[Account] = set()
    for member in members:
        for table in ("messages", "observed"):
            for end in ("min", "max"):
                rows = yield Ask(_ends_of_talks(table, end), {"person": member, "most": SEEN_TALKS})
                found |= {Account(*row) for row in rows}
    return tuple(sorted(found))


def spoken_in(table: str) -> str:
    """Return how a statement begins that has `spoken`: the person's conversations, each found by the index, those that began last
    first, and behind them NULL."""
    return f"""WITH RECURSIVE spoken (scope_id) AS (
        SELECT max(scope_id) FROM {table} WHERE person_id = :person
        UNION ALL SELECT (SELECT max(m.scope_id) FROM {table} AS m
          WHERE m.person_id = :person AND m.scope_id < spoken.scope_id) FROM spoken WHERE spoken.scope_id IS NOT NULL)"""


def _ends_of_talks(table: str, end: str) -> str:
    """Each conversation is found by the index, and then the end of it: not each message."""
    return f"""{spoken_in(table)},
      talks (scope_id) AS (SELECT scope_id FROM spoken WHERE scope_id IS NOT NULL LIMIT :most)
      SELECT DISTINCT m."user", m.channel FROM talks JOIN {table} AS m ON m.scope_id = talks.scope_id
        AND m.id = (SELECT {end}(x.id) FROM {table} AS x WHERE x.person_id = :person AND x.scope_id = talks.scope_id)"""


def messages(dialect: Dialect, person_id: int, *, after: tuple[int, int], limit: int) -> Step[Rows]:
    """Return the rows of `Persons.messages`."""
    sql = f"""SELECT {dialect.message} FROM messages AS m
      WHERE m.person_id IN {FAMILY} AND (m.scope_id, m.id) > (:scope, :id) ORDER BY m.scope_id, m.id LIMIT :limit"""
    scope_id, id_ = after
    return (yield Ask(sql, {"person": person_id, "scope": scope_id, "id": id_, "limit": limit}))


def sources(dialect: Dialect, person_id: int, ids: Sequence[tuple[int, int]]) -> Step[Rows]:
    """Return the rows of `Persons.sources`."""
    if not ids:
        return []
    pairs = ", ".join(f"({int(scope_id)}, {int(id_)})" for scope_id, id_ in ids)
    sql = f"""SELECT {dialect.message} FROM messages AS m WHERE (m.scope_id, m.id) IN (VALUES {pairs})
      AND m.role = 'user' AND m.person_id IN {FAMILY} ORDER BY m.scope_id, m.id"""
    return (yield Ask(sql, {"person": person_id}))


def overheard(dialect: Dialect, person_id: int, *, after: tuple[int, int], limit: int) -> Step[Rows]:
    """Return the rows of `Persons.overheard`."""
    sql = f"""SELECT {dialect.overheard} FROM observed AS o
      WHERE o.person_id IN {FAMILY} AND (o.scope_id, o.id) > (:scope, :id) ORDER BY o.scope_id, o.id LIMIT :limit"""
    scope_id, id_ = after
    return (yield Ask(sql, {"person": person_id, "scope": scope_id, "id": id_, "limit": limit}))


def items(dialect: Dialect, person_id: int, *, after_id: int, limit: int) -> Step[Rows]:
    """Return the rows of `Persons.items`."""
    yield Name([person_id])
    sql = f"SELECT {dialect.item} FROM profile_items AS p WHERE person_id = :person AND id > :after ORDER BY id LIMIT :limit"
    return (yield Ask(sql, {"person": person_id, "after": after_id, "limit": limit}))


def facts(dialect: Dialect, person_id: int, *, after_id: int, limit: int) -> Step[Rows]:
    """Return the rows of `Persons.facts`."""
    yield Name([person_id])
    sql = f"SELECT {dialect.fact} FROM facts AS f WHERE person_id = :person AND id > :after ORDER BY id LIMIT :limit"
    return (yield Ask(sql, {"person": person_id, "after": after_id, "limit": limit}))


def summaries(dialect: Dialect, person_id: int, *, after_id: int, limit: int) -> Step[Rows]:
    """Return the rows of `Persons.summaries`."""
    sql = f"""SELECT {dialect.summary} FROM summaries AS s WHERE id > :after AND scope_id IN (
        SELECT scope_id FROM messages WHERE person_id IN {FAMILY} AND chat_type = 'private') ORDER BY id LIMIT :limit"""
    return (yield Ask(sql, {"person": person_id, "after": after_id, "limit": limit}))


# --- what persons ask for ---

_REQUEST = "id, person_id, kind, channel, asked_ms, due_ms"


def request(dialect: Dialect, person_id: int, kind: str, channel: str | None, *, now_ms: int) -> Step[Request | None]:
    """Do what `Persons.request` promises; `channel` encoded."""
    sql = f"SELECT 1 FROM persons WHERE id = :person AND erased_ms IS NULL{dialect.lock}"
    if not (yield Ask(sql, {"person": person_id})):
        return None
    of: Values = {"person": person_id, "kind": kind}
    sql = """INSERT INTO privacy_requests (person_id, kind, channel, asked_ms, due_ms)
      VALUES (:person, :kind, :channel, :now, :due) ON CONFLICT (person_id, kind) DO NOTHING"""
    yield Ask(sql, of | {"channel": channel, "now": now_ms, "due": now_ms + DUE_MS})
    sql = f"SELECT {_REQUEST} FROM privacy_requests WHERE person_id = :person AND kind = :kind"
    return _request(*(yield Ask(sql, of))[0])


def requests(person_id: int | None, *, after: tuple[int, int], limit: int) -> Step[tuple[Request, ...]]:
    """Do what `Persons.requests` promises."""
    whose = "" if person_id is None else f" AND person_id IN {FAMILY}"
    sql = f"""SELECT {_REQUEST} FROM privacy_requests WHERE (due_ms, id) > (:due, :id){whose}
      ORDER BY due_ms, id LIMIT :limit"""
    of: Values = {"due": after[0], "id": after[1], "limit": limit}
    rows = yield Ask(sql, of if person_id is None else of | {"person": person_id})
    found: list[Request] = []
    for row in rows:
        person = yield from find(row[1])
        asked = _request(*row)
        found.append(asked if person is None else msgspec.structs.replace(asked, person_id=person.id))
    return tuple(found)


def _request(id_: int, person_id: int, kind: RequestKind, channel: str | None, asked_ms: int, due_ms: int) -> Request:
    return Request(
        id=id_,
        person_id=person_id,
        kind=kind,
        channel=None if channel is None else decode_part(channel),
        asked_ms=asked_ms,
        due_ms=due_ms,
    )


def met(request_id: int) -> Step[int | None]:
    """Do what `Persons.met` promises."""
    sql = "DELETE FROM privacy_requests WHERE id = :id RETURNING person_id"
    rows = yield Ask(sql, {"id": request_id})
    return rows[0][0] if rows else None


# --- erasing: each step is run again until it returns None ---


def asked(person_id: int, traces: str) -> Step[bool]:
    """Do what `Persons.ask` promises; `traces` as JSON."""
    sql = "UPDATE persons SET erasing = :traces WHERE id = :person RETURNING 1"
    return bool((yield Ask(sql, {"person": person_id, "traces": traces})))


def unfinished() -> Step[tuple[int, ...]]:
    """Do what `Persons.unfinished` promises."""
    rows = yield Ask("SELECT id FROM persons WHERE erasing IS NOT NULL ORDER BY id", {})
    return tuple(row[0] for row in rows)


def traces(person_id: int) -> Step[str | None]:
    """Return what `asked` has kept."""
    rows = yield Ask("SELECT erasing FROM persons WHERE id = :person", {"person": person_id})
    return rows[0][0] if rows else None


def marked(dialect: Dialect, person_id: int, *, now_ms: int) -> Step[bool]:
    """Note that the person is being erased: nothing is stored for them from now on. False: there is no such person."""
    of: Values = {"person": person_id}
    # Behind the lock, who was joined to them at this very moment is seen too.
    yield Ask(f"SELECT id FROM persons WHERE id = :person{dialect.lock}", of)
    sql = f"UPDATE persons SET erased_ms = coalesce(erased_ms, :now) WHERE id IN {FAMILY} RETURNING 1"
    return bool((yield Ask(sql, of | {"now": now_ms})))


def waited(dialect: Dialect) -> Step[None]:
    """Wait for who began to write something of the person's before they were marked, and does not know of it."""
    if dialect.barrier is not None:
        yield Ask(dialect.barrier, {})


_LIVING = "SELECT 1 FROM persons AS p WHERE p.id = messages.person_id AND p.erased_ms IS NULL"
"""Whose account a private talk is may be another person's by now: who came again, or was parted from the one who is erased."""
_OUTLIVED = f"""EXISTS (SELECT 1 FROM messages
  WHERE messages.scope_id = coalesce(scopes.alias_of, scopes.id) AND EXISTS ({_LIVING}))"""
_PERSONS = "scope_id = :scope AND person_id = :person AND id <= :upto"
_PLACE = """SELECT coalesce(b.alias_of, b.id) FROM scopes AS a
  JOIN scopes AS b ON b.channel = a.channel AND b.conversation = a.conversation AND b.chat_type = a.chat_type
  WHERE a.id = :scope OR a.alias_of = :scope"""


def said(dialect: Dialect, person_id: int, *, pseudonym: str, now_ms: int) -> Step[Batch | None]:
    """Erase some of the person's messages, with what was made of them."""
    sql = "SELECT scope_id, chat_type FROM messages WHERE person_id = :person ORDER BY scope_id LIMIT 1"
    rows = yield Ask(sql, {"person": person_id})
    if not rows:
        return None
    scope_id, chat_type = rows[0]
    if chat_type == "private":
        return (yield from _emptied(dialect, scope_id))
    return (yield from _without_words(dialect, scope_id, person_id, pseudonym=pseudonym, now_ms=now_ms))


def _without_words(
    dialect: Dialect, scope_id: int, person_id: int, *, pseudonym: str, now_ms: int
) -> Step[Batch | None]:
    """Leave the places of some of the person's turns in a group."""
    of: Values = {"scope": scope_id, "person": person_id}
    sql = "SELECT id FROM messages WHERE scope_id = :scope AND person_id = :person ORDER BY id LIMIT :limit"
    rows = yield Ask(sql + dialect.lock, of | {"limit": BATCH})
    if not rows:
        return Batch({})  # another process is erasing them, too
    of["upto"] = rows[-1][0]
    ids = f"SELECT id FROM messages WHERE {_PERSONS}"
    counts: dict[str, int] = {}
    for kind, statement in (
        (
            "ledgers",
            f"DELETE FROM ledgers WHERE turn_id IN (SELECT turn_id FROM messages WHERE {_PERSONS}) RETURNING 1",
        ),
        (
            "summaries",  # a later one was made from an earlier one: it may hold the same words
            """DELETE FROM summaries WHERE scope_id = :scope AND EXISTS (SELECT 1 FROM messages AS m
              WHERE m.scope_id = :scope AND m.person_id = :person AND m.id <= :upto AND m.session_id = summaries.session_id
                AND m.id <= summaries.last_id) RETURNING 1""",
        ),
        ("message_versions", f"DELETE FROM message_versions WHERE scope_id = :scope AND id IN ({ids}) RETURNING 1"),
        (
            "scopes",
            f"UPDATE scopes SET title = '', title_id = NULL WHERE id = :scope AND title_id IN ({ids}) RETURNING 1",
        ),
    ):
        counts[kind] = len((yield Ask(statement, of)))
    replied = f"SELECT platform_message_id FROM messages WHERE {_PERSONS} AND platform_message_id IS NOT NULL"
    unquote = f"UPDATE messages SET quote = NULL WHERE quote IS NOT NULL AND scope_id IN ({_PLACE}) AND reply_to IN ({replied})"
    quoting = yield Ask(f"{unquote} RETURNING scope_id", of)
    counts["quotes"] = len(quoting)
    blank = f"""UPDATE messages SET text = '', tokens = 0, quote = NULL, thinking = NULL, thinking_s = NULL,
      steps = {dialect.no_steps}, speaker_name = '', "user" = :pseudonym, person_id = NULL, platform_message_id = NULL,
      reply_to = NULL, deleted_ms = coalesce(deleted_ms, :now) WHERE {_PERSONS} RETURNING 1"""
    counts["messages"] = len((yield Ask(blank, of | {"pseudonym": pseudonym, "now": now_ms})))
    changed = {scope_id, *(row[0] for row in quoting)}
    yield from _touched(dialect, changed)
    return Batch(counts, tuple(changed))


def private(dialect: Dialect, account: Account) -> Step[Batch | None]:
    """Erase some of a private scope of the account's."""
    sql = f"""SELECT id FROM scopes WHERE channel = :channel AND "user" = :user AND chat_type = 'private'
      AND NOT {_OUTLIVED} LIMIT 1"""
    rows = yield Ask(sql, _of(account))
    return (yield from _emptied(dialect, rows[0][0])) if rows else None


def _emptied(dialect: Dialect, scope_id: int) -> Step[Batch | None]:
    """Delete some of a private scope's messages; behind the last of them the scope itself, with the rest. What somebody else
    said there, who has the account now, stays, and then the scope does."""
    of: Values = {"scope": scope_id}
    some = f"scope_id = :scope AND NOT EXISTS ({_LIVING})"
    rows = yield Ask(
        f"SELECT id FROM messages WHERE {some} ORDER BY id LIMIT :limit{dialect.lock}", of | {"limit": BATCH}
    )
    counts: dict[str, int] = {}
    if rows:
        upto, some = of | {"upto": rows[-1][0]}, f"{some} AND id <= :upto"
        ids = f"SELECT id FROM messages WHERE {some}"
        for kind, statement in (
            (
                "ledgers",
                f"DELETE FROM ledgers WHERE turn_id IN (SELECT turn_id FROM messages WHERE {some}) RETURNING 1",
            ),
            ("message_versions", f"DELETE FROM message_versions WHERE scope_id = :scope AND id IN ({ids}) RETURNING 1"),
            ("summaries", "DELETE FROM summaries WHERE scope_id = :scope RETURNING 1"),
            ("scopes", f"UPDATE scopes SET title = '', title_id = NULL WHERE id = :scope AND title_id IN ({ids})"),
            ("messages", f"DELETE FROM messages WHERE {some} RETURNING 1"),
        ):
            counts[kind] = len((yield Ask(statement, upto)))
        return Batch(counts, (scope_id,))
    yield Name(scope_id=scope_id)
    sql = "SELECT scope_id, id FROM fragments WHERE scope_id = :scope LIMIT :limit"
    if fragments := (yield Ask(sql, of | {"limit": BATCH})):
        yield Drop([(row[0], row[1]) for row in fragments])
        return Batch({"fragments": len(fragments)}, (scope_id,))
    yield Ask("UPDATE scopes SET alias_of = NULL WHERE alias_of = :scope", of)
    yield Ask(
        "UPDATE scopes SET carry_scope_id = NULL, carry_last_id = NULL WHERE carry_scope_id = :scope AND id <> :scope",
        of,
    )
    for kind in ("observed", "summaries", "facts", "learners", "sessions"):
        counts[kind] = len((yield Ask(f"DELETE FROM {kind} WHERE scope_id = :scope RETURNING 1", of)))
    counts["scopes"] = len((yield Ask("DELETE FROM scopes WHERE id = :scope RETURNING 1", of)))
    return Batch(counts, (scope_id,))


def in_groups(account: Account, *, pseudonym: str) -> Step[Batch | None]:
    """Give the scopes that were the account's alone in groups another name."""
    sql = f"""UPDATE scopes SET "user" = :pseudonym
      WHERE channel = :channel AND "user" = :user AND chat_type = 'group' AND NOT {_OUTLIVED} RETURNING id"""
    rows = yield Ask(sql, _of(account) | {"pseudonym": pseudonym})
    return Batch({"scopes": len(rows)}, tuple(row[0] for row in rows)) if rows else None


def unheard(person_id: int) -> Step[Batch | None]:
    """Erase some of what the person was overheard saying."""
    return (yield from _unheard("person_id = :person", {"person": person_id}))


def unheard_by_account(account: Account) -> Step[Batch | None]:
    """Erase some of what the account was overheard saying while nobody noted whose it is."""
    return (yield from _unheard('channel = :channel AND "user" = :user AND person_id IS NULL', _of(account)))


def _unheard(whose: str, of: Values) -> Step[Batch | None]:
    sql = f"""DELETE FROM observed WHERE (scope_id, id) IN (SELECT scope_id, id FROM observed
      WHERE {whose} LIMIT :limit) RETURNING 1"""
    rows = yield Ask(sql, of | {"limit": BATCH})
    return Batch({"observed": len(rows)}) if rows else None


def choices(person_id: int, account: Account) -> Step[Batch | None]:
    """Erase the account's choices of agents, as far as they are the person's."""
    sql = """DELETE FROM agent_choices WHERE channel = :channel AND "user" = :user
      AND chosen_ms <= (SELECT erased_ms FROM persons WHERE id = :person) RETURNING 1"""
    rows = yield Ask(sql, _of(account) | {"person": person_id})
    return Batch({"agent_choices": len(rows)}) if rows else None


def quoted(dialect: Dialect, posted: Posted) -> Step[Batch | None]:
    """Erase the quotes of one message of the person's that is not among the stored ones."""
    place = """SELECT coalesce(alias_of, id) FROM scopes WHERE channel = :channel
      AND (conversation = :conversation OR conversation = :shared)"""
    sql = f"""UPDATE messages SET quote = NULL
      WHERE quote IS NOT NULL AND scope_id IN ({place}) AND reply_to = :message RETURNING scope_id"""
    room = posted.conversation.partition("/")[0]
    of: Values = {"channel": posted.channel, "conversation": posted.conversation, "shared": f"{room}/*"}
    rows = yield Ask(sql, of | {"message": posted.message_id})
    scopes = {row[0] for row in rows}
    yield from _touched(dialect, scopes)
    return Batch({"quotes": len(rows)}, tuple(scopes)) if rows else None


def recalled(person_id: int) -> Step[Batch | None]:
    """Erase some of what recall finds of the person."""
    yield Name([person_id])
    of: Values = {"person": person_id}
    rows = yield Ask("SELECT scope_id, id FROM fragments WHERE person_id = :person LIMIT :limit", of | {"limit": BATCH})
    if rows:
        yield Drop([(row[0], row[1]) for row in rows])
        return Batch({"fragments": len(rows)})
    rows = yield Ask("DELETE FROM corpora WHERE person_id = :person RETURNING 1", of)
    return Batch({"corpora": len(rows)}) if rows else None


def known(table: str, person_id: int) -> Step[Batch | None]:
    """Erase some of the person's rows of a table that has an id and a person on every row."""
    yield Name([person_id])
    sql = f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE person_id = :person LIMIT :limit) RETURNING 1"
    rows = yield Ask(sql, {"person": person_id, "limit": BATCH})
    return Batch({table: len(rows)}) if rows else None


def listings(person_id: int) -> Step[Batch | None]:
    """Erase what the person was last shown of themselves (`memory/forgetting.py`)."""
    rows = yield Ask("DELETE FROM listings WHERE person_id = :person RETURNING 1", {"person": person_id})
    return Batch({"listings": len(rows)}) if rows else None


def asked_for(person_id: int) -> Step[Batch | None]:
    """Erase what the person has asked for."""
    sql = "DELETE FROM privacy_requests WHERE person_id = :person RETURNING 1"
    rows = yield Ask(sql, {"person": person_id})
    return Batch({"privacy_requests": len(rows)}) if rows else None


def unlinked(person_id: int) -> Step[int]:
    """Do what `Persons.unlink` promises. Names are counted as changed: whoever remembers persons asks again."""
    sql = """DELETE FROM identities WHERE person_id = :person
      AND person_id IN (SELECT id FROM persons WHERE erased_ms IS NOT NULL) RETURNING 1"""
    rows = yield Ask(sql, {"person": person_id})
    yield Ask("UPDATE persons SET erasing = NULL WHERE id = :person", {"person": person_id})
    yield Ask("UPDATE meta SET value = value + 1 WHERE name = 'names'", {})
    return len(rows)


def _touched(dialect: Dialect, scopes: set[int]) -> Step[None]:
    if dialect.touch is not None:
        for scope_id in sorted(scopes):
            yield Ask(dialect.touch, {"scope": scope_id})


def _of(account: Account) -> Values:
    return {"channel": account.channel, "user": account.user}
