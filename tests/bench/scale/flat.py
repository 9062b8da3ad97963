"""What a turn's memory costs when much has been said: 100,000 messages in its conversation, 1,000,000 in the store.

First the store's part, as in goal M4 of engines.md B.1 (at most 1.15 times): the question is stored and window, summary, facts
and profile come back, then the reply is stored. Then the memory core's whole part: the same, with what recall finds by the words
of the question, and the prompt. Learning comes after the answer and is measured by itself.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field

from memory.base import Load, Owner, SessionRule
from memory.key import ConversationKey
from tests.bench.consumption import server_cpu_s
from tests.bench.core import Core, opened
from tests.bench.scale.cluster import percentile
from tests.bench.scale.filler import Talk, fill, session_of
from tests.bench.stores import PAGE, conversation_turn
from tests.bench.tables import Cell, Table, spread
from tests.contracts.columns import PostgresColumn
from tests.services import Postgres, running_postgres

SMALL, LONG = 100, 100_000
FEW, MANY = 4_000, 1_000_000
ROUNDS, BLOCK = 6, 60
LEARNING = "Learning from a turn, after its answer, by rules: {} ms."
QUESTION = "is lampak like orderbl, and where is tramcm of bluedn? 灯还亮吗"


@dataclass(slots=True)
class Spent:
    """What turns took, in ms: each by the clock, and the CPU of a turn in each block, here and in the server."""

    turns: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Subject:
    """One conversation in one database, and what its turns took."""

    name: str
    in_store: int
    core: Core
    talk: Talk
    stored: Spent = field(default_factory=lambda: Spent())
    whole: Spent = field(default_factory=lambda: Spent())
    learning_ms: list[float] = field(default_factory=list)  # of a block, a turn


async def measure(quick: bool) -> AsyncIterator[Table]:
    long, many, rounds, block = (2_000, 10_000, 1, 20) if quick else (LONG, MANY, ROUNDS, BLOCK)
    with running_postgres() as server, server.database() as young, server.database() as old:
        async with AsyncExitStack() as stack:
            cores = [await stack.enter_async_context(opened(PostgresColumn(url))) for url in (young, old)]
            small = await _talk(cores[0], "small", SMALL)
            also_small, huge = await _talk(cores[1], "small", SMALL), await _talk(cores[1], "huge", long)
            fill(young, [small], others=FEW)
            began = time.monotonic()
            fill(old, [also_small, huge], others=many)
            filled_s = time.monotonic() - began
            subjects = [
                Subject("a short conversation", FEW, cores[0], small),
                Subject("a short conversation", many, cores[1], also_small),
                Subject("a long conversation", many + long, cores[1], huge),
            ]
            for number in range(rounds + 1):
                for subject in subjects:
                    await _block(server, subject, block, warm=number == 0)
    filled = f"Filled by COPY in {filled_s:.0f} s, with the terms that recall finds messages by."
    yield _table("the store's part of a turn on PostgreSQL, taken in turns (M4)", subjects, "stored", filled)
    yield _table("the memory core's part of a turn, recall by words included", subjects, "whole", LEARNING.format(
        ", ".join(f"{_middle(subject.learning_ms):.1f}" for subject in subjects)
    ))  # fmt: skip


def _table(title: str, subjects: list[Subject], part: str, note: str) -> Table:
    rows: list[list[Cell]] = []
    base: Spent = getattr(subjects[0], part)
    for subject in subjects:
        spent: Spent = getattr(subject, part)
        p50, ours, theirs = _middle(spent.turns), _middle(spent.cpu), _middle(spent.server)
        rows.append(
            [
                subject.name, subject.talk.messages, subject.in_store, p50, p50 / _middle(base.turns),
                percentile(spent.turns, 99), spread(spent.cpu), ours / _middle(base.cpu), spread(spent.server),
                theirs / _middle(base.server),
            ]
        )  # fmt: skip
    return Table(
        title=title,
        columns=(
            "conversation", "its messages", "messages in the store", "p50 ms", "x of the first", "p99 ms",
            "CPU ms a turn [least..most of blocks]", "x", "PostgreSQL's CPU ms", "x",
        ),
        rows=rows,
        notes=(note,),
        raw={f"{subject.name}, {subject.in_store}": asdict(getattr(subject, part)) for subject in subjects},
    )  # fmt: skip


async def _talk(core: Core, name: str, messages: int) -> Talk:
    key = ConversationKey(user=name, channel="web", room=name, thread=None, chat_type="private", agent="a")
    return Talk(key, 10**15 + messages, await core.person(name), messages)


async def _block(server: Postgres, subject: Subject, turns: int, *, warm: bool) -> None:
    core, talk = subject.core, subject.talk
    session = SessionRule(fresh_id=session_of(talk), idle_ms=10**12)
    owner = Owner(scope_id=talk.scope_id, person_id=talk.person_id, namespace="shared", chat_type="private")

    async def stored() -> None:
        number = core.number()
        question, reply = conversation_turn(number, talk.key)
        wish = Load(owner=owner, now_ms=core.clock(), page=PAGE, profile=3)
        await core.store.append_and_load(talk.scope_id, [question], wish, turn_id=number, session=session, fence=1)
        await core.store.append(talk.scope_id, [reply], turn_id=number, session=session, now_ms=core.clock(), fence=1)

    async def whole() -> None:
        await core.say(talk.key, QUESTION, person=talk.person_id, name="Ada")

    await _timed(server, stored, turns, Spent() if warm else subject.stored)
    await _timed(server, whole, turns, Spent() if warm else subject.whole)
    began = time.perf_counter()
    await core.learn()
    if not warm:
        subject.learning_ms.append((time.perf_counter() - began) * 1000 / turns)


async def _timed(server: Postgres, turn: Callable[[], Awaitable[None]], turns: int, spent: Spent) -> None:
    cpu, theirs = time.process_time(), server_cpu_s(server)
    for _ in range(turns):
        began = time.perf_counter()
        await turn()
        spent.turns.append((time.perf_counter() - began) * 1000)
    spent.cpu.append((time.process_time() - cpu) * 1000 / turns)
    spent.server.append((server_cpu_s(server) - theirs) * 1000 / turns)


def _middle(values: list[float]) -> float:
    return statistics.median(values)
