"""What a channel's own page shows people of what is remembered of them: implements `adapters.base.Remembers`."""

from __future__ import annotations

import re

from adapters.base import Kept, Remembered, Sender, Waits
from gateway.live import Live
from gateway.notices import notice
from gateway.people import People
from gateway.personal_memory import PersonalMemory
from memory.bar_words import RULES
from memory.forgetting import Entry, KnownEntry, Place, reads
from memory.key import decode_part

_ID = re.compile(r"([if])(\d{1,19})")
_IDS = re.compile(rf"{_ID.pattern}(?:\.{_ID.pattern})*")


class MemoryOnPage:
    """Every call is for the person behind the sender's account on this channel, and for no other."""

    def __init__(self, *, personal: PersonalMemory, people: People, live: Live) -> None:
        self._personal = personal
        self._people = people
        self._live = live

    async def remembered(self, channel: str, sender: Sender, *, language: str) -> Remembered:
        person = await self._person(channel, sender)
        if person is None:
            return Remembered()
        waiting = await self._personal.waiting(person)  # first: what is learned of it meanwhile is then known
        found, places = await self._personal.known(person)
        return Remembered(
            kept=tuple(_kept(entry, places.get(entry.scope_id), language=language) for entry in found),
            waits=tuple(Waits(text=row.text, said_ms=row.created_ms) for row in waiting),
        )

    async def forget(self, channel: str, sender: Sender, kept: str | None) -> int:
        person = await self._person(channel, sender)
        if person is None:
            return 0
        rows = None if kept is None else _rows(kept)
        gone = await (self._personal.forget_all(person) if rows is None else self._personal.forget(person, [rows]))
        return len(gone.items) + len(gone.facts)

    async def correct(self, channel: str, sender: Sender, kept: str, value: str, *, language: str) -> str | None:
        person = await self._person(channel, sender)
        gone = notice("forget_gone", "zh" if language == "zh" else "en")
        if person is None:
            return gone
        emails = self._live.configuration.effective(channel).memory.facts.emails
        went = await self._personal.correct(person, _rows(kept), value, language=language, emails=emails)
        if isinstance(went, str):
            english, chinese = RULES[went]
            return chinese if language == "zh" else english
        return None if went.items or went.facts else gone

    async def _person(self, channel: str, sender: Sender) -> int | None:
        return await self._people.person(sender, kind=self._live.configuration.settings.channels[channel].kind)


def _kept(entry: KnownEntry, place: Place | None, *, language: str) -> Kept:
    return Kept(
        id=".".join([*(f"i{id_}" for id_ in entry.rows.items), *(f"f{id_}" for id_ in entry.rows.facts)]),
        kind="pinned" if entry.pinned else "profile" if entry.rows.items else "session",
        text=reads(entry, language=language),
        value=entry.value or entry.text,
        said_ms=entry.said_ms,
        private=entry.private,
        entered=entry.scope_id == 0,
        channel=decode_part(place.channel) if place else None,
        room=decode_part(place.conversation.partition("/")[0]) if place else None,
    )


def _rows(kept: str) -> Entry:
    """Return the rows that an id names; none for what is no id of ours."""
    named = _ID.findall(kept) if _IDS.fullmatch(kept) else []
    by_kind = {kind: tuple(int(id_) for one, id_ in named if one == kind and int(id_) < 2**63) for kind in "if"}
    return Entry(items=by_kind["i"], facts=by_kind["f"])
