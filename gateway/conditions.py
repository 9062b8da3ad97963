"""How an instance is, as it tells the others with each sign of life: who looks at one sees what is wrong with all. Pure."""

from __future__ import annotations

import msgspec

from gateway.inbox.rows import storable

MOST_PROBLEMS, LONGEST = 20, 300
"""So many are told, of so many characters: all of it is written with every sign of life."""


class Condition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`lease_s`: for how long a sign of life is good. `skew_s`: by how much its machine's clock is ahead of the database's.
    `stopping`: it finishes what it has begun and leaves. `problems`: what an admin should look at, by part, as `/readyz` names
    it there; no secret, and nothing that anybody said."""

    lease_s: float = 0.0
    skew_s: float = 0.0
    stopping: bool = False
    problems: dict[str, str] = {}


def told(condition: Condition) -> str:
    """Return the condition as it is kept."""
    some = list(condition.problems.items())[:MOST_PROBLEMS]
    problems = {storable(part[:LONGEST]): storable(problem[:LONGEST]) for part, problem in some}
    return msgspec.json.encode(msgspec.structs.replace(condition, problems=problems)).decode()


def condition_of(kept: str | None) -> Condition | None:
    """Return what is kept; None: nothing is, or another release wrote it in a way that this one does not read."""
    try:
        return None if kept is None else msgspec.json.decode(kept, type=Condition)
    except msgspec.DecodeError:
        return None
