"""What people forget in chat, in SQL that SQLite and PostgreSQL share (see `person_steps.py` for how steps are run)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from memory.base import Fact, Message, ProfileItem
from memory.derived import Fragment
from memory.forgetting import WAITING, Entry, Forgotten, Listing, Place, Worded, same_words
from memory.indexing import item_terms
from memory.key import encode_part
from memory.stores.person_steps import FAMILY, Ask, Dialect, Drop, Name, Put, Rows, Step, Values
from memory.stores.rows import storable

_item = msgspec.json.Decoder(ProfileItem, strict=False).decode
_fact = msgspec.json.Decoder(Fact, strict=False).decode
_entries = msgspec.json.Decoder(tuple[Entry, ...]).decode

# --- reading ---


def waiting(dialect: Dialect, person_id: int) -> Step[Rows]:
    """Return the rows of `Forgetting.waiting`."""
    sql = f"""SELECT {dialect.message} FROM messages AS m
      WHERE m.person_id IN {FAMILY} AND m.role = 'user' AND m.deleted_ms IS NULL
        AND (m.scope_id, m.turn_id) IN (SELECT scope_id, turn_id FROM ledgers WHERE due_ms IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM withheld AS w WHERE w.scope_id = m.scope_id AND w.id = m.id)
      ORDER BY m.id LIMIT :limit"""
    return (yield Ask(sql, {"person": person_id, "limit": WAITING}))


def places(scope_ids: Collection[int]) -> Step[dict[int, Place]]:
    """Do what `Forgetting.places` promises."""
    found: dict[int, Place] = {}
    for scope_id in sorted(set(scope_ids)):
        rows = yield Ask("SELECT channel, conversation, chat_type FROM scopes WHERE id = :scope", {"scope": scope_id})
        for channel, conversation, chat_type in rows:
            found[scope_id] = Place(channel=channel, conversation=conversation, chat_type=chat_type)
    return found


# --- forgetting ---


def forget(
    dialect: Dialect,
    person_id: int,
    *,
    items: Sequence[int],
    facts: Sequence[int],
    withhold: Sequence[Message],
    now_ms: int,
) -> Step[Forgotten]:
    """Do what `Forgetting.forget` promises."""
    yield Name([person_id])
    family = {row[0] for row in (yield Ask(f"SELECT id FROM persons WHERE id IN {FAMILY}", {"person": person_id}))}
    said = [row for row in withhold if row.person_id in family]
    yield from _locked(dialect, person_id, [(row.scope_id, row.id) for row in said])
    gone_items, gone_facts = yield from _live(dialect, person_id, items=items, facts=facts)
    here = {(row.scope_id, row.id) for row in said}
    for scope_id in sorted({row.scope_id for row in said}):
        more_items, more_facts = yield from _of_scope(dialect, person_id, scope_id)
        meant = [(row.slot, row.value or row.text) for row in gone_items] + [
            (row.slot, row.value) for row in gone_facts
        ]
        gone_items += [
            row
            for row in more_items
            if row not in gone_items
            and _from(row.scope_id, row.source_ids, here)
            and _meant(row.slot, row.value, meant)
        ]
        gone_facts += [
            row
            for row in more_facts
            if row not in gone_facts
            and _from(row.scope_id, row.source_ids, here)
            and _meant(row.slot, row.value, meant)
        ]
    past_items, past_facts = yield from _past(dialect, person_id, gone_items, gone_facts)
    withheld = yield from _gone(person_id, [*gone_items, *past_items], [*gone_facts, *past_facts], here, now_ms=now_ms)
    return Forgotten(items=tuple(gone_items), facts=tuple(gone_facts), withheld=withheld)


def forget_slots(
    dialect: Dialect, person_id: int, *, slots: Collection[str], withhold: Sequence[Message], now_ms: int
) -> Step[Forgotten]:
    """Do what `Forgetting.forget_slots` promises."""
    yield Name([person_id])
    family = {row[0] for row in (yield Ask(f"SELECT id FROM persons WHERE id IN {FAMILY}", {"person": person_id}))}
    here = {(row.scope_id, row.id) for row in withhold if row.person_id in family}
    yield from _locked(dialect, person_id, sorted(here))
    all_items, all_facts = yield from _of_scope(dialect, person_id, None)
    items, facts = [row for row in all_items if row.slot in slots], [row for row in all_facts if row.slot in slots]
    withheld = yield from _gone(person_id, items, facts, here, now_ms=now_ms)
    return Forgotten(
        items=tuple(row for row in items if row.status == "active"),
        facts=tuple(row for row in facts if row.status == "active" and row.expires_ms > now_ms),
        withheld=withheld,
    )


def _gone(
    person_id: int,
    items: Sequence[ProfileItem],
    facts: Sequence[Fact],
    here: Collection[tuple[int, int]],
    *,
    now_ms: int,
) -> Step[int]:
    """Take these rows' words, and withhold the messages they came from and those of `here`; return how many."""
    yield from _retracted(person_id, items, facts, now_ms=now_ms)
    messages = {*here} | {(row.scope_id, id_) for row in items if row.scope_id for id_ in row.source_ids}
    messages |= {(row.scope_id, id_) for row in facts for id_ in row.source_ids}
    yield from _lost_to_recall(messages)
    return (yield from _withheld(messages))


def _past(
    dialect: Dialect, person_id: int, items: Sequence[ProfileItem], facts: Sequence[Fact]
) -> Step[tuple[list[ProfileItem], list[Fact]]]:
    """Return the person's rows that once said the same: taking accounts apart would bring them back."""
    meant = [(row.slot, row.value or row.text) for row in items] + [(row.slot, row.value) for row in facts]
    if not meant:
        return [], []
    all_items, all_facts = yield from _of_scope(dialect, person_id, None)
    past_items = [row for row in all_items if row.status != "active" and _meant(row.slot, row.value or row.text, meant)]
    past_facts = [row for row in all_facts if row.status != "active" and _meant(row.slot, row.value, meant)]
    return past_items, past_facts


def _lost_to_recall(messages: Iterable[tuple[int, int]]) -> Step[None]:
    """Take the messages out of the index of recall, with what was replied to them, and drop the summaries that cover them."""
    for scope_id, id_ in sorted(messages):
        of: Values = {"scope": scope_id, "id": id_}
        sql = """SELECT id FROM messages WHERE scope_id = :scope AND role = 'assistant'
          AND turn_id = (SELECT turn_id FROM messages WHERE scope_id = :scope AND id = :id)"""
        replies = yield Ask(sql, of)
        yield Drop([(scope_id, id_), *((scope_id, reply) for (reply,) in replies)])
        yield Ask("DELETE FROM summaries WHERE scope_id = :scope AND first_id <= :id AND last_id >= :id", of)


def correct(
    dialect: Dialect,
    person_id: int,
    *,
    items: Sequence[Worded],
    facts: Sequence[Worded],
    withhold: Sequence[Message],
    now_ms: int,
) -> Step[Forgotten]:
    """Do what `Forgetting.correct` promises."""
    item_ids, fact_ids = [row.id for row in items], [row.id for row in facts]
    gone = yield from forget(dialect, person_id, items=item_ids, facts=fact_ids, withhold=withhold, now_ms=now_ms)
    old_items, live_facts = {row.id: row for row in gone.items}, {row.id for row in gone.facts}
    for words in items:
        if words.id in old_items and words.fresh_id is not None:
            yield from _item_anew(dialect, old_items[words.id], words, words.fresh_id, now_ms=now_ms)
    for words in facts:
        if words.id in live_facts and words.fresh_id is not None:
            sql = f"""INSERT INTO facts (id, scope_id, session_id, person_id, speaker_name, slot, value, source_ids, status,
                created_ms, expires_ms)
              SELECT :fresh, scope_id, session_id, person_id, speaker_name, slot, :value, {dialect.no_ids}, 'active', :now,
                expires_ms FROM facts WHERE id = :id AND person_id = :person"""
            of: Values = {"id": words.id, "person": person_id, "fresh": words.fresh_id, "now": now_ms}
            yield Ask(sql, of | {"value": storable(words.value)})
    return gone


def _item_anew(dialect: Dialect, old: ProfileItem, words: Worded, fresh_id: int, *, now_ms: int) -> Step[None]:
    value, text, person_id = storable(words.value), storable(words.text), old.person_id
    sql = f"""INSERT INTO profile_items (id, person_id, namespace, kind, slot, text, pinned, chat_type, source_ids, status,
        valid_from_ms, valid_to_ms, scope_id, value)
      SELECT :fresh, person_id, namespace, kind, slot, :text, pinned, chat_type, {dialect.no_ids}, 'active', :now, NULL, 0,
        :value FROM profile_items WHERE id = :id AND person_id = :person"""
    of: Values = {"id": old.id, "person": person_id, "fresh": fresh_id, "now": now_ms, "text": text, "value": value}
    if not (yield Ask(f"{sql} RETURNING 1", of)):
        return
    made = msgspec.structs.replace(old, id=fresh_id, value=value, text=text)
    fragment = Fragment(scope_id=0, id=fresh_id, terms=item_terms(made, person_id))
    yield Put(fragment, person_id, old.namespace, old.chat_type, "", -1)


def _from(scope_id: int, source_ids: Iterable[int], said: Collection[tuple[int, int]]) -> bool:
    return any((scope_id, id_) in said for id_ in source_ids)


def _meant(slot: str, value: str, meant: Iterable[tuple[str, str]]) -> bool:
    return any(slot == one and same_words(value, other) for one, other in meant)


def forget_turn(dialect: Dialect, scope_id: int, *, person_id: int, user: str, now_ms: int) -> Step[Forgotten | None]:
    """Do what `Forgetting.forget_turn` promises."""
    sql = """SELECT m.turn_id FROM messages AS m WHERE m.scope_id = :scope AND m."user" = :user AND m.role = 'user'
        AND m.person_id IS NOT NULL AND m.deleted_ms IS NULL
        AND m.session_id = (SELECT session_id FROM scopes WHERE id = :scope)
        AND m.id >= (SELECT session_first_id FROM scopes WHERE id = :scope) ORDER BY m.id DESC LIMIT 1"""
    of: Values = {"scope": scope_id, "user": encode_part(user, name="user")}
    rows = yield Ask(sql, of)
    if not rows:
        return None
    of = {"scope": scope_id, "turn": rows[0][0]}
    sql = f"SELECT id FROM messages WHERE scope_id = :scope AND turn_id = :turn ORDER BY id{dialect.lock}"
    said = {(scope_id, row[0]) for row in (yield Ask(sql, of))}
    yield from _locked(dialect, person_id, [])
    yield Name([person_id])
    items, facts = yield from _of_scope(dialect, person_id, scope_id)
    gone_items = [row for row in items if _from(row.scope_id, row.source_ids, said)]
    gone_facts = [row for row in facts if _from(row.scope_id, row.source_ids, said)]
    yield from _retracted(person_id, gone_items, gone_facts, now_ms=now_ms)
    yield from _lost_to_recall(said)
    withheld = yield from _withheld(said)
    return Forgotten(
        items=tuple(row for row in gone_items if row.status == "active"),
        facts=tuple(row for row in gone_facts if row.status == "active"),
        withheld=withheld,
    )


def forget_all(dialect: Dialect, person_id: int, *, now_ms: int) -> Step[Forgotten]:
    """Do what `Forgetting.forget_all` promises, but for the index of recall."""
    yield Name([person_id])
    said = yield from _waiting_ids(person_id)
    yield from _locked(dialect, person_id, said)
    items, facts = yield from _of_scope(dialect, person_id, None)
    yield from _retracted(person_id, items, facts, now_ms=now_ms)
    withheld = yield from _withheld(said)
    yield Ask("DELETE FROM listings WHERE person_id = :person", {"person": person_id})
    return Forgotten(
        items=tuple(row for row in items if row.status == "active"),
        facts=tuple(row for row in facts if row.status == "active" and row.expires_ms > now_ms),
        withheld=withheld,
    )


def _waiting_ids(person_id: int) -> Step[list[tuple[int, int]]]:
    sql = f"""SELECT m.scope_id, m.id FROM messages AS m WHERE m.person_id IN {FAMILY} AND m.role = 'user'
      AND m.deleted_ms IS NULL
      AND (m.scope_id, m.turn_id) IN (SELECT scope_id, turn_id FROM ledgers WHERE due_ms IS NOT NULL) ORDER BY m.id"""
    rows = yield Ask(sql, {"person": person_id})
    return [(scope_id, id_) for scope_id, id_ in rows]


def _locked(dialect: Dialect, person_id: int, messages: Iterable[tuple[int, int]]) -> Step[None]:
    """Wait for who is just writing what was learned of the messages, or of the person, so that it is found; in the order in
    which they take the same."""
    for scope_id, id_ in messages:
        sql = f"SELECT id FROM messages WHERE scope_id = :scope AND id = :id{dialect.lock}"
        yield Ask(sql, {"scope": scope_id, "id": id_})
    yield Ask(f"SELECT id FROM persons WHERE id = :person{dialect.lock}", {"person": person_id})


def _live(
    dialect: Dialect, person_id: int, *, items: Sequence[int], facts: Sequence[int]
) -> Step[tuple[list[ProfileItem], list[Fact]]]:
    """Return those of these rows that are live and the person's."""
    found_items: list[ProfileItem] = []
    found_facts: list[Fact] = []
    for id_ in dict.fromkeys(items):
        sql = f"SELECT {dialect.item} FROM profile_items AS p WHERE id = :id AND person_id = :person AND status = 'active'"
        found_items += [_item(row) for (row,) in (yield Ask(sql, {"id": id_, "person": person_id}))]
    for id_ in dict.fromkeys(facts):
        sql = f"SELECT {dialect.fact} FROM facts AS f WHERE id = :id AND person_id = :person AND status = 'active'"
        found_facts += [_fact(row) for (row,) in (yield Ask(sql, {"id": id_, "person": person_id}))]
    return found_items, found_facts


def _of_scope(dialect: Dialect, person_id: int, scope_id: int | None) -> Step[tuple[list[ProfileItem], list[Fact]]]:
    """Return the person's rows of one scope (None: of all) that still have words, past ones too."""
    where = "person_id = :person AND status <> 'retracted'" + ("" if scope_id is None else " AND scope_id = :scope")
    of: Values = {"person": person_id}
    if scope_id is not None:
        of["scope"] = scope_id
    items = yield Ask(f"SELECT {dialect.item} FROM profile_items AS p WHERE {where} ORDER BY id", of)
    facts = yield Ask(f"SELECT {dialect.fact} FROM facts AS f WHERE {where} ORDER BY id", of)
    return [_item(row) for (row,) in items], [_fact(row) for (row,) in facts]


def _retracted(person_id: int, items: Sequence[ProfileItem], facts: Sequence[Fact], *, now_ms: int) -> Step[None]:
    for item in items:
        sql = """UPDATE profile_items SET status = 'retracted', valid_to_ms = coalesce(valid_to_ms, :now), text = '', value = ''
          WHERE id = :id AND person_id = :person"""
        yield Ask(sql, {"id": item.id, "person": person_id, "now": now_ms})
    for fact in facts:
        sql = "UPDATE facts SET status = 'retracted', value = '' WHERE id = :id AND person_id = :person"
        yield Ask(sql, {"id": fact.id, "person": person_id})
    if items:
        yield Drop([(0, item.id) for item in items])


def _withheld(messages: Iterable[tuple[int, int]]) -> Step[int]:
    count = 0
    for scope_id, id_ in sorted(messages):
        sql = "INSERT INTO withheld (scope_id, id) VALUES (:scope, :id) ON CONFLICT DO NOTHING RETURNING 1"
        count += len((yield Ask(sql, {"scope": scope_id, "id": id_})))
    return count


# --- what was shown ---


def put_listing(person_id: int, listing: Listing) -> Step[None]:
    """Do what `Forgetting.put_listing` promises."""
    sql = """INSERT INTO listings (person_id, listed_ms, entries, all_asked_ms) VALUES (:person, :listed, :entries, :asked)
      ON CONFLICT (person_id) DO UPDATE SET listed_ms = excluded.listed_ms, entries = excluded.entries,
        all_asked_ms = excluded.all_asked_ms"""
    entries = msgspec.json.encode(listing.entries).decode()
    of: Values = {"person": person_id, "listed": listing.listed_ms, "entries": entries, "asked": listing.all_asked_ms}
    yield Ask(sql, of)


def listing(person_id: int) -> Step[Listing | None]:
    """Do what `Forgetting.listing` promises."""
    sql = "SELECT listed_ms, entries, all_asked_ms FROM listings WHERE person_id = :person"
    rows = yield Ask(sql, {"person": person_id})
    if not rows:
        return None
    listed_ms, entries, asked_ms = rows[0]
    return Listing(listed_ms=listed_ms, entries=_entries(entries), all_asked_ms=asked_ms)
