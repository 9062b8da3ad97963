"""The doors by which people come in, and what they do inside that no form of an admin's page does: signing in to the console and
out of it, how it looks, the chat page's token, and what is remembered of its people."""

from __future__ import annotations

import json
import math
import random
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, parse_qsl

import aiohttp

from adapters.console.access import GUESSES_PER_MINUTE, cookie_value
from gateway.admin.access import folded
from gateway.admin.sessions import csrf_of
from tests.attacks.fuzz.cases import Kind, Of
from tests.attacks.fuzz.mutators import BYTES, Tree, encoded
from tests.attacks.fuzz.targets import (
    FORM_TYPE,
    JSON_TYPE,
    LIMIT_S,
    HttpTarget,
    Outcome,
    bent,
    form,
    headers_of,
    held_against,
    source_of,
    tried,
)
from tests.attacks.fuzz.wire import Answer, Request, sent
from tests.scenarios.admins import PASSWORD, Admins

GUESSERS = "127.99.0.1"
"""Where those come from who try one after the other: what is counted by address is theirs together."""
ADDRESS_TRIES = 5
"""Wrong passwords from one address before it waits, in the fuzzed gateway's settings: a second, and then twice that each time."""
TOLD = {"key": "letters.all_dealt", "values": {"count": "3", "more": "x"}}
"""What a form that was sent before left for the next page to say."""
ORIGIN = {"Origin": "http://127.0.0.1", "Referer": "http://127.0.0.1/admin/sign-in?next=%2Fadmin"}


def page_request(path: str, tree: Tree, body: bytes, *headers: tuple[str, str]) -> Request:
    """Return a POST with the `query`, `headers` and `cookies` of a tree."""
    given = tree if isinstance(tree, dict) else {}
    query = form(given["query"]).decode() if given.get("query") else ""
    return Request(
        path=(path + (f"?{query}" if query else ""))[:7_000], headers=(*headers, *headers_of(tree)), body=body
    )


def form_of(tree: Tree) -> bytes:
    return form(tree.get("form", {}) if isinstance(tree, dict) else tree)


def cookie_of(answer: Answer, name: str) -> str:
    """Return the cookie that an answer gives; "": none, or one that it takes back."""
    found = re.search(rf'^{name}=([^;"\n]+)', answer.headers.get("set-cookie", ""), re.MULTILINE)
    return found[1] if found else ""


# The console


@dataclass(frozen=True, kw_only=True)
class Way:
    """A form at the console's entrance. `signed_in`: sent by somebody who is; `own`: as a user of its own each time."""

    path: str
    form: Mapping[str, str]
    signed_in: bool = False
    own: bool = False
    known: bool = False
    source: str = ""


_NAMED = {"name": "Nora", "password": PASSWORD, "next": "/admin/turns?channel=hook"}
_CHOSEN = {"language": "zh", "theme": "dark", "back": "/admin/turns?channel=hook"}
WAYS = {
    "signs in": Way(path="/admin/sign-in", form=_NAMED),
    "signs in, known": Way(path="/admin/sign-in", form=_NAMED, known=True),
    "signs in again": Way(path="/admin/sign-in", form=_NAMED, signed_in=True),
    "guesses": Way(path="/admin/sign-in", form=_NAMED | {"password": "an 0ther one"}, source=GUESSERS),
    "guesses for another": Way(path="/admin/sign-in", form=_NAMED | {"name": "Nobody 无名"}, source=GUESSERS),
    "leaves": Way(path="/admin/sign-out", form={}, signed_in=True),
    "leaves, a stranger": Way(path="/admin/sign-out", form={}),
    "chooses a look": Way(path="/admin/look", form=_CHOSEN, signed_in=True),
    "chooses a look, a stranger": Way(path="/admin/look", form=_CHOSEN),
    "another password": Way(
        path="/admin/account/password", signed_in=True, own=True, form={"current": PASSWORD, "password": "four other words"}
    ),
    "goes astray": Way(path="/admin/nowhere", form={"x": "1"}, signed_in=True),
    "knocks at the front": Way(path="/admin", form={"x": "1"}),
}  # fmt: skip


class EntranceTarget:
    """The console's entrance: a tree of `form`, `query`, `cookies` and `headers`. Nobody may come in but by the right password,
    nor be put out but by what was asked for."""

    name = "console entrance"
    of: tuple[Of, ...] = ("tree", "bytes", "wire")

    def __init__(self, port: Callable[[], int], admins: Admins) -> None:
        self._port, self._admins = port, admins
        self._inside: list[str] = []  # sessions of Nora's that live
        self._device = ""
        self._knocks = 0
        self._looked_at: list[float] = []

    def seeds(self) -> Mapping[str, Tree]:
        return {name: _tree(way, secret="x", device="x") for name, way in WAYS.items()}

    def whole(self) -> Iterable[tuple[str, str]]:
        return (("POST", way.path) for way in WAYS.values())

    async def enter(self, name: str = "Nora", password: str = PASSWORD) -> str:
        """Sign in from where nobody has been; return the session's secret. Raises AssertionError where that is refused."""
        self._knocks += 1
        source = source_of(self._knocks).replace("127.1", "127.2", 1)
        body = form({"name": name, "password": password})
        answer = await sent(
            self._port(),
            Request(path="/admin/sign-in", headers=(FORM_TYPE,), body=body, source=source),
            within_s=LIMIT_S,
        )
        secret = cookie_of(answer, "clew_session")
        assert secret, f"not signed in: {answer.status} {answer.body[:200]!r}"
        self._device = cookie_of(answer, "clew_device") if name == "Nora" else self._device
        return secret

    async def lives(self, secret: str) -> bool:
        """Whether a session does."""
        request = Request(method="GET", path="/admin/account", headers=(("Cookie", f"clew_session={secret}"),))
        return (await sent(self._port(), request, within_s=LIMIT_S)).status == 200

    async def hand_in(self, kind: Kind, number: int, rng: random.Random) -> Outcome:
        way, name, secret = WAYS[kind.seed], "Nora", ""
        if way.own:
            await self._admins.user(name := f"Petra {number}")
        if way.signed_in:
            secret = self._inside.pop() if self._inside and not way.own else await self.enter(name)
        if way.known and not self._device:
            self._inside.append(await self.enter())
        made = bent(_tree(way, secret=secret, device=self._device), kind)
        body = form_of(made)
        if kind.of == "bytes":
            body = BYTES[kind.act](body, rng)
        request = replace(page_request(way.path, made, body, FORM_TYPE), source=way.source or source_of(number))
        outcome, answer = await tried(self._port(), request, kind, rng, slow_s=20)
        lives = bool(secret) and await self.lives(secret)
        if lives and not way.own:
            self._inside.append(secret)
        if answer is None:
            return outcome
        if entered := cookie_of(answer, "clew_session"):
            self._inside.append(entered)
        fault = self._wrong(kind, body, answer, entered=bool(entered), lives=lives)
        if fault is None and way.own and answer.status == 303 and not lives:
            try:
                await self.enter(name, dict(reversed(_pairs(body)))["password"])
            except AssertionError as exc:
                fault = f"the new password does not let in: {exc}"
        return held_against(outcome, fault)

    def _wrong(self, kind: Kind, body: bytes, answer: Answer, *, entered: bool, lives: bool) -> str | None:
        """Return what is to be held against the answer."""
        way = WAYS[kind.seed]
        shown = kind.of == "bytes" or (kind.of == "tree" and kind.place[:1] not in ((), ("cookies",)))
        if entered and not _is_nora(body):
            return f"signed in by {body[:200]!r}"
        if not entered and way.path == "/admin/sign-in" and kind.place == ("form", "next") and not way.source:
            return f"not signed in by the right password: {answer.status}"
        if answer.status == 429 and "retry-after" not in answer.headers:
            return "told to wait, and not how long"
        if way.source and answer.status == 422 and b'name="password"' in answer.body:
            self._looked_at.append(time.monotonic())
            waited_s = self._looked_at[-1] - self._looked_at[0]
            if len(self._looked_at) > ADDRESS_TRIES + 1 + math.log2(1 + waited_s):
                return f"{len(self._looked_at)} wrong passwords from one address were looked at"
        if not way.signed_in or not answer.status:
            return None
        if answer.status >= 400 and not lives:
            return f"signed out by what was answered {answer.status}"
        ends = entered or (way.path == "/admin/sign-out" and "sign_in" in answer.headers.get("location", ""))
        if (ends or (way.own and answer.status == 303)) and lives and shown:
            return "the session still lives"
        return None


def _tree(way: Way, *, secret: str, device: str) -> Tree:
    cookies: dict[str, Tree] = {"clew_language": "zh", "clew_theme": "dark", "clew_told": TOLD}
    cookies |= {"clew_session": secret} if way.signed_in else {}
    cookies |= {"clew_device": device} if way.known else {}
    csrf = {"csrf": csrf_of(secret)} if way.signed_in else {}
    return {
        "form": {**csrf, **way.form}, "query": {"next": "/admin/turns", "x": "1"}, "cookies": cookies,
        "headers": {**ORIGIN, "Sec-Fetch-Site": "same-origin", "User-Agent": "Browser 浏览器"},
    }  # fmt: skip


def _pairs(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body), errors="strict")
    except ValueError:
        return []


def _is_nora(body: bytes) -> bool:
    """Whether a form holds her name and password, as far as names and passwords are told apart."""
    said = dict(reversed(_pairs(body)))  # of what comes twice, the first counts
    typed = unicodedata.normalize("NFKC", said.get("password", ""))
    return folded(said.get("name", "")) == folded("Nora") and typed == PASSWORD


# The chat page


def chat_token(channel: str, port: Callable[[], int], token: str) -> HttpTarget:
    """The form in which the chat page's token is typed; `channel` is the page's. A tree of `form`, `cookies` and `headers`."""
    typed = {"form": {"token": token, "next": "/"}, "headers": {**ORIGIN, "Sec-Fetch-Site": "same-origin"}}
    wrong = typed | {"form": {"token": "no such 令牌", "next": "/"}}
    known = typed | {"cookies": {f"clew_{channel}": cookie_value(token)}}
    trees = {
        "right": typed, "wrong": wrong, "guessed": wrong, "guessed again": wrong, "known": known, "elsewhere": typed,
    }  # fmt: skip
    looked_at: list[float] = []

    def wrap(body: bytes, tree: Tree, seed: str) -> Request:
        request = page_request("/chat/nowhere" if seed == "elsewhere" else "/chat/token", tree, body, FORM_TYPE)
        return replace(request, source=GUESSERS) if "guessed" in seed else request

    def held(seed: str, body: bytes, answer: Answer) -> str | None:
        shown = parse_qs(body.decode(errors="replace")).get("token", [""])[0].strip()
        entered = bool(cookie_of(answer, f"clew_{channel}"))
        if entered and (shown != token or len(body) > 4_096 or seed == "elsewhere"):
            return f"let in by {body[:200]!r}"
        if answer.status == 429 and "retry-after" not in answer.headers:
            return "told to wait, and not how long"
        if "guessed" in seed and answer.status == 403 and b'name="token"' in answer.body:
            looked_at.append(time.monotonic())
            if len(looked_at) > 1 + GUESSES_PER_MINUTE * (1 + (looked_at[-1] - looked_at[0]) / 60):
                return f"{len(looked_at)} wrong tokens from one address were looked at"
        return None

    return HttpTarget(
        "chat token", port=port, trees=lambda: trees, renewed=lambda tree, _: tree, wrap=wrap, write=form_of, apart=True,
        held=held,
    )  # fmt: skip


PERSON = "mina"
_SAID = ("I like {} tea", "I live in {}", "I am allergic to {}")
_WORDS = ("oolong", "Oslo", "peanuts", "jasmine", "Bergen", "walnuts", "mint", "Lisbon", "sesame")
_THINGS = {"forget": {"id": "x"}, "forget-all": {}, "correct": {"id": "x", "value": "green tea 绿茶"}}
_BY = ("cookie", "bearer", "nobody")


class MemoryTarget:
    """What a person of the chat page changes of what is remembered of them: a tree of `body`, `cookies` and `headers`. What is
    acknowledged is done, and what is refused is not."""

    name = "chat memory"
    of: tuple[Of, ...] = ("tree", "bytes", "wire")

    def __init__(self, channel: str, session: aiohttp.ClientSession, port: Callable[[], int], token: str) -> None:
        self._channel, self._session, self._port, self._token = channel, session, port, token
        self._said = 0

    def seeds(self) -> Mapping[str, Tree]:
        return {f"{act} by {who}": self._tree(act, who, "x") for act in _THINGS for who in _BY}

    def whole(self) -> Iterable[tuple[str, str]]:
        return (("POST", f"/chat/memory/{act}") for act in _THINGS)

    def _tree(self, act: str, who: str, kept: str) -> Tree:
        thing: dict[str, str] = _THINGS[act]
        tree: dict[str, Any] = {"body": {"person": PERSON, "language": "zh"} | thing, "headers": {**ORIGIN}}
        tree["body"] |= {"id": kept} if "id" in thing else {}
        tree["headers"] |= {"Authorization": f"Bearer {self._token}"} if who == "bearer" else {}
        return tree | ({"cookies": {f"clew_{self._channel}": cookie_value(self._token)}} if who == "cookie" else {})

    async def hand_in(self, kind: Kind, number: int, rng: random.Random) -> Outcome:
        act, _, who = kind.seed.partition(" by ")
        before = await self.remembered()
        made = bent(self._tree(act, who, before[0]["id"]), kind)
        body = encoded(made.get("body", {}) if isinstance(made, dict) else made)
        if kind.of == "bytes":
            body = BYTES[kind.act](body, rng)
        request = replace(page_request(f"/chat/memory/{act}", made, body, JSON_TYPE), source=source_of(number))
        outcome, answer = await tried(self._port(), request, kind, rng, slow_s=2)
        if answer is None or not answer.status:
            return outcome
        return held_against(outcome, _undone(act, who, body, answer, before, await self._kept()))

    async def remembered(self) -> list[dict[str, Any]]:
        """Return what is remembered of the person, who says something where that is nothing."""
        while not (kept := await self._kept()):
            await self._says(_SAID[self._said % 3].format(_WORDS[self._said % 9]))
        return kept

    async def _kept(self) -> list[dict[str, Any]]:
        """Return it as soon as all is learned."""
        headers = {"Authorization": f"Bearer {self._token}"}
        url = f"http://127.0.0.1:{self._port()}/chat/memory?person={PERSON}&language=en"
        while True:
            async with self._session.get(url, headers=headers) as response:
                told = await response.json()
                assert response.status == 200, told
            if not told["waits"]:
                kept: list[dict[str, Any]] = told["kept"]
                return kept

    async def _says(self, text: str) -> None:
        self._said += 1
        body = {
            "room": "mina", "chat_type": "private", "person": {"id": PERSON, "name": "Mina"}, "language": "en",
            "message": {"id": f"mina-{self._said}-{time.monotonic_ns()}", "text": text},
        }  # fmt: skip
        base, headers = f"http://127.0.0.1:{self._port()}", {"Authorization": f"Bearer {self._token}"}
        async with self._session.post(f"{base}/channels/{self._channel}", json=body, headers=headers) as response:
            turn = await response.json()
            assert response.status in (200, 202), turn
        url = f"{base}/channels/{self._channel}/turns/{turn['turn']}/events?token={turn['token']}"
        async with self._session.get(url) as response:
            await response.read()


Kept = list[dict[str, Any]]


def _undone(act: str, who: str, body: bytes, answer: Answer, before: Kept, after: Kept) -> str | None:
    """Return what was acknowledged and is not done, or was refused and is."""
    if answer.status == 200 and who == "nobody":
        return "taken from nobody"
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if answer.status != 200 or not isinstance(said, dict) or said.get("person") != PERSON:
        return None if before == after else f"changed by what was answered {answer.status}: {before} {after}"
    if act == "forget-all" and after:
        return f"still remembered: {after}"
    if act == "forget" and said["id"] in [one["id"] for one in after]:
        return f"not forgotten: {after}"
    if act == "correct" and " ".join(said["value"].split()) not in [one["value"] for one in after]:
        return f"not corrected: {after}"
    return None
