"""What every queue must show an admin: the contract of `gateway.inbox.looking.Looking`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Protocol

import msgspec
import psycopg

from gateway.inbox.base import Event, Outcome
from gateway.inbox.looking import EXAMINED, Looking, Wanted
from gateway.inbox.rows import digest_of
from tests.contracts.queues import NOW_MS, Queues, accept, accept_many, claim_one, due_when_free, reply
from tests.services import as_admin

HOUR = 3_600_000


class Whole(Queues, Protocol):
    """Queues with all their verbs."""

    @property
    def looking(self) -> Looking: ...


async def ended(queues: Whole, rule: str, **fields: object) -> Event:
    """Accept an event that was ignored by the rule."""
    return await accept(queues, outcome=Outcome(state="ignored", rule=rule), **fields)


async def walked(queues: Whole, wanted: Wanted, *, limit: int = 100) -> list[int]:
    """Return the ids of all pages in their order."""
    found: list[int] = []
    before: int | None = None
    while True:
        walk = await queues.looking.events(wanted, before_id=before, limit=limit)
        found += [event.id for event in walk.events]
        before = walk.next_id
        if before is None:
            return found


def ids(*events: Event) -> list[int]:
    return [event.id for event in events]


class LookContract:
    """Events as an admin finds them."""

    async def test_the_newest_come_first_in_pages(self, queues: Whole) -> None:
        """Pages of any size meet without a gap."""
        events = await accept_many(queues, 7)

        newest_first = ids(*reversed(events))
        assert newest_first == await walked(queues, Wanted()) == await walked(queues, Wanted(), limit=2)
        assert tuple(reversed(events[:2])) == await queues.looking.by_id(ids(*events[:2]))

    async def test_by_channel_state_speaker_and_time(self, queues: Whole) -> None:
        """Each narrows what is found; of no channels nothing is."""
        old = await accept(queues, now_ms=NOW_MS - HOUR)
        mine = await accept(queues, channel="a_b", speaker="U%\udc80")
        other = await ended(queues, "bot", channel="aXb")

        for wanted, expected in (
            (Wanted(channels=("a_b",)), [mine.id]),
            (Wanted(channels=("a_b", "aXb")), [other.id, mine.id]),
            (Wanted(channels=()), []),
            (Wanted(channels=("a%",)), []),
            (Wanted(states=("ignored",)), [other.id]),
            (Wanted(states=("ignored", "accepted"), channels=("acme",)), [old.id]),
            (Wanted(speaker="U%\udc80"), [mine.id]),
            (Wanted(until_ms=NOW_MS), [old.id]),
            (Wanted(since_ms=NOW_MS), [other.id, mine.id]),
            (Wanted(since_ms=NOW_MS + HOUR), []),  # not the next millisecond: the ids of many tests reach into it
        ):
            assert expected == await walked(queues, wanted), wanted
            assert expected == await walked(queues, wanted, limit=1), wanted

    async def test_by_the_rule_that_decided(self, queues: Whole) -> None:
        """The one that ended it, or admitted it; a text that spells a rule is no rule."""
        ignored = await ended(queues, "not_addressed", body=b'{"rule":"always"}')
        waits = await accept(queues, body=rb'{"event":{"text":"\"rule\":\"bot\",\"code\":\"bot\""},"rule":"mention"}')
        claim = await claim_one(queues)
        failed = Outcome(state="failed", code="agent_timeout", message='"rule":"mention"')
        await reply(queues, claim, await queues.waiting(claim.lane), chunks=(), failed=failed)
        private = await accept(queues, lane="other", body=b'{"rule":"private"}')
        await reply(queues, await claim_one(queues), [private], chunks=())

        assert [ignored.id] == await walked(queues, Wanted(rule="not_addressed"))
        assert [waits.id] == await walked(queues, Wanted(rule="agent_timeout"))
        assert [private.id] == await walked(queues, Wanted(rule="private"))
        for nobodys in ("bot", "always", "mention", 'a"b', "%", ""):
            assert [] == await walked(queues, Wanted(rule=nobodys)), nobodys

    async def test_by_the_room(self, queues: Whole) -> None:
        """Whatever its id looks like; a text that spells a room is none."""
        rooms = {room: await accept(queues, body=_in_room(room)) for room in ("C1", "C12", '群"\\', "c%")}
        await accept(queues, body=msgspec.json.encode({"event": {"room": "C9", "text": '"room":"C1"'}}))

        for room, event in rooms.items():
            assert [event.id] == await walked(queues, Wanted(room=room)), room
        assert [] == await walked(queues, Wanted(room="C"))

    async def test_a_page_passes_a_bounded_part(self, queues: Whole, url: str) -> None:
        """However rare what is wanted, a page ends, and says where the next one begins; a channel beside a busy one is found
        at once."""
        rare = await ended(queues, "bot", channel="rare", now_ms=NOW_MS - HOUR)
        await filled(queues, url, EXAMINED + 10)

        walk = await queues.looking.events(Wanted(states=("ignored",)), before_id=None, limit=9)
        assert ((), False) == (walk.events, walk.next_id is None)
        walk = await queues.looking.events(Wanted(states=("ignored",)), before_id=walk.next_id, limit=9)
        assert [rare.id] == ids(*walk.events)
        at_once = await queues.looking.events(Wanted(channels=("rare",), states=("ignored",)), before_id=None, limit=9)
        assert ([rare.id], None) == (ids(*at_once.events), at_once.next_id)

    async def test_a_turn_with_all_that_it_answered(self, queues: Whole) -> None:
        """Whichever of its events the question names the turn by; chunks with their receipts and times."""
        first, second = await accept(queues), await accept(queues)
        claim = await claim_one(queues)
        turn_id = await reply(queues, claim, [first, second], chunks=("one", "两"))
        chunk = await due_when_free(queues)
        await queues.sent(chunk, message_id="P1", now_ms=NOW_MS + 7)

        assert [first.id, second.id] == ids(*await queues.looking.of_turns([turn_id]))
        sent, waits = await queues.looking.chunks([turn_id, 5])
        assert ("one", "sent", "P1", NOW_MS, NOW_MS + 7) == (
            sent.chunk.text, sent.chunk.state, sent.chunk.message_id, sent.put_ms, sent.settled_ms,
        )  # fmt: skip
        assert ("两", "waiting", None) == (waits.chunk.text, waits.chunk.state, waits.settled_ms)
        assert {turn_id: "one两"} == await queues.looking.replies([turn_id, 5])

    async def test_by_the_platforms_id_of_what_was_sent(self, queues: Whole) -> None:
        """In its room and the threads there: platforms that count per chat use the same ids again in every room."""
        turns = {}
        for n, queue in enumerate(("acme:C_1", "acme:C_1/t", "acme:C_12", "acme:Cx1", "other:C_1", "acme:C_1%2F")):
            event = await accept(queues, f"lane {n}")
            (claim,) = [one for one in await queues.claim(9) if one.lane == f"lane {n}"]
            turns[queue] = await reply(queues, claim, [event], chunks=("hi",), queue=queue)
            await queues.sent(await due_when_free(queues), message_id="57", now_ms=NOW_MS)

        found = await queues.looking.receipted("57", queue="acme:C_1")
        assert [turns["acme:C_1/t"], turns["acme:C_1"]] == [one.chunk.turn_id for one in found]
        for nothing in ("5", "57%", "5\x007"):
            assert () == await queues.looking.receipted(nothing, queue="acme:C_1")

    async def test_a_notice_that_was_never_delivered(self, queues: Whole) -> None:
        """What it was to tell; of an answer, or a turn without any, there is nothing untold."""
        failed = Outcome(state="failed", code="agent_timeout", message="超时")
        ends: list[Outcome | None] = [failed, None]
        told = []
        for n, of in enumerate(ends):
            event = await accept(queues, f"lane {n}")
            (claim,) = [one for one in await queues.claim(9) if one.lane == f"lane {n}"]
            await reply(queues, claim, [event], queue=f"room {n}", failed=of)
            await queues.dead(await due_when_free(queues), error="blocked", now_ms=NOW_MS)
            told.append(await queues.looking.untold(event.id))

        assert ends == told
        assert None is await queues.looking.untold(5)

    async def test_by_the_platforms_message(self, queues: Whole) -> None:
        """The message, and what was said about it later; also when it has ended."""
        await accept(queues, subject="4:room:m2")
        said = await ended(queues, "bot", subject="4:room:m1")
        edit = await accept(queues, kind="control", subject="4:room:m1")

        assert [edit.id, said.id] == ids(*await queues.looking.about(digest_of("acme", "4:room:m1")))
        assert () == await queues.looking.about(digest_of("other", "4:room:m1"))

    async def test_what_happened_in_lanes(self, queues: Whole) -> None:
        """Events of these lanes alone, ended ones too, within bounds."""
        one, two = await accept(queues, "lane 1"), await ended(queues, "bot", lane="lane 2")
        await accept(queues, "lane 10")
        three = await accept(queues, "lane 1")

        between = {"after_id": 0, "before_id": 1 << 62}
        assert [one.id, two.id, three.id] == ids(
            *await queues.looking.in_lanes(["lane 1", "lane 2"], **between, limit=9)
        )
        assert [two.id, three.id] == ids(*await queues.looking.in_lanes(["lane 1", "lane 2"], **between, limit=2))
        assert [two.id] == ids(
            *await queues.looking.in_lanes(["lane 1", "lane 2"], after_id=one.id, before_id=three.id, limit=9)
        )
        assert () == await queues.looking.in_lanes([], **between, limit=9)


class CountContract:
    """Figures of the queues."""

    async def test_events_by_hour_state_and_rule(self, queues: Whole) -> None:
        """What ended, by why; what is under way, by nothing; of the channels asked for."""
        await ended(queues, "bot")
        await ended(queues, "bot")
        await ended(queues, "empty", now_ms=NOW_MS - HOUR)
        await ended(queues, "bot", now_ms=NOW_MS - 30 * HOUR)
        await accept(queues, channel="other")

        hour = NOW_MS - NOW_MS % HOUR
        counted = await queues.looking.tallies(since_ms=NOW_MS - 2 * HOUR, channels=None)
        assert None is counted.from_ms
        assert [
            ("acme", hour - HOUR, "ignored", "empty", 1),
            ("acme", hour, "ignored", "bot", 2),
            ("other", hour, "accepted", "", 1),
        ] == [(t.channel, t.hour_ms, t.state, t.rule, t.count) for t in counted.tallies]
        few = await queues.looking.tallies(since_ms=NOW_MS - 2 * HOUR, channels=["other"])
        assert ["other"] == [tally.channel for tally in few.tallies]
        assert () == (await queues.looking.tallies(since_ms=0, channels=[])).tallies

    async def test_a_delivery_is_found_behind_others_talk(self, queues: Whole, url: str) -> None:
        """People talk to each other a thousand times between two questions to the bot."""
        first = await accept(queues)
        await reply(queues, await claim_one(queues), [first], chunks=("a",))
        await queues.sent(await due_when_free(queues), message_id="P1", now_ms=NOW_MS + 7)
        await filled(queues, url, 1_000, state="ignored")

        assert [NOW_MS + 7] == [one.last_delivery_ms for one in await queues.looking.load(["acme"])]

    async def test_a_channels_signs_of_life(self, queues: Whole) -> None:
        """Last event and delivery, what waits and since when; nothing of a channel without events."""
        first = await accept(queues, now_ms=NOW_MS - HOUR)
        await reply(queues, await claim_one(queues), [first], chunks=("a", "b"), now_ms=NOW_MS)
        await queues.sent(await due_when_free(queues), message_id="P1", now_ms=NOW_MS + 7)
        await accept(queues, "other lane")

        acme, none = await queues.looking.load(["acme", "none"])
        assert (NOW_MS, NOW_MS + 7) == (acme.last_event_ms, acme.last_delivery_ms)
        assert (1, NOW_MS, 1, NOW_MS) == (
            acme.waiting,
            acme.oldest_waiting_ms,
            acme.outbox_waiting,
            acme.outbox_oldest_ms,
        )
        assert ("none", None, None, 0, None, 0, None) == (
            none.channel, none.last_event_ms, none.last_delivery_ms, none.waiting, none.oldest_waiting_ms, none.outbox_waiting,
            none.outbox_oldest_ms,
        )  # fmt: skip


def _in_room(room: str) -> bytes:
    return msgspec.json.encode({"event": {"room": room}})


async def filled(queues: Whole, url: str, count: int, *, state: str = "answered") -> None:
    """Copy one event so many times, ended, with ids of their own."""
    one = await accept(queues)
    columns = "turn_id, lane, channel, kind, speaker, body, token, attempts, accepted_ms, owner"
    if url.startswith("sqlite"):
        series = f"WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count}) SELECT n FROM s"
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as db:
            db.execute(
                f"INSERT INTO inbox_events (id, seq, state, {columns}) SELECT {one.id} + n, n, '{state}', {columns}"
                f" FROM inbox_events, ({series}) WHERE id = {one.id}"
            )
        return
    async with await psycopg.AsyncConnection.connect(as_admin(url), autocommit=True) as connection:
        await connection.execute(
            f"INSERT INTO inbox_events (id, state, {columns}) SELECT {one.id} + n, '{state}', {columns}"
            f" FROM inbox_events, generate_series(1, {count}) AS n WHERE id = {one.id}".encode()
        )
