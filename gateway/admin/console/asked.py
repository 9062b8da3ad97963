"""From a form's texts to an act's request, and from what is wrong with it to the form. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gateway.admin.binding import request_of
from gateway.admin.operations import FieldProblem, Operation


def asked(operation: Operation, /, **values: object) -> msgspec.Struct:
    """Return the operation's request, checked as every door does; what is None or "" counts as left out. Raises `Invalid`."""
    given = {name: value for name, value in values.items() if value not in (None, "")}
    return request_of(operation, given, path={}, strict=False)


def error_of(problems: Sequence[FieldProblem], path: str) -> str:
    """Return what is wrong with a field, with its remedy; "": nothing."""
    return next((f"{one.problem}; {one.remedy}" for one in problems if one.path == path), "")
