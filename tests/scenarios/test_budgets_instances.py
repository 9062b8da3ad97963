"""Platforms' budgets with three gateways on one database: each channel has one sender, and nobody is called too often."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp

from tests.emulators.telegram.rooms import open_topic
from tests.scenarios.platforms import Room, SlackSide, TelegramRoom, TelegramSide, World, shows, words, world
from tests.scenarios.world import Gateway, Prompt, gateway, rows

BODY = """queue: {lanes: 6, poll_s: 0.2}
"""
WAYS = ("slack-socket", "telegram-polling")


async def slowly(prompt: Prompt) -> AsyncIterator[str]:
    """An answer in pieces, so that it is shown while it is made."""

    async def pieces() -> AsyncIterator[str]:
        yield f"re: {words(prompt)}"
        for piece in (" 一", " 二", " 三", "!"):
            await asyncio.sleep(0.8)
            yield piece

    return pieces()


async def sent(session: aiohttp.ClientSession, where: Gateway) -> set[str]:
    """Return the channels of which the gateway has sent something."""
    async with session.get(f"{where.url}/metrics") as response:
        text = await response.text()
    return {
        name
        for line in text.splitlines()
        if line.startswith("clew_sends_total{") and 'outcome="sent"' in line and float(line.split()[-1])
        for name in re.findall(r'channel="([^"]+)"', line)
    }


def broken(there: World) -> list[str]:
    """Return the platforms' limits that were broken."""
    slack = there.sides["slack-socket"]
    assert isinstance(slack, SlackSide)
    return [f"{one.rule} {one.scope}" for one in there.tg.violations] + [str(one) for one in slack.here.violations]


def forum(side: TelegramSide, topics: int) -> list[TelegramRoom]:
    """A group in which people talk in several topics at once: turns of their own, in one budget."""
    first = side.group("群", "Cem")
    (cem,) = first.people.values()
    others = (open_topic(first.chat, f"题 {number}", by=cem) for number in range(1, topics))
    return [first, *(TelegramRoom(first.chat, first.bot, first.people, topic) for topic in others)]


async def test_no_platform_is_called_too_often(
    tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """People talk in many places at once (openclaw#50866: one limiter per token). Turns run on all three, and are shown there as
    they grow, six of them in one group that bears twenty calls a minute, but each channel's replies go out from one. It is
    stopped in good order, and what waits is sent by another."""
    async with AsyncExitStack() as stack:
        there = await stack.enter_async_context(world(tmp_path, ways=WAYS, storage=postgres_url, body=BODY))
        others = [await stack.enter_async_context(gateway(there.config)) for _ in range(2)]
        gateways = [there.gateway, *others]
        there.play(slowly)
        there.tg.flood.enforce()
        slack, telegram = there.slack("slack-socket"), there.telegram()
        rooms: list[Room] = [
            *forum(telegram, 6),
            *(slack.private(f"Ann {number}") for number in range(4)),
            *(telegram.private(f"Bob {number}") for number in range(4)),
        ]
        for number, room in enumerate(rooms):
            await room.says(f"first 第一 {number}")
        for number, room in enumerate(rooms):  # one after the other: each has its patience
            await answered(room, f"first 第一 {number}")
        by = [await sent(session, one) for one in gateways]
        held = dict(rows(postgres_url, "SELECT name, owner FROM inbox_leases WHERE name LIKE 'send:%'"))
        (first,) = [one for one, channels in zip(gateways, by, strict=True) if "telegram-polling" in channels]
        assert 0 == await first.stop()
        await rooms[-1].says("after that")
        await shows(rooms[-1], "re: after that 一 二 三!")
        ran = [sum('"turn replied"' in line for line in one.log) for one in gateways]

    assert {f"send:{way}" for way in WAYS} == set(held)
    assert sorted(WAYS) == sorted(name for channels in by for name in channels), "each from one"
    assert all(ran), ran
    assert [] == broken(there)


async def answered(room: Room, text: str) -> None:
    """Wait until an answer stands there that holds the text: messages that wait together are answered together."""
    await room.until(lambda replies: any(text in reply and reply.endswith("!") for reply in replies))
