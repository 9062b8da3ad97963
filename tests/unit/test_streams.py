"""Live streams: every reader sees the whole reply, whenever it comes and however often it comes back."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.hot.process import KEPT_EVENTS, ProcessRateLimits, ProcessStreams


async def read(streams: ProcessStreams, event_id: int, *, after: int | None = None) -> list[tuple[int, str, str]]:
    """Follow a closed stream; return (id, name, text) of its events."""
    seen = []
    async with aclosing(streams.follow(event_id, after=after, idle_s=5)) as events:
        async for event in events:
            assert event is not None
            seen.append((event.id, event.name, msgspec.json.decode(event.data).get("text", "")))
    return seen


def shown(events: list[tuple[int, str, str]], text: str = "") -> str:
    """Return what a page shows that had `text` before these events."""
    for _, name, piece in events:
        if name == "reset":
            text = piece
        elif name == "delta":
            text += piece
    return text


async def test_a_late_reader_gets_everything() -> None:
    """Deltas are kept for readers that come after them."""
    streams = ProcessStreams()
    streams.begin([7])
    streams.delta([7], "你好")
    streams.delta([7], " 👋")
    streams.close(7, name="done", view=b"{}")

    assert [(1, "delta", "你好"), (2, "delta", " 👋"), (3, "done", "")] == await read(streams, 7)


async def test_a_reader_resumes_behind_what_it_has() -> None:
    """Last-Event-ID leads to the events behind it, without a reset."""
    streams = ProcessStreams()
    streams.delta([7], "a")
    streams.delta([7], "b")
    streams.close(7, name="done", view=b"{}")

    assert [(2, "delta", "b"), (3, "done", "")] == await read(streams, 7, after=1)


async def test_a_reader_of_an_earlier_process_begins_anew() -> None:
    """After a restart the turn is answered again, perhaps otherwise: what a reader has of the first answer is not continued
    by the second one."""
    before, after = ProcessStreams(first_id=1000), ProcessStreams(first_id=2000)
    before.delta([7], "The first ")
    before.delta([7], "answer was ")
    for piece in ("另一个", "答案", ", whole"):
        after.delta([7], piece)
    after.close(7, name="done", view=b"{}")

    seen = await read(after, 7, after=1002)
    assert "另一个答案, whole" == shown(seen, "The first answer was ")
    assert [2001, 2002, 2003, 2004] == [id_ for id_, _, _ in await read(after, 7)]


async def test_a_reader_that_has_the_end_gets_it_again() -> None:
    """A browser that reconnects by itself behind the last event is told at once, not left waiting."""
    streams = ProcessStreams()
    streams.delta([7], "a")
    streams.close(7, name="done", view=b"{}")

    assert [(2, "done", "")] == await read(streams, 7, after=2)


async def test_a_stream_that_begins_again_is_open_again() -> None:
    """A message that was not answered, and is after all: whoever follows it from then on is told of the answer, not of the
    end before it; it ends once more, and its place is given up like any other's."""
    streams = ProcessStreams(finished=1)
    streams.close(7, name="done", view=b"{}")
    streams.begin([7])
    streams.close(8, name="done", view=b"{}")
    streams.delta([7], "an answer 答")
    streams.close(7, name="done", view=b"{}")

    assert [(2, "delta", "an answer 答"), (3, "done", "")] == await read(streams, 7, after=1)
    assert not streams.knows(8)


@pytest.mark.parametrize("after", [0, 1, KEPT_EVENTS, 10_000])
async def test_a_gap_becomes_a_reset(after: int) -> None:
    """What is no longer at hand, or was counted by a process that is gone, comes as one reset with all text."""
    streams = ProcessStreams()
    for number in range(KEPT_EVENTS + 50):
        streams.delta([7], f"{number},")
    streams.close(7, name="done", view=b"{}")
    before = "".join(f"{number}," for number in range(after)) if after <= KEPT_EVENTS + 50 else "foreign"

    events = await read(streams, 7, after=after)

    assert "".join(f"{number}," for number in range(KEPT_EVENTS + 50)) == shown(events, before)
    assert "done" == events[-1][1]
    assert sorted(id_ for id_, _, _ in events) == [id_ for id_, _, _ in events]


@given(st.lists(st.sampled_from(["delta", "reset", "begin"]), max_size=40), st.integers(0, 45))
def test_what_is_shown_is_what_was_said(acts: list[str], after: int) -> None:
    """Whatever order deltas, resets and restarts come in, a reader that leaves and resumes anywhere ends with the same."""

    async def scene() -> None:
        streams = ProcessStreams()
        for number, act in enumerate(acts):
            match act:
                case "delta":
                    streams.delta([1], f"d{number}")
                case "reset":
                    streams.reset([1], f"r{number}")
                case _:
                    streams.begin([1])
        streams.close(1, name="done", view=b"{}")
        whole = await read(streams, 1)
        first = [event for event in whole if event[0] <= after]

        assert shown(whole) == shown(await read(streams, 1, after=after), shown(first))

    asyncio.run(scene())


async def test_a_new_attempt_takes_back_what_was_shown() -> None:
    """A turn that begins again tells its readers so (hermes-agent#36965: never a second copy behind the first)."""
    streams = ProcessStreams()
    streams.begin([7])
    streams.delta([7], "half an ans")
    streams.begin([7])
    streams.delta([7], "whole answer")
    streams.close(7, name="done", view=b"{}")

    assert "whole answer" == shown(await read(streams, 7))


async def test_a_reader_waits_and_is_woken() -> None:
    """A follower that came first sees each piece as it is made; an idle one is told to look elsewhere."""
    streams = ProcessStreams()
    idle = asyncio.Event()
    seen: list[str] = []

    async def reader() -> None:
        async with aclosing(streams.follow(7, after=None, idle_s=0.01)) as events:
            async for event in events:
                if event is None:
                    idle.set()
                else:
                    seen.append(event.name)

    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        tasks.create_task(reader())
        await idle.wait()
        streams.delta([7], "x")
        streams.close(7, name="failed", view=b"{}")
        streams.close(7, name="done", view=b"{}")

    assert ["delta", "failed"] == seen


async def test_streams_are_bounded() -> None:
    """Old streams make room (openclaw#54155: maps without a bound grow to gigabytes)."""
    streams = ProcessStreams(bound=100)
    for event_id in range(1000):
        streams.delta([event_id], "x")

    assert [False, True] == [streams.knows(0), streams.knows(999)]
    assert 100 == sum(streams.knows(event_id) for event_id in range(1000))


async def test_of_finished_streams_the_last_are_kept() -> None:
    """A finished turn's reply is in the store; only running turns need their stream for long (openclaw#54155)."""
    streams = ProcessStreams(finished=2)
    streams.delta([7], "still running")
    for number in range(10, 15):
        streams.delta([number], "a")
        streams.close(number, name="done", view=b"{}")

    assert [7, 13, 14] == [number for number in range(20) if streams.knows(number)]


async def test_limits_are_bounded() -> None:
    """People seen long ago are forgotten (AstrBot rate_limit_check: a counter never pruned)."""
    limits = ProcessRateLimits(bound=10)
    for number in range(1000):
        await limits.take(str(number), most=1)

    assert 10 == len(limits._counts)


async def test_a_stream_that_was_dropped_and_comes_again_has_new_numbers() -> None:
    """What a reader has of the one is not continued by the other, however many events that has."""
    streams = ProcessStreams()
    for piece in ("The first ", "answer was "):
        streams.delta([7], piece)
    streams.forget([7])
    for piece in ("另一个", "答案", ", whole"):
        streams.delta([7], piece)
    streams.close(7, name="done", view=b"{}")

    assert "另一个答案, whole" == shown(await read(streams, 7, after=1), "The first ")


async def test_what_is_forgotten_is_not_at_hand_any_more() -> None:
    """Running or ended, words and all; and what is not known need not be forgotten. B46."""
    streams = ProcessStreams()
    streams.delta([1], "Quittengelee")
    streams.close(2, name="done", view=b"{}")

    streams.forget([1, 2, 3])

    assert [False, False] == [streams.knows(1), streams.knows(2)]
    streams.begin([2])
    streams.close(2, name="done", view=b"{}")
    assert streams.knows(2)


async def test_the_end_brings_the_reply_to_who_lacks_some_of_it() -> None:
    """Stored before a crash, or told at once: nothing was shown of it here. Who has all of it is told no more."""
    streams = ProcessStreams()
    streams.delta([1, 2], "整个")
    streams.close(1, name="done", view=b'{"reply": {"text": "\xe6\x95\xb4\xe4\xb8\xaa"}}')
    streams.close(2, name="done", view=b'{"reply": {"text": "else"}}')
    streams.close(3, name="done", view=b'{"reply": {"text": "at once"}}')
    streams.close(4, name="failed", view=b'{"reply": null}')
    streams.close(5, name="done", view=b'{"reply": "in another way"}')

    assert [(1, "delta", "整个"), (2, "done", "")] == await read(streams, 1)
    assert ["delta", "reset", "done"] == [name for _, name, _ in await read(streams, 2)]
    assert "else" == (await read(streams, 2))[1][2]
    assert [("reset", "at once"), ("done", "")] == [(name, text) for _, name, text in await read(streams, 3)]
    assert ["failed"] == [name for _, name, _ in await read(streams, 4)]
    assert ["done"] == [name for _, name, _ in await read(streams, 5)]


def test_of_streams_whose_end_is_told_elsewhere_the_last_are_kept() -> None:
    """What ran here and is sent by another instance ends there: it is let go like one that ended, but not if it runs again."""
    streams = ProcessStreams(finished=2)
    for turn in range(5):
        streams.begin([turn])
        streams.delta([turn], "整个答案")
        streams.left([turn])
        if turn == 2:
            streams.begin([2])
    streams.left([99])

    assert [2, 3, 4] == [turn for turn in (*range(5), 99) if streams.knows(turn)]
    streams.close(2, name="done", view=b"{}")
    assert [2, 4] == [turn for turn in range(5) if streams.knows(turn)]
