"""Who is really calling, when proxies stand in between. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
UNKNOWN = "unknown"
"""Stands for an address that can't be told; no address equals it, and no rule may trust it."""


def networks(entries: Sequence[str]) -> tuple[Network, ...]:
    """Return `server.trusted_proxies` as networks; raises `ValueError` naming the entry that is neither address nor network."""
    return tuple(ip_network(entry.strip(), strict=False) for entry in entries)


def trusts(peer: str | None, *, trusted: Sequence[Network]) -> bool:
    """Whether who holds the connection is a trusted proxy, so that what its headers say is so."""
    hop = _address(peer or "")
    return hop is not None and any(hop in network for network in trusted)


def client_ip(peer: str | None, forwarded_for: Sequence[str], *, trusted: Sequence[Network]) -> str:
    """Return the caller's address: the nearest hop that is not a trusted proxy.

    `peer` is who holds the connection, `forwarded_for` the X-Forwarded-For headers in order of arrival. Each proxy appends
    whom it heard, so the list is read from its right end, and only as far as trusted proxies vouch for it: what stands
    further left the caller may have invented. `UNKNOWN` when the vouched-for hop is no address.
    """
    hop = _address(peer or "")
    for entry in reversed([part for header in forwarded_for for part in header.split(",")]):
        if hop is None or not any(hop in network for network in trusted):
            break
        hop = _address(entry)
    return UNKNOWN if hop is None else str(hop)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address in `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]:80`, `fe80::1%eth0`; None for anything else.
    An IPv4 address in IPv6 clothes becomes plain, so that one network entry covers both."""
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
