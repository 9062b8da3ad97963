"""By what names persons are found: each name under each of its ends, so that a part of it is the beginning of one of these.

What is looked for is then one stretch of an index, in every script, however many persons there are. A name is noted when a turn
is learned from, off the answer path; nothing is written for one that is noted already.
"""

from __future__ import annotations

import msgspec

from memory.folding import folded

NAME_CHARS = 64
"""Characters of a name that are kept of it, and by which it is found."""
NAMES = 20
"""Names of a person in a channel that are remembered; with one more it begins anew."""
LAST_CHAR = "\U0010ffff"
"""Behind all that begins alike: no name's character is greater."""


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """A name that a person has used in a channel; the channel encoded, as in a key."""

    person_id: int
    channel: str
    name: str


def comparable(name: str) -> str:
    """Return the name without differences of case, width and spaces. Pure."""
    return " ".join(folded(name).casefold().split())


def ends_of(name: str) -> tuple[str, ...]:
    """Return all that the name is found by: from each of its characters on ("ann": "ann", "nn", "n"). In order. Pure."""
    whole = comparable(name)[:NAME_CHARS]
    return tuple(sorted({whole[at:] for at in range(len(whole)) if not whole[at].isspace()}))
