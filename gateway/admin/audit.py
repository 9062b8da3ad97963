"""The audit log: who did or saw what, when, by which door, and whether it was refused. Append-only: the database itself
refuses to change or delete an entry that the settings keep.

An entry holds ids, names of settings and counts; no word that was said, no name, no secret. So an erased person leaves nothing
in it but a number.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence

import msgspec

from gateway.admin.database import Database, Row, Transaction, Value, listed
from gateway.admin.operations import Acting, AuditOutcome

LONGEST = 4000
"""Characters of one detail: room for as many ids as one act may name."""
_PAGE = 500
_WRITE = """INSERT INTO admin_audit (at_ms, actor, door, operation, audited, outcome, channel, about)
  VALUES (:at, :actor, :door, :operation, :audited, :outcome, :channel, :about)"""
OLD = "SELECT id FROM admin_audit WHERE at_ms < :before ORDER BY at_ms LIMIT :most"
_COLUMNS = "SELECT id, at_ms, actor, door, operation, audited, outcome, channel, about FROM admin_audit"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One act. `actor`: as in `rights.Actor`; `channel` None: of no single channel. `audited`: `act` for what changes
    something, `look` for what shows people's words. `about`: ids, names of settings and counts."""

    id: str
    at_ms: int
    actor: str
    door: str
    operation: str
    audited: str
    outcome: str
    channel: str | None
    about: dict[str, str | int | None]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries are meant; what is None does not matter. `operation` also fits as the part before the dot. `channels`: of
    these only, and none that are of no single channel."""

    actor: str | None = None
    operation: str | None = None
    outcome: str | None = None
    channel: str | None = None
    channels: frozenset[str] | None = None
    from_ms: int | None = None
    until_ms: int | None = None


class Audit:
    """Implements `AuditLog`, and reads it; `clock` gives milliseconds since 1970, `failed` hears of an entry that could not be
    written."""

    def __init__(
        self, database: Database, *, clock: Callable[[], int], failed: Callable[[], None] = lambda: None
    ) -> None:
        self._database = database
        self._clock = clock
        self._failed = failed

    async def write(self, acting: Acting, *, outcome: AuditOutcome) -> None:
        try:
            await self._write(acting, outcome)
        except Exception:
            self._failed()
            raise

    async def _write(self, acting: Acting, outcome: AuditOutcome) -> None:
        async with self._database.writing() as db:
            await self._add(db, acting, acting.channel, acting.about, outcome)
            for channel, about in acting.each:
                await self._add(db, acting, channel, about, "done")

    async def _add(
        self,
        db: Transaction,
        acting: Acting,
        channel: str | None,
        about: Mapping[str, str | int | None],
        outcome: AuditOutcome,
    ) -> None:
        kept = {name: value[:LONGEST] if isinstance(value, str) else value for name, value in about.items()}
        await db.run(
            _WRITE,
            at=self._clock(),
            actor=acting.actor.id,
            door=acting.actor.door,
            operation=acting.operation.name,
            audited=acting.operation.audited,
            outcome=outcome,
            channel=None if channel is None else channel[:LONGEST],
            about=msgspec.json.encode(kept).decode(),
        )

    async def page(self, asked: Asked, *, before: int | None, limit: int) -> Sequence[Entry]:
        """Return entries from the newest on, those before number `before` only."""
        where, values = _condition(asked)
        if before is not None:
            where, values = f"{where} AND id < :before", values | {"before": before}
        async with self._database.reading() as db:
            rows = await db.rows(f"{_COLUMNS} WHERE {where} ORDER BY id DESC LIMIT :most", most=limit, **values)
        return [_entry(row) for row in rows]

    async def lines(self, asked: Asked) -> AsyncIterator[bytes]:
        """Give all entries that there are by now, the oldest first, one JSON object a line."""
        where, values = _condition(asked)
        last, until = 0, self._clock()
        while True:
            async with self._database.reading() as db:
                rows = await db.rows(
                    f"{_COLUMNS} WHERE {where} AND id > :last AND at_ms <= :now ORDER BY id LIMIT :most",
                    last=last,
                    now=until,
                    most=_PAGE,
                    **values,
                )
            if not rows:
                return
            yield b"".join(msgspec.json.encode(_entry(row)) + b"\n" for row in rows)
            last = int(rows[-1][0])

    async def expire(self, before_ms: int) -> int:
        """Delete what is older than the settings keep; returns how many entries."""
        keep = "UPDATE admin_audit_kept SET from_ms = :before WHERE from_ms < :before"
        async with self._database.writing() as db:
            await db.run(keep, before=before_ms)
        deleted = 0
        while True:
            async with self._database.writing() as db:
                gone = await db.run(f"DELETE FROM admin_audit WHERE id IN ({OLD})", before=before_ms, most=_PAGE)
            deleted += gone
            if gone < _PAGE:
                return deleted


def _condition(asked: Asked) -> tuple[str, dict[str, Value]]:
    parts, values = ["1 = 1"], dict[str, Value]()
    for name in ("actor", "outcome", "channel"):
        if (value := getattr(asked, name)) is not None:
            parts.append(f"{name} = :{name}")
            values[name] = value
    if asked.operation is not None:
        parts.append("(operation = :operation OR substr(operation, 1, length(CAST(:part AS TEXT))) = :part)")
        values |= {"operation": asked.operation, "part": f"{asked.operation}."}
    if asked.channels is not None:
        names, channels = listed(sorted(asked.channels))
        parts.append(f"channel IN ({names})")
        values |= channels
    if asked.from_ms is not None:
        parts.append("at_ms >= :since")
        values["since"] = asked.from_ms
    if asked.until_ms is not None:
        parts.append("at_ms < :until")
        values["until"] = asked.until_ms
    return " AND ".join(parts), values


def _entry(row: Row) -> Entry:
    values = dict(zip(Entry.__struct_fields__, row, strict=True))
    return Entry(**{**values, "id": str(row[0]), "about": msgspec.json.decode(values["about"])})
