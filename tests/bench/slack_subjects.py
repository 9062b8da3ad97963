"""What the Slack benchmark compares, each a process of its own: `python -m tests.bench.slack_subjects NAME URL [STORAGE]`.

All of them verify a mention, ask the same model by the same bare client, and post the answer into the thread. `URL` is the
sink of `slack.py`: platform and model at once. Each prints the port it listens on.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import msgspec
from aiohttp import web

from adapters.base import InboundEvent, MessageEvent, TurnView
from tests.bench.slack_load import BOT_TOKEN, CHANNEL, SIGNING_SECRET

SYSTEM = "You are a helpful assistant. " * 6
Listen = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Model:
    """The bare client that all subjects ask with: what a model's client costs is `model_client`'s figure."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/v1/chat/completions"
        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def ask(self, prompt: list[dict[str, str]]) -> str:
        body = msgspec.json.encode({"model": "stub", "stream": True, "messages": prompt})
        said: list[str] = []
        async with self.session.post(self._url, data=body, headers={"content-type": "application/json"}) as answer:
            async for line in answer.content:
                if line.startswith(b"data: {"):
                    said += [
                        choice["delta"].get("content") or "" for choice in msgspec.json.decode(line[6:])["choices"]
                    ]
        return "".join(said)

    async def answer(self, text: str) -> str:
        return await self.ask([{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}])


async def limit(url: str, storage: str) -> None:
    """The least that does the work: one aiohttp handler, msgspec, one shared session, no SDK."""
    model, tasks = Model(url), set[asyncio.Task[None]]()

    async def reply(event: dict[str, str]) -> None:
        text = await model.answer(event["text"])
        post = {"channel": event["channel"], "thread_ts": event["thread_ts"], "text": text}
        headers = {"content-type": "application/json", "authorization": f"Bearer {BOT_TOKEN}"}
        async with model.session.post(
            f"{url}/api/chat.postMessage", data=msgspec.json.encode(post), headers=headers
        ) as r:
            assert msgspec.json.decode(await r.read())["ok"]

    async def handle(request: web.Request) -> web.Response:
        raw, stamp = await request.read(), request.headers["X-Slack-Request-Timestamp"]
        made = hmac.new(SIGNING_SECRET.encode(), b"v0:%s:%s" % (stamp.encode(), raw), hashlib.sha256).hexdigest()
        assert hmac.compare_digest(f"v0={made}", request.headers["X-Slack-Signature"])
        assert abs(time.time() - int(stamp)) < 300
        task = asyncio.create_task(reply(msgspec.json.decode(raw)["event"]))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return web.Response()

    await listening(handle)


async def bolt(url: str, storage: str) -> None:
    """slack-bolt as its documentation shows it."""
    from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
    from slack_bolt.async_app import AsyncApp
    from slack_sdk.web.async_client import AsyncWebClient

    model = Model(url)
    client = AsyncWebClient(token=BOT_TOKEN, base_url=f"{url}/api/")
    app = AsyncApp(signing_secret=SIGNING_SECRET, client=client)

    @app.event("app_mention")
    async def answer(event, say):  # type: ignore[no-untyped-def]  # bolt reads the names
        await say(await model.answer(event["text"]), thread_ts=event["thread_ts"])

    async def handle(request: web.Request) -> web.StreamResponse:
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    await listening(handle)


async def edge(url: str, storage: str) -> None:
    """Our server, Slack adapter, admission, routing, naming and rendering; nothing stored."""
    await ours(url, storage=None)


async def core(url: str, storage: str) -> None:
    """The same with the memory core on PostgreSQL: person, append and load, prompt and ledger, append."""
    await ours(url, storage=storage)


async def ours(url: str, *, storage: str | None) -> None:
    from adapters.slack.adapter import SlackAdapter
    from config.channels.slack import SlackSettings
    from config.loader import load
    from config.settings import ServerSettings
    from gateway.hot.process import ProcessShelf
    from gateway.http import HttpServer
    from tests.bench.slack import config_of
    from tests.serving import all_well, one_metric

    with TemporaryDirectory() as folder:
        path = Path(folder) / "clew.yaml"
        path.write_text(config_of(url, channels=1), "utf-8")
        configuration = load(path, {})
        settings = configuration.settings.channels[CHANNEL.format(0)]
        assert isinstance(settings, SlackSettings)
        adapter = SlackAdapter(CHANNEL.format(0), settings=settings, shelf=ProcessShelf())
    async with remembering(storage) as remember:
        intake = Passing(configuration, adapter, Model(url), remember)
        server = HttpServer(
            settings=ServerSettings(port=0), intake=intake, channel=lambda name: adapter, console=lambda: None,
            ready=all_well, metrics=one_metric,
        )  # fmt: skip
        async with adapter.running(intake), server.running() as port:
            print(port, flush=True)
            await asyncio.Event().wait()


class Passing:
    """An intake that keeps nothing: decides, and answers in a task of its own."""

    def __init__(self, configuration, adapter, model: Model, remember) -> None:  # type: ignore[no-untyped-def]
        self._configuration, self._adapter, self._model, self._remember = configuration, adapter, model, remember
        self._tasks = set[asyncio.Task[None]]()
        self._numbers = itertools.count(time.time_ns())

    async def accept(self, event: InboundEvent, *, fingerprint: str | None = None) -> TurnView:
        from gateway.admission import admit
        from gateway.commands import parse_command
        from gateway.routing import route

        assert isinstance(event, MessageEvent)
        settings = self._configuration.effective(event.channel, event.room, event.thread)
        known = parse_command(event.text) is not None
        verdict = admit(event, settings, known_command=known, over_limit=False)
        assert verdict.action == "answer", verdict
        routed = route(event, configuration=self._configuration, chosen_agent=None, rule=verdict.rule)
        task = asyncio.create_task(self._answer(routed, next(self._numbers)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return TurnView(turn="1", status="accepted")

    async def _answer(self, routed, number: int) -> None:  # type: ignore[no-untyped-def]
        event = await self._adapter.named(routed.event)
        if self._remember is None:
            text = await self._model.answer(event.text)
        else:
            text = await self._remember(routed, event, number, self._model)
        for index, chunk in enumerate(self._adapter.chunks(text)):
            await self._adapter.send(routed.address, chunk, chunk_id=f"{number}.{index}")


@asynccontextmanager
async def remembering(storage: str | None) -> AsyncIterator[object]:
    """Give what answers a turn out of memory; None without a storage."""
    if storage is None:
        yield None
        return
    from gateway.people import People
    from memory.ids import Ids
    from memory.policy import Policy
    from memory.service import Memory
    from memory.stores.postgres import PostgresStore
    from memory.tokens import Tokenizers
    from memory.turn import Incoming, Reply, TurnRequest

    policy = Policy(system=SYSTEM)
    async with PostgresStore(storage, ids=Ids(1), pool_size=10, timeout_s=5) as store:
        memory, people = Memory(store, tokenizers=Tokenizers()), People(store)

        async def remember(routed, event: MessageEvent, number: int, model: Model) -> str:  # type: ignore[no-untyped-def]
            said = Incoming(
                key=routed.conversation_key(), event_id=number, text=event.text, speaker_name=event.sender.name,
                person_id=await people.person(event.sender, kind="slack"), platform_message_id=event.message_id,
            )  # fmt: skip
            turn = TurnRequest(
                turn_id=number, scope=routed.memory_scope(), messages=(said,), policy=policy, fence=1,
                revision=routed.revision,
            )  # fmt: skip
            prepared = await memory.load_and_append(turn)
            prompt = [{"role": "system", "content": prepared.context.system}]
            prompt += [{"role": one.role, "content": one.text} for one in prepared.context.messages]
            text = await model.ask(prompt)
            await memory.append(prepared, Reply(text=text), fence=1)
            return text

        yield remember


async def listening(handle: Listen) -> None:
    app = web.Application()
    app.router.add_post("/channels/{name}", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


SUBJECTS: dict[str, Callable[[str, str], Awaitable[None]]] = {"limit": limit, "bolt": bolt, "edge": edge, "core": core}

if __name__ == "__main__":
    name, url, *storage = sys.argv[1:]
    asyncio.run(SUBJECTS[name](url, *storage or [""]))  # type: ignore[arg-type]
