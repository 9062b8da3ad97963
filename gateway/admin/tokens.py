"""API tokens: for programs, in a user's name, with some of the user's rights and an end.

A token is `clew_` and 256 random bits, shown once; the table holds their digest. What it may do is looked up with every use,
and is never more than its user may at that moment. A token made with another one ends with that one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from gateway.admin.access import ACCESS, grant_of
from gateway.admin.database import Database, Row, Value
from gateway.admin.grants import merged, narrowed
from gateway.admin.operations import Invalid
from gateway.admin.rights import Actor, DoorName, Grant
from gateway.admin.sessions import digest_of
from gateway.errors import StoreBusy

PREFIX = "clew_"
MOST = 100
"""Living tokens of one user at most."""
_USED_MS = 3_600_000
"""How coarse the time of the last use is."""
_LIVE = """SELECT t.id, t.name, t.user_id, t.grants, t.used_ms, g.role, g.channel FROM admin_tokens t
  LEFT JOIN admin_grants g ON g.user_id = t.user_id AND (g.ends_ms IS NULL OR g.ends_ms > :now)
  WHERE t.digest = :digest AND t.revoked_ms IS NULL AND t.ends_ms > :now
  AND NOT EXISTS (SELECT 1 FROM admin_tokens p WHERE p.id = t.parent_id AND p.revoked_ms IS NOT NULL)"""
_MAKE = """INSERT INTO admin_tokens (digest, name, user_id, parent_id, grants, created_ms, ends_ms)
  VALUES (:digest, :name, :user_id, :parent_id, :grants, :now, :ends) RETURNING id"""
_COLUMNS = "SELECT id, name, user_id, parent_id, grants, created_ms, ends_ms, used_ms FROM admin_tokens"
_LIVING = "revoked_ms IS NULL AND ends_ms > :now"
_REVOKE = """UPDATE admin_tokens SET revoked_ms = :now WHERE revoked_ms IS NULL AND id IN (
  WITH RECURSIVE family (id) AS (SELECT id FROM admin_tokens WHERE id = :id
    UNION SELECT t.id FROM admin_tokens t JOIN family f ON t.parent_id = f.id)
  SELECT id FROM family)"""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token that works. `user_id`: whose, None: of whoever runs the gateway. `grants`: as it was made; it may do less
    where its user may. `used_ms`: within the hour; None: never."""

    id: int
    name: str
    user_id: int | None
    parent_id: int | None
    grants: tuple[Grant, ...]
    created_ms: int
    ends_ms: int
    used_ms: int | None


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A new token; `secret` is nowhere kept."""

    id: int
    secret: str
    ends_ms: int


class Tokens:
    """The tokens, over the admins' database; `clock` gives milliseconds since 1970."""

    def __init__(self, database: Database, *, clock: Callable[[], int]) -> None:
        self._database = database
        self._clock = clock

    async def make(
        self, name: str, *, user_id: int | None, parent: Token | None, grants: Sequence[Grant], ends_ms: int
    ) -> Made:
        """Make a token. One made with another (`parent`) ends no later. Raises `Invalid` when the user has too many."""
        secret, now = PREFIX + secrets.token_urlsafe(32), self._clock()
        ends_ms = ends_ms if parent is None else min(ends_ms, parent.ends_ms)
        async with self._database.writing() as db:
            whose = "user_id IS NULL" if user_id is None else "user_id = :user_id"
            of_user = {} if user_id is None else {"user_id": user_id}
            count = f"SELECT count(*) FROM admin_tokens WHERE {_LIVING} AND {whose}"
            ((living,),) = await db.rows(count, now=now, **of_user)
            if living >= MOST:
                raise Invalid(f"there are {MOST} tokens already; revoke one that nobody uses")
            ((token_id,),) = await db.rows(
                _MAKE,
                digest=digest_of(secret),
                name=name,
                user_id=user_id,
                parent_id=None if parent is None else parent.id,
                grants=msgspec.json.encode(tuple(grants)).decode(),
                now=now,
                ends=ends_ms,
            )
        return Made(id=int(token_id), secret=secret, ends_ms=ends_ms)

    async def actor(self, secret: str, *, door: DoorName = "api") -> Actor | None:
        """Return who shows the token, with what its user still may; None: it is no token, or it has ended."""
        if not secret.startswith(PREFIX):
            return None
        now = self._clock()
        async with self._database.reading() as db:
            rows = await db.rows(_LIVE, digest=digest_of(secret), now=now)
        if not rows:
            return None
        token_id, name, user_id, stored, used_ms, _, _ = rows[0]
        if used_ms is None or now - used_ms > _USED_MS:
            with suppress(StoreBusy):  # no program is refused for a note of when it came
                async with self._database.writing() as db:
                    await db.run("UPDATE admin_tokens SET used_ms = :now WHERE id = :id", now=now, id=token_id)
        grants = msgspec.json.decode(stored, type=tuple[Grant, ...])
        if user_id is not None:
            held = [grant_of(role, channel) for *_, role, channel in rows if role is not None]
            grants = narrowed(grants, held)
        return Actor(id=f"token:{token_id}", name=name, grants=merged(grants), door=door)

    async def find(self, token_id: int) -> Token | None:
        """Return a token; None: there is none of this number, or it has ended."""
        async with self._database.reading() as db:
            rows = await db.rows(f"{_COLUMNS} WHERE id = :id AND {_LIVING}", id=token_id, now=self._clock())
        return _token(rows[0]) if rows else None

    async def listed(
        self, user_id: int | None, *, of: Literal["user", "everybody"] | int, after: int, limit: int
    ) -> list[Token]:
        """Return living tokens by number, from behind `after`: the user's (None: of whoever runs the gateway), everybody's, or of
        a token itself and those made with it."""
        values: dict[str, Value] = {}
        match of:
            case "everybody":
                whose = ""
            case "user" if user_id is None:
                whose = " AND user_id IS NULL"
            case "user":
                whose, values = " AND user_id = :user_id", {"user_id": user_id}
            case token_id:
                whose, values = " AND (id = :token_id OR parent_id = :token_id)", {"token_id": token_id}
        query = f"{_COLUMNS} WHERE {_LIVING} AND id > :after{whose} ORDER BY id LIMIT :most"
        async with self._database.reading() as db:
            rows = await db.rows(query, now=self._clock(), after=after, most=limit, **values)
        return [_token(row) for row in rows]

    async def revoke(self, token_id: int) -> int:
        """End a token and those made with it, on every instance at once; returns how many that were."""
        async with self._database.writing() as db:
            revoked = await db.run(_REVOKE, id=token_id, now=self._clock())
        await self._database.tell(ACCESS)
        return revoked


def _token(row: Row) -> Token:
    values = dict(zip(Token.__struct_fields__, row, strict=True))
    return Token(**{**values, "grants": msgspec.json.decode(values["grants"], type=tuple[Grant, ...])})
