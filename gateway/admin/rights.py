"""Who may do what: roles, the rights that each holds, and grants of a role for all channels or for one. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

Role = Literal["viewer", "operator", "admin", "owner"]
Right = Literal["see", "read", "handle", "people", "configure", "erase", "audit", "access"]
DoorName = Literal["console", "api", "cli"]

RIGHTS: dict[Role, frozenset[Right]] = {
    "viewer": frozenset({"see"}),
    "operator": frozenset({"see", "read", "handle", "people"}),
    "admin": frozenset({"see", "read", "handle", "people", "configure", "erase", "audit"}),
    "owner": frozenset({"see", "read", "handle", "people", "configure", "erase", "audit", "access"}),
}
"""see: health, figures, settings, which turns there were and why; never a word that was said. read: what people and agents
said. handle: take over, answer by hand, dead letters. people: what memory knows of a person, correct and forget items, link.
configure: settings, secrets, channels. erase: export and erase a person. audit: the audit log. access: users, grants, tokens."""

ROLES: tuple[Role, ...] = ("viewer", "operator", "admin", "owner")


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A role for one channel; None: for all of the gateway, with what belongs to no channel."""

    role: Role
    channel: str | None = None


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """Whoever acts, as the door has made sure of. `id` is `user:N`, `token:N`, or `local` for who may read the database's
    files; it goes into the audit log, `name` is for people."""

    id: str
    name: str
    grants: tuple[Grant, ...]
    door: DoorName


def local(name: str = "local") -> Actor:
    """Return the owner that whoever runs the gateway is to it."""
    return Actor(id="local", name=name, grants=(Grant(role="owner"),), door="cli")


def may(actor: Actor, right: Right, channel: str | None = None) -> bool:
    """Whether the actor holds the right for the channel; `channel` None: for the gateway as a whole."""
    return any(
        right in RIGHTS[grant.role] and (grant.channel is None or grant.channel == channel) for grant in actor.grants
    )


def channels_of(actor: Actor, right: Right) -> frozenset[str] | None:
    """Return the channels for which the actor holds the right; None: all of them."""
    held = [grant.channel for grant in actor.grants if right in RIGHTS[grant.role]]
    return None if None in held else frozenset(channel for channel in held if channel is not None)
