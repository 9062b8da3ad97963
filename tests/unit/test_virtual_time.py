"""Virtual time: what takes none of it, though it takes real time."""

from __future__ import annotations

import asyncio
import time

from tests.virtual_time import in_virtual_time


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line)
    writer.close()


async def _talk() -> tuple[float, float]:
    """Return when a long talk over loopback and through a thread was over, and when an alarm rang."""
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    loop, begun = asyncio.get_running_loop(), asyncio.get_running_loop().time()
    alarm = loop.create_task(asyncio.sleep(0.001))  # the clock would jump there at the first chance
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for _ in range(200):
            writer.write(b"\n")
            await reader.readline()
        await asyncio.to_thread(time.sleep, 0.02)
        over = loop.time() - begun
        writer.close()
        await writer.wait_closed()
    await alarm
    return over, loop.time() - begun


def test_what_is_on_its_way_takes_no_time() -> None:
    """Neither bytes between two ends in this loop nor work in a thread lets the clock jump."""
    assert (0, 0.001) == in_virtual_time(_talk())
