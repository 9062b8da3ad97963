"""All operations, for who needs no running gateway to know them: the command line, and the proofs."""

from __future__ import annotations

from gateway.admin.acts import access, audit, channels, credentials, settings, takeover, vault
from gateway.admin.operations import Operation

OPERATIONS: tuple[Operation, ...] = (
    *access.OPERATIONS,
    *credentials.OPERATIONS,
    *audit.OPERATIONS,
    *settings.OPERATIONS,
    *vault.OPERATIONS,
    *channels.OPERATIONS,
    *takeover.OPERATIONS,
)
"""One line for each module of `gateway/admin/acts`."""
