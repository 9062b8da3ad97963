"""The queue contract of what moves: messages of a lane whose scope has another name now, chunks of a room that has another id.
For every database."""

from __future__ import annotations

import asyncio

import pytest

from gateway.errors import LeaseLost
from gateway.inbox.base import Claim, Target
from tests.contracts.queues import (
    NOW_MS,
    Queues,
    accept,
    accept_many,
    answered,
    claim_one,
    due_when_free,
    open_queues,
    reply,
)


def to_new(address: bytes) -> Target | None:
    """Where everything goes."""
    return Target(queue="新 room", address="新".encode() + address)


class LaneMoveContract:
    """Messages that go to another lane."""

    @pytest.mark.parametrize("to", ["a lane", "z 车道 😀"])
    async def test_what_waits_goes_on_in_the_other_lane(self, queues: Queues, to: str) -> None:
        """In the order in which everything was accepted, wherever it was; a turn that had begun begins again, and has as many
        tries left as before."""
        first = await accept(queues, "m")
        other = await accept(queues, to)
        rest = await accept_many(queues, 2, "m")
        claims = {claim.lane: claim for claim in await queues.claim(2)}
        await queues.start([first.id], turn_id=first.id, lane="m", fence=claims["m"].fence)

        await queues.move(claims["m"], to=to)

        assert [] == await queues.waiting("m")
        assert await queues.release(claims["m"])
        found = await queues.waiting(to)
        assert [first.id, other.id, *(event.id for event in rest)] == [event.id for event in found]
        assert [("running", 0), ("accepted", 0)] == [(event.state, event.attempts) for event in found[:2]]
        ids = [event.id for event in found]
        assert ids == await queues.start(ids, turn_id=first.id, lane=to, fence=claims[to].fence)

    async def test_a_lane_nobody_knew_can_be_claimed(self, queues: Queues) -> None:
        """Whoever waits for work hears of it."""
        events = await accept_many(queues, 2, "old")
        claim = await claim_one(queues)
        seen = await queues.changed(0)

        await queues.move(claim, to="new")

        assert seen < await queues.changed(seen)
        assert await queues.release(claim)
        assert "new" == (await claim_one(queues)).lane
        assert [] == await queues.waiting("old")
        assert [event.id for event in events] == [event.id for event in await queues.waiting("new")]

    async def test_a_held_lane_is_not_released_over_what_came(self, queues: Queues) -> None:
        """The owner of the other lane, about to give it up, looks again."""
        await accept(queues, "new")
        mine = await claim_one(queues)
        await reply(queues, mine, await queues.waiting("new"))
        await accept(queues, "old")
        await queues.move(await claim_one(queues), to="new")

        assert not await queues.release(mine)
        assert 1 == len(await queues.waiting("new"))

    async def test_only_the_owner_moves(self, queues: Queues) -> None:
        event = await accept(queues, "old")
        claim = await claim_one(queues)

        with pytest.raises(LeaseLost):
            await queues.move(Claim(lane="old", fence=claim.fence - 1), to="new")

        assert [event] == await queues.waiting("old")

    async def test_moving_nothing_leaves_nothing(self, queues: Queues) -> None:
        await accept(queues, "old")
        claim = await claim_one(queues)
        await reply(queues, claim, await queues.waiting("old"))

        await queues.move(claim, to="new")

        assert await queues.release(claim)
        for empty in await queues.claim(2):
            assert await queues.release(empty)
        assert [] == await queues.claim(2)

    async def test_controls_and_ends_stay(self, queues: Queues) -> None:
        """What acts past its lane, and what has ended, keeps the lane it came in."""
        control = await accept(queues, "old", kind="control")
        ended = await accept(queues, "old")
        claim = await claim_one(queues)
        await reply(queues, claim, [ended])
        await accept(queues, "old")

        await queues.move(claim, to="new")

        for event in (control, ended):
            stored = await queues.event(event.id)
            assert stored is not None
            assert "old" == stored.lane

    async def test_a_move_survives_the_end_of_its_process(self, url: str) -> None:
        async with open_queues(url) as queues:
            events = await accept_many(queues, 2, "old")
            await queues.move(await claim_one(queues), to="new")
        async with open_queues(url) as queues:
            assert "new" in {claim.lane for claim in await queues.claim(2)}
            assert [event.id for event in events] == [event.id for event in await queues.waiting("new")]


class RedirectContract:
    """Chunks that go to another room."""

    async def test_what_waits_goes_to_the_new_room(self, queues: Queues) -> None:
        """In order, address and all; behind what waits there already when that is older."""
        await answered(queues, "l0", queue="old", chunks=("1", "2"))
        await answered(queues, "l1", queue="新 room", chunks=("3",))
        await answered(queues, "l2", queue="old", chunks=("4",))

        await queues.redirect("acme", to_new)
        await queues.redirect("other channel", to_new)

        sent = []
        for _ in range(4):
            (chunk,) = await queues.due(now_ms=NOW_MS, limit=5)
            sent.append((chunk.text, chunk.queue, chunk.address))
            await queues.sent(chunk, message_id="m", now_ms=NOW_MS)
        moved = "新".encode() + b"address"
        assert [(text, "新 room", moved) for text in "1234"] == sent
        assert await queues.next_due_ms() is None

    async def test_no_message_of_the_old_room_is_replaced(self, queues: Queues) -> None:
        """What showed the reply stays behind: in the new room its number can be that of another message."""
        await accept(queues, "l0")
        claim = await claim_one(queues)
        await reply(queues, claim, await queues.waiting("l0"), queue="old", shown="7")

        await queues.redirect("acme", to_new)

        (chunk,) = await queues.due(now_ms=NOW_MS, limit=5)
        assert ("新 room", None) == (chunk.queue, chunk.shown)

    async def test_repeating_it_changes_nothing(self, queues: Queues) -> None:
        await answered(queues, "l0", queue="old")

        for _ in range(2):
            await queues.redirect("acme", lambda address: to_new(address) if address == b"address" else None)

        (chunk,) = await queues.due(now_ms=NOW_MS, limit=5)
        assert "新".encode() + b"address" == chunk.address

    async def test_other_addresses_and_channels_stay(self, queues: Queues) -> None:
        await answered(queues, "l0", queue="old")

        await queues.redirect("acme", lambda _: None)
        await queues.redirect("acme2", to_new)

        (chunk,) = await queues.due(now_ms=NOW_MS, limit=5)
        assert ("old", b"address") == (chunk.queue, chunk.address)

    async def test_a_chunk_that_waits_for_its_time_still_does(self, queues: Queues) -> None:
        await answered(queues, "l0", queue="old")
        (chunk,) = await queues.due(now_ms=NOW_MS, limit=1)
        await queues.retry(chunk, due_ms=NOW_MS + 500, error="429")

        await queues.redirect("acme", to_new)

        assert NOW_MS + 500 == await queues.next_due_ms()
        assert [] == await queues.due(now_ms=NOW_MS + 499, limit=1)
        assert [("新 room", 2)] == [(c.queue, c.attempts) for c in await queues.due(now_ms=NOW_MS + 500, limit=1)]

    @pytest.mark.parametrize("busy", ["old", "新 room"])
    async def test_a_queue_that_is_being_sent_from_is_left_alone(self, queues: Queues, busy: str) -> None:
        """Its receipts find their chunks, and the turn ends; nothing of it is sent twice or lost."""
        await answered(queues, "l0", queue="old", chunks=("1", "2"))
        await answered(queues, "l1", queue="新 room", chunks=("3", "4"))
        heads = {chunk.queue: chunk for chunk in await queues.due(now_ms=NOW_MS, limit=2)}
        for queue, chunk in heads.items():
            if queue != busy:
                await queues.retry(chunk, due_ms=NOW_MS, error="later")

        await queues.redirect("acme", to_new)

        await queues.sent(heads[busy], message_id="m", now_ms=NOW_MS)
        texts = [heads[busy].text]
        while chunks := await queues.due(now_ms=NOW_MS, limit=5):
            for chunk in chunks:
                texts.append(chunk.text)
                await queues.sent(chunk, message_id="m", now_ms=NOW_MS)
        assert ["1", "2", "3", "4"] == sorted(texts)
        assert 0 == (await queues.stats()).outbox_waiting

    async def test_a_chunk_left_by_a_dead_owner_stays(self, url: str) -> None:
        """It may have arrived in the old room: whoever takes it over is told so there."""
        async with open_queues(url) as queues:
            await answered(queues, "l0", queue="old")
            await queues.due(now_ms=NOW_MS, limit=1)
        async with open_queues(url) as queues:
            await queues.redirect("acme", to_new)

            chunk = await due_when_free(queues)
            assert ("unknown", "old") == (chunk.state, chunk.queue)

    async def test_replies_go_on_coming_meanwhile(self, queues: Queues) -> None:
        """A move in the middle of traffic costs no chunk."""
        for n in range(10):
            await accept(queues, f"l{n}")
        claims = await queues.claim(10)
        moves = [queues.redirect("acme", to_new) for _ in range(5)]
        await asyncio.gather(*(_put(queues, claim, n) for n, claim in enumerate(claims)), *moves)

        texts = []
        while chunks := await queues.due(now_ms=NOW_MS, limit=5):
            for chunk in chunks:
                texts.append(chunk.text)
                await queues.sent(chunk, message_id="m", now_ms=NOW_MS)
        assert 20 == len(texts)
        assert 0 == (await queues.stats()).outbox_waiting


async def _put(queues: Queues, claim: Claim, n: int) -> None:
    await reply(queues, claim, await queues.waiting(claim.lane), chunks=("a", "b"), queue="old" if n % 2 else "新 room")
