"""The databases the queues run on, and what the queue contracts need of them: opening, events to accept, a victim to kill."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from gateway.inbox.base import Accepted, Chunk, Claim, Event, Inbox, NewEvent, Outbox, Outcome, Reply
from gateway.inbox.postgres import PostgresInbox
from gateway.inbox.sqlite import SqliteInbox
from memory.ids import Ids
from tests.forks import Forked, fork

NOW_MS = 1_780_000_000_000
DAY_MS = 86_400_000


class Queues(Inbox, Outbox, Protocol):
    """Both halves of one database."""


def open_queues(
    url: str, *, lease_s: float = 15, poll_s: float = 1, accept_max: int = 10_000, timeout_s: float = 5
) -> AbstractAsyncContextManager[Queues]:
    """Open the queues on `sqlite:///PATH` or `postgresql://…`."""
    if url.startswith("sqlite:///"):
        return SqliteInbox(
            Path(url.removeprefix("sqlite:///")),
            write_turn=asyncio.Lock(),
            timeout_s=timeout_s,
            lease_s=lease_s,
            poll_s=poll_s,
            accept_max=accept_max,
        )
    return PostgresInbox(url, pool_size=6, timeout_s=timeout_s, lease_s=lease_s, poll_s=poll_s, accept_max=accept_max)


URLS: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "sqlite": lambda request: f"sqlite:///{request.getfixturevalue('tmp_path') / 'queues.db'}",
    "postgres": lambda request: request.getfixturevalue("postgres_url"),
}
"""One line per database: where a test's own empty one is."""

_ids = Ids(instance=7, clock=lambda: NOW_MS)
_numbers = itertools.count(1)


def message(
    *,
    speaker: str = "U1",
    channel: str = "acme",
    kind: str = "message",
    body: bytes = b"{}",
    fingerprint: str | None = None,
    outcome: Outcome | None = None,
    subject: str | None = None,
    revives: tuple[str, ...] = (),
    now_ms: int = NOW_MS,
) -> NewEvent:
    """A new event with an id of its own."""
    return NewEvent(
        id=_ids.next() if now_ms == NOW_MS else Ids(instance=next(_numbers) % 1024, clock=lambda: now_ms).next(),
        channel=channel,
        kind=kind,  # type: ignore[arg-type]
        speaker=speaker,
        body=body,
        token="secret",
        fingerprint=fingerprint,
        now_ms=now_ms,
        outcome=outcome,
        subject=subject,
        revives=revives,
    )


def fresh_id() -> str:
    """A dedupe id never used before."""
    return f"T1:U1:{next(_numbers)}"


async def accept(queues: Queues, lane: str = "lane", **fields: object) -> Event:
    """Accept a message with a dedupe id of its own; return its event."""
    accepted = await queues.accept(message(**fields), lane=lane, dedupe_ids=[fresh_id()])  # type: ignore[arg-type]
    assert accepted.verdict == "accepted"
    return accepted.event


async def accept_many(queues: Queues, n: int, lane: str = "lane") -> list[Event]:
    """Accept `n` messages at once; in call order."""
    new = [message() for _ in range(n)]
    results: list[Accepted] = await asyncio.gather(
        *(queues.accept(event, lane=lane, dedupe_ids=[fresh_id()]) for event in new)
    )
    return [result.event for result in results]


async def claim_one(queues: Queues) -> Claim:
    """Claim the only lane there is to claim."""
    (claim,) = await queues.claim(2)
    return claim


async def reply(
    queues: Queues,
    claim: Claim,
    events: list[Event],
    *,
    chunks: tuple[str, ...] = ("hello",),
    queue: str = "room",
    failed: Outcome | None = None,
    shown: str | None = None,
    now_ms: int = NOW_MS,
    stands: bool = True,
) -> int:
    """Start the events as one turn and put its reply, which `stands` or does not; return the turn's id."""
    turn_id = events[0].turn_id
    ids = [event.id for event in events]
    await queues.start(ids, turn_id=turn_id, lane=claim.lane, fence=claim.fence)
    assert stands == await queues.put(
        Reply(
            event_ids=ids,
            turn_id=turn_id,
            channel="acme",
            queue=queue,
            address=b"address",
            text="".join(chunks) or "collected",
            chunks=chunks,
            failed=failed,
            session="s-1",
            lane=claim.lane,
            fence=claim.fence,
            now_ms=now_ms,
            shown=shown,
        )
    )
    return turn_id


async def answered(queues: Queues, lane: str, *, queue: str, chunks: tuple[str, ...] = ("hello",)) -> int:
    """Take one message of a lane all the way to its reply in the outbox; return the turn's id."""
    await accept(queues, lane)
    claim = await claim_one(queues)
    turn_id = await reply(queues, claim, await queues.waiting(lane), chunks=chunks, queue=queue)
    assert await queues.release(claim)
    return turn_id


async def until(queues: Queues, look: Callable[[], object]) -> None:
    """Wait for changes until `look` (sync or async) gives something true."""
    seen = 0
    async with asyncio.timeout(30):
        while True:
            found = look()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return
            seen = await queues.changed(seen)


async def claim_when_free(queues: Queues) -> Claim:
    """Wait until a lane can be claimed, and claim it."""
    claims: list[Claim] = []

    async def claimed() -> bool:
        claims.extend(await queues.claim(1))
        return bool(claims)

    await until(queues, claimed)
    return claims[0]


async def due_when_free(queues: Queues) -> Chunk:
    """Wait until a chunk is due, and take it."""
    chunks: list[Chunk] = []

    async def found() -> bool:
        chunks.extend(await queues.due(now_ms=NOW_MS, limit=1))
        return bool(chunks)

    await until(queues, found)
    return chunks[0]


@dataclass
class Victim:
    """A process that works on the queues (`tests/contracts/victim.py`), to be killed or stopped in the act."""

    process: Forked

    async def line(self) -> str:
        """The next line it says; "" when it is gone."""
        assert self.process.stdout is not None
        async with asyncio.timeout(30):
            return (await self.process.stdout.readline()).decode().strip()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def kill(self) -> None:
        """End it as a crash would, with whatever it was doing."""
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def victim(url: str, act: str, *, lease_s: float = 15) -> AsyncIterator[Victim]:
    """Run `act` in a process of its own."""
    process = await fork("tests.contracts.victim", url, act, str(lease_s), env=os.environ)
    started = Victim(process)
    try:
        yield started
    finally:
        if process.returncode is None:
            await started.kill()
