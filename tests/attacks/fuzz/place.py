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

from adapters.console.access import cookie_value
from gateway.admin.binding import fields, in_query
from gateway.admin.console.parts import PARTS
from gateway.admin.table import OPERATIONS
from tests.admin_examples import example
from tests.attacks.fuzz import entries, others, targets
from tests.attacks.fuzz.targets import Target
from tests.emulators.oidc.provider import CLIENT_ID, CLIENT_SECRET, Issuer, issuer
from tests.scenarios.admins import Admins, Reader, asked
from tests.scenarios.hostile import found
from tests.scenarios.platforms import Room, World, world
from tests.scenarios.stage import Stage
from tests.scenarios.test_admin_console_rights import FORMS, filled
from tests.scenarios.world import ROOT, Hook
from tests.serving import JWT_SECRET

SHARES = {
    "webhook hook": 13, "webhook api": 5, "chat page": 8, "chat token": 2, "chat memory": 3, "looks": 10,
    "Slack events": 15, "Slack forms": 5, "Slack socket": 9, "Telegram webhook": 12, "Telegram polled": 6, "admin API": 6,
    "admin API, deletes": 2, "console forms": 5, "console entrance": 4, "settings": 4, "command line": 0.6, "ways back": 2,
}  # fmt: skip
"""Of a run's kinds, for each target."""

PAGE_TOKEN = "the token of the chat page"
BODY = (
    """  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 100000}, body_s: 1, sync_s: 5}
  api:
    kind: webhook
    jwt: {algorithms: [HS256], issuer: "https://id.example", audience: clew, secret: "SHARED"}
    limits: {per_minute: 100000}
    body_s: 1
    sync_s: 5
  chat: {kind: console, token: "PAGE_TOKEN", limits: {per_minute: 100000}, body_s: 1}
  other: {kind: webhook, secrets: ["${HOOK}"]}
memory: {model: none}
admin:
  sign_in: {address_tries: ADDRESS_TRIES, account_tries: 100000}
  oidc: {issuer: "ISSUER", client_id: CLIENT, client_secret: "OIDC_SECRET", roles: {admins: [viewer]}}
""".replace("SHARED", JWT_SECRET)
    .replace("PAGE_TOKEN", PAGE_TOKEN)
    .replace("ADDRESS_TRIES", str(entries.ADDRESS_TRIES))
    .replace("CLIENT", CLIENT_ID)
    .replace("OIDC_SECRET", CLIENT_SECRET)
)


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
    cookie: str = ""  # of the admin whose forms are bent

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
        await admins.user("Nora")
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
        "webhook hook": "hook", "webhook api": "api", "chat page": "chat",
        "Slack events": "slack-http", "Slack forms": "slack-http", "Slack socket": "slack-socket",
        "Telegram webhook": "telegram-webhook", "Telegram polled": "telegram-polling",
    }  # fmt: skip
    victim, gone = await made.admins.user("Vic"), await made.admins.user("Gwen")
    (person,) = found((await made.admins.ask(owner, "GET", "/people?who=alice")).body, "person")
    words = {"TURN": said["turn"], "TAKEOVER": "1", "PERSON": person, "USER": victim, "ROLE": "owner"}
    made.cookie, csrf = await _signed_in(made, browser)
    pages = {}
    for path, filled_in in filled(FORMS, words):
        if path not in OF_THE_ENTRANCE:
            where = path.replace(victim, gone) if path.endswith("/remove") else path
            pages[where] = where, filled_in
    acts = {
        act.name: dict(zip(("method", "path", "body"), _request(act, victim), strict=True))
        for act in OPERATIONS
        if not in_query(act)
    }
    config = made.stage.gateway.config
    return [
        targets.webhook("hook", made.port),
        targets.bearer("api", made.port),
        targets.chat("chat", made.port, PAGE_TOKEN),
        entries.chat_token("chat", made.port, PAGE_TOKEN),
        entries.MemoryTarget("chat", made.stage.session, made.port, PAGE_TOKEN),
        targets.looks("looks", made.port, _looks(said, owner, made.cookie, words)),
        *targets.slack_http(
            http.name, made.port, secret=http.app.signing_secret, team=http.here.id, app=http.app.id, bot=http.bot.id
        ),
        others.SocketTarget(socket.app.sockets, team=socket.here.id, app=socket.app.id, bot=socket.bot.id),
        targets.telegram_http(pushed.name, made.port, secret="s3cret"),
        others.PolledTarget(made.world.tg, polled.bot),
        targets.admin(made.port, acts, owner),
        targets.looks("admin API, deletes", made.port, _deletes(owner, gone), method="DELETE"),
        targets.forms(made.port, pages, cookie=made.cookie, csrf=csrf),
        entries.EntranceTarget(made.port, made.admins),
        others.BackTarget(stranger, made.provider, made.port),
        others.YamlTarget(folder, {"default": (ROOT / "config/default.yaml").read_text(), "whole": config.read_text()}),
        others.CommandTarget(LINES, config),
    ]  # fmt: skip


OF_THE_ENTRANCE = {"/admin/account/password"}
"""Forms that end the session of who sends them: `entries.py` has one for each."""


def _request(act: Any, victim: str) -> tuple[str, str, Any]:
    made = example(act)
    method, path, body = asked(act, made | ({"user": victim} if "user" in made else {}))
    return method, f"/api/v1{path}", body


async def _signed_in(made: There, browser: aiohttp.ClientSession) -> tuple[str, str]:
    reader = Reader(browser, made.world.gateway.url)
    await reader.sign_in("Olga")
    cookie = "; ".join(f"{one.key}={one.value}" for one in browser.cookie_jar)
    return cookie, reader.csrf


def _looks(said: dict[str, Any], owner: str, cookie: str, words: dict[str, str]) -> dict[str, Any]:
    """GETs of every door: a turn and its events, the chat page's, every act of the admins' that is asked for by GET, every page
    of the console; what can be seen by who is let in also by who is not."""
    turn, token = said["turn"], {"token": said["token"]}
    talk = {"room": "r1", "chat_type": "private", "person": "alice", "after": "1"}
    pages: dict[str, Any] = {
        "a turn": _look(f"channels/hook/turns/{turn}", token, Accept="*/*"),
        "its events": _look(f"channels/hook/turns/{turn}/events", token, Accept="text/event-stream"),
        "its events again": _look(f"channels/hook/turns/{turn}/events", token, **{"Last-Event-ID": "1-1"}),
        "the page": _look("", {"x": "1"}, **{"Accept-Language": "zh-CN,zh;q=0.9"}),
        "the page's memory": _look("chat/memory", {"person": "alice", "language": "zh"}, Origin="null"),
        "what was said": _look("chat/said", talk),
        "a ledger": _look(f"chat/turns/{turn}/ledger", {"token": "x"}, **{"If-None-Match": '"x"'}),
        "a file": _look("chat/static/chat.js", {"v": "1"}, Range="bytes=0-", **{"If-None-Match": 'W/"x"'}),
        "a file of the console": _look("admin/static/x/clew.css", {"v": "1"}, **{"If-None-Match": '"x"'}),
        "whether it is alive": _look("healthz", {"x": "1"}),
        "health": _look("readyz", {"x": "1"}, **{"X-Forwarded-For": "1.1.1.1"}),
        "metrics": _look("metrics", {"name[]": "x"}, Accept="application/openmetrics-text"),
        "what there is": _look("openapi.json", {"x": "1"}),
        "what there is for admins": _look("api/v1/openapi.json", {"x": "1"}),
        "no page": _look("admin/nowhere/", {"x": "1"}, Cookie=cookie),
    }
    inside = {"cookies": {"clew_chat": cookie_value(PAGE_TOKEN)}, "headers": {"Origin": "http://127.0.0.1"}}
    for name in ("the page", "the page's memory", "what was said", "a ledger"):
        pages[f"{name}, let in"] = {**pages[name], **inside}
    for act in OPERATIONS:
        if in_query(act) and act.method == "GET":
            _, path, _ = asked(act, example(act))
            plain, _, query = path.partition("?")
            own = dict(pair.partition("=")[::2] for pair in query.split("&") if pair)
            more = {
                name: value
                for name, value in {"limit": "5", "after": "x", "channel": "hook"}.items()
                if name in fields(act)
            }
            pages[act.name] = _look(f"api/v1{plain}", more | own, Authorization=f"Bearer {owner}")
    cookies = {**dict(one.split("=", 1) for one in cookie.split("; ")), "clew_told": entries.TOLD}
    for part in PARTS:
        for page in part.pages:
            if page.method == "GET":
                path = f"admin{_path(page.path, words)}"
                pages[f"console {page.path}"] = {
                    **_look(path, ASKED, Referer="http://x/admin/turns"),
                    "cookies": cookies,
                }
                pages[f"console {page.path}, a stranger"] = _look(path, ASKED, Cookie="clew_session=x")
    for path, query in (("admin/sign-in", {"next": "/admin/turns?x=1"}), ("admin", {"lang": "zh"})):
        pages[f"console {path}, a stranger"] = _look(path, query, **{"HX-Request": "true"})
    return pages


ASKED = {
    "lang": "zh", "after": "1", "room": "x", "channel": "hook", "by": "day", "entry": "1", "kind": "webhook", "measure": "tokens",
    "mode": "simple", "name": "x", "new": "1", "old": "0", "next": "/admin", "of": "everybody", "path": "learning", "probe": "1",
    "seen": "1", "since": "2026-11-30", "until": "2026-12-01", "stand": "1", "state": "all", "states": "answered", "who": "alice",
    "words": "hello", "actor": "user:1", "operation": "users.add", "outcome": "done", "code": "x", "rule": "mention",
    "person": "1", "link": "x", "day": "2026-12-01",
}  # fmt: skip
"""What pages of the console look at in their addresses, each at some of it."""


def _path(path: str, words: dict[str, str]) -> str:
    """Return a page's path with something in place of its fields."""
    there = {"turn": words["TURN"], "user": words["USER"], "person": words["PERSON"], "channel": "other", "number": "0"}
    return re.sub(r"{(\w+)(:([^{}]|{[^{}]*})*)?}", lambda field: there.get(field[1], "1"), path)


def _deletes(owner: str, user: str) -> dict[str, Any]:
    """Every act of the admins' that is asked for by DELETE, of what nobody needs."""
    unneeded = {"user": user, "token": "987654", "session": "987654", "channel": "other"}
    acts = {}
    for act in OPERATIONS:
        if act.method == "DELETE":
            made = example(act)
            _, path, _ = asked(act, made | {name: unneeded[name] for name in made if name in unneeded})
            plain, _, query = path.partition("?")
            own = dict(pair.partition("=")[::2] for pair in query.split("&") if pair)
            more = own | ({"expected": "77"} if "expected" in fields(act) else {})
            acts[act.name] = _look(f"api/v1{plain}", more, Authorization=f"Bearer {owner}")
            acts[f"{act.name}, more said"] = _look(f"api/v1{plain}", more | {"x": "1"}, Authorization=f"Bearer {owner}")
            acts[f"{act.name}, a stranger"] = _look(f"api/v1{plain}", more, Authorization="Bearer x.y")
    return acts


def _look(path: str, query: dict[str, str], **headers: str) -> dict[str, Any]:
    return {"path": path.split("/"), "query": query, "headers": headers}


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
        """What the bent ones are sent with still lets in: else they would be refused unread."""
        owner = {"Authorization": f"Bearer {made.admins.tokens['owner@all']}"}
        for path, headers in (("readyz", {}), ("api/v1/me", owner), ("admin/account", {"Cookie": made.cookie})):
            async with session.get(
                f"{made.world.gateway.url}/{path}", headers=headers, allow_redirects=False
            ) as response:
                assert response.status == 200, (path, response.status, await response.text())
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
