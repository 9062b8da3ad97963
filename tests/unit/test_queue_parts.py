"""The small parts of the durable queues: group commit, the bell, rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import StoreBusy
from gateway.inbox.base import Outcome
from gateway.inbox.batch import GroupCommit
from gateway.inbox.changes import Changes
from gateway.inbox.rows import dedupe_digests, event_of, event_row, outcome_text, storable, stored_event
from memory.ids import Ids, first_id
from tests.contracts.queues import NOW_MS, message


class Recorder:
    """Doubles numbers in batches; negative ones are refused, a zero breaks its batch."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.batches: list[list[int]] = []
        self.gate = asyncio.Event()
        self.fault = fault

    async def __call__(self, batch: Sequence[int]) -> list[int | Exception]:
        self.batches.append(list(batch))
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        if 0 in batch:
            raise ZeroDivisionError
        return [number * 2 if number > 0 else ValueError(number) for number in batch]


async def test_what_waits_goes_together_in_order() -> None:
    """While one batch runs, later calls gather; each caller gets its own result."""
    recorder = Recorder()
    async with GroupCommit(recorder, name="test", most=3) as commit:
        calls = [asyncio.ensure_future(commit(1))]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        calls += [asyncio.ensure_future(commit(number)) for number in (2, 3, -4, 5)]
        await asyncio.sleep(0)
        assert 4 == len(commit)
        recorder.gate.set()
        results = await asyncio.gather(*calls, return_exceptions=True)

    assert [[1], [2, 3, -4], [5]] == recorder.batches
    assert [2, 4, 6, "-4", 10] == [str(one) if isinstance(one, ValueError) else one for one in results]


async def test_fault_of_one_is_not_the_others() -> None:
    """A batch that breaks is run again one by one; only the cause fails."""
    recorder = Recorder()
    recorder.gate.set()
    async with GroupCommit(recorder, name="test") as commit:
        results = await asyncio.gather(*(commit(number) for number in (1, 0, 3)), return_exceptions=True)

    assert [2, 6] == [results[0], results[2]]
    assert isinstance(results[1], ZeroDivisionError)
    assert [[1, 0, 3], [1], [0], [3]] == recorder.batches


async def test_database_that_is_away_is_asked_once_a_batch() -> None:
    """When the store is busy, all of the batch hear it; nobody waits through a time limit for each of them."""
    recorder = Recorder(StoreBusy("away", retry_after_s=1))
    recorder.gate.set()
    async with GroupCommit(recorder, name="test") as commit:
        results = await asyncio.gather(*(commit(number) for number in (1, 2, 3)), return_exceptions=True)

    assert [StoreBusy] * 3 == [type(result) for result in results]
    assert [[1, 2, 3]] == recorder.batches


async def test_cancelled_before_its_batch_takes_no_effect() -> None:
    """A caller that left while it stood in line is not served; one whose batch had begun does no harm."""
    recorder = Recorder()
    async with GroupCommit(recorder, name="test") as commit:
        calls = [asyncio.ensure_future(commit(1))]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        calls += [asyncio.ensure_future(commit(2)), asyncio.ensure_future(commit(3))]
        await asyncio.sleep(0)
        calls[0].cancel()
        calls[1].cancel()
        recorder.gate.set()
        await asyncio.gather(*calls, return_exceptions=True)

    assert [[1], [3]] == recorder.batches


async def test_closing_serves_what_stands_in_line_and_takes_no_more() -> None:
    """Leaving the block waits for the last call; later ones are refused."""
    recorder = Recorder()
    recorder.gate.set()
    async with GroupCommit(recorder, name="test") as commit:
        last = asyncio.ensure_future(commit(7))
        await asyncio.sleep(0)

    assert 14 == await last
    with pytest.raises(StoreBusy):
        await commit(8)


async def test_bell_that_broke_says_so_to_all() -> None:
    """Those who wait and those who come later hear what went wrong."""
    changes = Changes(poll_s=60)
    seen = await changes.wait(0)
    waiter = asyncio.ensure_future(changes.wait(seen))
    await asyncio.sleep(0)
    changes.fail(RuntimeError("the listener died"))

    for wait in (waiter, changes.wait(0)):
        with pytest.raises(RuntimeError, match="the listener died"):
            await wait


@given(st.text(), st.text(st.characters()))
def test_event_survives_its_row(speaker: str, body: str) -> None:
    """Any speaker comes back, lone surrogates and NUL included."""
    event = stored_event(message(speaker=speaker, body=body.encode("utf-8", "surrogatepass")), lane="lane")

    assert event == event_of(event_row(event))


@given(st.text(st.characters()))
def test_stored_text_is_what_was_given_but_for_the_unstorable(text: str) -> None:
    """Only NUL and lone surrogates change, each into one replacement character."""
    kept = storable(text)

    kept.encode()
    assert [c if c != "\x00" and not "\ud800" <= c <= "\udfff" else "\ufffd" for c in text] == list(kept)


def test_outcome_keeps_what_it_says() -> None:
    """Reasons come back with their fields; what is not set is not written."""
    assert None is outcome_text(None)
    assert '{"state":"dead","message":"没有\ufffd"}' == outcome_text(Outcome(state="dead", message="没有\x00"))


def test_digests_are_apart_by_channel_and_named_once() -> None:
    """Neither a separator in an id nor a repeated id makes two things one or one thing two."""
    assert 1 == len(dedupe_digests("a", ["m", "m"]))
    assert dedupe_digests("a", ["m"]) != dedupe_digests("b", ["m"])
    assert [16] == [len(digest) for digest in dedupe_digests("a", ["x" * 100_000])]


def test_first_id_parts_the_older_from_the_younger() -> None:
    """All ids made before a moment are smaller than it, all made from then on are not."""
    older, younger = (Ids(instance=1023, clock=lambda ms=ms: ms).next() for ms in (NOW_MS - 1, NOW_MS))  # type: ignore[misc]

    assert older < first_id(NOW_MS) <= younger
    assert 0 == first_id(0)
