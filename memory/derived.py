"""What memory makes of what was said, after the reply: facts, profile items, summaries, the index that recall searches; and
the protocol of what keeps them.

The queue of this work is the ledgers themselves: a turn's ledger is stored with its reply, in one transaction, and is due
until what was learned of the turn is stored with it, in another one. So a kill in between loses nothing, and the answer path
writes nothing more for it. Times and ids as in `memory/base.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from memory.base import Fact, Ledger, Message, Owner, ProfileItem, Store, Summary
from memory.browsing import Browsing
from memory.called import Called
from memory.embedding import Vectors
from memory.forgetting import Forgetting
from memory.links import Links
from memory.people import Persons


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that is to be learned from: the oldest one of its scope. `tries`: how often that was put off."""

    ledger: Ledger
    tries: int


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """What is still to be learned from, in all scopes: how many turns, and the id, which holds its time, of the oldest."""

    turns: int
    oldest: int | None


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to learn from in a turn, at one moment, and what is known already.

    `messages` are the turn's, oldest first, withheld ones (`memory/forgetting.py`) as if deleted, these with empty text;
    `before` the assistant's last message before them in the session. `facts` and `items` are the speaker's own live ones,
    oldest first: those of the session, and those of the owner's namespace wherever they were said. A person who was erased, or
    is unknown, has nothing: `person_id` is None then.
    """

    person_id: int | None
    messages: tuple[Message, ...]
    before: Message | None
    facts: tuple[Fact, ...]
    items: tuple[ProfileItem, ...]


def said_by(person_id: int, message: Message, ledger: Ledger) -> Message:
    """Return a message of the ledger's person as said by whom that is now, after a link (`memory/links.py`). Pure."""
    if message.person_id != ledger.person_id or message.person_id == person_id:
        return message
    return msgspec.structs.replace(message, person_id=person_id)


def live_ids(material: Material) -> tuple[list[int], list[int]]:
    """Return the ids of the facts and items that were live, as the databases list them. Pure."""
    return [row.id for row in material.facts], [row.id for row in material.items]


class Fragment(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Something that recall can find: a message, or a profile item (`scope_id` 0).

    `terms` are keyed by their owner (`memory/terms.py`): the index holds no words, and one person's terms are no other's.
    """

    scope_id: int
    id: int
    terms: tuple[tuple[int, int], ...]  # id of the term, how often


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """All that one turn changes, written at once or not at all.

    `versions` are the (id, version) of the turn's messages that it was made from: where one was edited or deleted since,
    nothing is written. New rows have id 0 and get theirs; `superseded` and `retracted` name rows of the same person that end
    at `ledger.now_ms`. The session's other live facts of the speaker live on until `facts_until_ms` (they slide). `ledger`
    is the turn's own, with what was learned and refused. `material` is what all this was decided on: where other rows of the
    person are live by now (a correction, another room's turn), nothing is written. None: nothing was decided. `called` are names
    that whoever spoke has used; they are noted if that is still who spoke (`person_id` or not).
    """

    ledger: Ledger
    person_id: int | None
    namespace: str
    versions: tuple[tuple[int, int], ...]
    material: Material | None = None
    facts: tuple[Fact, ...] = ()
    items: tuple[ProfileItem, ...] = ()
    superseded_facts: tuple[int, ...] = ()
    retracted_facts: tuple[int, ...] = ()
    superseded_items: tuple[int, ...] = ()
    retracted_items: tuple[int, ...] = ()
    facts_until_ms: int = 0
    fragments: tuple[Fragment, ...] = ()  # of the turn's messages; their session and place are the ledger's
    item_terms: tuple[tuple[tuple[int, int], ...], ...] = ()  # of `items`, in their order
    called: tuple[Called, ...] = ()


class Covered(msgspec.Struct, frozen=True, kw_only=True):
    """How far a session is summarised: `summary` is the newest one. One that covers a message that was edited or deleted since
    is gone, so that the next one is made from an older one, or from the messages alone."""

    summary: Summary | None
    sound: bool = True  # what the summary newly covers is stored as its digest says (`memory/coverage.py`), all of it
    turns: int  # of the session after what the summary covers, at most `LIMIT_TURNS`
    tokens: int  # of those turns


LIMIT_TURNS = 1000
"""Turns that `Derived.covered` counts at most."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that a prompt has shown, oldest first."""

    facts: tuple[Fact, ...] = ()
    items: tuple[ProfileItem, ...] = ()
    summaries: tuple[Summary, ...] = ()


class Ended(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A value that a newer one replaced or that was taken back, and the messages that it came from. `lasting`: a profile item,
    else a fact of a session."""

    lasting: bool
    scope_id: int
    slot: str
    value: str
    source_ids: tuple[int, ...]


READ_FOR_A_HIT = 5
"""Of a term so many times as many of the person's fragments are looked at, the newest, as a load may get hits."""

ENDED_ROWS = 50
"""Rows that `Derived.ended` looks back at: the newest profile items, and of each session facts, that ended in one way."""


class Derived(Protocol):
    """The derived rows on one database, beside its `memory.base.Store` (there as `derived`).

    Every implementation passes `tests/contracts/derived.py`. Everything personal is read and written by its person, by
    equality on columns; None, or a person who was erased, gets and changes nothing. Database trouble surfaces as
    `memory.errors.StoreUnavailable`.
    """

    async def claim(self, *, owner: str, now_ms: int, lease_ms: int, limit: int) -> tuple[Due, ...]:
        """Take up to `limit` scopes in which a turn is due and that nobody else holds; return the oldest turn of each. A scope
        whose oldest turn was put off until later is left alone: turns are learned from in their order. The lease ends by
        itself after `lease_ms`; until then nobody gets the scope again, its holder neither. A turn whose ledger can't be read
        (damaged, or of a release that wrote another form) is due no more and logged: it must not hold up the others."""
        ...

    async def release(self, scope_id: int, *, owner: str) -> None:
        """Give a scope back; one that is not the owner's (any more) stays as it is."""
        ...

    async def put_off(self, turn_id: int, *, due_ms: int) -> None:
        """Try the turn again at `due_ms`, and count it."""
        ...

    async def next_due(self) -> int | None:
        """Return when the next turn is due, held ones apart; None: none is."""
        ...

    async def backlog(self) -> Backlog:
        """Count all turns that are due, now or later, held ones too. It reads an entry of an index for each."""
        ...

    async def material(self, ledger: Ledger, *, namespace: str) -> Material:
        """Return what there is to learn from the ledger's turn, for its person (`ledger.person_id`)."""
        ...

    async def settle(self, learned: Learned) -> bool:
        """Write what was learned, and that the turn is due no more, in one transaction. False, and nothing is written: the turn
        is not due any more (somebody else did it), one of its messages has another version or is withheld, the person was
        erased or is another one now (`memory/links.py`), or other rows of theirs are live than it was decided on."""
        ...

    async def covered(self, scope_id: int, session_id: str) -> Covered: ...

    async def drop_summary(self, scope_id: int, id_: int) -> None:
        """Delete a summary; the one it was made from is the newest again."""
        ...

    async def stretch(self, scope_id: int, session_id: str, *, after_id: int, limit: int) -> tuple[Message, ...]:
        """Return up to `limit` messages of the session after `after_id`, oldest first, withheld ones as if deleted, these with
        empty text."""
        ...

    async def put_summary(
        self, summary: Summary, *, replaces: int | None, versions: Sequence[tuple[int, int]], owner: str, now_ms: int
    ) -> bool:
        """Store a new summary. False, and nothing is written: `owner` does not hold the scope, its newest one is not `replaces`,
        or one of the newly covered messages (`versions`) was edited, deleted or withheld meanwhile."""
        ...

    async def fragments(self, owner: Owner, wanted: Sequence[tuple[int, int]]) -> tuple[Message, ...]:
        """Return the messages of these (scope_id, id) as they are now that the owner's person may be shown there, with their
        neighbours: up to two before and two after in the same session, that are fragments of the same person. Beyond the
        owner's scope only what was said with the owner's agent. Oldest first, none twice, deleted ones left out."""
        ...

    async def items(self, owner: Owner, ids: Sequence[int]) -> tuple[ProfileItem, ...]:
        """Return those of these profile items that the owner's person may be shown there now, oldest first."""
        ...

    async def ended(self, owner: Owner, sessions: Sequence[tuple[int, str]]) -> tuple[Ended, ...]:
        """Return what is no longer so of the owner's person: the newest profile items that ended, and the newest facts that ended
        in these (scope_id, session_id) and are not said again there. In no order."""
        ...

    async def shown(
        self, owner: Owner, *, facts: Sequence[int], items: Sequence[int], summaries: Sequence[int]
    ) -> Shown:
        """Return these rows for a replay, superseded and expired ones too, but none that was taken back: facts and summaries of
        the owner's scope, facts and items of its person."""
        ...

    async def known(self, person_id: int, *, now_ms: int) -> tuple[tuple[ProfileItem, ...], tuple[Fact, ...]]:
        """Return the person's live profile items of all namespaces and live facts of all sessions, oldest first."""
        ...


class FullStore(Store, Protocol):
    """A store with its derived rows, their vectors, what people forget, and what is stored of persons and of conversations as a
    whole."""

    @property
    def browsing(self) -> Browsing: ...

    @property
    def derived(self) -> Derived: ...

    @property
    def forgetting(self) -> Forgetting: ...

    @property
    def links(self) -> Links: ...

    @property
    def persons(self) -> Persons: ...

    @property
    def vectors(self) -> Vectors: ...
