"""A gateway that tells what it holds: `python -m tests.bench.scale.inside FOLDER serve --config …`.

Each SIGUSR2 writes `FOLDER/PID.json`: tasks, objects that the collector knows by type, and the longest containers with who holds
them. What grows for hours is a map or a type with a name, not a number of megabytes.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import json
import runpy
import signal
import sys
from collections import Counter, deque
from dataclasses import asdict, dataclass
from pathlib import Path

CONTAINERS = (dict, list, set, deque)
LONGEST = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a process holds. `containers`: the longest ones' lengths, by who holds them; two of one holder's are the longer."""

    tasks: int
    objects: int
    types: dict[str, int]
    containers: dict[str, int]


def held(*, tasks: int) -> Held:
    """Return what this process holds; `tasks` is not for the collector to know."""
    objects = gc.get_objects()
    types = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in objects)
    # A dict of numbers is not the collector's business, but who holds it is.
    held_by = ((owner, one) for owner in objects for one in gc.get_referents(owner) if isinstance(one, CONTAINERS))
    longest = heapq.nlargest(4 * LONGEST, held_by, key=lambda both: len(both[1]))
    containers: dict[str, int] = {}
    for owner, one in longest:
        for name in _names(owner, one):
            containers[f"{type(one).__name__} {name}"] = max(len(one), containers.get(name, 0))
    longest_names = heapq.nlargest(LONGEST, containers, key=containers.__getitem__)
    return Held(
        tasks=tasks,
        objects=len(objects),
        types=dict(types.most_common(60)),
        containers={name: containers[name] for name in longest_names},
    )


def _names(owner: object, container: object) -> list[str]:
    """Return by which names the owner holds the container: of attributes, or of a module's variables."""
    if isinstance(owner, dict) and "__name__" not in owner:  # an object's attributes, most likely
        owners = [one for one in gc.get_referrers(owner) if getattr(one, "__dict__", None) is owner]
        return [name for one in owners for name in _names(one, container)] or ["in a dict"]
    if isinstance(owner, dict):
        return [f"{owner['__name__']}.{name}" for name, value in owner.items() if value is container]
    kind = type(owner)
    slots = [name for of in kind.__mro__ for name in getattr(of, "__slots__", ()) if not name.startswith("__")]
    names = [*slots, *getattr(owner, "__dict__", ())]
    at = [name for name in names if getattr(owner, name, None) is container] or ["…"]
    return [f"{kind.__module__}.{kind.__qualname__}.{name}" for name in at]


def _tell(folder: Path, pid: int) -> None:
    try:
        tasks = len(asyncio.all_tasks())
    except RuntimeError:  # no loop runs yet
        tasks = 0
    beside = folder / f"{pid}.part"
    beside.write_text(json.dumps(asdict(held(tasks=tasks))), "utf-8")
    beside.rename(folder / f"{pid}.json")


if __name__ == "__main__":
    import os

    where = Path(sys.argv.pop(1))
    signal.signal(signal.SIGUSR2, lambda *_: _tell(where, os.getpid()))
    runpy.run_module("gateway", run_name="__main__", alter_sys=True)
