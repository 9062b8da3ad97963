"""What the console said over the settings file, every time somebody changed it: appended, never altered.

A revision holds the whole overlay, so that each can be laid over the file by itself; going back is a new one with an older
overlay. No secret is in any: they refer to the vault.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from config.overlay import Overlay, Said
from gateway.admin.database import Database, Transaction
from gateway.admin.operations import Disagrees
from gateway.admin.rights import Actor

TOPIC: Final = "settings"
"""What is told when a revision or a secret is new."""

MAX_BYTES: Final = 1_048_576
"""Of one overlay as JSON."""


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """One change. `number` counts from 1; `ms`: when; `digest` is the settings' revision as turns carry it, over the file
    of then."""

    number: int
    author: str
    name: str
    ms: int
    reason: str
    digest: str


_COLUMNS = "number, author, name, ms, reason, digest"
# The number that the change was decided on has to be the newest still; where two agree on that at once, one meets the key.
_PUT = (
    "INSERT INTO settings_revisions (number, author, name, ms, reason, overlay, digest)"
    " SELECT :number, :author, :name, :ms, :reason, :overlay, :digest"
    " WHERE (SELECT COALESCE(MAX(number), 0) FROM settings_revisions) = :expected"
)


class Revisions:
    """The revisions of one database, numbered without a gap."""

    def __init__(self, database: Database, *, clock: Callable[[], int]) -> None:
        self._database = database
        self._clock = clock

    async def newest(self) -> Overlay | None:
        """Return what counts now; None: the console never said anything."""
        return await self._one("ORDER BY number DESC LIMIT 1")

    async def overlay(self, number: int) -> Overlay | None:
        """Return what a revision says; 0 says nothing; None: there is none of the number."""
        return Overlay(number=0, tree={}) if number == 0 else await self._one("WHERE number = :number", number=number)

    async def overlays(self, first: int, last: int) -> dict[int, Overlay]:
        """Return what revisions say, from one number to another, both included."""
        async with self._database.reading() as db:
            rows = await db.rows(
                "SELECT number, overlay FROM settings_revisions WHERE number BETWEEN :first AND :last",
                first=first,
                last=last,
            )
        return {0: Overlay(number=0, tree={})} | {
            number: Overlay(number=number, tree=msgspec.json.decode(overlay)) for number, overlay in rows
        }

    async def before(self, number: int | None, *, limit: int) -> list[Revision]:
        """Return revisions older than `number` (None: the newest too), newest first."""
        where = "" if number is None else "WHERE number < :before "
        values = {} if number is None else {"before": number}
        async with self._database.reading() as db:
            rows = await db.rows(
                f"SELECT {_COLUMNS} FROM settings_revisions {where}ORDER BY number DESC LIMIT :limit",
                limit=limit,
                **values,
            )
        return [_revision(row) for row in rows]

    async def revision(self, number: int) -> Revision | None:
        """Return one; None: there is none of the number."""
        async with self._database.reading() as db:
            rows = await db.rows(f"SELECT {_COLUMNS} FROM settings_revisions WHERE number = :number", number=number)
        return _revision(rows[0]) if rows else None

    async def refers(self, name: str) -> bool:
        """Whether some revision, and so the way back to it, needs the secret of this name."""
        # An underscore stands for any character there: that some secret is kept for nothing does no harm.
        async with self._database.reading() as db:
            found = await db.rows(
                "SELECT 1 FROM settings_revisions WHERE overlay LIKE :said LIMIT 1", said=f'%"vault:{name}"%'
            )
        return bool(found)

    async def put(
        self,
        tree: Mapping[str, Said],
        *,
        expected: int,
        actor: Actor,
        reason: str,
        digest: str,
        beside: Callable[[Transaction, int], Awaitable[None]],
    ) -> Revision:
        """Append a revision that was decided on `expected`, and what `beside` writes as of the same millisecond, as one. Raises
        `Disagrees` when that is not the newest any more, and nothing is written then. All instances are told."""
        revision = Revision(
            number=expected + 1, author=actor.id, name=actor.name, ms=self._clock(), reason=reason, digest=digest
        )
        overlay = msgspec.json.encode(tree).decode()
        values = msgspec.to_builtins(revision)
        try:
            async with self._database.writing() as db:
                if not await db.run(_PUT, overlay=overlay, expected=expected, **values):
                    raise Disagrees(_SINCE.format(expected))
                await beside(db, revision.ms)
        except ValueError:
            raise Disagrees(_SINCE.format(expected)) from None
        await self._database.tell(TOPIC)
        return revision

    async def _one(self, which: str, **values: int) -> Overlay | None:
        async with self._database.reading() as db:
            rows = await db.rows(f"SELECT number, overlay FROM settings_revisions {which}", **values)
        return Overlay(number=rows[0][0], tree=msgspec.json.decode(rows[0][1])) if rows else None


_SINCE = "the settings were changed since revision {}; look at what is new, and decide again"


def _revision(row: tuple[Any, ...]) -> Revision:
    number, author, name, ms, reason, digest = row
    return Revision(number=number, author=author, name=name, ms=ms, reason=reason, digest=digest)
