"""Secrets that settings refer to as `vault:NAME`: put in, named, taken out, never shown.

Sealed in the admins' database under a key that only the environment holds: who has the database alone has no secret.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from config.vault_key import REMEDY
from gateway.admin.database import Database, Transaction
from gateway.admin.operations import Invalid
from gateway.admin.rights import Actor
from gateway.admin.sealing import Unsealable, seal, under_first, unseal

logger = logging.getLogger(__name__)

MOST: Final = 1_000
"""Secrets at most."""

_PUT = (
    "INSERT INTO vault (name, sealed, author, author_name, ms) VALUES (:name, :sealed, :author, :author_name, :ms)"
    " ON CONFLICT (name) DO UPDATE SET sealed = :sealed, author = :author, author_name = :author_name, ms = :ms"
)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A secret, told by all but what it is. `ms`: when it was put in last, and by whom. `readable`: the key it needs is here."""

    name: str
    ms: int
    author: str
    author_name: str
    readable: bool


class Vault:
    """The secrets of one database. `keys` gives the keys of the moment, none where the environment has none."""

    def __init__(self, database: Database, *, keys: Callable[[], tuple[bytes, ...]], clock: Callable[[], int]) -> None:
        self._database = database
        self._keys = keys
        self._clock = clock

    @property
    def locked(self) -> str | None:
        """Why nothing can be put in; None: it can."""
        if self._keys():
            return None
        return f"secrets can't be stored: there is no key; set CLEW_SECRET_KEY and start again ({REMEDY})"

    def seal(self, secrets: Mapping[str, str]) -> dict[str, bytes]:
        """Return secrets as `write` takes them. Raises `Invalid` where there is no key."""
        if secrets and self.locked is not None:
            raise Invalid(self.locked)
        return {name: seal(name, secret, self._keys()) for name, secret in secrets.items()}

    async def write(self, transaction: Transaction, sealed: Mapping[str, bytes], *, actor: Actor, ms: int) -> None:
        """Put sealed secrets in, as of `ms`, in the place of those of the same names. Raises `Invalid` when they are too many."""
        for name, value in sealed.items():
            await transaction.run(_PUT, name=name, sealed=value, author=actor.id, author_name=actor.name, ms=ms)
        if sealed and int((await transaction.rows("SELECT count(*) FROM vault"))[0][0]) > MOST:
            raise Invalid(f"there are {MOST} secrets; remove those that no setting refers to")

    async def put(self, name: str, secret: str, *, actor: Actor) -> None:
        """Store one secret. Raises `Invalid`."""
        sealed = self.seal({name: secret})
        async with self._database.writing() as db:
            await self.write(db, sealed, actor=actor, ms=self._clock())

    async def drop(self, transaction: Transaction, names: Iterable[str]) -> int:
        """Take secrets out; return how many there were."""
        return sum([await transaction.run("DELETE FROM vault WHERE name = :name", name=name) for name in names])

    async def remove(self, name: str) -> bool:
        """Take one out. False: there is none of the name."""
        async with self._database.writing() as db:
            return await self.drop(db, [name]) > 0

    async def names(self, *, until_ms: int | None = None) -> frozenset[str]:
        """Return the names of the secrets; of those that were put in last at `until_ms` or before."""
        where = "" if until_ms is None else " WHERE ms <= :until"
        values = {} if until_ms is None else {"until": until_ms}
        async with self._database.reading() as db:
            return frozenset(str(row[0]) for row in await db.rows(f"SELECT name FROM vault{where}", **values))

    async def kept(self) -> list[Kept]:
        """Return what there is, by name."""
        async with self._database.reading() as db:
            rows = await db.rows("SELECT name, sealed, author, author_name, ms FROM vault ORDER BY name")
        return [
            Kept(
                name=name,
                ms=ms,
                author=author,
                author_name=author_name,
                readable=_opened(name, bytes(sealed), self._keys()) is not None,
            )
            for name, sealed, author, author_name, ms in rows
        ]

    async def opened(self) -> dict[str, str]:
        """Return the secrets, for the loader alone. One that can't be opened is left out: what refers to it will say so."""
        async with self._database.reading() as db:
            rows = await db.rows("SELECT name, sealed FROM vault")
        found = {name: _opened(name, bytes(sealed), self._keys()) for name, sealed in rows}
        for name in (name for name, secret in found.items() if secret is None):
            logger.warning("a secret can't be opened: its key is not here", extra={"secret": name})
        return {name: secret for name, secret in found.items() if secret is not None}

    async def reseal(self) -> int:
        """Put all that lies under an older key under the first one; return how many that were. Then the old key can go."""
        keys = self._keys()
        if not keys:
            return 0
        async with self._database.reading() as db:
            rows = await db.rows("SELECT name, sealed FROM vault")
        old = {name: bytes(sealed) for name, sealed in rows if not under_first(bytes(sealed), keys)}
        done = 0
        for name, sealed in old.items():
            secret = _opened(name, sealed, keys)
            if secret is None:
                continue
            async with self._database.writing() as db:  # not what somebody has just put in its place
                done += await db.run(
                    "UPDATE vault SET sealed = :fresh WHERE name = :name AND sealed = :sealed",
                    fresh=seal(name, secret, keys),
                    name=name,
                    sealed=sealed,
                )
        return done


def _opened(name: str, sealed: bytes, keys: tuple[bytes, ...]) -> str | None:
    try:
        return unseal(name, sealed, keys)
    except Unsealable:
        return None
