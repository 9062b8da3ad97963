"""Which settings apply in a place, worked out once per configuration: built-in, defaults, channel, room, thread.

The most specific layer that says a value wins; sections merge key by key, lists are replaced whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from config.channels.base import ChannelSettings, RoomSettings
from config.marks import Mark
from config.overlay import IN_REVISION
from config.problems import Path
from config.settings import Settings

LayerName = Literal["built-in", "kind", "memory", "defaults", "channel", "room", "thread", "gateway"]
Place = tuple[str, str | None, str | None]
"""Channel, room, thread; None where the settings speak of all."""

_LAYERED = frozenset(RoomSettings.model_fields)


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer says: only values that were written. `root` is where it stands in the file."""

    name: LayerName
    root: Path
    values: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an effective value comes from. `file` and `line` are None for what is built in, and for what the console's
    `revision` says; but where that overrules the file they are the place of what it overrules. `environment` names the
    variables the value was taken from."""

    layer: LayerName
    file: str | None = None
    line: int | None = None
    environment: tuple[str, ...] = ()
    revision: int | None = None

    def __str__(self) -> str:
        if self.revision is not None:
            over = f", over {self.file}:{self.line}" if self.file is not None else ""
            return f"revision {self.revision} ({self.layer}{over})"
        if self.file is None:
            return "built-in" if self.layer == "built-in" else "built-in of the channel's kind"
        names = "".join(f", from ${name}" for name in self.environment)
        return f"{self.file}:{self.line} ({self.layer}{names})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What is known of where written values stand: a mark for each, the file, the number of the console's revision (0: none),
    and the file's lines that this wins over."""

    file: str
    marks: Mapping[Path, Mark]
    revision: int = 0
    overruled: Mapping[Path, int] = field(default_factory=dict)

    def origin(self, path: Path, *, layer: LayerName) -> Origin:
        """Return where the value at `path` comes from; of one that nobody wrote only the layer is known."""
        mark = self.marks.get(path)
        if mark is None:
            return Origin(layer=layer)
        if mark.line != IN_REVISION:
            return Origin(layer=layer, file=self.file, line=mark.line, environment=mark.names)
        # Under a value of the console's, or under the whole section that it stands in.
        line = next((self.overruled[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.overruled), None)
        return Origin(layer=layer, revision=self.revision, file=self.file if line is not None else None, line=line)


def base_layers(settings: Settings) -> tuple[Layer, ...]:
    """Return the layers below every channel, except the channel kind's own."""
    return (
        Layer("memory", (), {"memory": settings.memory.model_dump(exclude_unset=True)}),
        Layer("defaults", ("defaults",), _written(settings.defaults)),
    )


def layers(settings: Settings, place: Place) -> tuple[Layer, ...]:
    """Return the layers of a place, weakest first. Rooms and threads that nobody configured add none."""
    name, room_id, thread_id = place
    channel = settings.channels[name]
    root: Path = ("channels", name)
    found = [Layer("kind", (), kind_defaults(type(channel))), *base_layers(settings)]
    found.append(Layer("channel", root, _written(channel)))
    room = channel.rooms.get(room_id) if room_id is not None else None
    if room is not None and room_id is not None:
        root = (*root, "rooms", room_id)
        found.append(Layer("room", root, _written(room)))
        thread = room.threads.get(thread_id) if thread_id is not None else None
        if thread is not None and thread_id is not None:
            found.append(Layer("thread", (*root, "threads", thread_id), _written(thread)))
    return tuple(found)


def places(settings: Settings) -> Iterator[Place]:
    """Return every place that has settings of its own."""
    for name, channel in settings.channels.items():
        yield name, None, None
        for room_id, room in channel.rooms.items():
            yield name, room_id, None
            for thread_id in room.threads:
                yield name, room_id, thread_id


def resolve(found: tuple[Layer, ...]) -> RoomSettings:
    """Return what the layers say together."""
    values: dict[str, Any] = {}
    for layer in found:
        _merge(values, layer.values)
    return RoomSettings.model_validate(values)


def origins(found: tuple[Layer, ...], sources: Sources) -> dict[str, Origin]:
    """Return where each effective value comes from, by dotted path (`memory.window.turns`)."""
    result = {".".join(path): Origin(layer="built-in") for path, _ in _leaves(RoomSettings().model_dump())}
    for layer in found:
        for path, _ in _leaves(layer.values):
            result[".".join(path)] = sources.origin((*layer.root, *path), layer=layer.name)
    return result


@cache
def kind_defaults(kind: type[ChannelSettings]) -> dict[str, Any]:
    """Return the built-in values in which a channel kind differs from the others."""
    return {
        name: kind.model_fields[name].default
        for name in RoomSettings.model_fields
        if kind.model_fields[name].default != RoomSettings.model_fields[name].default
    }


def _written(section: RoomSettings) -> dict[str, Any]:
    return section.model_dump(exclude_unset=True, include=set(_LAYERED))


def _merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


def _leaves(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value
