"""Joining persons and taking them apart, in SQL that SQLite and PostgreSQL share (how steps are run: `person_steps.py`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from memory.base import Identity, Message, ProfileItem
from memory.derived import Fragment
from memory.forgetting import same_words
from memory.indexing import item_terms, message_terms_of
from memory.links import CODE_MS, MADE_MOST, TRIES, TRIES_MS, UNDO_MS, Linked, LinkRow, Parted, Refusal
from memory.slots import slot_of
from memory.stores.person_steps import FAMILY, Ask, Dialect, Drop, Name, Put, Step, Values
from memory.stores.rows import identity_columns, identity_of

_item = msgspec.json.Decoder(ProfileItem, strict=False).decode
_message = msgspec.json.Decoder(Message, strict=False).decode

# --- codes ---


def offer(person_id: int, digest: str, *, now_ms: int) -> Step[bool]:
    """Do what `Links.offer` promises."""
    if not (yield from _may(person_id, "asked", now_ms=now_ms)):
        return False
    yield from _tried(person_id, "asked", now_ms=now_ms)
    yield Ask(
        "DELETE FROM link_codes WHERE expires_ms <= :now OR person_id = :person", {"now": now_ms, "person": person_id}
    )
    sql = "INSERT INTO link_codes (person_id, digest, expires_ms) VALUES (:person, :digest, :until)"
    yield Ask(sql, {"person": person_id, "digest": digest, "until": now_ms + CODE_MS})
    return True


def revoke(digest: str) -> Step[None]:
    """Do what `Links.revoke` promises."""
    yield Ask("DELETE FROM link_codes WHERE digest = :digest", {"digest": digest})


def _may(person_id: int, kind: str, *, now_ms: int) -> Step[bool]:
    sql = "SELECT count(*) FROM link_tries WHERE person_id = :person AND kind = :kind AND at_ms > :since"
    rows = yield Ask(sql, {"person": person_id, "kind": kind, "since": now_ms - TRIES_MS})
    return bool(rows[0][0] < TRIES)


def _tried(person_id: int, kind: str, *, now_ms: int) -> Step[None]:
    yield Ask("DELETE FROM link_tries WHERE at_ms <= :since", {"since": now_ms - TRIES_MS})
    sql = "INSERT INTO link_tries (person_id, kind, at_ms) VALUES (:person, :kind, :now)"
    yield Ask(sql, {"person": person_id, "kind": kind, "now": now_ms})


# --- joining ---


def link(dialect: Dialect, person_id: int, digest: str, *, now_ms: int) -> Step[Linked | Refusal]:
    """Do what `Links.link` promises."""
    yield from _locked(dialect, [person_id])  # one person's tries are counted one by one
    if not (yield from _may(person_id, "tried", now_ms=now_ms)):
        return "limited"
    sql = "DELETE FROM link_codes WHERE digest = :digest RETURNING person_id, expires_ms"
    rows = yield Ask(sql, {"digest": digest})
    other = (yield from _root(rows[0][0])) if rows and rows[0][1] > now_ms else None
    mine = yield from _root(person_id)
    if other is None or mine is None:
        yield from _tried(person_id, "tried", now_ms=now_ms)
        return "wrong"
    return (yield from _one(dialect, mine, other, now_ms=now_ms))


def join(dialect: Dialect, person_id: int, other_id: int, *, now_ms: int) -> Step[Linked | Refusal]:
    """Do what `Links.join` promises."""
    mine, other = (yield from _root(person_id)), (yield from _root(other_id))
    if mine is None or other is None:
        return "wrong"
    return (yield from _one(dialect, mine, other, now_ms=now_ms))


def _one(dialect: Dialect, mine: int, other: int, *, now_ms: int) -> Step[Linked | Refusal]:
    if other == mine:
        return "same"
    yield from _locked(dialect, [mine, other])
    if (yield from _root(mine)) != mine or (yield from _root(other)) != other:
        return "wrong"  # one of them was joined with somebody at the same moment
    if (yield Ask(f"SELECT 1 FROM persons WHERE id IN ({mine}, {other}) AND erasing IS NOT NULL", {})):
        return "wrong"  # what is to be erased is found by what belongs to them now
    ids = f"{min(mine, other)}, {max(mine, other)}"
    rows = yield Ask(f"SELECT id FROM persons WHERE id IN ({ids}) ORDER BY created_ms, id", {})
    survivor, absorbed = rows[0][0], rows[1][0]
    link_id = yield from _noted(survivor, absorbed, now_ms=now_ms)
    yield from _joined(dialect, link_id, survivor, absorbed, now_ms=now_ms)
    return Linked(link_id=link_id, survivor_id=survivor, absorbed_id=absorbed)


def _root(person_id: int) -> Step[int | None]:
    """Return who the person is now; None: nobody, or erased."""
    at: int | None = person_id
    while at is not None:
        rows = yield Ask("SELECT linked_to, erased_ms FROM persons WHERE id = :person", {"person": at})
        if not rows or rows[0][1] is not None:
            return None
        if rows[0][0] is None:
            return at
        at = rows[0][0]
    return None


def _locked(dialect: Dialect, persons: Iterable[int]) -> Step[None]:
    """Wait for who is just writing what was learned of them, and for other links of theirs."""
    for person_id in sorted(set(persons)):
        yield Ask(f"SELECT id FROM persons WHERE id = :person{dialect.lock}", {"person": person_id})


def _noted(survivor: int, absorbed: int, *, now_ms: int) -> Step[int]:
    # What can't be undone any more needs no note of what went over.
    old = "SELECT id FROM links WHERE linked_ms < :since"
    yield Ask(f"DELETE FROM link_moves WHERE link_id IN ({old})", {"since": now_ms - UNDO_MS})
    sql = """INSERT INTO links (survivor_id, absorbed_id, linked_ms, moving) VALUES (:survivor, :absorbed, :now, 1)
      RETURNING id"""
    rows = yield Ask(sql, {"survivor": survivor, "absorbed": absorbed, "now": now_ms})
    return int(rows[0][0])


def _joined(dialect: Dialect, link_id: int, survivor: int, absorbed: int, *, now_ms: int) -> Step[None]:
    yield Name([survivor, absorbed])
    both: Values = {"survivor": survivor, "absorbed": absorbed}
    yield Ask("UPDATE persons SET linked_to = :survivor WHERE id = :absorbed", both)
    sql = "UPDATE identities SET person_id = :survivor WHERE person_id = :absorbed RETURNING kind, tenant, account"
    for kind, tenant, account in (yield Ask(sql, both)):
        sql = "INSERT INTO link_accounts (link_id, kind, tenant, account) VALUES (:link, :kind, :tenant, :account)"
        yield Ask(sql, {"link": link_id, "kind": kind, "tenant": tenant, "account": account})
    for id_ in (yield from _superseded(dialect, survivor, absorbed)):
        yield from _moved(link_id, "ended", id_)
        sql = "UPDATE profile_items SET status = 'superseded', valid_to_ms = :now WHERE id = :id"
        yield Ask(sql, {"id": id_, "now": now_ms})
    sql = "UPDATE facts SET person_id = :survivor WHERE person_id = :absorbed RETURNING id"
    for (id_,) in (yield Ask(sql, both)):
        yield from _moved(link_id, "fact", id_)
    sql = "UPDATE profile_items SET person_id = :survivor WHERE person_id = :absorbed RETURNING id"
    moved = [row[0] for row in (yield Ask(sql, both))]
    for id_ in moved:
        yield from _moved(link_id, "item", id_)
    yield from _indexed(dialect, survivor)
    yield from _renamed()


def _superseded(dialect: Dialect, one: int, other: int) -> Step[list[int]]:
    """Return the items that give way: of a slot with a single value the older, of two that say the same the older, too."""
    groups: dict[tuple[str, str], list[ProfileItem]] = defaultdict(list)
    for person_id in (one, other):
        for item in (yield from _items(dialect, person_id)):
            groups[item.namespace, item.slot].append(item)
    ended: list[int] = []
    for (_, name), rows in groups.items():
        slot = slot_of(name) if name else None
        kept: list[ProfileItem] = []
        for item in sorted(rows, key=lambda row: (row.valid_from_ms, row.id), reverse=True):
            says = item.value or item.text
            again = any(row.person_id != item.person_id and same_words(row.value or row.text, says) for row in kept)
            outdone = slot is not None and slot.single and any(row.person_id != item.person_id for row in kept)
            if again or outdone:
                ended.append(item.id)
            else:
                kept.append(item)
    return ended


def _items(dialect: Dialect, person_id: int) -> Step[list[ProfileItem]]:
    sql = f"SELECT {dialect.item} FROM profile_items AS p WHERE person_id = :person AND status = 'active' ORDER BY id"
    return [_item(row) for (row,) in (yield Ask(sql, {"person": person_id}))]


def _moved(link_id: int, kind: str, id_: int) -> Step[None]:
    sql = "INSERT INTO link_moves (link_id, kind, id) VALUES (:link, :kind, :id)"
    yield Ask(sql, {"link": link_id, "kind": kind, "id": id_})


def _indexed(dialect: Dialect, *persons: int) -> Step[None]:
    """Index the persons' items as they are now: few, and at once; their messages are many (`moved`)."""
    for person_id in persons:
        rows = yield Ask("SELECT id FROM profile_items WHERE person_id = :person", {"person": person_id})
        if rows:
            yield Drop([(0, row[0]) for row in rows])
        for item in (yield from _items(dialect, person_id)):
            fragment = Fragment(scope_id=0, id=item.id, terms=item_terms(item, person_id))
            yield Put(fragment, person_id, item.namespace, item.chat_type, "", -1)


def _renamed() -> Step[None]:
    """Names are counted as changed: whoever remembers persons asks again."""
    yield Ask("UPDATE meta SET value = value + 1 WHERE name = 'names'", {})


# --- taking apart ---


def unlink(
    dialect: Dialect, identity: Identity, *, fresh_id: int, now_ms: int, again_ms: int | None
) -> Step[Parted | None]:
    """Do what `Links.unlink` promises."""
    kind, tenant, account = identity_columns(identity)
    of: Values = {"kind": kind, "tenant": tenant, "account": account}
    named = "kind = :kind AND tenant = :tenant AND account = :account"
    rows = yield Ask(f"SELECT person_id FROM identities WHERE {named}", of)
    if not rows:
        return None
    holder = rows[0][0]
    yield from _locked(dialect, [holder])
    if again_ms is not None:
        if holder == fresh_id:
            return Parted(persons=(fresh_id,), as_it_was=False)
        theirs = (
            f"SELECT link_id FROM link_accounts WHERE {named} UNION SELECT id FROM links WHERE survivor_id = :person"
        )
        sql = f"SELECT absorbed_id FROM links WHERE id IN ({theirs}) AND undone_ms >= :since ORDER BY id"
        if done := (yield Ask(sql, of | {"person": holder, "since": again_ms})):
            return Parted(persons=tuple(row[0] for row in done), as_it_was=True)
    sql = f"""SELECT l.id, l.linked_ms, l.absorbed_id FROM link_accounts AS a JOIN links AS l ON l.id = a.link_id
      WHERE {named} AND l.undone_ms IS NULL ORDER BY l.id"""
    links: list[tuple[int, int]] = []
    for link_id, linked_ms, absorbed in (yield Ask(sql, of)):
        # It may have gone along with somebody, and have been taken out since: what is left of that link is others'.
        if not links and (yield from _root(absorbed)) == holder:
            links.append((link_id, linked_ms))
    if not links:  # the one that others were joined to
        sql = "SELECT id, linked_ms FROM links WHERE survivor_id = :person AND undone_ms IS NULL ORDER BY id"
        links = [(link_id, linked_ms) for link_id, linked_ms in (yield Ask(sql, {"person": holder}))]
    if not links:
        return None
    young = [link_id for link_id, linked_ms in links if now_ms - linked_ms <= UNDO_MS]
    if young:
        gone: list[int] = []
        for link_id in young:
            gone += yield from _undone(dialect, link_id, now_ms=now_ms)
        yield from _renamed()
        return Parted(persons=tuple(gone), as_it_was=True)
    yield Ask("INSERT INTO persons (id, created_ms) VALUES (:person, :now)", {"person": fresh_id, "now": now_ms})
    yield Ask(f"UPDATE identities SET person_id = :person WHERE {named}", of | {"person": fresh_id})
    yield Ask(f"DELETE FROM link_accounts WHERE {named}", of)
    yield from _renamed()
    return Parted(persons=(fresh_id,), as_it_was=False)


def made(person_id: int) -> Step[tuple[LinkRow, ...]]:
    """Do what `Links.made` promises."""
    sql = f"""SELECT id, survivor_id, absorbed_id, linked_ms FROM links
      WHERE undone_ms IS NULL AND survivor_id IN {FAMILY} ORDER BY id DESC LIMIT {MADE_MOST}"""
    found: list[LinkRow] = []
    for id_, survivor, absorbed, linked_ms in (yield Ask(sql, {"person": person_id})):
        sql = "SELECT kind, tenant, account FROM link_accounts WHERE link_id = :link ORDER BY kind, tenant, account"
        rows = yield Ask(sql, {"link": id_})
        found.append(
            LinkRow(
                id=id_,
                survivor_id=survivor,
                absorbed_id=absorbed,
                linked_ms=linked_ms,
                until_ms=linked_ms + UNDO_MS,
                accounts=tuple(identity_of(*row) for row in rows),
            )
        )
    return tuple(found)


def undo(dialect: Dialect, link_id: int, *, now_ms: int) -> Step[Parted | None]:
    """Do what `Links.undo` promises."""
    sql = "SELECT survivor_id FROM links WHERE id = :link AND undone_ms IS NULL AND linked_ms >= :since"
    of: Values = {"link": link_id, "since": now_ms - UNDO_MS}
    rows = yield Ask(sql, of)
    holder = (yield from _root(rows[0][0])) if rows else None
    if holder is None:
        return None
    yield from _locked(dialect, [holder])
    if not (yield Ask(sql, of)):
        return None
    gone = yield from _undone(dialect, link_id, now_ms=now_ms)
    yield from _renamed()
    return Parted(persons=tuple(gone), as_it_was=True) if gone else None


def _undone(dialect: Dialect, link_id: int, *, now_ms: int) -> Step[list[int]]:
    rows = yield Ask("SELECT absorbed_id FROM links WHERE id = :link", {"link": link_id})
    absorbed = rows[0][0]
    holder = yield from _root(absorbed)
    if holder is None or holder == absorbed:
        return []
    yield Name([holder, absorbed])
    of: Values = {"link": link_id, "holder": holder, "absorbed": absorbed}
    yield Ask("UPDATE persons SET linked_to = NULL WHERE id = :absorbed", {"absorbed": absorbed})
    yield Ask("UPDATE links SET undone_ms = :now, moving = 2 WHERE id = :link", {"now": now_ms, "link": link_id})
    accounts = "SELECT kind, tenant, account FROM link_accounts WHERE link_id = :link"
    sql = f"""UPDATE identities SET person_id = :absorbed
      WHERE person_id = :holder AND (kind, tenant, account) IN ({accounts})"""
    yield Ask(sql, of)
    ids = "SELECT id FROM link_moves WHERE link_id = :link AND kind = '{}'"
    for table, kind in (("facts", "fact"), ("profile_items", "item")):
        sql = f"UPDATE {table} SET person_id = :absorbed WHERE person_id = :holder AND id IN ({ids.format(kind)})"
        yield Ask(sql, of)
    sql = f"""SELECT {dialect.item} FROM profile_items AS p
      WHERE person_id IN (:holder, :absorbed) AND status = 'superseded' AND id IN ({ids.format("ended")}) ORDER BY id"""
    gave_way = [_item(row) for (row,) in (yield Ask(sql, of))]
    now_live = [*(yield from _items(dialect, holder)), *(yield from _items(dialect, absorbed))]
    for item in gave_way:
        if not any(_outdoes(row, item) for row in now_live):
            sql = "UPDATE profile_items SET status = 'active', valid_to_ms = NULL WHERE id = :id"
            yield Ask(sql, {"id": item.id})
    yield Ask("DELETE FROM link_moves WHERE link_id = :link", {"link": link_id})
    yield from _indexed(dialect, holder, absorbed)
    yield from _hidden(holder, absorbed)
    return [absorbed]


def _outdoes(row: ProfileItem, former: ProfileItem) -> bool:
    """Say whether a person's item stands where a former one of theirs can't come back: in a slot that holds one value."""
    slot = slot_of(row.slot) if row.slot else None
    same_place = (row.person_id, row.namespace, row.slot) == (former.person_id, former.namespace, former.slot)
    return same_place and slot is not None and slot.single


def _hidden(holder: int, absorbed: int) -> Step[None]:
    """Let the holder find nothing more of what the absorbed person said, at once: until it is moved (`moved`) nobody does."""
    theirs = (
        f"person_id = :holder AND (scope_id, id) IN (SELECT scope_id, id FROM messages WHERE person_id IN {FAMILY})"
    )
    of: Values = {"holder": holder, "person": absorbed}
    sql = f"SELECT namespace, count(*), sum(length) FROM fragments WHERE {theirs} GROUP BY namespace"
    for namespace, count, length in (yield Ask(sql, of)):
        for person_id, sign in ((holder, -1), (absorbed, 1)):
            sql = """INSERT INTO corpora AS c (person_id, namespace, fragments, length, generation)
              VALUES (:person, :namespace, :count, :length, 1) ON CONFLICT (person_id, namespace) DO UPDATE
              SET fragments = c.fragments + excluded.fragments, length = c.length + excluded.length,
                generation = c.generation + 1"""
            yield Ask(
                sql, {"person": person_id, "namespace": namespace, "count": sign * count, "length": sign * length}
            )
    yield Ask(f"UPDATE fragments SET person_id = :person WHERE {theirs}", of)


# --- what recall finds ---


def moving() -> Step[tuple[int, int] | None]:
    """Return the oldest link after which something may be left to move, and since what: 1 the link, 2 its end."""
    rows = yield Ask("SELECT id, moving FROM links WHERE moving > 0 ORDER BY id LIMIT 1", {})
    return (rows[0][0], rows[0][1]) if rows else None


def moved(
    dialect: Dialect, link: tuple[int, int], *, after: tuple[int, int], limit: int
) -> Step[tuple[int, int] | None]:
    """Index some messages behind `after` (scope_id, id) for whom they belong to now; return the last one. None: all are."""
    since: Values = {"link": link[0], "since": link[1]}
    rows = yield Ask("SELECT absorbed_id, survivor_id FROM links WHERE id = :link AND moving = :since", since)
    if not rows:
        return None  # it was undone meanwhile: that begins anew
    absorbed, survivor = rows[0]
    owner = yield from _root(absorbed)
    family = [row[0] for row in (yield Ask(f"SELECT id FROM persons WHERE id IN {FAMILY}", {"person": absorbed}))]
    former = yield from _root(survivor)
    yield Name(sorted({*family, survivor, *(one for one in (owner, former) if one is not None)}))
    found: Sequence[tuple[int, int, str, str, str, int]] = []
    if owner is not None:
        sql = f"""SELECT f.scope_id, f.id, f.namespace, f.chat_type, f.session_id, f.position
          FROM fragments AS f JOIN messages AS m ON m.scope_id = f.scope_id AND m.id = f.id
          WHERE m.person_id IN {FAMILY} AND (f.scope_id, f.id) > (:scope, :id)
          ORDER BY f.scope_id, f.id LIMIT :limit"""
        of: Values = {"person": absorbed, "scope": after[0], "id": after[1], "limit": limit}
        found = yield Ask(sql, of)
    if not found or owner is None:
        yield Ask("UPDATE links SET moving = 0 WHERE id = :link AND moving = :since", since)
        return None
    for scope_id, id_, namespace, chat_type, session_id, position in found:
        sql = f"SELECT {dialect.message} FROM messages AS m WHERE scope_id = :scope AND id = :id{dialect.lock}"
        said = [_message(row) for (row,) in (yield Ask(sql, {"scope": scope_id, "id": id_}))]
        yield Drop([(scope_id, id_)])
        if said and said[0].deleted_ms is None:
            fragment = Fragment(scope_id=scope_id, id=id_, terms=message_terms_of(said[0], owner))
            yield Put(fragment, owner, namespace, chat_type, session_id, position)
    return found[-1][0], found[-1][1]


# --- what an erasure takes along ---


def forgotten(person_id: int) -> Step[int]:
    """Forget the person's codes, and with whom they were joined."""
    of: Values = {"person": person_id}
    yield Ask("DELETE FROM link_codes WHERE person_id = :person", of)
    yield Ask("DELETE FROM link_tries WHERE person_id = :person", of)
    sql = "DELETE FROM links WHERE survivor_id = :person OR absorbed_id = :person RETURNING 1"
    ids = "SELECT id FROM links WHERE survivor_id = :person OR absorbed_id = :person"
    yield Ask(f"DELETE FROM link_moves WHERE link_id IN ({ids})", of)
    # Their accounts may stand in a link of others, too: of whom they were once joined to, and who was joined on.
    theirs = "SELECT kind, tenant, account FROM identities WHERE person_id = :person"
    yield Ask(f"DELETE FROM link_accounts WHERE link_id IN ({ids}) OR (kind, tenant, account) IN ({theirs})", of)
    return len((yield Ask(sql, of)))
