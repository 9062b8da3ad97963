"""A turn that can't be answered ends all the same, in sight, and its lane moves on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.stage import stage

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
queue: {poll_s: 0.1, attempts: 2}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"]}}"""


@pytest.mark.parametrize("table", ["messages", "outbox_replies"])
async def test_a_turn_that_always_breaks_ends_as_dead(table: str, tmp_path: Path, storage: str) -> None:
    """What can't be stored is given up after its attempts, also where not even the notice can be, and is no endless retry
    (openclaw#5951: accepted means answered, or said why not): a database that refuses is none that is away, which excuses. Once
    the store is whole, the same conversation goes on."""
    async with stage(tmp_path, BODY, storage=storage) as world:
        hook = world.hook()
        first = await hook.say("before")
        world.sql(f"ALTER TABLE {table} RENAME TO hidden")
        given_up = await hook.settled(await hook.say("while broken", mode="async"))
        world.sql(f"ALTER TABLE hidden RENAME TO {table}")
        after = await hook.say("after")

    assert "answered" == first["status"]
    assert ("dead", "gave_up") == (given_up["status"], given_up["error"]["code"])
    assert "re: after" == after["reply"]["text"]
