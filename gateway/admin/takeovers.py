"""Take-overs as rows: the conversations in which a human answers or was asked for, and what their end was.

Rows and nothing else; what follows from them is `gateway/humans.py`'s. A place has one live row at most. Every change of a
row's state names the number of changes that it was decided on, so that of two who decide at once one is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import msgspec

from gateway.admin.database import Database, Row, Transaction, Value
from memory.key import decode_part, encode_part

State = Literal["asked", "active", "ended"]
AskedBy = Literal["operator", "person", "agent", "words", "failures", "complaints"]
Ending = Literal["handed_back", "timed_out", "not_taken", "dismissed", "moved", "erased"]
"""`not_taken`: nobody took the request in time. `dismissed`: an operator said that none is needed. `moved`: the room got
the id of one that has a take-over of its own."""
What = Literal["asked", "begun", "ended"]

TOPIC = "takeovers"
MOST_LIVE = 1000
"""Live rows that one look returns; those beyond have waited least."""


class Place(NamedTuple):
    """A conversation, encoded as in the key; `user` is `*` in a group."""

    channel: str
    conversation: str
    user: str


class Takeover(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A row. `last` is where somebody last spoke, a route without words, `last_person_id` who that was, `turn_id` the turn of
    it; `person_id` is whom it is about: who asked, or was spoken with when it began. `asked_turn_id` is the turn by which a
    human was asked for, None: it was an operator who did."""

    id: int
    channel: str
    conversation: str
    user: str
    chat_type: Literal["private", "group"]
    state: State
    asked_by: AskedBy
    note: str | None
    person_id: int | None
    operator: str | None
    operator_name: str | None
    since_ms: int
    touched_ms: int
    created_ms: int
    how: Ending | None
    summary: str | None
    last: bytes
    last_person_id: int | None
    turn_id: int
    asked_turn_id: int | None
    changes: int

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place(self.channel, self.conversation, self.user)


class News(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What a change of a take-over (its `changes`th) is still to be told of, and in whose hands it was then."""

    takeover_id: int
    changes: int
    what: What
    operator: str | None
    operator_name: str | None


class Post(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A message about a take-over in the staff's room; `message_id` None: not known yet. `person_id`: who had spoken last, whom
    it names and whose words it may tell; in a group that may be another than whom the take-over is about."""

    turn_id: int
    takeover_id: int
    channel: str
    room: str
    message_id: str | None
    person_id: int | None = None


_QUOTED = {"user": '"user"', "last": '"last"'}
_COLUMNS = ", ".join(_QUOTED.get(field, field) for field in Takeover.__struct_fields__)
_VALUES = ", ".join(f":{field}" for field in Takeover.__struct_fields__)
_SELECT = f"SELECT {_COLUMNS} FROM takeovers"
_POSTS = f"SELECT {', '.join(Post.__struct_fields__)} FROM takeover_posts"
_NEWS = f"SELECT {', '.join(News.__struct_fields__)} FROM takeover_news"
_HERE = "(conversation = :room OR substr(conversation, 1, length(:room) + 1) = :room || '/')"
_MOVED = ":now_room || substr(conversation, length(:room) + 1)"
_NO_MORE = ", message_id = CASE WHEN message_id IS NULL THEN NULL ELSE '' END"


class TakeoverRows:
    """All take-overs. Every verb raises `gateway.errors.StoreBusy` when the database is away."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def changed(self, after: int) -> int:
        """See `Database.changed`: a take-over has begun, ended or come into other hands."""
        return await self._database.changed(TOPIC, after)

    async def at(self, places: Sequence[Place]) -> Takeover | None:
        """Return the live take-over of the first of these conversations that has one; all of one channel and user."""
        first = places[0]
        names, values = _listed("c", [place.conversation for place in places])
        sql = f"""{_SELECT} WHERE channel = :channel AND conversation IN ({names}) AND "user" = :user AND state <> 'ended'
          ORDER BY length(conversation) DESC LIMIT 1"""
        rows = await self._database.look(sql, channel=first.channel, user=first.user, **values)
        return _read(rows[0]) if rows else None

    async def get(self, id_: int) -> Takeover | None:
        """Return the row."""
        return await self._one(f"{_SELECT} WHERE id = :id", id=id_)

    async def live(self) -> list[Takeover]:
        """Return what has not ended, longest untouched first."""
        return await self._several(f"{_SELECT} WHERE state <> 'ended' ORDER BY touched_ms, id LIMIT {MOST_LIVE}")

    async def news(self, takeover_id: int | None = None) -> list[News]:
        """Return what is still to be told, of one take-over or of all; of each in the order in which it came about."""
        of, values = "", dict[str, Value]()
        if takeover_id is not None:
            of, values["id"] = " WHERE takeover_id = :id", takeover_id
        async with self._database.reading() as db:
            rows = await db.rows(f"{_NEWS}{of} ORDER BY takeover_id, changes LIMIT {MOST_LIVE}", **values)
        return [msgspec.convert(tuple(row), News) for row in rows]

    async def last_turn(self, places: Sequence[Place]) -> int:
        """Return the last turn that was part of a take-over in one of these conversations, all of one channel and user; 0: none
        was."""
        names, values = _listed("c", [place.conversation for place in places])
        sql = f"""SELECT coalesce(max(turn_id), 0) FROM takeovers
          WHERE channel = :channel AND conversation IN ({names}) AND "user" = :user"""
        async with self._database.reading() as db:
            rows = await db.rows(sql, channel=places[0].channel, user=places[0].user, **values)
        return int(rows[0][0])

    async def page(
        self, *, channels: Collection[str] | None, live: bool | None, before: int | None, limit: int
    ) -> list[Takeover]:
        """Return rows of these channels (by their plain names; None: of all), newest first. `live` None: ended ones too;
        `before`: with lesser ids only."""
        wanted, values = ["1 = 1"], dict[str, Value]()
        if channels is not None:
            names, listed = _listed("c", [encode_part(channel) for channel in sorted(channels)])
            wanted.append(f"channel IN ({names})" if channels else "1 = 0")
            values |= listed
        if live is not None:
            wanted.append("state <> 'ended'" if live else "state = 'ended'")
        if before is not None:
            wanted.append("id < :before")
            values["before"] = before
        sql = f"{_SELECT} WHERE {' AND '.join(wanted)} ORDER BY id DESC LIMIT :limit"
        return await self._several(sql, limit=limit, **values)

    async def add(self, new: Takeover) -> tuple[Takeover, bool]:
        """Store a new live row, and that it is to be told; return the one that the place has now, and whether that is the new
        one."""
        while True:
            async with self._database.writing() as db:
                added = await db.run(
                    f"INSERT INTO takeovers ({_COLUMNS}) VALUES ({_VALUES}) ON CONFLICT DO NOTHING",
                    **msgspec.structs.asdict(new),
                )
                if added:
                    await _owe(db, new, "begun" if new.state == "active" else "asked")
                rows = await db.rows(
                    f"""{_SELECT} WHERE channel = :channel AND conversation = :conversation AND "user" = :user
                    AND state <> 'ended'""",
                    **new.place._asdict(),
                )
            if added:
                await self._database.tell(TOPIC)
            if rows:  # else the other one ended in that moment
                return _read(rows[0]), bool(added)

    async def take(self, of: Takeover, *, operator: str, name: str, now_ms: int) -> Takeover | None:
        """Put it into an operator's hands, and note that this is to be told; return the row as it is now. None: it has changed
        since `of` was read."""
        return await self._change(
            of,
            "state = 'active', operator = :operator, operator_name = :name, since_ms = :now, touched_ms = :now",
            owe="begun",
            operator=operator,
            name=name,
            now=now_ms,
        )

    async def end(self, of: Takeover, how: Ending, *, summary: str | None, now_ms: int) -> Takeover | None:
        """End it, and note that this is to be told; return the row as it is now. None: it has changed since `of` was read, or,
        for what ends by itself, somebody did something in it."""
        to, values = "state = 'ended', how = :how, summary = :summary, since_ms = :now", dict[str, Value]()
        if how in ("timed_out", "not_taken"):
            values["touched"] = of.touched_ms
        return await self._change(of, to, owe="ended", how=how, summary=summary, now=now_ms, **values)

    async def _change(self, of: Takeover, to: str, *, owe: What, **values: Value) -> Takeover | None:
        also = " AND touched_ms = :touched" if "touched" in values else ""
        async with self._database.writing() as db:
            rows = await db.rows(
                f"""UPDATE takeovers SET {to}, changes = changes + 1
                WHERE id = :id AND changes = :changes AND state <> 'ended'{also} RETURNING {_COLUMNS}""",
                id=of.id,
                changes=of.changes,
                **values,
            )
            changed = _read(rows[0]) if rows else None
            if changed is not None:
                await _owe(db, changed, owe)
        if changed is not None:
            await self._database.tell(TOPIC)
        return changed

    async def touch(self, of: Takeover, *, now_ms: int) -> bool:
        """Note that the operator has just done something: the time-out begins anew. False: it has changed since `of` was read."""
        async with self._database.writing() as db:
            touched = await db.run(
                """UPDATE takeovers SET touched_ms = CASE WHEN touched_ms < :now THEN :now ELSE touched_ms END
                WHERE id = :id AND changes = :changes AND state <> 'ended'""",
                id=of.id,
                changes=of.changes,
                now=now_ms,
            )
        return bool(touched)

    async def heard(self, id_: int, *, last: bytes, turn_id: int, person_id: int | None) -> None:
        """Note where the person has spoken last, and who that was."""
        await self._run(
            """UPDATE takeovers SET "last" = :last, last_person_id = :person, turn_id = :turn
            WHERE id = :id AND turn_id <= :turn""",
            id=id_,
            last=last,
            turn=turn_id,
            person=person_id,
        )

    async def told(self, news: News) -> None:
        """Note that it is on its way."""
        await self._run(
            "DELETE FROM takeover_news WHERE takeover_id = :id AND changes = :changes",
            id=news.takeover_id,
            changes=news.changes,
        )

    async def posted(self, post: Post) -> None:
        """Note a message to the staff's room. Repeating it changes nothing."""
        await self._run(
            """INSERT INTO takeover_posts (turn_id, takeover_id, channel, room, message_id, person_id)
            VALUES (:turn_id, :takeover_id, :channel, :room, :message_id, :person_id)
            ON CONFLICT (turn_id) DO UPDATE SET message_id = excluded.message_id WHERE excluded.message_id IS NOT NULL""",
            **msgspec.structs.asdict(post),
        )

    async def unposted(self, turn_id: int) -> None:
        """Forget a message that was none."""
        await self._run("DELETE FROM takeover_posts WHERE turn_id = :turn", turn=turn_id)

    async def first_post(self, takeover_id: int, channel: str, room: str) -> Post | None:
        """Return the first message about a take-over in a room whose platform id is known."""
        sql = f"""{_POSTS} WHERE takeover_id = :id AND channel = :channel AND room = :room AND message_id > ''
          ORDER BY turn_id LIMIT 1"""
        found = await self._posts(sql, id=takeover_id, channel=channel, room=room)
        return found[0] if found else None

    async def unknown_posts(self, channel: str, room: str) -> list[Post]:
        """Return messages to the room whose platform id is not known yet, the newest ones."""
        sql = (
            f"{_POSTS} WHERE channel = :channel AND room = :room AND message_id IS NULL ORDER BY turn_id DESC LIMIT 100"
        )
        return await self._posts(sql, channel=channel, room=room)

    async def _posts(self, sql: str, **values: Value) -> list[Post]:
        async with self._database.reading() as db:
            return [msgspec.convert(tuple(row), Post) for row in await db.rows(sql, **values)]

    async def by_message(self, channel: str, room: str, message_ids: Sequence[str]) -> Takeover | None:
        """Return the take-over that one of these messages of the staff's room is about."""
        names, values = _listed("m", message_ids)
        sql = f"""{_SELECT} WHERE id = (SELECT takeover_id FROM takeover_posts
          WHERE channel = :channel AND room = :room AND message_id IN ({names}) ORDER BY turn_id DESC LIMIT 1)"""
        return await self._one(sql, channel=channel, room=room, **values)

    async def said_in(self, place: Place, *, after: int | None, limit: int) -> list[int]:
        """Return the turns of what humans said in a conversation behind `after`, oldest first, where they wait for whom they
        are for. None: the last one's."""
        order = "posts.turn_id DESC LIMIT 1" if after is None else "posts.turn_id LIMIT :limit"
        sql = f"""SELECT posts.turn_id FROM takeovers t JOIN takeover_posts posts ON posts.takeover_id = t.id
          WHERE t.channel = :channel AND t."user" = :user AND t.conversation = :conversation AND posts.channel = :plain
          AND posts.message_id = '' AND posts.room = :room{"" if after is None else " AND posts.turn_id > :after"}
          ORDER BY {order}"""
        room, plain = decode_part(place.conversation.partition("/")[0]), decode_part(place.channel)
        values: dict[str, Value] = {**place._asdict(), "room": room, "plain": plain}
        if after is not None:
            values |= {"after": after, "limit": limit}
        async with self._database.reading() as db:
            return [int(row[0]) for row in await db.rows(sql, **values)]

    async def move(self, channel: str, room: str, now_room: str, *, ids_last: bool) -> None:
        """Let what belongs to a room go on under another id. Repeating it changes nothing. `ids_last`: its messages keep theirs;
        else a staff's room counts anew, and what answers one of the old numbers there is about something else."""
        place: dict[str, Value] = {"channel": encode_part(channel), "room": encode_part(room)}
        here = f"channel = :channel AND {_HERE}"
        there = {**place, "now_room": encode_part(now_room)}
        async with self._database.writing() as db:
            moved = await db.run(
                f"""UPDATE takeovers SET conversation = {_MOVED} WHERE {here} AND (state = 'ended' OR NOT EXISTS (
                SELECT 1 FROM takeovers t WHERE t.channel = takeovers.channel AND t."user" = takeovers."user"
                AND t.state <> 'ended' AND t.conversation = :now_room || substr(takeovers.conversation, length(:room) + 1)))""",
                **there,
            )
            moved += await db.run(
                f"""UPDATE takeovers SET conversation = {_MOVED}, state = 'ended', how = 'moved', changes = changes + 1
                WHERE {here}""",
                **there,
            )
            await db.run(
                """DELETE FROM takeover_news WHERE takeover_id IN (SELECT id FROM takeovers WHERE channel = :channel
                AND how = 'moved')""",
                channel=place["channel"],
            )
            await db.run(
                f"""UPDATE takeover_posts SET room = :now_room{"" if ids_last else _NO_MORE}
                WHERE channel = :channel AND room = :room""",
                channel=channel,
                room=room,
                now_room=now_room,
            )
        if moved:
            await self._database.tell(TOPIC)

    async def about(self, persons: Collection[int], accounts: Collection[tuple[str, str]]) -> list[Takeover]:
        """Return a person's take-overs, oldest first: by all that the person is, and by (channel, account), encoded. None of a
        group that they have only spoken in."""
        async with self._database.reading() as db:
            ids = await _ids_of(db, persons, accounts)
            rows = [row for id_ in ids for row in await db.rows(f"{_SELECT} WHERE id = :id", id=id_)]
        return [row for row in map(_read, rows) if row.chat_type == "private" or row.person_id in persons]

    async def of_person(self, persons: Collection[int], accounts: Collection[tuple[str, str]]) -> list[int]:
        """Return the turns of what was posted about a person's take-overs, and of their words in others': by all that the person
        is, and by (channel, account), encoded."""
        async with self._database.reading() as db:
            turns: list[Row] = []
            for id_ in await _ids_of(db, persons, accounts):
                turns += await db.rows("SELECT turn_id FROM takeover_posts WHERE takeover_id = :id", id=id_)
            for person_id in persons:
                turns += await db.rows("SELECT turn_id FROM takeover_posts WHERE person_id = :person", person=person_id)
        return sorted({int(row[0]) for row in turns})

    async def erase(self, persons: Collection[int], accounts: Collection[tuple[str, str]], *, now_ms: int) -> int:
        """End what a person has, and take their ids and words out of all of it; return how many rows. Which messages of a staff's
        room were about it stays known: what is written behind them is for nobody else."""
        erased = 0
        async with self._database.writing() as db:
            for person_id in persons:
                await db.run("UPDATE takeover_posts SET person_id = NULL WHERE person_id = :person", person=person_id)
            for id_ in await _ids_of(db, persons, accounts):
                await db.run("DELETE FROM takeover_news WHERE takeover_id = :id", id=id_)
                await db.run(
                    "DELETE FROM takeover_posts WHERE takeover_id = :id AND coalesce(message_id, '') = ''", id=id_
                )
                await db.run("UPDATE takeover_posts SET person_id = NULL WHERE takeover_id = :id", id=id_)
                erased += await db.run(
                    """UPDATE takeovers SET conversation = '', "user" = '', note = NULL, summary = NULL, person_id = NULL,
                    last_person_id = NULL, "last" = :empty,
                    how = CASE WHEN state = 'ended' THEN how ELSE 'erased' END,
                    since_ms = CASE WHEN state = 'ended' THEN since_ms ELSE :now END, state = 'ended',
                    changes = changes + 1 WHERE id = :id""",
                    id=id_,
                    empty=b"",
                    now=now_ms,
                )
        if erased:
            await self._database.tell(TOPIC)
        return erased

    async def _run(self, sql: str, **values: Value) -> None:
        async with self._database.writing() as db:
            await db.run(sql, **values)

    async def _one(self, sql: str, **values: Value) -> Takeover | None:
        rows = await self._several(sql, **values)
        return rows[0] if rows else None

    async def _several(self, sql: str, **values: Value) -> list[Takeover]:
        async with self._database.reading() as db:
            return [_read(row) for row in await db.rows(sql, **values)]


async def _ids_of(db: Transaction, persons: Collection[int], accounts: Collection[tuple[str, str]]) -> list[int]:
    found: set[int] = set()
    for person_id in persons:
        sql = "SELECT id FROM takeovers WHERE person_id = :id UNION SELECT id FROM takeovers WHERE last_person_id = :id"
        found |= {int(row[0]) for row in await db.rows(sql, id=person_id)}
    for channel, user in accounts:
        sql = """SELECT id FROM takeovers WHERE channel = :channel AND "user" = :user"""
        found |= {int(row[0]) for row in await db.rows(sql, channel=channel, user=user)}
    return sorted(found)


async def _owe(db: Transaction, of: Takeover, what: What) -> None:
    await db.run(
        """INSERT INTO takeover_news (takeover_id, changes, what, operator, operator_name)
        VALUES (:id, :changes, :what, :operator, :operator_name)""",
        id=of.id,
        changes=of.changes,
        what=what,
        operator=of.operator,
        operator_name=of.operator_name,
    )


def _read(row: Row) -> Takeover:
    return msgspec.convert([bytes(value) if isinstance(value, memoryview) else value for value in row], Takeover)


def _listed(name: str, values: Sequence[str]) -> tuple[str, dict[str, Value]]:
    """Return placeholders for a list, and its values by name."""
    named: dict[str, Value] = {name + "x" * n: value for n, value in enumerate(values, 1)}
    return ", ".join(f":{one}" for one in named), named
