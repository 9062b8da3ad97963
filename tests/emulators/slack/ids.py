"""Ids as Slack's look, unique within a server and the same in every run of a test."""

from __future__ import annotations

import random
import string
import uuid
from dataclasses import dataclass, field

_UPPER = string.ascii_uppercase + string.digits


@dataclass(slots=True, eq=False)
class Ids:
    seed: int = 1
    _random: random.Random = field(init=False)
    _given: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def new(self, prefix: str) -> str:
        """Return an id such as `U0A8WUV28QM`."""
        while (fresh := f"{prefix}0{''.join(self._random.choices(_UPPER, k=9))}") in self._given:
            pass
        self._given.add(fresh)
        return fresh

    def block(self) -> str:
        return "".join(self._random.choices(string.ascii_letters + string.digits, k=5))

    def number(self) -> int:
        return self._random.randrange(10**12, 10**13)

    def token(self, length: int) -> str:
        return "".join(self._random.choices("0123456789abcdef", k=length))

    def trigger(self) -> str:
        return f"{self.number()}.{self.number()}.{self.token(32)}"

    def uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def below(self, end: int) -> int:
        return self._random.randrange(end)
