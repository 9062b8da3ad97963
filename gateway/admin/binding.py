"""From what a door was handed (path, query, a JSON body, words of the command line) to an operation's request. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from gateway.admin.operations import FieldProblem, Invalid, Operation

_SURROGATE = re.compile("[\ud800-\udfff]")
_AT = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")


def path_fields(operation: Operation) -> tuple[str, ...]:
    """Return the names of the path's `{fields}`, in order."""
    return tuple(re.findall(r"\{(\w+)\}", operation.path))


def in_query(operation: Operation) -> bool:
    """Whether what the path does not hold comes in the query instead of a body."""
    return operation.method in ("GET", "DELETE")


@cache
def fields(operation: Operation) -> Mapping[str, inspect.Field]:
    """Return the request's fields by the names that they have in JSON."""
    told = inspect.type_info(operation.request)
    assert isinstance(told, inspect.StructType)  # noqa: S101  # by the type of `Operation.request`
    return {one.encode_name: one for one in told.fields}


def is_list(field: inspect.Field) -> bool:
    """Whether the field takes several values."""
    kinds = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
    return any(isinstance(kind, inspect.VarTupleType | inspect.ListType) for kind in kinds)


def from_texts(operation: Operation, texts: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the values of a query: of a field that takes several all, else the only one. Raises `Invalid`."""
    values: dict[str, Any] = {}
    for name, text in texts:
        field = _known(operation, name)
        if is_list(field):
            values.setdefault(name, []).append(text)
        elif name in values:
            raise _at(name, text, "is given twice", "give it once")
        else:
            values[name] = text
    return values


def from_body(body: bytes) -> dict[str, Any]:
    """Return the values of a JSON body; of none, none. Raises `Invalid`."""
    if not body:
        return {}
    try:
        values = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise Invalid(f"the body is not JSON ({exc}); send an object of the documented fields") from exc
    if not isinstance(values, dict):
        raise Invalid("the body is not a JSON object; send an object of the documented fields")
    return values


def request_of(
    operation: Operation, values: Mapping[str, Any], *, path: Mapping[str, str], strict: bool
) -> msgspec.Struct:
    """Return the request. `strict` False lets texts stand for numbers and truth values, as in a query; what the path says may
    always. Raises `Invalid`, naming the field."""
    for name in values:
        _known(operation, name)
    told: dict[str, Any] = dict(values)
    for name, text in path.items():
        if name in told and str(told[name]) != text:
            raise _at(name, str(told[name]), f"is not what the path says ({text!r})", "leave it out of the body")
        told[name] = text
    try:
        if strict:
            for name in path:
                told[name] = msgspec.convert(told[name], _annotation(operation, name), strict=False)
        request: msgspec.Struct = msgspec.convert(told, operation.request, strict=strict)
    except msgspec.ValidationError as exc:
        raise _invalid(str(exc), told) from exc
    for name, value in msgspec.structs.asdict(request).items():
        if (problem := _unfit(value)) is not None:
            raise _at(name, _shown(name, value), *problem)
    return request


def _unfit(value: object) -> tuple[str, str] | None:
    """Return what no database takes of a value, and the remedy; None: nothing."""
    match value:
        case int() if abs(value) >= 2**63:
            return "holds a number of more than 64 bits", "write a smaller one"
        case str() if "\0" in value or _SURROGATE.search(value):
            return "holds NUL or half a character", "take it out"
        case dict():
            return next(filter(None, map(_unfit, (*value, *value.values()))), None)
        case list() | tuple():
            return next(filter(None, map(_unfit, value)), None)
        case msgspec.Struct():
            return _unfit(msgspec.structs.asdict(value))
    return None


@cache
def _annotations(request: type[msgspec.Struct]) -> Mapping[str, Any]:
    return {one.encode_name: one.type for one in msgspec.structs.fields(request)}


def _annotation(operation: Operation, name: str) -> Any:
    return _annotations(operation.request)[name]


def _known(operation: Operation, name: str) -> inspect.Field:
    field = fields(operation).get(name)
    if field is None:
        known = ", ".join(fields(operation)) or "none"
        raise _at(name, "", "is not known here", f"fields are: {known}")
    return field


def _invalid(message: str, values: Mapping[str, Any]) -> Invalid:
    found = _AT.search(message)
    path = found["path"] if found else ""
    problem = _AT.sub("", message)
    missing = re.search(r"missing required field `(\w+)`", message)
    if missing:
        path = f"{path}.{missing[1]}" if path else missing[1]
    return _at(path or "(request)", _shown(path, values.get(path)), problem, "see /api/v1/openapi.json")


def _shown(name: str, value: object) -> str:
    """Return a value as it may stand in an error: no secret, and nothing that may have one in it."""
    fit = isinstance(value, str | int | float) and name not in _SECRET
    return repr(value)[:60] if fit else ""


_SECRET = frozenset({"value", "password", "current"})
"""Fields whose values nobody is to read, in whatever request."""


def _at(path: str, value: str, problem: str, remedy: str) -> Invalid:
    told = FieldProblem(path=path, value=value, problem=problem, remedy=remedy)
    return Invalid(f"{path}: {problem}; {remedy}", problems=(told,))
