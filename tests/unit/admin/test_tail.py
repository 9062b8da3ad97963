"""The live tail over real queues: what it tells, to whom, and how it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.base import Address, MessageEvent, Sender
from gateway.admin.acts.turns import TAIL, TailAsked
from gateway.admin.operations import Acting
from gateway.admin.rights import Actor
from gateway.admin.tail import LOOKS, NEWEST, READERS, Tail
from gateway.amending import DELETED
from gateway.errors import StoreBusy
from gateway.inbox.base import Outcome
from gateway.routing import Human, Route, encode
from tests.contracts.queues import accept, claim_one, open_queues, reply
from tests.unit.admin.acting import OWNER, actor


@pytest.fixture
async def queues(tmp_path: Path) -> AsyncIterator[Any]:
    async with open_queues(f"sqlite:///{tmp_path / 'queues.db'}", poll_s=0.05) as opened:
        yield opened


@asynccontextmanager
async def following(queues: Any, **times: float) -> AsyncIterator[Tail]:
    tail = Tail(inbox=queues, looking=queues.looking, **({"look_s": 0} | times))
    task = asyncio.create_task(tail.run())
    try:
        yield tail
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def joined(tail: Tail, who: Actor = OWNER, channel: str | None = None) -> AsyncIterator[bytes]:
    """Begin to follow; return the stream behind its greeting."""
    stream = await tail.tail(Acting(actor=who, operation=TAIL), TailAsked(channel=channel))
    assert "text/event-stream" == stream.media
    pieces = aiter(stream.pieces)
    assert (await anext(pieces)).startswith(b":")
    return pieces


async def told(pieces: AsyncIterator[bytes]) -> Any:
    """Return the next event's data."""
    async with asyncio.timeout(10):
        while (piece := await anext(pieces)).startswith(b":"):
            pass
    return json.loads(piece.partition(b"data: ")[2])


def routed(text: str, *, name: str) -> Route:
    said = MessageEvent(
        channel="acme", room="r1", chat_type="private", sender=Sender(user="zoe", tenant="t", account="zoe", name=name),
        dedupe_ids=("d",), message_id="m1", text=text,
    )  # fmt: skip
    return Route(
        event=said, key="zoe:acme:r1:private:main", scope=("zoe", "acme", "r1", "private", "main"),
        address=Address(channel="acme", room="r1"), agent="main", revision="r", language="en", rule="private",
    )  # fmt: skip


async def test_new_events_and_their_ends(queues: Any) -> None:
    """What there was before is no news; each change of state is one, with the reply of an answered one."""
    await accept(queues, "old")
    async with following(queues) as tail:
        pieces = await joined(tail)
        await queues.release(await claim_one(queues), hand_over=True)
        event = await accept(queues, "lane", outcome=Outcome(state="ignored", rule="bot"))
        first = await told(pieces)
        assert (str(event.id), "ignored", "bot") == tuple(first["line"][field] for field in ("turn", "state", "rule"))
        waits = await accept(queues, "new")
        assert (str(waits.id), "accepted") == _of(await told(pieces))
        (claim,) = [one for one in await queues.claim(5) if one.lane == "new"]
        await reply(queues, claim, [waits], chunks=())
        states = [await told(pieces)]
        while states[-1]["line"]["state"] != "answered":
            states.append(await told(pieces))
        assert "collected" == states[-1]["reply"]


def _of(data: Any) -> tuple[str, str]:
    return data["line"]["turn"], data["line"]["state"]


async def test_each_hears_of_their_channels_alone(queues: Any) -> None:
    """Words for who may read there."""
    async with following(queues) as tail:
        other = await joined(tail, actor(("viewer", "other")))
        both = await joined(tail, actor(("viewer", None), ("operator", "acme")))
        await accept(queues, channel="acme")
        event = await accept(queues, channel="other")

        assert str(event.id) == (await told(other))["line"]["turn"]
        assert ["acme", "other"] == [(await told(both))["line"]["channel"] for _ in range(2)]


async def test_who_is_slow_is_told_what_was_missed(queues: Any) -> None:
    """The oldest go, and are counted."""
    async with following(queues) as tail:
        pieces = await joined(tail)
        for _ in range(2):
            await asyncio.gather(*(accept(queues, f"lane {n}") for n in range(NEWEST - 10)))
            async with asyncio.timeout(10):
                while len(tail._readers[0].waiting) < NEWEST - 10 and not tail._readers[0].missed:
                    await asyncio.sleep(0.01)
        async with asyncio.timeout(10):
            while tail._readers[0].missed < NEWEST - 20:
                await asyncio.sleep(0.01)
        assert {"count": NEWEST - 20} == await told(pieces)


async def test_more_than_one_look_passes(queues: Any) -> None:
    """A burst between two looks is told whole, as far as readers can take it; behind that it says that something is missing."""
    async with following(queues, look_s=0.01) as tail:
        pieces = await joined(tail)
        await accept(queues, "first")
        await told(pieces)
        await asyncio.gather(*(accept(queues, f"lane {n}") for n in range(2 * NEWEST)))
        told_, missed = 0, 0
        async with asyncio.timeout(20):
            while told_ + missed < 2 * NEWEST:
                data = await told(pieces)
                told_, missed = (told_, missed + data["count"]) if "count" in data else (told_ + 1, missed)

        assert 2 * NEWEST == told_ + missed


async def test_what_was_not_even_looked_at_is_missed(queues: Any) -> None:
    """So many that no look reaches back: it is said that there were more."""
    tail = Tail(inbox=queues, looking=queues.looking, look_s=0)
    pieces_task = asyncio.create_task(joined(tail))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    await accept(queues, "known")
    await tail._begin()
    pieces = await pieces_task
    reader = tail._readers[0]
    await asyncio.gather(*(accept(queues, f"lane {n}") for n in range(NEWEST * LOOKS + 1)))
    await tail._look()

    assert NEWEST * (LOOKS - 1) + 1 == reader.missed
    assert {"count": NEWEST * (LOOKS - 1) + 1} == await told(pieces)


async def test_who_says_what(queues: Any) -> None:
    """An operator's words are theirs, though they stand in the person's turn; of what was deleted there is no word."""
    said = routed(text="I will see to it 马上", name="Zoe")
    human = Human(takeover=1, act="said", operator="user:1", name="Ann 安", turn_id=1)
    async with following(queues) as tail:
        pieces = await joined(tail)
        await accept(queues, body=encode(msgspec.structs.replace(said, human=human)))
        first = await told(pieces)
        await accept(queues, body=encode(said), outcome=DELETED)
        second = await told(pieces)

    assert ("Ann 安", "I will see to it 马上", "human") == (first["name"], first["text"], first["line"]["kind"])
    assert ("", "", "message") == (second["name"], second["text"], second["line"]["kind"])


async def test_it_ends_with_the_gateway(queues: Any) -> None:
    """Readers are sent away, and nobody is let in any more."""
    async with following(queues) as tail:
        pieces = await joined(tail)
        tail.close()
        async with asyncio.timeout(5):
            assert [] == [piece async for piece in pieces]
        with pytest.raises(StoreBusy):
            await joined(tail)


async def test_only_so_many_follow(queues: Any) -> None:
    """Also of those who come in one moment; one who leaves makes room."""
    async with following(queues) as tail:
        acting = Acting(actor=OWNER, operation=TAIL)
        streams = [await tail.tail(acting, TailAsked()) for _ in range(READERS + 3)]
        readers = [aiter(stream.pieces) for stream in streams]
        begun = await asyncio.gather(*(anext(pieces) for pieces in readers))
        assert [READERS, 3] == [begun.count(b": follows\n\n"), begun.count(b"retry: 10000\n\n")]
        with pytest.raises(StoreBusy):
            await joined(tail)
        await readers[0].aclose()  # type: ignore[attr-defined]
        await joined(tail)


async def test_a_queue_that_is_away_is_waited_for(queues: Any) -> None:
    """The stream goes on when it is back."""

    class Away:
        """Looks that fail once."""

        def __init__(self) -> None:
            self.failed = 0

        def __getattr__(self, name: str) -> Any:
            if name == "events" and self.failed < 2:
                self.failed += 1
                raise StoreBusy("away", retry_after_s=0)
            return getattr(queues.looking, name)

    tail = Tail(inbox=queues, looking=Away(), look_s=0)  # type: ignore[arg-type]
    task = asyncio.create_task(tail.run())
    try:
        pieces = await joined(tail)
        event = await accept(queues)
        assert str(event.id) == (await told(pieces))["line"]["turn"]
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_silence_is_broken_and_a_stay_ends(queues: Any) -> None:
    """A sign of life now and then; after a while who follows has to come again."""
    async with following(queues, beat_s=0.02, lasts_s=0.1) as tail:
        pieces = await joined(tail)
        async with asyncio.timeout(5):
            signs = [piece async for piece in pieces]
        assert signs
        assert {b": still here\n\n"} == set(signs)
