"""What people say in a chaos run, and what the model answers: drawn from a seed. Pure.

Each scope is a private talk, or one thread of a group of three. People of one way are in both, so that what they say in one
could come up in the other.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from tests.chaos.evidence import WHOLE, canary, tokens

IN_GROUP = 3
"""People in a group; and of so many scopes one is a group's."""

_TALK = (
    "how are things?",
    "还有什么要注意的？",
    "tell me more 🧶",
    "什么时候开始？",
    "and then?",
    "这是为什么 🤔",
    "is it late?",
)
_KEPT = ("I live in {}.", "我住在{}。", "My name is {}.", "我叫{}。", "I work at {}.", "我喜欢{}。", "I like {}.")
_ANSWERS = (
    "well then, 好的",
    "that is how it is 🙂",
    "可以，请再说一遍",
    "as you know, it depends on the weather there",
    "不清楚",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A scope: its name, by which way, and who is in it (numbers of people of that way)."""

    name: str
    way: str
    group: bool
    people: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Something that is said: when, where, by which of the people there. `asks`: it wants an answer (in private all does);
    `again`: its events come twice; `stop_s`: after so many seconds its speaker wants none any more (None: they do); `reads`:
    its speaker follows the answer as it grows, where the way is one for programs; `amends_s`: after so many seconds they
    change it, or take it away, where the way allows that."""

    at_s: float
    place: Place
    number: int
    person: int
    text: str
    asks: bool
    again: bool
    stop_s: float | None
    reads: bool
    amends_s: float | None
    removes: bool

    @property
    def token(self) -> str:
        return f"{self.place.name}.{self.number}"


def places(scopes: int, ways: Sequence[str]) -> list[Place]:
    """Return the scopes, spread over the ways (one named twice gets twice as many): of each three people two talk in private,
    and all three in a group."""
    found, counts = list[Place](), dict[str, int]()
    for number in range(scopes):
        way = ways[number % len(ways)]
        index = counts[way] = counts.get(way, -1) + 1
        trio, place = divmod(index, IN_GROUP)
        people = tuple(trio * IN_GROUP + one for one in range(IN_GROUP))
        group = place == IN_GROUP - 1
        found.append(Place(name=f"S{number}", way=way, group=group, people=people if group else (people[place],)))
    return found


def lines(seed: int, there: Sequence[Place], *, seconds: float, each: float = 2.5) -> list[Line]:
    """Return what is said, by time: about `each` lines in each place, some of them in bursts."""
    chance = random.Random(f"talk {seed}")
    found = list[Line]()
    for where, place in enumerate(there):
        number = 0
        while number < each and (number == 0 or chance.random() < 1 - 0.3 / each):
            at_s = chance.uniform(0, seconds)
            for _ in range(chance.choice((1, 1, 1, 2, 3))):
                at_s += chance.uniform(0, 0.4)
                found.append(_line(chance, place, where, number, at_s=at_s))
                number += 1
    return _numbered(sorted(found, key=lambda line: line.at_s))


def _line(chance: random.Random, place: Place, where: int, number: int, *, at_s: float) -> Line:
    person = chance.choice(place.people)
    said = chance.choice(_TALK)
    if chance.random() < 0.4:
        said = chance.choice(_KEPT).format(canary(where * 10 + place.people.index(person))) + " " + said
    asks = not place.group or chance.random() < 0.8
    stops = not place.group and chance.random() < 0.06
    return Line(
        at_s=at_s, place=place, number=number, person=person, text=said, asks=asks, again=chance.random() < 0.1,
        stop_s=chance.uniform(0, 1.5) if stops else None, reads=chance.random() < 0.3,
        amends_s=chance.uniform(0, 3) if chance.random() < 0.08 else None, removes=chance.random() < 0.4,
    )  # fmt: skip


def _numbered(found: Sequence[Line]) -> list[Line]:
    """Number the lines of each place in the order in which they are said, and put their tokens before them."""
    counts: dict[str, int] = {}
    numbered = []
    for line in found:
        number = counts[line.place.name] = counts.get(line.place.name, 0) + 1
        text = f"«{line.place.name}.{number}» {line.text}"
        # The first one in a group calls, so that it begins the thread in which the others follow.
        numbered.append(replace(line, number=number, text=text, asks=line.asks or number == 1))
    return numbered


async def answer(asked: str) -> AsyncIterator[str]:
    """Yield the pieces of the answer to what was said last: its tokens, some words, `WHOLE`. Takes up to three seconds, always
    the same for the same question; most answers come at once when that is over, as many platforms' budgets for showing allow."""
    about = tokens(asked)
    chance = random.Random(" ".join(about))
    pieces = [f"re: {' '.join(f'«{token}»' for token in about)}"]
    pieces += [f" {chance.choice(_ANSWERS)}" for _ in range(chance.randint(1, 4))]
    took_s = chance.choice((0.05, 0.1, 0.3, 0.6, 1.0, 3.0))
    if chance.random() < 0.75:
        await asyncio.sleep(took_s)
        yield f"{''.join(pieces)} {WHOLE}"
        return
    for piece in pieces:
        await asyncio.sleep(took_s / len(pieces))
        yield piece
    yield f" {WHOLE}"
