"""A section of the settings as a form: each setting with its type, bounds, meaning, default, what is written, what applies, and
where that comes from. Made from the models, so that no second list of settings can disagree. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import PydanticUndefined

from config.effective import LayerName, Origin, kind_defaults
from config.fields import Shape, settings_shape
from config.loader import Configuration
from config.overlay import FILE_ONLY
from config.problems import path_text
from config.written import leaves, written

Kind = Literal["text", "secret", "url", "whole", "number", "truth", "choice", "list", "free", "section", "map"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One setting. `kind` is a list's or map's own, `item` that of what it holds. `minimum` and `maximum` count themselves, but
    where `above` or `below` says not. `default` is what applies where nobody writes anything; `written` whether this very
    place says it, as `value`; `effective` what applies, and `origin` by whose word. Secrets are told by their references.
    `fields` are a section's, `keys` what a map holds."""

    name: str
    path: str
    kind: Kind
    item: Kind | None = None
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: bool = False
    below: bool = False
    longest: int | None = None
    pattern: str | None = None
    unit: str | None = None
    required: bool = False
    optional: bool = False
    default: Any = None
    description: str = ""
    written: bool = False
    value: Any = None
    effective: Any = None
    origin: str = ""
    fields: tuple[Field, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What a form is filled with. `values` are written ones, `mentioned` their paths and what stands above them, `applied` what
    applies, `origins` by path in the settings."""

    configuration: Configuration
    values: Mapping[tuple[str, ...], Any]
    mentioned: frozenset[tuple[str, ...]]
    applied: Mapping[tuple[str, ...], Any]
    origins: Mapping[tuple[str, ...], Origin]
    layered: tuple[str, ...] | None  # the place whose settings are layered
    defaults: Mapping[str, Any]


def form_of(configuration: Configuration, path: tuple[str, ...], *, kind: str | None = None) -> Field:
    """Return the form of the setting or section at `path`; of one that is not there yet the empty form. `kind` is a channel's
    that is to be added.

    Raises KeyError where no setting can be.
    """
    data = written(configuration)
    shape: Shape = settings_shape()
    there: Any = data
    for step in path:
        found = shape.child(step)
        if found is None:
            raise KeyError(path)
        there = there.get(step) if isinstance(there, dict) else None
        shape = found
        if shape.variants:
            chosen = kind if there is None else there.get("kind")
            if chosen not in shape.variants:
                raise KeyError(path)
            shape = shape.variant(chosen)
    return _field(path, shape, _told(configuration, data, path))


def kinds() -> tuple[str, ...]:
    """Return the kinds of channels there are."""
    channel = settings_shape().fields["channels"].item
    return tuple(channel.variants) if channel is not None else ()


def sections() -> tuple[str, ...]:
    """Return the top-level sections that can be changed without the file."""
    return tuple(name for name in settings_shape().fields if (name,) not in FILE_ONLY)


def _told(configuration: Configuration, data: dict[str, Any], path: tuple[str, ...]) -> _Told:
    # Not of all rooms that there are: what applies in a place comes from its layers.
    own = path[0] == "channels" and len(path) > 1 if path else False
    near: Any = {path[0]: {path[1]} if own else True} if path else None
    far: Any = {"channels": {path[1]: {"rooms"}}} if own else None
    applied = dict(leaves(configuration.settings.model_dump(mode="json", include=near, exclude=far)))
    origins: dict[tuple[str, ...], Origin] = {}
    place = _place(path)
    defaults: Mapping[str, Any] = {}
    if place is not None and place[1] in configuration.settings.channels:
        root, name, room, thread = place
        effective = configuration.effective(name, room, thread).model_dump(mode="json")
        applied |= {(*root, *here): value for here, value in leaves(effective)}
        for dotted, origin in configuration.origins(name, room, thread).items():
            origins[*root, *dotted.split(".")] = origin
        defaults = kind_defaults(type(configuration.settings.channels[name]))
    values = dict(leaves(data))
    return _Told(
        configuration=configuration,
        values=values,
        mentioned=frozenset(here[:n] for here in values for n in range(len(here) + 1)),
        applied=applied,
        origins=origins,
        layered=None if place is None else place[0],
        defaults=defaults,
    )


def _place(path: tuple[str, ...]) -> tuple[tuple[str, ...], str, str | None, str | None] | None:
    """Return the path, channel, room and thread of the place whose settings a form shows; None: they are nobody's own."""
    match path:
        case ("channels", name, "rooms", room, "threads", thread, *_):
            return path[:6], name, room, thread
        case ("channels", name, "rooms", room, *_):
            return path[:4], name, room, None
        case ("channels", name, *_):
            return path[:2], name, None, None
    return None


def _field(path: tuple[str, ...], shape: Shape, told: _Told) -> Field:
    info = shape.info
    common: dict[str, Any] = {
        "name": path[-1] if path else "",
        "path": path_text(path),
        "optional": shape.optional,
        "description": (info.description if info is not None else None) or "",
        "required": info is not None and info.is_required(),
    }
    if shape.kind == "section":
        fields = tuple(_field((*path, name), child, told) for name, child in shape.fields.items())
        return Field(kind="section", fields=fields, written=path in told.mentioned, **common)
    if shape.kind == "map" and shape.item is not None and shape.item.kind == "section":
        keys = dict.fromkeys(here[len(path)] for here in told.values if here[: len(path)] == path and here != path)
        return Field(kind="map", keys=tuple(keys), item="section", written=bool(keys), **common)
    secret = shape.secret or (shape.item is not None and shape.item.secret)
    return Field(
        kind="map" if shape.kind == "map" else "list" if shape.kind == "list" else _kind(shape),
        item=_kind(shape.item) if shape.item is not None else None,
        choices=_choices(shape.item or shape),
        **_bounds(shape),
        unit=_unit(path[-1], shape),
        default=_default(path, shape, told),
        written=path in told.mentioned,
        value=_at(path, shape, told.values),
        effective=_at(path, shape, told.values if secret else told.applied),
        origin=str(_origin(path, told)),
        **common,
    )


def _at(path: tuple[str, ...], shape: Shape, values: Mapping[tuple[str, ...], Any]) -> Any:
    """Return the value at `path`; of a map what it holds; None: nothing."""
    if shape.kind != "map" or path in values:
        return values.get(path)
    return {here[-1]: value for here, value in values.items() if here[:-1] == path} or None


def _kind(shape: Shape) -> Kind:
    if shape.secret:
        return "secret"
    if shape.url:
        return "url"
    if shape.free:
        return "free"
    if shape.types and all(isinstance(choice, str) for choice in shape.types):
        return "choice"
    names: dict[object, Kind] = {bool: "truth", int: "whole", float: "number"}
    return names.get(shape.types[0] if shape.types else str, "text")


def _choices(shape: Shape) -> tuple[str, ...]:
    return tuple(str(choice) for choice in shape.types) if _kind(shape) == "choice" else ()


def _bounds(shape: Shape) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for limit in shape.info.metadata if shape.info is not None else ():
        for sign, name, strict in _LIMITS:
            if hasattr(limit, sign):
                found |= {name: float(getattr(limit, sign))} | ({strict: True} if strict else {})
        if hasattr(limit, "max_length"):
            found["longest"] = limit.max_length
        if getattr(limit, "pattern", None) is not None:
            found["pattern"] = limit.pattern
    return found


_LIMITS = (("ge", "minimum", ""), ("gt", "minimum", "above"), ("le", "maximum", ""), ("lt", "maximum", "below"))
_UNITS = (
    ("_s", "seconds"),
    ("_days", "days"),
    ("_mb", "megabytes"),
    ("_bytes", "bytes"),
    ("_chars", "characters"),
    ("tokens", "tokens"),
    ("messages", "messages"),
    ("turns", "turns"),
)


def _unit(name: str, shape: Shape) -> str | None:
    if not shape.number:
        return None
    return next((unit for ending, unit in _UNITS if name.endswith(ending)), None)


def _default(path: tuple[str, ...], shape: Shape, told: _Told) -> Any:
    if told.layered is not None and len(path) == len(told.layered) + 1 and path[-1] in told.defaults:
        return _plain(told.defaults[path[-1]])
    default = shape.info.default if shape.info is not None else None
    return None if default is PydanticUndefined or shape.secret else _plain(default)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _origin(path: tuple[str, ...], told: _Told) -> Origin:
    if (found := told.origins.get(path)) is not None:
        return found
    sources = told.configuration.sources
    return sources.origin(path, layer=_layer(path) if path in sources.marks else "built-in")


def _layer(path: tuple[str, ...]) -> LayerName:
    match path:
        case ("channels", *_):
            return "channel"
        case ("memory", *_):
            return "memory"
        case ("defaults", *_):
            return "defaults"
    return "gateway"


def flat(field: Field) -> Iterator[Field]:
    """Yield a form's single settings, in order."""
    if field.kind == "section":
        for inner in field.fields:
            yield from flat(inner)
    else:
        yield field
