"""What is generated from the settings' models: `schema.json` for editors, and the tables of every knob in README.md.

Both are committed, and a test holds them equal to the models; `python -m gateway schema --write` makes them anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import PydanticUndefined

from config.channels.base import ChannelSettings
from config.effective import kind_defaults
from config.fields import Shape, settings_shape
from config.settings import Settings

FOLDER = Path(__file__).parent
START, END = "<!-- generated: begin -->", "<!-- generated: end -->"

_REFERENCE = {"type": "string", "pattern": r"\$\{"}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a settings file; wherever the loader takes a reference, so does the schema."""
    made = Settings.model_json_schema()
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    made["patternProperties"] = {"^x-": {"description": "Passed over: a place for YAML anchors."}}
    _allow_references(made)
    return made


def schema_text() -> str:
    """Return `schema.json` as it should be."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def readme_text(readme: str) -> str:
    """Return `readme` with its generated part made anew. Raises ValueError when the markers are not there."""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(
            f"config/README.md: the markers {START!r} and {END!r} are missing; put them where the tables go"
        )
    return f"{before}{START}\n\n{_tables()}\n{END}{after}"


def write_generated(folder: Path = FOLDER) -> list[Path]:
    """Write both files anew; return those that changed."""
    readme = folder / "README.md"
    changed = []
    for path, text in ((folder / "schema.json", schema_text()), (readme, readme_text(readme.read_text("utf-8")))):
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            changed.append(path)
    return changed


def _allow_references(node: Any) -> None:
    """Let a reference stand wherever the type alone would forbid one: numbers, truth values, choices, names."""
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _allow_references(value)
    if not isinstance(node, dict):
        return
    if "patternProperties" in node:
        node["additionalProperties"] = False  # a name that does not fit is not simply passed over
    places = [node.get("properties", {}), {key: node[key] for key in ("items", "additionalProperties") if key in node}]
    for place in places:
        for name, value in place.items():
            if not isinstance(value, dict) or not any(map(_strict, value.get("anyOf", [value]))):
                continue
            about = {key: value.pop(key) for key in ("title", "description", "default") if key in value}
            allowed = about | {"anyOf": [*value.pop("anyOf", [value]), _REFERENCE]}
            (node["properties"] if place is places[0] else node)[name] = allowed


def _strict(value: dict[str, Any]) -> bool:
    return value.get("type") in ("integer", "number", "boolean") or "enum" in value or "pattern" in value


def _tables() -> str:
    shape = settings_shape()
    places = shape.fields["defaults"]
    channel = shape.fields["channels"].item or shape
    top = {
        name: field for name, field in shape.fields.items() if name not in ("agents", "memory", "defaults", "channels")
    }
    tables = {
        "The gateway": _rows(Shape(kind="section", fields=top), ""),
        "Agents": _rows(shape.fields["agents"], "agents"),
        "Places: defaults, channels, rooms and threads": _rows(places, ""),
    }
    for kind, form in channel.variants.items():
        own = {name: field for name, field in form.fields.items() if name not in places.fields or name in _own(kind)}
        own.pop("rooms")
        tables[f"Channels of kind {kind}"] = _rows(Shape(kind="section", fields=own), "channels.NAME")
    return "\n".join(f"### {title}\n\n{_HEAD}\n" + "\n".join(rows) + "\n" for title, rows in tables.items())


_HEAD = "| setting | type | default | meaning |\n| --- | --- | --- | --- |"


def _own(kind: str) -> set[str]:
    """Return the settings of all places for which a channel kind has a default of its own."""
    models = {model.model_fields["kind"].default: model for model in ChannelSettings.__subclasses__()}
    return set(kind_defaults(models[kind]))


def _rows(shape: Shape, path: str) -> Iterator[str]:
    if shape.kind == "section":
        for name, field in shape.fields.items():
            yield from _rows(field, f"{path}.{name}" if path else name)
    elif shape.kind == "map" and shape.item is not None and shape.item.kind == "section":
        yield from _rows(shape.item, f"{path}.NAME")
    elif shape.info is not None:
        cells = (f"`{path}`", _type(shape), _default(shape.info.default), shape.info.description or "")
        yield f"| {' | '.join(cells)} |"


def _type(shape: Shape) -> str:
    if shape.kind in ("list", "map") and shape.item is not None:
        return f"list of {_type(shape.item)}" if shape.kind == "list" else f"section of {_type(shape.item)}"
    words = {"SecretStr": "secret", "str": "URL" if shape.url else "text", "bool": "true or false"}
    words |= {"int": "whole number", "float": "number"}
    names = [words[kind.__name__] if isinstance(kind, type) else f"`{kind}`" for kind in shape.types]
    return ", ".join(names) + _range(shape)


def _range(shape: Shape) -> str:
    limits = shape.info.metadata if shape.info is not None else []
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    found = [
        f"{sign} {getattr(limit, name):,}" for limit in limits for name, sign in signs.items() if hasattr(limit, name)
    ]
    return f" {', '.join(found)}" if found and shape.number else ""


def _default(value: object) -> str:
    if value is PydanticUndefined:
        return "required"
    if value is None:
        return "unset"
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
