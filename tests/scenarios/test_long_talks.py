"""Talk longer than what a turn reads anew: on the column with Redis, the rest of it comes from there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import redis

from tests.scenarios.platforms import TELEGRAM, WAYS, Room, World, asks, shows, words, world
from tests.scenarios.stage import users

TURNS = 7


async def test_a_long_talk_is_known_whole_and_as_it_was_edited(storage: str, tmp_path: Path) -> None:
    """By each way at once: the first message, edited long after its answer, is new in the next prompt, and so is no other
    (openclaw/openclaw#28834)."""
    async with world(tmp_path, storage=storage) as there:
        rooms = {way: side.private() for way, side in there.sides.items()}
        first = dict(zip(rooms, await asyncio.gather(*map(talk, rooms.values())), strict=True))
        before = windows_in_redis(storage)
        for way, room in rooms.items():
            await room.edits(first[way], "number 0, 改过的")
        await heard(there)
        after = windows_in_redis(storage)
        await asyncio.gather(*(asks(room, f"and by {way}?") for way, room in rooms.items()))
        prompts = {words(prompt): users(prompt) for prompt in there.model.prompts}

    said = ["number 0, 改过的", *(f"number {number} 号" for number in range(1, TURNS))]
    for way in WAYS:
        assert [*said, f"and by {way}?"] == prompts[f"and by {way}?"]
    assert (len(WAYS) if "redis:" in storage else 0, 0) == (before, after)


async def talk(room: Room) -> Any:
    """Say a number of things; return what names the first."""
    first = await room.says("number 0 号")
    await shows(room, "re: number 0 号")
    for number in range(1, TURNS):
        await asks(room, f"number {number} 号")
    return first


async def heard(there: World) -> None:
    """Return once the gateway has taken all that was told: some edits are pushed beside what is said after them."""
    await there.platform.settled()
    for way in TELEGRAM:
        updates = there.telegram(way).bot.updates
        await there.tg.world.bell.until(lambda updates=updates: not updates.waiting(), timeout_s=60)


def windows_in_redis(storage: str) -> int:
    """How many conversations Redis knows, if there is one."""
    _, _, url = storage.partition("redis: ")
    if not url:
        return 0
    with redis.Redis.from_url(url) as client:
        return len(list(client.scan_iter("clew:window:*")))
