"""What admins do about persons: find them, see what is known of them and why, forget and correct it, join and part accounts,
export, erase, and what persons have asked for.

An actor with rights for some channels knows of a person what came from there, and no more: accounts that have written there, and
things that were said there; a person of whom nothing came from there is none to them. What holds everywhere (a correction, a
link, an export, an erasure) needs the right for the whole gateway.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

from config.loader import Configuration
from gateway.admin.acts.people import (
    CORRECT,
    ERASE,
    EXPORT,
    FIND,
    FORGET,
    LINK,
    MET,
    REQUEST,
    REQUESTS,
    SHOW,
    UNLINK,
    CorrectAsked,
    EraseAsked,
    EraseTold,
    FindAsked,
    ForgetAsked,
    Forgot,
    IdentityTold,
    LinkAsked,
    LinkMade,
    LinkTold,
    PersonAsked,
    PersonLine,
    PersonsPage,
    PersonTold,
    RequestAsked,
    RequestNew,
    RequestsAsked,
    RequestsPage,
    RequestTold,
    ShowAsked,
    SourceTold,
    ThingTold,
    UnlinkAsked,
    Unlinked,
)
from gateway.admin.operations import Acting, Disagrees, FieldProblem, Handlers, Invalid, Missing, Stream
from gateway.admin.people import Eraser
from gateway.personal_memory import PersonalMemory, id_of, rows_of
from memory.bar_words import RULES
from memory.base import Fact, Identity, Message, ProfileItem
from memory.derived import FullStore
from memory.exporting import export
from memory.forgetting import Entry, Forgotten, KnownEntry, entries, reads
from memory.ids import Ids
from memory.key import InvalidKey, decode_part, encode_part
from memory.links import Linked
from memory.people import Account, Person, Request

SHOWN = 200
"""Things that are shown of a person at most."""
SOURCES = 3
"""Messages that are shown of a thing at most, the newest."""

STAYS = "What was learned since they were joined stays where it is, and what was forgotten since does not come back."
STAYS_ALL = "It was joined too long ago: the account is a new person's, of whom nothing is known; what is known stays."


class PeopleActs:
    """Does the acts. `changed` is told when accounts are others' than before, `joined` who is whom now (absorbed, survivor)."""

    def __init__(
        self,
        *,
        store: FullStore,
        personal: PersonalMemory,
        eraser: Eraser,
        configuration: Callable[[], Configuration],
        changed: Callable[[], None],
        joined: Callable[[int, int], Awaitable[None]],
        ids: Ids,
        clock: Callable[[], int],
    ) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._store = store
        self._persons = store.persons
        self._personal = personal
        self._eraser = eraser
        self._configuration = configuration
        self._changed = changed
        self._joined = joined
        self._ids = ids
        self._clock = clock

    def handlers(self) -> Handlers:
        return {
            FIND: self.find,
            SHOW: self.show,
            FORGET: self.forget,
            CORRECT: self.correct,
            LINK: self.link,
            UNLINK: self.unlink,
            EXPORT: self.export,
            ERASE: self.erase,
            REQUESTS: self.requests,
            REQUEST: self.request,
            MET: self.met,
        }

    # --- finding and seeing ---

    async def find(self, acting: Acting, asked: FindAsked) -> PersonsPage:
        if asked.who is None:
            return await self._listed(acting, asked)
        lines: list[PersonLine] = []
        for person_id in await self._called(asked.who.strip(), limit=asked.limit):
            person = await self._persons.find(person_id)
            line = None if person is None else await self._line(acting, person)
            # By an account that one may not know of nobody is found: else it would tell whose it is.
            if (
                line is not None
                and line not in lines
                and (acting.channels() is None or _named(line, asked.who.strip()))
            ):
                lines.append(line)
        acting.note(found=len(lines))
        return PersonsPage(people=tuple(lines[: asked.limit]), next=None)

    async def _listed(self, acting: Acting, asked: FindAsked) -> PersonsPage:
        if acting.channels() is not None:
            raise _invalid("who", "", "everybody is listed to whom the whole gateway is open", "name an account")
        after = 0 if asked.after is None else int(asked.after)
        found = await self._persons.listed(after_id=after, limit=asked.limit + 1)
        page = found[: asked.limit]
        acting.note(found=len(page))
        lines = [_line(person, map(_identity, person.identities)) for person in page]
        return PersonsPage(people=tuple(lines), next=str(page[-1].id) if len(found) > len(page) else None)

    async def _called(self, who: str, *, limit: int) -> list[int]:
        """Return who may be meant, best first."""
        found: list[int] = []
        if who.isascii() and who.isdigit() and len(who) < 19:
            found.append(int(who))
        for identity in _identities(who):
            person_id = await self._persons.of(identity)
            found += [] if person_id is None else [person_id]
        for account in (who, who.partition(".")[2]):
            if _storable(account):
                found += await self._persons.having(account, limit=limit)
        return list(dict.fromkeys(found))

    async def show(self, acting: Acting, asked: ShowAsked) -> PersonTold:
        person, line = await self._known_to(acting, asked.person)
        items, facts = await self._store.derived.known(person.id, now_ms=self._clock())
        places = await self._store.forgetting.places({row.scope_id for row in items} | {row.scope_id for row in facts})
        held = acting.channels()
        here = {scope_id for scope_id, place in places.items() if held is None or decode_part(place.channel) in held}
        seen_items = [row for row in items if held is None or row.scope_id in here]
        seen_facts = [row for row in facts if held is None or row.scope_id in here]
        things = entries(seen_items, seen_facts, places)
        hidden = entries(
            [row for row in items if row not in seen_items], [row for row in facts if row not in seen_facts], places
        )
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
            names=tuple(dict.fromkeys(row.speaker_name for row in said.values() if row.speaker_name))[:10],
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
                accounts=tuple(map(_identity, row.accounts)),
            )
            for row in await self._store.links.made(person.id)
        )

    async def _requests_of(self, person: Person) -> tuple[RequestTold, ...]:
        found = await self._persons.requests(after=(0, 0), limit=1000)
        return tuple(self._request(row) for row in found if row.person_id == person.id)

    # --- forgetting and correcting ---

    async def forget(self, acting: Acting, asked: ForgetAsked) -> Forgot:
        person, _ = await self._known_to(acting, asked.person)
        named = [_rows(f"things.{number}", name) for number, name in enumerate(asked.things)]
        gone = await self._personal.forget(person.id, named, within=acting.channels())
        return self._gone(acting, gone)

    async def correct(self, acting: Acting, asked: CorrectAsked) -> Forgot:
        person, _ = await self._known_to(acting, asked.person)
        named = _rows("thing", asked.thing)
        emails = self._configuration().settings.defaults.memory.facts.emails
        went = await self._personal.correct(person.id, named, asked.value, language=asked.language, emails=emails)
        if isinstance(went, str):
            raise _invalid("value", "***", RULES[went][0], "write a fact about the person that may be kept")
        return self._gone(acting, went)

    def _gone(self, acting: Acting, gone: Forgotten) -> Forgot:
        acting.note(items=len(gone.items), facts=len(gone.facts))
        if not gone.items and not gone.facts:
            raise Disagrees("it is not known any more; look again")
        return Forgot(items=len(gone.items), facts=len(gone.facts), withheld=gone.withheld)

    # --- joining and parting ---

    async def link(self, acting: Acting, asked: LinkAsked) -> LinkMade:
        one, other = await self._person(acting, asked.person), await self._person(acting, asked.other)
        if one.id == other.id:
            raise _invalid("other", repr(asked.other), "they are one person already", "name another person")
        if one.erased_ms is not None or other.erased_ms is not None:
            raise _invalid("other", repr(asked.other), "one of them is erased", "name living persons")
        survivor, absorbed = sorted((one, other), key=lambda person: (person.created_ms, person.id))
        accounts = tuple(map(_identity, absorbed.identities))
        acting.note(person=str(one.id), other=str(other.id), confirmed=int(asked.confirm))
        if not asked.confirm:
            return LinkMade(
                survivor=str(survivor.id), absorbed=str(absorbed.id), accounts=accounts, link=None, until_ms=None
            )
        made = await self._store.links.join(one.id, other.id, now_ms=self._clock())
        if not isinstance(made, Linked):
            raise Disagrees("one of them was joined with somebody or erased meanwhile; look again")
        self._changed()
        await self._joined(made.absorbed_id, made.survivor_id)
        acting.note(link=str(made.link_id))
        until_ms = next((row.until_ms for row in await self._store.links.made(made.survivor_id)), None)
        return LinkMade(
            survivor=str(made.survivor_id),
            absorbed=str(made.absorbed_id),
            accounts=accounts,
            link=str(made.link_id),
            until_ms=until_ms,
        )

    async def unlink(self, acting: Acting, asked: UnlinkAsked) -> Unlinked:
        if (asked.link is None) == (asked.identity is None):
            raise _invalid("link", repr(asked.link), "a link or an account is to be named, not both", "give link=…")
        now = self._clock()
        if asked.link is not None:
            acting.note(link=asked.link)
            parted = await self._store.links.undo(int(asked.link), now_ms=now)
        else:
            named = _identities(asked.identity or "")
            if not named:
                raise _invalid("identity", "***", "this is no account", "write KIND:TENANT:ACCOUNT")
            parted = await self._store.links.unlink(named[0], fresh_id=self._ids.next(), now_ms=now)
        if parted is None:
            raise Missing(
                "no such link, it is undone, or it is older than 30 days; then take each account out by itself"
            )
        self._changed()
        acting.note(persons=" ".join(map(str, parted.persons)))
        return Unlinked(
            persons=tuple(map(str, parted.persons)),
            as_it_was=parted.as_it_was,
            stays=STAYS if parted.as_it_was else STAYS_ALL,
        )

    # --- export, erasure, requests ---

    async def export(self, acting: Acting, asked: PersonAsked) -> Stream:
        person = await self._person(acting, asked.person)
        acting.note(person=str(person.id))
        return Stream(export(self._persons, person), media="application/json", filename=f"person-{person.id}.json")

    async def erase(self, acting: Acting, asked: EraseAsked) -> EraseTold:
        acting.note(person=asked.person, confirmed=int(asked.confirm))
        act = self._eraser.erase if asked.confirm else self._eraser.counted
        receipt = await act(int(asked.person))
        if receipt is None:
            raise _nobody(asked.person)
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
        person = await self._person(acting, asked.person)
        noted = await self._persons.request(person.id, asked.kind, channel=None, now_ms=self._clock())
        if noted is None:
            raise _nobody(asked.person)
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
        return RequestTold(
            request=str(row.id),
            person=str(row.person_id),
            kind=row.kind,
            channel=row.channel,
            asked_ms=row.asked_ms,
            due_ms=row.due_ms,
            overdue=self._clock() > row.due_ms,
        )

    # --- whom the actor may know of ---

    async def _person(self, acting: Acting, number: str) -> Person:
        person = await self._persons.find(int(number))
        if person is None:
            raise _nobody(number)
        return person

    async def _known_to(self, acting: Acting, number: str) -> tuple[Person, PersonLine]:
        person = await self._persons.find(int(number))
        line = None if person is None else await self._line(acting, person)
        if person is None or line is None:
            raise _nobody(number)
        acting.note(person=str(person.id))
        return person, line

    async def _line(self, acting: Acting, person: Person) -> PersonLine | None:
        """Return the person with the accounts that the actor may know of; None: they may know of none."""
        held = acting.channels()
        accounts = await self._persons.accounts(person.id)
        kinds = {name: channel.kind for name, channel in self._configuration().settings.channels.items()}
        told = [_identity(one, _channels_of(one, accounts, kinds, held)) for one in person.identities]
        if held is not None:
            told = [one for one in told if one.channels]
            if not told:
                return None
        return _line(person, told)


def _channels_of(
    identity: Identity, accounts: Iterable[Account], kinds: Mapping[str, str], held: Collection[str] | None
) -> tuple[str, ...]:
    """Return the channels that the account has written in, of those that are held. Of a channel that is not configured any more
    nobody can tell of what kind it was: it counts for nobody."""
    users = {identity.account, f"{identity.tenant}.{identity.account}"}
    found = {decode_part(one.channel) for one in accounts if decode_part(one.user) in users}
    return tuple(sorted(name for name in found if kinds.get(name) == identity.kind and (held is None or name in held)))


def _line(person: Person, identities: Iterable[IdentityTold]) -> PersonLine:
    return PersonLine(
        person=str(person.id),
        created_ms=person.created_ms,
        erased_ms=person.erased_ms,
        identities=tuple(identities),
    )


def _named(line: PersonLine, who: str) -> bool:
    """Whether who was asked for is told in the line."""
    names = {line.person}
    for one in line.identities:
        names |= {one.account, f"{one.tenant}.{one.account}", f"{one.kind}:{one.tenant}:{one.account}"}
    return who in names


def _identity(one: Identity, channels: tuple[str, ...] = ()) -> IdentityTold:
    return IdentityTold(kind=one.kind, tenant=one.tenant, account=one.account, channels=channels)


def _identities(who: str) -> list[Identity]:
    """Return the account that is written KIND:TENANT:ACCOUNT; none, if it is none."""
    kind, _, rest = who.partition(":")
    tenant, colon, account = rest.partition(":")
    if not colon or not _storable(kind) or not _storable(account) or (tenant and not _storable(tenant)):
        return []
    return [Identity(kind=kind, tenant=tenant, account=account)]


def _storable(part: str) -> bool:
    try:
        encode_part(part)
    except InvalidKey:
        return False
    return True


def _rows(path: str, name: str) -> Entry:
    rows = rows_of(name)
    if not rows.items and not rows.facts:
        raise _invalid(path, repr(name[:40]), "this is no thing's id", "take the ids from people.show")
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


def _nobody(number: str) -> Missing:
    return Missing(f"person {number}: there is none of this number; people.find tells who there is")


def _invalid(path: str, value: str, problem: str, remedy: str) -> Invalid:
    told = FieldProblem(path=path, value=value, problem=problem, remedy=remedy)
    return Invalid(f"{path}: {problem}; {remedy}", problems=(told,))
