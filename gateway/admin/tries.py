"""How long somebody who signs in by password has to wait after wrong ones: on every instance, and through a restart.

Counted three ways: for an account from one address, for an address, and for an account from anywhere, whose wait stays short. A
browser in which the account signed in before is counted by itself: guessing, wherever from, must not lock its owner out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from config.admin import SignInSettings
from gateway.admin.access import SERIALLY
from gateway.admin.database import Database, Transaction, listed

BOUND = 20_000
"""Counts that are kept: beyond them the oldest are forgotten."""
_PUT = """INSERT INTO admin_tries (digest, wrong, last_ms) VALUES (:digest, :wrong, :last)
  ON CONFLICT (digest) DO UPDATE SET wrong = excluded.wrong, last_ms = excluded.last_ms"""
_OLD = """DELETE FROM admin_tries WHERE last_ms <= :before OR last_ms >= :behind OR last_ms <=
  (SELECT last_ms FROM admin_tries ORDER BY last_ms DESC LIMIT 1 OFFSET :bound)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knock:
    """A try to sign in. `account` is the name as it is compared, whether there is one or not; `device`: a browser that
    proves that the account signed in there before."""

    account: str
    address: str
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """How many wrong passwords, and when the last one was."""

    wrong: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class Limit:
    """What is counted by `key`: so many are free, then waits grow up to `most_s`."""

    key: tuple[str, ...]
    free: int
    most_s: float

    @property
    def digest(self) -> str:
        """What is stored of the key: people type passwords into the wrong field."""
        told = "\0".join(self.key).encode(errors="replace")
        return hashlib.sha256(b"clew try\0" + told).hexdigest()


class Tries:
    """Wrong passwords, in the admins' database. Every verb raises `gateway.errors.StoreBusy` when that is away."""

    def __init__(self, database: Database, *, bound: int = BOUND) -> None:
        self._database = database
        self._bound = bound

    async def wait_s(self, knock: Knock, settings: SignInSettings, *, now_ms: int) -> float:
        """Return the seconds to wait; 0: try now. Counts nothing."""
        limits = limits_of(knock, settings)
        async with self._database.reading() as db:
            return waits(limits, await _counts(db, limits), settings, now_ms=now_ms)

    async def begin(self, knock: Knock, settings: SignInSettings, *, now_ms: int) -> float:
        """Return the seconds to wait; 0: try now. Such a try counts as wrong at once, so that many at the same time, on whatever
        instances, are many."""
        limits, forget_ms = limits_of(knock, settings), int(settings.forget_s * 1000)
        async with self._database.writing() as db:
            await db.run(SERIALLY)
            counts = await _counts(db, limits)
            if (wait_s := waits(limits, counts, settings, now_ms=now_ms)) > 0:
                return wait_s
            for limit in limits:
                wrong = _wrong(counts.get(limit.digest), settings, now_ms=now_ms) + 1
                await db.run(_PUT, digest=limit.digest, wrong=wrong, last=now_ms)
            await db.run(_OLD, before=now_ms - forget_ms, behind=now_ms + forget_ms, bound=self._bound)
        return 0

    async def take_back(self, knock: Knock, settings: SignInSettings, *, right: bool) -> None:
        """Count one less: the try was no wrong password. `right`: it was the right one, and what was wrong before it from
        there counts no more."""
        limits = limits_of(knock, settings)
        async with self._database.writing() as db:
            await db.run(SERIALLY)
            counts = await _counts(db, limits)
            for limit in limits:
                count = counts.get(limit.digest, Count(1, 0))
                if count.wrong <= 1 or (right and limit.key[0] in ("pair", "device")):
                    await db.run("DELETE FROM admin_tries WHERE digest = :digest", digest=limit.digest)
                else:
                    await db.run(_PUT, digest=limit.digest, wrong=count.wrong - 1, last=count.last_ms)


async def _counts(db: Transaction, limits: Sequence[Limit]) -> Mapping[str, Count]:
    names, values = listed([limit.digest for limit in limits])
    rows = await db.rows(f"SELECT digest, wrong, last_ms FROM admin_tries WHERE digest IN ({names})", **values)
    return {digest: Count(int(wrong), int(last_ms)) for digest, wrong, last_ms in rows}


def limits_of(knock: Knock, settings: SignInSettings) -> tuple[Limit, ...]:
    """Return by what a try is counted. Pure."""
    if knock.device is not None:
        return (Limit(("device", knock.account, knock.device), settings.tries, settings.wait_max_s),)
    network = network_of(knock.address)
    return (
        Limit(("pair", knock.account, network), settings.tries, settings.wait_max_s),
        Limit(("address", network), settings.address_tries, settings.wait_max_s),
        Limit(("account", knock.account), settings.account_tries, settings.account_wait_s),
    )


def waits(limits: Sequence[Limit], counts: Mapping[str, Count], settings: SignInSettings, *, now_ms: int) -> float:
    """Return the seconds that somebody has to wait for these limits, by the counts under their digests. Pure."""
    return max(_wait_s(limit, counts.get(limit.digest), settings, now_ms=now_ms) for limit in limits)


def _wait_s(limit: Limit, count: Count | None, settings: SignInSettings, *, now_ms: int) -> float:
    over = _wrong(count, settings, now_ms=now_ms) - limit.free
    if count is None or over < 0:
        return 0.0
    wait_s = min(limit.most_s, settings.wait_s * 2.0 ** min(over, 30))
    return max(0.0, wait_s - (now_ms - count.last_ms) / 1000)


def _wrong(count: Count | None, settings: SignInSettings, *, now_ms: int) -> int:
    """Return how many count now. One of a far future is of a clock that was wrong: nobody waits until then."""
    if count is None or abs(now_ms - count.last_ms) >= settings.forget_s * 1000:
        return 0
    return count.wrong


def network_of(address: str) -> str:
    """Return by what an address is counted: of IPv6 the network that is one subscriber's (/64)."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(ip, IPv6Address):
        return str(ip.ipv4_mapped or ip_network((ip, 64), strict=False))
    return str(ip)
