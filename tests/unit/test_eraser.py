"""A person's end over real queues and a real store: quotes in others' events, replies on their way, an erasure that broke off."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.base import DeleteEvent, EditEvent, MessageEvent, MoveEvent, Quote, Sender
from config.loader import Configuration, load
from gateway.admin.people import ERASED, Eraser, unquoted
from gateway.errors import StoreBusy
from gateway.inbox.base import Event, Halt, NewEvent
from gateway.inbox.sqlite import SqliteInbox
from gateway.routing import decode, encode, route
from memory.base import Identity
from memory.ids import Ids
from memory.links import Linked
from memory.stores.sqlite import SqliteStore
from tests.contracts.queues import NOW_MS, claim_one, reply
from tests.fakes import NoTakeovers
from tests.pulling import alone

ME, YOU = Sender(user="acme.u1", tenant="acme", account="u1"), Sender(user="acme.u2", tenant="acme", account="u2")
_ids = Ids(3)


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    path = tmp_path / "clew.yaml"
    body = """
agents: {default: {kind: demo}}
channels:
  hook: {kind: webhook, secrets: ["whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="]}
  page: {kind: console}
"""
    path.write_text(body, "utf-8")
    return load(path, {})


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[tuple[SqliteStore, SqliteInbox]]:
    path, turn = tmp_path / "clew.db", asyncio.Lock()
    async with (
        SqliteStore(path, ids=_ids, write_turn=turn, timeout_s=5) as store,
        SqliteInbox(path, write_turn=turn, timeout_s=5, lease_s=15, poll_s=1, accept_max=100) as queues,
    ):
        yield store, queues


class World:
    """An eraser and what it told."""

    def __init__(self, stores: tuple[SqliteStore, SqliteInbox], configuration: Configuration, path: Path) -> None:
        self.path = path
        self.store, self.queues = stores
        self.configuration = configuration
        self.ended: list[int] = []
        self.forgotten: list[int] = []
        self.uncounted: list[int] = []

    def eraser(self, *, within_s: float = 5) -> Eraser:
        async def ended(turn_id: int) -> None:
            self.ended.append(turn_id)

        return Eraser(
            store=self.store,
            queues=self.queues,
            configuration=lambda: self.configuration,
            ended=ended,
            forget=self.forgotten.extend,
            uncount=self.uncount,
            takeovers=NoTakeovers(),
            leases=alone(),
            clock=lambda: NOW_MS,
            within_s=within_s,
        )

    async def uncount(self, person_id: int) -> int:
        self.uncounted.append(person_id)
        return 3 if self.uncounted.count(person_id) == 1 else 0

    async def person(self, sender: Sender = ME, kind: str = "webhook") -> int:
        return await self.store.person(Identity(kind=kind, tenant=sender.tenant, account=sender.account), now_ms=NOW_MS)

    async def accept(self, event: Any, *, now_ms: int = NOW_MS - 1) -> Event:
        control = not isinstance(event, MessageEvent)
        new = NewEvent(
            id=_ids.next(),
            channel=event.channel,
            kind="control" if control else "message",
            speaker=event.sender.user,
            body=encode(route(event, configuration=self.configuration, chosen_agent=None)),
            token="t",
            fingerprint=None,
            now_ms=now_ms,
        )
        return (await self.queues.accept(new, lane="lane", dedupe_ids=[str(new.id)])).event

    async def stored(self, event: Event) -> Event:
        found = await self.queues.event(event.id)
        assert found is not None
        return found


@pytest.fixture
def world(stores: tuple[SqliteStore, SqliteInbox], configuration: Configuration, tmp_path: Path) -> World:
    return World(stores, configuration, tmp_path / "clew.db")


def said(text: str, sender: Sender = ME, message_id: str = "m1", **fields: Any) -> MessageEvent:
    defaults: dict[str, Any] = {"channel": "hook", "room": "r/1", "chat_type": "group", "dedupe_ids": (message_id,)}
    return MessageEvent(sender=sender, text=text, message_id=message_id, **(defaults | fields))


def edited(text: str, sender: Sender = ME, message_id: str = "m1", **fields: Any) -> EditEvent:
    defaults: dict[str, Any] = {"channel": "hook", "room": "r/1", "chat_type": "group", "dedupe_ids": ("e",)}
    return EditEvent(sender=sender, text=text, message_id=message_id, **(defaults | fields))


async def test_quotes_in_others_events_go_too(world: World) -> None:
    """A message quotes by the id of what it answers; what quotes somebody else stands. E06."""
    me = await world.person()
    mine = await world.accept(said("Quittengelee 琥珀色河马"))
    quote = Quote(name="Me", text="Quittengelee 琥珀色河马")
    quoting = await world.accept(said("what?", YOU, "m2", in_reply_to="m1", quote=quote))
    other = await world.accept(said("hm", YOU, "m3", in_reply_to="m2", quote=Quote(name="You", text="what?")))
    mended = await world.accept(edited("so?", YOU, "m2", quote=quote))

    receipt = await world.eraser().erase(me)

    assert receipt is not None
    assert (2, 1, 1) == tuple(receipt.erased[kind] for kind in ("quotes", "inbox_events", "identities"))
    assert ([int(receipt.person)], 3) == (world.uncounted, receipt.erased["usage_days"])
    assert (b"", "") == ((await world.stored(mine)).body, (await world.stored(mine)).speaker)
    for event, text in ((quoting, "what?"), (mended, "so?")):
        kept = decode((await world.stored(event)).body).event
        assert isinstance(kept, MessageEvent | EditEvent)
        assert (text, None) == (kept.text, kept.quote)
    untouched = decode((await world.stored(other)).body).event
    assert isinstance(untouched, MessageEvent)
    assert Quote(name="You", text="what?") == untouched.quote


async def test_who_was_joined_to_somebody_is_erased_with_them(world: World) -> None:
    """What was spent under their own number, too: it may not have been joined."""
    me, you = await world.person(), await world.person(YOU)
    joined = await world.store.links.join(me, you, now_ms=NOW_MS)
    assert isinstance(joined, Linked)
    events = [await world.accept(said("one")), await world.accept(said("two", YOU, "m2"))]

    receipt = await world.eraser().erase(joined.absorbed_id)

    assert receipt is not None
    assert (str(joined.survivor_id), 2) == (receipt.person, receipt.erased["inbox_events"])
    assert {me, you} == {*world.uncounted}
    assert [b"", b""] == [(await world.stored(event)).body for event in events]


async def test_what_waits_of_somebody_is_given_out(world: World) -> None:
    """Theirs alone, what is told of their messages among it; nothing changes."""
    me = await world.store.persons.find(await world.person())
    assert me is not None
    mine = [await world.accept(said("one")), await world.accept(edited("two"))]
    await world.accept(said("three", YOU, "m3"))

    kept = [event async for event in world.eraser().kept(me)]

    assert mine == sorted(kept, key=lambda event: event.id)
    assert [] == await world.eraser().takeovers(me)


async def test_what_the_bot_posted_in_answer_is_quoted_no_more(world: World) -> None:
    """The platform's id of a sent reply is known from its receipt."""
    me = await world.person()
    mine = await world.accept(said("q"))
    await reply(world.queues, await claim_one(world.queues), [mine], chunks=("Quittengelee",))
    (chunk,) = await world.queues.due(now_ms=NOW_MS, limit=9)
    await world.queues.sent(chunk, message_id="bot-7", now_ms=NOW_MS)
    quote = Quote(name="bot", text="Quittengelee", by_bot=True)
    quoting = await world.accept(said("why?", YOU, "m2", in_reply_to="bot-7", quote=quote))

    await world.eraser().erase(me)

    kept = decode((await world.stored(quoting)).body).event
    assert isinstance(kept, MessageEvent)
    assert kept.quote is None


async def test_a_look_alike_on_another_channel_or_kind_keeps_theirs(world: World) -> None:
    """Speakers are only where to look: whose an event is, its own sender says."""
    me = await world.person()
    twin = Sender(user="u1", tenant="u", account="u1")
    theirs = await world.accept(said("theirs", twin, "m5"))
    page = await world.accept(said("theirs", ME, "m6", channel="page"))

    receipt = await world.eraser().erase(me)

    assert receipt is not None
    assert 0 == receipt.erased["inbox_events"]
    assert ["theirs", "theirs"] == [
        event.text
        for event in [decode((await world.stored(one)).body).event for one in (theirs, page)]
        if isinstance(event, MessageEvent)
    ]


async def test_what_waits_and_runs_ends_and_is_told(world: World) -> None:
    me = await world.person()
    running, waiting = await world.accept(said("a")), await world.accept(said("b", message_id="m2"))
    claim = await claim_one(world.queues)
    await world.queues.start([running.id], turn_id=running.id, lane=claim.lane, fence=claim.fence)

    await world.eraser().erase(me)

    assert [Halt(event_id=running.id, attempts=1, reason="withdrawn")] == await world.queues.halts(
        [running.id, waiting.id]
    )
    assert {running.id, waiting.id} == {*world.ended}
    assert sorted([running.id, waiting.id]) == world.forgotten
    assert [ERASED, ERASED] == [(await world.stored(event)).outcome for event in (running, waiting)]


async def test_a_reply_that_is_being_sent_is_waited_for(world: World) -> None:
    """For a while; then the caller is asked to come again, and nothing is lost by that."""
    me = await world.person()
    mine = await world.accept(said("q"))
    await reply(world.queues, await claim_one(world.queues), [mine])
    (chunk,) = await world.queues.due(now_ms=NOW_MS, limit=9)

    with pytest.raises(StoreBusy, match="still being sent"):
        await world.eraser(within_s=0.01).erase(me)
    erasing = asyncio.create_task(world.eraser().erase(me))
    await world.queues.changed(await world.queues.changed(0))
    await world.queues.sent(chunk, message_id="x", now_ms=NOW_MS)
    receipt = await erasing

    assert receipt is not None
    assert (1, 1, 1) == tuple(receipt.erased[kind] for kind in ("inbox_events", "outbox_replies", "outbox_chunks"))


async def test_an_erasure_that_broke_off_goes_on(world: World) -> None:
    """What the account has said since is a new person's, and stays."""
    me = await world.person()
    before = await world.accept(said("Quittengelee"))
    await world.store.persons.begin(me, now_ms=NOW_MS)
    after = await world.accept(said("hello again", message_id="m2"), now_ms=NOW_MS + 1)

    receipt = await world.eraser().erase(me)

    assert receipt is not None
    assert (1, 1) == (receipt.erased["inbox_events"], receipt.erased["identities"])
    assert b"" == (await world.stored(before)).body
    assert b"hello again" in (await world.stored(after)).body
    again = await world.eraser().erase(me)
    assert again is not None
    assert not any(again.erased.values())
    assert await world.eraser().erase(404) is None


async def test_what_broke_off_goes_on_without_being_asked(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """By the note of what had been found, though the account is somebody else's by then, who keeps theirs: a kill at any moment
    leaves nothing half erased."""
    me = await world.person()
    mine = await world.accept(said("Quittengelee"))
    quoting = await world.accept(
        said("what?", YOU, "m2", in_reply_to="m1", quote=Quote(name="Me", text="Quittengelee"))
    )
    with sqlite3.connect(world.path) as file:
        file.execute(
            "CREATE TRIGGER torn BEFORE UPDATE ON inbox_events WHEN new.body = x'' BEGIN SELECT RAISE(ABORT, 'torn'); END"
        )
    with pytest.raises(ValueError, match="torn"):
        await world.eraser().erase(me)
    await world.store.persons.begin(me, now_ms=NOW_MS)
    again = await world.person()
    after = await world.accept(said("hello again", message_id="m3"), now_ms=NOW_MS + 1)
    running = asyncio.create_task(world.eraser().run(look_s=0.01))
    async with asyncio.timeout(10):
        while "can't go on" not in caplog.text:
            await asyncio.sleep(0)
        with sqlite3.connect(world.path) as file:
            file.execute("DROP TRIGGER torn")
        while await world.store.persons.unfinished():
            await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert again != me
    assert again == await world.person()
    assert b"" == (await world.stored(mine)).body
    assert b"Quittengelee" not in (await world.stored(quoting)).body
    assert b"hello again" in (await world.stored(after)).body


async def test_what_cannot_go_on_now_is_looked_at_again(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A reply that is still being sent ends nothing but this look."""
    me = await world.person()
    mine = await world.accept(said("q"))
    await reply(world.queues, await claim_one(world.queues), [mine])
    (chunk,) = await world.queues.due(now_ms=NOW_MS, limit=9)
    with pytest.raises(StoreBusy, match="still being sent"):
        await world.eraser(within_s=0.01).erase(me)

    running = asyncio.create_task(world.eraser(within_s=0.01).run(look_s=0.01))
    async with asyncio.timeout(10):
        while "an erasure that broke off is put off" not in caplog.text:
            await asyncio.sleep(0)
        await world.queues.sent(chunk, message_id="x", now_ms=NOW_MS)
        while await world.store.persons.unfinished():
            await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert () == (await world.store.persons.traces(me)).accounts
    assert b"" == (await world.stored(mine)).body


async def test_an_account_that_nobody_is_known_by(world: World) -> None:
    """Who spoke where the bot does not listen was never anybody, and yet what they said waits in the queue."""
    mine = await world.accept(said("Quittengelee"))
    identity = Identity(kind="webhook", tenant=ME.tenant, account=ME.account)
    assert await world.store.persons.of(identity) is None

    receipt = await world.eraser().erase(identity)

    assert receipt is not None
    assert (1, 1) == (receipt.erased["inbox_events"], receipt.erased["identities"])
    assert b"" == (await world.stored(mine)).body
    assert await world.store.persons.of(identity) is None


async def test_an_event_that_cannot_be_read_names_nobody(world: World) -> None:
    me = await world.person()
    odd = NewEvent(
        id=_ids.next(),
        channel="hook",
        kind="message",
        speaker="u1",
        body=b"?",
        token="t",
        fingerprint=None,
        now_ms=NOW_MS,
    )
    await world.queues.accept(odd, lane="lane", dedupe_ids=["odd"])

    receipt = await world.eraser().erase(me)

    assert receipt is not None
    assert 0 == receipt.erased["inbox_events"]


@pytest.mark.parametrize(
    "event",
    [
        said("plain"),
        said("other room", in_reply_to="m1", quote=Quote(name="a", text="b"), room="r2"),
        edited("other room", quote=Quote(name="a", text="b"), room="r2"),
        DeleteEvent(channel="hook", room="r/1", chat_type="group", sender=ME, dedupe_ids=("d",), message_id="m1"),
        MoveEvent(channel="hook", room="r/1", chat_type="group", sender=ME, dedupe_ids=("v",), new_room="r2"),
    ],
)
def test_what_quotes_nothing_that_is_gone_stays(configuration: Configuration, event: Any) -> None:
    body = encode(route(event, configuration=configuration, chosen_agent=None))

    assert unquoted(body, gone={("r%2F1", "m1")}) is None
    assert unquoted(b"?", gone={("r%2F1", "m1")}) is None
