"""Who the admins are, and what each may do: users and their grants, in the database.

Users who sign in by password are made by an owner (the first one on the command line); those of an identity provider by
their first sign-in, and their grants are renewed by each. Nothing is kept in the process: what was taken away is gone on every
instance with the next look.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Sequence
from typing import Literal

import msgspec

from gateway.admin.database import Database, Row, Transaction
from gateway.admin.grants import MOST, rank
from gateway.admin.operations import Disagrees, FieldProblem, Invalid, Missing
from gateway.admin.rights import Grant, Role

Source = Literal["hand", "claims"]

LONGEST_NAME = 100
ACCESS = "access"
"""The topic that tells all instances that somebody may do less, or that a session or token has ended."""
_OWNERS = """SELECT count(*) FROM admin_grants g JOIN admin_users u ON u.id = g.user_id
  WHERE u.removed_ms IS NULL AND g.role = 'owner' AND g.channel = '' AND (g.ends_ms IS NULL OR g.ends_ms > :now)"""
_USERS = "SELECT id, name, password, issuer, created_ms, signed_in_ms FROM admin_users WHERE removed_ms IS NULL"
_GRANTS = """SELECT role, channel, source, ends_ms FROM admin_grants
  WHERE user_id = :user_id AND (ends_ms IS NULL OR ends_ms > :now) ORDER BY channel, source"""
_PUT_GRANT = """INSERT INTO admin_grants (user_id, channel, source, role) VALUES (:user_id, :channel, 'hand', :role)
  ON CONFLICT (user_id, channel, source) DO UPDATE SET role = excluded.role"""
_PUT_CLAIM = """INSERT INTO admin_grants (user_id, channel, source, role, ends_ms)
  VALUES (:user_id, :channel, 'claims', :role, :ends)
  ON CONFLICT (user_id, channel, source) DO UPDATE SET role = excluded.role, ends_ms = excluded.ends_ms"""
SERIALLY = "UPDATE admin_access SET version = version + 1"
"""Waits, at the beginning of a transaction, for whoever else decides on what it reads."""


class HeldGrant(msgspec.Struct, frozen=True, kw_only=True):
    """A grant as it is held: `claims` come from the identity provider, and end if they are not renewed."""

    grant: Grant
    source: Source
    ends_ms: int | None = None


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A user who has not been removed. `issuer`: of the identity provider, None: signs in by password."""

    id: int
    name: str
    issuer: str | None
    has_password: bool
    created_ms: int
    signed_in_ms: int | None
    grants: tuple[HeldGrant, ...]


class Account(msgspec.Struct, frozen=True):
    """What signing in by password needs: the user, and what is kept of the password."""

    user_id: int
    kept: str


def folded(name: str) -> str:
    """Return a name as names are compared: whatever is typed alike is one. Of what is longer than any name, the beginning."""
    return unicodedata.normalize("NFKC", name[: 4 * LONGEST_NAME]).strip().casefold()


class Users:
    """The users, over the admins' database; `clock` gives milliseconds since 1970."""

    def __init__(self, database: Database, *, clock: Callable[[], int]) -> None:
        self._database = database
        self._clock = clock

    async def has_owner(self) -> bool:
        """Whether anybody holds all rights for all of the gateway."""
        async with self._database.reading() as db:
            return await _owners(db, self._clock()) > 0

    async def listed(self, *, after: int, limit: int) -> tuple[User, ...]:
        """Return users by number, from behind `after`."""
        async with self._database.reading() as db:
            rows = await db.rows(f"{_USERS} AND id > :after ORDER BY id LIMIT :most", after=after, most=limit)
            return tuple([await self._user(db, row) for row in rows])

    async def find(self, user_id: int) -> User | None:
        """Return the user; None: there is none of this number, or it was removed."""
        async with self._database.reading() as db:
            rows = await db.rows(f"{_USERS} AND id = :user_id", user_id=user_id)
            return await self._user(db, rows[0]) if rows else None

    async def account(self, name: str) -> Account | None:
        """Return what the password of a name is compared with; None: nobody signs in so."""
        async with self._database.reading() as db:
            rows = await db.rows("SELECT id, password FROM admin_users WHERE folded = :folded", folded=folded(name))
        return Account(int(rows[0][0]), rows[0][1]) if rows and rows[0][1] is not None else None

    async def names(self, user_ids: Collection[int]) -> dict[int, str]:
        """Return the names of users, of removed ones too."""
        async with self._database.reading() as db:
            rows = [
                row
                for user_id in user_ids
                for row in await db.rows("SELECT id, name FROM admin_users WHERE id = :user_id", user_id=user_id)
            ]
        return {int(user_id): name for user_id, name in rows}

    async def add(self, name: str, *, kept: str | None, grants: Sequence[Grant]) -> int:
        """Make a user who signs in by password (`kept`: what is stored of it); returns the number. Raises `Invalid`."""
        _check_name(name)
        now = self._clock()
        async with self._database.writing() as db:
            if await db.rows("SELECT id FROM admin_users WHERE folded = :folded", folded=folded(name)):
                problem = FieldProblem(path="name", value=repr(name), problem="is taken", remedy="choose another")
                raise Invalid(f"name: {name!r} is taken; choose another", problems=(problem,))
            user_id = await _insert(db, name, now=now, kept=kept)
            for grant in grants:
                await _put(db, user_id, grant)
        return user_id

    async def remove(self, user_id: int) -> None:
        """Take all away: rights, password, sessions and tokens end at once. The number is not used again, the name may be; an
        identity provider's user stays out until restored. Raises `Missing`; `Disagrees` for the last owner."""
        now = self._clock()
        async with self._database.writing() as db:
            had_owner = await _decide(db, now)
            gone = """UPDATE admin_users SET removed_ms = :now, folded = NULL, password = NULL
              WHERE id = :user_id AND removed_ms IS NULL"""
            if await db.run(gone, now=now, user_id=user_id) == 0:
                raise missing(user_id)
            await db.run("DELETE FROM admin_grants WHERE user_id = :user_id", user_id=user_id)
            await db.run("DELETE FROM admin_sessions WHERE user_id = :user_id", user_id=user_id)
            revoke = "UPDATE admin_tokens SET revoked_ms = :now WHERE user_id = :user_id AND revoked_ms IS NULL"
            await db.run(revoke, now=now, user_id=user_id)
            await _keep_an_owner(db, now, had_owner=had_owner)
        await self._database.tell(ACCESS)

    async def restore(self, user_id: int) -> None:
        """Let an identity provider's user who was removed sign in again; the claims of then count. Raises `Missing`."""
        back = "UPDATE admin_users SET removed_ms = NULL WHERE id = :user_id AND removed_ms IS NOT NULL AND issuer IS NOT NULL"
        async with self._database.writing() as db:
            if await db.run(back, user_id=user_id) == 0:
                raise Missing(f"user {user_id}: nobody of the identity provider was removed under this number")

    async def grant(self, user_id: int, grant: Grant) -> None:
        """Give a role for a place, in the stead of the one given by hand before. Raises `Missing`; `Invalid` for too many;
        `Disagrees` where it takes the last owner's."""
        async with self._database.writing() as db:
            had_owner = await _decide(db, self._clock())
            if not await db.rows(f"{_USERS} AND id = :user_id", user_id=user_id):
                raise missing(user_id)
            await _put(db, user_id, grant)
            await _keep_an_owner(db, self._clock(), had_owner=had_owner)
            ((held,),) = await db.rows("SELECT count(*) FROM admin_grants WHERE user_id = :user_id", user_id=user_id)
            if held > MOST:
                raise Invalid(f"user {user_id} has {MOST} grants; revoke one first, or grant a role for all channels")
        await self._database.tell(ACCESS)

    async def revoke(self, user_id: int, channel: str | None) -> None:
        """Take away what was given by hand for a place. Raises `Missing`; `Disagrees` where it is the last owner's."""
        taken = "DELETE FROM admin_grants WHERE user_id = :user_id AND channel = :channel AND source = 'hand'"
        async with self._database.writing() as db:
            had_owner = await _decide(db, self._clock())
            if await db.run(taken, user_id=user_id, channel=channel or "") == 0:
                where = "all channels" if channel is None else f"channel {channel!r}"
                raise Missing(
                    f"user {user_id} was given nothing for {where} by hand; what claims give, the provider takes"
                )
            await _keep_an_owner(db, self._clock(), had_owner=had_owner)
        await self._database.tell(ACCESS)

    async def set_password(self, user_id: int, kept: str) -> None:
        """Let the user sign in by another password; all sessions end. Raises `Missing`."""
        set_ = "UPDATE admin_users SET password = :kept WHERE id = :user_id AND removed_ms IS NULL AND issuer IS NULL"
        async with self._database.writing() as db:
            if await db.run(set_, kept=kept, user_id=user_id) == 0:
                raise missing(user_id)
            await db.run("DELETE FROM admin_sessions WHERE user_id = :user_id", user_id=user_id)
        await self._database.tell(ACCESS)

    async def claimed(
        self, issuer: str, subject: str, *, name: str, grants: Sequence[Grant], ends_ms: int
    ) -> int | None:
        """Return the number of an identity provider's user, made if new, called as there, with the grants of now until `ends_ms`;
        None: it was removed here. No grants: none are left of earlier ones, and nobody new is made (None)."""
        now = self._clock()
        whose = "SELECT id, removed_ms FROM admin_users WHERE issuer = :issuer AND subject = :subject"
        name = (
            "".join(letter for letter in name if letter.isprintable()).strip()[:LONGEST_NAME] or subject[:LONGEST_NAME]
        )
        async with self._database.writing() as db:
            await db.run(SERIALLY)
            rows = await db.rows(whose, issuer=issuer, subject=subject)
            if (rows and rows[0][1] is not None) or not (rows or grants):
                return None
            user_id = int(rows[0][0]) if rows else await _insert_claimed(db, name, issuer, subject, now)
            await db.run("UPDATE admin_users SET name = :name WHERE id = :user_id", name=name, user_id=user_id)
            await db.run("DELETE FROM admin_grants WHERE user_id = :user_id AND source = 'claims'", user_id=user_id)
            for grant in sorted(grants, key=lambda one: rank(one.role)):  # of two for one place the stronger counts
                await db.run(_PUT_CLAIM, user_id=user_id, channel=grant.channel or "", role=grant.role, ends=ends_ms)
        await self._database.tell(ACCESS)
        return user_id

    async def signed_in(self, user_id: int) -> None:
        """Note that the user has just signed in."""
        async with self._database.writing() as db:
            now = self._clock()
            await db.run("UPDATE admin_users SET signed_in_ms = :now WHERE id = :user_id", now=now, user_id=user_id)

    async def _user(self, db: Transaction, row: Row) -> User:
        user_id, name, password, issuer, created_ms, signed_in_ms = row
        return User(
            id=int(user_id),
            name=name,
            issuer=issuer,
            has_password=password is not None,
            created_ms=created_ms,
            signed_in_ms=signed_in_ms,
            grants=tuple(
                HeldGrant(grant=grant_of(role, channel), source=source, ends_ms=ends_ms)
                for role, channel, source, ends_ms in await db.rows(_GRANTS, user_id=int(user_id), now=self._clock())
            ),
        )


def grant_of(role: Role, channel: str) -> Grant:
    """Return a stored grant."""
    return Grant(role=role, channel=channel or None)


def missing(user_id: int | str) -> Missing:
    """Return what is raised of a user that there is not."""
    return Missing(
        f"user {user_id}: there is none of this number, or it can't have a password; `users.list` tells who there is"
    )


def _check_name(name: str) -> None:
    if folded(name) and len(name) <= LONGEST_NAME and name == name.strip() and name.isprintable():
        return
    problem, remedy = "is no name for a user", f"1 to {LONGEST_NAME} characters that can be read, no space around them"
    raise Invalid(
        f"name: {problem}; {remedy}",
        problems=(FieldProblem(path="name", value=repr(name[:LONGEST_NAME]), problem=problem, remedy=remedy),),
    )


async def _insert(db: Transaction, name: str, *, now: int, kept: str | None) -> int:
    made = (
        "INSERT INTO admin_users (name, folded, password, created_ms) VALUES (:name, :folded, :kept, :now) RETURNING id"
    )
    ((user_id,),) = await db.rows(made, name=name, folded=folded(name), kept=kept, now=now)
    return int(user_id)


async def _insert_claimed(db: Transaction, name: str, issuer: str, subject: str, now: int) -> int:
    # No `folded`: whatever the provider calls somebody, that takes no name which a password belongs to.
    made = """INSERT INTO admin_users (name, issuer, subject, created_ms)
      VALUES (:name, :issuer, :subject, :now) RETURNING id"""
    ((user_id,),) = await db.rows(made, name=name, issuer=issuer, subject=subject, now=now)
    return int(user_id)


async def _put(db: Transaction, user_id: int, grant: Grant) -> None:
    await db.run(_PUT_GRANT, user_id=user_id, channel=grant.channel or "", role=grant.role)


async def _owners(db: Transaction, now: int) -> int:
    ((count,),) = await db.rows(_OWNERS, now=now)
    return int(count)


async def _decide(db: Transaction, now: int) -> bool:
    """Wait for who else decides on grants, and return whether there is an owner."""
    await db.run(SERIALLY)
    return await _owners(db, now) > 0


async def _keep_an_owner(db: Transaction, now: int, *, had_owner: bool) -> None:
    if had_owner and await _owners(db, now) == 0:
        raise Disagrees("this is the last owner; make another one first")
