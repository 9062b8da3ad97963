"""Readiness: each part by name, each within its time, and traffic only where somebody can answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.base import Address, Call, Capabilities, Rate
from config.loader import load
from config.settings import AgentSettings
from gateway.agent import Caller, Done
from gateway.channels import Times
from gateway.errors import AgentRefused, AgentUnavailable
from gateway.health import Health, PassedOver
from gateway.inbox.base import NewEvent
from gateway.inbox.sqlite import SqliteInbox
from gateway.leases import About, Instance, Leases, ProcessLeases
from gateway.live import Live, MadeAgent
from memory.base import Context
from memory.ids import Ids, now_ms
from memory.stores.sqlite import SqliteStore
from tests.fakes import FakeIntake, QuietChannel
from tests.scenarios.world import locked


class Service:
    """A model's service that answers a probe as it is told; counts how often it was asked."""

    reports_lookups = False

    def __init__(self) -> None:
        self.fault: Exception | None = None
        self.hangs = False
        self.asked = 0

    async def answer(self, context: Context, *, caller: Caller, deadline: float) -> AsyncGenerator[Done, None]:
        yield Done(finish="stop")

    async def probe(self) -> None:
        self.asked += 1
        if self.hangs:
            await asyncio.Event().wait()
        if self.fault is not None:
            raise self.fault

    async def aclose(self) -> None:
        """Nothing is open."""


class House:
    """A health over real stores and two services, `good` and `other`. `failing`: what is wrong with the embedder."""

    failing: str | None = None

    def __init__(self, health: Health, inbox: SqliteInbox, services: dict[str, Service], path: Path) -> None:
        self.health = health
        self.inbox = inbox
        self.services = services
        self.path = path


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with opened(tmp_path) as house:
        yield house


@asynccontextmanager
async def opened(
    folder: Path,
    *,
    channel: QuietChannel | None = None,
    leases: Leases | None = None,
    clock_s: Callable[[], float] = time.monotonic,
) -> AsyncIterator[House]:
    settings = folder / "clew.yaml"
    hook = "\nchannels: {hook: {kind: webhook, secrets: [whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=]}}"
    settings.write_text(
        "agents: {good: {connect_s: 0.05}, other: {connect_s: 0.05}}\ndefaults: {agent: good}"
        + (hook if channel else "")
    )
    services: dict[str, Service] = {}

    def make(name: str, settings: AgentSettings) -> MadeAgent:
        services[name] = Service()
        return MadeAgent(agent=services[name], settings=settings, kind="demo", model="")

    configuration = load(settings, {})
    times = Times(start_s=20, send_s=5, rest_s=1)
    live = Live(configuration, make_agent=make, make_adapter=lambda name, settings: channel, times=times)  # type: ignore[arg-type, return-value]
    path, turn = folder / "c.db", asyncio.Lock()
    async with (
        SqliteStore(path, ids=Ids(1), write_turn=turn, timeout_s=0.2) as store,
        SqliteInbox(path, write_turn=turn, timeout_s=0.2, lease_s=9, poll_s=0.05, accept_max=100) as inbox,
        asyncio.TaskGroup() as tasks,
    ):
        await live.apply(configuration, intake=FakeIntake(), tasks=tasks)
        health = Health(
            store=store,
            inbox=inbox,
            live=live,
            leases=leases,
            timeout_s=0.2,
            embedder=lambda: house.failing,
            clock_s=clock_s,
        )
        house = House(health, inbox, services, path)
        yield house
        await live.aclose()


async def test_all_is_well(house: House) -> None:
    """Every part is named."""
    told = await house.health.check()

    assert told.ready
    assert {"store": "ok", "queue": "ok", "agent good": "ok", "agent other": "ok"} == told.checks
    assert told.lag_s is None


async def test_an_embedder_that_fails_is_warned_of(house: House) -> None:
    """Words alone find most of what was said: no traffic is kept away for that."""
    house.failing = "embedder 'm/8' is down"
    ill = await house.health.check()
    house.failing = None

    assert (True, {"embedder": "embedder 'm/8' is down"}) == (ill.ready, dict(ill.warnings))
    assert {} == (await house.health.check()).warnings


class Reporting(QuietChannel):
    """A channel that tells how it is."""

    problem: str | None = None
    warning: str | None = None


async def test_channels_tell_how_they_are(tmp_path: Path) -> None:
    """One through which nothing comes in is named with its reason, one that is hardly set as meant only warned of; neither
    keeps others' traffic away."""
    reporting = Reporting()
    async with opened(tmp_path, channel=reporting) as house:
        well = await house.health.check()
        reporting.problem, reporting.warning = "no updates: 409", "privacy mode is on"
        ill = await house.health.check()

    assert ("ok", {}) == (well.checks["channel hook"], well.warnings)
    assert ("no updates: 409", {"channel hook": "privacy mode is on"}) == (ill.checks["channel hook"], ill.warnings)
    assert well.ready
    assert ill.ready


FAULTS: list[tuple[Callable[[Service], None], str]] = [
    (lambda service: setattr(service, "fault", AgentUnavailable("the service is away")), "the service is away"),
    (lambda service: setattr(service, "fault", AgentRefused("the key is wrong")), "the key is wrong"),
    (lambda service: setattr(service, "hangs", True), "no answer in time"),
    (
        lambda service: setattr(service, "fault", KeyError("a bug's words")),
        "the probe broke off (KeyError); the log tells more",
    ),
]


@pytest.mark.parametrize(("harm", "said"), FAULTS, ids=["away", "refused", "silent", "bug"])
async def test_one_agent_down(harm: Callable[[Service], None], said: str, house: House) -> None:
    """It is named with its reason; while another one works there is somebody to answer."""
    harm(house.services["good"])
    told = await house.health.check()

    assert told.ready
    assert said == told.checks["agent good"]


async def test_all_agents_down(house: House) -> None:
    """Nobody could answer: no traffic."""
    for service in house.services.values():
        service.fault = AgentUnavailable("away")

    assert not (await house.health.check()).ready


async def test_a_service_is_not_asked_at_every_look(house: House) -> None:
    """Readiness is asked for every few seconds; the last answer of a service counts for a while."""
    await asyncio.gather(*(house.health.check() for _ in range(20)))

    assert [1, 1] == [service.asked for service in house.services.values()]


async def test_a_store_that_takes_no_writes(house: House) -> None:
    """Reading would still work; accepting would not."""
    with locked(house.path):
        told = await house.health.check()

    assert not told.ready
    assert "ok" != told.checks["store"]
    assert (await house.health.check()).ready, "and it is well as soon as the store is"


async def test_what_waits(house: House) -> None:
    """The age of the oldest message, in seconds; a clock that went back gives 0."""
    for age_ms in (90_000, -90_000):
        new = NewEvent(
            id=Ids(3).next() + age_ms, channel="c", kind="message", speaker="a", body=b"", token="t", fingerprint=None,
            now_ms=now_ms() - age_ms,
        )  # fmt: skip
        await house.inbox.accept(new, lane="l", dedupe_ids=[str(age_ms)])
    told = await house.health.check()

    assert told.lag_s is not None
    assert 90 <= told.lag_s < 150


async def test_stopping(house: House) -> None:
    """A gateway that drains asks for no more traffic, and says why."""
    house.health.stopping = True
    told = await house.health.check()

    assert not told.ready
    assert "stopping" == told.checks["gateway"]


async def test_the_others_are_told_how_it_is(tmp_path: Path) -> None:
    """What no look at a service is needed for, and of agents what the last look found."""
    reporting = Reporting()
    async with opened(tmp_path, channel=reporting) as house:
        well = house.health.condition()
        house.services["good"].fault = AgentUnavailable("the service is away")
        house.failing, reporting.problem = "embedder is down", "没有更新"
        await house.health.check()
        house.health.stopping = True
        ill = house.health.condition()

    assert (False, {}) == (well.stopping, well.problems)
    assert ill.stopping
    assert {
        "agent good": "the service is away", "channel hook": "没有更新", "embedder": "embedder is down",
    } == ill.problems  # fmt: skip


class PacedChannel(QuietChannel):
    """A channel that one instance sends, and two receive."""

    capabilities = Capabilities(pullers=2)

    def rates(self, address: Address, call: Call) -> tuple[Rate, ...]:
        return ()


class Seen(ProcessLeases):
    """Leases as they are held, on two instances."""

    holds: tuple[str, ...] = ()

    async def instances(self) -> Sequence[Instance]:
        (one,) = await super().instances()
        return [replace(one, leases=self.holds), replace(one, here=False, leases=("channel:hook/1",))]


async def test_what_nobody_sends_is_warned_of_when_it_lasts(tmp_path: Path) -> None:
    """A lease that just passes on is nothing to speak of."""
    leases, clock = Seen(About(release=""), number=None, rest_s=1, clock_ms=now_ms), [100.0]
    async with opened(tmp_path, channel=PacedChannel(), leases=leases, clock_s=lambda: clock[0]) as house:
        passing = await house.health.check()
        clock[0] += 10
        lasting = await house.health.check()
        leases.holds = ("send:hook",)
        held = await house.health.check()

    assert {"channel:hook", "send:hook"} == house.health.wanted()
    assert {} == passing.warnings
    assert lasting.ready
    assert "no instance holds send:hook;" in lasting.warnings["leases"]
    assert {} == held.warnings


def test_places_that_did_not_answer_are_spoken_of_for_a_while() -> None:
    """Nobody asks them anew before something is wanted of them."""
    now, counted = [100.0], list[str]()
    passed = PassedOver(counted.append, clock_s=lambda: now[0])
    assert passed.problem is None
    passed("redis")

    assert passed.problem is not None
    assert "redis" in passed.problem
    assert ["redis"] == counted
    now[0] += 60
    assert passed.problem is None
