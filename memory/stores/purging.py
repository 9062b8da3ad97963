"""Retention of what people said, in SQL that SQLite and PostgreSQL share (see `person_steps.py` for how steps are run).

Turns go whole, with all that only they bore: the index of recall, earlier versions, titles, the summaries that they are in.
What was learned from them has a life of its own and stays.
"""

from __future__ import annotations

import json
from collections import defaultdict

from memory.ids import first_id
from memory.stores.person_steps import Ask, Dialect, Drop, Name, Step, Values
from memory.stores.persons import Run

# By the turn's id, which was drawn before its messages were stored: the index over it is walked from its old end. A turn that
# went on since, or that nothing was learned from yet, stays for now.
OLD = """WITH old AS (
    SELECT m.turn_id, m.scope_id FROM messages AS m WHERE m.turn_id < :first AND m.created_ms < :before
      AND NOT EXISTS (SELECT 1 FROM messages AS y
        WHERE y.turn_id = m.turn_id AND y.scope_id = m.scope_id AND y.created_ms >= :before)
      AND NOT EXISTS (SELECT 1 FROM ledgers AS l WHERE l.turn_id = m.turn_id AND l.due_ms IS NOT NULL)
    ORDER BY m.turn_id, m.scope_id LIMIT :limit)
  SELECT m.scope_id, m.id FROM (SELECT DISTINCT turn_id, scope_id FROM old) AS o
  JOIN messages AS m ON m.turn_id = o.turn_id AND m.scope_id = o.scope_id"""

OVERHEARD = """DELETE FROM observed WHERE (scope_id, id) IN
  (SELECT scope_id, id FROM observed WHERE created_ms < :before ORDER BY created_ms LIMIT :limit) RETURNING scope_id"""


class StoredPurging:
    """Deletes what is older than a moment, a few turns in one transaction."""

    def __init__(self, dialect: Dialect, *, write: Run) -> None:
        self._dialect = dialect
        self._write = write

    async def messages(self, *, before_ms: int, limit: int) -> int:
        """Do what `Store.purge_messages` promises."""
        return await self._write(messages(self._dialect, before_ms=before_ms, limit=limit))


def messages(dialect: Dialect, *, before_ms: int, limit: int) -> Step[int]:
    """Delete some of the oldest turns, and of what was overheard; return how many rows people had said."""
    of: Values = {"before": before_ms, "first": first_id(before_ms), "limit": limit}
    by_scope: dict[int, list[int]] = defaultdict(list)
    for scope_id, id_ in (yield Ask(OLD, of)):
        by_scope[scope_id].append(id_)
    gone = 0
    for scope_id, ids in sorted(by_scope.items()):
        gone += yield from _said(dialect, scope_id, ids)
    overheard = yield Ask(OVERHEARD, {"before": before_ms, "limit": limit})
    for scope_id in sorted({row[0] for row in overheard} - {*by_scope}):
        yield from _touched(dialect, scope_id)
    return gone + len(overheard)


def _said(dialect: Dialect, scope_id: int, ids: list[int]) -> Step[int]:
    of: Values = {"scope": scope_id, "ids": json.dumps(ids)}
    # What is being learned or summarised from them has to stand before it is looked for.
    yield Ask(f"SELECT id FROM messages WHERE scope_id = :scope AND id {dialect.among}{dialect.lock}", of)
    yield Name(scope_id=scope_id, ids=ids)
    yield Drop([(scope_id, id_) for id_ in ids])
    for statement in (
        # A later one was made from an earlier one: it may hold the same words.
        f"""DELETE FROM summaries WHERE scope_id = :scope AND EXISTS (SELECT 1 FROM messages AS m
          WHERE m.scope_id = :scope AND m.id {dialect.among} AND m.session_id = summaries.session_id
            AND m.id <= summaries.last_id)""",
        f"DELETE FROM message_versions WHERE scope_id = :scope AND id {dialect.among}",
        f"DELETE FROM withheld WHERE scope_id = :scope AND id {dialect.among}",
        f"UPDATE scopes SET title = '', title_id = NULL WHERE id = :scope AND title_id {dialect.among}",
    ):
        yield Ask(statement, of)
    gone = yield Ask(f"DELETE FROM messages WHERE scope_id = :scope AND id {dialect.among} RETURNING 1", of)
    yield from _touched(dialect, scope_id)
    return len(gone)


def _touched(dialect: Dialect, scope_id: int) -> Step[None]:
    if dialect.touch is not None:
        yield Ask(dialect.touch, {"scope": scope_id})
