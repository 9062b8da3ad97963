"""The example channel of `adapters/README.md`: it keeps the contract of all channels, and talks with its local platform."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from adapters.base import Adapter, Address, Paced
from adapters.errors import AdapterFault, Refused, SendFailed, Throttled, Unknown, Unreachable
from tests.contracts.adapter import AdapterContract, Channel
from tests.example.adapter import PigeonAdapter
from tests.example.platform import TOKEN, pigeons, said
from tests.example.settings import PigeonSettings
from tests.fakes import FakeIntake
from tests.serving import serving

ADDRESS = Address(channel="post", room="r1")


def pigeon(api_url: str = "http://127.0.0.1:9", *, token: str = TOKEN) -> PigeonAdapter:
    chosen = {"kind": "pigeon", "token": token, "api_url": api_url}
    return PigeonAdapter("post", settings=PigeonSettings.model_validate(chosen))


@asynccontextmanager
async def platform() -> AsyncIterator[Callable[[], Adapter]]:
    async with pigeons() as here:
        yield lambda: pigeon(here.api_url)


PIGEON = Channel(
    name="post",
    make=pigeon,
    platform=platform,
    say=said,
    malformed=[
        {**said(), "headers": {}},
        {**said(), "headers": {"Pigeon-Token": "another"}},
        {"data": b"{" * 5000, "headers": {"Pigeon-Token": TOKEN}},
        said(room=""),
        said(user="\x00"),
        said("\x00"),
    ],
)


class TestExample(AdapterContract):
    @pytest.fixture
    def channel(self) -> Channel:
        return PIGEON


async def test_a_message_comes_in_and_its_answer_goes_out() -> None:
    """Through the local platform, both ways."""
    intake = FakeIntake()
    async with pigeons() as here:
        adapter = pigeon(here.api_url)
        async with serving(intake, {"post": adapter}) as url:
            here.events_url = f"{url}/channels/post"
            status = await here.says("你好", room="r1", user="爱丽丝")
            (event,) = intake.messages
            receipt = await adapter.send(Address(channel="post", room=event.room), "**再见** 👋", chunk_id="1")

    assert (200, "你好", "爱丽丝") == (status, event.text, event.sender.name)
    assert ("1", [("r1", "再见 👋")]) == (receipt.message_id, here.letters)


@pytest.mark.parametrize(
    ("fault", "meaning", "arrived"), [(429, Throttled, 0), (403, Refused, 0), (500, Unknown, 0), ("cut", Unknown, 1)]
)
async def test_what_goes_wrong_has_one_meaning_each(fault: int | str, meaning: type[SendFailed], arrived: int) -> None:
    """Nothing is tried again here: what comes next is delivery's decision."""
    async with pigeons() as here:
        adapter = pigeon(here.api_url)
        here.faults.append(fault)
        async with adapter.running(FakeIntake()):
            with pytest.raises(meaning) as told:
                await adapter.send(ADDRESS, "hello", chunk_id="1")

    assert arrived == len(here.letters)
    if isinstance(told.value, Throttled):
        assert (3.0, adapter.rates(ADDRESS, "send")[0].scope) == (told.value.retry_after_s, told.value.scope)


async def test_what_never_left_is_tried_again() -> None:
    """Nobody listens there, or the channel is not open."""
    adapter = pigeon()
    with pytest.raises(Unreachable):
        await adapter.send(ADDRESS, "hello", chunk_id="1")
    async with adapter.running(FakeIntake()):
        with pytest.raises(Unreachable):
            await adapter.send(ADDRESS, "hello", chunk_id="1")


async def test_a_wrong_token_is_found_by_the_probe() -> None:
    async with pigeons() as here:
        adapter = pigeon(here.api_url, token="another")
        async with adapter.running(FakeIntake()):
            with pytest.raises(AdapterFault, match="copy it again"):
                await adapter.probe()


def test_its_limits_are_the_gateways_to_keep() -> None:
    """What a channel can do beyond `Adapter` is known by its methods."""
    assert isinstance(pigeon(), Paced)
