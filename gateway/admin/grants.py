"""What comes of several grants: how far one set reaches into another, and who may hand on what. Pure.

Roles are a chain: each holds all that the ones before it hold (`rights.ROLES`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateway.admin.rights import ROLES, Grant, Role

MOST = 200
"""Grants of one user or token at most."""


def rank(role: Role) -> int:
    """Return the role's place in the chain, the weakest is 0."""
    return ROLES.index(role)


def covers(held: Iterable[Grant], wanted: Grant) -> bool:
    """Whether one of the grants holds all that `wanted` does."""
    return any(
        rank(grant.role) >= rank(wanted.role) and (grant.channel is None or grant.channel == wanted.channel)
        for grant in held
    )


def narrowed(wanted: Sequence[Grant], held: Sequence[Grant]) -> tuple[Grant, ...]:
    """Return what of `wanted` lies within `held`: a token's grants, as far as its maker's reach now."""
    met: dict[str | None, Role] = {}
    for mine in wanted:
        for theirs in held:
            if mine.channel is not None and theirs.channel is not None and mine.channel != theirs.channel:
                continue
            channel = theirs.channel if mine.channel is None else mine.channel
            role = min(mine.role, theirs.role, key=rank)
            if channel not in met or rank(met[channel]) < rank(role):
                met[channel] = role
    return tuple(Grant(role=role, channel=channel) for channel, role in met.items())


def merged(grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """Return one grant for each place, the strongest; none for a channel that the gateway's covers. The gateway's first,
    channels by name."""
    strongest: dict[str | None, Role] = {}
    for grant in grants:
        before = strongest.get(grant.channel)
        if before is None or rank(before) < rank(grant.role):
            strongest[grant.channel] = grant.role
    everywhere = rank(strongest[None]) if None in strongest else -1
    places = sorted(channel for channel, role in strongest.items() if channel is not None and rank(role) > everywhere)
    first = (None,) if None in strongest else ()
    return tuple(Grant(role=strongest[place], channel=place) for place in (*first, *places))
