"""What the proxy of the chaos runs does to connections: each mode, and what arrives once it is over."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from memory.ids import now_ms
from tests.chaos.proxy import MODES, SLOW_S, Mode, Proxy


@dataclass
class Server:
    """Answers each line with the same line; keeps all that it heard."""

    port: int = 0
    heard: bytes = b""
    more: asyncio.Event = field(default_factory=asyncio.Event)
    ended: int = 0
    ports: list[int] = field(default_factory=list)  # from which it was connected to

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.ports.append(writer.get_extra_info("peername")[1])
        try:
            while data := await reader.read(65536):
                self.heard += data
                self.more.set()
                writer.write(data)
        except ConnectionError:
            pass
        finally:
            self.ended += 1
            self.more.set()
            writer.close()

    async def until(self, heard: bytes) -> None:
        async with asyncio.timeout(10):
            while heard not in self.heard:
                self.more.clear()
                await self.more.wait()

    async def left(self) -> None:
        async with asyncio.timeout(10):
            while not self.ended:
                self.more.clear()
                await self.more.wait()


Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def between() -> AsyncIterator[tuple[Server, Proxy, Callable[..., Awaitable[Client]]]]:
    """A server, a proxy before it, and what connects to a port; at the end every client is closed."""
    there, clients = Server(), list[Client]()

    async def connected(port: int = 0) -> Client:
        clients.append(await asyncio.open_connection("127.0.0.1", port or proxy.port))
        return clients[-1]

    listening = await asyncio.start_server(there.serve, "127.0.0.1", 0)
    there.port = listening.sockets[0].getsockname()[1]
    async with Proxy(lambda: [("127.0.0.1", there.port)]).running() as proxy:
        yield there, proxy, connected
    for _, writer in clients:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()
    listening.close()


async def asked(ends: Client, line: bytes) -> bytes:
    reader, writer = ends
    writer.write(line)
    return await asyncio.wait_for(reader.readline(), 10)


async def is_reset(reader: asyncio.StreamReader) -> bool:
    try:
        return await asyncio.wait_for(reader.read(1), 10) == b""
    except ConnectionError:
        return True


async def silent(reader: asyncio.StreamReader, proxy: Proxy) -> bool:
    """Whether nothing comes, for as long as another connection's whole round takes several times over."""
    try:
        await asyncio.sleep(0.2)
        return not reader._buffer  # type: ignore[attr-defined]
    finally:
        assert proxy.open


async def test_what_is_said_arrives_both_ways() -> None:
    """A megabyte there and back, and the end of one direction leaves the other open."""
    async with between() as (there, _, connected):
        reader, writer = await connected()
        text = "人 hello 🧶\n".encode() * 50_000
        writer.write(text)
        writer.write_eof()

        assert text == await asyncio.wait_for(reader.read(-1), 30)
        assert text == there.heard
        writer.close()


async def test_what_has_ended_both_ways_is_gone() -> None:
    """Nothing of a connection is left once both have said that they say no more."""
    async with between() as (there, proxy, connected):
        for _ in range(20):
            reader, writer = await connected()
            assert b"one\n" == await asked((reader, writer), b"one\n")
            writer.write_eof()
            assert b"" == await asyncio.wait_for(reader.read(), 10)

        assert 20 == there.ended
        assert 0 == proxy.open


async def test_refused_and_let_in_again() -> None:
    """Standing connections are reset, new ones at once; afterwards they pass."""
    async with between() as (_, proxy, connected):
        ends = await connected()
        assert b"one\n" == await asked(ends, b"one\n")
        proxy.set("refuse")
        assert await is_reset(ends[0])
        try:
            again = await connected()
        except ConnectionError:
            pass
        else:
            assert await is_reset(again[0])
        proxy.set("pass")

        assert b"two\n" == await asked(await connected(), b"two\n")


@pytest.mark.parametrize("mode", ["hole", "deaf", "slow"])
async def test_when_it_was_said_is_known(mode: Mode) -> None:
    """Of what arrives late, too: a question that was sent before something happened, and is heard after it, was sent before."""
    async with between() as (there, proxy, connected):
        ends = await connected()
        assert b"one\n" == await asked(ends, b"one\n")
        port = there.ports[0]
        first_ms = proxy.said_ms(port)
        proxy.set(mode)
        ends[1].write(b"late\n")
        await asyncio.sleep(0.05)
        assert first_ms == proxy.said_ms(port)
        happened_ms = now_ms()
        await asyncio.sleep(0.05)
        proxy.set("pass")
        await there.until(b"late\n")

        assert first_ms <= proxy.said_ms(port) <= happened_ms
        assert b"late\n" == await asyncio.wait_for(ends[0].readline(), 10)
        assert b"new\n" == await asked(ends, b"new\n")
        assert happened_ms < proxy.said_ms(port)


async def test_what_a_killed_client_has_said_arrives() -> None:
    """Reset in a hole: what it had said is heard all the same, and then its end."""
    async with between() as (there, proxy, connected):
        _, writer = await connected()
        await there.until(b"")
        proxy.set("hole")
        writer.write(b"late\n")
        await asyncio.sleep(0.05)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        await asyncio.sleep(0.05)
        assert (b"", 0) == (there.heard, there.ended)
        proxy.set("pass")

        await there.until(b"late\n")
        await there.left()
        async with asyncio.timeout(10):
            while proxy.open:
                await asyncio.sleep(0.01)


async def test_an_end_that_was_reset_just_now_is_over() -> None:
    """The client's end arrives at a server that has reset the connection in the same moment, before anybody could hear of it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with Proxy(lambda: [listening.getsockname()]).running() as proxy:
            _, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            at_server, _ = await asyncio.to_thread(listening.accept)
            await asyncio.sleep(0.05)
            proxy.set("hole")
            writer.close()
            await asyncio.sleep(0.05)
            at_server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            at_server.close()
            proxy.set("pass")

            assert 0 == proxy.open


@pytest.mark.parametrize("mode", ["hole", "deaf"])
async def test_what_was_held_back_arrives_late(mode: Mode) -> None:
    """What a cut-off gateway has said is heard when the network is back, though it has gone by then: a late write."""
    async with between() as (there, proxy, connected):
        reader, writer = await connected()
        assert b"one\n" == await asked((reader, writer), b"one\n")
        proxy.set(mode)
        writer.write(b"late\n")
        assert await silent(reader, proxy)
        assert b"late" not in there.heard
        writer.close()
        proxy.set("pass")

        await there.until(b"late\n")
        await there.left()


async def test_heard_without_hearing() -> None:
    """Mute: the statement takes effect, and its answer comes when that is over."""
    async with between() as (there, proxy, connected):
        reader, writer = await connected()
        assert b"one\n" == await asked((reader, writer), b"one\n")
        proxy.set("mute")
        writer.write(b"done\n")
        await there.until(b"done\n")
        assert await silent(reader, proxy)
        proxy.set("pass")

        assert b"done\n" == await asyncio.wait_for(reader.readline(), 10)


async def test_a_new_connection_in_a_hole_hears_nothing() -> None:
    """It is taken, and answered when the hole is over."""
    async with between() as (there, proxy, connected):
        proxy.set("hole")
        reader, writer = await connected()
        writer.write(b"hello\n")
        await asyncio.sleep(0.05)
        assert b"" == there.heard
        proxy.set("pass")

        assert b"hello\n" == await asyncio.wait_for(reader.readline(), 10)


async def test_cut_in_the_middle() -> None:
    """Half of what is said arrives; then the connection is gone, and the next one passes."""
    async with between() as (there, proxy, connected):
        ends = await connected()
        assert b"one\n" == await asked(ends, b"one\n")
        proxy.set("cut")
        ends[1].write(b"0123456789")

        assert await is_reset(ends[0])
        await there.left()
        assert b"one\n01234" == there.heard
        proxy.set("pass")
        assert b"two\n" == await asked(await connected(), b"two\n")


async def test_slow_keeps_the_order() -> None:
    """Each piece comes later, and what comes after the slowness does not overtake it."""
    async with between() as (_, proxy, connected):
        reader, writer = await connected()
        proxy.set("slow")
        began = asyncio.get_running_loop().time()
        writer.write(b"one\n")
        await asyncio.sleep(0.01)
        writer.write(b"two\n")
        assert b"one\n" == await asyncio.wait_for(reader.readline(), 10)
        took = asyncio.get_running_loop().time() - began
        proxy.set("pass")
        writer.write(b"three\n")

        assert took > SLOW_S
        assert b"two\n" == await asyncio.wait_for(reader.readline(), 10)
        assert b"three\n" == await asyncio.wait_for(reader.readline(), 10)


async def test_the_next_target_where_one_is_down() -> None:
    """A front sends on to whoever takes connections."""
    async with between() as (there, _, connected):
        closed = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = closed.sockets[0].getsockname()[1]
        closed.close()
        await closed.wait_closed()
        async with Proxy(lambda: [("127.0.0.1", port), ("127.0.0.1", there.port)]).running() as front:
            assert b"one\n" == await asked(await connected(front.port), b"one\n")
        async with Proxy(lambda: [("127.0.0.1", port)]).running() as front:
            assert await is_reset((await connected(front.port))[0])


@pytest.mark.parametrize("mode", MODES)
async def test_ends_in_any_mode(mode: Mode) -> None:
    """Closing the proxy resets what stands, and leaves no task behind."""
    async with between() as (_, proxy, connected):
        ends = await connected()
        assert b"one\n" == await asked(ends, b"one\n")
        proxy.set(mode)
        ends[1].write(b"something")
    assert 0 == proxy.open
