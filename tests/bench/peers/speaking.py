"""How a subject is driven: a process that is told what to do in lines of JSON, and answers each with one.

Imports nothing but Python's own: it runs among the peers' packages as well as among ours. `fill` brings the conversation to a
number of messages, beside `OTHERS` more; `turns` has turns, each a question and a reply appended in one call if the peer has one,
then the last 20 messages loaded as the peer lets one load them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

OTHERS, OTHERS_TURNS, PAGE = 200, 10, 20
USER = "Could you check whether order 8821 has been shipped, and when it arrives?"
REPLY = "Order 8821 left the warehouse on Tuesday; the carrier expects to deliver it on Friday."


class Subject(Protocol):
    """One keeper of conversations, holding a long one and others."""

    async def fill(self, conversation: str, turns: Sequence[tuple[str, str]]) -> None:
        """Append turns to a conversation, as fast as the peer can."""
        ...

    async def append(self, question: str, reply: str) -> None:
        """Append one turn to the long conversation, as an application would."""
        ...

    async def load(self) -> str:
        """Load what goes into a prompt of the last `PAGE` messages, and return the newest text of it."""
        ...


LONG = "long"
"""The name of the long conversation."""


def serve(opened: AbstractAsyncContextManager[Subject]) -> None:
    """Do what is told, until there is nothing more."""
    asyncio.run(_serve(opened))


async def _serve(opened: AbstractAsyncContextManager[Subject]) -> None:
    try:
        async with opened as subject:
            print(json.dumps({"ready": True, "rss_mb": _rss_mb()}), flush=True)
            number = 0
            for line in sys.stdin:
                told = json.loads(line)
                if "fill" in told:
                    await _fill(subject, told["fill"])
                    answer: dict[str, object] = {"filled": told["fill"]}
                else:
                    answer = await _turns(subject, number, told["turns"], told["most_s"])
                    number += told["turns"]
                print(json.dumps(answer), flush=True)
    except Exception as fault:
        print(json.dumps({"failed": f"{type(fault).__name__}: {fault}".splitlines()[0][:200]}), flush=True)


async def _fill(subject: Subject, messages: int) -> None:
    await subject.fill(LONG, [(f"{USER} {n}", f"{REPLY} {n}") for n in range(messages // 2)])
    for other in range(OTHERS):
        await subject.fill(f"other{other}", [(USER, REPLY)] * OTHERS_TURNS)


async def _turns(subject: Subject, number: int, turns: int, most_s: float) -> dict[str, object]:
    """Have turns until there were `turns`, or they took `most_s`; one at least."""
    appends, loads, newest = [], [], True
    cpu, stop = time.process_time(), time.perf_counter() + most_s
    for at in range(number, number + turns):
        began = time.perf_counter()
        await subject.append(f"{USER} new {at}", f"{REPLY} new {at}")
        between = time.perf_counter()
        newest = await subject.load() == f"{REPLY} new {at}" and newest
        ended = time.perf_counter()
        appends.append((between - began) * 1000)
        loads.append((ended - between) * 1000)
        if ended > stop:
            break
    cpu = (time.process_time() - cpu) * 1000 / len(appends)
    return {"append_ms": appends, "load_ms": loads, "cpu_ms": cpu, "rss_mb": _rss_mb(), "newest": newest}


def _rss_mb() -> float:
    status = Path("/proc/self/status").read_text("ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024
