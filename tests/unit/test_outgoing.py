"""What goes back for a turn, and in which pieces."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal

import pytest

from adapters.base import Address, Capabilities, Intake, MessageEvent, Quote, Receipt, Sender
from gateway.outgoing import SPLIT_AT_ONCE, Outgoing, chunks_of, whispered


class Splitter:
    """A channel that splits at bars, once `before` returns."""

    def __init__(
        self, before: Callable[[], object] = lambda: None, *, collected: bool = False, whispers: bool = False
    ) -> None:
        self.capabilities = Capabilities(collected=collected, whispers=whispers)
        self._before = before

    def chunks(self, text: str) -> list[str]:
        self._before()
        return text.split("|")

    def running(self, intake: Intake) -> AbstractAsyncContextManager[None]:
        raise NotImplementedError

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        raise NotImplementedError

    async def probe(self) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("channel", "expected"),
    [(Splitter(), ["hello", "你好 👋"]), (Splitter(collected=True), []), (None, ["hello|你好 👋"])],
    ids=["split", "collected", "gone"],
)
async def test_a_reply_goes_out_in_its_channels_pieces(channel: Splitter | None, expected: list[str]) -> None:
    """None of a reply that its caller collects; a channel that is gone splits nothing."""
    assert expected == await chunks_of(channel, "hello|你好 👋")


async def test_a_long_reply_is_split_while_others_are_heard() -> None:
    """The split ends only once the event loop has run on."""
    heard = threading.Event()
    asyncio.get_running_loop().call_soon(heard.set)
    long = "字" * SPLIT_AT_ONCE + "|b"

    assert long.split("|") == await chunks_of(Splitter(lambda: heard.wait(10)), long)
    assert heard.is_set()


async def test_a_short_reply_is_split_at_once() -> None:
    """A thread would cost it more than the splitting."""
    threads = list[int]()
    await chunks_of(Splitter(lambda: threads.append(threading.get_ident())), "a" * SPLIT_AT_ONCE)

    assert [threading.get_ident()] == threads


@pytest.mark.parametrize(
    ("personal", "chat_type", "channel", "only_for"),
    [
        (True, "group", Splitter(whispers=True), "用户*1"),
        (False, "group", Splitter(whispers=True), None),
        (True, "private", Splitter(whispers=True), None),
        (True, "group", Splitter(), None),
        (True, "group", None, None),
    ],
    ids=["personal", "for-all", "private", "cannot", "gone"],
)
def test_what_is_personal_is_whispered_in_a_group_where_that_can_be_done(
    personal: bool, chat_type: Literal["private", "group"], channel: Splitter | None, only_for: str | None
) -> None:
    """To the asker's account, as the platform knows it; he needs no quote of what he asked himself."""
    quoted = Quote(name="Ann", text="/memory")
    address = Address(channel="acme", room="r1", thread="t1", reply_to="m1", quoted=quoted)
    said = MessageEvent(
        channel="acme",
        room="r1",
        chat_type=chat_type,
        sender=Sender(user="T1.用户*1", tenant="T1", account="用户*1"),
        dedupe_ids=(),
        message_id="m1",
        text="/memory",
    )
    whisper = Address(channel="acme", room="r1", thread="t1", reply_to="m1", only_for="用户*1")
    expected = whisper if only_for else address

    assert expected == whispered(address, Outgoing("yours", personal=personal), said=said, adapter=channel)
