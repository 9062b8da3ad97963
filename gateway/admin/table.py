"""All operations, for who needs no running gateway to know them: the command line, and the proofs."""

from __future__ import annotations

from gateway.admin.acts import (
    access,
    audit,
    channels,
    conversations,
    credentials,
    dead_letters,
    health,
    instances,
    people,
    settings,
    takeover,
    turns,
    usage,
    vault,
)
from gateway.admin.operations import Operation

OPERATIONS: tuple[Operation, ...] = (
    *access.OPERATIONS,
    *credentials.OPERATIONS,
    *audit.OPERATIONS,
    *settings.OPERATIONS,
    *vault.OPERATIONS,
    *channels.OPERATIONS,
    *takeover.OPERATIONS,
    *health.OPERATIONS,
    *instances.OPERATIONS,
    *turns.OPERATIONS,
    *conversations.OPERATIONS,
    *people.OPERATIONS,
    *dead_letters.OPERATIONS,
    *usage.OPERATIONS,
)
"""One line for each module of `gateway/admin/acts`."""
