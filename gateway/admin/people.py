"""A person's end: one act over the queues, the memory store and what this process remembers, with a receipt of counts.

First it is noted by what all of theirs is found. What waits or runs for the person ends next, in sight; then the memory goes,
then the queues' words, last the accounts and the note. It may break off anywhere: whoever starts, or is asked again, goes on by
the note, and where nothing is left the counts are 0.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from adapters.base import EditEvent, MessageEvent
from config.loader import Configuration
from gateway.admin.takeovers import Takeover
from gateway.errors import StoreBusy
from gateway.inbox.base import Event, Inbox, Outcome
from gateway.inbox.erasable import Erasable, Page
from gateway.leases import Leases, one_at_a_time
from gateway.routing import Route, decode, encode
from memory.base import Identity
from memory.derived import FullStore
from memory.errors import StoreUnavailable
from memory.key import decode_part, encode_conversation, encode_part
from memory.people import Account, Person, Posted, Traces

T = TypeVar("T")

logger = logging.getLogger(__name__)

ERASED = Outcome(state="ignored", rule="person_erased")
ERASING = "erasure:one"
"""The lease under which persons are erased, one at a time: named after nobody."""
PAGE = 1000
"""Events that one look at the queues passes."""
COUNTED = ("inbox_events", "outbox_replies", "outbox_chunks")
"""Rows of the queues that are emptied; a receipt names them, also where there were none."""
BATCH = 100
"""Events that one transaction erases at most."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What an erasure took away: rows by kind, the queues' among them; numbers only."""

    person: str
    erased: dict[str, int]


class Queues(Inbox, Erasable, Protocol):
    """The queues, with what an erasure needs of them."""


class Takeovers(Protocol):
    """What is kept of a person's talk with humans (`gateway/admin/takeovers.py`); accounts are (channel, user), encoded."""

    async def about(self, persons: Collection[int], accounts: Collection[tuple[str, str]]) -> list[Takeover]:
        """Return those that are about the person, oldest first."""
        ...

    async def of_person(self, persons: Collection[int], accounts: Collection[tuple[str, str]]) -> list[int]:
        """Return the turns of what was posted about it in the staff's room, and of what staff said there. `persons` are all that
        the person is, by their numbers."""
        ...

    async def erase(self, persons: Collection[int], accounts: Collection[tuple[str, str]], *, now_ms: int) -> int:
        """End and empty it; return how many rows."""
        ...


@dataclass(slots=True)
class _Found:
    """By what a person's is found, and what the queues hold. `talk`: where the messages of each turn stand."""

    identities: set[Identity] = field(default_factory=set)
    accounts: set[Account] = field(default_factory=set)
    posted: set[Posted] = field(default_factory=set)
    events: dict[int, Event] = field(default_factory=dict)
    talk: dict[int, tuple[str, str]] = field(default_factory=dict)

    def traces(self) -> Traces:
        return Traces(
            identities=tuple(sorted(self.identities, key=lambda one: (one.kind, one.tenant, one.account))),
            accounts=tuple(sorted(self.accounts)),
            posted=tuple(sorted(self.posted)),
        )


class Eraser:
    """Erases persons, one at a time. `ended` is told each turn that this has ended, `forget` the events that are no more, when
    memory has forgotten the person."""

    def __init__(
        self,
        *,
        store: FullStore,
        queues: Queues,
        configuration: Callable[[], Configuration],
        ended: Callable[[int], Awaitable[None]],
        forget: Callable[[Sequence[int]], None],
        uncount: Callable[[int], Awaitable[int]],
        takeovers: Takeovers,
        leases: Leases,
        clock: Callable[[], int],
        within_s: float,
    ) -> None:
        """`leases` keep other instances from erasing meanwhile. `uncount` takes a person out of what was spent, and returns how
        many rows that changed. `clock` gives milliseconds since 1970, UTC; `within_s` is how long a reply that is being sent is
        waited for, and somebody else's erasure."""
        self._store = store
        self._persons = store.persons
        self._queues = queues
        self._configuration = configuration
        self._ended = ended
        self._forget = forget
        self._uncount = uncount
        self._takeovers = takeovers
        self._clock = clock
        self._within_s = within_s
        self._leases = leases

    async def erase(self, who: int | Identity) -> Receipt | None:
        """Erase the person everywhere; None: there is no such person. What they say from now on makes a new person. An account is
        erased whoever's it is, also when nobody is known by it: words may wait in the queues.

        Raises `StoreBusy` and `memory.errors.StoreUnavailable`, also when a reply to them was still being sent after the time
        that it has, or somebody else was being erased all that time: ask again then.
        """

        async def erase() -> Receipt | None:
            person_id = who if isinstance(who, int) else await self._store.person(who, now_ms=self._clock())
            person = await self._persons.find(person_id)
            return None if person is None else await self._erase(person)

        receipt = await one_at_a_time(self._leases, ERASING, erase, wait_s=self._within_s)
        if receipt is not None:
            logger.info("person erased", extra={"person": receipt.person, "erased": receipt.erased})
        return receipt

    async def counted(self, person_id: int) -> Receipt | None:
        """Count what an erasure would take away, roughly: nothing changes. None: there is no such person. Raises as `erase`."""
        person = await self._persons.find(person_id)
        if person is None:
            return None
        found = _Found({*person.identities}, {*await self._persons.accounts(person.id)})
        await self._trace(found, until_ms=person.erased_ms)
        counts = await self._persons.counts(person.id) | {"inbox_events": len(found.events)}
        counts["takeovers"] = len(await self.takeovers(person))
        return Receipt(person=str(person.id), erased=counts)

    async def kept(self, person: Person) -> AsyncGenerator[Event, None]:
        """Give what the queues hold that the person said, or a human said to them; of most of it memory has its own. Raises as
        `erase`."""
        found = _Found({*person.identities}, {*await self._persons.accounts(person.id)})
        for channel, speakers in self._speakers(found).items():
            async for event in self._spoken(channel, speakers):
                if _note(found, event):
                    yield event

    async def takeovers(self, person: Person) -> list[Takeover]:
        """Return what is kept of the person's talk with humans beside what was said. Raises as `erase`."""
        accounts = {(account.channel, account.user) for account in await self._persons.accounts(person.id)}
        return await self._takeovers.about(await self._persons.family(person.id), accounts)

    async def run(self, *, look_s: float) -> None:
        """Go on with erasures that broke off, here or elsewhere, for as long as the gateway runs; look every `look_s`."""
        while True:
            try:
                for person_id in await self._persons.unfinished():
                    await self._go_on(person_id)
            except StoreUnavailable:
                logger.warning("erasures that broke off are put off: the store is away", exc_info=True)
            await asyncio.sleep(look_s)

    async def _go_on(self, person_id: int) -> None:
        try:
            await self.erase(person_id)
        except (StoreBusy, StoreUnavailable):
            logger.warning("an erasure that broke off is put off", exc_info=True, extra={"person": person_id})
        except Exception:  # one that nobody can finish must end neither the others nor the gateway
            logger.exception("an erasure that broke off can't go on", extra={"person": person_id})

    async def _erase(self, person: Person) -> Receipt:
        counts, noted = Counter(dict.fromkeys(COUNTED, 0)), await self._persons.traces(person.id)
        found = _Found({*noted.identities, *person.identities}, {*noted.accounts}, {*noted.posted})
        found.accounts |= {*await self._persons.accounts(person.id)}
        # What had come before it began; what came later is a new person's.
        await self._end(person, found, counts, until_ms=person.erased_ms)
        now = self._clock()
        await self._persons.begin(person.id, now_ms=now)
        if person.erased_ms is None:
            await self._end(person, found, counts, until_ms=now)
        erased = await self._persons.erase(
            person.id, accounts=sorted(found.accounts), posted=sorted(found.posted), now_ms=now
        )
        counts.update(erased.counts)
        counts["quotes"] += await self._mend(found.posted)
        self._forget(sorted(found.events))
        persons = await self._persons.family(person.id)
        for one in persons:  # what was spent by somebody who was joined to them may still be under that number
            counts["usage_days"] += await self._uncount(one)
        await self._unsay(persons, found, counts)
        counts["identities"] += await self._persons.unlink(person.id)
        return Receipt(person=str(person.id), erased=dict(counts))

    async def _end(self, person: Person, found: _Found, counts: Counter[str], *, until_ms: int | None) -> None:
        """Find what the queues hold, note by what it was found, and end and empty it."""
        fresh = await self._trace(found, until_ms=until_ms)
        await self._persons.ask(person.id, found.traces())
        await self._empty(fresh, counts)

    async def _trace(self, found: _Found, *, until_ms: int | None) -> list[Event]:
        """Find what the queues hold of the person, accepted until then; return the events that were not known yet."""
        fresh: list[Event] = []
        for channel, speakers in self._speakers(found).items():
            async for event in self._spoken(channel, speakers):
                late = until_ms is not None and event.accepted_ms > until_ms
                if event.id not in found.events and not late and _note(found, event):
                    fresh.append(event)
        for some in _batched([event.turn_id for event in fresh], PAGE):
            for turn_id, message_id in await self._queues.posted(some):
                found.posted.add(Posted(*found.talk[turn_id], message_id))
        return fresh

    def _speakers(self, found: _Found) -> dict[str, set[str]]:
        """Return the speakers under which the person's events may stand, by channel; whose they are, they tell themselves."""
        speakers = defaultdict[str, set[str]](set)
        for account in found.accounts:
            speakers[decode_part(account.channel)].add(decode_part(account.user))
        for name, channel in self._configuration().settings.channels.items():
            for identity in found.identities:
                if identity.kind == channel.kind:
                    speakers[name] |= {identity.account, f"{identity.tenant}.{identity.account}"}
        return speakers

    async def _spoken(self, channel: str, speakers: Collection[str]) -> AsyncIterator[Event]:
        page = Page(next_id=0)
        while page.next_id is not None:
            page = await self._queues.spoken(channel, speakers, after_id=page.next_id, limit=PAGE)
            for event in page.events:
                yield event

    async def _empty(self, events: Sequence[Event], counts: Counter[str]) -> None:
        """End what has not ended, and empty all of it."""
        for some in _batched(events, BATCH):
            turns = {event.id: event.turn_id for event in some}
            busy, seen = list(turns), 0
            async with self._patience():
                while busy:
                    emptied = await self._queues.erase(busy, ERASED, now_ms=self._clock())
                    counts.update(emptied.counts)
                    for turn_id in {turns[id_] for id_ in emptied.ended}:
                        await self._ended(turn_id)
                    busy = list(emptied.busy)
                    if busy:
                        seen = await self._queues.changed(seen)

    async def _unsay(self, persons: Collection[int], found: _Found, counts: Counter[str]) -> None:
        """Empty what staff were told of the person, then the take-overs by which that is found."""
        accounts = {(account.channel, account.user) for account in found.accounts}
        turns, seen = await self._takeovers.of_person(persons, accounts), 0
        said = await self._queues.erase(turns, ERASED, now_ms=self._clock())  # by staff
        counts.update(said.counts)
        async with self._patience():
            while turns:
                emptied, turns = await self._queues.unsay(turns, now_ms=self._clock())
                counts["outbox_chunks"] += emptied
                if turns:
                    seen = await self._queues.changed(seen)
        counts["takeovers"] += await self._takeovers.erase(persons, accounts, now_ms=self._clock())

    @asynccontextmanager
    async def _patience(self) -> AsyncIterator[None]:
        """Bound the wait for what is just being sent. Raises `StoreBusy` at its end."""
        try:
            async with asyncio.timeout(self._within_s):
                yield
        except TimeoutError:
            reason = f"a reply to the person is still being sent after {self._within_s:g} s; erase them again"
            raise StoreBusy(reason, retry_after_s=self._within_s) from None

    async def _mend(self, posted: Iterable[Posted]) -> int:
        """Take quotes of the person's messages out of what others' events hold."""
        gone: dict[str, set[tuple[str, str]]] = {}
        for message in posted:
            room = message.conversation.partition("/")[0]
            gone.setdefault(decode_part(message.channel), set()).add((room, message.message_id))
        mended = 0
        for channel, messages in gone.items():
            page = Page(next_id=0)
            while page.next_id is not None:
                mend = partial(unquoted, gone=messages)
                page = await self._queues.mend(channel, mend, after_id=page.next_id, limit=PAGE)
                mended += page.mended
        return mended


def _note(found: _Found, event: Event) -> bool:
    """Take an event into what was found if it is the person's; say whether it is. One that this release cannot read names
    nobody."""
    try:
        said = decode(event.body).event
    except msgspec.DecodeError:
        return False
    sender = said.sender
    if not any((sender.tenant, sender.account) == (one.tenant, one.account) for one in found.identities):
        return False
    channel, conversation = encode_part(said.channel), encode_conversation(said.room, said.thread)
    found.events[event.id] = event
    found.talk[event.turn_id] = (channel, conversation)
    found.accounts.add(Account(encode_part(sender.user), channel))
    if isinstance(said, MessageEvent | EditEvent):
        found.posted.add(Posted(channel, conversation, said.message_id))
    return True


def unquoted(body: bytes, *, gone: Collection[tuple[str, str]]) -> bytes | None:
    """Return the body of an event without its quote, if that is of a message that is `gone`: (room, message id), the room
    encoded as in a key. None: it quotes another, or none. An edit does not say what its message quotes: in a room of such
    messages it quotes nothing any more. Pure."""
    try:
        route = decode(body)
    except msgspec.DecodeError:
        return None
    said = route.event
    if not isinstance(said, MessageEvent | EditEvent) or said.quote is None:
        return None
    room = encode_part(said.room)
    if isinstance(said, MessageEvent) and (room, said.in_reply_to) not in gone:
        return None
    if isinstance(said, EditEvent) and room not in {there for there, _ in gone}:
        return None
    mended: Route = msgspec.structs.replace(route, event=msgspec.structs.replace(said, quote=None))
    return encode(mended)


def _batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
