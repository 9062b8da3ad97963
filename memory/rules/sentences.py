"""A message as the rules read it: without quotes, code and links, one width, one Chinese script, in sentences.

All steps after the width keep every character's place, so that a value can be cut out of the message's own words.
"""

from __future__ import annotations

import re
import unicodedata

import msgspec

from memory.rules.traditional import SIMPLIFIED

_MOST = 4_000  # characters of a message that are read: longer ones are pasted, not said
_LONGEST = 400  # characters of a sentence
BLOT = "\ufffc"
"""Stands for each character that the person did not say himself."""
_NOT_SAID = re.compile(
    r"```.{0,4000}?(?:```|\Z)|`[^`\n]{0,400}`|https?://\S{1,400}|^[ \t]*>[^\n]*"
    r"|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}",
    re.S | re.M,
)
_QUOTED = re.compile(
    r"""(?<!\w)(?P<q>["'])(?P<a>[^"'\n]{1,400}?)(?P=q)(?!\w)|[“”„](?P<b>[^“”\n]{1,400})[“”]|[「『](?P<c>[^」』\n]{1,400})[」』]"""
    r"""|[«‹](?P<d>[^»›\n]{1,400})[»›]|‘(?P<e>[^‘’\n]{1,400})’(?!\w)"""
)
_ADDRESS = re.compile(
    r"\s*(?:[@!][^\W\d][\w.-]{0,63}|<@\w{1,32}>)[,:]?\s+"
)  # whom the message calls: "@bot remember …"
_A_NAME = re.compile(
    r"[A-Za-z][\w.-]{0,19}(?: [A-Za-z][\w.-]{0,19})?|[\u3400-\u9fff·]{1,6}"
)  # in quotes: what something is called
_SPEAKING = re.compile(r"\b(?:i|i'm|my|me)\b|我|\s\S+\s", re.I)
_PLAIN = str.maketrans(SIMPLIFIED | {"’": "'", "‘": "'", "´": "'", "～": "~", "\t": " ", "\u00a0": " "})
_END = re.compile(
    r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bno)\.(?=\s|$|[\u3400-\u9fff])|[!?。;\n…~]+", re.I
)


class Sentence(msgspec.Struct, frozen=True, kw_only=True):
    """A piece up to its full stop. `own` in the message's words, `text` for matching, character by character beside it."""

    own: str
    text: str
    asks: bool  # ends with a question mark


def sentences(message: str) -> list[Sentence]:
    """Return the sentences a person said himself, in order; what is quoted, code or a link is blotted out."""
    own = own_words(message)
    text = own.translate(_PLAIN)
    found, start = [], 0
    for end in (*_END.finditer(text), None):
        stop = end.start() if end else len(text)
        if text[start:stop].strip() and stop - start <= _LONGEST:
            asks = end is not None and "?" in end[0]
            found.append(_sentence(own[start:stop], text[start:stop], asks=asks))
        start = end.end() if end else stop
    return found


def own_words(message: str) -> str:
    """Return the message as far as it is read, in one width, with what the person did not say himself blotted out."""
    return _spoken(unicodedata.normalize("NFKC", message[:_MOST]))


def comparable(value: str) -> str:
    """Return a value as it is compared: without case and width."""
    return unicodedata.normalize("NFKC", value).casefold()


def _sentence(own: str, text: str, *, asks: bool) -> Sentence:
    lead = len(text) - len(text.lstrip())
    return Sentence(own=own[lead:].rstrip(), text=text[lead:].rstrip(), asks=asks)


def _spoken(text: str) -> str:
    address = _ADDRESS.match(text)
    lead = address.end() if address else 0
    blotted = " " * lead + _NOT_SAID.sub(lambda piece: BLOT * len(piece[0]), text[lead:])
    return _QUOTED.sub(_unquoted, blotted)


def _unquoted(piece: re.Match[str]) -> str:
    """A name in quotes is said, a sentence in quotes is somebody's."""
    inner = next(group for group in piece.group("a", "b", "c", "d", "e") if group is not None)
    if _A_NAME.fullmatch(inner) and not _SPEAKING.search(inner):
        return f" {inner}, " if piece.start() and not piece.string[piece.start() - 1].isspace() else f"{inner}, "
    return BLOT * len(piece[0])
