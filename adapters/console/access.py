"""Who may use the chat page. Pure.

Without a token: this machine only. That takes more than a loopback address: a web page elsewhere can point its own host
name at 127.0.0.1 (DNS rebinding), and a proxy on this machine makes everybody look local. With a token: whoever knows it.
Either way a foreign page's form or script must not speak for the person (`Origin`).
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Literal, Protocol
from urllib.parse import urlsplit

Refusal = Literal["not_local", "token_needed", "foreign_page"]
GUESSES_PER_MINUTE = 10
"""Wrong tokens one address may show in a minute. Beyond it none is looked at, the right one neither: else its being taken would
tell a guesser that it is right."""

_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What is known of a request. `remote` is the caller's address behind trusted proxies; `proxied`: somebody says to have
    passed it on; `bearer` and `cookie` are what was shown as the token, or as its cookie."""

    remote: str | None
    host: str | None
    origin: str | None
    site: str | None  # Sec-Fetch-Site
    proxied: bool
    bearer: str | None
    cookie: str | None


class Guesses(Protocol):
    """Counts wrong tokens, wherever they are shown: how often somebody (`who`) errs in a minute."""

    async def free(self, who: str, *, most: int) -> bool:
        """Whether they may err once more. Counts nothing."""
        ...

    async def take(self, who: str, *, most: int) -> bool:
        """Count that they erred, if they may; whether they might."""
        ...


def guesser(remote: str | None) -> str:
    """Return by what a visitor's guesses are counted: the address, of IPv6 the network that is one subscriber's (/64)."""
    try:
        ip = ip_address((remote or "").partition("%")[0])
    except ValueError:
        return "token:unknown"
    if isinstance(ip, IPv6Address):
        return f"token:{ip.ipv4_mapped or ip_network((ip, 64), strict=False)}"
    return f"token:{ip}"


def shows_token(visit: Visit) -> bool:
    """Whether the visitor shows something as the token, so that a wrong one is a guess."""
    return bool(visit.bearer or visit.cookie)


def refusal(visit: Visit, *, token: str | None, public_url: str | None, writes: bool) -> Refusal | None:
    """Return why the visit is refused, None if it is welcome. `writes`: it is about to say something in somebody's name."""
    if token is None:
        if not _local(visit, public_url=public_url):
            return "not_local"
    elif not _knows(visit, token):
        return "token_needed"
    if writes and foreign(visit, public_url=public_url):
        return "foreign_page"
    return None


def foreign(visit: Visit, *, public_url: str | None) -> bool:
    """Whether a page of another origin sends this. Programs that are no browser send no `Origin`, and are not foreign."""
    if visit.site not in (None, "same-origin", "none"):
        return True
    if visit.origin is None:
        return False
    ours = {_netloc(f"//{visit.host or ''}"), _netloc(public_url)}
    return _netloc(visit.origin) not in ours - {None, ""}


def cookie_value(token: str) -> str:
    """Return what the browser keeps instead of the token; another token makes it worthless."""
    return hmac.new(token.encode(), b"clew chat page", sha256).hexdigest()


def same(shown: str, expected: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(shown.encode(errors="replace"), expected.encode())


def _knows(visit: Visit, token: str) -> bool:
    return same(visit.cookie or "", cookie_value(token)) or same(visit.bearer or "", token)


def _local(visit: Visit, *, public_url: str | None) -> bool:
    hosts = _LOCAL_HOSTS | {_host_of(public_url)} if public_url else _LOCAL_HOSTS
    return _loopback(visit.remote) and not visit.proxied and _host_of(f"//{visit.host or ''}") in hosts


def _loopback(address: str | None) -> bool:
    try:
        ip = ip_address((address or "").partition("%")[0])
    except ValueError:
        return False
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


def _netloc(url: str | None) -> str | None:
    try:
        return urlsplit(url or "").netloc
    except ValueError:
        return None


def _host_of(url: str | None) -> str | None:
    try:
        return urlsplit(url or "").hostname
    except ValueError:
        return None
