"""From a form's texts to an act's request. Pure."""

from __future__ import annotations

import msgspec

from gateway.admin.binding import request_of
from gateway.admin.operations import Operation


def asked(operation: Operation, /, **values: object) -> msgspec.Struct:
    """Return the operation's request, checked as every door does; what is None or "" counts as left out. Raises `Invalid`."""
    given = {name: value for name, value in values.items() if value not in (None, "")}
    return request_of(operation, given, path={}, strict=False)
