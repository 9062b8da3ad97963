"""Three gateways on one PostgreSQL, bots that bear one poller and apps with two sockets: who receives, and who follows."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from tests.scenarios.platforms import Room, World, asks, shows, world
from tests.scenarios.world import Gateway, gateway, rows

POLLING, SOCKET = "telegram-polling", "slack-socket"
QUICK = "queue: {poll_s: 0.2, lease_s: 2}\nretention: {every_s: 1}\n"


@dataclass
class Three:
    world: World
    gateways: list[Gateway]
    storage: str

    def holders(self, name: str) -> list[Gateway]:
        """Who holds leases of this name."""
        found = rows(
            self.storage,
            "SELECT i.host FROM inbox_leases l JOIN inbox_instances i ON i.id = l.owner WHERE l.name LIKE %s ORDER BY l.name",
            f"{name}%",
        )
        return [next(one for one in self.gateways if host.endswith(f"/{one.pid}")) for (host,) in found]

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until the database says so; nothing tells when."""
        async with asyncio.timeout(40):
            while not true():
                await asyncio.sleep(0.05)


@asynccontextmanager
async def three(folder: Path, storage: str, *ways: str, more: str = "") -> AsyncIterator[Three]:
    async with AsyncExitStack() as stack:
        there = await stack.enter_async_context(world(folder, ways=ways, storage=storage, body=QUICK, more=more))
        others = [await stack.enter_async_context(gateway(there.config)) for _ in range(2)]
        yield Three(there, [there.gateway, *others], storage)


async def kill(one: Gateway) -> None:
    await one.kill()


async def freeze(one: Gateway) -> None:
    one.tell(signal.SIGSTOP)


ENDS = [kill, freeze]


def once(room: Room, *texts: str) -> None:
    """Each was answered, and answered once."""
    assert {f"re: {text}": 1 for text in texts} == {reply: room.replies().count(reply) for reply in room.replies()}


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
async def test_one_polls_and_another_follows(
    tmp_path: Path, postgres_url: str, end: Callable[[Gateway], object]
) -> None:
    """Whatever becomes of the poller: no update is lost or answered twice, and nobody polls beside it (aiogram/aiogram#1401)."""
    async with three(tmp_path, postgres_url, POLLING) as there:
        room = there.world.telegram().private("Ann")
        await asks(room, "一号 👋")
        (poller,) = there.holders(f"channel:{POLLING}")
        await end(poller)  # type: ignore[misc]
        await room.says("two")
        await there.until(lambda: there.holders(f"channel:{POLLING}") not in ([], [poller]))
        await shows(room, "re: two")
        if end is freeze:
            poller.tell(signal.SIGCONT)
        await asks(room, "три")

        once(room, "一号 👋", "two", "три")
        for one in there.gateways:
            assert one is poller or not [line for line in one.log if "another program takes" in line]
        assert poller not in there.holders(f"channel:{POLLING}")


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
async def test_two_hold_sockets_and_the_third_follows(
    tmp_path: Path, postgres_url: str, end: Callable[[Gateway], object]
) -> None:
    """One socket that is lost leaves no gap, and whoever waits takes its place (platform-facts 1.1)."""
    async with three(tmp_path, postgres_url, SOCKET) as there:
        side, room = there.world.slack(SOCKET), there.world.slack(SOCKET).private("Ann")
        await side.app.sockets.connected(2)
        await asks(room, "one")
        former, _other = there.holders(f"channel:{SOCKET}")
        await end(former)  # type: ignore[misc]
        await room.says("第二")
        await there.until(
            lambda: (
                len(set(there.holders(f"channel:{SOCKET}"))) == 2 and former not in there.holders(f"channel:{SOCKET}")
            )
        )
        if end is freeze:
            former.tell(signal.SIGCONT)
        await shows(room, "re: 第二")
        await side.app.sockets.connected(2)
        await asks(room, "three")

        once(room, "one", "第二", "three")


@pytest.mark.parametrize("way", [POLLING, SOCKET])
async def test_all_are_started_anew_while_people_talk(tmp_path: Path, postgres_url: str, way: str) -> None:
    """One after the other, as in a roll-out: who stops lets others receive first, so nothing waits for who is to come."""
    async with three(tmp_path, postgres_url, way) as there:
        room, texts = there.world.sides[way].private("Ann"), [f"第{number}句" for number in range(12)]

        async def talk() -> None:
            for text in texts:
                await asks(room, text)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(talk())
            for one in there.gateways:
                assert 0 == await one.stop()
                await one.start()

        once(room, *texts)


async def test_each_job_runs_on_one_of_three(tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession) -> None:
    """`/readyz` counts the instances, metrics tell which one receives, ids are of three numbers, and a job has one place."""
    async with three(tmp_path, postgres_url, POLLING) as there:
        jobs = {"job:counts", "job:erasures", "job:links", "job:retention"}
        await there.until(
            lambda: (
                {name for (name,) in rows(postgres_url, "SELECT name FROM inbox_leases WHERE owner IS NOT NULL")}
                >= jobs
            )
        )
        (numbers,) = rows(postgres_url, "SELECT count(DISTINCT number) FROM inbox_instances")[0]
        assert 3 == numbers
        receiving, sending = [], []
        for one in there.gateways:
            async with session.get(f"{one.url}/readyz") as answer:
                ready = await answer.json()
            assert (200, 3, "ok") == (answer.status, ready["instances"], ready["checks"][f"channel {POLLING}"])
            async with session.get(f"{one.url}/metrics") as answer:
                told = await answer.text()
            receiving += [line[-3:] for line in told.splitlines() if line.startswith("clew_channel_receiving{")]
            sending += [line[-3:] for line in told.splitlines() if line.startswith("clew_channel_sending{")]
            assert "clew_instances 3.0" in told
        assert ["0.0", "0.0", "1.0"] == sorted(receiving) == sorted(sending)


async def test_an_instance_with_another_file_is_named(
    tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """A file that was changed on one machine only; what is the machine's own, as its port, is no difference."""
    async with world(tmp_path, ways=(POLLING,), storage=postgres_url, body=QUICK) as there:
        text = there.config.read_text()
        for folder, limit in (("alike", 1000), ("不同", 7)):
            file = tmp_path / folder / there.config.name
            file.parent.mkdir()
            file.write_text(text.replace("per_minute: 1000", f"per_minute: {limit}"))
        async with gateway(tmp_path / "alike" / there.config.name):
            assert not {"instances", "releases"} & set(await warned(session, there.gateway, postgres_url, of=2))
        async with gateway(tmp_path / "不同" / there.config.name) as other:
            told = await warned(session, there.gateway, postgres_url, of=2)
            assert f"/{other.pid}: give all the same file" in told["instances"]


async def warned(session: aiohttp.ClientSession, one: Gateway, storage: str, *, of: int) -> dict[str, str]:
    """What `/readyz` warns of, once each instance has told its settings."""
    async with asyncio.timeout(40):
        while [(of,)] != rows(storage, "SELECT count(settings) FROM inbox_instances"):
            await asyncio.sleep(0.05)
        while True:
            async with session.get(f"{one.url}/readyz") as answer:
                told = await answer.json()
            if told["instances"] == of:
                return dict(told["warnings"])


async def test_a_number_that_runs_already_is_refused_with_where(tmp_path: Path, postgres_url: str) -> None:
    """A copied file with `server.instance` in it starts once."""
    async with world(tmp_path, ways=(POLLING,), storage=postgres_url, server="instance: 5") as there:
        second = Gateway(there.config, there.gateway.environ)
        with pytest.raises(AssertionError):
            await second.start()
        assert 1 == await second.over()
        await second.kill()

        (told,) = [line for line in second.log if "can't go on" in line]
        assert "server.instance: 5 is taken by the instance on" in told
        assert f"/{there.gateway.pid}" in told
