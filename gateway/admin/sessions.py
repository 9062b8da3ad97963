"""Who is signed in to the console: sessions, in the database, so that every instance knows them and ends them at once.

A browser holds 256 random bits; the table holds their digest. A session ends when it rests too long, when its time is over,
when its user is removed or gets another password, and when somebody ends it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from config.admin import AdminSettings
from gateway.admin.access import ACCESS, grant_of
from gateway.admin.database import Database
from gateway.admin.grants import merged
from gateway.admin.rights import Actor
from gateway.errors import StoreBusy

MOST = 20
"""Sessions of one user at most: one more ends the oldest."""
LONGEST_BROWSER = 200
_LIVE = """SELECT s.id, s.user_id, u.name, s.seen_ms, g.role, g.channel FROM admin_sessions s
  JOIN admin_users u ON u.id = s.user_id AND u.removed_ms IS NULL
  LEFT JOIN admin_grants g ON g.user_id = u.id AND (g.ends_ms IS NULL OR g.ends_ms > :now)
  WHERE s.digest = :digest AND s.ends_ms > :now AND s.seen_ms > :idle"""
_BEGIN = """INSERT INTO admin_sessions (digest, user_id, address, browser, created_ms, seen_ms, ends_ms)
  VALUES (:digest, :user_id, :address, :browser, :now, :now, :ends)"""
_OLD = """DELETE FROM admin_sessions WHERE ends_ms <= :now OR seen_ms <= :idle OR (user_id = :user_id AND id NOT IN
  (SELECT id FROM admin_sessions WHERE user_id = :user_id ORDER BY id DESC LIMIT :most))"""
_OF_USER = """SELECT id, user_id, address, browser, created_ms, seen_ms, ends_ms FROM admin_sessions
  WHERE user_id = :user_id AND ends_ms > :now AND seen_ms > :idle ORDER BY id DESC"""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session that is good now."""

    id: int
    user_id: int
    actor: Actor


class Sitting(msgspec.Struct, frozen=True, kw_only=True):
    """A session as its user sees it."""

    id: int
    user_id: int
    address: str
    browser: str
    created_ms: int
    seen_ms: int
    ends_ms: int


def digest_of(secret: str) -> str:
    """Return what is stored of 256 random bits: nobody finds them again by trying, so that a plain hash is enough."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def csrf_of(secret: str) -> str:
    """Return what every form of a session must bring along: only pages that this session was shown hold it."""
    return hmac.new(secret.encode(errors="replace"), b"clew csrf", hashlib.sha256).hexdigest()


class Sessions:
    """The sessions, over the admins' database; `clock` gives milliseconds since 1970."""

    def __init__(self, database: Database, *, settings: Callable[[], AdminSettings], clock: Callable[[], int]) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock

    def _idle(self, now: int) -> int:
        return now - int(self._settings().session_idle_s * 1000)

    async def begin(self, user_id: int, *, address: str, browser: str) -> str:
        """Begin a session, and return what its browser holds: new for every sign-in. Those that have ended go."""
        secret, now = secrets.token_urlsafe(32), self._clock()
        async with self._database.writing() as db:
            await db.run(
                _BEGIN,
                digest=digest_of(secret),
                user_id=user_id,
                address=address,
                browser=browser[:LONGEST_BROWSER],
                now=now,
                ends=now + int(self._settings().session_s * 1000),
            )
            await db.run(_OLD, now=now, idle=self._idle(now), user_id=user_id, most=MOST)
        return secret

    async def current(self, secret: str, *, rests: bool = False) -> Session | None:
        """Return the session that a browser shows; None: there is none, or it has ended. Its rest begins anew, unless it `rests`:
        nobody did anything."""
        now = self._clock()
        async with self._database.reading() as db:
            rows = await db.rows(_LIVE, digest=digest_of(secret), now=now, idle=self._idle(now))
        if not rows:
            return None
        session_id, user_id, name, seen_ms, _, _ = rows[0]
        if (
            not rests and now - seen_ms > min(60.0, self._settings().session_idle_s / 10) * 1000
        ):  # a write for some requests only
            with suppress(StoreBusy):  # nobody is refused for a note of when they were seen
                async with self._database.writing() as db:
                    await db.run("UPDATE admin_sessions SET seen_ms = :now WHERE id = :id", now=now, id=session_id)
        grants = merged(grant_of(role, channel) for *_, role, channel in rows if role is not None)
        actor = Actor(id=f"user:{user_id}", name=name, grants=grants, door="console")
        return Session(id=int(session_id), user_id=int(user_id), actor=actor)

    async def listed(self, user_id: int) -> Sequence[Sitting]:
        """Return the user's sessions, the newest first."""
        now = self._clock()
        async with self._database.reading() as db:
            rows = await db.rows(_OF_USER, user_id=user_id, now=now, idle=self._idle(now))
        fields = Sitting.__struct_fields__
        return [Sitting(**dict(zip(fields, row, strict=True))) for row in rows]

    async def user_of(self, session_id: int) -> int | None:
        """Return whose session it is; None: there is none of this number."""
        async with self._database.reading() as db:
            rows = await db.rows("SELECT user_id FROM admin_sessions WHERE id = :id", id=session_id)
        return int(rows[0][0]) if rows else None

    async def end(self, session_id: int) -> None:
        """End a session, on every instance at once."""
        async with self._database.writing() as db:
            await db.run("DELETE FROM admin_sessions WHERE id = :id", id=session_id)
        await self._database.tell(ACCESS)
