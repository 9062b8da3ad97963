"""A proxy that pools transactions, as PgBouncer does in that mode: a client has a session on the server only for as long as one
transaction lasts. Enough of it for a server that trusts everybody."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Literal
from urllib.parse import urlsplit

PLAIN_ONLY = frozenset({80877103, 80877104})  # asked for TLS or GSS: "N"
Order = Literal["last", "first"]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Pooler:
    """`order` says which idle session comes next: the one used last (PgBouncer's default), or the one idle the longest."""

    def __init__(self, host: str, port: int, order: Order) -> None:
        self._address = host, port
        self._order = order
        self._idle: list[Streams] = []
        self._all: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._all.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            startup = await _startup(reader, writer)
            session, greeting = await self._session(startup)
            self._idle.append(session)
            writer.write(greeting)
            while True:
                asked = await _message(reader)
                if asked[:1] == b"X":
                    return
                session = self._idle.pop(-1 if self._order == "last" else 0) if self._idle else await self._new(startup)
                await self._transaction(session, asked, reader, writer)
                self._idle.append(session)

    async def _transaction(
        self, session: Streams, asked: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        session[1].write(asked)
        while True:
            # A simple query is one message; of the others a Sync is the last that is answered by a ReadyForQuery.
            while asked[:1] not in (b"Q", b"S"):
                asked = await _message(reader)
                session[1].write(asked)
            answer = b""
            while answer[:1] != b"Z":
                answer = await _message(session[0])
                writer.write(answer)
            if answer[-1:] == b"I":
                return
            asked = await _message(reader)
            session[1].write(asked)

    async def _new(self, startup: bytes) -> Streams:
        return (await self._session(startup))[0]

    async def _session(self, startup: bytes) -> tuple[Streams, bytes]:
        reader, writer = await asyncio.open_connection(*self._address)
        self._all.append(writer)
        writer.write(startup)
        greeting = [await _message(reader)]
        while greeting[-1][:1] != b"Z":
            greeting.append(await _message(reader))
        return (reader, writer), b"".join(greeting)

    def close(self) -> None:
        for writer in self._all:
            writer.transport.abort()


async def _startup(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    while True:
        head = await reader.readexactly(8)
        size, code = struct.unpack("!ii", head)
        rest = await reader.readexactly(size - 8)
        if code not in PLAIN_ONLY:
            return head + rest
        writer.write(b"N")


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(5)
    return head + await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)


@asynccontextmanager
async def pooled(url: str, *, order: Order = "last") -> AsyncIterator[str]:
    """Run a pooler before the server; yields the URL by which the database is reached through it."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    pooler = Pooler(parts.hostname, parts.port, order)
    server = await asyncio.start_server(pooler.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield url.replace(f":{parts.port}/", f":{port}/")
    finally:
        server.close()
        pooler.close()
        await asyncio.sleep(0)
