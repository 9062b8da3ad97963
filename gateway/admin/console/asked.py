"""From a form's texts to an act's request, and from what is wrong with it to the form. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from gateway.admin.binding import request_of
from gateway.admin.operations import FieldProblem, Invalid, Operation
from gateway.errors import GatewayFault

DAY_MS = 86_400_000


def asked(operation: Operation, /, **values: object) -> msgspec.Struct:
    """Return the operation's request, checked as every door does; what is None or "" counts as left out. Raises `Invalid`."""
    given = {name: value for name, value in values.items() if value not in (None, "")}
    return request_of(operation, given, path={}, strict=False)


def day_ms(field: str, day: str) -> int:
    """Return when a day of UTC begins, written as 2026-11-30. Raises `Invalid` for one that is none."""
    try:
        return int(datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()) * 1000
    except ValueError:
        problem = FieldProblem(path=field, value=day, problem="is no day", remedy="write it as 2026-11-30")
        raise Invalid(f"{field}: {day[:40]!r} is no day; write it as 2026-11-30", problems=(problem,)) from None


def number(field: str, text: str) -> int:
    """Return a number that a page had put into its form. Raises `Invalid` for what is none."""
    if text.isascii() and text.isdigit() and len(text) <= 18:
        return int(text)
    problem = FieldProblem(path=field, value=text[:40], problem="is no number", remedy="open the page again")
    raise Invalid(f"{field}: {text[:40]!r} is no number; open the page again", problems=(problem,))


def problems_of(fault: GatewayFault) -> tuple[FieldProblem, ...]:
    """Return what is wrong, for the top of a form; where no field is at fault, as one problem without a path."""
    named = fault.problems if isinstance(fault, Invalid) else ()
    return named or (FieldProblem(path="", value="", problem=str(fault), remedy=""),)


def error_of(problems: Sequence[FieldProblem], path: str) -> str:
    """Return what is wrong with a field, with its remedy; "": nothing."""
    return next((f"{one.problem}; {one.remedy}" for one in problems if one.path == path), "")
