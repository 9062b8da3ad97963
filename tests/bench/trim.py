"""What trimming and counting cost, beside langchain-core's `trim_messages` with its approximate counter, in one run.

Goals T1 and T2 of engines.md B.1: 10 µs at 200 messages, 50 µs at 2,000, 100 times faster than the peer; 10 µs to count a
message on append. Each trim drops fillers and half of the tokens, as the peer drops half; the last line of each size is
the window as configured by default, which is what a turn pays.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from memory.base import Frame, Loaded, Message
from memory.context import Inputs, assemble
from memory.policy import Policy
from memory.tokens import Estimate, Tokenizers, estimate
from memory.window import Limits, stored_cost, trim

SIZES = (200, 2_000)
ROUNDS = 5

QUESTION = "Could you check whether order 8821 has been shipped, and when it arrives? 谢谢，麻烦了"
REPLY = "Order 8821 left the warehouse on Tuesday; the carrier expects to deliver it on Friday. 预计周五送达。"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A median, in microseconds; `peer` is what it stands beside, None where nothing does."""

    what: str
    us: float
    peer: float | None = None


def measure() -> list[Figure]:
    """Return all figures of one run."""
    figures = [figure for size in SIZES for figure in _trims(size)]
    return figures + _counts() + [Figure(what="whole prompt out of 40 messages", us=_median(_prompt(), 200))]


def report(figures: list[Figure]) -> str:
    """Return the figures as lines of text."""
    lines = []
    for figure in figures:
        beside = f"  {figure.peer / figure.us:8.0f}x faster than {figure.peer:.0f} µs" if figure.peer else ""
        lines.append(f"{figure.what:58} {figure.us:9.1f} µs{beside}")
    return "\n".join(lines)


def _trims(size: int) -> list[Figure]:
    rows = _rows(size)
    half = sum(map(stored_cost, rows)) // 2
    wide = Limits(turns=size, keep_turns=2, messages=size, tokens=half, hard=half * 2)
    default = Limits(turns=8, keep_turns=2, messages=20, tokens=6_000, hard=28_000)
    peer = _median(_peer(rows, half), 20)
    return [
        Figure(what=f"trim {size} messages to half their tokens", us=_median(lambda: trim(rows, wide), 500), peer=peer),
        Figure(what=f"trim {size} messages, default window", us=_median(lambda: trim(rows, default), 500), peer=peer),
    ]


def _peer(rows: list[Message], budget: int) -> Callable[[], object]:
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages
    from langchain_core.messages.utils import count_tokens_approximately

    messages: list[BaseMessage] = [
        HumanMessage(row.text) if row.role == "user" else AIMessage(row.text) for row in rows
    ]
    limit = min(budget, count_tokens_approximately(messages) // 2)
    return lambda: trim_messages(
        messages, max_tokens=limit, token_counter=count_tokens_approximately, strategy="last", start_on="human"
    )


def _counts() -> list[Figure]:
    tokenizers = Tokenizers()
    asyncio.run(tokenizers.warm())
    o200k = tokenizers.pick("o200k", "")
    texts = {
        "an English message": QUESTION[:72],
        "a mixed message": QUESTION,
        "a Chinese message": "请帮我查一下订单 8821 有没有发货，什么时候能到？" * 2,
    }
    return [
        Figure(
            what=f"count {name} (o200k beside it)",
            us=_median(lambda text=text: estimate(text), 2_000),
            peer=_median(lambda text=text: o200k.count(text), 2_000),
        )  # type: ignore[misc]
        for name, text in texts.items()
    ]


def _prompt() -> Callable[[], object]:
    rows = _rows(41)
    loaded = Loaded(session_id="s-1", window=tuple(rows[:-1]), appended=tuple(rows[-1:]))
    inputs = Inputs(
        turn_id=rows[-1].turn_id, scope_id=1, person_id=1, revision="", now_ms=0, policy=Policy(system="You are helpful."),
        frame=Frame(channel="web", conversation="r1"), loaded=loaded, tokenizer=Estimate(),
    )  # fmt: skip
    return lambda: assemble(inputs)


def _rows(size: int) -> list[Message]:
    return [
        Message(
            id=i, scope_id=1, session_id="s-1", turn_id=i // 2, event_id=i, role="assistant" if i % 2 else "user",
            text=REPLY if i % 2 else QUESTION, user="U1", channel="web", conversation="r1", chat_type="private",
            agent="helper", tokens=estimate(REPLY if i % 2 else QUESTION), low_value=i % 14 == 0 and i < size - 2,
        )
        for i in range(size - 1 + size % 2)
    ]  # fmt: skip


def _median(work: Callable[[], object], times: int) -> float:
    medians = []
    for _ in range(ROUNDS):
        spans = []
        for _ in range(times):
            started = time.perf_counter()
            work()
            spans.append(time.perf_counter() - started)
        medians.append(statistics.median(spans))
    return min(medians) * 1e6


if __name__ == "__main__":
    print(report(measure()))
