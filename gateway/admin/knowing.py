"""Persons as an admin knows them: found, and what is known of them seen with its sources, forgotten and corrected.

An actor with rights for some channels sees and forgets what was said there, and is told how much more there is. A correction
holds everywhere, so it needs the right for the whole gateway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import filterfalse

from config.loader import Configuration
from gateway.admin.acts.people import (
    CORRECT,
    FIND,
    FORGET,
    SHOW,
    CorrectAsked,
    FindAsked,
    ForgetAsked,
    Forgot,
    LinkTold,
    PersonLine,
    PersonsPage,
    PersonTold,
    RequestTold,
    ShowAsked,
    SourceTold,
    ThingTold,
)
from gateway.admin.operations import Acting, Disagrees, Handlers
from gateway.admin.persons_known import (
    PersonsKnown,
    identities_in,
    identity_told,
    invalid,
    request_told,
    storable,
)
from gateway.personal_memory import PersonalMemory, id_of, rows_of
from memory.bar_words import RULES
from memory.base import Fact, Message, ProfileItem
from memory.derived import FullStore
from memory.forgetting import Entry, Forgotten, KnownEntry, entries, reads
from memory.key import decode_part
from memory.people import Person

SHOWN = 200
"""Things that are shown of a person at most."""
REQUESTS = 50
"""Requests of a person that are shown at most."""
SOURCES = 3
"""Messages that are shown of a thing at most, the newest."""


class KnowingActs:
    """Does the acts."""

    def __init__(
        self,
        *,
        store: FullStore,
        personal: PersonalMemory,
        known: PersonsKnown,
        configuration: Callable[[], Configuration],
        clock: Callable[[], int],
    ) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._store = store
        self._persons = store.persons
        self._personal = personal
        self._known = known
        self._configuration = configuration
        self._clock = clock

    def handlers(self) -> Handlers:
        return {FIND: self.find, SHOW: self.show, FORGET: self.forget, CORRECT: self.correct}

    async def find(self, acting: Acting, asked: FindAsked) -> PersonsPage:
        if asked.who is None:
            return await self._listed(acting, asked)
        who = asked.who.strip()
        lines = [
            line
            for line in await self._lines(acting, await self._called(who, limit=asked.limit + 1))
            # By an account that one may not know of nobody is found: else it would tell whose it is.
            if acting.channels() is None or _named(line, who)
        ]
        by_name = await self._lines(acting, await self._by_name(acting, who, limit=asked.limit + 1))
        lines += [line for line in by_name if line not in lines]
        page = tuple(lines[: asked.limit])
        acting.note(found=len(page))
        return PersonsPage(people=page, next=None, more=len(lines) > len(page))

    async def _lines(self, acting: Acting, numbers: Iterable[int]) -> list[PersonLine]:
        """Return the persons of whom the actor may know, each once."""
        lines: list[PersonLine] = []
        for number in numbers:
            person = await self._persons.find(number)
            line = None if person is None else await self._known.line(acting, person)
            if line is not None and line not in lines:
                lines.append(line)
        return lines

    async def _listed(self, acting: Acting, asked: FindAsked) -> PersonsPage:
        if acting.channels() is not None:
            raise invalid("who", "", "everybody is listed to whom the whole gateway is open", "name an account")
        after = 0 if asked.after is None else int(asked.after)
        found = await self._known.everybody(after=after, limit=asked.limit + 1)
        page = found[: asked.limit]
        acting.note(found=len(page))
        return PersonsPage(people=tuple(page), next=page[-1].person if len(found) > len(page) else None)

    async def _called(self, who: str, *, limit: int) -> list[int]:
        """Return who may be meant, best first."""
        found: list[int] = []
        if who.isascii() and who.isdigit() and len(who) < 19:
            found.append(int(who))
        for identity in identities_in(who):
            person_id = await self._persons.of(identity)
            found += [] if person_id is None else [person_id]
        for account in (who, who.partition(".")[2]):
            if storable(account):
                found += await self._persons.having(account, limit=limit)
        return list(dict.fromkeys(found))

    async def _by_name(self, acting: Acting, who: str, *, limit: int) -> Sequence[int]:
        """Return who has called themselves so in the channels that the actor may know of."""
        held = acting.channels()
        channels = [name for name in self._configuration().settings.channels if held is None or name in held]
        return await self._persons.called(who, channels=channels, limit=limit)

    async def show(self, acting: Acting, asked: ShowAsked) -> PersonTold:
        person, line = await self._known.known_to(acting, asked.person)
        items, facts = await self._store.derived.known(person.id, now_ms=self._clock())
        places = await self._store.forgetting.places({row.scope_id for row in items} | {row.scope_id for row in facts})
        held = acting.channels()
        here = {scope_id for scope_id, place in places.items() if held is None or decode_part(place.channel) in held}

        def seen(row: ProfileItem | Fact) -> bool:
            return held is None or row.scope_id in here

        seen_items, seen_facts = list(filter(seen, items)), list(filter(seen, facts))
        things = entries(seen_items, seen_facts, places)
        hidden = entries(list(filterfalse(seen, items)), list(filterfalse(seen, facts)), places)
        shown = things[:SHOWN]
        cited = _cited(shown, {row.id: row for row in seen_items}, {row.id: row for row in seen_facts})
        said = {
            (row.scope_id, row.id): row
            for row in await self._persons.sources(person.id, sorted({one for ids in cited.values() for one in ids}))
        }
        waiting = [
            row
            for row in await self._store.forgetting.waiting(person.id)
            if held is None or decode_part(row.channel) in held
        ]
        return PersonTold(
            person=line,
            things=tuple(
                _thing(entry, cited[id_of(entry.rows)], said, acting, language=asked.language) for entry in shown
            ),
            more=len(things) - len(shown),
            elsewhere=len(hidden),
            unlearned=len(waiting),
            links=await self._links(person) if acting.may("people") else (),
            requests=await self._requests_of(person) if acting.may("erase") else (),
        )

    async def _links(self, person: Person) -> tuple[LinkTold, ...]:
        return tuple(
            LinkTold(
                link=str(row.id),
                absorbed=str(row.absorbed_id),
                linked_ms=row.linked_ms,
                until_ms=row.until_ms,
                accounts=tuple(map(identity_told, row.accounts)),
            )
            for row in await self._store.links.made(person.id)
        )

    async def _requests_of(self, person: Person) -> tuple[RequestTold, ...]:
        found = await self._persons.requests(after=(0, 0), limit=REQUESTS, person_id=person.id)
        return tuple(request_told(row, now_ms=self._clock()) for row in found)

    # --- forgetting and correcting ---

    async def forget(self, acting: Acting, asked: ForgetAsked) -> Forgot:
        person, _ = await self._known.known_to(acting, asked.person)
        named = [_rows(f"things.{number}", name) for number, name in enumerate(asked.things)]
        gone = await self._personal.forget(person.id, named, within=acting.channels())
        return self._gone(acting, gone)

    async def correct(self, acting: Acting, asked: CorrectAsked) -> Forgot:
        person, _ = await self._known.known_to(acting, asked.person)
        named = _rows("thing", asked.thing)
        emails = self._configuration().settings.defaults.memory.facts.emails
        went = await self._personal.correct(person.id, named, asked.value, language=asked.language, emails=emails)
        if isinstance(went, str):
            raise invalid("value", "***", RULES[went][0], "write a fact about the person that may be kept")
        return self._gone(acting, went)

    def _gone(self, acting: Acting, gone: Forgotten) -> Forgot:
        acting.note(items=len(gone.items), facts=len(gone.facts))
        if not gone.items and not gone.facts:
            raise Disagrees("it is not known any more; look again")
        return Forgot(items=len(gone.items), facts=len(gone.facts), withheld=gone.withheld)


def _named(line: PersonLine, who: str) -> bool:
    """Whether who was asked for is told in the line."""
    names = {line.person}
    for one in line.identities:
        names |= {one.account, f"{one.tenant}.{one.account}", f"{one.kind}:{one.tenant}:{one.account}"}
    return who in names


def _rows(path: str, name: str) -> Entry:
    rows = rows_of(name)
    if not rows.items and not rows.facts:
        raise invalid(path, repr(name[:40]), "this is no thing's id", "take the ids from people.show")
    return rows


def _cited(
    shown: Iterable[KnownEntry], items: Mapping[int, ProfileItem], facts: Mapping[int, Fact]
) -> dict[str, list[tuple[int, int]]]:
    """Return the (scope_id, id) of the messages that each thing came from, by the thing's id."""
    found: dict[str, list[tuple[int, int]]] = {}
    for entry in shown:
        rows: list[ProfileItem | Fact] = [items[id_] for id_ in entry.rows.items]
        rows += [facts[id_] for id_ in entry.rows.facts]
        ids = {(row.scope_id, id_) for row in rows if row.scope_id for id_ in row.source_ids}
        found[id_of(entry.rows)] = sorted(ids, key=lambda one: one[1])[-SOURCES:]
    return found


def _thing(
    entry: KnownEntry,
    cited: Iterable[tuple[int, int]],
    said: dict[tuple[int, int], Message],
    acting: Acting,
    *,
    language: str,
) -> ThingTold:
    return ThingTold(
        id=id_of(entry.rows),
        kind="pinned" if entry.pinned else "profile" if entry.rows.items else "session",
        slot=entry.slot,
        value=entry.value or entry.text,
        text=reads(entry, language=language),
        private=entry.private,
        entered=entry.scope_id == 0,
        said_ms=entry.said_ms,
        sources=tuple(_source(said[one], acting) for one in cited if one in said),
    )


def _source(row: Message, acting: Acting) -> SourceTold:
    room, slash, thread = row.conversation.partition("/")
    channel = decode_part(row.channel)
    return SourceTold(
        message=str(row.id),
        turn=str(row.turn_id),
        channel=channel,
        room=decode_part(room),
        thread=decode_part(thread) if slash else None,
        chat_type=row.chat_type,
        said_ms=row.created_ms,
        name=row.speaker_name,
        text=row.text if acting.may("read", channel) else "",
    )
