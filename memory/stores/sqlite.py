"""The memory store on SQLite: one file, nothing to install or start.

Statements run on the event loop: a turn's take less time than handing them to a thread would. Writes wait for `write_turn`,
which the queues' writer on the same file holds around its commits, so that the loop never sits in SQLite's busy handler.
What the statements are stands in the `sqlite_*` modules beside this one; here are transactions and errors.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import TypeVar

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
from memory.errors import StoreUnavailable
from memory.ids import Ids
from memory.ids import now_ms as wall_ms
from memory.key import ConversationKey, Scope
from memory.stores import sqlite_append, sqlite_edit, sqlite_file, sqlite_load, sqlite_scopes
from memory.stores.rows import read_ledger, read_ledgers, storable_struct
from memory.stores.sqlite_browsing import sqlite_browsing
from memory.stores.sqlite_derived import SqliteDerived
from memory.stores.sqlite_file import Synchronous, Translated
from memory.stores.sqlite_persons import sqlite_forgetting, sqlite_links, sqlite_persons, sqlite_purging
from memory.stores.sqlite_rows import FACTS, PROFILE, SUMMARIES, Struct, Table
from memory.stores.sqlite_vectors import SqliteVectors

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

_TABLES = ("scopes", "sessions", "messages", "observed", "summaries", "facts", "profile_items", "persons", "ledgers")

_SAME_FOUR = "user = ? AND channel = ? AND conversation = ? AND chat_type = ?"


class SqliteStore:
    """`memory.base.Store` on one SQLite file; open and close it with `async with`.

    Used on one event loop. `write_turn` is shared by everything in the process that writes to the file, `timeout_s` bounds
    the wait for it and for other processes' locks. `synchronous` FULL keeps every commit through a power cut, NORMAL may
    lose the last ones (the queues on the same file are FULL: what was accepted is answered again). `read_only` opens beside
    a live gateway and leaves everything as it is. The process that writes holds a `memory.stores.lock.StoreLock`.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        ids: Ids,
        write_turn: asyncio.Lock,
        timeout_s: float,
        read_only: bool = False,
        synchronous: Synchronous = "NORMAL",
    ) -> None:
        self._path = Path(path)
        self._ids = ids
        self._write_turn = write_turn
        self._timeout_s = timeout_s
        self._read_only = read_only
        self._synchronous: Synchronous = synchronous
        self._translated = Translated(self._path)
        self._open: sqlite3.Connection | None = None
        self.derived = SqliteDerived(read=self._read, write=self._write, ids=ids)
        self.browsing = sqlite_browsing(self._path, timeout_s=timeout_s)
        self.forgetting = sqlite_forgetting(read=self._read, write=self._write)
        self.links = sqlite_links(write=self._write)
        self.persons = sqlite_persons(read=self._read, write=self._write, settled=self.wipe)
        self._purging = sqlite_purging(write=self._write)
        self.vectors = SqliteVectors(read=self._read, write=self._write)

    async def __aenter__(self) -> SqliteStore:
        if self._read_only:
            self._open = sqlite_file.open_for_reading(self._path, timeout_s=self._timeout_s)
        else:
            self._open = sqlite_file.open_for_writing(
                self._path, timeout_s=self._timeout_s, synchronous=self._synchronous, now_ms=wall_ms()
            )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    @property
    def _db(self) -> sqlite3.Connection:
        if self._open is None:
            raise StoreUnavailable(f"the store on {str(self._path)!r} is closed")
        return self._open

    async def _write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do `work` in one write transaction; nothing of it stays when it raises."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._write_turn.acquire()
        except TimeoutError as exc:
            raise StoreUnavailable(f"{str(self._path)!r} was busy for {self._timeout_s} s") from exc
        try:
            with self._translated:
                return _transaction(self._db, work)
        finally:
            self._write_turn.release()

    async def _read(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do `work` on one moment of the file."""
        with self._translated:
            return _snapshot(self._db, work)

    async def open_scope(self, scope: Scope, *, now_ms: int, agent_change: AgentChange) -> ScopeRow:
        found = await self._read(lambda db: sqlite_scopes.find_scope(db, scope))
        if found is not None:
            return found
        return await self._write(
            lambda db: sqlite_scopes.create_scope(db, scope, ids=self._ids, agent_change=agent_change, now_ms=now_ms)
        )

    async def scope_in_place(self, scope: Scope) -> int | None:
        return await self._read(lambda db: sqlite_scopes.scope_in_place(db, scope))

    async def alias_scope(self, alias: Scope, target_id: int | None) -> None:
        await self._write(lambda db: sqlite_scopes.alias_scope(db, alias, target_id, ids=self._ids, now_ms=wall_ms()))

    async def group_scopes(self, channel: str) -> tuple[GroupScope, ...]:
        return await self._read(lambda db: sqlite_scopes.group_scopes(db, channel))

    async def move_room(self, channel: str, room: str, now_room: str, *, now_ms: int) -> None:
        await self._write(lambda db: sqlite_scopes.move_room(db, channel, room, now_room, ids=self._ids, now_ms=now_ms))

    async def moved_rooms(self) -> tuple[MovedRoom, ...]:
        return await self._read(sqlite_scopes.moved_rooms)

    async def answered(self, scope: Scope, conversation: str | None) -> bool:
        return await self._read(lambda db: sqlite_scopes.answered(db, scope, conversation))

    async def name_changes(self) -> int:
        (changes,) = await self._read(lambda db: db.execute("SELECT value FROM meta WHERE name = 'names'").fetchone())
        return int(changes)

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
        appended = await self._write(
            lambda db: sqlite_append.append(
                db,
                scope_id,
                messages,
                ids=self._ids,
                turn_id=turn_id,
                session=session,
                now_ms=now_ms,
                fence=fence,
                ledger=ledger,
            )
        )
        return appended.rows

    async def load(self, load: Load, *, session_id: str | None = None) -> Loaded:
        return await self._read(lambda db: sqlite_load.load(db, load, session_id=session_id))

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
        appended = await self._write(
            lambda db: sqlite_append.append(
                db,
                scope_id,
                messages,
                ids=self._ids,
                turn_id=turn_id,
                session=session,
                now_ms=load.now_ms,
                fence=fence,
                ledger=None,
            )
        )
        return await self._read(lambda db: sqlite_load.load(db, load, appended=appended))

    async def older(self, owner: Owner, *, session_id: str, before_id: int, limit: int) -> tuple[Message, ...]:
        return await self._read(
            lambda db: sqlite_load.page(db, owner.scope_id, session_id, before_id=before_id, limit=limit)
        )

    async def turn_messages(self, owner: Owner, turn_id: int) -> tuple[Message, ...]:
        return await self._read(lambda db: sqlite_load.turn_messages(db, owner.scope_id, turn_id))

    async def messages_by_id(self, owner: Owner, ids: Sequence[tuple[int, int]]) -> tuple[Message, ...]:
        return await self._read(lambda db: sqlite_edit.messages_by_id(db, owner.scope_id, ids))

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
        await self._write(
            lambda db: sqlite_edit.observe(
                db,
                scope_id,
                key,
                ids=self._ids,
                event_id=event_id,
                text=text,
                speaker_name=speaker_name,
                tokens=tokens,
                now_ms=now_ms,
                keep=keep,
                platform_message_id=platform_message_id,
                person_id=person_id,
            )
        )

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
        return await self._write(
            lambda db: sqlite_edit.edit(
                db, scope_id, platform_message_id, by=by, text=text, tokens=tokens, low_value=low_value, now_ms=now_ms
            )
        )

    async def delete(self, scope_id: int, platform_message_id: str, *, by: ConversationKey, now_ms: int) -> bool:
        return await self._write(lambda db: sqlite_edit.delete(db, scope_id, platform_message_id, by=by, now_ms=now_ms))

    async def end_session(self, scope_id: int, *, now_ms: int) -> bool:
        return await self._write(lambda db: sqlite_append.end_session(db, scope_id, now_ms=now_ms))

    async def put_summary(self, summary: Summary) -> None:
        await self._put(SUMMARIES, [summary])

    async def put_facts(self, facts: Sequence[Fact]) -> None:
        await self._put(FACTS, facts)

    async def put_profile(self, items: Sequence[ProfileItem]) -> None:
        await self._put(PROFILE, items)

    async def _put(self, table: Table[Struct], structs: Sequence[Struct]) -> None:
        rows = [table.values(storable_struct(struct)) for struct in structs]
        await self._write(lambda db: db.executemany(table.put, rows))

    async def save_ledger(self, ledger: Ledger, *, fence: int) -> None:
        await self._write(lambda db: sqlite_append.save_ledger(db, ledger, fence=fence))

    async def ledger(self, turn_id: int) -> Ledger | None:
        row = await self._read(
            lambda db: db.execute("SELECT body FROM ledgers WHERE turn_id = ?", (turn_id,)).fetchone()
        )
        return None if row is None else read_ledger(turn_id, row[0])

    async def ledgers(self, *, after: tuple[int, int], limit: int) -> tuple[tuple[tuple[int, int], Ledger | None], ...]:
        behind = """SELECT created_ms, turn_id, body FROM ledgers WHERE (created_ms, turn_id) > (?, ?)
          ORDER BY created_ms, turn_id LIMIT ?"""
        return await self._read(lambda db: read_ledgers(db.execute(behind, (*after, limit))))

    async def person(self, identity: Identity, *, now_ms: int) -> int:
        found = await self._read(lambda db: sqlite_scopes.find_person(db, identity))
        if found is not None:
            return found
        return await self._write(lambda db: sqlite_scopes.create_person(db, identity, ids=self._ids, now_ms=now_ms))

    async def purge_ledgers(self, *, before_ms: int, limit: int) -> int:
        oldest = "SELECT turn_id FROM ledgers WHERE created_ms < ? ORDER BY created_ms LIMIT ?"
        purge = f"DELETE FROM ledgers WHERE turn_id IN ({oldest})"
        return await self._write(lambda db: db.execute(purge, (before_ms, limit)).rowcount)

    async def purge_messages(self, *, before_ms: int, limit: int) -> int:
        return await self._purging.messages(before_ms=before_ms, limit=limit)

    async def make_room(self, *, now_ms: int) -> None:
        """Do nothing: a file's tables do not come apart by time."""

    async def wipe(self) -> None:
        # The log holds pages as they were before something was erased.
        try:
            async with asyncio.timeout(self._timeout_s), self._write_turn:
                emptied = await asyncio.to_thread(sqlite_file.empty_log, self._path)
        except TimeoutError:
            emptied = False
        if not emptied:
            logger.warning(
                "the write-ahead log could not be emptied; what was erased goes from it when it is next reset"
            )

    async def put_revision(self, revision: str, document: str, *, now_ms: int) -> None:
        put = "INSERT INTO revisions (revision, created_ms, document) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        await self._write(lambda db: db.execute(put, (revision, now_ms, document)))

    async def revision(self, revision: str) -> str | None:
        find = "SELECT document FROM revisions WHERE revision = ?"
        row = await self._read(lambda db: db.execute(find, (revision,)).fetchone())
        return None if row is None else str(row[0])

    async def choose_agent(self, key: ConversationKey, agent: str | None, *, now_ms: int) -> None:
        place = key.columns()[:4]
        if agent is None:
            await self._write(lambda db: db.execute(f"DELETE FROM agent_choices WHERE {_SAME_FOUR}", place))
        else:
            put = (
                "INSERT OR REPLACE INTO agent_choices (user, channel, conversation, chat_type, agent, chosen_ms)"
                " VALUES (?, ?, ?, ?, ?, ?)"
            )
            await self._write(lambda db: db.execute(put, (*place, agent, now_ms)))

    async def chosen_agent(self, key: ConversationKey) -> str | None:
        find = f"SELECT agent FROM agent_choices WHERE {_SAME_FOUR}"
        row = await self._read(lambda db: db.execute(find, key.columns()[:4]).fetchone())
        return None if row is None else str(row[0])

    async def ping(self) -> None:
        beat = "INSERT INTO heartbeat (id, beats) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET beats = beats + 1"
        await self._write(lambda db: db.execute(beat))

    async def schema_version(self) -> int:
        """Return the number of the newest migration applied."""
        return await self._read(sqlite_file.schema_version)

    async def tables(self) -> Sequence[TableSize]:
        """Return how many rows stand in those that grow with the traffic; they are counted, in a thread."""
        return await asyncio.to_thread(sqlite_file.count_rows, self._path, timeout_s=self._timeout_s)

    async def size(self) -> dict[str, int]:
        """Return the number of rows in each table, and the file's `bytes`; reads whole tables, for people who ask."""

        def count(db: sqlite3.Connection) -> dict[str, int]:
            rows = {table: int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in _TABLES}
            (pages,), (page_bytes,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
            return rows | {"bytes": pages * page_bytes}

        return await self._read(count)

    async def backup(self, path: str) -> AsyncIterator[int]:
        """Copy the whole file, the queues' tables too, to `path` while it is in use; yield how many pages are left.

        Must be read to its end, or closed (`aclosing`). Raises FileExistsError rather than overwriting.
        """
        async with aclosing(sqlite_file.copy_file(self._path, Path(path), timeout_s=self._timeout_s)) as steps:
            async for remaining in steps:
                yield remaining


def _transaction(db: sqlite3.Connection, work: Callable[[sqlite3.Connection], Result]) -> Result:
    db.execute("BEGIN IMMEDIATE")
    try:
        result = work(db)
        db.execute("COMMIT")
    except BaseException:
        db.rollback()
        raise
    return result


def _snapshot(db: sqlite3.Connection, work: Callable[[sqlite3.Connection], Result]) -> Result:
    db.execute("BEGIN")
    try:
        return work(db)
    finally:
        if db.in_transaction:
            db.execute("COMMIT")
