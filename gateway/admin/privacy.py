"""A person's data taken along, counted and erased by an admin, and what persons have asked for. For all channels at once, so it
needs the right for the whole gateway."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from adapters.base import MessageEvent
from gateway.admin.acts.people import (
    ERASE,
    EXPORT,
    MET,
    REQUEST,
    REQUESTS,
    EraseAsked,
    EraseTold,
    PersonAsked,
    RequestAsked,
    RequestNew,
    RequestsAsked,
    RequestsPage,
    RequestTold,
)
from gateway.admin.operations import Acting, Handlers, Missing, Stream
from gateway.admin.people import Eraser
from gateway.admin.persons_known import PersonsKnown, nobody, request_told
from gateway.admin.seen import route_of
from memory.exporting import export, time_told
from memory.key import decode_part
from memory.people import Person, Persons, Request


class PrivacyActs:
    """Does the acts."""

    def __init__(self, *, persons: Persons, known: PersonsKnown, eraser: Eraser, clock: Callable[[], int]) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._persons = persons
        self._known = known
        self._eraser = eraser
        self._clock = clock

    def handlers(self) -> Handlers:
        return {
            EXPORT: self.export,
            ERASE: self.erase,
            REQUESTS: self.requests,
            REQUEST: self.request,
            MET: self.met,
        }

    async def export(self, acting: Acting, asked: PersonAsked) -> Stream:
        person = await self._known.find(asked.person)
        acting.note(person=str(person.id))
        besides = (("queue", self._queued(person)), ("takeovers", self._takeovers(person)))
        pieces = export(self._persons, person, besides=besides)
        return Stream(pieces, media="application/json", filename=f"person-{person.id}.json")

    async def _queued(self, person: Person) -> AsyncGenerator[dict[str, str | bool | None], None]:
        async with aclosing(self._eraser.kept(person)) as events:
            async for event in events:
                if (route := route_of(event)) is not None and isinstance(said := route.event, MessageEvent):
                    yield {
                        "id": str(event.id),
                        "said_at": time_told(event.accepted_ms),
                        "state": event.state,
                        "channel": said.channel,
                        "room": said.room,
                        "thread": said.thread,
                        "account": said.sender.account,
                        "name": said.sender.name,
                        "text": said.text,
                        "by_staff": route.human is not None,
                    }

    async def _takeovers(self, person: Person) -> AsyncGenerator[dict[str, str | None], None]:
        for row in await self._eraser.takeovers(person):
            yield {
                "id": str(row.id),
                "channel": decode_part(row.channel),
                "began_at": time_told(row.created_ms),
                "asked_by": row.asked_by,
                "why": row.note,
                "state": row.state,
                "how": row.how,
                "summary": row.summary,
            }

    async def erase(self, acting: Acting, asked: EraseAsked) -> EraseTold:
        acting.note(person=asked.person, confirmed=int(asked.confirm))
        act = self._eraser.erase if asked.confirm else self._eraser.counted
        receipt = await act(int(asked.person))
        if receipt is None:
            raise nobody(asked.person)
        acting.note(rows=sum(receipt.erased.values()))
        return EraseTold(person=receipt.person, done=asked.confirm, counts=receipt.erased)

    async def requests(self, acting: Acting, asked: RequestsAsked) -> RequestsPage:
        due_ms, _, id_ = (asked.after or "0-0").partition("-")
        found = await self._persons.requests(after=(int(due_ms), int(id_)), limit=asked.limit + 1)
        page = found[: asked.limit]
        return RequestsPage(
            requests=tuple(map(self._request, page)),
            unfinished=tuple(map(str, await self._persons.unfinished())),
            next=f"{page[-1].due_ms}-{page[-1].id}" if len(found) > len(page) else None,
        )

    async def request(self, acting: Acting, asked: RequestNew) -> RequestTold:
        person = await self._known.find(asked.person)
        noted = await self._persons.request(person.id, asked.kind, channel=None, now_ms=self._clock())
        if noted is None:
            raise nobody(asked.person)
        acting.note(person=str(person.id), kind=asked.kind, request=str(noted.id))
        return self._request(noted)

    async def met(self, acting: Acting, asked: RequestAsked) -> PersonAsked:
        acting.note(request=asked.request)
        person = await self._persons.met(int(asked.request))
        if person is None:
            raise Missing(f"request {asked.request}: there is none of this number, or it is met")
        acting.note(person=str(person))
        return PersonAsked(person=str(person))

    def _request(self, row: Request) -> RequestTold:
        return request_told(row, now_ms=self._clock())
