"""What clients say to a Redis, heard by MONITOR, word for word; and three masters of a cluster to say it to again."""

from __future__ import annotations

import ast
import asyncio
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS

from tests.services import Valkey, free_port

MASTERS = 3
LONGEST = 2**26
"""Bytes of a line, at most: a window that is kept, with its bytes written out."""

_LINE = re.compile(r'^\+[\d.]+ \[\d+ (\S+)\] (".*")$')
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class Said:
    """A command with its words, and the address of who said it."""

    client: str
    words: tuple[bytes, ...]

    @property
    def name(self) -> str:
        """The command's name, with the second word where that is a part of it."""
        first = self.words[0].decode().upper()
        return f"{first} {self.words[1].decode().upper()}" if first in ("SCRIPT", "CLIENT", "CLUSTER") else first


def read(line: str) -> Said | None:
    """Return what a line of MONITOR tells; None: it is no command of a client's, as what a script calls."""
    found = _LINE.match(line)
    if found is None or found[1] == "lua":
        return None
    # The server writes bytes as Python does.
    return Said(found[1], tuple(ast.literal_eval(f"b{word}") for word in _WORD.findall(found[2])))


class Heard:
    """All that was said since, in order."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.said: list[Said] = []
        self._more = asyncio.Event()

    def add(self, said: Said) -> None:
        self.said.append(said)
        self._more.set()

    async def until_now(self) -> list[Said]:
        """Return what was said since the last time, hand-shakes and all."""
        mark = f"mark {time.monotonic_ns()}".encode()
        with redis.Redis.from_url(self._url) as client:
            client.execute_command("ECHO", mark)
        async with asyncio.timeout(60):
            while not any(mark in said.words for said in self.said[-5:]):
                self._more.clear()
                await self._more.wait()
        said, self.said = self.said, []
        return said


@asynccontextmanager
async def listening(server: Valkey) -> AsyncIterator[Heard]:
    """Hear all that is said to the server until the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=LONGEST)
    writer.write(b"MONITOR\r\n")
    assert await reader.readline() == b"+OK\r\n"
    heard = Heard(server.url)

    async def listen() -> None:
        while line := await reader.readline():
            if (said := read(line.decode("ascii").rstrip("\r\n"))) is not None:
                heard.add(said)

    try:
        async with asyncio.TaskGroup() as tasks:
            hearing = tasks.create_task(listen())
            yield heard
            hearing.cancel()
    finally:
        writer.close()


@contextmanager
def running_cluster() -> Iterator[list[Valkey]]:
    """Run masters that share all slots among them, the first the lowest."""
    with ExitStack() as stack:
        nodes, buses = [], []
        for _ in range(MASTERS):
            folder = Path(tempfile.mkdtemp(prefix="clew-valkey-"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            bus = free_port()
            node = Valkey(folder, options=("--cluster-enabled", "yes", "--cluster-port", str(bus)))
            stack.callback(node.stop)
            node.start()
            nodes.append(node)
            buses.append(bus)
        clients = [stack.enter_context(redis.Redis.from_url(node.url)) for node in nodes]
        for number, client in enumerate(clients):
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", _first(number), _first(number + 1) - 1)
        for node, bus in zip(nodes[1:], buses[1:], strict=True):
            clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", node.port, bus)
        _agreed(clients)
        yield nodes


def node_of(slot: int) -> int:
    """Return the number of the master that has the slot."""
    return next(number for number in range(MASTERS) if slot < _first(number + 1))


def _first(number: int) -> int:
    return REDIS_CLUSTER_HASH_SLOTS * number // MASTERS


def _agreed(clients: Sequence[redis.Redis]) -> None:
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up:
        told = [bytes(client.execute_command("CLUSTER", "INFO")) for client in clients]  # type: ignore[no-untyped-call]
        if all(b"cluster_state:ok" in one and b"cluster_known_nodes:%d" % MASTERS in one for one in told):
            return
        time.sleep(0.1)
    raise AssertionError(f"the cluster has not come together: {told[0].decode()}")
