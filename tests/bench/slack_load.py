"""The load of the Slack benchmark: signed mentions, and the sink that is platform and model at once and sees the answers come."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from memory.extraction import SYSTEM
from tests.bench.consumption import cpu_s
from tests.bench.turns import rss_mb
from tests.loopback import on_loopback

BOT_TOKEN, SIGNING_SECRET, CHANNEL = "xoxb-bench", "bench-s3cr3t", "acme-{}"
CHANNELS, ROOMS, PEOPLE = 20, 20, 10
"""Workspaces, threads of each, people of each: so many that no limit of Slack's is met (300 messages a minute in a workspace, one
a second in a channel), and no two turns of one thread are under way."""

WAIT_S = 60.0
ABOUT_MEMORY, NOTHING = msgspec.json.encode(SYSTEM[:60])[1:-1], '{"changes": []}'
_ID = re.compile(r"order-(\d+-\d+)")


@dataclass(slots=True)
class Sink:
    """Platform and model. `awaited` is set when the answer to a message has come."""

    url: str = ""
    awaited: dict[str, asyncio.Event] = field(default_factory=dict)
    _posts: int = 0

    async def complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        if ABOUT_MEMORY in raw:  # nothing is learned, said in the form that is asked for
            return _streamed([NOTHING])
        asked = asked_in(msgspec.json.decode(raw))
        parts = [f"**Order** order-{asked} left on Tuesday; ", "it arrives ", "on Friday. 预计周五送达。"]
        return _streamed(parts)

    async def posted(self, request: web.Request) -> web.Response:
        text = msgspec.json.decode(await request.read())["text"]
        self._posts += 1
        if found := _ID.search(text):
            self.answered(found[1])
        return _ok({"ts": f"1700000000.{self._posts:06d}", "channel": "C1"})

    def answered(self, id_: str) -> None:
        """Note that an answer to the message has come."""
        self.awaited[id_].set()

    async def called(self, request: web.Request) -> web.Response:
        match request.match_info["method"]:
            case "auth.test":
                told = {"team_id": "T1", "user_id": "UBOT", "bot_id": "BBOT", "user": "clew", "team": "Acme"}
            case "users.info":
                told = {"user": {"id": "U1", "name": "ann", "profile": {"display_name": "Ann"}}}
            case _:
                told = {}
        return _ok(told)


def asked_in(body: dict[str, Any]) -> str:
    """Return the id of the message that a request to the model asks about; 0-0 is none that was sent as a mention."""
    return str(["0-0", *_ID.findall(body["messages"][-1]["content"])][-1])


def _streamed(parts: Sequence[str]) -> web.Response:
    chunks = [{"delta": {"content": part}, "finish_reason": None} for part in parts]
    chunks.append({"delta": {}, "finish_reason": "stop"})
    body = b"".join(b"data: " + msgspec.json.encode({"choices": [chunk | {"index": 0}]}) + b"\n\n" for chunk in chunks)
    return web.Response(body=body + b"data: [DONE]\n\n", content_type="text/event-stream")


def _ok(told: dict[str, object]) -> web.Response:
    return web.Response(body=msgspec.json.encode({"ok": True, **told}), content_type="application/json")


@asynccontextmanager
async def sink(there: Sink | None = None) -> AsyncIterator[Sink]:
    there = there or Sink()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", there.complete)
    app.router.add_post("/api/chat.postMessage", there.posted)
    app.router.add_route("*", "/api/{method}", there.called)
    async with on_loopback(app, access_log=None, shutdown_timeout=0.1) as there.url:
        yield there


@dataclass(slots=True)
class Spent:
    """What a load took: each turn's time in ms, all seconds, the CPU of who answered and of its database; and what memory it had
    then."""

    times_ms: list[float] = field(default_factory=list)
    seconds: float = 0
    cpu_s: float = 0
    server_s: float = 0
    rss_mb: float = 0
    lost: int = 0

    @property
    def cpu_ms(self) -> float:
        """Return the CPU of a turn, without the database's."""
        return self.cpu_s * 1000 / len(self.times_ms)

    @property
    def server_ms(self) -> float:
        """Return the database's CPU of a turn."""
        return self.server_s * 1000 / len(self.times_ms)

    @property
    def per_s(self) -> float:
        """Return the turns a second."""
        return len(self.times_ms) / self.seconds


async def load(
    there: Sink,
    url: str,
    pid: int,
    *,
    first: int,
    in_flight: int,
    turns: int,
    server_s: Callable[[], float],
    settled: Callable[[], Awaitable[None]],
) -> Spent:
    """Send `turns` mentions, `in_flight` at a time, each in a thread that has none under way; `first` numbers them on. A turn
    lasts from its event to the answer's arrival at the platform; CPU is counted until all is `settled` that the answers left
    behind."""
    numbers, spent = iter(range(first, first + turns)), Spent()
    cpu, theirs, began = cpu_s(pid), server_s(), time.perf_counter()

    async def sender(session: aiohttp.ClientSession) -> None:
        for number in numbers:
            id_ = f"{number}-{time.monotonic_ns()}"
            came = there.awaited[id_] = asyncio.Event()
            path, raw, headers = mention(number, id_)
            sent = time.perf_counter()
            async with session.post(f"{url}{path}", data=raw, headers=headers) as answer:
                assert answer.status == 200, await answer.text()
            try:
                await asyncio.wait_for(came.wait(), WAIT_S)
                spent.times_ms.append((time.perf_counter() - sent) * 1000)
            except TimeoutError:
                spent.lost += 1
            del there.awaited[id_]

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session, asyncio.TaskGroup() as tasks:
        for _ in range(in_flight):
            tasks.create_task(sender(session))
    spent.seconds = time.perf_counter() - began
    await settled()
    spent.cpu_s, spent.server_s, spent.rss_mb = cpu_s(pid) - cpu, server_s() - theirs, rss_mb(pid)
    return spent


def mention(number: int, id_: str) -> tuple[str, bytes, dict[str, str]]:
    """Return path, body and headers of one mention in a thread that stands already."""
    workspace, place = number % CHANNELS, number // CHANNELS
    text, ts = f"<@UBOT> could you check whether order-{id_} has been shipped?", f"1700000001.{number:06d}"
    inner = [{"type": "user", "user_id": "UBOT"}, {"type": "text", "text": text.removeprefix("<@UBOT>")}]
    event = {
        "type": "app_mention", "user": f"U{place % PEOPLE}", "team": "T1", "text": text, "ts": ts, "event_ts": ts,
        "channel": f"C{workspace}X{place % ROOMS}", "thread_ts": "1600000000.000100", "parent_user_id": "U0",
        "client_msg_id": "1f9d7ad8-5d2a-4b2e-8f0a-7b6e4a1c0001",
        "blocks": [
            {"type": "rich_text", "block_id": "b1", "elements": [{"type": "rich_text_section", "elements": inner}]}
        ],
    }  # fmt: skip
    body = {
        "token": "t", "team_id": "T1", "api_app_id": "A1", "type": "event_callback", "event_id": f"Ev{id_}",
        "event_time": 1700000001, "is_ext_shared_channel": False, "event_context": "4-e", "event": event,
        "authorizations": [{"enterprise_id": None, "team_id": "T1", "user_id": "UBOT", "is_bot": True}],
    }  # fmt: skip
    raw, stamp = msgspec.json.encode(body), str(int(time.time()))
    made = hmac.new(SIGNING_SECRET.encode(), b"v0:%s:%s" % (stamp.encode(), raw), hashlib.sha256).hexdigest()
    headers = {
        "content-type": "application/json",
        "x-slack-request-timestamp": stamp,
        "x-slack-signature": f"v0={made}",
    }
    return f"/channels/{CHANNEL.format(workspace)}", raw, headers
