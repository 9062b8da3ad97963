"""What memory makes of messages, on PostgreSQL: `memory.derived.Derived` beside `PostgresStore`, on its connections.

Nothing here is on the answer path: what changes several tables is a transaction of plain statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from memory.base import Fact, Ledger, Message, Owner, ProfileItem, Summary
from memory.coverage import Covering
from memory.derived import (
    LIMIT_TURNS,
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
from memory.stores import postgres_derived_sql as sql
from memory.stores.called_steps import noted
from memory.stores.postgres_pool import Database, Transaction
from memory.stores.postgres_rows import messages_in, put_value
from memory.stores.postgres_steps import run_asks
from memory.stores.rows import readable

_FACTS = msgspec.json.Decoder(tuple[Fact, ...])
_ITEMS = msgspec.json.Decoder(tuple[ProfileItem, ...])
_SUMMARIES = msgspec.json.Decoder(tuple[Summary, ...])
_COVERING = msgspec.json.Decoder(Covering)
_ENDED = msgspec.json.Decoder(tuple[Ended, ...])

_encode = msgspec.json.Encoder().encode


class PostgresDerived:
    """See `memory.derived.Derived`."""

    def __init__(self, database: Database, *, ids: Ids) -> None:
        self._database = database
        self._ids = ids

    async def claim(self, *, owner: str, now_ms: int, lease_ms: int, limit: int) -> tuple[Due, ...]:
        values = {"owner": owner, "now_ms": now_ms, "until_ms": now_ms + lease_ms, "limit": limit}
        found: list[Due] = []
        unreadable = [0]
        while unreadable and len(found) < limit:
            due, unreadable = readable(await self._database.fetch(sql.CLAIM, values | {"limit": limit - len(found)}))
            found += due
            if unreadable:
                await self._database.fetch(sql.SET_ASIDE, {"turn_ids": unreadable, "owner": owner})
        return tuple(found)

    async def release(self, scope_id: int, *, owner: str) -> None:
        await self._database.fetch(sql.RELEASE, {"scope_id": scope_id, "owner": owner})

    async def put_off(self, turn_id: int, *, due_ms: int) -> None:
        await self._database.fetch(sql.PUT_OFF, {"turn_id": turn_id, "due_ms": due_ms})

    async def next_due(self) -> int | None:
        ((due_ms,),) = await self._database.fetch(sql.NEXT_DUE)
        return None if due_ms is None else int(due_ms)

    async def backlog(self) -> Backlog:
        ((turns, oldest),) = await self._database.fetch(sql.BACKLOG)
        return Backlog(turns=turns, oldest=oldest)

    async def material(self, ledger: Ledger, *, namespace: str) -> Material:
        turn = {"scope_id": ledger.scope_id, "turn_id": ledger.turn_id}
        ((said, earlier, withheld),) = await self._database.fetch(sql.OF_TURN, turn)
        messages = _without(withheld, messages_in(said))
        before = next((row for row in _without(withheld, messages_in(earlier)) if row.role == "assistant"), None)
        of = {
            "scope_id": ledger.scope_id,
            "session_id": ledger.session_id,
            "person_id": ledger.person_id,
            "namespace": namespace,
            "now_ms": ledger.now_ms,
        }
        rows = [] if ledger.person_id is None else await self._database.fetch(sql.MATERIAL, of)
        if not rows:
            return Material(person_id=None, messages=messages, before=before, facts=(), items=())
        person_id, *live = rows[0]
        facts, items = _facts_and_items(live)
        messages = tuple(said_by(person_id, row, ledger) for row in messages)
        return Material(person_id=person_id, messages=messages, before=before, facts=facts, items=items)

    async def settle(self, learned: Learned) -> bool:
        ledger, person_id = learned.ledger, learned.person_id
        ids = [id_ for id_, _ in learned.versions]
        async with self._database.transaction() as transaction:
            if not await _unchanged(transaction, ledger.scope_id, learned.versions):
                return False
            speaker = next((one.person_id for one in learned.called), person_id)
            still = speaker is not None and await _is_still(transaction, speaker, ledger.person_id)
            if person_id is not None:
                if not still:
                    return False
                if learned.material is None:
                    await transaction.name(person_id)
                elif await _are_others(transaction, learned, learned.material, person_id):
                    return False
            done = {"ledger": _encode(ledger), "turn_id": ledger.turn_id, "scope_id": ledger.scope_id}
            if not await transaction.fetch(sql.DONE, done):
                return False
            if person_id is not None:
                await transaction.fetch(sql.FORGET_SOURCES, {"scope_id": ledger.scope_id, "ids": ids})
                await self._write(transaction, learned, person_id)
            for one in learned.called if still else ():
                await run_asks(transaction, noted(one))
            return True

    async def _write(self, transaction: Transaction, learned: Learned, person_id: int) -> None:
        ledger = learned.ledger
        for status, facts, items in (
            ("superseded", learned.superseded_facts, learned.superseded_items),
            ("retracted", learned.retracted_facts, learned.retracted_items),
        ):
            of = {"status": status, "person_id": person_id, "now_ms": ledger.now_ms}
            if facts:
                await transaction.fetch(sql.END_FACTS, of | {"ids": list(facts)})
            if items:
                await transaction.fetch(sql.END_ITEMS, of | {"ids": list(items)})
                dropped = {"scope_ids": [0] * len(items), "ids": list(items)}
                await transaction.fetch(sql.DROP_FRAGMENTS, dropped)
        session = {
            "scope_id": ledger.scope_id,
            "session_id": ledger.session_id,
            "person_id": person_id,
            "now_ms": ledger.now_ms,
            "until_ms": learned.facts_until_ms,
        }
        await transaction.fetch(sql.SLIDE, session)
        if learned.facts:
            rows = [msgspec.structs.replace(fact, id=self._ids.next()) for fact in learned.facts]
            await transaction.fetch(sql.ADD_FACTS, {"rows": put_value(rows)})
        new = [msgspec.structs.replace(item, id=self._ids.next()) for item in learned.items]
        if new:
            await transaction.fetch(sql.ADD_ITEMS, {"rows": put_value(new)})
        await self._index(transaction, learned, person_id, new)

    async def _index(
        self, transaction: Transaction, learned: Learned, person_id: int, items: Sequence[ProfileItem]
    ) -> None:
        ledger = learned.ledger
        said = {"namespace": learned.namespace, "chat_type": ledger.frame.chat_type, "session_id": ledger.session_id}
        entries = [entry(fragment, position=None, **said) for fragment in learned.fragments]
        for item, terms in zip(items, learned.item_terms, strict=True):
            fragment = Fragment(scope_id=0, id=item.id, terms=terms)
            kept = {"namespace": item.namespace, "chat_type": item.chat_type, "session_id": ""}
            entries.append(entry(fragment, position=-1, **kept))
        await add_fragments(transaction, person_id, entries)

    async def covered(self, scope_id: int, session_id: str) -> Covered:
        ((row, turns, tokens),) = await self._database.fetch(
            sql.COVERED, {"scope_id": scope_id, "session_id": session_id}
        )
        newest = None if row is None else _COVERING.decode(row)
        return Covered(
            summary=None if newest is None else newest.summary,
            sound=newest is None or newest.sound,
            turns=min(turns, LIMIT_TURNS),
            tokens=tokens,
        )

    async def drop_summary(self, scope_id: int, id_: int) -> None:
        await self._database.fetch(sql.DROP_SUMMARY, {"scope_id": scope_id, "id": id_})

    async def stretch(self, scope_id: int, session_id: str, *, after_id: int, limit: int) -> tuple[Message, ...]:
        values = {"scope_id": scope_id, "session_id": session_id, "after_id": after_id, "limit": limit}
        ((column,),) = await self._database.fetch(sql.STRETCH, values)
        rows = messages_in(column)
        if not rows:
            return ()
        among = {"scope_id": scope_id, "ids": [row.id for row in rows]}
        return _without([id_ for (id_,) in await self._database.fetch(sql.WITHHELD, among)], rows)

    async def put_summary(
        self, summary: Summary, *, replaces: int | None, versions: Sequence[tuple[int, int]], owner: str, now_ms: int
    ) -> bool:
        place = {"scope_id": summary.scope_id, "session_id": summary.session_id}
        holder = {"replaces": replaces, "owner": owner, "now_ms": now_ms}
        async with self._database.transaction() as transaction:
            if await transaction.fetch(sql.HOLDS, place | holder) != [(True,)]:
                return False
            if not await _unchanged(transaction, summary.scope_id, versions):
                return False
            await transaction.fetch(sql.ADD_SUMMARY, {"rows": put_value([summary])})
            return True

    async def fragments(self, owner: Owner, wanted: Sequence[tuple[int, int]]) -> tuple[Message, ...]:
        private = owner.chat_type == "private"
        values = {
            "scope_ids": [scope_id for scope_id, _ in wanted],
            "ids": [id_ for _, id_ in wanted],
            "person_id": owner.person_id,
            "namespace": owner.namespace,
            "scope_id": owner.scope_id,
            "agent": owner.agent,
            "private": private,
            "private_too": private or owner.private_in_group,
        }
        ((column,),) = await self._database.fetch(sql.FRAGMENTS, values)
        return messages_in(column)

    async def ended(self, owner: Owner, sessions: Sequence[tuple[int, str]]) -> tuple[Ended, ...]:
        values = {
            "person_id": owner.person_id,
            "namespace": owner.namespace,
            "scope_ids": [scope_id for scope_id, _ in sessions],
            "session_ids": [session_id for _, session_id in sessions],
        }
        ((column,),) = await self._database.fetch(sql.ENDED, values)
        return () if column is None else _ENDED.decode(column)

    async def items(self, owner: Owner, ids: Sequence[int]) -> tuple[ProfileItem, ...]:
        ((column,),) = await self._database.fetch(sql.ITEMS, _theirs(owner) | {"items": list(ids)})
        return () if column is None else _ITEMS.decode(column)

    async def shown(
        self, owner: Owner, *, facts: Sequence[int], items: Sequence[int], summaries: Sequence[int]
    ) -> Shown:
        wanted = {"facts": list(facts), "items": list(items), "summaries": list(summaries)}
        of = _theirs(owner) | {"scope_id": owner.scope_id}
        said, kept, made = (await self._database.fetch(sql.SHOWN, of | wanted))[0]
        return Shown(
            facts=() if said is None else _FACTS.decode(said),
            items=() if kept is None else _ITEMS.decode(kept),
            summaries=() if made is None else _SUMMARIES.decode(made),
        )

    async def known(self, person_id: int, *, now_ms: int) -> tuple[tuple[ProfileItem, ...], tuple[Fact, ...]]:
        rows = await self._database.fetch(sql.KNOWN, {"person_id": person_id, "now_ms": now_ms})
        facts, items = _facts_and_items(rows[0])
        return items, facts


def _theirs(owner: Owner) -> dict[str, object]:
    return {
        "person_id": owner.person_id,
        "namespace": owner.namespace,
        "private_too": owner.chat_type == "private" or owner.private_in_group,
    }


def _facts_and_items(row: Sequence[Any]) -> tuple[tuple[Fact, ...], tuple[ProfileItem, ...]]:
    facts, items = row
    return (
        () if facts is None else _FACTS.decode(facts),
        () if items is None else _ITEMS.decode(items),
    )


async def _unchanged(transaction: Transaction, scope_id: int, versions: Sequence[tuple[int, int]]) -> bool:
    """Lock these (id, version) of the scope; say whether all are as they were, and none is withheld."""
    ids = [id_ for id_, _ in versions]
    said = {"scope_id": scope_id, "ids": ids, "versions": [version for _, version in versions]}
    ((unchanged,),) = await transaction.fetch(sql.UNCHANGED, said)
    if unchanged < len(set(ids)):
        return False
    # A statement of its own, behind the lock: who withholds a message locks it first.
    return not await transaction.fetch(sql.WITHHELD, {"scope_id": scope_id, "ids": ids})


async def _is_still(transaction: Transaction, person_id: int, named: int | None) -> bool:
    """Keep whom the ledger names from being erased, joined or parted; say whether that is still this person."""
    for one in sorted({person_id, *([] if named is None else [named])}):
        await transaction.fetch(sql.LOCK_PERSON, {"person_id": one})
    rows = await transaction.fetch(sql.PERSON, {"person_id": named})
    return bool(rows) and rows[0][0] == person_id


async def _are_others(transaction: Transaction, learned: Learned, material: Material, person_id: int) -> bool:
    """Name the person, and say whether other rows of theirs are live than those of the material."""
    ledger = learned.ledger
    of = {"scope_id": ledger.scope_id, "session_id": ledger.session_id, "now_ms": ledger.now_ms}
    ((facts, items),) = await transaction.fetch(
        sql.LIVE_IDS, of | {"person_id": person_id, "namespace": learned.namespace}
    )
    return live_ids(material) != (facts, items)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A fragment as it is entered into the index; `position` None: behind the rest of its session."""

    scope_id: int
    id: int
    namespace: str
    chat_type: str
    session_id: str
    position: int | None
    length: int
    terms: tuple[int, ...]
    times: tuple[int, ...]


def entry(fragment: Fragment, *, namespace: str, chat_type: str, session_id: str, position: int | None) -> Entry:
    """Return the fragment's entry."""
    return Entry(
        scope_id=fragment.scope_id,
        id=fragment.id,
        namespace=namespace,
        chat_type=chat_type,
        session_id=session_id,
        position=position,
        length=sum(times for _, times in fragment.terms),
        terms=tuple(term for term, _ in fragment.terms),
        times=tuple(times for _, times in fragment.terms),
    )


async def add_fragments(transaction: Transaction, person_id: int, entries: Sequence[Entry]) -> None:
    """Enter the person's fragments into the index, but those that are there, and those without terms."""
    findable = [one for one in entries if one.terms]
    if findable:
        await transaction.fetch(sql.ADD_FRAGMENTS, {"person_id": person_id, "rows": put_value(findable)})


def _without(withheld: Sequence[int], rows: Sequence[Message]) -> tuple[Message, ...]:
    """Return messages without the words of those that are withheld."""
    return tuple(wordless(row) if row.id in withheld else row for row in rows)
