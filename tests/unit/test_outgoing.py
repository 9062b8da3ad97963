"""What goes back for a turn, and in which pieces."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from adapters.base import Address, Capabilities, Intake, Receipt
from gateway.outgoing import SPLIT_AT_ONCE, chunks_of


class Splitter:
    """A channel that splits at bars, once `before` returns."""

    def __init__(self, before: Callable[[], object] = lambda: None, *, collected: bool = False) -> None:
        self.capabilities = Capabilities(collected=collected)
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
