"""What runs at this moment: replaced all at once, new before old, and nothing that did not change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Address, Capabilities, Intake, Receipt
from config.channels.base import ChannelSettings
from config.loader import Configuration, load
from config.settings import AgentSettings
from gateway.agent import Caller, Done
from gateway.channels import Times
from gateway.live import Live, MadeAgent
from memory.base import Context
from tests.fakes import FakeIntake


class Channel:
    """A platform's connection; notes when it is open."""

    capabilities = Capabilities()

    def __init__(self, settings: ChannelSettings, log: list[str], *, broken: bool, gate: asyncio.Event) -> None:
        self.settings = settings
        self._log = log
        self._broken = broken
        self._gate = gate

    @asynccontextmanager
    async def running(self, intake: Intake) -> AsyncIterator[None]:
        await self._gate.wait()
        if self._broken:
            raise ConnectionError("the platform says no")
        self._log.append("open")
        try:
            yield
        finally:
            self._log.append("closed")

    def chunks(self, text: str) -> list[str]:
        return [text]

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        return Receipt()

    async def probe(self) -> None:
        """Not asked here."""


class Service:
    """A model's service; notes when its connections are closed."""

    reports_lookups = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.closed = False

    async def answer(self, context: Context, *, caller: Caller, deadline: float) -> AsyncGenerator[Done, None]:
        yield Done(finish="stop")

    async def probe(self) -> None:
        """Not asked here."""

    async def aclose(self) -> None:
        self.closed = True


class House:
    """A `Live` with what it has made; a channel whose tenant is `broken` can't be opened, one whose tenant is `impossible`
    can't even be made, and all open when `gate` is set."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clew.yaml"
        self.log: list[str] = []
        self.made: list[Channel] = []
        self.services: list[Service] = []
        self.gate = asyncio.Event()
        self.gate.set()
        times = Times(start_s=20, send_s=5, rest_s=0.01)
        self.moved: list[tuple[str, str, str]] = []
        self.live = Live(
            self.settings(),
            make_agent=self._agent,
            make_adapter=self._channel,
            times=times,
            placed=lambda configuration: configuration.moved(self.moved),
            late_s=0.5,
        )

    def settings(self, hook: str = "", *, model: str = "m", others: str = "", agents: str = "") -> Configuration:
        secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
        self._file.write_text(
            f"agents: {{default: {{kind: demo, model: {model}}}, {agents}}}\n"
            f"channels:\n  hook: {{kind: webhook, secrets: [{secret}], {hook}}}\n{others}"
        )
        return load(self._file, {})

    def _agent(self, name: str, settings: AgentSettings) -> MadeAgent:
        service = Service(name)
        self.services.append(service)
        return MadeAgent(agent=service, settings=settings, kind="demo", model=settings.model)

    def _channel(self, name: str, settings: ChannelSettings) -> Channel:
        tenant = getattr(settings, "tenant", None)
        if tenant == "impossible":
            raise ValueError("cannot be made")
        channel = Channel(settings, self.log, broken=tenant == "broken", gate=self.gate)
        self.made.append(channel)
        return channel


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[tuple[House, Any]]:
    house = House(tmp_path)
    async with asyncio.TaskGroup() as tasks:

        async def apply(configuration: Configuration) -> None:
            await house.live.apply(configuration, intake=FakeIntake(), tasks=tasks)

        await apply(house.live.configuration)
        yield house, apply
        await house.live.aclose()
    assert house.log.count("open") == house.log.count("closed"), "what was opened is closed at the end"


async def test_the_new_channel_is_open_before_the_old_one_closes(house: tuple[House, Any]) -> None:
    """No message meets a gap (openclaw#137591)."""
    home, apply = house
    before = home.live.adapter("hook")
    await apply(home.settings("sync_s: 9"))
    await asyncio.sleep(0)

    assert home.live.adapter("hook") is not before
    assert ["open", "open", "closed"] == home.log


@pytest.mark.parametrize(
    "hook",
    [
        "busy: queue", "rooms: {lab: {trigger: []}}", "allow: {people: [eve]}", "limits: {per_minute: 3}",
        "memory: {window: {turns: 3}}", "language: zh", "prefix: ['!bot'], trigger: [prefix]",
    ],
)  # fmt: skip
async def test_a_layered_setting_needs_no_new_channel(hook: str, house: tuple[House, Any]) -> None:
    """Rooms, allow-lists, limits and memory are looked up at each message (openclaw#70524, openclaw#71613)."""
    home, apply = house
    await apply(changed := home.settings(hook))

    assert 1 == len(home.made)
    assert changed.revision == home.live.configuration.revision


async def test_a_channel_that_cannot_start_leaves_the_old_one(house: tuple[House, Any]) -> None:
    """Settings that don't work are worth less than those that did; the next ones are tried again."""
    home, apply = house
    first = home.live.adapter("hook")
    await apply(home.settings("tenant: broken"))
    assert first is home.live.adapter("hook")
    assert {"hook": None} == home.live.channels()
    await apply(home.settings("tenant: good"))

    assert first is not home.live.adapter("hook")
    assert ["open", "open"] == [line for line in home.log if line == "open"]


async def test_a_new_channel_that_cannot_start_is_named(house: tuple[House, Any]) -> None:
    """It takes nothing else with it, and its state says why."""
    home, apply = house
    secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    await apply(home.settings(others=f"  other: {{kind: webhook, tenant: broken, secrets: [{secret}]}}\n"))

    assert {"hook": None, "other": "ConnectionError: the platform says no"} == home.live.channels()
    assert home.live.adapter("other") is None
    assert home.live.adapter("hook") is not None


async def test_no_change_waits_for_a_platform_that_gives_no_answer(house: tuple[House, Any]) -> None:
    """A channel that is added starts on its own; what is changed meanwhile is in force at once, and the channel runs when its
    platform is back."""
    home, apply = house
    secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    more = f"  other: {{kind: webhook, secrets: [{secret}]}}\n"
    home.gate.clear()
    await apply(home.settings(others=more))
    before = home.live.channels()
    await apply(home.settings(others=more, model="new"))
    home.gate.set()
    await home.live.tried("other")

    assert {"hook": None, "other": "starting"} == before
    assert "new" == home.live.agents()["default"].model
    assert {"hook": None, "other": None} == home.live.channels()


async def test_a_removed_channel_and_agent(house: tuple[House, Any]) -> None:
    """They are gone for new events, and closed."""
    home, apply = house
    secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    more = f"  other: {{kind: webhook, secrets: [{secret}]}}\n"
    await apply(home.settings(others=more, agents="second: {kind: demo}"))
    await apply(home.settings())
    await asyncio.sleep(0)

    assert ["hook"] == list(home.live.channels())
    assert ["default"] == list(home.live.agents())
    assert ["second"] == [service.name for service in home.services if service.closed]
    assert ["open", "open", "closed"] == home.log


async def test_an_agent_is_closed_when_its_last_turn_ends(house: tuple[House, Any]) -> None:
    """Two turns keep the agent they began with; who comes later gets the new one."""
    home, apply = house
    old = home.services[0]
    async with home.live.agent("default") as one:
        async with home.live.agent("default") as two:
            await apply(home.settings(model="new"))
            assert one is two
            assert "new" == home.live.agents()["default"].model
        assert not old.closed
    assert old.closed
    async with home.live.agent("default") as three:
        assert "new" == three.model


async def test_an_unchanged_agent_stays(house: tuple[House, Any]) -> None:
    """A channel's change does not touch it; an unknown name is a KeyError."""
    home, apply = house
    await apply(home.settings("sync_s: 9"))

    assert 1 == len(home.services)
    with pytest.raises(KeyError):
        async with home.live.agent("nobody"):
            pass


async def test_a_change_is_put_in_place_in_one_moment(house: tuple[House, Any]) -> None:
    """While a changed channel still opens, settings, agents and channels are the old ones; then all are the new ones. A turn
    that met one half of a change could not be replayed."""
    home, apply = house
    old, old_channel = home.live.configuration, home.live.adapter("hook")
    home.gate.clear()
    change = asyncio.create_task(apply(new := home.settings("sync_s: 9", model="new")))
    while len(home.made) < 2:
        await asyncio.sleep(0)
    assert (old, old_channel) == (home.live.configuration, home.live.adapter("hook"))
    assert "m" == home.live.agents()["default"].model
    home.gate.set()
    await change

    assert (new, home.made[1]) == (home.live.configuration, home.live.adapter("hook"))
    assert "new" == home.live.agents()["default"].model


async def test_a_room_that_moves_while_a_change_is_put_in_place(house: tuple[House, Any]) -> None:
    """Its settings apply to its new id, although the change was made before anybody knew of that."""
    home, apply = house
    home.gate.clear()
    change = asyncio.create_task(apply(home.settings("sync_s: 9, rooms: {'-100': {busy: queue}}")))
    while len(home.made) < 2:
        await asyncio.sleep(0)
    home.moved.append(("hook", "-100", "-1001 新"))
    home.gate.set()
    await change

    assert "queue" == home.live.configuration.effective("hook", "-1001 新").busy


async def test_a_change_that_cannot_be_made_changes_nothing(house: tuple[House, Any]) -> None:
    """A fault in the middle leaves everything as it was, and nothing half-made is even opened."""
    home, apply = house
    old = home.live.configuration
    secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    more = f"  other: {{kind: webhook, tenant: impossible, secrets: [{secret}]}}\n"
    with pytest.raises(ValueError, match="cannot be made"):
        await apply(home.settings("sync_s: 9", model="new", others=more))
    await asyncio.sleep(0)

    assert (old, home.made[0]) == (home.live.configuration, home.live.adapter("hook"))
    assert "m" == home.live.agents()["default"].model
    assert ["open"] == home.log
