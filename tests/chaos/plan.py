"""What goes wrong in a chaos run, and when: drawn from a seed, or read from a file. Pure.

A plan is a list of acts, one a line: the second, the act, the target. A seed replays the plan, not what the machine's scheduler
made of it: the log of a run is itself a plan, with the times at which things were done.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tests.chaos.proxy import MODES

LINKS = ("postgres", "redis", "slack", "telegram", "model")
"""What each instance reaches through a proxy of its own."""

ACTS: dict[str, str] = {
    "kill": "SIGKILL to an instance, or to Redis",
    "start": "what was killed or stopped starts again",
    "freeze": "SIGSTOP to an instance, or to Redis",
    "thaw": "SIGCONT",
    "restart": "an instance ends in good order and starts again",
    "roll": "all instances restart, one after the other",
    "flush": "Redis forgets everything",
    "crash": "PostgreSQL ends at once, without a checkpoint, and starts again",
    "stop": "PostgreSQL ends at once, and stays away until `start`",
    "flood": "a platform asks everybody to wait, again and again, until `calm`",
    "calm": "the platform asks no more",
    "change": "the settings file changes: a channel is made anew, the agent gets other words",
    **{mode: "a link of one instance: see tests/chaos/proxy.py" for mode in MODES if mode != "pass"},
    "pass": "the link is whole again",
}


@dataclass(frozen=True, slots=True, order=True)
class Act:
    """One act: `at_s` after the run began, on an instance (`1`), a link (`1/postgres`), or a server (`redis`)."""

    at_s: float
    act: str
    target: str

    def __str__(self) -> str:
        return f"{self.at_s:8.2f} {self.act} {self.target}"


Draw = Callable[[random.Random, float, int], list[Act]]


def _spell(begin: str, end: str, targets: Callable[[int], Iterable[str]], *, least_s: float, most_s: float) -> Draw:
    """Something that begins and, some seconds later, ends."""

    def draw(chance: random.Random, at_s: float, instances: int) -> list[Act]:
        target = chance.choice(list(targets(instances)))
        return [Act(at_s, begin, target), Act(at_s + chance.uniform(least_s, most_s), end, target)]

    return draw


def _one(act: str, targets: Callable[[int], Iterable[str]]) -> Draw:
    return lambda chance, at_s, instances: [Act(at_s, act, chance.choice(list(targets(instances))))]


def _instances(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def _links(*names: str) -> Callable[[int], list[str]]:
    return lambda count: [f"{number}/{name}" for number in range(count) for name in names]


def _only(*names: str) -> Callable[[int], list[str]]:
    return lambda count: list(names)


def deck(lease_s: float) -> dict[str, Draw]:
    """Return every kind of trouble, by name. What an instance sleeps through is up to three leases."""
    others = ("slack", "telegram", "model")
    drawn = {
        "killed": _spell("kill", "start", _instances, least_s=0.5, most_s=4),
        "killed again": _spell("kill", "start", _instances, least_s=0.1, most_s=1),
        "frozen": _spell("freeze", "thaw", _instances, least_s=lease_s, most_s=3 * lease_s),
        "frozen shortly": _spell("freeze", "thaw", _instances, least_s=0.2, most_s=lease_s),
        "restarted": _one("restart", _instances),
        "rolled": _one("roll", _only("all")),
        "redis killed": _spell("kill", "start", _only("redis"), least_s=1, most_s=5),
        "redis flushed": _one("flush", _only("redis")),
        "redis frozen": _spell("freeze", "thaw", _only("redis"), least_s=1, most_s=5),
        "postgres crashed": _one("crash", _only("postgres")),
        "postgres away": _spell("stop", "start", _only("postgres"), least_s=8, most_s=10),
        "flooded": _spell("flood", "calm", _only("slack", "telegram"), least_s=2, most_s=5),
        "settings changed": _one("change", _only("settings")),
        "redis in a hole": _spell("hole", "pass", _links("redis"), least_s=1, most_s=5),
    }
    for mode in ("hole", "deaf", "mute"):
        drawn[f"postgres, {mode}"] = _spell(mode, "pass", _links("postgres"), least_s=1, most_s=3 * lease_s)
        drawn[f"others, {mode}"] = _spell(mode, "pass", _links(*others), least_s=1, most_s=3 * lease_s)
    for mode in ("slow", "cut", "refuse"):
        drawn[f"links, {mode}"] = _spell(mode, "pass", _links("postgres", *others), least_s=1, most_s=4)
    return drawn


def drawn(seed: int, *, seconds: float, instances: int, lease_s: float, every_s: float = 3.0) -> list[Act]:
    """Return the acts of a run, by time: one trouble every `every_s` or so, each kind once before any comes again. They may
    overlap as they like. The last begins so early that it shows while people still talk."""
    troubles = _troubles(seed, seconds=seconds, instances=instances, lease_s=lease_s, every_s=every_s)
    acts = sorted(act for _, trouble in troubles for act in trouble)
    return [Act(round(act.at_s, 2), act.act, act.target) for act in acts]


def kinds(seed: int, *, seconds: float, lease_s: float, every_s: float) -> set[str]:
    """Return which kinds of trouble are in the plan of a seed."""
    return {kind for kind, _ in _troubles(seed, seconds=seconds, instances=3, lease_s=lease_s, every_s=every_s)}


def _troubles(
    seed: int, *, seconds: float, instances: int, lease_s: float, every_s: float
) -> Iterator[tuple[str, list[Act]]]:
    chance = random.Random(seed)
    there = deck(lease_s)
    left, at_s = list[str](), chance.uniform(1, every_s)
    while at_s < seconds - 2:
        left = left or chance.sample(sorted(there), len(there))
        kind = left.pop()
        yield kind, there[kind](chance, at_s, instances)
        at_s += chance.uniform(0.3, 2 * every_s - 0.3)


def written(acts: Iterable[Act]) -> str:
    """Return the acts as a file: one a line."""
    return "".join(f"{act}\n" for act in acts)


def read(text: str) -> list[Act]:
    """Return the acts of a file, by time; what stands behind `#` is for people. Raises ValueError with the line."""
    acts = []
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.partition("#")[0].split()
        if not parts:
            continue
        if len(parts) != 3 or parts[1] not in ACTS:
            raise ValueError(f"line {number} is {line!r}: write `SECOND ACT TARGET`, with an act of {', '.join(ACTS)}")
        acts.append(Act(float(parts[0]), parts[1], parts[2]))
    return sorted(acts)
