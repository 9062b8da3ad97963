"""Passwords of users that sign in by one: kept as argon2id (RFC 9106, its second profile: 64 MiB, 3 passes), compared in
the same time whether there is such a user or not.

One at a time: a password costs 64 MiB and some 50 ms, which whoever knocks must not be able to multiply. Strangers stand in a
line of their own, which is short: a flood of them keeps out nobody who has been here before.
"""

from __future__ import annotations

import asyncio
import secrets
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from gateway.admin.operations import FieldProblem, Invalid
from gateway.errors import StoreBusy

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST, LONGEST = 12, 256
MOST_STRANGERS = 200
"""Strangers that wait for their turn at most: of more, none would have it in time."""
_WAIT_S = 10.0


def made_password() -> str:
    """Return a password for somebody to sign in with at first: 120 random bits."""
    return secrets.token_urlsafe(15)


def check_new(password: str, *, name: str, field: str = "password") -> None:
    """Raises `Invalid` for a password that is too easy to guess (NIST SP 800-63B: length counts, kinds of characters don't)."""
    if len(password) < SHORTEST:
        problem, remedy = f"it has {len(password)} characters", f"take at least {SHORTEST}, for example four words"
    elif len(password) > LONGEST:
        problem, remedy = f"it has {len(password):,} characters", f"take at most {LONGEST}"
    elif len(set(password)) < 4:
        problem, remedy = "it repeats itself", "take one with more variety, for example four words"
    elif name and name.casefold() in password.casefold() and len(password) < len(name) + SHORTEST:
        problem, remedy = "it is little more than the user's name", "take one that has nothing to do with the name"
    else:
        return
    raise Invalid(
        f"{field}: {problem}; {remedy}",
        problems=(FieldProblem(path=field, value="***", problem=problem, remedy=remedy),),
    )


class Passwords:
    """Makes and checks what is kept of passwords, off the event loop."""

    def __init__(self, make: Callable[[], PasswordHasher] | None = None) -> None:
        """`make`: another hasher; None: argon2id as told above."""
        self._make = make or _argon2id
        self._made: tuple[PasswordHasher, str] | None = None
        self._strangers, self._known = asyncio.Lock(), asyncio.Lock()
        self._waiting = 0

    @asynccontextmanager
    async def turn(self, *, known: bool) -> AsyncIterator[None]:
        """Wait for the turn to look at a password (`fits`). `known`: who wants in has signed in before in this browser. Raises
        `StoreBusy` when too many others wait."""
        lock = self._known if known else self._strangers
        if not known and self._waiting >= MOST_STRANGERS:
            raise _busy()
        self._waiting += not known
        try:
            async with asyncio.timeout(_WAIT_S):
                await lock.acquire()
        except TimeoutError as exc:
            raise _busy() from exc
        finally:
            self._waiting -= not known
        try:
            yield
        finally:
            lock.release()

    async def kept(self, password: str) -> str:
        """Return what is stored instead of the password. Raises `StoreBusy` when too many others wait."""
        async with self.turn(known=True):
            return await asyncio.to_thread(lambda: self._ready()[0].hash(_typed(password)))

    async def fits(self, password: str, kept: str | None) -> bool:
        """Whether it is the password; `kept` None: it is nobody's, which takes as long to say. Within a `turn`."""
        return await asyncio.to_thread(lambda: self._fits(password[: LONGEST + 1], kept))

    def _fits(self, password: str, kept: str | None) -> bool:
        from argon2.exceptions import InvalidHashError, VerificationError

        hasher, nobodys = self._ready()
        try:
            return hasher.verify(kept or nobodys, _typed(password)) and kept is not None
        except (VerificationError, InvalidHashError):
            return False

    def _ready(self) -> tuple[PasswordHasher, str]:
        """Return the hasher, and what is kept of nobody's password."""
        if self._made is None:
            hasher = self._make()
            self._made = hasher, hasher.hash(secrets.token_urlsafe())
        return self._made


def _busy() -> StoreBusy:
    return StoreBusy("too many passwords are being checked now; try again", retry_after_s=_WAIT_S)


def _typed(password: str) -> bytes:
    """Return a password however a keyboard composes its letters (NIST SP 800-63B, 5.1.1.2)."""
    return unicodedata.normalize("NFKC", password).encode(errors="surrogatepass")


def _argon2id() -> PasswordHasher:
    from argon2 import PasswordHasher  # who never signs in by password does not load it
    from argon2.profiles import RFC_9106_LOW_MEMORY

    return PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
