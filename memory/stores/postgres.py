"""The memory store on PostgreSQL: any number of gateways on one database.

A turn is two round trips: the person's message with everything its prompt is made of, then the reply. The statements are
in `postgres_turn.py` and `postgres_sql.py`; this is what goes into them and what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import msgspec

from memory.base import (
    AgentChange,
    Fact,
    GroupScope,
    Identity,
    Ledger,
    Load,
    Loaded,
    Message,
    MovedRoom,
    NewMessage,
    Owner,
    ProfileItem,
    ScopeRow,
    SessionRule,
    Summary,
    TableSize,
)
from memory.errors import Fenced, PersonErased, ScopeMoved, StoreUnavailable, UnknownScope
from memory.ids import Ids
from memory.ids import now_ms as wall_ms
from memory.key import ConversationKey, Scope, decode_part, encode_part
from memory.stores import postgres_sql as sql
from memory.stores import postgres_turn as turn_sql
from memory.stores.migrate import check_keys
from memory.stores.postgres_browsing import postgres_browsing
from memory.stores.postgres_derived import PostgresDerived
from memory.stores.postgres_persons import postgres_forgetting, postgres_links, postgres_persons, postgres_purging
from memory.stores.postgres_pool import Database, Refused, Row
from memory.stores.postgres_quarters import drop_old, make_ahead
from memory.stores.postgres_rows import (
    Draft,
    Values,
    five,
    ledger_values,
    load_values,
    loaded,
    messages_in,
    persons_of,
    put_value,
)
from memory.stores.postgres_statement import Statement
from memory.stores.postgres_vectors import PostgresVectors
from memory.stores.rows import identity_columns, read_ledger, read_ledgers, storable, storable_or_none, title_of

_PUT_SUMMARY = sql.put("summaries", Summary.__struct_fields__, owner="scope_id")
_PUT_FACTS = sql.put("facts", Fact.__struct_fields__)
_PUT_PROFILE = sql.put("profile_items", ProfileItem.__struct_fields__)


@dataclass(frozen=True, slots=True)
class _Appended:
    """What an append did: `rows` as asked for, old and new."""

    rows: tuple[Message, ...]
    session_id: str
    opened: bool = False


class PostgresStore:
    """`memory.base.Store` on PostgreSQL. Opened and closed by `async with`; opening brings the schema up to date, but for
    `read_only`, which leaves everything as it is."""

    def __init__(self, dsn: str, *, ids: Ids, pool_size: int, timeout_s: float, read_only: bool = False) -> None:
        """`dsn` is a libpq URL or connection string; `timeout_s` bounds a statement, and a wait for a connection or lock."""
        self._database = Database(dsn, pool_size=pool_size, timeout_s=timeout_s, read_only=read_only)
        self._ids = ids
        self._read_only = read_only
        self.derived = PostgresDerived(self._database, ids=ids)
        self.browsing = postgres_browsing(self._database)
        self.forgetting = postgres_forgetting(self._database)
        self.links = postgres_links(self._database)
        self.persons = postgres_persons(self._database)
        self._purging = postgres_purging(self._database)
        self.vectors = PostgresVectors(self._database)

    async def __aenter__(self) -> PostgresStore:
        async with AsyncExitStack() as opened:
            await opened.enter_async_context(self._database)
            rows = await self._database.fetch(sql.KEY_VERSION)
            check_keys(rows[0][0] if rows else 0)
            if not self._read_only:
                await self.make_room(now_ms=wall_ms())
            opened.pop_all()  # closed by __aexit__
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._database.__aexit__(kind, exc, trace)

    @property
    def warning(self) -> str | None:
        """What takes the second wall away from what is known of people (`postgres_owner.py`); None: nothing."""
        role = self._database.role_over_policies
        if role is None:
            return None
        return f"role {role!r} is above row-level security; let the gateway come as a plain role that owns the database"

    async def open_scope(self, scope: Scope, *, now_ms: int, agent_change: AgentChange) -> ScopeRow:
        names = five(scope.columns())
        rows = await self._database.fetch(sql.FIND_SCOPE, names)
        if not rows:
            new = names | {"id": self._ids.next(), "now_ms": now_ms, "agent_change": agent_change}
            await self._database.fetch(sql.CREATE_SCOPE, new)
            rows = await self._database.fetch(sql.FIND_SCOPE, names)
        id_, title, last_ms, session_id, carry_scope_id, carry_last_id, *root = _kept(rows)
        return ScopeRow(
            id=id_,
            scope=scope,
            root=Scope(*root),
            title=title,
            last_ms=last_ms,
            session_id=session_id,
            carry_scope_id=carry_scope_id,
            carry_last_id=carry_last_id,
        )

    async def scope_in_place(self, scope: Scope) -> int | None:
        rows = await self._database.fetch(sql.IN_PLACE, five(scope.columns()))
        return int(rows[0][0]) if rows else None

    async def alias_scope(self, alias: Scope, target_id: int | None) -> None:
        if target_id is None:
            await self._database.fetch(sql.DROP_ALIAS, five(alias.columns()))
            return
        rows = await self._database.fetch(sql.ALIAS_TARGET, {"target_id": target_id})
        if not rows:
            raise UnknownScope(f"scope {target_id} does not exist; an alias needs a scope to name")
        name = {"id": self._ids.next(), "now_ms": wall_ms(), "target_id": rows[0][0]}
        await self._database.fetch(sql.PUT_ALIAS, five(alias.columns()) | name)

    async def group_scopes(self, channel: str) -> tuple[GroupScope, ...]:
        rows = await self._database.fetch(sql.GROUP_SCOPES, {"channel": encode_part(channel, name="channel")})
        return tuple(
            GroupScope(scope=Scope(*named), root_id=root_id, last_ms=last_ms, active=active, alias=alias)
            for root_id, last_ms, active, alias, *named in rows
        )

    async def move_room(self, channel: str, room: str, now_room: str, *, now_ms: int) -> None:
        place = {
            "channel": encode_part(channel, name="channel"),
            "room": encode_part(room, name="room"),
            "now_room": encode_part(now_room, name="room"),
        }
        if room == now_room:
            return
        rows = await self._database.fetch(sql.NAMES_IN_ROOM, place)
        names = [
            {"id": self._ids.next(), "alias_of": root_id}
            | five((user, place["channel"], conversation, chat_type, agent))
            for root_id, user, conversation, chat_type, agent in rows
        ]
        values = place | {"names": msgspec.json.encode(names).decode(), "now_ms": now_ms}
        await self._database.fetch(sql.MOVE_ROOM, values)

    async def moved_rooms(self) -> tuple[MovedRoom, ...]:
        return tuple(
            MovedRoom(
                channel=decode_part(channel), room=decode_part(room), now_room=decode_part(now_room), moved_ms=moved_ms
            )
            for channel, room, now_room, moved_ms in await self._database.fetch(sql.MOVED_ROOMS)
        )

    async def answered(self, scope: Scope, conversation: str | None) -> bool:
        place = {
            "channel": scope.channel, "conversation": scope.conversation, "user": scope.user, "chat_type": scope.chat_type,
            "within": conversation,
        }  # fmt: skip
        ((found,),) = await self._database.fetch(sql.ANSWERED, place)
        return bool(found)

    async def name_changes(self) -> int:
        rows = await self._database.fetch(sql.NAME_CHANGES)
        return int(rows[0][0])

    async def append(
        self,
        scope_id: int,
        messages: Sequence[NewMessage],
        *,
        turn_id: int,
        session: SessionRule,
        now_ms: int,
        fence: int,
        ledger: Ledger | None = None,
    ) -> tuple[Message, ...]:
        appended = await self._append(
            scope_id, messages, turn_id=turn_id, session=session, now_ms=now_ms, fence=fence, ledger=ledger
        )
        return appended.rows

    async def load(self, load: Load, *, session_id: str | None = None) -> Loaded:
        return await self._load(load, session_id=session_id)

    async def append_and_load(
        self,
        scope_id: int,
        messages: Sequence[NewMessage],
        load: Load,
        *,
        turn_id: int,
        session: SessionRule,
        fence: int,
    ) -> Loaded:
        if not messages:
            return await self.load(load)
        draft = Draft(messages, ids=self._ids, scope_id=scope_id, turn_id=turn_id, now_ms=load.now_ms)
        values = load_values(load) | draft.values(session, fence=fence)
        try:
            rows = await self._database.fetch(turn_sql.APPEND_AND_LOAD, values)
        except Refused:
            # Repeated, or a part cannot be read: the append alone decides which, and it is the law.
            appended = await self._append(
                scope_id, messages, turn_id=turn_id, session=session, now_ms=load.now_ms, fence=fence, ledger=None
            )
            rest = await self._load(
                load, session_id=appended.session_id, before_id=min(row.id for row in appended.rows)
            )
            return msgspec.structs.replace(rest, appended=appended.rows, session_opened=appended.opened)
        if not rows:
            await self._refuse(scope_id, persons_of(messages), fence=fence)
        lift, session_id, opened, generation, *parts = rows[0]
        return loaded(
            load,
            dict(zip(turn_sql.PARTS, parts, strict=True)),
            session_id=session_id,
            generation=generation,
            opened=opened,
            appended=draft.stored(session_id=session_id, lift=lift),
        )

    async def older(self, owner: Owner, *, session_id: str, before_id: int, limit: int) -> tuple[Message, ...]:
        values = {"scope_id": owner.scope_id, "session_id": session_id, "before_id": before_id, "limit": limit}
        return await self._messages(sql.OLDER, values)

    async def turn_messages(self, owner: Owner, turn_id: int) -> tuple[Message, ...]:
        return await self._messages(sql.OF_TURN, {"scope_id": owner.scope_id, "turn_id": turn_id})

    async def messages_by_id(self, owner: Owner, ids: Sequence[tuple[int, int]]) -> tuple[Message, ...]:
        asked = sorted(set(ids))
        values = {
            "scope_id": owner.scope_id,
            "ids": [id_ for id_, _ in asked],
            "versions": [version for _, version in asked],
        }
        return await self._messages(sql.BY_ID, values)

    async def observe(
        self,
        scope_id: int,
        key: ConversationKey,
        *,
        event_id: int,
        text: str,
        speaker_name: str,
        tokens: int,
        now_ms: int,
        keep: int,
        platform_message_id: str | None = None,
        person_id: int | None = None,
    ) -> None:
        values = {
            "scope_id": scope_id,
            "id": self._ids.next(),
            "event_id": event_id,
            "text": storable(text),
            "speaker_name": storable(speaker_name),
            "tokens": tokens,
            "now_ms": now_ms,
            "platform_message_id": storable_or_none(platform_message_id),
            "person_id": person_id,
        }
        if not await self._database.fetch(sql.OBSERVE, values | five(key.columns())):
            raise UnknownScope(f"scope {scope_id} does not exist; open it first")
        await self._database.fetch(sql.FORGET_OBSERVED, {"scope_id": scope_id, "keep": keep})

    async def edit(
        self,
        scope_id: int,
        platform_message_id: str,
        *,
        by: ConversationKey,
        text: str,
        tokens: int,
        low_value: bool,
        now_ms: int,
    ) -> bool:
        values = _meant(scope_id, platform_message_id, by=by) | {
            "text": storable(text),
            "title": title_of(storable(text)),
            "tokens": tokens,
            "low_value": low_value,
            "now_ms": now_ms,
        }
        return await self._told_in_place(sql.EDIT, values)

    async def delete(self, scope_id: int, platform_message_id: str, *, by: ConversationKey, now_ms: int) -> bool:
        values = _meant(scope_id, platform_message_id, by=by) | {"now_ms": now_ms}
        return await self._told_in_place(sql.DELETE, values)

    async def end_session(self, scope_id: int, *, now_ms: int) -> bool:
        return await self._told(sql.END_SESSION, {"scope_id": scope_id, "now_ms": now_ms})

    async def put_summary(self, summary: Summary) -> None:
        await self._database.fetch(_PUT_SUMMARY, {"rows": put_value([summary]), "owners": []})

    async def put_facts(self, facts: Sequence[Fact]) -> None:
        await self._database.fetch(_PUT_FACTS, {"rows": put_value(facts), "owners": [row.person_id for row in facts]})

    async def put_profile(self, items: Sequence[ProfileItem]) -> None:
        await self._database.fetch(_PUT_PROFILE, {"rows": put_value(items), "owners": [row.person_id for row in items]})

    async def save_ledger(self, ledger: Ledger, *, fence: int) -> None:
        persons = [] if ledger.person_id is None else [ledger.person_id]
        values = ledger_values(ledger) | {"fence": fence, "persons": persons}
        if not await self._database.fetch(turn_sql.SAVE_LEDGER, values):
            await self._refuse(ledger.scope_id, persons, fence=fence)

    async def ledger(self, turn_id: int) -> Ledger | None:
        rows = await self._database.fetch(sql.LEDGER, {"turn_id": turn_id})
        return read_ledger(turn_id, rows[0][0]) if rows else None

    async def ledgers(self, *, after: tuple[int, int], limit: int) -> tuple[tuple[tuple[int, int], Ledger | None], ...]:
        values = {"made_ms": after[0], "turn_id": after[1], "limit": limit}
        return read_ledgers(await self._database.fetch(sql.LEDGERS, values))

    async def person(self, identity: Identity, *, now_ms: int) -> int:
        kind, tenant, account = identity_columns(identity)
        names = {"kind": kind, "tenant": tenant, "account": account}
        rows = await self._database.fetch(sql.PERSON, names)
        if not rows:
            await self._database.fetch(sql.CREATE_PERSON, names | {"id": self._ids.next(), "now_ms": now_ms})
            rows = await self._database.fetch(sql.PERSON, names)
        return int(_kept(rows)[0])

    async def purge_ledgers(self, *, before_ms: int, limit: int) -> int:
        dropped = await drop_old(self._database, before_ms=before_ms)
        rows = await self._database.fetch(sql.PURGE_LEDGERS, {"before_ms": before_ms, "limit": limit})
        return dropped + int(rows[0][0])

    async def purge_messages(self, *, before_ms: int, limit: int) -> int:
        return await self._purging.messages(before_ms=before_ms, limit=limit)

    async def make_room(self, *, now_ms: int) -> None:
        await make_ahead(self._database, now_ms=now_ms)

    async def wipe(self) -> None:
        """Do nothing: what is gone from the rows leaves the pages with the server's next VACUUM, which is its own business."""

    async def put_revision(self, revision: str, document: str, *, now_ms: int) -> None:
        values = {"revision": revision, "document": storable(document), "now_ms": now_ms}
        await self._database.fetch(sql.PUT_REVISION, values)

    async def revision(self, revision: str) -> str | None:
        rows = await self._database.fetch(sql.REVISION, {"revision": revision})
        return rows[0][0] if rows else None

    async def choose_agent(self, key: ConversationKey, agent: str | None, *, now_ms: int) -> None:
        values = five(key.columns()) | {"agent": agent, "now_ms": now_ms}
        await self._database.fetch(sql.UNCHOOSE_AGENT if agent is None else sql.CHOOSE_AGENT, values)

    async def chosen_agent(self, key: ConversationKey) -> str | None:
        rows = await self._database.fetch(sql.CHOSEN_AGENT, five(key.columns()))
        return rows[0][0] if rows else None

    async def ping(self) -> None:
        await self._database.fetch(sql.PING)

    async def schema_version(self) -> int:
        """Return the number of the newest migration applied."""
        rows = await self._database.fetch(sql.SCHEMA_VERSION)
        return int(rows[0][0])

    async def tables(self) -> Sequence[TableSize]:
        rows = await self._database.fetch(sql.TABLE_SIZES)
        return [TableSize(name=name, rows=live, dead=dead, bytes=size) for name, live, dead, size in rows]

    async def size(self) -> dict[str, int]:
        """Return the number of rows in each table, and the database's `bytes`; reads whole tables, for people who ask."""
        size, *counts = (await self._database.fetch(sql.SIZE))[0]
        return dict(zip(sql.TABLES, counts, strict=True)) | {"bytes": size}

    async def _append(
        self,
        scope_id: int,
        messages: Sequence[NewMessage],
        *,
        turn_id: int,
        session: SessionRule,
        now_ms: int,
        fence: int,
        ledger: Ledger | None,
    ) -> _Appended:
        if not messages:
            return _Appended((), "")
        draft = Draft(messages, ids=self._ids, scope_id=scope_id, turn_id=turn_id, now_ms=now_ms)
        statement, values = turn_sql.APPEND, draft.values(session, fence=fence)
        if ledger is not None:
            statement, values = turn_sql.APPEND_WITH_LEDGER, values | ledger_values(ledger)
        try:
            rows = await self._database.fetch(statement, values)
        except Refused as exc:
            if exc.constraint != turn_sql.REPEATED:
                raise
            return await self._repeat(
                scope_id, messages, turn_id=turn_id, session=session, now_ms=now_ms, fence=fence, ledger=ledger
            )
        if not rows:
            await self._refuse(scope_id, persons_of(messages), fence=fence)
        lift, session_id, opened = rows[0]
        return _Appended(draft.stored(session_id=session_id, lift=lift), session_id, opened)

    async def _repeat(
        self, scope_id: int, messages: Sequence[NewMessage], *, turn_id: int, fence: int, **rest: Any
    ) -> _Appended:
        """Find the rows that an earlier try has stored, and append what it has not."""
        values = {"scope_id": scope_id, "turn_id": turn_id, "fence": fence}
        stored = {(row.event_id, row.role): row for row in await self._messages(turn_sql.REPEAT, values)}
        session_id = min(stored.values(), key=lambda row: row.id).session_id
        fresh = [item for item in messages if (item.event_id, item.role) not in stored]
        if fresh:
            added = await self._append(scope_id, fresh, turn_id=turn_id, fence=fence, **rest)
            stored |= {(row.event_id, row.role): row for row in added.rows}
        return _Appended(tuple(stored[item.event_id, item.role] for item in messages), session_id)

    async def _refuse(self, scope_id: int, persons: Sequence[int], *, fence: int) -> None:
        """Say why a write of a turn found no scope to write to."""
        rows = await self._database.fetch(turn_sql.FENCE, {"scope_id": scope_id})
        if not rows:
            raise UnknownScope(f"scope {scope_id} does not exist; open it first")
        erased = await self._database.fetch(turn_sql.ERASED, {"persons": list(persons)})
        if erased:
            raise PersonErased(
                f"person {erased[0][0]} was erased; nothing is stored for them, look their account up again"
            )
        alias_of = rows[0][1]
        if alias_of is not None and fence >= rows[0][0]:
            raise ScopeMoved(f"scope {scope_id} is a name of scope {alias_of} now; look it up again")
        raise Fenced(
            f"fence {fence} is older than {rows[0][0]}: another owner has taken scope {scope_id}; stop this turn"
        )

    async def _load(self, load: Load, *, session_id: str | None, before_id: int | None = None) -> Loaded:
        values = load_values(load, session_id=session_id, before_id=before_id)
        try:
            rows = await self._database.fetch(turn_sql.LOAD, values)
        except Refused:
            return await self._load_apart(load, values)
        if not rows:
            return Loaded()
        session, generation, *parts = rows[0]
        return loaded(
            load, dict(zip(turn_sql.PARTS, parts, strict=True)), session_id=session or "", generation=generation
        )

    async def _load_apart(self, load: Load, values: Values) -> Loaded:
        """Read part by part, so that what cannot be read costs itself only."""

        async def rows(statement: Statement) -> list[Row] | None:
            try:
                return await self._database.fetch(statement, values)
            except Refused:
                return None

        head = await rows(turn_sql.HEAD)
        session_id, generation, carry_scope_id = head[0] if head else (values["session_id"], None, None)
        wanted = [name for name in turn_sql.ALONE if name not in ("carried", "handover") or carry_scope_id is not None]
        found = {name: await rows(turn_sql.ALONE[name]) for name in wanted}
        return loaded(
            load,
            {name: part[0][0] if part else None for name, part in found.items()},
            session_id=session_id or "",
            generation=generation,
            failed=[name for name, part in found.items() if part is None],
        )

    async def _messages(self, statement: Statement, values: Values) -> tuple[Message, ...]:
        """Return the messages that a statement aggregates newest first, oldest first."""
        rows = await self._database.fetch(statement, values)
        return messages_in(rows[0][0])

    async def _told_in_place(self, statement: Statement, values: Values) -> bool:
        """Change a message in each scope of its place that has it, scope by scope: whoever is cut off calls again."""
        names = ("scope_id", "platform_message_id")
        scopes = await self._database.fetch(sql.PLACE, {name: values[name] for name in names})
        return True in [await self._changed(statement, values | {"scope_id": id_}) for (id_,) in scopes]

    async def _changed(self, statement: Statement, values: Values) -> bool:
        async with self._database.transaction() as transaction:
            meant = await transaction.fetch(sql.LOCK_MEANT, values)
            if meant:
                await transaction.name_owners(values["scope_id"], [id_ for (id_,) in meant])
            return bool((await transaction.fetch(statement, values))[0][0])

    async def _told(self, statement: Statement, values: Values) -> bool:
        return bool((await self._database.fetch(statement, values))[0][0])


def _meant(scope_id: int, platform_message_id: str, *, by: ConversationKey) -> Values:
    user, _, conversation, *_ = by.columns()
    return {
        "scope_id": scope_id,
        "platform_message_id": storable(platform_message_id),
        "user": user,
        "room": conversation.partition("/")[0],
    }


def _kept(rows: Sequence[Row]) -> Row:
    """Return the row that was just made. A server that commits before it has written may end and have lost it."""
    if not rows:
        raise StoreUnavailable("PostgreSQL has lost what was just made: it ended before it had written that")
    return rows[0]
