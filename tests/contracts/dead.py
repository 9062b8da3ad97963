"""What every queue must keep of letters that wait for an admin: the contract of `gateway.inbox.dead.DeadLetters`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol

from gateway.inbox.base import Chunk, Event, Outcome, Target
from gateway.inbox.dead import RETRIED, ByHand, DeadLetters, Letter, Wanted, by_hand
from gateway.inbox.erasable import Erasable
from tests.contracts.queues import DAY_MS, NOW_MS, Queues, accept, claim_one, open_queues, reply

GAVE_UP = Outcome(state="dead", code="gave_up", message="sorry")
LATE = NOW_MS + 60_000
WORDS = ByHand(id=77, name="Ana 安娜", text="您好，已寄出 📦")


class Post(Queues, Erasable, Protocol):
    """Queues with their letters."""

    @property
    def letters(self) -> DeadLetters: ...


def stays(_address: bytes) -> Target | None:
    return None


async def one(queues: Post) -> Letter:
    """The only letter."""
    (letter,) = await queues.letters.listed(Wanted())
    return letter


async def gave_up(queues: Post, lane: str = "lane", *, count: int = 1, **fields: object) -> list[Event]:
    """A turn that died without an answer and without a word."""
    events = [await accept(queues, lane, **fields) for _ in range(count)]
    claim = await claim_one(queues)
    ids = [event.id for event in events]
    await queues.start(ids, turn_id=ids[0], lane=lane, fence=claim.fence)
    await queues.finish(ids, GAVE_UP, lane=lane, fence=claim.fence)
    assert await queues.release(claim)
    return events


async def replied(
    queues: Post, *chunks: str, lane: str = "lane", queue: str = "room", failed: Outcome | None = None
) -> Event:
    """A turn whose reply stands in the outbox."""
    event = await accept(queues, lane)
    claim = await claim_one(queues)
    await reply(queues, claim, [event], chunks=chunks or ("one",), queue=queue, failed=failed)
    assert await queues.release(claim)
    return event


async def sending(queues: Post) -> Chunk:
    """The only chunk that is due."""
    (chunk,) = await queues.due(now_ms=LATE, limit=5)
    return chunk


async def refused(queues: Post, *chunks: str, failed: Outcome | None = None) -> Event:
    """A turn whose first chunk its platform refused."""
    event = await replied(queues, *chunks, failed=failed)
    await queues.dead(await sending(queues), error="chat not found", now_ms=NOW_MS)
    return event


async def state(queues: Post, event: Event) -> tuple[str, Outcome | None]:
    stored = await queues.event(event.id)
    assert stored is not None
    return stored.state, stored.outcome


def told(letters: Iterable[Letter]) -> list[tuple[int, str]]:
    return [(letter.turn_id, letter.kind) for letter in letters]


class LetterContract:
    """What waits for an admin, and what they do with it (hermes-agent#22899, A-level loss: what is given up is seen)."""

    async def test_what_was_given_up_and_what_may_not_have_arrived_is_listed(self, queues: Post) -> None:
        """Newest first, by channel, kind and code; nothing that ended well."""
        first, *_ = await gave_up(queues)
        other, *_ = await gave_up(queues, channel="other")
        fine = await replied(queues)
        await queues.sent(await sending(queues), message_id="m", now_ms=NOW_MS)
        maybe = await replied(queues, "one", "two")
        await queues.unknown(await sending(queues), error="no receipt", now_ms=NOW_MS)
        assert [other.id, first.id] == [letter.turn_id for letter in await queues.letters.listed(Wanted())]
        await queues.sent(await sending(queues), message_id="m", now_ms=NOW_MS)
        lost = await refused(queues, "three")

        everything = [(lost.id, "dead"), (maybe.id, "unknown"), (other.id, "dead"), (first.id, "dead")]
        assert everything == told(await queues.letters.listed(Wanted()))
        assert everything[1:3] == told(await queues.letters.listed(Wanted(before_id=lost.id, limit=2)))
        assert [(maybe.id, "unknown")] == told(await queues.letters.listed(Wanted(kind="unknown")))
        assert [(other.id, "dead")] == told(await queues.letters.listed(Wanted(channels={"other"})))
        assert [] == told(await queues.letters.listed(Wanted(channels=set())))
        assert [(lost.id, "dead")] == told(await queues.letters.listed(Wanted(code="undeliverable")))
        assert [] == told(await queues.letters.listed(Wanted(code="gave_up", kind="unknown")))
        assert 3 == (await queues.stats()).dead
        assert None is await queues.letters.find(fine.id)
        assert None is await queues.letters.find(1)

    async def test_one_that_is_under_way_does_not_end_the_list(self, queues: Post) -> None:
        """A page is as long as was asked for, as long as there are letters."""
        first, *_ = await gave_up(queues)
        ids = [(await accept(queues, "other")).id for _ in range(2)]
        claim = await claim_one(queues)
        await queues.start(ids, turn_id=ids[0], lane="other", fence=claim.fence)
        await queues.finish(ids[:1], GAVE_UP, lane="other", fence=claim.fence)

        for kind in (None, "dead"):
            assert [(first.id, "dead")] == told(await queues.letters.listed(Wanted(kind=kind, limit=1)))
        assert [] == told(await queues.letters.listed(Wanted(before_id=first.id, limit=1)))
        await queues.finish(ids[1:], GAVE_UP, lane="other", fence=claim.fence)
        assert [(ids[0], "dead")] == told(await queues.letters.listed(Wanted(limit=1))), (
            "a turn once, with all its events"
        )

    async def test_a_letter_tells_what_arrived(self, queues: Post) -> None:
        """Each chunk with its state and the platform's word, and of what failure a notice was."""
        event = await replied(queues, "你好", "世界", "!", failed=Outcome(state="failed", code="agent_timeout"))
        await queues.sent(await sending(queues), message_id="m1", now_ms=NOW_MS)
        await queues.dead(await sending(queues), error="chat not found", now_ms=NOW_MS)

        letter = await one(queues)

        assert ("dead", (event.id,), 0) == (letter.kind, tuple(row.id for row in letter.events), letter.seen)
        assert [("你好", "sent", "m1"), ("世界", "dead", None), ("!", "dead", None)] == [
            (chunk.text, chunk.state, chunk.message_id) for chunk in letter.chunks
        ]
        assert {"chat not found"} == {chunk.error for chunk in letter.undelivered()}
        assert Outcome(state="failed", code="agent_timeout") == letter.notice_of
        assert letter == await queues.letters.find(event.id)

    async def test_a_dead_turn_is_answered_again_in_its_lane(self, queues: Post) -> None:
        """As one turn, whatever came since, and what it says goes out; the gauge follows."""
        first, second = await gave_up(queues, count=2)
        later = await accept(queues)

        assert await queues.letters.reopen(first.id, seen=0, answer=None, now_ms=NOW_MS)

        assert 0 == (await queues.stats()).dead
        assert [] == told(await queues.letters.listed(Wanted()))
        claim = await claim_one(queues)
        waiting = await queues.waiting("lane")
        assert [(first.id, first.id, 1), (second.id, first.id, 1), (later.id, later.id, 0)] == [
            (event.id, event.turn_id, event.attempts) for event in waiting
        ]
        assert [RETRIED, RETRIED, None] == [event.outcome for event in waiting]
        await reply(queues, claim, waiting[:2], chunks=("again",))
        assert await queues.sent(await sending(queues), message_id="m", now_ms=NOW_MS)
        assert ("answered", Outcome(state="answered")) == await state(queues, first) == await state(queues, second)

    async def test_an_answered_turn_keeps_what_was_sent_before_on_record(self, queues: Post) -> None:
        """A notice that arrived, and an earlier reply, are history; neither stands in the way of the new one."""
        event = await replied(queues, "sorry", "very", failed=GAVE_UP)
        for _ in range(2):
            await queues.sent(await sending(queues), message_id="m", now_ms=NOW_MS)
        assert ("dead", GAVE_UP) == await state(queues, event)

        for number, words in enumerate(("first", "second")):
            assert await queues.letters.reopen(event.id, seen=number, answer=None, now_ms=NOW_MS)
            claim = await claim_one(queues)
            await reply(queues, claim, await queues.waiting("lane"), chunks=(words,), failed=GAVE_UP)
            await queues.release(claim)
            await queues.sent(await sending(queues), message_id=words, now_ms=NOW_MS)

        letter = await one(queues)
        assert 2 == letter.seen
        assert ["sorry", "very", "first", "second"] == [chunk.text for chunk in letter.chunks]
        assert ["second"] == [chunk.text for chunk in letter.current()]
        assert 4 == len({chunk.index for chunk in letter.chunks})
        assert "second" == await queues.reply(event.id)

    async def test_dead_chunks_are_sent_again(self, queues: Post) -> None:
        """Those that did not arrive, in order, behind what waits there; then the turn is answered."""
        event = await replied(queues, "one", "two", "three")
        await queues.sent(await sending(queues), message_id="m1", now_ms=NOW_MS)
        await queues.dead(await sending(queues), error="kicked", now_ms=NOW_MS)
        other = await replied(queues, "other", lane="other")
        busy = await sending(queues)

        assert await queues.letters.send_again(event.id, seen=0, redirect=stays, now_ms=LATE)

        assert ("replied", None) == await state(queues, event)
        assert 0 == (await queues.stats()).dead
        assert await queues.sent(busy, message_id="m", now_ms=LATE)
        assert "answered" == (await state(queues, other))[0]
        second = await sending(queues)
        assert ("two", 1, 3, 1) == (second.text, second.index, second.of, second.attempts)
        assert not await queues.sent(second, message_id="m2", now_ms=LATE)
        assert await queues.sent(await sending(queues), message_id="m3", now_ms=LATE)
        assert ("answered", Outcome(state="answered")) == await state(queues, event)
        assert None is await queues.letters.find(event.id)

    async def test_a_notice_sent_again_ends_as_the_failure_that_it_tells(self, queues: Post) -> None:
        """Not as an answer: there was none."""
        late = Outcome(state="failed", code="agent_timeout", message="too late")
        event = await refused(queues, "sorry", failed=late)
        assert "undeliverable" == ((await state(queues, event))[1] or GAVE_UP).code

        assert await queues.letters.send_again(event.id, seen=0, redirect=stays, now_ms=LATE)
        await queues.dead(await sending(queues), error="still not", now_ms=LATE)
        assert late == (await one(queues)).notice_of
        assert await queues.letters.send_again(event.id, seen=1, redirect=stays, now_ms=LATE)
        await queues.sent(await sending(queues), message_id="m", now_ms=LATE)

        assert ("failed", late) == await state(queues, event)

    async def test_an_unknown_chunk_is_sent_again_alone(self, queues: Post) -> None:
        """Its turn is answered once more when that is settled; where it goes now, the caller says (a room moved)."""
        event = await replied(queues, "one", "two")
        await queues.unknown(await sending(queues), error="no receipt", now_ms=NOW_MS)
        await queues.sent(await sending(queues), message_id="m2", now_ms=NOW_MS)

        moved = Target(queue="new room", address=b"new")
        assert await queues.letters.send_again(event.id, seen=0, redirect=lambda _: moved, now_ms=LATE)

        chunk = await sending(queues)
        assert ("one", "new room", b"new", 0) == (chunk.text, chunk.queue, chunk.address, chunk.index)
        await queues.sent(chunk, message_id="m1", now_ms=LATE)
        assert ("answered", Outcome(state="answered")) == await state(queues, event)
        assert [] == told(await queues.letters.listed(Wanted()))

    async def test_what_goes_into_a_standing_message_does_so_in_its_room_alone(self, queues: Post) -> None:
        """A message's id of the old room may be anybody's in the new one."""
        for moved, shown in ((None, "m1"), (Target(queue="new room", address=b"new"), None)):
            event = await accept(queues)
            claim = await claim_one(queues)
            await reply(queues, claim, [event], chunks=("one", "two"), shown="m1")
            await queues.release(claim)
            await queues.dead(await sending(queues), error="gone", now_ms=NOW_MS)

            assert await queues.letters.send_again(event.id, seen=0, redirect=lambda _, to=moved: to, now_ms=LATE)

            for wanted in (shown, None):
                chunk = await sending(queues)
                assert wanted == chunk.shown
                await queues.sent(chunk, message_id="m", now_ms=LATE)

    async def test_what_cannot_be_done_changes_nothing(self, queues: Post) -> None:
        """An answered turn is not answered again, a turn without chunks has none to send, a waiting one is no letter."""
        dead, *_ = await gave_up(queues)
        maybe = await replied(queues)
        await queues.unknown(await sending(queues), error="no receipt", now_ms=NOW_MS)
        waiting = await accept(queues, "other")
        letters = queues.letters

        assert not await letters.send_again(dead.id, seen=0, redirect=stays, now_ms=NOW_MS)
        assert not await letters.reopen(maybe.id, seen=0, answer=None, now_ms=NOW_MS)
        assert not await letters.reopen(waiting.id, seen=0, answer=None, now_ms=NOW_MS)
        assert not await letters.set_aside(waiting.id, seen=0, now_ms=NOW_MS)
        assert not await letters.set_aside(dead.id, seen=1, now_ms=NOW_MS)

        assert [(maybe.id, "unknown"), (dead.id, "dead")] == told(await letters.listed(Wanted()))

    async def test_words_by_hand_wait_in_the_lane(self, queues: Post) -> None:
        """For dead and unknown letters alike; they end as an answer, and say how it came about."""
        dead, *_ = await gave_up(queues)
        maybe = await replied(queues, lane="other")
        await queues.unknown(await sending(queues), error="no receipt", now_ms=NOW_MS)

        for event, lane in ((dead, "lane"), (maybe, "other")):
            assert await queues.letters.reopen(event.id, seen=0, answer=WORDS, now_ms=NOW_MS)
            claim = await claim_one(queues)
            (waiting,) = await queues.waiting(lane)
            assert WORDS == by_hand(waiting)
            by = Outcome(state="answered", rule="by_hand")
            await reply(queues, claim, [waiting], chunks=(WORDS.text,), failed=by)
            assert await queues.release(claim)
            chunk = await sending(queues)
            assert WORDS.text == chunk.text
            await queues.sent(chunk, message_id="m", now_ms=LATE)
            assert ("answered", by) == await state(queues, event)
        assert [] == told(await queues.letters.listed(Wanted()))

    async def test_what_is_set_aside_stays_as_it_ended(self, queues: Post) -> None:
        """Out of the list and the gauge, dead as before."""
        dead, *_ = await gave_up(queues)
        maybe = await replied(queues)
        await queues.unknown(await sending(queues), error="no receipt", now_ms=NOW_MS)

        assert await queues.letters.set_aside(dead.id, seen=0, now_ms=NOW_MS)
        assert await queues.letters.set_aside(maybe.id, seen=0, now_ms=NOW_MS)

        assert [] == told(await queues.letters.listed(Wanted()))
        assert 0 == (await queues.stats()).dead
        assert ("dead", GAVE_UP) == await state(queues, dead)
        assert "answered" == (await state(queues, maybe))[0]
        assert not await queues.letters.reopen(dead.id, seen=0, answer=None, now_ms=NOW_MS)

    async def test_a_dead_control_event_is_left_to_be_applied(self, queues: Post) -> None:
        """It waits in no lane: whoever takes over what others left applies it."""
        stop = await accept(queues, kind="control")
        await queues.finish([stop.id], Outcome(state="dead", code="not_applied"), lane="lane", fence=None)

        assert await queues.letters.reopen(stop.id, seen=0, answer=None, now_ms=NOW_MS)

        assert [] == await queues.claim(1)
        assert [stop.id] == [event.id for event in await queues.controls(before_ms=0)]

    async def test_of_many_admins_one_acts(self, queues: Post) -> None:
        """Exactly once, whatever they do; and who decided on an earlier look changes nothing."""
        events = [(await gave_up(queues))[0], await refused(queues)]
        acts = queues.letters
        for event in events:
            done = await asyncio.gather(
                *(acts.reopen(event.id, seen=0, answer=None, now_ms=NOW_MS) for _ in range(3)),
                *(acts.set_aside(event.id, seen=0, now_ms=NOW_MS) for _ in range(3)),
                *(acts.send_again(event.id, seen=0, redirect=stays, now_ms=NOW_MS) for _ in range(3)),
                *(acts.reopen(event.id, seen=0, answer=WORDS, now_ms=NOW_MS) for _ in range(3)),
            )
            assert 1 == sum(done)

    async def test_an_erased_person_leaves_no_letter(self, queues: Post) -> None:
        """Nothing of theirs can be sent or answered; a letter that waits again goes too (B46)."""
        gone = Outcome(state="ignored", rule="person_erased")
        dead, *_ = await gave_up(queues)
        lost = await refused(queues, failed=GAVE_UP)
        again = (await gave_up(queues))[0]
        assert await queues.letters.reopen(again.id, seen=0, answer=WORDS, now_ms=NOW_MS)

        emptied = await queues.erase([dead.id, lost.id, again.id], gone, now_ms=NOW_MS)

        assert (again.id,) == emptied.ended
        assert [] == told(await queues.letters.listed(Wanted()))
        assert 0 == (await queues.stats()).dead
        assert gone == (await state(queues, again))[1]
        assert ("dead", Outcome(state="dead", code="undeliverable")) == await state(queues, lost), "not who refused it"
        for event in (dead, lost, again):
            assert not await queues.letters.reopen(event.id, seen=0, answer=None, now_ms=NOW_MS)

    async def test_an_erasure_and_an_admin_at_once(self, queues: Post) -> None:
        """Whoever is first: in the end nothing is left of the person, and nothing of theirs goes out (B46)."""
        gone = Outcome(state="ignored", rule="person_erased")
        for number in range(4):
            dead, *_ = await gave_up(queues, f"lane {number}", speaker="Zoé")
            lost = await refused(queues, "again")
            acts = queues.letters
            await asyncio.gather(
                acts.reopen(dead.id, seen=0, answer=WORDS, now_ms=NOW_MS),
                acts.send_again(lost.id, seen=0, redirect=stays, now_ms=NOW_MS),
                acts.set_aside(dead.id, seen=0, now_ms=NOW_MS),
                queues.erase([dead.id, lost.id], gone, now_ms=NOW_MS),
            )
            await queues.erase([dead.id, lost.id], gone, now_ms=NOW_MS)

            for event in (dead, lost):
                stored = await queues.event(event.id)
                assert stored is not None
                assert ("", b"") == (stored.speaker, stored.body)
                assert stored.state in ("ignored", "dead")
            assert [] == await queues.due(now_ms=LATE, limit=9)
            assert [] == told(await acts.listed(Wanted()))
            for claim in await queues.claim(9):
                assert [] == await queues.waiting(claim.lane)
                await queues.release(claim)

    async def test_retention_takes_letters_but_not_what_waits_again(self, queues: Post) -> None:
        old = [await gave_up(queues, now_ms=NOW_MS - 9 * DAY_MS) for _ in range(2)]
        assert await queues.letters.reopen(old[1][0].id, seen=0, answer=None, now_ms=NOW_MS)

        while await queues.purge(before_ms=NOW_MS, dedupe_before_ms=NOW_MS, limit=10):
            pass

        assert None is await queues.event(old[0][0].id)
        assert "accepted" == (await state(queues, old[1][0]))[0]

    async def test_a_kill_loses_no_letter_that_was_taken_up(self, queues: Post, url: str) -> None:
        """What was given back to its lane, or sent again, is there for whoever comes next."""
        dead, *_ = await gave_up(queues)
        lost = await refused(queues, "again")
        assert await queues.letters.reopen(dead.id, seen=0, answer=WORDS, now_ms=NOW_MS)
        assert await queues.letters.send_again(lost.id, seen=0, redirect=stays, now_ms=NOW_MS)

        if url.startswith("sqlite"):
            await queues.__aexit__(None, None, None)  # type: ignore[attr-defined]  # as a kill leaves it
        async with open_queues(url) as fresh:
            claim = await claim_one(fresh)
            assert [WORDS] == [by_hand(event) for event in await fresh.waiting(claim.lane)]
            (chunk,) = await fresh.due(now_ms=LATE, limit=5)
            assert "again" == chunk.text
