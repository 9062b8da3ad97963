"""All operations, for who needs no running gateway to know them: the command line, and the proofs."""

from __future__ import annotations

from gateway.admin.acts import access, audit, credentials, takeover
from gateway.admin.operations import Operation

OPERATIONS: tuple[Operation, ...] = (
    *access.OPERATIONS,
    *credentials.OPERATIONS,
    *audit.OPERATIONS,
    *takeover.OPERATIONS,
)
"""One line for each module of `gateway/admin/acts`."""
