"""What is known of a person, as single things: shown, forgotten, corrected. What people see of it in chat (`memory_in_chat.py`)
and on pages (`memory_on_page.py`) stands on this.

A thing is all the rows that say it: an item, and the facts of sessions beside it. Whatever is named by its rows means those that
have come to say the same since, and what waits to be learned from is withheld where it says so too.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Sequence

from memory.base import Fact, Message, ProfileItem
from memory.candidates import Candidate, Source
from memory.derived import FullStore
from memory.forgetting import Entry, Forgotten, KnownEntry, Place, Worded, entries, same_words, telling
from memory.ids import Ids
from memory.key import decode_part
from memory.slots import sentence_of

_ID = re.compile(r"([if])(\d{1,19})")
_IDS = re.compile(rf"{_ID.pattern}(?:\.{_ID.pattern})*")


def id_of(rows: Entry) -> str:
    """Return the name under which a page shows a thing. Pure."""
    return ".".join([*(f"i{id_}" for id_ in rows.items), *(f"f{id_}" for id_ in rows.facts)])


def rows_of(name: str) -> Entry:
    """Return the rows that a name of `id_of` means; none for what is no name of ours. Pure."""
    named = _ID.findall(name) if _IDS.fullmatch(name) else []
    by_kind = {kind: tuple(int(id_) for one, id_ in named if one == kind and int(id_) < 2**63) for kind in "if"}
    return Entry(items=by_kind["i"], facts=by_kind["f"])


class PersonalMemory:
    """What one store knows of people. Raises `memory.errors.StoreUnavailable`."""

    def __init__(self, *, store: FullStore, ids: Ids, clock: Callable[[], int]) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._store = store
        self._ids = ids
        self._clock = clock

    async def known(self, person_id: int) -> tuple[list[KnownEntry], dict[int, Place]]:
        """Return each thing that is known of the person, and where scopes of theirs are."""
        items, facts = await self._store.derived.known(person_id, now_ms=self._clock())
        scopes = {row.scope_id for row in items} | {row.scope_id for row in facts}
        places = await self._store.forgetting.places(scopes)
        return entries(items, facts, places), places

    async def waiting(self, person_id: int) -> tuple[Message, ...]:
        """Return what the person said that is not learned from yet, oldest first."""
        return await self._store.forgetting.waiting(person_id)

    async def forget(
        self, person_id: int, named: Sequence[Entry], *, within: Collection[str] | None = None
    ) -> Forgotten:
        """Forget what these rows say. What was forgotten already is not in the answer. `within`: as far as it was said in these
        channels; None: wherever it was said, or entered."""
        items, facts, waiting = await self._meant(person_id, named)
        if within is not None:
            items, facts, waiting = await self._said_in(within, items, facts, waiting)
        return await self._store.forgetting.forget(
            person_id,
            items=[row.id for row in items],
            facts=[row.id for row in facts],
            withhold=telling(waiting, _values(items, facts)),
            now_ms=self._clock(),
        )

    async def forget_slots(self, person_id: int, slots: Collection[str]) -> Forgotten:
        """Forget all that stands in these slots, and never learn it from what waits."""
        waiting = await self._store.forgetting.waiting(person_id)
        saying = await asyncio.to_thread(_saying, waiting, slots)
        return await self._store.forgetting.forget_slots(person_id, slots=slots, withhold=saying, now_ms=self._clock())

    async def forget_all(self, person_id: int) -> Forgotten:
        """Forget everything that was learned of the person."""
        return await self._store.forgetting.forget_all(person_id, now_ms=self._clock())

    async def correct(
        self, person_id: int, named: Entry, value: str, *, language: str, emails: bool
    ) -> Forgotten | str:
        """Put another value in place of what these rows say; return what went: nothing, where it was forgotten already.

        The person's own word, so it may be kept where what is said may be kept: else nothing changes, and the write bar's rule
        comes back (a key of `memory.bar_words.RULES`). `language` is that of the sentence around it, where the value shows
        none; `emails`: addresses may be kept.
        """
        value = " ".join(value.split())
        items, facts, waiting = await self._meant(person_id, [named])
        for slot in dict.fromkeys([*(row.slot for row in items), *(row.slot for row in facts)]):
            # In a thread: the bar's expressions may have to be compiled first.
            if rule := await asyncio.to_thread(_refused, slot, value, person_id, emails=emails):
                return rule
        if all(value == was for was in _values(items, facts)):  # also where there are none
            return Forgotten(items=tuple(items), facts=tuple(facts))
        others, other_facts = await self._store.derived.known(person_id, now_ms=self._clock())
        said = {_place(row) for row in others if row not in items and same_words(row.value or row.text, value)}
        said |= {_place(row) for row in other_facts if row not in facts and same_words(row.value, value)}
        return await self._store.forgetting.correct(
            person_id,
            items=[self._worded(row, value, said, language=language) for row in items],
            facts=[self._worded(row, value, said, language=language) for row in facts],
            withhold=telling(waiting, _values(items, facts)),
            now_ms=self._clock(),
        )

    async def _said_in(
        self, channels: Collection[str], items: list[ProfileItem], facts: list[Fact], waiting: Iterable[Message]
    ) -> tuple[list[ProfileItem], list[Fact], tuple[Message, ...]]:
        places = await self._store.forgetting.places({row.scope_id for row in items} | {row.scope_id for row in facts})
        theirs = {scope_id for scope_id, place in places.items() if decode_part(place.channel) in channels}
        return (
            [row for row in items if row.scope_id in theirs],
            [row for row in facts if row.scope_id in theirs],
            tuple(row for row in waiting if decode_part(row.channel) in channels),
        )

    async def _meant(
        self, person_id: int, named: Sequence[Entry]
    ) -> tuple[list[ProfileItem], list[Fact], tuple[Message, ...]]:
        # First what waits: what is learned of it meanwhile is then among what is known.
        waiting = await self._store.forgetting.waiting(person_id)
        items, facts = await self._store.derived.known(person_id, now_ms=self._clock())
        item_ids = {id_ for rows in named for id_ in rows.items}
        fact_ids = {id_ for rows in named for id_ in rows.facts}
        return *_same(items, facts, item_ids, fact_ids), waiting

    def _worded(self, row: ProfileItem | Fact, value: str, said: set[tuple[object, ...]], *, language: str) -> Worded:
        """Return the row's new words; where its place has them already, it has no successor. Notes it in `said`."""
        fresh_id = None if _place(row) in said else self._ids.next()
        said.add(_place(row))
        text = sentence_of(row.slot, value, language)
        return Worded(id=row.id, fresh_id=fresh_id, value=value, text=text)


def _refused(slot: str, value: str, person_id: int, *, emails: bool) -> str | None:
    """Return the rule by which the person's own correction is not kept; None: it may be."""
    from memory.bar import weigh

    candidate = Candidate(op="set", slot=slot, value=value, source_id=0, by="rules")
    return weigh(candidate, {0: Source(id=0, person_id=person_id, text=value)}, speaker=person_id, emails=emails)


def _saying(messages: Iterable[Message], slots: Collection[str]) -> list[Message]:
    """Return the messages from which the rules would learn something of these slots."""
    from memory.rules.extract import propose

    def found(row: Message) -> set[str]:
        return {one.slot for one in propose([Source(id=row.id, person_id=row.person_id or 0, text=row.text)])}

    return [row for row in messages if not found(row).isdisjoint(slots)]


def _place(row: ProfileItem | Fact) -> tuple[object, ...]:
    """Return what may hold one value only once: a namespace's slot, a session's slot."""
    where = (row.namespace,) if isinstance(row, ProfileItem) else (row.scope_id, row.session_id)
    return (*where, row.slot)


def _values(items: Iterable[ProfileItem], facts: Iterable[Fact]) -> list[str]:
    return [row.value or row.text for row in items] + [row.value for row in facts]


def _same(
    items: Sequence[ProfileItem], facts: Sequence[Fact], item_ids: set[int], fact_ids: set[int]
) -> tuple[list[ProfileItem], list[Fact]]:
    """Return the rows with these ids, and those that say the same as one of them: learned again since, or in another session."""
    said = [(row.slot, row.value or row.text) for row in items if row.id in item_ids]
    said += [(row.slot, row.value) for row in facts if row.id in fact_ids]

    def meant(slot: str, value: str) -> bool:
        return any(slot == one and same_words(value, other) for one, other in said)

    return (
        [row for row in items if meant(row.slot, row.value or row.text)],
        [row for row in facts if meant(row.slot, row.value)],
    )
