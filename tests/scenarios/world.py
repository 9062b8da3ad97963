"""The world around a real gateway process: a scripted model server, a signing webhook client, and the process itself."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
from aiohttp import web
from standardwebhooks import Webhook

from memory.extraction import SYSTEM as NOTES
from memory.summary import SYSTEM as CONDENSE
from tests.forks import Forked, fork
from tests.loopback import on_loopback
from tests.services import as_admin

ROOT = Path(__file__).parents[2]
MEASURE = "CLEW_MEASURE"
"""Set: the gateways' coverage is measured (`make test-all`), though not the test's own."""
SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()

Prompt = list[dict[str, str]]


@dataclass(frozen=True)
class Refusal:
    """An HTTP error in place of an answer."""

    status: int
    code: str = ""


@dataclass(frozen=True)
class HandOver:
    """A call of the tool by which an agent asks for a human, behind some text or none."""

    reason: str
    text: str = ""


Answer = str | Refusal | HandOver | AsyncIterator[str]
Script = Callable[[Prompt], "Answer | Awaitable[Answer]"]


@dataclass
class ModelServer:
    """An OpenAI-compatible server that answers by `script(messages)`; keeps every prompt it was sent.

    What memory asks it is answered and kept apart: by `notes` and `summary`. `scripts` are for single models, by name. A
    script may return its text, an iterator of pieces (to stop in the middle), or a `Refusal`.
    """

    script: Script
    scripts: dict[str, Script] = field(default_factory=dict)
    notes: Script = lambda _: '{"changes": []}'  # what it says as memory's small model about a turn
    summary: Script = lambda _: Refusal(404)  # and as the one that condenses talk
    asked_by_memory: list[Prompt] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    models: list[str] = field(default_factory=list)  # who was asked: parallel to `prompts`
    usage: tuple[int, int] | None = None  # the tokens it reports of each call, in and out; None: none
    url: str = ""
    port: int = 0  # from which the question came that a script is called with
    called: asyncio.Event = field(default_factory=asyncio.Event)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.port = request.transport.get_extra_info("peername")[1] if request.transport is not None else 0
        prompt: Prompt = body["messages"]
        script = self._for_memory(prompt)
        if script is None:
            self.prompts.append(prompt)
            self.models.append(body["model"])
            self.called.set()
            script = self.scripts.get(body["model"], self.script)
        answer = script(prompt)
        if isinstance(answer, Awaitable):
            answer = await answer
        if isinstance(answer, Refusal):
            error = {"message": "refused", "type": "error", "code": answer.code}
            return web.json_response({"error": error}, status=answer.status)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        async for piece in _pieces(answer.text if isinstance(answer, HandOver) else answer):
            await response.write(_chunk({"content": piece}, None))
        if isinstance(answer, HandOver):
            function = {"name": "hand_over", "arguments": json.dumps({"reason": answer.reason})}
            await response.write(_chunk({"tool_calls": [{"index": 0, "function": function}]}, None))
        await response.write(_chunk({}, "stop"))
        if self.usage is not None:
            tokens = {"prompt_tokens": self.usage[0], "completion_tokens": self.usage[1]}
            await response.write(b"data: " + json.dumps({"choices": [], "usage": tokens}).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response

    def _for_memory(self, prompt: Prompt) -> Script | None:
        """Return what plays memory's part, None for a question of somebody's."""
        system = prompt[0]["content"] if prompt and prompt[0]["role"] == "system" else ""
        if system.startswith(NOTES[:60]):
            self.asked_by_memory.append(prompt)
            return self.notes
        if system.startswith(tuple(text[:20] for text in CONDENSE.values())):
            self.asked_by_memory.append(prompt)
            return self.summary
        return None

    async def listed(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": []})


async def _pieces(answer: str | AsyncIterator[str]) -> AsyncIterator[str]:
    if isinstance(answer, str):
        for start in range(0, len(answer), 8):
            yield answer[start : start + 8]
    else:
        async for piece in answer:
            yield piece


def _chunk(delta: dict[str, Any], finish: str | None) -> bytes:
    body = {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


@asynccontextmanager
async def model_server(script: Script) -> AsyncIterator[ModelServer]:
    """Run a model server on loopback."""
    server = ModelServer(script)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.complete)
    app.router.add_get("/v1/models", server.listed)
    async with on_loopback(app, shutdown_timeout=0.1) as url:
        server.url = f"{url}/v1"
        yield server


class Gateway:
    """A real `python -m gateway serve` process."""

    def __init__(
        self, config: Path, environ: dict[str, str], *, command: Sequence[str] = (), forked: bool = True
    ) -> None:
        """`command` replaces `gateway serve --config …`, a module and its arguments. Not `forked`: started from nothing."""
        self.config = config
        self.environ = environ
        self._command = command or ("gateway", "serve", "--config", str(config))
        self._forked = forked
        self.url = ""
        self.ready_line = ""
        self.log: list[str] = []
        self._process: asyncio.subprocess.Process | Forked | None = None
        self._reader: asyncio.Task[None] | None = None
        self._more = asyncio.Event()

    async def start(self) -> None:
        """Start it and wait for the ready line."""
        if self._forked:
            self._process = await fork(*self._command, env=self.environ, limit=2**22)
        else:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", *self._command, cwd=ROOT, env=self.environ,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, limit=2**22,
            )  # fmt: skip
        assert self._process.stdout is not None
        self._reader = asyncio.create_task(self._read_log())
        async with asyncio.timeout(60):
            line = (await self._process.stdout.readline()).decode()
        assert line.startswith("Clew is ready: "), (line, *self.log[-30:])
        self.ready_line = line.strip()
        self.url = line.split()[3].rstrip("/")

    async def _read_log(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self.log.append(line.decode("utf-8", "replace").rstrip())
            self._more.set()

    async def logged(self, *texts: str, after: int = 0) -> None:
        """Wait until a line behind the first `after` ones holds all `texts`."""
        async with asyncio.timeout(30):
            while not any(all(text in line for text in texts) for line in self.log[after:]):
                self._more.clear()
                await self._more.wait()

    async def dead(self) -> None:
        """Wait until the process has died by itself."""
        assert self._process is not None
        async with asyncio.timeout(60):
            assert await self._process.wait() == -signal.SIGKILL

    def tell(self, how: signal.Signals) -> None:
        """Send a signal and go on."""
        assert self._process is not None
        self._process.send_signal(how)

    async def ended(self) -> int:
        """Wait for the end that a signal brings; return the exit code."""
        assert self._process is not None
        assert self._reader is not None
        async with asyncio.timeout(60):
            code = await self._process.wait()
            await self._reader
        return code

    async def over(self) -> int:
        """Wait for its end, however long; return the exit code."""
        assert self._process is not None
        return await self._process.wait()

    async def kill(self) -> None:
        """SIGKILL: nothing can be tidied up."""
        await self._end(signal.SIGKILL)

    async def end(self) -> None:
        """End it one way or the other; a process that ends by itself leaves its coverage behind."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(3):
                    await self._process.wait()
        await self.kill()

    async def stop(self) -> int:
        """SIGTERM, and wait for the orderly end; return the exit code."""
        return await self._end(signal.SIGTERM)

    async def _end(self, how: signal.Signals) -> int:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(how)
        async with asyncio.timeout(60):
            code = await self._process.wait()
            if self._reader is not None:
                await self._reader
        return code

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid


def in_folder(folder: Path) -> str:
    """Where a gateway stores if nothing else is said."""
    return f"sqlite:///{folder / 'clew.db'}"


def write_config(folder: Path, body: str, *, storage: str | None = None, server: str = "") -> Path:
    """Write a settings file that stores in `folder` (or at `storage`) and listens on a free port; `server` is more of that
    section. No embedder is loaded unless `body` names one: that takes a second each time."""
    path = folder / "clew.yaml"
    more = "" if "embedder:" in body else "\nembedder: {kind: none}\n"
    path.write_text(f"server: {{port: 0, {server}}}\nstorage: {storage or in_folder(folder)}\n{body}{more}", "utf-8")
    return path


def environ(**more: str) -> dict[str, str]:
    """Return a clean environment for the process: no key or address of the surroundings leaks into a test."""
    kept = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "COVERAGE_PROCESS_CONFIG") if name in os.environ
    }
    if MEASURE in os.environ:
        kept["COVERAGE_PROCESS_START"] = str(ROOT / "pyproject.toml")
    return kept | {"PYTHONWARNINGS": "error", "HOOK": SECRET} | more


async def command(*arguments: str | Path, stdin: str = "", **env: str) -> tuple[int, str, str]:
    """Run `python -m gateway` with these arguments to its end; return exit code, output and errors."""
    process = await fork("gateway", *map(str, arguments), env=environ(**env))
    try:
        async with asyncio.timeout(60):
            out, err = await process.communicate(stdin.encode())
    finally:
        if process.returncode is None:
            process.kill()
    return await process.wait(), out.decode(), err.decode()


@asynccontextmanager
async def gateway(config: Path, *, command: Sequence[str] = (), **env: str) -> AsyncIterator[Gateway]:
    """Run a gateway; at the end it is asked to stop, and killed if it does not within three seconds."""
    process = Gateway(config, environ(**env), command=command)
    try:
        await process.start()
        yield process
    finally:
        await process.end()


class Hook:
    """A program that talks to one webhook channel, signing what it sends."""

    def __init__(self, session: aiohttp.ClientSession, gateway: Gateway, channel: str = "hook") -> None:
        self._session = session
        self._gateway = gateway
        self._channel = channel
        self._number = 0

    async def post(self, body: dict[str, Any], *, webhook_id: str | None = None) -> tuple[int, dict[str, Any]]:
        """Sign and send a body as it is; return status and answer."""
        raw = json.dumps(body, ensure_ascii=False).encode()
        webhook_id = webhook_id or f"msg_{time.monotonic_ns()}"
        now = datetime.now(tz=UTC)
        headers = {
            "content-type": "application/json",
            "webhook-id": webhook_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(SECRET).sign(webhook_id, now, raw.decode()),
        }
        url = f"{self._gateway.url}/channels/{self._channel}"
        async with self._session.post(url, data=raw, headers=headers) as response:
            return response.status, await response.json()

    async def say(
        self, text: str, *, sender: str = "u1", name: str = "", conversation: str = "c1", chat_type: str = "private",
        message_id: str | None = None, mode: str = "sync", **more: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Say something and return the turn."""
        self._number += 1
        body = {
            "conversation": conversation,
            "chat_type": chat_type,
            "sender": {"id": sender, "name": name or sender},
            "message": {"id": message_id or f"m{time.monotonic_ns()}-{self._number}", "text": text},
            "mode": mode,
            **more,
        }
        status, answer = await self.post(body)
        assert status in (200, 202), (status, answer)
        return answer

    async def turn(self, turn: dict[str, Any]) -> dict[str, Any]:
        """Look at a turn again, with its token."""
        url = f"{self._gateway.url}/channels/{self._channel}/turns/{turn['turn']}"
        async with self._session.get(url, headers={"authorization": f"Bearer {turn['token']}"}) as response:
            assert response.status == 200, await response.text()
            return await response.json()

    async def settled(self, turn: dict[str, Any], *, timeout_s: float = 30) -> dict[str, Any]:
        """Follow a turn's events to its end and return the last view."""
        return await self._until(turn, lambda name, _: name in ("done", "failed"), timeout_s=timeout_s)

    async def read(self, turn: dict[str, Any]) -> tuple[str, str]:
        """Follow a turn's events from the beginning to its end; return its status and the text as it has grown. Raises EOFError
        where the stream breaks off before."""
        text = ""
        url = f"{self._gateway.url}/channels/{self._channel}/turns/{turn['turn']}/events"
        async with self._session.get(url, headers={"authorization": f"Bearer {turn['token']}"}) as response:
            response.raise_for_status()
            async for name, data in sse(response):
                if name in ("delta", "reset"):
                    text = data["text"] if name == "reset" else text + data["text"]
                if name in ("done", "failed"):
                    return data["status"], text
        raise EOFError

    async def shown(self, turn: dict[str, Any], text: str) -> None:
        """Wait until the turn's stream has shown `text`."""
        seen = ""

        def enough(name: str, data: dict[str, Any]) -> bool:
            nonlocal seen
            if name in ("delta", "reset"):
                seen = data["text"] if name == "reset" else seen + data["text"]
            return text in seen

        await self._until(turn, enough, timeout_s=30)

    async def _until(
        self, turn: dict[str, Any], enough: Callable[[str, dict[str, Any]], bool], *, timeout_s: float
    ) -> dict[str, Any]:
        url = f"{self._gateway.url}/channels/{self._channel}/turns/{turn['turn']}/events"
        async with asyncio.timeout(timeout_s):
            async with self._session.get(url, headers={"authorization": f"Bearer {turn['token']}"}) as response:
                async for name, data in sse(response):
                    if enough(name, data):
                        return data
        raise AssertionError("the stream ended too early")


def rows(storage: str, query: str, *parameters: object) -> list[tuple[Any, ...]]:
    """Read from a gateway's database, beside it; `?` stands for a parameter. `storage`: as in the settings file."""
    url = storage.partition("\n")[0]
    if not url.startswith("sqlite:///"):
        with psycopg.connect(as_admin(url)) as server:
            return server.execute(query.replace("?", "%s").encode(), parameters or None).fetchall()
    file = url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)) as opened:
        return opened.execute(query, parameters).fetchall()


def write(storage: str, *statements: str) -> None:
    """Change a gateway's database, past it, in one transaction. `storage`: as in the settings file."""
    url = storage.partition("\n")[0]
    if not url.startswith("sqlite:///"):
        with psycopg.connect(as_admin(url)) as server:
            for statement in statements:
                server.execute(statement.encode())
        return
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=10)) as opened:
        for statement in ("BEGIN IMMEDIATE", *statements, "COMMIT"):
            opened.execute(statement)


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Hold a SQLite file as another program would: nobody else can write to it."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def sse(response: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, Any]]:
    """Yield (event name, decoded data) of an event stream."""
    async for _, name, data in numbered(response):
        yield name, data


async def numbered(response: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, str, Any]]:
    """Yield (event id, event name, decoded data) of an event stream."""
    id_, name, data = "", "", ""
    async for raw in response.content:
        line = raw.decode().rstrip("\n").rstrip("\r")
        if line.startswith("id:"):
            id_ = line[3:].strip()
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data += line[5:].strip()
        elif not line and data:
            yield id_, name, json.loads(data)
            name, data = "", ""
