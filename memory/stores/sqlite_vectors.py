"""The vectors of fragments, on SQLite: `memory.embedding.Vectors` in the transactions of a `SqliteStore`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from memory.base import Hit, Owner
from memory.embedding import Embedded, Unembedded, VectorRow, VectorRows
from memory.stores.sqlite_derived import SAME_AGENT, Transactions, recalled_by

EVERYBODY = 0
"""The scope whose lease whoever embeds holds: there is no scope of that id."""

_LEASE = """INSERT INTO learners (scope_id, owner, until_ms) VALUES (:scope, :owner, :until)
  ON CONFLICT (scope_id) DO UPDATE SET owner = excluded.owner, until_ms = excluded.until_ms
  WHERE learners.until_ms <= :now OR learners.owner = excluded.owner RETURNING 1"""
_LEAVE = "DELETE FROM learners WHERE scope_id = ? AND owner = ?"

_WITH_TEXT = """SELECT f.scope_id, f.id, f.person_id, f.namespace, coalesce(m.text, p.text, ''),
    coalesce(m.version, p.id IS NOT NULL), coalesce(m.turn_id, 0), coalesce(m.channel, ''), coalesce(m.conversation, ''),
    coalesce(m.chat_type, 'private')
  FROM ({fragments}) AS f
  LEFT JOIN messages AS m ON f.scope_id <> 0 AND m.scope_id = f.scope_id AND m.id = f.id AND m.deleted_ms IS NULL
  LEFT JOIN profile_items AS p ON f.scope_id = 0 AND p.id = f.id AND p.status = 'active'"""
# Two ranges of the index: "another than" would read all of it.
_MISSING = _WITH_TEXT.format(
    fragments="""SELECT * FROM (SELECT * FROM fragments WHERE embedded < :model ORDER BY embedded, person_id, id LIMIT :limit)
  UNION ALL SELECT * FROM (SELECT * FROM fragments WHERE embedded > :model ORDER BY embedded, person_id, id LIMIT :limit)
  LIMIT :limit"""
)

_THERE = """SELECT f.chat_type FROM fragments AS f
  WHERE f.scope_id = :scope AND f.id = :id AND f.person_id = :person AND f.namespace = :namespace
    AND (:version = 0 OR f.scope_id = 0 OR EXISTS (SELECT 1 FROM messages AS m
      WHERE m.scope_id = f.scope_id AND m.id = f.id AND m.version = :version AND m.deleted_ms IS NULL))"""
_REMOVE = "DELETE FROM vectors WHERE scope_id = ? AND id = ? AND model = ?"
_INSERT = """INSERT INTO vectors (scope_id, id, person_id, namespace, chat_type, model, vector)
  VALUES (?, ?, ?, ?, ?, ?, ?)"""
_MARK = "UPDATE fragments SET embedded = ? WHERE scope_id = ? AND id = ?"
_CHANGED = "UPDATE corpora SET generation = generation + 1 WHERE person_id = ? AND namespace = ?"
_OTHERS = """SELECT EXISTS (SELECT 1 FROM vectors WHERE person_id = :person AND namespace = :namespace AND model < :model)
  OR EXISTS (SELECT 1 FROM vectors WHERE person_id = :person AND namespace = :namespace AND model > :model)"""
_REPLACED = """DELETE FROM vectors WHERE person_id = :person AND namespace = :namespace AND model <> :model
  AND NOT EXISTS (SELECT 1 FROM fragments
    WHERE person_id = :person AND namespace = :namespace AND embedded <> :model)"""

_OF_PERSON = "person_id = :person AND namespace = :namespace AND model = :model"
_COUNT = f"SELECT count(*) FROM vectors WHERE {_OF_PERSON} AND seq >= :first"
_READ = f"""SELECT seq, scope_id, id, chat_type = 'group', vector FROM vectors
  WHERE {_OF_PERSON} AND seq > :after ORDER BY seq DESC LIMIT :limit"""
_PLACED = f"""SELECT f.scope_id, f.id, f.session_id, f.position, f.length FROM fragments AS f
  WHERE f.scope_id = :scope AND f.id = :id AND f.person_id = :person AND f.namespace = :namespace
    AND (f.scope_id = 0 OR f.scope_id = :here OR (:private AND {SAME_AGENT})) AND (f.chat_type = 'group' OR :private_too)"""


class SqliteVectors:
    """See `memory.embedding.Vectors`."""

    def __init__(self, *, read: Transactions, write: Transactions) -> None:
        self._read = read
        self._write = write

    async def missing(
        self, model: str, *, limit: int, owner: str, now_ms: int, lease_ms: int
    ) -> tuple[Unembedded, ...] | None:
        lease = {"scope": EVERYBODY, "owner": owner, "now": now_ms, "until": now_ms + lease_ms}

        def work(db: sqlite3.Connection) -> tuple[Unembedded, ...] | None:
            if not db.execute(_LEASE, lease).fetchall():
                return None
            rows = db.execute(_MISSING, {"model": model, "limit": limit})
            return tuple(Unembedded(**dict(zip(Unembedded.__struct_fields__, row, strict=True))) for row in rows)

        return await self._write(work)

    async def leave(self, *, owner: str) -> None:
        await self._write(lambda db: db.execute(_LEAVE, (EVERYBODY, owner)))

    async def put(self, model: str, vectors: Sequence[Embedded]) -> int:
        return await self._write(lambda db: _put(db, model, vectors))

    async def read(
        self, person_id: int, namespace: str, model: str, *, after: int, first: int, limit: int
    ) -> VectorRows:
        of = {"person": person_id, "namespace": namespace, "model": model}
        asked = {"after": after, "limit": limit}

        def work(db: sqlite3.Connection) -> VectorRows:
            (count,) = db.execute(_COUNT, of | {"first": first}).fetchone()
            rows = db.execute(_READ, of | asked).fetchall()
            return VectorRows(count, [VectorRow(*row) for row in reversed(rows)])

        return await self._read(work)

    async def placed(self, owner: Owner, keys: Sequence[tuple[int, int]]) -> tuple[Hit, ...]:
        of = recalled_by(owner)

        def work(db: sqlite3.Connection) -> tuple[Hit, ...]:
            return tuple(
                Hit(scope_id=scope_id, id=id_, session_id=session_id, position=position, length=length, terms={})
                for key in keys
                for scope_id, id_, session_id, position, length in db.execute(
                    _PLACED, of | {"scope": key[0], "id": key[1]}
                )
            )

        return await self._read(work)


def _put(db: sqlite3.Connection, model: str, vectors: Sequence[Embedded]) -> int:
    stored = 0
    owners: set[tuple[int, str]] = set()
    for one in vectors:
        of = one.of
        asked = {"scope": of.scope_id, "id": of.id, "person": of.person_id, "namespace": of.namespace}
        there = db.execute(_THERE, asked | {"version": of.version}).fetchone()
        if there is None:
            continue
        stored += 1
        owners.add((of.person_id, of.namespace))
        db.execute(_REMOVE, (of.scope_id, of.id, model))
        if one.vector is not None:
            db.execute(_INSERT, (of.scope_id, of.id, of.person_id, of.namespace, *there, model, one.vector))
        db.execute(_MARK, (model, of.scope_id, of.id))
    for person_id, namespace in owners:
        db.execute(_CHANGED, (person_id, namespace))
        theirs = {"person": person_id, "namespace": namespace, "model": model}
        if db.execute(_OTHERS, theirs).fetchone()[0]:
            db.execute(_REPLACED, theirs)
    return stored
