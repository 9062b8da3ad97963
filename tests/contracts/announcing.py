"""The outbox contract of what is no answer: what a room is told once, and replies to rooms that are gone. For every database."""

from __future__ import annotations

import asyncio

from gateway.inbox.base import ANNOUNCE_TRIES, Announcement
from tests.contracts.queues import NOW_MS, Queues, answered, fresh_id, message, open_queues


def hello(
    *names: str,
    channel: str = "acme",
    chunks: tuple[str, ...] = ("hello 大家好", "second"),
    queue: str = "room 群 😀",
    wait_ms: int = 0,
) -> Announcement:
    return Announcement(
        turn_id=message().id,
        channel=channel,
        names=names,
        queue=queue,
        address=b"address",
        chunks=chunks,
        now_ms=NOW_MS,
        wait_ms=wait_ms,
    )


async def sent(queues: Queues) -> list[str]:
    """Send all that is due, and return it."""
    texts = []
    while chunks := await queues.due(now_ms=NOW_MS, limit=5):
        for chunk in chunks:
            texts.append(chunk.text)
            await queues.sent(chunk, message_id="m", now_ms=NOW_MS)
    return texts


class AnnounceContract:
    """What is said once."""

    async def test_it_goes_out_in_order_before_what_comes_later(self, queues: Queues) -> None:
        seen = await queues.changed(0)
        assert await queues.announce(hello("r"))
        await answered(queues, "l", queue="room 群 😀", chunks=("answer",))

        assert seen < await queues.changed(seen)
        assert ["hello 大家好", "second", "answer"] == await sent(queues)

    async def test_it_is_said_once(self, queues: Queues) -> None:
        """Whoever asks, and at once."""
        said = await asyncio.gather(*(queues.announce(hello("r")) for _ in range(5)))

        assert [False] * 4 + [True] == sorted(said)
        assert ["hello 大家好", "second"] == await sent(queues)

    async def test_any_of_its_names_will_do(self, queues: Queues) -> None:
        """A room that has another id was told under its first one."""
        assert await queues.announce(hello("old room", chunks=("1",)))
        assert not await queues.announce(hello("new room", "old room", chunks=("2",)))
        assert await queues.announce(hello("new room", chunks=("3",)))
        assert not await queues.announce(hello("new room", chunks=("4",)))

        assert ["1", "3"] == await sent(queues)

    async def test_what_is_to_wait_goes_out_no_earlier(self, queues: Queues) -> None:
        assert await queues.announce(hello("r", chunks=("1",), wait_ms=50))

        assert NOW_MS + 50 == await queues.next_due_ms()
        assert [] == await queues.due(now_ms=NOW_MS + 49, limit=5)
        assert ["1"] == [chunk.text for chunk in await queues.due(now_ms=NOW_MS + 50, limit=5)]

    async def test_it_is_taken_back_where_it_was_said_under_a_former_name(self, queues: Queues) -> None:
        """As if it had been said: neither now nor later; what waits behind it goes on."""
        await queues.announce(hello("old 群", queue="old", chunks=("old",)))
        await sent(queues)
        await queues.announce(hello("new", wait_ms=50))
        await answered(queues, "l", queue="room 群 😀", chunks=("answer",))
        taken_back = [await queues.take_back("acme", "new", former=["older", "old 群"]) for _ in range(2)]

        assert [True, False] == taken_back
        assert not await queues.announce(hello("new"))
        assert ["answer"] == await sent(queues)
        assert await queues.next_due_ms() is None

    async def test_it_is_not_taken_back_where_nobody_was_told_before(self, queues: Queues) -> None:
        """Nor what is known in another channel, or what was refused under the former name."""
        await queues.announce(hello("old", channel="other", queue="other", chunks=()))
        await queues.announce(hello("refused", queue="refused", chunks=("no",)))
        for chunk in await queues.due(now_ms=NOW_MS, limit=5):
            await queues.dead(chunk, error="refused", now_ms=NOW_MS)
        await queues.announce(hello("new"))

        assert not await queues.take_back("acme", "new", former=["old", "refused"])
        assert not await queues.take_back("acme", "new", former=[])
        assert not await queues.take_back("acme", "never said", former=["new"])
        assert ["hello 大家好", "second"] == await sent(queues)

    async def test_it_is_not_taken_back_once_a_part_is_on_its_way(self, queues: Queues) -> None:
        await queues.announce(hello("old", queue="old", chunks=()))
        await queues.announce(hello("new"))
        first = (await queues.due(now_ms=NOW_MS, limit=1))[0]
        being_sent = await queues.take_back("acme", "new", former=["old"])
        await queues.sent(first, message_id="m", now_ms=NOW_MS)

        assert [False, False] == [being_sent, await queues.take_back("acme", "new", former=["old"])]
        assert ["second"] == await sent(queues)

    async def test_channels_are_told_apart(self, queues: Queues) -> None:
        assert await queues.announce(hello("r"))
        assert await queues.announce(hello("r", channel="other"))

    async def test_hostile_names_and_texts_are_kept(self, queues: Queues) -> None:
        """As replies are: what no platform takes becomes U+FFFD."""
        assert await queues.announce(hello("\x00'; --", "\ud800", chunks=("a\x00b",)))
        assert not await queues.announce(hello("\x00'; --"))

        assert ["a\ufffdb"] == await sent(queues)

    async def test_nothing_to_say_is_remembered_too(self, queues: Queues) -> None:
        assert await queues.announce(hello("r", chunks=()))
        assert not await queues.announce(hello("r"))

        assert await queues.next_due_ms() is None

    async def test_it_survives_the_end_of_its_process(self, url: str) -> None:
        async with open_queues(url) as queues:
            await queues.announce(hello("r"))
        async with open_queues(url) as queues:
            assert not await queues.announce(hello("r"))
            assert ["hello 大家好", "second"] == await sent(queues)

    async def test_giving_it_up_ends_no_turn(self, queues: Queues) -> None:
        """It belongs to none: the answer behind it is another matter."""
        await queues.announce(hello("r"))
        turn = await answered(queues, "l", queue="room 群 😀", chunks=("answer",))
        (chunk,) = await queues.due(now_ms=NOW_MS, limit=1)

        await queues.dead(chunk, error="refused", now_ms=NOW_MS)

        assert ["answer"] == await sent(queues)
        (event,) = await queues.turn_events(turn)
        assert "answered" == event.state

    async def test_what_was_refused_is_said_again_a_few_times(self, queues: Queues) -> None:
        """Whoever asks next; under another name too. What is on its way, or went out in part, is said."""
        for attempt in range(ANNOUNCE_TRIES):
            assert await queues.announce(hello("r", "old r"))
            assert not await queues.announce(hello("r"))
            (chunk,) = await queues.due(now_ms=NOW_MS, limit=5)
            await queues.dead(chunk, error=f"refused {attempt}", now_ms=NOW_MS)
        assert await queues.announce(hello("half"))
        for settle in (queues.sent, queues.dead):
            (chunk,) = await queues.due(now_ms=NOW_MS, limit=5)
            how = {"message_id": "m"} if settle == queues.sent else {"error": "refused"}
            await settle(chunk, **how, now_ms=NOW_MS)  # type: ignore[operator]

        assert [False] * 3 == [await queues.announce(hello(*names)) for names in (("r",), ("new", "r"), ("half",))]
        assert [] == await sent(queues)

    async def test_its_words_are_deleted_when_they_are_old(self, queues: Queues) -> None:
        """And only those that went out; that it was said is remembered."""
        assert await queues.announce(hello("r"))
        assert await queues.announce(hello("waits", chunks=("waits",)))
        for _ in range(2):
            (chunk,) = await queues.due(now_ms=NOW_MS, limit=1)
            await queues.sent(chunk, message_id="m", now_ms=NOW_MS)
        assert 0 == await queues.purge(before_ms=0, dedupe_before_ms=0, limit=9)
        later = 3_000_000_000_000

        assert [1, 1, 0] == [await queues.purge(before_ms=later, dedupe_before_ms=0, limit=1) for _ in range(3)]
        assert ["waits"] == await sent(queues)
        assert not await queues.announce(hello("r"))


class GiveUpContract:
    """Replies to rooms that are gone."""

    async def test_what_waits_ends_with_the_reason(self, queues: Queues) -> None:
        """Every turn's; what went out stays as it was."""
        whole = await answered(queues, "l0", queue="a", chunks=("1", "2"))
        (first,) = await queues.due(now_ms=NOW_MS, limit=1)
        await queues.sent(first, message_id="m", now_ms=NOW_MS)
        other = await answered(queues, "l1", queue="b 群", chunks=("3",))

        turns = await queues.give_up(
            "acme", lambda address: address == b"address", error="left 离开\x00", now_ms=NOW_MS
        )

        assert sorted([whole, other]) == turns
        for turn in turns:
            (event,) = await queues.turn_events(turn)
            assert event.outcome is not None
            assert ("dead", "undeliverable") == (event.state, event.outcome.code)
            assert "left 离开\ufffd" == event.outcome.reason
        assert await queues.next_due_ms() is None
        assert 0 == (await queues.stats()).outbox_waiting

    async def test_other_addresses_and_channels_stay(self, queues: Queues) -> None:
        await answered(queues, "l0", queue="a", chunks=("1", "2"))

        assert [] == await queues.give_up("acme", lambda _: False, error="left", now_ms=NOW_MS)
        assert [] == await queues.give_up("acme2", lambda _: True, error="left", now_ms=NOW_MS)

        assert ["1", "2"] == await sent(queues)

    async def test_repeating_it_changes_nothing(self, queues: Queues) -> None:
        turn = await answered(queues, "l0", queue="a")
        assert [turn] == await queues.give_up("acme", lambda _: True, error="left", now_ms=NOW_MS)

        assert [] == await queues.give_up("acme", lambda _: True, error="again", now_ms=NOW_MS)

        (event,) = await queues.turn_events(turn)
        assert event.outcome is not None
        assert "left" == event.outcome.reason

    async def test_a_queue_that_is_being_sent_from_is_left_alone(self, queues: Queues) -> None:
        """Its receipt finds its chunk."""
        turn = await answered(queues, "l0", queue="a", chunks=("1", "2"))
        (first,) = await queues.due(now_ms=NOW_MS, limit=1)

        assert [] == await queues.give_up("acme", lambda _: True, error="left", now_ms=NOW_MS)

        await queues.sent(first, message_id="m", now_ms=NOW_MS)
        assert ["2"] == await sent(queues)
        (event,) = await queues.turn_events(turn)
        assert "answered" == event.state

    async def test_the_room_can_be_answered_in_again(self, queues: Queues) -> None:
        """The bot may be brought back."""
        await answered(queues, f"l{fresh_id()}", queue="a")
        await queues.give_up("acme", lambda _: True, error="left", now_ms=NOW_MS)

        await answered(queues, "l1", queue="a", chunks=("back",))

        assert ["back"] == await sent(queues)
