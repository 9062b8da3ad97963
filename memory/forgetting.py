"""What people do in chat with what is known of them: look at it, and have it forgotten.

Forgetting takes the words of rows away, and withholds the messages that they came from: whatever is learned later, from a turn
that still waits or one that is edited, is not learned from those. Times and ids as in `memory/base.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import msgspec

from memory.base import Fact, Message, ProfileItem
from memory.folding import folded
from memory.slots import slot_of

LISTED = 200
"""Entries that a listing has at most."""

WAITING = 200
"""Messages of turns not yet learned from that are looked at."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The rows that say one thing: an item, and the facts of sessions with the same slot and value."""

    items: tuple[int, ...]
    facts: tuple[int, ...]


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What a person was last shown: number 1 is the first of `entries`. `all_asked_ms`: when they last asked to have
    everything forgotten; None: not since."""

    listed_ms: int
    entries: tuple[Entry, ...]
    all_asked_ms: int | None = None


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a scope is, in a key's columns, encoded."""

    channel: str
    conversation: str
    chat_type: str


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """What was live and is forgotten, as it was; and how many messages are withheld that were not before."""

    items: tuple[ProfileItem, ...] = ()
    facts: tuple[Fact, ...] = ()
    withheld: int = 0


class Worded(msgspec.Struct, frozen=True, kw_only=True):
    """Other words for the row `id`: the row `fresh_id` takes its place with them; None: nothing does, another row says so
    already. `text` is the sentence around the value; facts have none."""

    id: int
    fresh_id: int | None
    value: str
    text: str = ""


class Forgetting(Protocol):
    """Forgetting on one database, beside its `memory.base.Store` (there as `forgetting`).

    Every implementation passes `tests/contracts/forgetting.py`. All is the named person's, by equality on columns: other rows
    are not touched, whatever ids are given. Database trouble surfaces as `memory.errors.StoreUnavailable`.
    """

    async def waiting(self, person_id: int) -> tuple[Message, ...]:
        """Return what the person said in turns that are not learned from yet, oldest first, at most `WAITING`."""
        ...

    async def places(self, scope_ids: Collection[int]) -> dict[int, Place]:
        """Return where these scopes are; unknown ones are left out."""
        ...

    async def forget(
        self, person_id: int, *, items: Sequence[int], facts: Sequence[int], withhold: Sequence[Message], now_ms: int
    ) -> Forgotten:
        """End these rows of the person's and take their words away, with past ones that said the same, and withhold the messages
        they came from, and those of `withhold` that are the person's, with what was learned of them meanwhile that says the
        same."""
        ...

    async def forget_slots(
        self, person_id: int, *, slots: Collection[str], withhold: Sequence[Message], now_ms: int
    ) -> Forgotten:
        """Forget every row of the person's in these slots, past ones too, and withhold messages as `forget` does."""
        ...

    async def correct(
        self,
        person_id: int,
        *,
        items: Sequence[Worded],
        facts: Sequence[Worded],
        withhold: Sequence[Message],
        now_ms: int,
    ) -> Forgotten:
        """Forget these rows as `forget` does, and put the corrected ones in their places, in the same transaction: entered at
        `now_ms`, said in no message, otherwise as those were. A row that was not live has no successor."""
        ...

    async def forget_turn(self, scope_id: int, *, person_id: int, user: str, now_ms: int) -> Forgotten | None:
        """Withhold what the person last said in the scope's running session under the account `user` (as in
        `Message.user`), with its answer, and forget all that was learned of it. None: nothing was said."""
        ...

    async def forget_all(self, person_id: int, *, now_ms: int) -> Forgotten:
        """Forget every row of the person's, past ones too, withhold what waits to be learned from, and take what the person
        said out of what recall searches."""
        ...

    async def put_listing(self, person_id: int, listing: Listing) -> None:
        """Keep what the person was shown, in place of what they were shown before."""
        ...

    async def listing(self, person_id: int) -> Listing | None: ...


class KnownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is known of a person. `said_ms` and `scope_id` say when and where it was last said; scope 0: nobody said
    it, it was entered."""

    slot: str
    value: str
    text: str  # where no slot says how the value reads
    pinned: bool
    private: bool  # said in private: not to be shown in groups
    said_ms: int
    scope_id: int
    rows: Entry


def entries(items: Iterable[ProfileItem], facts: Iterable[Fact], places: dict[int, Place]) -> list[KnownEntry]:
    """Return what these rows say, each thing once: pinned first, then what lasts, then what only a session knows; oldest
    first. What was said both in private and in a group is shown as said in the group. Pure."""
    found: dict[tuple[str, str, bool], KnownEntry] = {}
    for item in items:
        key = (item.slot, _worded(item.value or item.text), True)
        known = found.get(key)
        found[key] = KnownEntry(
            slot=item.slot,
            value=item.value,
            text=item.text,
            pinned=item.pinned or (known is not None and known.pinned),
            private=item.chat_type != "group" and (known is None or known.private),
            said_ms=item.valid_from_ms,
            scope_id=item.scope_id,
            rows=Entry(items=(*(known.rows.items if known else ()), item.id), facts=()),
        )
    for fact in facts:
        value = _worded(fact.value)
        lasting, passing = (fact.slot, value, True), (fact.slot, value, False)
        key = lasting if lasting in found else passing
        known = found.get(key)
        place = places.get(fact.scope_id)
        private = place is None or place.chat_type != "group"
        if known is None:
            rows = Entry(items=(), facts=(fact.id,))
            found[key] = KnownEntry(
                slot=fact.slot,
                value=fact.value,
                text=fact.value,
                pinned=False,
                private=private,
                said_ms=fact.created_ms,
                scope_id=fact.scope_id,
                rows=rows,
            )
        else:
            rows = Entry(items=known.rows.items, facts=(*known.rows.facts, fact.id))
            found[key] = msgspec.structs.replace(known, rows=rows, private=known.private and private)
    lasts = [entry for key, entry in found.items() if key[2]]
    passes = [entry for key, entry in found.items() if not key[2]]
    return [*sorted(lasts, key=lambda entry: not entry.pinned), *passes]


def reads(entry: KnownEntry, *, language: str) -> str:
    """Return the entry as a sentence, in the language if its slot has one."""
    slot = slot_of(entry.slot) if entry.slot else None
    if slot is None or not entry.value:
        return entry.text
    return slot.sentence(entry.value, language)


def telling(messages: Iterable[Message], values: Iterable[str]) -> list[Message]:
    """Return the messages in which one of the values stands, in whatever case, width and spacing: what is learned of the
    others can't be it, as the write bar wants a value to stand in its message. Pure."""
    wanted = [value for value in map(_letters, values) if value]
    return [row for row in messages if any(value in _letters(row.text) for value in wanted)]


def wordless(message: Message) -> Message:
    """Return a withheld message as those who learn from messages see it: as a deleted one. Pure."""
    return msgspec.structs.replace(message, text="", quote=None, deleted_ms=message.created_ms)


def same_words(one: str, other: str) -> bool:
    """Say whether two values are written alike: case, width and white space do not count. Pure."""
    return _worded(one) == _worded(other)


def _worded(value: str) -> str:
    return " ".join(folded(value).casefold().split())


def _letters(value: str) -> str:
    return "".join(char for char in folded(value).casefold() if char.isalnum())
