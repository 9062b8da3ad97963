"""How long somebody who signs in by password has to wait after wrong ones. Pure: the clock is passed in.

Counted three ways: for an account from one address, for an address, and for an account from anywhere, whose wait stays short. A
browser in which the account signed in before is counted by itself: guessing, wherever from, must not lock its owner out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from config.admin import SignInSettings

BOUND = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Knock:
    """A try to sign in. `account` is the name as it is compared, whether there is one or not; `device`: a browser that
    proves that the account signed in there before."""

    account: str
    address: str
    device: str | None = None


@dataclass(frozen=True, slots=True)
class _Limit:
    key: tuple[str, ...]
    free: int
    most_s: float


def network_of(address: str) -> str:
    """Return by what an address is counted: of IPv6 the network that is one subscriber's (/64)."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(ip, IPv6Address):
        return str(ip.ipv4_mapped or ip_network((ip, 64), strict=False))
    return str(ip)


class Tries:
    """Wrong passwords, in this process; beyond `bound` counts the oldest are forgotten."""

    def __init__(self, bound: int = BOUND) -> None:
        self._bound = bound
        self._counts: OrderedDict[tuple[str, ...], tuple[int, float]] = OrderedDict()  # how many, when the last one was

    def begin(self, knock: Knock, settings: SignInSettings, *, now_s: float) -> float:
        """Return the seconds to wait; 0: try now. Such a try counts as wrong at once, so that many at the same time are many."""
        limits = tuple(_limits(knock, settings))
        wait_s = max(self._wait_s(limit, settings, now_s) for limit in limits)
        if wait_s == 0:
            for limit in limits:
                self._counts[limit.key] = (self._count(limit.key, settings, now_s) + 1, now_s)
                self._counts.move_to_end(limit.key)
            while len(self._counts) > self._bound:
                self._counts.popitem(last=False)
        return wait_s

    def take_back(self, knock: Knock, settings: SignInSettings, *, right: bool) -> None:
        """Count one less: the try was no wrong password. `right`: it was the right one, and what was wrong before it from
        there counts no more."""
        for limit in _limits(knock, settings):
            count, last_s = self._counts.get(limit.key, (1, 0.0))
            if count <= 1 or (right and limit.key[0] in ("pair", "device")):
                self._counts.pop(limit.key, None)
            else:
                self._counts[limit.key] = (count - 1, last_s)

    def _count(self, key: tuple[str, ...], settings: SignInSettings, now_s: float) -> int:
        count, last_s = self._counts.get(key, (0, now_s))
        return count if now_s - last_s < settings.forget_s else 0

    def _wait_s(self, limit: _Limit, settings: SignInSettings, now_s: float) -> float:
        over = self._count(limit.key, settings, now_s) - limit.free
        if over < 0:
            return 0.0
        wait_s = min(limit.most_s, settings.wait_s * 2.0 ** min(over, 30))
        return max(0.0, self._counts[limit.key][1] + wait_s - now_s)


def _limits(knock: Knock, settings: SignInSettings) -> Iterator[_Limit]:
    if knock.device is not None:
        yield _Limit(("device", knock.account, knock.device), settings.tries, settings.wait_max_s)
        return
    network = network_of(knock.address)
    yield _Limit(("pair", knock.account, network), settings.tries, settings.wait_max_s)
    yield _Limit(("address", network), settings.address_tries, settings.wait_max_s)
    yield _Limit(("account", knock.account), settings.account_tries, settings.account_wait_s)
