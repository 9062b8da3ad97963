"""Of three gateways the one that sends a bot's replies is killed, hangs, or can't reach the platform, in the middle of it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from tests.chaos.proxy import Address, Proxy
from tests.emulators.telegram.faults import throttled
from tests.emulators.telegram.flood import GROUP, counted
from tests.emulators.telegram.rooms import open_topic
from tests.scenarios.platforms import Room, TelegramRoom, World, asks, echo, shows, words, world
from tests.scenarios.test_receiving_instances import ENDS, POLLING, QUICK, Three, freeze, three
from tests.scenarios.world import Answer, Gateway, Prompt, gateway, rows

LAST_SEEN = GROUP.count - 8
"""Calls in the group before its sender is lost."""


async def answers(prompt: Prompt) -> Answer:
    """In private in pieces, so that it is shown while it is made."""

    async def pieces() -> AsyncIterator[str]:
        yield f"re: {words(prompt)}"
        await asyncio.sleep(0.2)
        yield "!"

    return echo(prompt) if "群" in words(prompt) else pieces()


def asked(world: World, room: Room) -> int:
    """How often the platform was asked to show something in the room."""
    chat = str(room.chat.id)  # type: ignore[attr-defined]
    return sum(counted(call.method) and str(call.params.get("chat_id")) == chat for call in world.tg.calls)


def broken(world: World) -> list[str]:
    """The limits that were broken, and by how much."""
    return [f"{one.scope}: {one.detail}" for one in world.tg.violations if one.rule in ("limit", "retry_after")]


def doubtful(there: Three) -> set[tuple[str, str]]:
    """What is labelled as perhaps sent, by room."""
    found = rows(there.storage, "SELECT address, text FROM outbox_chunks WHERE state = 'unknown'")
    return {(msgspec.msgpack.decode(bytes(address))["room"], text) for address, text in found}


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
async def test_a_lost_sender_costs_no_reply_and_breaks_no_limit(
    tmp_path: Path, postgres_url: str, end: Callable[[Gateway], object]
) -> None:
    """Nothing is lost, nothing comes twice, nothing out of order; and the next one knows what was sent in the last minute (a
    platform that limits takes no notice of who of us it was; openclaw#50866)."""
    async with three(tmp_path, postgres_url, POLLING, more=", busy: queue") as there:
        there.world.tg.flood.enforce()
        there.world.play(answers)
        side = there.world.telegram()
        rooms, group = [side.private(f"Ann {number}") for number in range(10)], side.group("群", "Cem")
        while asked(there.world, group) < LAST_SEEN:
            await asks(group, f"群 {asked(there.world, group)}")
        for number in range(3):
            for room in rooms:
                await room.says(f"第 {number} 👋")
            await group.says(f"群, again {number:02}")
        for number in range(3, 12):
            await group.says(f"群, again {number:02}")
        await rooms[0].until(lambda replies: "re: 第 0 👋!" in replies)
        (sender,) = there.holders(f"send:{POLLING}")
        await end(sender)  # type: ignore[misc]

        await there.until(lambda: there.holders(f"send:{POLLING}") not in ([], [sender]))
        wanted = [f"re: 第 {number} 👋!" for number in range(3)]
        await asyncio.gather(*(room.until(lambda replies: wanted[-1] in replies) for room in rooms))
        if end is freeze:
            sender.tell(signal.SIGCONT)
            await sender.logged("given up for dead; joining anew")
        await asks(side.private("Bob"), "群 later")
        labelled = doubtful(there)
        told = {str(room.chat.id): room.replies() for room in rooms}
        pieces = "SELECT state FROM outbox_chunks WHERE text LIKE %s"
        await there.until(lambda: len(rows(postgres_url, pieces, "re: 群, again%")) == 12)  # all are answered
        states = {state for (state,) in rows(postgres_url, pieces, "re: 群, again%")}

    assert [] == broken(there.world)
    for place, replies in told.items():
        assert len(replies) == len(set(replies)), "none twice"
        # What was on its way when its sender was frozen comes when it wakes.
        sure = [reply for reply in replies if (place, reply) not in labelled]
        assert sure == sorted(sure), "in order"
        assert {text for text in wanted if (place, text) not in labelled} <= set(replies) <= set(wanted)
    (ours,) = [[text for text in group.replies() if "again" in text]]
    assert ours == sorted(set(ours))
    assert states <= {"sent", "unknown", "waiting", "sending"}, "what the group can't take yet waits"


async def test_a_wait_that_a_lost_sender_was_asked_for_is_everybodys(tmp_path: Path, postgres_url: str) -> None:
    """A group was asked to wait and its sender killed; the next one has something due at once for another topic of it."""
    async with three(tmp_path, postgres_url, POLLING) as there:
        side = there.world.telegram()
        group = side.group("群", "Cem")
        (cem,) = group.people.values()
        topic = TelegramRoom(group.chat, group.bot, group.people, open_topic(group.chat, "题", by=cem))
        await asks(group, "one")
        side.tg.faults.plan("sendMessage", throttled(12))
        await group.says("第二 👋")
        (sender,) = there.holders(f"send:{POLLING}")
        asked_to_wait = "SELECT 1 FROM outbox_chunks WHERE error LIKE '%wait%' AND state = 'waiting'"
        await there.until(lambda: bool(rows(postgres_url, asked_to_wait)))
        await sender.kill()
        await there.until(lambda: there.holders(f"send:{POLLING}") not in ([], [sender]))
        await asks(topic, "three")
        await shows(group, "re: 第二 👋")

    assert [] == broken(there.world)


async def test_a_sender_that_reaches_no_platform_lets_another_send(tmp_path: Path, postgres_url: str) -> None:
    """Its channel runs, its way out is broken: what it holds goes to who can, in order, and comes back to nobody by itself."""
    targets, other = list[Address](), tmp_path / "other" / "clew.yaml"

    def behind_the_way(there: World) -> None:
        """Let the first gateway alone go by the way that breaks."""
        text, platform = there.config.read_text(), urlsplit(there.tg.url)
        targets.append((platform.hostname or "", platform.port or 0))
        other.parent.mkdir()
        other.write_text(text)
        there.config.write_text(text.replace(there.tg.url, f"http://127.0.0.1:{way.port}"))

    async with AsyncExitStack() as stack:
        breaks = await stack.enter_async_context(AsyncExitStack())
        way = await breaks.enter_async_context(Proxy(lambda: targets).running())
        there = await stack.enter_async_context(
            world(
                tmp_path,
                ways=(POLLING,),
                storage=postgres_url,
                body=QUICK,
                more=", busy: queue",
                prepare=behind_the_way,
            )
        )
        others = [await stack.enter_async_context(gateway(other)) for _ in range(2)]
        three = Three(there, [there.gateway, *others], postgres_url)
        rooms = [there.telegram().private(f"Ann {number}") for number in range(3)]
        await asks(rooms[0], "one")
        assert [there.gateway] == three.holders(f"send:{POLLING}")
        await breaks.aclose()  # whoever connects is refused
        for room in rooms:
            await room.says("第二 👋")
            await room.says("three")
        await asyncio.gather(*(shows(room, "re: 第二 👋") for room in rooms))
        await asks(rooms[0], "four")
        (sender,) = three.holders(f"send:{POLLING}")
        told = [room.replies() for room in rooms]

    assert sender is not there.gateway
    assert ["re: one", "re: 第二 👋", "re: three", "re: four"] == told[0]
    assert [["re: 第二 👋", "re: three"]] * 2 == told[1:]
    assert "sending is handed on" in "".join(there.gateway.log)
