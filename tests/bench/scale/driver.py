"""Whoever talks to gateways, in a process of its own: a line of JSON in is a load, a line of JSON out is how it went.

`python -m tests.bench.scale.driver`. Messages are signed before the clock starts, so that the driver costs little of what it
measures. A turn lasts from its POST to its answer, in the same request (`mode: sync`).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp
import msgspec
from standardwebhooks import Webhook

from tests.scenarios.world import SECRET

TEXT = "Could you check whether order 8821 has been shipped? 能查一下 8821 号订单吗?"
WAITED_MS = 900
"""A turn that lasted so long beside others that did not was most likely found by a look each second (`queue.poll_s`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """`turns` messages, `in_flight` at a time, or `per_s` a second where that is given; dealt to `urls` in turn."""

    urls: list[str]
    turns: int
    in_flight: int
    conversations: int
    name: str  # of this load's conversations: none of another load's meet them
    per_s: float | None = None
    first: int = 0  # the number of its first message
    newcomers: int = 0  # each so manieth message is of somebody who never wrote before; 0: none is


@dataclass(frozen=True, slots=True, kw_only=True)
class Went:
    """How a load went; times in milliseconds, in no order. `lost`: not answered in the request."""

    seconds: float
    times_ms: list[float]
    lost: int
    cpu_s: float


async def run(load: Load) -> Went:
    """Send the load and wait for all of its answers."""
    messages = iter([signed(load, number) for number in range(load.first, load.first + load.turns)])
    urls = itertools.cycle(load.urls)
    times: list[float] = []
    lost = 0

    async def say(session: aiohttp.ClientSession, url: str, raw: bytes, headers: dict[str, str]) -> None:
        nonlocal lost
        began = time.perf_counter()
        try:
            async with session.post(f"{url}/channels/hook", data=raw, headers=headers) as response:
                answered = "reply" in msgspec.json.decode(await response.read())
        except (aiohttp.ClientError, TimeoutError):
            answered = False
        times.append((time.perf_counter() - began) * 1000)
        lost += not answered

    async def sender(session: aiohttp.ClientSession) -> None:
        for raw, headers in messages:
            await say(session, next(urls), raw, headers)

    async def paced(session: aiohttp.ClientSession, tasks: asyncio.TaskGroup, per_s: float) -> None:
        due = time.perf_counter()
        for raw, headers in messages:
            tasks.create_task(say(session, next(urls), raw, headers))
            due += 1 / per_s
            await asyncio.sleep(max(0.0, due - time.perf_counter()))

    cpu, began = time.process_time(), time.perf_counter()
    limits = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=limits) as session, asyncio.TaskGroup() as tasks:
        if load.per_s is None:
            for _ in range(load.in_flight):
                tasks.create_task(sender(session))
        else:
            tasks.create_task(paced(session, tasks, load.per_s))
    return Went(
        seconds=time.perf_counter() - began, times_ms=times, lost=lost, cpu_s=time.process_time() - cpu
    )  # fmt: skip


def signed(load: Load, number: int) -> tuple[bytes, dict[str, str]]:
    """Return a message and its headers; neighbours in time are of different conversations."""
    id_ = f"{load.name}-{number}"
    new = load.newcomers and number % load.newcomers == 0
    user = f"{load.name}-new-{number}" if new else f"{load.name}-{number % load.conversations}"
    body = {
        "conversation": user,
        "chat_type": "private",
        "sender": {"id": user, "name": "Ada"},
        "message": {"id": id_, "text": f"{TEXT} ({number})"},
    }
    raw, now = msgspec.json.encode(body), datetime.now(tz=UTC)
    return raw, {
        "content-type": "application/json",
        "webhook-id": id_,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(SECRET).sign(id_, now, raw.decode()),
    }


def _loads() -> Iterator[Load]:
    for line in sys.stdin:
        yield Load(**json.loads(line))


if __name__ == "__main__":
    for asked in _loads():
        print(msgspec.json.encode(asyncio.run(run(asked))).decode(), flush=True)
