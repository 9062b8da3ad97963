"""A configuration as one canonical text, kept under its revision so that a turn can be replayed as it was. Pure.

No secret is in it: a reference stands in its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from config.channels.base import RoomSettings
from config.effective import Place, base_layers, resolve
from config.fields import Shape, settings_shape
from config.marks import Mark
from config.masking import MASK
from config.problems import Path
from config.settings import Settings


def document_of(settings: Settings, resolved: Mapping[Place, RoomSettings], marks: Mapping[Path, Mark]) -> str:
    """Return the settings as canonical JSON in which every place says everything, so that no built-in default of a later
    release can change what it means."""
    data = settings.model_dump(mode="json", exclude={"server", "admin"})
    refer(data, settings_shape(), marks, ())
    defaults = resolve(base_layers(settings))
    data["defaults"] = defaults.model_dump(mode="json")
    data["memory"] = data["defaults"]["memory"]
    for (name, room, thread), effective in resolved.items():
        place = data["channels"][name]
        if room is not None:
            place = place["rooms"][room]
        if thread is not None:
            place = place["threads"][thread]
        place.update(effective.model_dump(mode="json"))
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def refer(data: Any, shape: Shape, marks: Mapping[Path, Mark], path: Path) -> None:
    """Put every secret's reference in its place, `***` where it has none."""
    if shape.variants:
        shape = shape.variant(data["kind"])
    for step, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        child = shape.child(step)
        if child is not None and child.secret and value is not None:
            data[step] = (marks[*path, step].reference if (*path, step) in marks else None) or MASK
        elif child is not None and isinstance(value, dict | list):
            refer(value, child, marks, (*path, step))


def digest(document: str) -> str:
    """Return the revision that a document stands for."""
    return hashlib.sha256(document.encode()).hexdigest()[:12]
