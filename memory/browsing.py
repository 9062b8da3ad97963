"""What is stored of conversations, for whoever may look through all of them: listed, read page by page, searched by words; and
the protocol of the stores that do it. Who may see what is the caller's business: it names the channels.

Not on the answer path, and not in its way. Every look is bounded, whatever is stored, and says where it goes on. There is no
index of everybody's words: a search reads what was said last first, as far as one page may, and goes on when asked to. So
nothing more is written for each message, and nothing more holds words that an erasure has to find. Times and ids as in
`memory/base.py`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from memory.base import Quoted
from memory.key import Scope

TALKS = 20_000
"""Conversations of a channel, or of a person, that one look passes at most."""
SEARCHED_TALKS = 200
"""Conversations that one page of a search reads at most."""
SEARCHED_LINES = 20_000
"""Lines that one page of a search reads at most."""


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation: a scope in which something was said. `title` is its first words."""

    id: int
    scope: Scope
    title: str
    last_ms: int
    session_id: str | None  # None: the last one has ended


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which conversations: of these channels (None: of all), of this room with its threads, in which this person has spoken.
    Names as people write them, not encoded."""

    channels: tuple[str, ...] | None = None
    room: str | None = None
    person_id: int | None = None


Mark = tuple[int, int]
"""Where a list goes on: behind the conversation of this time and id."""


class Talks(msgspec.Struct, frozen=True, kw_only=True):
    """Conversations, the one last spoken in first. `next` None: these were all."""

    talks: tuple[Talk, ...]
    next: Mark | None


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """What a line said before it was edited."""

    version: int
    text: str


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Something said in a conversation. `overheard`: by somebody who did not ask the bot. A reply with a `speaker_name` is a
    human's, in the agent's stead. A deleted line has its place, and no text."""

    id: int
    scope_id: int
    session_id: str  # "" where it belongs to none
    turn_id: int  # 0: of none
    event_id: int  # the inbox row it came from; for a reply the turn's head
    role: Literal["user", "assistant", "overheard"]
    text: str
    user: str  # the account that spoke, or that was answered; decoded
    speaker_name: str
    person_id: int | None
    agent: str
    conversation: str  # encoded, as in a key
    created_ms: int
    version: int
    edited_ms: int | None
    deleted_ms: int | None
    platform_message_id: str | None
    reply_to: str | None
    quote: Quoted | None
    for_agent: bool = False  # a human left it for the agent, and people did not see it
    earlier: tuple[Earlier, ...] = ()  # oldest first


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of a conversation, oldest first, and whether there are others before and behind them."""

    lines: tuple[Line, ...]
    before: bool
    behind: bool


class SearchMark(msgspec.Struct, frozen=True, array_like=True):
    """Where a search goes on: in this conversation before this line (0: its end), then with those behind it."""

    last_ms: int
    talk_id: int
    line_id: int


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A line that has all the words, and its conversation."""

    talk: Talk
    line: Line


class Finds(msgspec.Struct, frozen=True, kw_only=True):
    """What a page of a search found, newest conversation first, in it the newest line; `lines` is how many it has read. `next`
    None: it has read everything."""

    found: tuple[Found, ...]
    lines: int
    next: SearchMark | None


class Older(msgspec.Struct, frozen=True, kw_only=True):
    """How many lines are older than a moment, as far as they were counted, and when the oldest was said, in milliseconds since
    1970; None: there is none."""

    count: int
    oldest_ms: int | None


class Browsing(Protocol):
    """Conversations on one database, beside its `memory.base.Store` (there as `browsing`).

    Every implementation passes `tests/contracts/browsing.py`. Database trouble surfaces as `memory.errors.StoreUnavailable`.
    """

    async def talks(self, wanted: Wanted, *, after: Mark | None, limit: int) -> Talks:
        """Return up to `limit` conversations behind a mark (None: from the first)."""
        ...

    async def talk(self, talk_id: int) -> Talk | None:
        """Return the conversation, or the one that goes on under its name; None: there is none."""
        ...

    async def names(self, talk_id: int) -> tuple[Scope, ...]:
        """Return the names that lead to the conversation, its own first; fifty at most."""
        ...

    async def page(
        self, talk_id: int, *, limit: int, before_id: int | None = None, after_id: int | None = None
    ) -> Page:
        """Return the newest `limit` lines before an id, or the oldest behind one; neither: the newest."""
        ...

    async def unlearned(self, turn_id: int) -> bool | None:
        """Whether a turn waits to be learned from; None: no ledger is kept of it."""
        ...

    async def older(self, *, before_ms: int, limit: int) -> Older:
        """Count the lines from before a moment, what was overheard with them, everybody's, up to `limit`: what retention would
        take if it kept no more. May walk all of them, or the whole store: for who changes that."""
        ...

    async def search(self, words: Sequence[str], wanted: Wanted, *, after: SearchMark | None, limit: int) -> Finds:
        """Return up to `limit` lines that have all these words (`folded`) in them, wherever in a text."""
        ...


def folded(text: str) -> str:
    """Return the text as it is compared: without differences of case and width. Pure."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
