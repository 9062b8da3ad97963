"""Settings data against the models: every error in an admin's words, and the rest still usable for the checks that follow."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from config.fields import Shape, settings_shape
from config.marks import Data, Reading
from config.problems import Path, nearest
from config.settings import Settings


def validate(data: Data, reading: Reading) -> Settings | None:
    """Return the settings that `data` says. Errors are added to `reading`; what they touch is left out of what is returned.
    None: too little is left."""
    try:
        return Settings.model_validate(data)
    except ValidationError as exc:
        errors = exc.errors(include_url=False, include_input=False)
    whole = copy.deepcopy(data)
    told: set[Path] = set()
    for error in errors:
        path, shape = _place(error["loc"], whole)
        _drop(data, path)
        if error["type"] in ("union_tag_invalid", "union_tag_not_found", "missing"):
            path = (*path, "kind" if error["type"] != "missing" else str(error["loc"][-1]))
            shape = shape.variant(None).child(path[-1]) if shape is not None else None
        if path not in told:  # a value that may be of several types fails as each of them
            told.add(path)
            problem, remedy = _words(error, path, shape)
            reading.report(path, problem, remedy)
    try:
        return Settings.model_validate(data)
    except ValidationError:
        return None


def _place(loc: Sequence[int | str], data: Any) -> tuple[Path, Shape | None]:
    """Return the path in the file that pydantic's `loc` means: without union tags and other names that nobody wrote."""
    path: Path = ()
    shape: Shape | None = settings_shape()
    for step in loc:
        if shape is not None and shape.variants:
            shape = shape.variant(step)
            continue
        known = isinstance(data, dict) and step in data
        if not known and not (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            break
        path, data = (*path, step), data[step]
        shape = shape.child(step) if shape is not None else None
    return path, shape


def _drop(data: Any, path: Path) -> None:
    """Take the value at `path` out, or the list that it is in, so that the rest can be looked at."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    for step in path[:-1]:
        data = data.get(step) if isinstance(data, dict) else None
    if isinstance(data, dict) and path:
        data.pop(path[-1], None)


def _words(error: ErrorDetails, path: Path, shape: Shape | None) -> tuple[str, str]:
    """Return the problem and the remedy of one of pydantic's errors."""
    kind, limits = error["type"], error.get("ctx", {})
    meaning = shape.info.description if shape is not None and shape.info is not None else None
    if kind == "extra_forbidden":
        return "is no setting here", _known(path)
    if kind in _LIMITS:
        problem, remedy, limit = _LIMITS[kind]
        return problem.format(_plain(limits[limit])), remedy.format(_plain(limits[limit]))
    if kind == "literal_error":
        return "is not one of the choices", f"use {limits['expected']}"
    if kind == "union_tag_invalid":
        return "is no kind of channel", f"use {limits['expected_tags']}"
    if shape is not None and shape.free:
        return "is not a single value", "write a text, a number, true or false"
    if kind in _PLAIN:
        problem, remedy = _PLAIN[kind]
        return problem, remedy if meaning is None else f"{remedy}: {meaning}"
    return error["msg"].removeprefix("Value error, "), "see config/README.md"


def _plain(limit: float) -> str:
    return f"{limit:.0f}" if limit == int(limit) else str(limit)


def _known(path: Path) -> str:
    """Return what may stand where an unknown key was found."""
    shape: Shape | None = settings_shape()
    for step in path[:-1]:
        shape = shape.variant(None).child(step) if shape is not None else None
    names = list(shape.variant(None).fields) if shape is not None else []
    near = nearest(str(path[-1]), names)
    return f"did you mean {near}?" if near else f"known here: {', '.join(names)}"


_LIMITS: Mapping[str, tuple[str, str, str]] = {
    "greater_than_equal": ("is less than {}", "use {} or more", "ge"),
    "greater_than": ("is not more than {}", "use more than {}", "gt"),
    "less_than_equal": ("is more than {}", "use {} or less", "le"),
    "string_too_long": ("is longer than {} characters", "shorten it", "max_length"),
}
_NAME = ("is not a name", "use small letters a-z, digits and -")
_SECTION = ("is not a section", "write its settings below it, indented, as KEY: VALUE")
_PLAIN: Mapping[str, tuple[str, str]] = {
    "missing": ("is required", "set it"),
    "union_tag_not_found": ("is required", "say which kind of channel this is"),
    "string_pattern_mismatch": _NAME,
    "string_too_short": ("is empty", "write something, or remove it"),
    "string_type": ("is not a text", "write a text"),
    "int_parsing": ("is not a whole number", "write digits only"),
    "int_from_float": ("is not a whole number", "write digits only"),
    "int_type": ("is not a whole number", "write digits only"),
    "float_parsing": ("is not a number", "write digits"),
    "float_type": ("is not a number", "write digits"),
    "finite_number": ("is not a finite number", "write digits"),
    "bool_parsing": ("is neither true nor false", "write true or false"),
    "bool_type": ("is neither true nor false", "write true or false"),
    "tuple_type": ("is not a list", "write it in brackets, [a, b], or as lines that begin with -"),
    "dict_type": _SECTION,
    "model_type": _SECTION,
    "model_attributes_type": _SECTION,
}
