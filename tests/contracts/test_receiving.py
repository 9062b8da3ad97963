"""Receiving under a lease: on one instance of two, handed on by who can't reach the platform, and not begun by who is late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from adapters.base import Adapter, Capabilities, Intake, Pulling
from adapters.errors import AdapterFault
from gateway.inbox.postgres import PostgresInbox
from gateway.receiving import Receiving
from tests.contracts.test_postgres_leases import opened
from tests.fakes import FakeIntake, QuietChannel
from tests.pulling import alone


class Fetching(QuietChannel):
    """A channel whose platform can be away; `log` tells what it does."""

    def __init__(self, log: list[str], name: str, *, pullers: int = 1) -> None:
        self.capabilities = Capabilities(pullers=pullers)
        self.log = log
        self.name = name
        self.away = asyncio.Event()
        self.fault: Exception | None = None
        self.changed = asyncio.Event()
        self.pulling: Pulling | None = None

    def note(self, what: str) -> None:
        self.log.append(f"{self.name} {what}")
        self.changed.set()

    async def until(self, *told: str) -> None:
        async with asyncio.timeout(30):
            while not all(f"{self.name} {one}" in self.log for one in told):
                self.changed.clear()
                await self.changed.wait()

    async def pull(self, intake: Intake, pulling: Pulling) -> None:
        self.pulling = pulling
        if self.fault is not None:
            raise self.fault
        pulling.begun()
        assert pulling.mine()
        self.note("receives")
        try:
            await self.away.wait()
            for times in (1, 2, 3, 4):
                pulling.failed(times)
            self.note("goes on")
            await asyncio.Event().wait()
        finally:
            self.note("ends")


@pytest.fixture
async def pair(postgres_url: str) -> AsyncIterator[tuple[PostgresInbox, PostgresInbox]]:
    async with opened(postgres_url) as first, opened(postgres_url) as second:
        seen = 0
        async with asyncio.timeout(30):
            while first.leases.live < 2:
                seen = await first.changed(seen)
        yield first, second


async def test_two_instances_have_one_receiver(pair: tuple[PostgresInbox, PostgresInbox]) -> None:
    """Who stands by runs all the same, and begins when the other ends."""
    log: list[str] = []
    here, there = Fetching(log, "here"), Fetching(log, "there")
    one, other = Receiving("acme", pair[0].leases, rest_s=5), Receiving("acme", pair[1].leases, rest_s=5)
    async with running(one, here), running(other, there):
        assert ["here receives"] == log
        assert (True, False) == (one.here, other.here)
        await pair[0].leases.give_up({"channel"})
        await there.until("receives")
        assert ["here receives", "here ends", "there receives"] == log
        assert here.pulling is not None
        assert not here.pulling.mine()
        assert (False, True) == (one.here, other.here)


async def test_who_cannot_reach_the_platform_lets_another_try(pair: tuple[PostgresInbox, PostgresInbox]) -> None:
    """It would hold its lease for ever, with nothing to show for it."""
    log: list[str] = []
    here, there = Fetching(log, "here"), Fetching(log, "there")
    async with (
        running(Receiving("acme", pair[0].leases, rest_s=60), here),
        running(Receiving("acme", pair[1].leases, rest_s=60), there),
    ):
        here.away.set()
        await there.until("receives")
        assert ["here receives", "here ends", "there receives"] == log


async def test_where_no_other_does_better_one_goes_on_trying(pair: tuple[PostgresInbox, PostgresInbox]) -> None:
    """It is the platform then: somebody tries all the time, so that what people say comes as soon as it is back."""
    log: list[str] = []
    here, there = Fetching(log, "here"), Fetching(log, "there")
    async with (
        running(Receiving("acme", pair[0].leases, rest_s=0.05), here),
        running(Receiving("acme", pair[1].leases, rest_s=0.05), there),
    ):
        here.away.set()
        there.away.set()
        await here.until("goes on")
        assert ["here receives", "here ends", "there receives", "there ends", "here receives", "here goes on"] == log


async def test_who_is_alone_goes_on_trying() -> None:
    """Nobody could do better."""
    log: list[str] = []
    here = Fetching(log, "here")
    async with running(Receiving("acme", alone(), rest_s=60), here):
        here.away.set()
        await here.until("goes on")


async def test_fault_of_the_channel_is_its_own() -> None:
    """As it is, for an admin to read."""
    here = Fetching([], "here")
    here.fault = AdapterFault("the token is wrong")
    with pytest.raises(AdapterFault, match="the token is wrong"):
        async with running(Receiving("acme", alone(), rest_s=60), here):
            raise AssertionError("it never began")


async def test_channel_that_is_told_by_request_receives_everywhere() -> None:
    """There is nothing to hold."""
    log: list[str] = []
    receiving = Receiving("acme", alone(), rest_s=60)
    async with running(receiving, Fetching(log, "here", pullers=0)):
        assert not receiving.here
    assert [] == log


async def test_new_one_begins_before_the_old_one_ends_where_two_may() -> None:
    """A change of a channel's settings on one instance meets no gap (openclaw#137591)."""
    log: list[str] = []
    leases = alone()
    async with running(Receiving("acme", leases, rest_s=60), Fetching(log, "old", pullers=2)):
        new = Fetching(log, "new", pullers=2)
        async with running(Receiving("acme", leases, rest_s=60), new):
            await new.until("receives")
            assert ["old receives", "new receives"] == log


@asynccontextmanager
async def running(receiving: Receiving, adapter: Fetching) -> AsyncIterator[None]:
    channel: Adapter = adapter
    async with receiving.running(channel, FakeIntake()):
        yield
