"""By what names persons are found (`memory/called.py`), in SQL that both databases share, step by step (`person_steps.py`)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from memory.called import LAST_CHAR, NAME_CHARS, NAMES, Called, comparable, ends_of
from memory.stores.person_steps import FAMILY, Ask, Batch, Rows, Step, Values
from memory.stores.rows import storable

Result = TypeVar("Result")
Asking = Generator[Ask, Rows, Result]

_ALIKE = 4
"""Rows that are read for each person who is to be found: a name holds some parts more than once."""
_OF = "person_id = :person AND channel = :channel"


def noted(one: Called) -> Asking[None]:
    """Note a name, unless it is noted; the caller has made sure that its person lives."""
    written = storable(one.name)[:NAME_CHARS]
    of: Values = {"person": one.person_id, "channel": one.channel}
    name: Values = {"name": written}
    if (yield Ask(f"SELECT 1 FROM called WHERE {_OF} AND name = :name LIMIT 1", of | name)):
        return
    names = yield Ask(f"SELECT count(DISTINCT name) FROM called WHERE {_OF}", of)
    if names[0][0] >= NAMES:  # who calls themselves something else each time is found by what they say now
        yield Ask(f"DELETE FROM called WHERE {_OF} RETURNING 1", of)
    for part in ends_of(written):
        sql = """INSERT INTO called (channel, part, person_id, name) VALUES (:channel, :part, :person, :name)
          ON CONFLICT DO NOTHING"""
        yield Ask(sql, of | name | {"part": part})


def called(name: str, channel: str, *, limit: int) -> Step[list[tuple[str, int]]]:
    """Return (part, person) of up to `limit` persons and more who are called so in the channel, what is nearest to it first."""
    wanted = comparable(storable(name))[:NAME_CHARS]
    sql = """SELECT part, person_id FROM called WHERE channel = :channel AND part >= :first AND part < :behind
      ORDER BY part, person_id LIMIT :most"""
    rows = yield Ask(sql, {"channel": channel, "first": wanted, "behind": wanted + LAST_CHAR, "most": limit * _ALIKE})
    return [(part, person_id) for part, person_id in rows]


def names(person_id: int, channels: Sequence[str] | None, *, limit: int) -> Step[tuple[str, ...]]:
    """Do what `Persons.names` promises; `channels` encoded."""
    found: list[str] = []
    for channel in channels if channels is not None else (None,):
        here = "" if channel is None else " AND channel = :channel"
        sql = f"SELECT DISTINCT name FROM called WHERE person_id IN {FAMILY}{here} ORDER BY name LIMIT :most"
        rows = yield Ask(sql, {"person": person_id, "most": limit} | ({} if channel is None else {"channel": channel}))
        found += [name for (name,) in rows]
    return tuple(dict.fromkeys(found))[:limit]


def uncalled(person_id: int) -> Step[Batch | None]:
    """Erase by what names the person is found."""
    rows = yield Ask("DELETE FROM called WHERE person_id = :person RETURNING 1", {"person": person_id})
    return Batch({}) if rows else None
