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


def kinds(target: str, seeds: Mapping[str, Tree], *, of: Sequence[Of]) -> dict[Of, list[Kind]]:
    """Return all kinds that there are, in order."""
    made: dict[Of, list[Kind]] = {one: [] for one in of}
    for seed, tree in seeds.items():
        if "tree" in made:
            made["tree"] += [Kind(target, seed, "tree", act, place) for place in paths(tree) for act in TREE]
        for one, acts in (("bytes", BYTES), ("wire", BENDS)):
            if one in made:
                made[one] += [  # type: ignore[index]
                    Kind(target, seed, one, act, (), variant)  # type: ignore[arg-type]
                    for act in acts
                    for variant in range(VARIANTS)
                ]
    return made


def chosen(
    there: Mapping[Of, list[Kind]], *, count: int, rng: random.Random, often: Collection[str] = ()
) -> list[Kind]:
    """Return so many of them, all different, in their shares; fewer where there are no more. Each payload as often as the others,
    however large it is; those of `often` four times as often."""
    whole = sum(SHARES[of] for of in there)
    found: dict[Kind, None] = {}
    for of, every in there.items():
        of_seed: dict[str, list[Kind]] = {}
        for kind in every:
            of_seed.setdefault(kind.seed, []).append(kind)
        for kinds_of_it in of_seed.values():
            rng.shuffle(kinds_of_it)
        wanted = min(len(every), round(count * SHARES[of] / whole))
        while wanted > 0:
            left = [seed for seed in of_seed if of_seed[seed]]
            drawn = rng.choices(left, [4 if seed in often else 1 for seed in left], k=wanted)
            for seed in drawn:
                if of_seed[seed]:
                    found[of_seed[seed].pop()] = None
                    wanted -= 1
    tried = list(found)
    rng.shuffle(tried)
    return tried[:count]
