"""What a chaos run leaves behind, as the checker takes it: by the platforms, the model's server and the database.

Each message carries a token, `«S12.3»`: its scope's name and its number there. Each person says words of their own, canaries,
one for each place they are said in. Whole answers end with `WHOLE`; those that their speaker stopped, with a mark that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gateway.notices import NOTICES

WHOLE = "∎"
FINAL = frozenset({"answered", "observed", "ignored", "applied", "failed", "dead"})

_STOPPED = tuple(NOTICES["stopped_mark"].values())
_TOKEN = re.compile(r"«(\w+\.\d+)»")
_CANARY = re.compile(r"(?<![a-z0-9])zq[a-z]+zq(?![a-z0-9])", re.IGNORECASE)


def tokens(text: str) -> list[str]:
    """Return the tokens in a text, in their order there, each once."""
    return list(dict.fromkeys(_TOKEN.findall(text)))


def canaries(text: str) -> frozenset[str]:
    """Return the canaries in a text."""
    return frozenset(word.lower() for word in _CANARY.findall(text))


def canary(number: int) -> str:
    """Return the canary of this number: a word that nobody else says, and no part of another."""
    letters = ""
    while True:
        number, rest = divmod(number, 20)
        letters = "abcdefghijklmnoprstu"[rest] + letters
        if not number:
            return f"zq{letters}zq"


def stopped(text: str) -> bool:
    """Whether the text is an answer that was stopped."""
    return text.endswith(_STOPPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a person said. `asks`: they want an answer. `accepted`: the platform was told that it is taken. `seen`: the state in
    which its sender saw it at the end, where a sender can look (webhooks); None: it can't. `removed`: they took it away again.
    `stops`: behind it they wanted no answer any more."""

    token: str
    way: str
    place: str
    group: bool
    person: str
    words: frozenset[str] = frozenset()
    asks: bool = True
    accepted: bool = True
    seen: str | None = None
    removed: bool = False
    stops: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the inbox; `seq` is the order of acceptance, `attempts` how often it was begun."""

    id: int
    seq: int
    turn: int
    lane: str
    token: str
    state: str
    why: str = ""
    attempts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a reply, as the outbox has it. `askable`: its platform can tell what became of a send; `looked`: it was asked
    about its room."""

    turn: int
    state: str
    text: str
    message: str | None
    place: str
    attempts: int = 1
    askable: bool = False
    looked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What stands on a platform, said by the bot; `at` orders the posts of one place."""

    place: str
    id: str
    text: str
    at: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A question that the model's server got: when the instance had sent it, however long it was on its way; what it was to
    answer, and the canaries anywhere in it."""

    at_ms: int
    instance: int
    tokens: tuple[str, ...]
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All of a run. `stored` says when the answer of a turn was stored; `unseen` are turns for which a gateway logged that a
    message which shows the growing answer may stand somewhere, as no receipt came."""

    said: Mapping[str, Said]
    rows: Iterable[Row] = ()
    chunks: Iterable[Chunk] = ()
    posts: Iterable[Post] = ()
    calls: Iterable[Call] = ()
    stored: Mapping[int, int] = field(default_factory=dict)
    unseen: frozenset[int] = frozenset()

    @cached_property
    def rows_of(self) -> dict[str, list[Row]]:
        """The rows of each token."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.token, []).append(row)
        return found

    @cached_property
    def turns(self) -> dict[int, list[Row]]:
        """The rows of each turn, in order of acceptance."""
        found: dict[int, list[Row]] = {}
        for row in sorted(self.rows, key=lambda row: row.seq):
            found.setdefault(row.turn, []).append(row)
        return found

    @cached_property
    def chunks_of(self) -> dict[int, list[Chunk]]:
        """The chunks of each turn."""
        found: dict[int, list[Chunk]] = {}
        for chunk in self.chunks:
            found.setdefault(chunk.turn, []).append(chunk)
        return found

    def newest(self, tokens: Iterable[str]) -> Row | None:
        """Return the row accepted last among those of these tokens: what a question or an answer with them is about. What was
        said before it may be there as well, if that was never answered, or is quoted."""
        known = [row for token in tokens for row in self.rows_of.get(token, ())]
        return max(known, key=lambda row: row.seq, default=None)
