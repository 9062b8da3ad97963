"""Many people talking to one gateway at once, and how much memory its process has."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from tests.scenarios.stage import Stage

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 100000}}}
"""
PEOPLE, PLACES, AT_ONCE = 200, 40, 50


def resident_kb(pid: int) -> int:
    """Resident memory of a process that no file stands behind, in kB: libraries paged in late are no growth."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(next(line for line in status.splitlines() if line.startswith("RssAnon")).split()[1])


async def talk(world: Stage, turns: Iterable[int]) -> list[str]:
    """Say one thing for each number, `AT_ONCE` at a time, half of it in groups; return the turns' ids. All are answered."""
    hook, numbers, ids = world.hook(), iter(turns), list[str]()

    async def one() -> None:
        for number in numbers:
            person = number % PEOPLE
            turn = await hook.say(
                f"number {number} 第 {number} 句", sender=f"p{person}", conversation=f"c{person % PLACES}",
                chat_type="group" if person % 2 else "private",
            )  # fmt: skip
            assert "answered" == turn["status"], turn
            ids.append(turn["turn"])

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(one())
    world.model.prompts.clear()
    return ids
