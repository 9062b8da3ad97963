"""Whom an actor may know of: for who acts on persons.

An actor with rights for some channels knows of a person what came from there, and no more: accounts that have written there. A
person who never came there is none to them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from config.loader import Configuration
from gateway.admin.acts.people import IdentityTold, PersonLine, RequestTold
from gateway.admin.operations import Acting, FieldProblem, Invalid, Missing
from gateway.admin.rights import Right
from memory.base import Identity
from memory.key import InvalidKey, decode_part, encode_part
from memory.people import Account, Person, Persons, Request

NAMES = 10
"""Names of a person that are told at most."""


class PersonsKnown:
    """Finds persons for an actor."""

    def __init__(self, persons: Persons, *, configuration: Callable[[], Configuration]) -> None:
        self._persons = persons
        self._configuration = configuration

    async def find(self, number: str) -> Person:
        """Return the person, for an act that needs the right for the whole gateway. Raises `Missing`."""
        person = await self._persons.find(int(number))
        if person is None:
            raise nobody(number)
        return person

    async def everybody(self, *, after: int, limit: int) -> list[PersonLine]:
        """Return up to `limit` persons behind a number, for whom the whole gateway is open."""
        return [
            person_line(
                person,
                map(identity_told, person.identities),
                await self._persons.names(person.id, channels=None, limit=NAMES),
            )
            for person in await self._persons.listed(after_id=after, limit=limit)
        ]

    async def known_to(self, acting: Acting, number: str) -> tuple[Person, PersonLine]:
        """Return the person as the actor may know them, and note who it is. Raises `Missing`."""
        person = await self._persons.find(int(number))
        line = None if person is None else await self.line(acting, person)
        if person is None or line is None:
            raise nobody(number)
        acting.note(person=str(person.id))
        return person, line

    async def line(self, acting: Acting, person: Person, *, right: Right | None = None) -> PersonLine | None:
        """Return the person with the accounts that the actor may know of by the right (None: the operation's); None: they may
        know of none."""
        held = acting.channels(right)
        accounts = await self._persons.seen(person.id)
        kinds = {name: channel.kind for name, channel in self._configuration().settings.channels.items()}
        told = [identity_told(one, _channels_of(one, accounts, kinds, held)) for one in person.identities]
        if held is not None:
            told = [one for one in told if one.channels]
            if not told:
                return None
        names = await self._persons.names(person.id, channels=None if held is None else sorted(held), limit=NAMES)
        return person_line(person, told, names)


def _channels_of(
    identity: Identity, accounts: Iterable[Account], kinds: Mapping[str, str], held: Collection[str] | None
) -> tuple[str, ...]:
    """Return the channels that the account has written in, of those that are held. Of a channel that is not configured any more
    nobody can tell of what kind it was: it counts for nobody."""
    users = {identity.account, f"{identity.tenant}.{identity.account}"}
    found = {decode_part(one.channel) for one in accounts if decode_part(one.user) in users}
    return tuple(sorted(name for name in found if kinds.get(name) == identity.kind and (held is None or name in held)))


def person_line(person: Person, identities: Iterable[IdentityTold], names: tuple[str, ...]) -> PersonLine:
    """Return the person with these accounts and names. Pure."""
    return PersonLine(
        person=str(person.id),
        created_ms=person.created_ms,
        erased_ms=person.erased_ms,
        identities=tuple(identities),
        names=names,
    )


def identity_told(one: Identity, channels: tuple[str, ...] = ()) -> IdentityTold:
    """Return the account as it is told. Pure."""
    return IdentityTold(kind=one.kind, tenant=one.tenant, account=one.account, channels=channels)


def identities_in(who: str) -> list[Identity]:
    """Return the account that is written KIND:TENANT:ACCOUNT; none, if it is none."""
    kind, _, rest = who.partition(":")
    tenant, colon, account = rest.partition(":")
    if not colon or not storable(kind) or not storable(account) or (tenant and not storable(tenant)):
        return []
    return [Identity(kind=kind, tenant=tenant, account=account)]


def storable(part: str) -> bool:
    """Say whether it can be a part of an account's name. Pure."""
    try:
        encode_part(part)
    except InvalidKey:
        return False
    return True


def request_told(row: Request, *, now_ms: int) -> RequestTold:
    """Return the request as it is told. Pure."""
    return RequestTold(
        request=str(row.id),
        person=str(row.person_id),
        kind=row.kind,
        channel=row.channel,
        asked_ms=row.asked_ms,
        due_ms=row.due_ms,
        overdue=now_ms > row.due_ms,
    )


def nobody(number: str) -> Missing:
    """Return the error for somebody who is not there, or of whom the actor may not know. Pure."""
    return Missing(f"person {number}: there is none of this number; people.find tells who there is")


def invalid(path: str, value: str, problem: str, remedy: str) -> Invalid:
    """Return the error for one field. Pure."""
    told = FieldProblem(path=path, value=value, problem=problem, remedy=remedy)
    return Invalid(f"{path}: {problem}; {remedy}", problems=(told,))
