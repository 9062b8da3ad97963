"""The run: batches of bent input at each door, and behind each batch a good message that has to be answered.

What is held against it: a status of 500 and more (503 only with `Retry-After`), no answer within the limit, a gateway that is
gone, a good message without an answer, an acknowledgement without its row, a line of level error in the log, growing memory.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import aiohttp

from tests.attacks.fuzz import seeds
from tests.attacks.fuzz.cases import Kind, chosen
from tests.attacks.fuzz.others import Told
from tests.attacks.fuzz.place import SHARES, There
from tests.attacks.fuzz.targets import HttpTarget, Outcome, Target

AT_ONCE = 6
BATCH = 40
GROWN_MB = 150
"""Megabytes that the process may be greater at the end than after its first batches."""

IGNORED = re.compile(r'"event":"(?:event ignored|update ignored|event came again|envelope is malformed)"')
EXPECTED_ERRORS = ("send given up",)
"""Events of level error that are no fault: the rooms that are made up are nowhere."""


@dataclass
class Report:
    """What was found, and what was done."""

    seed: int
    done: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    acknowledged: int = 0
    stored: int = 0
    ignored: int = 0
    memory_mb: tuple[int, int] = (0, 0)

    def told(self) -> str:
        lines = [f"seed {self.seed}: {sum(self.done.values())} kinds, {len(self.faults)} faults"]
        lines += [f"  {count:6} {name}" for name, count in sorted(self.done.items())]
        lines.append(f"  statuses: {dict(sorted(self.statuses.items()))}")
        lines.append(
            f"  acknowledged {self.acknowledged}, of these stored {self.stored}, nothing for us {self.ignored}"
        )
        lines.append("  memory of the gateway: {} MB at first, {} MB at the end".format(*self.memory_mb))
        return "\n".join([*lines, *(f"FAULT {fault}" for fault in self.faults)])


async def run(
    there: There,
    *,
    count: int,
    seed: int,
    only: Sequence[str] = (),
    part: tuple[int, int] = (0, 1),
    report: Callable[[str], None] = lambda _: None,
) -> Report:
    """Try `count` kinds, in their shares; `only` at the targets of these names. Of them the `part`: which one, of how many."""
    made = Report(seed)
    rng = random.Random(seed)
    wanted = [target for target in there.targets if not only or target.name in only]
    whole = sum(SHARES[target.name] for target in wanted)
    before_log = len(there.world.gateway.log)
    for target in wanted:
        share = math.ceil(count * SHARES[target.name] / whole)
        payloads = target.seeds()
        often = [name for name, tree in payloads.items() if seeds.says_something(tree)]
        every = chosen(target.name, payloads, of=target.of, count=share, rng=rng, often=often)
        tried = every[part[0] :: part[1]]
        for start in range(0, len(tried), BATCH):
            await _batch(there, target, tried[start : start + BATCH], made, rng)
            if not there.world.gateway.alive:
                made.faults.append(f"the gateway is gone behind {target.name} {start}: {there.world.gateway.log[-3:]}")
                return made
            if made.memory_mb[0] == 0 and sum(made.done.values()) >= count / 10:
                made.memory_mb = (there.memory_mb(), 0)
        report(f"{target.name}: {made.done[target.name]} kinds, {len(made.faults)} faults so far")
    made.memory_mb = (made.memory_mb[0], there.memory_mb())
    if made.memory_mb[1] - made.memory_mb[0] > GROWN_MB:
        made.faults.append(f"memory grew from {made.memory_mb[0]} to {made.memory_mb[1]} MB")
    made.faults += _errors(there.world.gateway.log[before_log:])
    return made


async def _batch(there: There, target: Target, batch: Sequence[Kind], made: Report, rng: random.Random) -> None:
    channel = there.channels.get(target.name, "")
    rows, lines = there.rows(channel), len(there.world.gateway.log)
    hands = asyncio.Semaphore(AT_ONCE if isinstance(target, HttpTarget) else 1)
    first = sum(made.done.values())

    async def one(place: int, kind: Kind) -> Outcome:
        async with hands:
            return await target.hand_in(
                kind, made.seed % 1000 * 10_000 + first + place, random.Random(f"{made.seed} {kind}")
            )

    outcomes = await asyncio.gather(*(one(place, kind) for place, kind in enumerate(batch)))
    taken = Taken(batch, outcomes, stored=there.rows(channel) - rows)
    made.done[target.name] += len(batch)
    made.statuses.update(outcome.status for outcome in outcomes if outcome.status)
    made.faults += [f"{kind}: {outcome.fault}" for kind, outcome in zip(batch, outcomes, strict=True) if outcome.fault]
    if there.world.gateway.alive:
        try:
            async with asyncio.timeout(100):
                await there.good[target.name]()
        except (AssertionError, TimeoutError, OSError, aiohttp.ClientError) as exc:
            told = f"{type(exc).__name__} {exc}"
            made.faults.append(f"{target.name}: no answer to a good message behind {batch[-1]}: {told}")
    if isinstance(target, Told):  # what came before the good message is dealt with by now
        taken = Taken(batch, outcomes, stored=there.rows(channel) - rows, count=target.acknowledged())
    if channel:
        _accounts(there, target, taken, made, lines=there.world.gateway.log[lines:])


class Taken:
    """What of a batch was acknowledged: `count` of them; None: as the outcomes say. `stored`: the channel's new rows."""

    def __init__(
        self, batch: Sequence[Kind], outcomes: Sequence[Outcome], *, stored: int, count: int | None = None
    ) -> None:
        self.each = [(kind, outcome) for kind, outcome in zip(batch, outcomes, strict=True) if outcome.taken]
        self.count = len(self.each) if count is None else count
        self.stored = stored
        self.batch = batch


def _accounts(there: There, target: Target, taken: Taken, made: Report, *, lines: Sequence[str]) -> None:
    """Each acknowledged one has its row, or a line of the log that says by which rule it is nothing for us, or that it came
    before."""
    made.acknowledged += taken.count
    if any(outcome.turn is not None for _, outcome in taken.each):
        for kind, outcome in taken.each:
            found = there.stage.rows("SELECT 1 FROM inbox_events WHERE id = ?", outcome.turn or 0)
            made.stored += len(found)
            if outcome.turn is not None and not found:
                made.faults.append(f"{kind}: acknowledged as turn {outcome.turn}, which is not there")
        return
    of_it = f'"channel":"{there.channels[target.name]}"'
    ignored = sum(bool(IGNORED.search(line)) for line in lines if of_it in line)
    made.stored += taken.stored
    made.ignored += ignored
    if taken.count > taken.stored + ignored:
        names = "; ".join(str(kind) for kind in taken.batch)
        told = f"{taken.count} acknowledged, {taken.stored} stored, {ignored} ignored"
        made.faults.append(f"{target.name}: {told}: {names[:3000]}")


def _errors(lines: Sequence[str]) -> list[str]:
    """Return what the log calls an error, each kind once."""
    found: Counter[str] = Counter()
    sample: dict[str, str] = {}
    for line in lines:
        if '"level":"error"' not in line:
            continue
        try:
            told = json.loads(line)
        except ValueError:
            told = {"event": line[:200]}
        event = str(told.get("event"))
        if event not in EXPECTED_ERRORS:
            found[event] += 1
            sample[event] = line[:1500]
    return [f"log: {event} ({count} times): {sample[event]}" for event, count in found.items()]
