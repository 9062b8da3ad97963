"""What every queue must keep of a person's end: the contract of `gateway.inbox.erasable.Erasable`."""

from __future__ import annotations

from typing import Protocol

from gateway.admin import erasable as admins
from gateway.inbox.base import Announcement, Event, Halt, Outcome
from gateway.inbox.erasable import EMPTIED, NOTHING_PERSONAL, Emptied, Erasable, Page
from memory import erasure
from tests.contracts.queues import NOW_MS, Queues, accept, claim_one, fresh_id, message, reply
from tests.residues import in_postgres, left_of
from tests.scenarios.world import rows
from tests.services import POSTGRES_TABLES

GONE = Outcome(state="ignored", rule="person_erased")
WORDS = ("Quittengelee", "琥珀色河马", "Zwölfender", "D0815")
BODY = "Quittengelee 琥珀色河马".encode()


class Whole(Queues, Erasable, Protocol):
    """Queues with all their verbs."""


async def said(queues: Whole, **fields: object) -> Event:
    """Accept a message of the person's."""
    return await accept(queues, **({"lane": "lane of Zwölfender", "speaker": "Zwölfender", "body": BODY} | fields))


async def erase(queues: Whole, *events: Event) -> Emptied:
    return await queues.erase([event.id for event in events], GONE, now_ms=NOW_MS)


async def state(queues: Whole, event: Event) -> tuple[str, bytes, str, str]:
    stored = await queues.event(event.id)
    assert stored is not None
    return stored.state, stored.body, stored.speaker, stored.lane


EMPTY = ("ignored", b"", "", "")


class EraseContract:
    """B46 for what waits, runs and is done with."""

    async def test_what_waits_ends_in_sight_and_is_empty(self, queues: Whole) -> None:
        """A command that acts past the lane as well."""
        waiting, stop = await said(queues), await said(queues, kind="control", subject="D0815")

        emptied = await erase(queues, waiting, stop)

        assert (waiting.id, stop.id) == emptied.ended
        assert {"inbox_events": 2, "outbox_replies": 0, "outbox_chunks": 0} == emptied.counts
        assert EMPTY == await state(queues, waiting) == await state(queues, stop)
        assert GONE == (await queues.event(waiting.id) or waiting).outcome
        await _lanes_looked_at(queues)
        assert 0 == (await queues.stats()).waiting

    async def test_a_running_turn_ends_and_its_late_reply_goes_nowhere(self, queues: Whole) -> None:
        """As redis/agent-memory-server#184 has it: what comes late brings nothing back."""
        first, second = await said(queues), await said(queues)
        claim = await claim_one(queues)
        ids = [first.id, second.id]
        await queues.start(ids, turn_id=first.id, lane=claim.lane, fence=claim.fence)

        emptied = await erase(queues, first, second)
        await reply(queues, claim, [first, second], chunks=("Quittengelee",), stands=False)

        assert ((first.id, second.id), ()) == (emptied.ended, emptied.busy)
        assert EMPTY == await state(queues, first) == await state(queues, second)
        assert "" == await queues.reply(first.id)
        assert [] == await queues.due(now_ms=NOW_MS, limit=9)
        assert await queues.release(claim)

    async def test_whoever_answers_hears_of_it(self, queues: Whole) -> None:
        """On whatever instance: the row has ended at once, so that nothing is stored for it, and the model is to be told."""
        running, waiting = await said(queues), await said(queues)
        claim = await claim_one(queues)
        await queues.start([running.id], turn_id=running.id, lane=claim.lane, fence=claim.fence)

        await erase(queues, running, waiting)

        expected = [Halt(event_id=running.id, attempts=1, reason="withdrawn")]
        assert expected == await queues.halts([running.id, waiting.id])

    async def test_a_reply_that_waits_is_given_up(self, queues: Whole) -> None:
        """What waits behind it goes out."""
        event = await said(queues)
        await reply(queues, await claim_one(queues), [event], chunks=("Quittengelee", "琥珀色河马"))
        other = await accept(queues, lane="other")
        await reply(queues, await claim_one(queues), [other], chunks=("weather",))

        emptied = await erase(queues, event)

        assert ((event.id,), ()) == (emptied.ended, emptied.busy)
        assert {"inbox_events": 1, "outbox_replies": 1, "outbox_chunks": 2} == emptied.counts
        assert EMPTY == await state(queues, event)
        assert ["weather"] == [chunk.text for chunk in await queues.due(now_ms=NOW_MS, limit=9)]

    async def test_a_reply_that_is_being_sent_is_waited_for(self, queues: Whole) -> None:
        """It cannot be called back; the rest of it is given up, and then it is erased like any other."""
        event = await said(queues)
        await reply(queues, await claim_one(queues), [event], chunks=("Quittengelee", "琥珀色河马"))
        (chunk,) = await queues.due(now_ms=NOW_MS, limit=9)

        first = await erase(queues, event)
        await queues.sent(chunk, message_id="D0815", now_ms=NOW_MS)
        second = await erase(queues, event)

        assert ((), (event.id,), 0) == (first.ended, first.busy, first.counts["inbox_events"])
        assert () == second.busy
        assert "" == (await state(queues, event))[2]
        assert "" == await queues.reply(event.turn_id)

    async def test_nothing_is_left_of_words_and_accounts(self, queues: Whole, url: str) -> None:
        """In no column of no table; and erasing again finds nothing."""
        done = await said(queues, fingerprint="Quittengelee", subject="D0815")
        claim = await claim_one(queues)
        await reply(queues, claim, [done], chunks=("Quittengelee",), shown="D0815")
        await queues.release(claim)
        (chunk,) = await queues.due(now_ms=NOW_MS, limit=9)
        await queues.sent(chunk, message_id="D0815", now_ms=NOW_MS)
        failed = await said(queues, outcome=Outcome(state="ignored", rule="unmentioned"))
        waiting = await said(queues)
        assert [(done.turn_id, "D0815")] == await queues.posted([done.turn_id, waiting.id])

        await erase(queues, done, failed, waiting)
        await _lanes_looked_at(queues)

        assert [] == left_of(WORDS, _everything(url))
        assert Emptied(ended=(), busy=(), counts={"inbox_events": 0, "outbox_replies": 0, "outbox_chunks": 0}) == (
            await erase(queues, done, failed, waiting)
        )
        assert ["answered", "ignored", "ignored"] == [(await state(queues, one))[0] for one in (done, failed, waiting)]

    async def test_a_repeat_of_what_was_erased_stays_out(self, queues: Whole) -> None:
        """The platform's late retry meets the dedupe ids, which outlive the words."""
        name, words = fresh_id(), message(speaker="Zwölfender", body=BODY)
        first = (await queues.accept(words, lane="lane", dedupe_ids=[name])).event
        await erase(queues, first)

        again = await queues.accept(message(speaker="Zwölfender", body=BODY), lane="lane", dedupe_ids=[name])

        assert ("duplicate", b"") == (again.verdict, again.event.body)

    async def test_a_speakers_events_are_found_in_pages(self, queues: Whole) -> None:
        """Theirs in that channel, and nobody else's; a look-alike's neither."""
        mine = [await said(queues, channel="acme", speaker="中文用户") for _ in range(3)]
        mine.append(await said(queues, channel="acme", speaker="T1.中文用户"))
        await said(queues, channel="other", speaker="中文用户")
        await said(queues, channel="acme", speaker="中文用户 ")

        found: list[Event] = []
        page = Page(next_id=0)
        while page.next_id is not None:
            page = await queues.spoken("acme", {"中文用户", "T1.中文用户"}, after_id=page.next_id, limit=2)
            found += page.events

        assert [event.id for event in mine] == [event.id for event in found]
        assert Page(next_id=None) == await queues.spoken("acme", ["nobody"], after_id=0, limit=99)
        assert Page(next_id=None) == await queues.spoken("acme", [], after_id=0, limit=99)

    async def test_bodies_with_a_quote_can_be_mended(self, queues: Whole) -> None:
        quoting = await accept(queues, channel="acme", body='{"quote":{"text":"琥珀色河马"}}'.encode())
        plain = await accept(queues, channel="acme", body=b'{"quote":null}')
        other = await accept(queues, channel="acme", body=b'{"quote":{"text":"weather"}}')

        page = await queues.mend(
            "acme", lambda body: b"{}" if "琥珀色河马".encode() in body else None, after_id=0, limit=99
        )

        assert Page(mended=1, next_id=None) == page
        bodies = [(await state(queues, event))[1] for event in (quoting, plain, other)]
        assert [b"{}", b'{"quote":null}', b'{"quote":{"text":"weather"}}'] == bodies
        assert other.id == (await queues.mend("acme", lambda _: None, after_id=0, limit=3)).next_id

    async def test_what_was_announced_of_somebody_can_be_unsaid(self, queues: Whole, url: str) -> None:
        """What waits is given up and emptied; what is being sent is named, and goes when it was; others' stays."""
        sending, waiting, others = [await _announced(queues, text) for text in ("Zwölfender", "琥珀色河马", "weather")]
        (chunk,) = [one for one in await queues.due(now_ms=NOW_MS, limit=1) if one.turn_id == sending]

        first = await queues.unsay([sending, waiting], now_ms=NOW_MS)
        await queues.sent(chunk, message_id="D0815", now_ms=NOW_MS)
        second = await queues.unsay([sending, waiting], now_ms=NOW_MS)
        third = await queues.unsay([sending, waiting], now_ms=NOW_MS)
        (left,) = await queues.due(now_ms=NOW_MS, limit=9)

        assert ((1, [sending]), (1, []), (0, [])) == (first, second, third)
        assert (others, "weather") == (left.turn_id, left.text)
        assert not [word for word in ("Zwölfender", "琥珀色河马") if word.encode() in _everything(url)]

    async def test_every_table_is_in_the_plan(self, queues: Whole, url: str) -> None:
        """A new table that holds something personal cannot be forgotten; leases are in memory on SQLite."""
        tables = (
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            if url.startswith("sqlite")
            else POSTGRES_TABLES
        )

        # In a database the memory core and the admins have their tables, too: `tests/contracts/persons.py` and
        # `test_admin_erasable.py` ask the same of them.
        there = {name for (name,) in rows(url, tables)} - {*erasure.KINDS, *erasure.NOTHING_PERSONAL}
        there -= {*admins.EMPTIED, *admins.NOTHING_PERSONAL}

        assert there <= {*EMPTIED, *NOTHING_PERSONAL}
        assert {*EMPTIED} <= there


async def _announced(queues: Whole, text: str) -> int:
    turn_id = message().id
    announcement = Announcement(
        turn_id=turn_id, channel="acme", names=[f"name {turn_id}"], queue=f"queue {turn_id}", address=b"a", chunks=[text],
        now_ms=NOW_MS,
    )  # fmt: skip
    assert await queues.announce(announcement)
    return turn_id


async def _lanes_looked_at(queues: Whole) -> None:
    """Look at every lane that can be had, as the gateway does; nothing waits there."""
    for claim in await queues.claim(9):
        assert [] == await queues.waiting(claim.lane)
        assert await queues.release(claim)


def _everything(url: str) -> bytes:
    if not url.startswith("sqlite:///"):
        return in_postgres(url)
    found = []
    for (table,) in rows(url, "SELECT name FROM sqlite_master WHERE type = 'table'"):
        for row in rows(url, f"SELECT * FROM {table}"):
            found += [value if isinstance(value, bytes) else str(value).encode() for value in row]
    return b"\n".join(found)
