"""Who acts, and what the audit log would keep: for tests of acts without a gateway."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway.admin.operations import Acting, AuditOutcome
from gateway.admin.rights import Actor, Grant, Role


def actor(*grants: tuple[Role, str | None], name: str = "Ana") -> Actor:
    """Somebody with these roles, each for a channel or (None) for everything."""
    held = tuple(Grant(role=role, channel=channel) for role, channel in grants)
    return Actor(id="user:7", name=name, grants=held, door="api")


OWNER = actor(("owner", None))


@dataclass
class Log:
    """An audit log in memory: (operation, outcome, channel, about)."""

    entries: list[tuple[str, str, str | None, dict[str, str | int | None]]] = field(default_factory=list)

    async def write(self, acting: Acting, *, outcome: AuditOutcome) -> None:
        self.entries.append((acting.operation.name, outcome, acting.channel, dict(acting.about)))
        self.entries += [(acting.operation.name, "done", channel, about) for channel, about in acting.each]
