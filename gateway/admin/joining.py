"""Two persons become one, and two again, by an admin: on all channels, so it needs the right for the whole gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from gateway.admin.acts.people import LINK, UNLINK, LinkAsked, LinkMade, UnlinkAsked, Unlinked
from gateway.admin.operations import Acting, Disagrees, Handlers, Missing
from gateway.admin.persons_known import PersonsKnown, identities_in, identity_told, invalid
from memory.ids import Ids
from memory.links import Linked, Links

STAYS = "What was learned since they were joined stays where it is, and what was forgotten since does not come back."
STAYS_ALL = "It was joined too long ago: the account is a new person's, of whom nothing is known; what is known stays."


class JoiningActs:
    """Does the acts. `changed` is told when accounts are others' than before, `joined` who is whom now (absorbed, survivor)."""

    def __init__(
        self,
        *,
        links: Links,
        known: PersonsKnown,
        changed: Callable[[], None],
        joined: Callable[[int, int], Awaitable[None]],
        ids: Ids,
        clock: Callable[[], int],
    ) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._links = links
        self._known = known
        self._changed = changed
        self._joined = joined
        self._ids = ids
        self._clock = clock

    def handlers(self) -> Handlers:
        return {LINK: self.link, UNLINK: self.unlink}

    async def link(self, acting: Acting, asked: LinkAsked) -> LinkMade:
        one, other = await self._known.find(asked.person), await self._known.find(asked.other)
        if one.id == other.id:
            raise invalid("other", repr(asked.other), "they are one person already", "name another person")
        if one.erased_ms is not None or other.erased_ms is not None:
            raise invalid("other", repr(asked.other), "one of them is erased", "name living persons")
        survivor, absorbed = sorted((one, other), key=lambda person: (person.created_ms, person.id))
        accounts = tuple(map(identity_told, absorbed.identities))
        acting.note(person=str(one.id), other=str(other.id), confirmed=int(asked.confirm))
        if not asked.confirm:
            return LinkMade(
                survivor=str(survivor.id), absorbed=str(absorbed.id), accounts=accounts, link=None, until_ms=None
            )
        made = await self._links.join(one.id, other.id, now_ms=self._clock())
        if not isinstance(made, Linked):
            raise Disagrees("one of them was joined with somebody or erased meanwhile; look again")
        self._changed()
        await self._joined(made.absorbed_id, made.survivor_id)
        acting.note(link=str(made.link_id))
        until_ms = next((row.until_ms for row in await self._links.made(made.survivor_id)), None)
        return LinkMade(
            survivor=str(made.survivor_id),
            absorbed=str(made.absorbed_id),
            accounts=accounts,
            link=str(made.link_id),
            until_ms=until_ms,
        )

    async def unlink(self, acting: Acting, asked: UnlinkAsked) -> Unlinked:
        if (asked.link is None) == (asked.identity is None):
            raise invalid("link", repr(asked.link), "a link or an account is to be named, not both", "give link=…")
        now = self._clock()
        if asked.link is not None:
            acting.note(link=asked.link)
            parted = await self._links.undo(int(asked.link), now_ms=now)
        else:
            named = identities_in(asked.identity or "")
            if not named:
                raise invalid("identity", "***", "this is no account", "write KIND:TENANT:ACCOUNT")
            parted = await self._links.unlink(named[0], fresh_id=self._ids.next(), now_ms=now)
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
