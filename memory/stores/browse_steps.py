"""What is read of conversations, in SQL that SQLite and PostgreSQL share, step by step (see `person_steps.py`)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from memory.base import HANDED_BACK, Quoted
from memory.browsing import (
    SEARCHED_LINES,
    SEARCHED_TALKS,
    TALKS,
    Earlier,
    Finds,
    Found,
    Line,
    Mark,
    Older,
    Page,
    SearchMark,
    Talk,
    Talks,
    Wanted,
    folded,
)
from memory.ids import first_id
from memory.key import Scope, encode_part
from memory.stores.person_steps import FAMILY, Ask, Rows, Values, spoken_in
from memory.stores.rows import decoded_user

Result = TypeVar("Result")
Looked = Generator[Ask, Rows, Result]

PART = 500
"""Lines that one statement of a search reads."""
LAST = 1 << 62
"""Greater than every id and time."""

_TALK = 'id, "user", channel, conversation, chat_type, agent, title, last_ms, session_id'
_SAID = """id, scope_id, session_id, turn_id, event_id, role, text, "user", speaker_name, person_id, agent, conversation,
  created_ms, version, edited_ms, deleted_ms, platform_message_id, reply_to, quote,
  speaker_name <> '' AND coalesce(CAST(steps AS text), '') LIKE :left AS for_agent"""
_HEARD = """id, scope_id, '' AS session_id, 0 AS turn_id, event_id, 'overheard' AS role, text, "user", speaker_name, person_id,
  agent, conversation, created_ms, version, NULL AS edited_ms, NULL AS deleted_ms, platform_message_id, NULL AS reply_to,
  NULL AS quote, 0 = 1 AS for_agent"""
_LEFT = f'%"{HANDED_BACK}"%'
"""In a line's steps: a human left it for the agent alone. Inside a string of theirs a quotation mark would be escaped."""

_LINES = (("messages", _SAID), ("observed", _HEARD))

_quoted = msgspec.json.Decoder(Quoted).decode


@dataclass(frozen=True, slots=True)
class Spoken:
    """How a database walks a channel's conversations: the condition that its index answers, and its order."""

    since: str
    order: str


def talks(spoken: Spoken, wanted: Wanted, *, after: Mark | None, limit: int) -> Looked[Talks]:
    """Do what `Browsing.talks` promises."""
    found, further = yield from _listed(spoken, wanted, after=after, most=limit)
    return Talks(talks=tuple(found), next=further)


def _mark(talk: Talk) -> Mark:
    return talk.last_ms, talk.id


def _listed(spoken: Spoken, wanted: Wanted, *, after: Mark | None, most: int) -> Looked[tuple[list[Talk], Mark | None]]:
    """Return up to `most` of the wanted conversations behind the mark, and where it goes on; None: these are all."""
    start, edge = after or (LAST, LAST), None
    room = None if wanted.room is None else encode_part(wanted.room, name="room")
    if wanted.person_id is not None:
        found = yield from _of_person(wanted.person_id, wanted.channels)
        found = [talk for talk in found if _mark(talk) < start and _in_room(talk, room)]
    else:
        found, edge = yield from _of_channels(spoken, wanted.channels, room, start=start, most=most + 1)
    found.sort(key=_mark, reverse=True)
    # What lies behind where the walk through another channel ended is still to come.
    found = [talk for talk in found if edge is None or _mark(talk) >= edge]
    return found[:most], _mark(found[most - 1]) if len(found) > most else edge


def _in_room(talk: Talk, room: str | None) -> bool:
    return room is None or talk.scope.conversation.partition("/")[0] == room


def _of_channels(
    spoken: Spoken, channels: Sequence[str] | None, room: str | None, *, start: Mark, most: int
) -> Looked[tuple[list[Talk], Mark | None]]:
    """Return up to `most` conversations of each channel behind the mark; a room's are looked for among `TALKS`. Then also how far
    all channels were looked through; None: to their ends."""
    found: list[Talk] = []
    edge: Mark | None = None
    walk = f"""SELECT {_TALK} FROM scopes WHERE channel = :channel AND alias_of IS NULL AND last_ms > 0 AND {spoken.since}
      AND (last_ms < :last OR last_ms = :last AND id < :id) ORDER BY {spoken.order}, id DESC"""
    for channel in (yield from _channels(channels)):
        values: Values = {"channel": channel, "last": start[0], "id": start[1]}
        if room is None:
            rows = yield Ask(f"{walk} LIMIT :most", values | {"most": most})
        else:
            inside: Values = {"most": TALKS, "few": most, "room": room, "begins": f"{room}/", "length": len(room) + 1}
            sql = f"SELECT * FROM ({walk} LIMIT :most) AS passed WHERE {_IN_ROOM} ORDER BY last_ms DESC, id DESC LIMIT :few"
            rows = yield Ask(sql, values | inside)
            ends = yield Ask(f"{walk} LIMIT 1 OFFSET :most", values | {"most": TALKS - 1})
            edge = max([one for one in (edge, *map(_mark, map(_talk, ends))) if one is not None], default=None)
        found += map(_talk, rows)
    return found, edge


_IN_ROOM = "conversation = :room OR substr(conversation, 1, CAST(:length AS integer)) = :begins"


def _channels(channels: Sequence[str] | None) -> Looked[list[str]]:
    """Return the channels as they stand in a key's column; None: all that have conversations, found by the index."""
    if channels is not None:
        return [encode_part(channel, name="channel") for channel in channels]
    sql = """WITH RECURSIVE found (channel) AS (SELECT min(channel) FROM scopes
      UNION ALL SELECT (SELECT min(s.channel) FROM scopes AS s WHERE s.channel > found.channel) FROM found
      WHERE found.channel IS NOT NULL) SELECT channel FROM found WHERE channel IS NOT NULL"""
    rows = yield Ask(sql, {})
    return [channel for (channel,) in rows]


def _of_person(person_id: int, channels: Sequence[str] | None) -> Looked[list[Talk]]:
    """Return where the person has spoken, or was overheard: each conversation found by the index, not each message; of very many
    those that began last."""
    family = yield Ask(f"SELECT id FROM persons WHERE id IN {FAMILY}", {"person": person_id})
    columns = None if channels is None else [encode_part(channel, name="channel") for channel in channels]
    found: dict[int, Talk] = {}
    for (id_,) in family:
        for table, _ in _LINES:
            rows = yield Ask(_where_spoken(table), {"person": id_, "most": TALKS})
            found |= {row[0]: _talk(row) for row in rows if columns is None or row[2] in columns}
    return list(found.values())


def _where_spoken(table: str) -> str:
    columns = ", ".join(f"s.{column.strip()}" for column in _TALK.split(","))
    return f"""{spoken_in(table)}
      SELECT {columns} FROM spoken JOIN scopes AS s ON s.id = spoken.scope_id LIMIT :most"""


def talk(talk_id: int) -> Looked[Talk | None]:
    """Do what `Browsing.talk` promises."""
    sql = f"""SELECT {_TALK} FROM scopes
      WHERE id = (SELECT coalesce(alias_of, id) FROM scopes WHERE id = :id)"""
    rows = yield Ask(sql, {"id": talk_id})
    return _talk(rows[0]) if rows else None


def names(talk_id: int) -> Looked[tuple[Scope, ...]]:
    """Do what `Browsing.names` promises."""
    columns = '"user", channel, conversation, chat_type, agent'
    own = yield Ask(f"SELECT {columns} FROM scopes WHERE id = :id", {"id": talk_id})
    others = yield Ask(f"SELECT {columns} FROM scopes WHERE alias_of = :id ORDER BY id DESC LIMIT 49", {"id": talk_id})
    return tuple(Scope(*row) for row in (*own, *others))


def page(talk_id: int, *, limit: int, before_id: int | None, after_id: int | None) -> Looked[Page]:
    """Do what `Browsing.page` promises."""
    forward = before_id is None and after_id is not None
    compare, order, edge = (">", "ASC", after_id or 0) if forward else ("<", "DESC", before_id or LAST)
    lines: list[Line] = []
    for table, columns in _LINES:
        sql = f"SELECT {columns} FROM {table} WHERE scope_id = :scope AND id {compare} :edge ORDER BY id {order} LIMIT :most"
        rows = yield Ask(sql, {"scope": talk_id, "edge": edge, "most": limit + 1, "left": _LEFT})
        lines += map(_line, rows)
    lines.sort(key=lambda line: line.id, reverse=not forward)
    more, lines = len(lines) > limit, lines[:limit]
    others = yield from _others(talk_id, beyond=lines[0].id if lines else edge, forward=forward)
    lines.sort(key=lambda line: line.id)
    lines = yield from _with_earlier(talk_id, lines)
    return Page(lines=tuple(lines), before=others if forward else more, behind=more if forward else others)


def _others(talk_id: int, *, beyond: int, forward: bool) -> Looked[bool]:
    """Return whether there are lines on the side from which the page comes."""
    compare = "<" if forward else ">"
    for table, _ in _LINES:
        sql = f"SELECT 1 FROM {table} WHERE scope_id = :scope AND id {compare} :beyond LIMIT 1"
        if (yield Ask(sql, {"scope": talk_id, "beyond": beyond})):
            return True
    return False


def _with_earlier(talk_id: int, lines: Sequence[Line]) -> Looked[list[Line]]:
    edited = [line.id for line in lines if line.version > 1 and line.role != "overheard"]
    if not edited:
        return list(lines)
    sql = """SELECT id, version, text FROM message_versions
      WHERE scope_id = :scope AND id >= :first AND id <= :last ORDER BY id, version LIMIT 1000"""
    rows = yield Ask(sql, {"scope": talk_id, "first": min(edited), "last": max(edited)})
    texts: dict[int, list[Earlier]] = {}
    for id_, version, text in rows:
        texts.setdefault(id_, []).append(Earlier(version=version, text=text))
    return [msgspec.structs.replace(line, earlier=tuple(texts.get(line.id, ()))) for line in lines]


def unlearned(turn_id: int) -> Looked[bool | None]:
    """Do what `Browsing.unlearned` promises."""
    rows = yield Ask("SELECT due_ms IS NOT NULL FROM ledgers WHERE turn_id = :turn", {"turn": turn_id})
    return bool(rows[0][0]) if rows else None


def older(*, before_ms: int, limit: int) -> Looked[Older]:
    """Do what `Browsing.older` promises."""
    rows = yield Ask(_OLDER, {"first": first_id(before_ms), "before": before_ms, "most": limit})
    oldest = [row[1] for row in rows if row[1] is not None]
    return Older(count=min(limit, sum(row[0] for row in rows)), oldest_ms=min(oldest, default=None))


# By turns' ids, as retention does it (`purging.py`).
_OLDER = """SELECT count(*), min(created_ms) FROM (SELECT created_ms FROM messages
    WHERE turn_id < :first AND created_ms < :before ORDER BY turn_id LIMIT :most) AS said
  UNION ALL SELECT count(*), min(created_ms) FROM (SELECT created_ms FROM observed
    WHERE created_ms < :before ORDER BY created_ms LIMIT :most) AS heard"""


def search(
    spoken: Spoken, words: Sequence[str], wanted: Wanted, *, after: SearchMark | None, limit: int
) -> Looked[Finds]:
    """Do what `Browsing.search` promises."""
    # Behind a mark means behind its id, too: the conversation in which the search stopped is the first one again.
    start = None if after is None else (after.last_ms, after.talk_id + (after.line_id > 0))
    listed, further = yield from _listed(spoken, wanted, after=start, most=SEARCHED_TALKS)
    found: list[Found] = []
    read = 0
    for one in listed:
        before = after.line_id if after is not None and after.talk_id == one.id and after.line_id else LAST
        while before:
            rows = yield Ask(_PART, {"scope": one.id, "before": before, "most": PART})
            for id_, text in rows:
                read += 1
                before = id_
                if all(word in folded(text) for word in words):
                    line = yield from _one(one.id, id_)
                    found.append(Found(talk=one, line=line))
                if len(found) == limit or read >= SEARCHED_LINES:
                    return Finds(found=tuple(found), lines=read, next=SearchMark(one.last_ms, one.id, id_))
            before = before if len(rows) == PART else 0
    return Finds(found=tuple(found), lines=read, next=None if further is None else SearchMark(*further, 0))


_PART = """SELECT id, text FROM (
    SELECT id, text FROM (SELECT id, text FROM messages WHERE scope_id = :scope AND id < :before
      ORDER BY id DESC LIMIT :most) AS said
    UNION ALL SELECT id, text FROM (SELECT id, text FROM observed WHERE scope_id = :scope AND id < :before
      ORDER BY id DESC LIMIT :most) AS heard) AS lines
  ORDER BY id DESC LIMIT :most"""


def _one(talk_id: int, id_: int) -> Looked[Line]:
    for table, columns in _LINES:
        sql = f"SELECT {columns} FROM {table} WHERE scope_id = :scope AND id = :id"
        rows = yield Ask(sql, {"scope": talk_id, "id": id_, "left": _LEFT})
        if rows:
            break
    return _line(rows[0])


def _talk(row: Sequence[Any]) -> Talk:
    id_, user, channel, conversation, chat_type, agent, title, last_ms, session_id = row
    return Talk(
        id=id_,
        scope=Scope(user, channel, conversation, chat_type, agent),
        title=title,
        last_ms=last_ms,
        session_id=session_id,
    )


def _line(row: Sequence[Any]) -> Line:
    values = dict(zip(Line.__struct_fields__, row, strict=False))
    values["user"], quote = decoded_user(values["user"]), values["quote"]
    values["for_agent"] = bool(values["for_agent"])
    return Line(**(values | {"quote": None if quote is None else _quoted(quote)}))
