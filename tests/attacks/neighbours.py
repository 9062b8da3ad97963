"""Two people in one database: Ann, of whom everything there is to know is stored, and Mallory, whose every name is a pattern that
Ann's would match, and who knows all numbers of Ann's rows.

What is asked in Mallory's name is an attack. It has failed if nothing of Ann's came back, and if the database shows to its
superuser every row of hers as it was, and no new one that names her.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Any

import msgspec
import psycopg

from memory.base import Identity, Ledger, Load, Message, Owner, ScopeRow
from memory.derived import FullStore
from memory.embedding import Embedded
from memory.forgetting import Entry, Listing
from memory.ids import Ids
from memory.key import ConversationKey, Scope, scope_of
from memory.links import Linked, digest_of
from tests.contracts.columns import Column, PostgresColumn, SqliteColumn
from tests.contracts.derived import answered
from tests.contracts.persons import keep
from tests.contracts.store import NOW, key, ledger, opened, put, replied, rule, said, summary
from tests.services import as_admin

ANN = "ann-7"
MALLORY = "%"
EVE = "_nn-7"
"""Accounts. The last is a disposable one: attacks that end their own speaker's memory are made in its name."""

WORDS = ("Quittengelee", "琥珀色河马", "Seegurke🥒", "Hieronymus", "司马相如")
"""What only Ann ever said or is called, in two languages."""

MODEL = "m/2"
CODE = "ABCD2345"


@dataclass(frozen=True, kw_only=True)
class Life:
    """Somebody's numbers: everything that a forger could know."""

    account: str
    person_id: int
    scope: ScopeRow
    group: ScopeRow
    turn_id: int
    group_turn_id: int
    waiting_turn_id: int
    rows: tuple[Message, ...]  # in private
    items: tuple[int, ...]
    facts: tuple[int, ...]
    summary_id: int

    def key(self, **parts: Any) -> ConversationKey:
        """The key of this account's private talk; `parts` replace."""
        return key(**({"user": self.account, "room": f"d-{self.account}"} | parts))

    def name(self, **parts: Any) -> Scope:
        return scope_of(self.key(**parts), mode="conversation")

    @property
    def identity(self) -> Identity:
        return Identity(kind="web", tenant="T1", account=self.account)

    @property
    def keys(self) -> list[tuple[int, int]]:
        """(scope, id) of the messages."""
        return [(row.scope_id, row.id) for row in self.rows]

    def owner(self, **fields: Any) -> Owner:
        defaults: dict[str, Any] = {
            "scope_id": self.scope.id, "person_id": self.person_id, "namespace": "shared", "chat_type": "private",
            "private_in_group": True, "agent": "helper",
        }  # fmt: skip
        return Owner(**(defaults | fields))

    def load(self, **fields: Any) -> Load:
        """A wish for everything, by words that only the other has in the index."""
        return Load(owner=self.owner(**fields), now_ms=NOW, observed=99, terms=(5, 6, 77), page=99)

    def ledger(self, **fields: Any) -> Ledger:
        defaults: dict[str, Any] = {"person_id": self.person_id}
        return ledger(self.turn_id, self.scope.id, **(defaults | fields))


@dataclass(kw_only=True)
class Neighbours:
    store: FullStore
    column: Column
    ann: Life
    me: Life  # Mallory, in whose name all is asked
    eve: Life
    request_id: int  # of Ann's wish to be erased
    link_id: int  # of what joined Ann's second account
    seen: set[tuple[str, str]] = field(default_factory=set)  # Ann's rows, as the last attack left them

    def leaks(self, result: object) -> list[str]:
        """Return what of Ann's stands in a result."""
        shown = repr(msgspec.to_builtins(result, builtin_types=(bytes,)))
        return [mark for mark in self.marks() if re.search(rf"(?<!\d){re.escape(mark)}(?!\d)", shown)]

    def marks(self) -> Sequence[str]:
        """By what any row of Ann's is known: her words, and the numbers of her person and of her conversations."""
        return (*WORDS, *(str(number) for number in (self.ann.person_id, self.ann.scope.id, self.ann.group.id)))

    def hers(self) -> set[tuple[str, str]]:
        """Return all of Ann's rows, of all tables, as the superuser sees them."""
        marks = re.compile("|".join(rf"(?<!\d){re.escape(mark)}(?!\d)" for mark in self.marks()))
        return {(table, row) for table, rows in stored(self.column).items() for row in rows if marks.search(row)}


_SCOPES = 'id, alias_of, last_id, last_ms, title, title_id, session_id, "user", channel, conversation, chat_type, agent'
"""Of scopes without their `generation`: a number that tells caches to look again, whether or not there is something new."""


def stored(column: Column) -> dict[str, list[str]]:
    """Return the rows of all tables but the queues' and the admins', as text."""
    if isinstance(column, SqliteColumn):
        with closing(sqlite3.connect(column.path, timeout=5)) as file:
            names = file.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
            return {name: [repr(row) for row in file.execute(_rows_of(name))] for (name,) in names.fetchall()}
    assert isinstance(column, PostgresColumn)
    with psycopg.connect(as_admin(column.url)) as server:
        names = server.execute(
            "SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
            " AND relnamespace = 'public'::regnamespace AND relname !~ '^(inbox|outbox|admin|usage|hot|vault|settings)'"
        )
        return {name: [repr(row) for row in server.execute(_rows_of(name).encode())] for (name,) in names.fetchall()}


def _rows_of(table: str) -> str:
    return f"SELECT {_SCOPES if table == 'scopes' else '*'} FROM {table}"


@asynccontextmanager
async def neighbours(column: Column) -> AsyncIterator[Neighbours]:
    """Open a store on the column's database, and let the three live."""
    async with column.open(ids=Ids(3)) as store:
        ann = await _life(store, ANN, 100, " ".join(WORDS[:3]), name="Hieronymus 司马相如")
        me = await _life(store, MALLORY, 200, "weather", name="M%")
        eve = await _life(store, EVE, 300, "football", name="Eve_")
        other = await store.person(Identity(kind="web", tenant="T1", account="ann-second"), now_ms=NOW)
        linked = await store.links.join(ann.person_id, other, now_ms=NOW)
        assert isinstance(linked, Linked)
        request = await store.persons.request(ann.person_id, "erasure", channel="web", now_ms=NOW)
        assert request is not None
        assert await store.links.offer(ann.person_id, digest_of(CODE), now_ms=NOW)
        yield Neighbours(
            store=store, column=column, ann=ann, me=me, eve=eve, request_id=request.id, link_id=linked.link_id
        )


async def _life(store: FullStore, account: str, first: int, words: str, *, name: str) -> Life:
    """Store everything that can be stored of an account's person: in private, in a group, learned and not yet learned."""
    person_id = await store.person(Identity(kind="web", tenant="T1", account=account), now_ms=NOW)
    private, shared = {"user": account, "room": f"d-{account}"}, {"room": f"g-{account}", "chat_type": "group"}
    scope, group = await opened(store, **private), await opened(store, **shared)
    rows: dict[int, tuple[Message, ...]] = {}
    for turn_id, where, parts in ((first, scope, private), (first + 1, group, shared | {"user": account})):
        rows[turn_id] = await answered(
            store, where.id, turn_id, words, person_id=person_id, key=key(**parts), speaker_name=name
        )
        await keep(store, rows[turn_id], person_id, words)
    head = rows[first][0]
    waiting = said(words, first + 2, key=key(**private), person_id=person_id, platform_message_id=f"m{first + 2}")
    await put(store, scope.id, waiting, turn_id=first + 2, session=rule(head.session_id))
    reply = replied(words, first + 2, key=key(**private), person_id=person_id)
    await put(
        store, scope.id, reply, turn_id=first + 2, session=rule(head.session_id),
        ledger=ledger(first + 2, scope.id, person_id=person_id, session_id=head.session_id),
    )  # fmt: skip
    await store.put_summary(
        summary(first + 50, scope.id, session_id=head.session_id, text=words, first_id=head.id, last_id=head.id)
    )
    await store.observe(
        group.id, key(**shared, user=account), event_id=first + 60, text=words, speaker_name=name, tokens=1, now_ms=NOW,
        keep=9, platform_message_id=f"o{first}", person_id=person_id,
    )  # fmt: skip
    await store.choose_agent(key(**private), f"choice-{first}", now_ms=NOW)
    missing = await store.vectors.missing(MODEL, limit=99, owner="w", now_ms=NOW, lease_ms=9)
    assert missing
    await store.vectors.leave(owner="w")
    await store.vectors.put(MODEL, [Embedded(of=one, vector=bytes(8)) for one in missing if one.person_id == person_id])
    items, facts = await store.derived.known(person_id, now_ms=NOW)
    assert items
    assert facts
    seen = Entry(items=tuple(row.id for row in items), facts=tuple(row.id for row in facts))
    await store.forgetting.put_listing(person_id, Listing(listed_ms=NOW, entries=(seen,)))
    return Life(
        account=account, person_id=person_id, scope=scope, group=group, turn_id=first, group_turn_id=first + 1,
        waiting_turn_id=first + 2, rows=rows[first], items=seen.items, facts=seen.facts, summary_id=first + 50,
    )  # fmt: skip
