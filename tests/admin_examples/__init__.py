"""The smallest sensible request of each act: what a part gives as `EXAMPLES`, else what the request's type needs."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from msgspec import inspect

from gateway.admin.operations import Operation

NOBODY = "987654"
"""What a text is where nothing says which: an id that nothing has."""


def _examples() -> dict[str, dict[str, Any]]:
    """What each part gives as a small request of its acts."""
    found: dict[str, dict[str, Any]] = {}
    for module in pkgutil.iter_modules(__path__):
        found |= importlib.import_module(f"{__name__}.{module.name}").EXAMPLES
    return found


EXAMPLES = _examples()


def _value(kind: inspect.Type) -> Any:
    match kind:
        case inspect.Metadata(type=inner):
            return _value(inner)
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.IntType(ge=least):
            return least or 1
        case inspect.FloatType():
            return 1.0
        case inspect.BoolType():
            return False
        case inspect.StrType():
            return NOBODY
        case inspect.VarTupleType(item_type=item, min_length=least):
            return [_value(item)] * (least or 0)
        case inspect.StructType(fields=fields):
            return {field.encode_name: _value(field.type) for field in fields if field.required}
        case inspect.UnionType(types=types):
            return _value(types[0])
        case _:
            return {}


def example(operation: Operation) -> dict[str, Any]:
    """Return a request: the part's own, else the smallest one there is."""
    made: dict[str, Any] = _value(inspect.type_info(operation.request))
    return made | EXAMPLES.get(operation.name, {})
