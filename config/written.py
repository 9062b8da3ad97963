"""Settings as somebody wrote them, secrets by their references only, and what differs between two of them. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from config.document import refer
from config.fields import settings_shape
from config.loader import Configuration
from config.problems import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One setting that is not the same. `was` and `now` are JSON, fit to be shown; None: nobody wrote it. `secret`: a secret's
    value is another one, whether or not its reference is."""

    path: Path
    was: str | None
    now: str | None
    secret: bool = False


def written(configuration: Configuration) -> dict[str, Any]:
    """Return what is written, file and overlay together, as JSON has it; what nobody wrote is not in it."""
    data: dict[str, Any] = configuration.settings.model_dump(mode="json", exclude_unset=True)
    refer(data, settings_shape(), configuration.sources.marks, ())
    return data


def differences(old: Configuration, new: Configuration) -> list[Difference]:
    """Return what one says and the other does not, by path."""
    before, after = (dict(leaves(one.settings.model_dump(exclude_unset=True))) for one in (old, new))
    was, now = (dict(leaves(written(one))) for one in (old, new))
    found = []
    for path in sorted(before.keys() | after.keys()):
        shown_was, shown_now = (_shown(path, one) for one in (was, now))
        if path in before and path in after and before[path] == after[path] and shown_was == shown_now:
            continue
        found.append(Difference(path=path, was=shown_was, now=shown_now, secret=shown_was == shown_now))
    return found


def leaves(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every single value, list and empty section, with its path."""
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _shown(path: tuple[str, ...], values: Mapping[tuple[str, ...], Any]) -> str | None:
    return json.dumps(values[path], ensure_ascii=False) if path in values else None
