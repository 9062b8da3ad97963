"""What is fuzzed: a gateway with every kind of channel and its admins' doors, what is handed in at each, and who says something
good there."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from gateway.admin.binding import in_query
from gateway.admin.console.parts import PARTS
from gateway.admin.table import OPERATIONS
from tests.admin_examples import example
from tests.attacks.fuzz import others, targets
from tests.attacks.fuzz.targets import Target
from tests.emulators.oidc.provider import CLIENT_ID, CLIENT_SECRET, Issuer, issuer
from tests.scenarios.admins import Admins, Reader, asked
from tests.scenarios.platforms import Room, World, world
from tests.scenarios.stage import Stage
from tests.scenarios.test_admin_console_rights import FORMS, filled
from tests.scenarios.world import ROOT, Hook
from tests.serving import JWT_SECRET

SHARES = {
    "webhook hook": 14, "webhook api": 6, "chat page": 9, "looks": 8, "Slack events": 16, "Slack forms": 6, "Slack socket": 10,
    "Telegram webhook": 13, "Telegram polled": 7, "admin API": 6, "console forms": 3, "settings": 5, "command line": 0.6,
    "ways back": 2,
}  # fmt: skip
"""Of a run's kinds, for each target."""

BODY = (
    """  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 100000}, body_s: 1, sync_s: 5}
  api:
    kind: webhook
    jwt: {algorithms: [HS256], issuer: "https://id.example", audience: clew, secret: "SHARED"}
    limits: {per_minute: 100000}
    body_s: 1
    sync_s: 5
  chat: {kind: console, limits: {per_minute: 100000}, body_s: 1}
memory: {model: none}
admin: {oidc: {issuer: "ISSUER", client_id: CLIENT, client_secret: "OIDC_SECRET", roles: {admins: [viewer]}}}
""".replace("SHARED", JWT_SECRET)
    .replace("CLIENT", CLIENT_ID)
    .replace("OIDC_SECRET", CLIENT_SECRET)
)

LEFT_ALONE = {"users.password", "users.add", "turns.tail", "users.remove", "tokens.revoke", "sessions.end"}
"""Acts that cost a password's hash each, do not end, or would end who asks."""


@dataclass
class There:
    """The world that is fuzzed."""

    world: World
    stage: Stage
    admins: Admins
    provider: Issuer
    targets: list[Target]
    good: dict[str, Callable[[], Awaitable[None]]]  # by the target's name: say something good, and see it answered
    channels: dict[str, str]  # by the target's name: whose rows and lines are counted

    def port(self) -> int:
        return urlsplit(self.world.gateway.url).port or 0

    def rows(self, channel: str) -> int:
        return int(self.stage.rows("SELECT count(*) FROM inbox_events WHERE channel = ?", channel)[0][0])

    def memory_mb(self) -> int:
        status = Path(f"/proc/{self.world.gateway.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) // 1024 if found else 0


@asynccontextmanager
async def fuzzed(folder: Path, *, storage: str | None = None) -> AsyncIterator[There]:
    """Run the world; `storage` None: in the folder."""
    async with (
        aiohttp.ClientSession() as session,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as stranger,
        issuer() as provider,
        world(
            folder,
            agents="default: {kind: demo}",
            memory="body_s: 1",
            body=BODY.replace("ISSUER", provider.url),
            server="log_level: debug, keepalive_s: 2",
            storage=storage,
        ) as there,
    ):
        stage = Stage(folder, there.model, there.gateway, session, storage)
        admins = Admins(stage)
        await admins.user("Olga")
        made = There(there, stage, admins, provider, [], {}, {})
        made.targets += await _targets(made, browser, stranger, folder)
        _good(made, session)
        yield made


async def _targets(
    made: There, browser: aiohttp.ClientSession, stranger: aiohttp.ClientSession, folder: Path
) -> list[Target]:
    http, socket = made.world.slack("slack-http"), made.world.slack("slack-socket")
    polled, pushed = made.world.telegram("telegram-polling"), made.world.telegram("telegram-webhook")
    owner = await made.admins.token("owner")
    hook = Hook(made.stage.session, made.world.gateway)
    said = await hook.say("hello", sender="alice", name="Alice")
    made.channels = {
        "webhook hook": "hook", "webhook api": "api", "chat page": "chat", "Slack events": "slack-http",
        "Slack forms": "slack-http", "Slack socket": "slack-socket", "Telegram webhook": "telegram-webhook",
        "Telegram polled": "telegram-polling",
    }  # fmt: skip
    cookie, csrf = await _signed_in(made, browser)
    words = {"TURN": said["turn"], "TAKEOVER": "1", "PERSON": "1", "USER": "2", "ROLE": "owner"}
    pages = {
        path: (path, fields) for path, fields in filled(FORMS, words) if "password" not in path and "remove" not in path
    }
    acts = {
        act.name: dict(zip(("method", "path", "body"), _request(act), strict=True))
        for act in OPERATIONS
        if not in_query(act) and act.name not in LEFT_ALONE
    }
    config = made.stage.gateway.config
    return [
        targets.webhook("hook", made.port),
        targets.bearer("api", made.port),
        targets.chat("chat", made.port),
        targets.looks(made.port, _looks(said, owner)),
        *targets.slack_http(
            http.name, made.port, secret=http.app.signing_secret, team=http.here.id, app=http.app.id, bot=http.bot.id
        ),
        others.SocketTarget(socket.app.sockets, team=socket.here.id, app=socket.app.id, bot=socket.bot.id),
        targets.telegram_http(pushed.name, made.port, secret="s3cret"),
        others.PolledTarget(made.world.tg, polled.bot),
        targets.admin(made.port, acts, owner),
        targets.forms(made.port, pages, cookie=cookie, csrf=csrf),
        others.BackTarget(stranger, made.provider, made.port),
        others.YamlTarget(folder, {"default": (ROOT / "config/default.yaml").read_text(), "whole": config.read_text()}),
        others.CommandTarget(LINES, config),
    ]  # fmt: skip


def _request(act: Any) -> tuple[str, str, Any]:
    method, path, body = asked(act, example(act))
    return method, f"/api/v1{path}", body


async def _signed_in(made: There, browser: aiohttp.ClientSession) -> tuple[str, str]:
    reader = Reader(browser, made.world.gateway.url)
    await reader.sign_in("Olga")
    cookie = "; ".join(f"{one.key}={one.value}" for one in browser.cookie_jar)
    return cookie, reader.csrf


def _looks(said: dict[str, Any], owner: str) -> dict[str, Any]:
    """GETs of every door: a turn and its events, the chat page's, every act of the admins' that is asked for by GET, every page
    of the console by somebody who is not signed in."""
    turn, token = said["turn"], {"token": said["token"]}
    talk = {"room": "r1", "chat_type": "private", "person": "alice", "after": "1"}
    found: dict[str, Any] = {
        "a turn": _look(f"channels/hook/turns/{turn}", token, Accept="*/*"),
        "its events": _look(f"channels/hook/turns/{turn}/events", token, Accept="text/event-stream"),
        "its events again": _look(f"channels/hook/turns/{turn}/events", token, **{"Last-Event-ID": "1-1"}),
        "the page's memory": _look("chat/memory", {"person": "alice", "language": "zh"}, Origin="null"),
        "what was said": _look("chat/said", talk),
        "a ledger": _look(f"chat/turns/{turn}/ledger", {"token": "x"}, **{"If-None-Match": '"x"'}),
        "a file": _look("chat/static/chat.js", {"v": "1"}, Range="bytes=0-", **{"If-None-Match": 'W/"x"'}),
        "health": _look("readyz", {"x": "1"}, **{"X-Forwarded-For": "1.1.1.1"}),
    }
    for act in OPERATIONS:
        if in_query(act) and act.method == "GET" and act.name not in LEFT_ALONE:
            _, path, _ = asked(act, example(act))
            plain, _, query = path.partition("?")
            own = dict(pair.partition("=")[::2] for pair in query.split("&") if pair)
            more = own | {"limit": "5", "after": "x", "channel": "hook"}
            found[act.name] = _look(f"api/v1{plain}", more, Authorization=f"Bearer {owner}")
    for part in PARTS:
        for page in part.pages:
            if page.method == "GET" and "{" not in page.path:
                asked_for = {"lang": "zh", "after": "1", "room": "x", "channel": "hook"}
                found[f"console {page.path}"] = _look(f"admin{page.path}", asked_for, Cookie="clew_session=x")
    return found


def _look(path: str, query: dict[str, str], **headers: str) -> dict[str, Any]:
    return {"path": path.strip("/").split("/"), "query": query, "headers": headers}


LINES: dict[str, list[str]] = {
    "check": ["check", "--json"],
    "show": ["show", "hook", "c1", "t1", "--json"],
    "explain": ["explain", "123456789", "--json"],
    "replay": ["replay", "123456789", "--set", "turns=4", "--json"],
    "people": ["people", "show", "webhook:hook:alice", "--json"],
    "people list": ["people", "list"],
    "people export": ["people", "export", "12"],
    "db": ["db", "status"],
    "manifest": ["manifest", "slack-http"],
    "turns": ["turns", "list"],
}
"""Lines of the command line that only look."""


def _good(made: There, session: aiohttp.ClientSession) -> None:
    """Fill in who says something good at each door."""
    hook = Hook(session, made.world.gateway)

    async def webhook() -> None:
        turn = await hook.say("Are you there? 你在吗？", sender="good", conversation="good")
        assert turn["reply"]["text"], turn

    async def alive() -> None:
        async with session.get(f"{made.world.gateway.url}/readyz") as response:
            assert response.status == 200, await response.text()
        await webhook()

    def room(name: str) -> Callable[[], Awaitable[None]]:
        there: Room = made.world.sides[name].private("Good")

        async def says() -> None:
            before = len(there.replies())

            def answered(replies: list[str]) -> bool:
                return len(replies) > before and replies[-1] != ""

            await there.says("Are you there? 你在吗？")
            with suppress(AssertionError):  # what the bent ones are answered may have used up the platform's budget
                await there.until(answered)
            await there.until(answered)

        return says

    rooms = {name: room(name) for name in made.world.sides}
    for target in made.targets:
        made.good[target.name] = rooms.get(made.channels.get(target.name, ""), alive)
