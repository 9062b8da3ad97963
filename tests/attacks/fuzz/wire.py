"""A request as bytes on a connection of its own, so that anything can be sent, and how it is bent on the way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

Header = tuple[str, str | bytes]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is sent. `length` None: as long as it is. `hold_s`: the last byte comes so late. `cut`: it never comes, and the
    connection is ended instead. `chunked`: by this transfer coding, as these bytes. `source`: the address of loopback that it
    comes from."""

    method: str = "POST"
    path: str
    headers: tuple[Header, ...] = ()
    body: bytes = b""
    version: str = "HTTP/1.1"
    length: str | None = None
    hold_s: float = 0
    cut: bool = False
    chunked: bytes | None = None
    source: str = "127.0.0.1"

    def without(self, name: str) -> Request:
        return replace(self, headers=tuple(one for one in self.headers if one[0].lower() != name.lower()))

    def having(self, *headers: Header) -> Request:
        return replace(self, headers=(*self.headers, *headers))

    def head(self) -> bytes:
        lines = [f"{self.method} {self.path} {self.version}".encode("utf-8", "surrogatepass")]
        length: tuple[Header, ...] = (("Content-Length", self.length or str(len(self.body))),)
        if self.chunked is not None:
            length = (("Transfer-Encoding", "chunked"),)
        lines += [
            name.encode() + b": " + (value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass"))
            for name, value in (("Host", "127.0.0.1"), *self.headers, *length, ("Connection", "close"))
        ]
        return b"\r\n".join(lines) + b"\r\n\r\n"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back; `status` 0: nothing, the connection was closed. Headers of one name are joined by line breaks."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


async def sent(port: int, request: Request, *, within_s: float, read_most: int = 200_000) -> Answer:
    """Send a request and return the answer. Raises TimeoutError when there is none within the time."""
    async with asyncio.timeout(within_s):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(request.source, 0))
        try:
            body = request.body if request.chunked is None else request.chunked
            held = body[-1:] if request.hold_s or request.cut else b""
            writer.write(request.head() + body[: len(body) - len(held)])
            await _drained(writer)
            if request.cut:
                writer.write_eof()
            elif held:
                reading = asyncio.create_task(_read(reader, read_most))
                await asyncio.wait((reading,), timeout=request.hold_s)
                if not reading.done():
                    writer.write(held)
                return _answer(await reading)
            return _answer(await _read(reader, read_most))
        finally:
            writer.transport.abort()


async def _drained(writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):  # it may be answered before it has come whole
        await writer.drain()


async def _read(reader: asyncio.StreamReader, most: int) -> bytes:
    """Return what comes, until there is no more or, of an event stream, until its first event."""
    got = b""
    with suppress(ConnectionError):
        while len(got) < most and (piece := await reader.read(65_536)):
            got += piece
            if b"text/event-stream" in got[:2_000] and b"\n\n" in got.partition(b"\r\n\r\n")[2]:
                break
    return got


def _answer(got: bytes) -> Answer:
    if got.startswith(b"HTTP/1.1 100 "):  # "go on": no answer yet
        got = got.partition(b"\r\n\r\n")[2]
    head, _, body = got.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ", 2)
    if len(parts) < 2 or not parts[1].isdigit():
        return Answer(status=0, body=got)
    headers: dict[str, str] = {}
    for name, _, value in (line.partition(":") for line in lines):
        headers[name.lower()] = "\n".join((*headers.get(name.lower(), "").splitlines(), value.strip()))
    return Answer(status=int(parts[1]), headers=headers, body=body)


Bend = Callable[[Request, random.Random], Request]


def _header(name: str, *values: str | bytes) -> Bend:
    return lambda request, rng: request.without(name).having((name, rng.choice(values)))


def _each(change: Callable[[Header, random.Random], tuple[Header, ...]]) -> Bend:
    """Change one header of the request, whichever."""

    def bend(request: Request, rng: random.Random) -> Request:
        at = rng.randrange(max(1, len(request.headers)))
        headers = [change(one, rng) if place == at else (one,) for place, one in enumerate(request.headers)]
        return replace(request, headers=tuple(one for some in headers for one in some))

    return bend


def _value(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


_NUMBERS = ("0", "-1", "1e9", "9" * 400, "１７００００００００", "0x10")
_TYPES = (
    "", "text/plain", "application/json; charset=utf-16", "application/json;charset=gb18030", "a/b/c", "json",
    "application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=x", "application/json" * 50,
)  # fmt: skip
_TAILS = (
    "%00", "/%2e%2e", "/../..", "?x=%ff", "//", "/%E4%BD", "?" + "a=b&" * 500, "#x", ";x", "%", "/" + "x" * 5_000,
    "?%00=%00", " x",
)  # fmt: skip
_CHUNKS = (
    b"zz\r\nx\r\n0\r\n\r\n", b"5\r\nab\r\n0\r\n\r\n", b"ffffffffffffffff\r\nx", b"-1\r\n\r\n",
    b"1;a=b\r\nx\r\n0\r\nA: b\r\n\r\n",
)  # fmt: skip
_METHODS = ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "X", "post", "PO ST")
_COOKIES = ("a", "clew_session=" + "x" * 3_000, "a=b;" * 500, b"\xff=\xfe", "clew_session=;clew_session=x")


def _with(*endings: str) -> Bend:
    return _each(lambda one, rng: ((one[0], _value(one[1]) + rng.choice(endings)),))


def _as(*values: str | bytes) -> Bend:
    return _each(lambda one, rng: ((one[0], rng.choice(values)),))


def _chunked(request: Request, _rng: random.Random) -> Request:
    return replace(request, chunked=b"%x\r\n%b\r\n0\r\n\r\n" % (len(request.body), request.body))


BENDS: dict[str, Bend] = {
    "no header": _each(lambda one, rng: ()),
    "header twice": _each(lambda one, rng: (one, one)),
    "header twice, differing": _each(lambda one, rng: (one, (one[0], "x"))),
    "header empty": _as(""),
    "header of spaces": _as(" \t "),
    "header cut": _each(lambda one, rng: ((one[0], _value(one[1])[: rng.randrange(9)]),)),
    "header with more": _with(", x", ";", " 1", "=", "\xe9"),
    "header as number": _as(*_NUMBERS),
    "header of bytes": _as(b"\xff\xfe\x80"),
    "header in Chinese": _as("签名"),
    "header with NUL": _as(b"a\x00b"),
    "header with a line break": _as(b"a\r\nX-More: b"),
    "header folded": _as(b"a\r\n b"),
    "header of 7 KB": _as("x" * 7_000),
    "header of 20 KB": _as("x" * 20_000),
    "headers, many": lambda request, rng: request.having(*((f"X-{number}", "x") for number in range(300))),
    "content type": _header("Content-Type", *_TYPES),
    "content encoding": _header("Content-Encoding", "gzip", "br", "deflate", "identity", "x", "gzip, gzip"),
    "transfer encoding": _header("Transfer-Encoding", "gzip", "chunked, chunked", "x", "identity"),
    "expects": _header("Expect", "100-continue", "200-ok", ""),
    "authorised": _header("Authorization", "Basic x", "Bearer", "Bearer  ", "bearer x.y.z", "Bearer " + "a" * 5_000),
    "forwarded": _header("X-Forwarded-For", "127.0.0.1", "::1, evil", "300.1.1.1", "' OR 1=1", "unknown", "[::1]:80"),
    "range": _header("Range", "bytes=0-", "bytes=-1", "lines=1"),
    "upgrade": _header("Upgrade", "websocket", "h2c", "x"),
    "accepts": _header("Accept", "text/event-stream", "application/xml;q=1", "*/*;q=x", "x" * 3_000),
    "language": _header("Accept-Language", "zh-CN,zh;q=x", "*", "\xff", "a" * 3_000, "en;q=1;q=2"),
    "cookie": _header("Cookie", *_COOKIES),
    "origin": _header("Origin", "null", "http://evil.example", "http://127.0.0.1:1", "x", "http://[", "http://[::1]x"),
    "referer": _header("Referer", "http://[", "http://127.0.0.1/admin/../x", "//", "x" * 3_000, "http://127.0.0.1:x/"),
    "fetch site": _header("Sec-Fetch-Site", "cross-site", "same-origin", "none", "x", ""),
    "host": lambda request, rng: request.having(
        ("Host", rng.choice(("evil.example", "", "127.0.0.1:9", "[::1", "a b")))
    ),
    "method": lambda request, rng: replace(request, method=rng.choice(_METHODS)),
    "path": lambda request, rng: replace(request, path=request.path + rng.choice(_TAILS)),
    "version": lambda request, rng: replace(request, version=rng.choice(("HTTP/1.0", "HTTP/2.0", "HTTP/9", "XTP/1.1"))),
    "length": lambda request, rng: replace(request, length=rng.choice((*_NUMBERS, "5, 5", "+5", " "))),
    "too short a length": lambda request, rng: replace(request, length=str(max(0, len(request.body) - 7))),
    "two lengths": lambda request, rng: request.having(("Content-Length", "3")),
    "cut": lambda request, rng: replace(request, cut=True),
    "late": lambda request, rng: replace(request, hold_s=0.2),
    "too late": lambda request, rng: replace(request, hold_s=20),
    "in chunks": _chunked,
    "in bad chunks": lambda request, rng: replace(request, chunked=rng.choice(_CHUNKS)),
    "in chunks without an end": lambda request, rng: replace(request, chunked=b"3\r\nabc\r\n", cut=True),
}
"""What is done to a request on its way."""
