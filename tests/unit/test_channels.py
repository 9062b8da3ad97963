"""A channel's life: started within its time and again after a fault, one connection an account, ended when nobody sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from adapters.base import Address, Capabilities, Intake, Receipt
from adapters.problems import Problem
from adapters.webhook.adapter import WebhookAdapter
from config.channels.base import ChannelSettings
from config.loader import Configuration, load
from gateway.agents.demo import DemoAgent
from gateway.channels import Channel, Times
from gateway.front import http_channel
from gateway.leases import About, ProcessLeases
from gateway.live import Live, MadeAgent
from tests.fakes import FakeIntake

Act = Literal["runs", "raises", "hangs", "hangs on its way out"]


@dataclass
class Platform:
    """The accounts as their platform sees them: who is connected, and what the next connections meet."""

    folder: Path
    acts: list[Act] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    connected: int = 0
    most_connected: int = 0
    outage: asyncio.Event = field(default_factory=asyncio.Event)  # breaks every connection
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, line: str) -> None:
        self.log.append(line)
        self.changed.set()

    async def until(self, look: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not look():
                self.changed.clear()
                await self.changed.wait()


class Poller:
    """A connection of an account, with a task of its own."""

    def __init__(self, platform: Platform, *, exclusive: bool) -> None:
        self.capabilities = Capabilities(exclusive=exclusive)
        self._platform = platform

    @asynccontextmanager
    async def running(self, intake: Intake) -> AsyncIterator[None]:
        act = self._platform.acts.pop(0) if self._platform.acts else "runs"
        self._platform.note(act)
        if act == "raises":
            raise ConnectionError("401: bad token")
        if act == "hangs":
            await asyncio.Event().wait()
        self._platform.connected += 1
        self._platform.most_connected = max(self._platform.most_connected, self._platform.connected)
        try:
            async with asyncio.TaskGroup() as tasks:
                poll = tasks.create_task(self._poll())
                try:
                    yield
                    if act == "hangs on its way out":
                        await asyncio.Event().wait()
                finally:
                    poll.cancel()
        finally:
            self._platform.connected -= 1
            self._platform.note("gone")

    async def _poll(self) -> None:
        await self._platform.outage.wait()
        self._platform.outage.clear()
        raise ConnectionError("the line broke")

    def chunks(self, text: str) -> list[str]:
        return [text]

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        return Receipt()

    async def probe(self) -> None:
        """Not asked here."""


@dataclass
class House:
    """A `Live` whose channels are pollers of one platform."""

    platform: Platform
    tasks: asyncio.TaskGroup
    exclusive: bool = True
    start_s: float = 20
    starts: list[str] = field(default_factory=list)
    live: Live = field(init=False)

    def __post_init__(self) -> None:
        self.live = Live(
            configured(self.platform.folder),
            make_agent=lambda name, settings: MadeAgent(agent=DemoAgent(), settings=settings, kind="demo", model=""),
            make_adapter=lambda name, settings: Poller(self.platform, exclusive=self.exclusive),
            times=Times(start_s=self.start_s, send_s=0.2, rest_s=0.01),
            noted=lambda channel, outcome: self.starts.append(f"{channel} {outcome}"),
        )

    async def apply(self, *names: str, sync_s: int = 5) -> None:
        configuration = configured(self.platform.folder, *names, sync_s=sync_s)
        await self.live.apply(configuration, intake=FakeIntake(), tasks=self.tasks)


def configured(folder: Path, *names: str, sync_s: int = 5) -> Configuration:
    secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    lines = [f"  {name}: {{kind: webhook, sync_s: {sync_s}, secrets: [{secret}]}}\n" for name in names]
    file = folder / "clew.yaml"
    file.write_text("agents: {default: {kind: demo}}\n" + ("channels:\n" + "".join(lines) if lines else ""))
    return load(file, {})


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[Platform]:
    platform = Platform(tmp_path)
    yield platform
    assert 0 == platform.connected, "what was opened is closed at the end"


@asynccontextmanager
async def a_house(platform: Platform, *, exclusive: bool = True, start_s: float = 20) -> AsyncIterator[House]:
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        house = House(platform, tasks, exclusive=exclusive, start_s=start_s)
        yield house
        await house.live.aclose()


async def test_one_account_has_one_connection(platform: Platform) -> None:
    """A second poller of a bot is refused with 409, so the old one ends before the new one begins."""
    async with a_house(platform) as house:
        await house.apply("bot")
        first = house.live.made("bot")
        await house.apply("bot", sync_s=6)

        assert house.live.adapter("bot") is not None
        assert first is not house.live.adapter("bot")
    assert 1 == platform.most_connected
    assert ["runs", "gone", "runs", "gone"] == platform.log


async def test_an_account_that_changes_its_channel_has_one_connection(platform: Platform) -> None:
    """Renaming a channel is stopping it and starting another, in that order."""
    async with a_house(platform) as house:
        await house.apply("old-name")
        await house.apply("new-name")
        assert {"new-name": None} == house.live.channels()
    assert 1 == platform.most_connected


async def test_what_takes_two_connections_meets_no_gap(platform: Platform) -> None:
    """Where both may be there the new one begins before the old one ends (openclaw#137591)."""
    async with a_house(platform, exclusive=False) as house:
        await house.apply("hook")
        await house.apply("hook", sync_s=6)
    assert ["runs", "runs", "gone", "gone"] == platform.log


async def test_a_channel_that_fails_is_started_again(platform: Platform) -> None:
    """Once refused, twice silent, then there: meanwhile its state says why, and it can split what waits for it."""
    platform.acts = ["raises", "hangs", "hangs"]
    async with a_house(platform, start_s=0.2) as house:
        await house.apply("bot")
        assert {"bot": "ConnectionError: 401: bad token"} == house.live.channels()
        assert house.live.adapter("bot") is None
        assert house.live.made("bot") is not None
        assert 1 <= (house.live.back_s("bot") or 0) < 2
        await platform.until(lambda: len(platform.log) == 3)
        assert {"bot": "TimeoutError: did not start within 0.2 s"} == house.live.channels()
        await platform.until(lambda: house.live.adapter("bot") is not None)

        assert {"bot": None} == house.live.channels()
        assert ["bot failed"] * 3 + ["bot started"] == house.starts


async def test_a_connection_that_breaks_later_is_made_again(platform: Platform) -> None:
    """What its own task raised is told, and the next connection is a new adapter's."""
    async with a_house(platform) as house:
        await house.apply("bot")
        first = house.live.adapter("bot")
        platform.outage.set()
        await platform.until(lambda: house.starts.count("bot started") == 2)
        await asyncio.sleep(0)

        assert first is not house.live.adapter("bot")
        assert ["bot started", "bot failed", "bot started"] == house.starts


async def test_a_send_under_way_ends_on_the_channel_it_began_with(platform: Platform) -> None:
    """A change of settings waits for it; nobody else gets the old one any more."""
    async with a_house(platform) as house:
        await house.apply("bot")
        with house.live.lent("bot") as old:
            change = asyncio.create_task(house.apply("bot", sync_s=6))
            await asyncio.sleep(0.01)
            assert ["runs"] == platform.log
            assert old is not house.live.made("bot")
            with house.live.lent("bot") as none_yet:
                assert none_yet is None
        await change

        with house.live.lent("bot") as new:
            assert new is house.live.adapter("bot")
    assert ["runs", "gone", "runs", "gone"] == platform.log


async def test_a_send_that_hangs_does_not_keep_a_channel_for_ever(platform: Platform) -> None:
    """After the time of a send the old one ends anyway."""
    async with a_house(platform) as house:
        await house.apply("bot")
        with house.live.lent("bot"):
            await house.apply("bot", sync_s=6)
            assert ["runs", "gone", "runs"] == platform.log


async def test_a_change_that_is_cut_off_leaves_no_channel_running(platform: Platform) -> None:
    """The gateway stops while a change waits for a send: the old channel ends although nobody waits for it any more."""
    async with a_house(platform) as house:
        await house.apply("bot")
        with house.live.lent("bot"):
            change = asyncio.create_task(house.apply("bot", sync_s=6))
            await asyncio.sleep(0.01)
            change.cancel()
            await platform.until(lambda: platform.log == ["runs", "gone"])


async def test_ends_are_bounded_too(platform: Platform) -> None:
    """A channel that does not close is cut off; one that is just starting is not waited for."""
    platform.acts = ["hangs on its way out", "hangs"]
    async with a_house(platform, start_s=0.2) as house:
        await house.apply("bot")
        await house.apply("bot", "other")
        assert {"bot": None, "other": "TimeoutError: did not start within 0.2 s"} == house.live.channels()
    assert "gone" == platform.log[-1]


async def test_nobody_is_lent_what_is_not_there(platform: Platform) -> None:
    """An unknown name has no adapter, in no sense, and no time to come back."""
    async with a_house(platform) as house:
        with house.live.lent("bot") as none:
            assert none is None
        assert (None, None, None) == (house.live.adapter("bot"), house.live.made("bot"), house.live.back_s("bot"))


async def test_one_that_never_began_can_be_stopped(platform: Platform) -> None:
    """Stopping before the start leaves nothing to wait for."""
    settings = ChannelSettings(kind="webhook")
    channel = Channel(
        "bot",
        settings,
        lambda name, settings: Poller(platform, exclusive=True),
        times=Times(start_s=1, send_s=1, rest_s=1),
        leases=ProcessLeases(About(release=""), number=None, rest_s=1, clock_ms=lambda: 0),
        noted=lambda channel, outcome: None,
    )
    await channel.stop()
    await channel.run(FakeIntake())

    assert not channel.running


async def test_a_url_whose_channel_does_not_run_says_so(platform: Platform) -> None:
    """503, when to come again, and not a word of what is wrong inside; afterwards it is served again."""

    class Hook(WebhookAdapter):
        @asynccontextmanager
        async def running(self, intake: Intake) -> AsyncIterator[None]:
            if platform.acts:
                raise ConnectionError(platform.acts.pop())
            async with super().running(intake):
                yield
                platform.note("served")

    async with a_house(platform) as house:
        house.live = Live(
            configured(platform.folder),
            make_agent=lambda name, settings: MadeAgent(agent=DemoAgent(), settings=settings, kind="demo", model=""),
            make_adapter=lambda name, settings: Hook(name, settings=settings, members=lambda room, thread: None),  # type: ignore[arg-type]
            times=Times(start_s=1, send_s=1, rest_s=0.01),
            noted=lambda channel, outcome: platform.note(outcome),
        )
        platform.acts = ["raises"]
        await house.apply("hook")
        with pytest.raises(Problem, match="'hook' does not run now") as told:
            http_channel(house.live, "hook")
        await platform.until(lambda: "started" in platform.log)

        assert (503, "2") == (told.value.status, told.value.headers["Retry-After"])
        assert house.live.adapter("hook") is http_channel(house.live, "hook")
        assert None is http_channel(house.live, "nobody")
