"""Which kinds of input there are for a target, and which of them are tried. Pure."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.attacks.fuzz.mutators import BYTES, TREE, Path, Tree, paths
from tests.attacks.fuzz.wire import BENDS

Of = Literal["tree", "bytes", "wire"]

SHARES: dict[Of, float] = {"tree": 0.75, "bytes": 0.1, "wire": 0.15}
ACTS: dict[Of, Collection[str]] = {"tree": TREE.keys(), "bytes": BYTES.keys(), "wire": BENDS.keys()}
VARIANTS = 3
"""How often the same is done to the bytes of a payload, or to a request, elsewhere each time."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of input: to which payload what is done, and where. No two of a run are the same."""

    target: str
    seed: str
    of: Of
    act: str
    place: Path = ()
    variant: int = 0

    def __str__(self) -> str:
        where = "/".join(map(str, self.place))
        return f"{self.target} | {self.seed} | {where} | {self.act} | {self.variant}"


def chosen(
    target: str,
    seeds: Mapping[str, Tree],
    *,
    of: Sequence[Of],
    count: int,
    rng: random.Random,
    often: Collection[str] = (),
) -> list[Kind]:
    """Return so many kinds, all different, in their shares; fewer where there are no more. Each payload as often as the others,
    however large it is; those of `often` four times as often."""
    names, weights = list(seeds), [4 if name in often else 1 for name in seeds]
    places = {name: list(paths(tree)) for name, tree in seeds.items()}
    found: dict[Kind, None] = {}
    for one in of:
        acts = list(ACTS[one])
        each = [len(places[name]) if one == "tree" else VARIANTS for name in names]
        wanted = min(len(acts) * sum(each), round(count * SHARES[one] / sum(SHARES[other] for other in of)))
        drawn: dict[Kind, None] = {}
        while len(drawn) < wanted:
            (name,), act = rng.choices(names, weights), rng.choice(acts)
            if one != "tree":
                drawn[Kind(target, name, one, act, (), rng.randrange(VARIANTS))] = None
            elif places[name]:
                drawn[Kind(target, name, one, act, rng.choice(places[name]))] = None
        found |= drawn
    tried = list(found)
    rng.shuffle(tried)
    return tried
