"""What stands where in the settings, read once from the models: which places hold secrets, lists, numbers, sections.

The loader, the schema and the table of all knobs walk the same shape, so that no second list of fields can disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from config.channels.base import FromFile, MayHoldPassword
from config.settings import Settings

Kind = Literal["section", "map", "list", "value"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One place. `fields`: of a section. `item`: of a map or list. `variants`: a section's forms, by its `kind`."""

    kind: Kind
    types: tuple[object, ...] = ()  # of a value: what it may be, None left out
    optional: bool = False
    secret: bool = False
    from_file: bool = False
    url: bool = False
    fields: Mapping[str, Shape] = field(default_factory=dict)
    item: Shape | None = None
    variants: Mapping[str, Shape] = field(default_factory=dict)
    info: FieldInfo | None = None

    @property
    def number(self) -> bool:
        """A number and nothing else."""
        return bool(self.types) and set(self.types) <= {int, float}

    @property
    def free(self) -> bool:
        """A value whose type is the admin's choice, so that quotes decide."""
        return len(self.types) > 1 and bool in self.types

    def variant(self, kind: object) -> Shape:
        """Return the section's form for `kind`; for an unknown one a section that knows the fields of all forms."""
        if not self.variants:
            return self
        if isinstance(kind, str) and kind in self.variants:
            return self.variants[kind]
        return Shape(kind="section", fields={k: v for form in self.variants.values() for k, v in form.fields.items()})

    def child(self, step: str | int) -> Shape | None:
        """Return the shape one step down; None where nothing is known."""
        return self.item if self.item is not None else self.fields.get(str(step))


@cache
def settings_shape() -> Shape:
    """Return the shape of all settings."""
    return _section(Settings)


def _section(model: type[BaseModel], *, optional: bool = False) -> Shape:
    fields = {name: _shape(info.annotation, tuple(info.metadata), info) for name, info in model.model_fields.items()}
    return Shape(kind="section", fields=fields, optional=optional)


def _shape(annotation: Any, metadata: tuple[object, ...] = (), info: FieldInfo | None = None) -> Shape:
    if get_origin(annotation) is Annotated:
        return _shape(annotation.__origin__, metadata + annotation.__metadata__, info)
    if get_origin(annotation) in (Union, UnionType):
        return _union(annotation, metadata, info)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return replace(_section(annotation), info=info)
    if get_origin(annotation) in (dict, tuple):
        inner = get_args(annotation)[0 if get_origin(annotation) is tuple else 1]
        return Shape(kind="list" if get_origin(annotation) is tuple else "map", item=_shape(inner), info=info)
    secret = annotation is SecretStr
    return Shape(
        kind="value",
        types=get_args(annotation) if get_origin(annotation) is Literal else (annotation,),
        secret=secret,
        from_file=secret or any(isinstance(mark, FromFile) for mark in metadata),
        url=any(isinstance(mark, MayHoldPassword) for mark in metadata),
        info=info,
    )


def _union(annotation: Any, metadata: tuple[object, ...], info: FieldInfo | None) -> Shape:
    members = [member for member in get_args(annotation) if member is not type(None)]
    optional = len(members) < len(get_args(annotation))
    shapes = [_shape(member, metadata) for member in members]
    if len(shapes) == 1:
        return replace(shapes[0], optional=optional, info=info)
    if all(shape.kind == "section" for shape in shapes):
        forms = {str(shape.fields["kind"].types[0]): shape for shape in shapes}
        return Shape(kind="section", variants=forms, optional=optional, info=info)
    return Shape(kind="value", types=tuple(members), optional=optional, info=info)
