"""What a channel's own page shows people of what is remembered of them: implements `adapters.base.Remembers`."""

from __future__ import annotations

from adapters.base import Kept, Remembered, Sender, Waits
from gateway.live import Live
from gateway.notices import notice
from gateway.people import People
from gateway.personal_memory import PersonalMemory, id_of, rows_of
from memory.bar_words import RULES
from memory.forgetting import KnownEntry, Place, reads
from memory.key import decode_part


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
        rows = None if kept is None else rows_of(kept)
        gone = await (self._personal.forget_all(person) if rows is None else self._personal.forget(person, [rows]))
        return len(gone.items) + len(gone.facts)

    async def correct(self, channel: str, sender: Sender, kept: str, value: str, *, language: str) -> str | None:
        person = await self._person(channel, sender)
        gone = notice("forget_gone", "zh" if language == "zh" else "en")
        if person is None:
            return gone
        emails = self._live.configuration.effective(channel).memory.facts.emails
        went = await self._personal.correct(person, rows_of(kept), value, language=language, emails=emails)
        if isinstance(went, str):
            english, chinese = RULES[went]
            return chinese if language == "zh" else english
        return None if went.items or went.facts else gone

    async def _person(self, channel: str, sender: Sender) -> int | None:
        return await self._people.person(sender, kind=self._live.configuration.settings.channels[channel].kind)


def _kept(entry: KnownEntry, place: Place | None, *, language: str) -> Kept:
    return Kept(
        id=id_of(entry.rows),
        kind="pinned" if entry.pinned else "profile" if entry.rows.items else "session",
        text=reads(entry, language=language),
        value=entry.value or entry.text,
        said_ms=entry.said_ms,
        private=entry.private,
        entered=entry.scope_id == 0,
        channel=decode_part(place.channel) if place else None,
        room=decode_part(place.conversation.partition("/")[0]) if place else None,
    )
