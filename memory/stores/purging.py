"""Retention of what people said, in SQL that SQLite and PostgreSQL share (see `person_steps.py` for how steps are run).

Turns go whole, with all that only they bore: the index of recall, earlier versions, titles, the summaries that they are in.
What was learned from them has a life of its own and stays.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from memory.ids import first_id
from memory.stores.person_steps import Ask, Dialect, Drop, Name, Step, Values
from memory.stores.persons import Run

# By the turn's id, which was drawn before its messages were stored: the index over it is walked from its old end, turn by turn.
# One that went on since, or that nothing was learned from yet, stays for now. Asked in subselects: as joins they may be planned
# to walk all messages of the store.
OLD = """WITH old AS (
    SELECT DISTINCT m.turn_id, m.scope_id FROM messages AS m WHERE m.turn_id < :first
      AND (SELECT max(y.created_ms) FROM messages AS y WHERE y.turn_id = m.turn_id AND y.scope_id = m.scope_id) < :before
      AND (SELECT l.due_ms FROM ledgers AS l
        WHERE l.turn_id = m.turn_id AND l.scope_id = m.scope_id AND l.due_ms IS NOT NULL) IS NULL
    ORDER BY m.turn_id, m.scope_id LIMIT :turns)
  SELECT m.scope_id, m.id, m.session_id FROM old
  JOIN messages AS m ON m.turn_id = old.turn_id AND m.scope_id = old.scope_id ORDER BY m.scope_id, m.id"""

OVERHEARD = """DELETE FROM observed WHERE (scope_id, id) IN
  (SELECT scope_id, id FROM observed WHERE created_ms < :before ORDER BY created_ms LIMIT :limit) RETURNING scope_id"""


class Said(NamedTuple):
    """A message that has had its time."""

    scope_id: int
    id: int
    session_id: str


class StoredPurging:
    """Deletes what is older than a moment, a few turns in one transaction."""

    def __init__(self, dialect: Dialect, *, write: Run) -> None:
        self._dialect = dialect
        self._write = write

    async def messages(self, *, before_ms: int, limit: int) -> int:
        """Do what `Store.purge_messages` promises."""
        return await self._write(messages(self._dialect, before_ms=before_ms, limit=limit))


def messages(dialect: Dialect, *, before_ms: int, limit: int) -> Step[int]:
    """Delete some of the oldest turns, and of what was overheard; return how many rows people had said. All scopes at once: what
    is oldest belongs to many of them, and each question to the database costs as much as deleting a message."""
    # A turn is two messages or more.
    of: Values = {"before": before_ms, "first": first_id(before_ms), "turns": max(1, limit // 2)}
    said = [Said(*row) for row in (yield Ask(OLD, of))]
    gone = (yield from _deleted(dialect, said)) if said else 0
    overheard = yield Ask(OVERHEARD, {"before": before_ms, "limit": limit})
    yield from _touched(dialect, {row.scope_id for row in said} | {scope_id for (scope_id,) in overheard})
    return gone + len(overheard)


def _deleted(dialect: Dialect, said: list[Said]) -> Step[int]:
    named = [(row.scope_id, row.id) for row in said]
    of: Values = {"pairs": json.dumps(named)}
    these = f"(scope_id, id) IN {dialect.pairs}"
    # What is being learned or summarised from them has to stand before it is looked for.
    yield Ask(f"SELECT id FROM messages WHERE {these} ORDER BY scope_id, id{dialect.lock}", of)
    yield Name(fragments=named)
    yield Drop(named)
    firsts = {(row.scope_id, row.session_id): row.id for row in reversed(said)}
    stretches = json.dumps([(scope_id, session_id, id_) for (scope_id, session_id), id_ in firsts.items()])
    # A later one was made from an earlier one: it may hold the same words.
    summaries = f"""DELETE FROM summaries WHERE id IN (SELECT s.id FROM {dialect.stretches} AS x
      JOIN summaries AS s ON s.scope_id = x.scope_id AND s.session_id = x.session_id AND s.last_id >= x.first_id)"""
    yield Ask(summaries, {"stretches": stretches})
    for statement in (
        f"DELETE FROM message_versions WHERE {these}",
        f"DELETE FROM withheld WHERE {these}",
        f"UPDATE scopes SET title = '', title_id = NULL WHERE (id, title_id) IN {dialect.pairs}",
    ):
        yield Ask(statement, of)
    return len((yield Ask(f"DELETE FROM messages WHERE {these} RETURNING 1", of)))


def _touched(dialect: Dialect, scopes: set[int]) -> Step[None]:
    if dialect.touch is not None and scopes:
        of: Values = {"ids": json.dumps(sorted(scopes))}
        yield Ask(f"SELECT id FROM scopes WHERE id {dialect.among} ORDER BY id{dialect.lock}", of)
        yield Ask(f"UPDATE scopes SET generation = generation + 1 WHERE id {dialect.among}", of)
