"""The vectors of fragments, on PostgreSQL: `memory.embedding.Vectors` on the connections of a `PostgresStore`.

They are bytes, and are searched in the gateway: exact, and from memory while a person talks. An extension would have to be
there on every server, and is no faster where the whole of a person's vectors is compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from memory.base import Hit, Owner
from memory.embedding import Embedded, Unembedded, VectorRow, VectorRows
from memory.stores.postgres_owner import counting, owned
from memory.stores.postgres_pool import Database, Transaction
from memory.stores.postgres_statement import statement
from memory.stores.postgres_turn import same_agent

EVERYBODY = 0
"""The scope whose lease whoever embeds holds: there is no scope of that id."""

_LEASE = statement("""INSERT INTO learners AS h (scope_id, owner, until_ms) VALUES (%(scope_id)s, %(owner)s, %(until_ms)s)
  ON CONFLICT (scope_id) DO UPDATE SET owner = excluded.owner, until_ms = excluded.until_ms
  WHERE h.until_ms <= %(now_ms)s OR h.owner = excluded.owner RETURNING scope_id""")
_LEAVE = statement("DELETE FROM learners WHERE scope_id = %(scope_id)s AND owner = %(owner)s")

# Everybody's, but ids alone. Two ranges of the index: "another than" would read all of it.
_MISSING = statement(
    counting("""(SELECT array_agg(array[f.scope_id, f.id, f.person_id]) FROM (
    (SELECT * FROM fragments WHERE embedded < %(model)s ORDER BY embedded, person_id, id LIMIT %(limit)s)
    UNION ALL (SELECT * FROM fragments WHERE embedded > %(model)s ORDER BY embedded, person_id, id LIMIT %(limit)s)
    LIMIT %(limit)s) f)""")
)
_TEXTS = statement("""SELECT f.scope_id, f.id, f.person_id, f.namespace, coalesce(m.text, p.text, ''),
    coalesce(m.version, (p.id IS NOT NULL)::integer), coalesce(m.turn_id, 0), coalesce(m.channel, ''),
    coalesce(m.conversation, ''), coalesce(m.chat_type, 'private')
  FROM unnest(%(scope_ids)s::bigint[], %(ids)s::bigint[]) WITH ORDINALITY AS a (scope_id, id, place)
  JOIN fragments f ON f.scope_id = a.scope_id AND f.id = a.id
  LEFT JOIN messages m ON f.scope_id <> 0 AND m.scope_id = f.scope_id AND m.id = f.id AND m.deleted_ms IS NULL
  LEFT JOIN profile_items p ON f.scope_id = 0 AND p.id = f.id AND p.status = 'active' ORDER BY a.place""")

# The fragments stay locked: who deletes one waits, and takes its new vector along.
_THERE = statement("""SELECT f.scope_id, f.id FROM fragments f
  JOIN unnest(%(scope_ids)s::bigint[], %(ids)s::bigint[], %(versions)s::bigint[]) AS a (scope_id, id, version)
    ON f.scope_id = a.scope_id AND f.id = a.id
  WHERE f.person_id = %(person_id)s AND f.namespace = %(namespace)s
    AND (a.version = 0 OR f.scope_id = 0 OR EXISTS (SELECT FROM messages m
      WHERE m.scope_id = f.scope_id AND m.id = f.id AND m.version = a.version AND m.deleted_ms IS NULL))
  ORDER BY f.scope_id, f.id FOR NO KEY UPDATE OF f""")
# Before the vectors: what is stored of one person is stored in the order of `seq`.
_CHANGED = statement("""UPDATE corpora SET generation = generation + 1
  WHERE person_id = %(person_id)s AND namespace = %(namespace)s""")
_REMOVE = statement("""DELETE FROM vectors v USING unnest(%(scope_ids)s::bigint[], %(ids)s::bigint[]) AS a (scope_id, id)
  WHERE v.scope_id = a.scope_id AND v.id = a.id AND v.model = %(model)s""")
_INSERT = statement("""INSERT INTO vectors (scope_id, id, person_id, namespace, chat_type, model, vector)
  SELECT f.scope_id, f.id, f.person_id, f.namespace, f.chat_type, %(model)s, %(vector)s::bytea FROM fragments f
  WHERE f.scope_id = %(scope_id)s AND f.id = %(id)s""")
_MARK = statement("""UPDATE fragments f SET embedded = %(model)s
  FROM unnest(%(scope_ids)s::bigint[], %(ids)s::bigint[]) AS a (scope_id, id)
  WHERE f.scope_id = a.scope_id AND f.id = a.id""")
_REPLACED = statement("""DELETE FROM vectors v
  WHERE v.person_id = %(person_id)s AND v.namespace = %(namespace)s AND (v.model < %(model)s OR v.model > %(model)s)
    AND NOT EXISTS (SELECT FROM fragments f
      WHERE f.person_id = %(person_id)s AND f.namespace = %(namespace)s AND f.embedded <> %(model)s)""")

_OF_PERSON = "v.person_id = %(person_id)s AND v.namespace = %(namespace)s AND v.model = %(model)s"
# The newest by their numbers, which an index has in order: sorting megabytes of vectors would go over the server's disk.
_READ = owned(f"""SELECT c.n, w.seq, w.scope_id, w.id, w.in_group, w.vector
  FROM (SELECT count(*) AS n FROM vectors v WHERE {_OF_PERSON} AND v.seq >= %(first)s) c
  LEFT JOIN (SELECT v.seq, v.scope_id, v.id, v.chat_type = 'group' AS in_group, v.vector FROM vectors v
    WHERE {_OF_PERSON} AND v.seq >= (SELECT min(newest.seq) FROM (SELECT v.seq FROM vectors v
      WHERE {_OF_PERSON} AND v.seq > %(after)s ORDER BY v.seq DESC LIMIT %(limit)s) newest)) w ON true
  WHERE me.person <> ''""")
_PLACED = owned(f"""SELECT f.scope_id, f.id, f.session_id, f."position", f.length
  FROM unnest(%(scope_ids)s::bigint[], %(ids)s::bigint[]) AS a (scope_id, id)
  JOIN fragments f ON f.scope_id = a.scope_id AND f.id = a.id
  WHERE f.person_id = %(person_id)s AND f.namespace = %(namespace)s
    AND (f.scope_id = 0 OR f.scope_id = %(scope_id)s OR (%(private)s AND {same_agent("f")}))
    AND (f.chat_type = 'group' OR %(private_too)s)
    AND me.person <> ''""")


class PostgresVectors:
    """See `memory.embedding.Vectors`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def missing(
        self, model: str, *, limit: int, owner: str, now_ms: int, lease_ms: int
    ) -> tuple[Unembedded, ...] | None:
        lease = {"scope_id": EVERYBODY, "owner": owner, "now_ms": now_ms, "until_ms": now_ms + lease_ms}
        if not await self._database.fetch(_LEASE, lease):
            return None
        async with self._database.transaction() as transaction:
            ((found,),) = await transaction.fetch(_MISSING, {"model": model, "limit": limit})
            if found is None:
                return ()
            scope_ids, ids, persons = map(list, zip(*found, strict=True))
            await transaction.name(*set(persons))
            rows = await transaction.fetch(_TEXTS, {"scope_ids": scope_ids, "ids": ids})
        return tuple(Unembedded(**dict(zip(Unembedded.__struct_fields__, row, strict=True))) for row in rows)

    async def leave(self, *, owner: str) -> None:
        await self._database.fetch(_LEAVE, {"scope_id": EVERYBODY, "owner": owner})

    async def put(self, model: str, vectors: Sequence[Embedded]) -> int:
        owners: defaultdict[tuple[int, str], list[Embedded]] = defaultdict(list)
        for one in vectors:
            owners[one.of.person_id, one.of.namespace].append(one)
        stored = 0
        for (person_id, namespace), theirs in owners.items():
            of = {"model": model, "person_id": person_id, "namespace": namespace}
            async with self._database.transaction() as transaction:
                stored += await _put(transaction, of, theirs, person_id=person_id)
        return stored

    async def read(
        self, person_id: int, namespace: str, model: str, *, after: int, first: int, limit: int
    ) -> VectorRows:
        of = {"person_id": person_id, "namespace": namespace, "model": model}
        asked = {"after": after, "first": first, "limit": limit}
        rows = await self._database.fetch(_READ, of | asked)
        found = sorted(VectorRow(*row[1:]) for row in rows if row[1] is not None)
        return VectorRows(rows[0][0], found)

    async def placed(self, owner: Owner, keys: Sequence[tuple[int, int]]) -> tuple[Hit, ...]:
        private = owner.chat_type == "private"
        of = {
            "scope_ids": [scope_id for scope_id, _ in keys],
            "ids": [id_ for _, id_ in keys],
            "person_id": owner.person_id,
            "namespace": owner.namespace,
            "scope_id": owner.scope_id,
            "agent": owner.agent,
            "private": private,
            "private_too": private or owner.private_in_group,
        }
        return tuple(
            Hit(scope_id=scope_id, id=id_, session_id=session_id, position=position, length=length, terms={})
            for scope_id, id_, session_id, position, length in await self._database.fetch(_PLACED, of)
        )


async def _put(transaction: Transaction, of: dict[str, object], vectors: Sequence[Embedded], *, person_id: int) -> int:
    """Store one person's vectors."""
    await transaction.name(person_id)
    asked = {
        "scope_ids": [one.of.scope_id for one in vectors],
        "ids": [one.of.id for one in vectors],
        "versions": [one.of.version for one in vectors],
    }
    there = [(scope_id, id_) for scope_id, id_ in await transaction.fetch(_THERE, of | asked)]
    if not there:
        return 0
    keys = {"scope_ids": [scope_id for scope_id, _ in there], "ids": [id_ for _, id_ in there]}
    await transaction.fetch(_CHANGED, of)
    await transaction.fetch(_REMOVE, of | keys)
    for one in vectors:
        if one.vector is not None and (one.of.scope_id, one.of.id) in there:
            row = {"scope_id": one.of.scope_id, "id": one.of.id, "vector": one.vector}
            await transaction.fetch(_INSERT, of | row)
    await transaction.fetch(_MARK, of | keys)
    await transaction.fetch(_REPLACED, of)
    return len(there)
