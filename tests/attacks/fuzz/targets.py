"""The doors of the HTTP server, each with its payloads and how one is handed in: signed after it was bent, so that it is read.
What comes in by other ways: `others.py`."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable
from urllib.parse import quote, quote_from_bytes

from standardwebhooks.webhooks import Webhook

from adapters.slack.signing import sign
from tests.attacks.fuzz import seeds
from tests.attacks.fuzz.cases import Kind, Of
from tests.attacks.fuzz.mutators import BYTES, TREE, Drop, Pairs, Raw, Tree, changed, encoded
from tests.attacks.fuzz.wire import BENDS, Answer, Request, sent
from tests.scenarios.world import SECRET
from tests.serving import token

LIMIT_S = 25.0
"""Seconds within which everything is answered, whatever it is: no door waits longer for a body."""

JSON_TYPE = ("Content-Type", "application/json")
FORM_TYPE = ("Content-Type", "application/x-www-form-urlencoded")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one. `fault` None: nothing to complain of. `turn`: that the answer names. `taken`: it was acknowledged."""

    fault: str | None = None
    turn: int | None = None
    taken: bool = False
    status: int = 0


class Target(Protocol):
    name: str
    of: tuple[Of, ...]

    def seeds(self) -> Mapping[str, Tree]: ...

    async def hand_in(self, kind: Kind, number: int, rng: random.Random) -> Outcome:
        """Make it and hand it in. `number` is this one's own."""
        ...


@runtime_checkable
class Asking(Protocol):
    """A target whose inputs are requests of the HTTP server."""

    def whole(self) -> Iterable[tuple[str, str]]:
        """Yield method and path of each, unbent."""
        ...


def bent(tree: Tree, kind: Kind) -> Tree:
    """Return the payload with what the kind does to one place of its tree."""
    made = changed(tree, kind.place, TREE[kind.act]) if kind.of == "tree" else tree
    return {} if isinstance(made, Drop) else made


def form(tree: Tree) -> bytes:
    """Write a form, or a query: values that are no text as JSON, lone surrogates as the bytes they would be."""
    pairs = tree.pairs if isinstance(tree, Pairs) else tree.items() if isinstance(tree, dict) else (("x", tree),)
    return "&".join(f"{percent(key)}={percent(value)}" for key, value in pairs).encode()


def percent(value: Tree) -> str:
    text = value if isinstance(value, str) else encoded(value).decode("utf-8", "surrogatepass")
    return quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe="")


def text_of(value: Tree) -> str:
    """Return a value where only texts can stand."""
    if isinstance(value, str):
        return value
    return value.text if isinstance(value, Raw) else encoded(value).decode(errors="replace")


def headers_of(tree: Tree) -> tuple[tuple[str, str], ...]:
    """Return the `headers` and `cookies` of a tree, as far as they can be sent; a cookie that is no text as base64 of JSON."""
    given = tree if isinstance(tree, dict) else {}
    headers, cookies = given.get("headers", {}), given.get("cookies", {})
    told = list(headers.items()) if isinstance(headers, dict) else [("X-Told", headers)]
    if isinstance(cookies, dict) and cookies:
        held = {
            name: value if isinstance(value, str) else base64.urlsafe_b64encode(encoded(value)).decode()
            for name, value in cookies.items()
        }
        told.append(("Cookie", "; ".join(f"{name}={value}" for name, value in held.items())))
    elif cookies:
        told.append(("Cookie", text_of(cookies)))
    return tuple((name, re.sub("[\r\n\0]", "", text_of(value))[:6_000]) for name, value in told)


class HttpTarget:
    """A door of the HTTP server. `write` makes the body's bytes of a tree, `wrap` the request around them (`tree` for those
    whose path or query it fills)."""

    of: tuple[Of, ...] = ("tree", "bytes", "wire")

    def __init__(
        self,
        name: str,
        *,
        port: Callable[[], int],
        trees: Callable[[], Mapping[str, Tree]],
        renewed: Callable[[Tree, int], Tree],
        wrap: Callable[[bytes, Tree, str], Request],
        write: Callable[[Tree], bytes] = encoded,
        slow_s: float = 2.0,
        apart: bool = False,
        held: Callable[[str, bytes, Answer], str | None] = lambda seed, body, answer: None,
    ) -> None:
        """`apart`: each comes from an address of its own. `held` says what more is to be held against an answer to the body
        that was made of a seed."""
        self.name = name
        self._apart, self._held = apart, held
        self._port, self._trees, self._renewed, self._wrap, self._write = port, trees, renewed, wrap, write
        self._slow_s = slow_s

    def seeds(self) -> Mapping[str, Tree]:
        return {name: self._renewed(tree, 1) for name, tree in self._trees().items()}

    def whole(self) -> Iterable[tuple[str, str]]:
        for seed, tree in self.seeds().items():
            request = self._wrap(self._write(tree), tree, seed)
            yield request.method, request.path

    async def hand_in(self, kind: Kind, number: int, rng: random.Random) -> Outcome:
        tree = bent(self._renewed(self._trees()[kind.seed], number), kind)
        body = self._write(tree)
        if kind.of == "bytes":
            body = BYTES[kind.act](body, rng)
        request = self._wrap(body, tree, kind.seed)
        if self._apart and request.source == Request.source:
            request = replace(request, source=source_of(number))
        outcome, answer = await tried(self._port(), request, kind, rng, slow_s=self._slow_s)
        return held_against(outcome, self._held(kind.seed, body, answer) if answer is not None else None)


def source_of(number: int) -> str:
    """Return an address of loopback that no other number has: what is counted by address is each one's own."""
    return f"127.{100 + number // 62_500 % 100}.{number // 250 % 250}.{number % 250 + 1}"


async def tried(
    port: int, request: Request, kind: Kind, rng: random.Random, *, slow_s: float
) -> tuple[Outcome, Answer | None]:
    """Bend a request on its way, if the kind is of that, and send it. `slow_s`: seconds that the door waits for a body."""
    if kind.of == "wire":
        request = BENDS[kind.act](request, rng)
        if request.hold_s > 1 and slow_s > 5:
            return Outcome(), None  # this door waits long; one test of its own looks at that
    try:
        answer = await sent(port, request, within_s=LIMIT_S)
    except TimeoutError:
        return Outcome(fault=f"no answer within {LIMIT_S:g} s"), None
    except OSError as exc:
        return Outcome(fault=None if kind.of == "wire" else f"connection: {type(exc).__name__}"), None
    return judged(answer, kind), answer


def held_against(outcome: Outcome, fault: str | None) -> Outcome:
    """Return the outcome with one more fault; None: with none more."""
    return outcome if outcome.fault or fault is None else replace(outcome, fault=fault)


def judged(answer: Answer, kind: Kind) -> Outcome:
    """Return what is to be held against an answer, and what it says."""
    if answer.status == 0:
        return Outcome(fault=None if kind.of == "wire" else "closed without an answer")
    if answer.status >= 500 and not (answer.status == 503 and "retry-after" in answer.headers):
        return Outcome(fault=f"{answer.status}: {answer.body[:200]!r}", status=answer.status)
    turn = None
    if 200 <= answer.status < 300 and answer.headers.get("content-type") == "application/json":
        with suppress(ValueError):
            told = json.loads(answer.body)
            turn = int(told["turn"]) if isinstance(told, dict) and str(told.get("turn", "")).isdigit() else None
    greeted = b'"challenge"' in answer.body  # a platform's question whether somebody is there: nothing was said
    return Outcome(turn=turn, taken=200 <= answer.status < 300 and not greeted, status=answer.status)


def webhook(channel: str, port: Callable[[], int]) -> HttpTarget:
    """Standard Webhooks, signed over what is really sent."""

    def wrap(body: bytes, _tree: Tree, _seed: str) -> Request:
        now, delivery = datetime.now(tz=UTC), f"msg_{time.perf_counter_ns()}"
        signature = Webhook(SECRET).sign(delivery, now, body.decode(errors="surrogateescape")) if is_text(body) else ""
        signature = signature or _signature(delivery, now, body)
        headers = (
            JSON_TYPE, ("webhook-id", delivery), ("webhook-timestamp", str(int(now.timestamp()))),
            ("webhook-signature", signature),
        )  # fmt: skip
        return Request(path=f"/channels/{channel}", headers=headers, body=body)

    return HttpTarget(
        f"webhook {channel}",
        port=port,
        trees=lambda: seeds.SPOKEN,
        renewed=seeds.spoken,
        wrap=wrap,
    )


def is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _signature(delivery: str, now: datetime, body: bytes) -> str:
    """Sign bytes that are no text, which the library does not."""
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signed = f"{delivery}.{int(now.timestamp())}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def bearer(channel: str, port: Callable[[], int]) -> HttpTarget:
    """A program that shows a token."""

    def wrap(body: bytes, _tree: Tree, _seed: str) -> Request:
        headers = (JSON_TYPE, ("Authorization", f"Bearer {token(groups=['c1', 'c2'])}"))
        return Request(path=f"/channels/{channel}", headers=headers, body=body)

    return HttpTarget(
        f"webhook {channel}",
        port=port,
        trees=lambda: seeds.SPOKEN,
        renewed=seeds.spoken,
        wrap=wrap,
    )


def chat(channel: str, port: Callable[[], int], page_token: str) -> HttpTarget:
    """The chat page's POST, by who holds its token and by who does not."""
    trees = {**seeds.TYPED, "a stranger": seeds.TYPED["private"]}

    def wrap(body: bytes, _tree: Tree, seed: str) -> Request:
        headers = (JSON_TYPE,) if seed == "a stranger" else (JSON_TYPE, ("Authorization", f"Bearer {page_token}"))
        return Request(path=f"/channels/{channel}", headers=headers, body=body)

    def held(seed: str, body: bytes, answer: Answer) -> str | None:
        return "taken from a stranger" if seed == "a stranger" and 200 <= answer.status < 300 else None

    return HttpTarget(
        "chat page", port=port, trees=lambda: trees, renewed=seeds.typed, wrap=wrap, apart=True, held=held,
    )  # fmt: skip


def slack_http(
    channel: str, port: Callable[[], int], *, secret: str, team: str, app: str, bot: str
) -> list[HttpTarget]:
    """Events and forms, signed over what is really sent."""

    def signed(content_type: tuple[str, str]) -> Callable[[bytes, Tree, str], Request]:
        def wrap(body: bytes, _tree: Tree, _seed: str) -> Request:
            stamp = str(int(time.time()))
            signature = sign(body, stamp=stamp, secret=secret.encode())
            headers = (content_type, ("X-Slack-Request-Timestamp", stamp), ("X-Slack-Signature", signature))
            return Request(path=f"/channels/{channel}", headers=headers, body=body)

        return wrap

    def event(body: Tree, number: int) -> Tree:
        return seeds.of_workspace(body, team=team, app=app, bot=bot, number=number)

    def filled_form(fields: Tree, number: int) -> Tree:
        if "payload" in fields:
            return fields
        return fields | {"team_id": team, "api_app_id": app, "trigger_id": f"{number}.1.a", "command": "/new"}

    return [
        HttpTarget("Slack events", port=port, trees=seeds.slack_events, renewed=event, wrap=signed(JSON_TYPE)),
        HttpTarget(
            "Slack forms", port=port, trees=seeds.slack_forms, renewed=filled_form, wrap=signed(FORM_TYPE), write=form
        ),
    ]


def telegram_http(channel: str, port: Callable[[], int], *, secret: str) -> HttpTarget:
    """The webhook that Telegram calls."""

    def wrap(body: bytes, _tree: Tree, _seed: str) -> Request:
        headers = (JSON_TYPE, ("X-Telegram-Bot-Api-Secret-Token", secret))
        return Request(path=f"/channels/{channel}", headers=headers, body=body)

    return HttpTarget(
        "Telegram webhook", port=port, trees=seeds.telegram_updates,
        renewed=lambda update, number: seeds.of_chat(update, number=number), wrap=wrap,
    )  # fmt: skip


def looks(name: str, port: Callable[[], int], pages: Mapping[str, Tree], *, method: str = "GET") -> HttpTarget:
    """What is asked for without a body. A page is a tree of its path's parts (`path`), its query (`query`), its headers
    (`headers`) and cookies (`cookies`)."""

    def wrap(body: bytes, tree: Tree, seed: str) -> Request:
        asked = tree if isinstance(tree, dict) else {}
        parts = asked.get("path", [])
        path = "/" + "/".join(percent(part) for part in (parts if isinstance(parts, list) else [parts]))
        query = form(asked["query"]).decode() if asked.get("query") else ""
        if body is not None and seed and not isinstance(tree, dict):
            query = quote(body[:3_000])
        headers = headers_of(tree)
        return Request(method=method, path=(path + ("?" + query if query else ""))[:7_000], headers=headers)

    made = HttpTarget(name, port=port, trees=lambda: pages, renewed=lambda tree, _: tree, wrap=wrap, apart=True)
    made.of = ("tree", "wire")
    return made


def admin(port: Callable[[], int], acts: Mapping[str, Tree], bearer_of: str) -> HttpTarget:
    """The REST door's acts with a body: a tree of `method`, `path` (its parts) and `body`."""

    def wrap(body: bytes, tree: Tree, seed: str) -> Request:
        act = acts[seed]
        headers = (JSON_TYPE, ("Authorization", f"Bearer {bearer_of}"))
        return Request(method=act["method"], path=act["path"], headers=headers, body=body)

    return HttpTarget(
        "admin API", port=port, trees=lambda: {name: act["body"] for name, act in acts.items()},
        renewed=lambda tree, _: tree, wrap=wrap, slow_s=20,
    )  # fmt: skip


def forms(
    port: Callable[[], int], pages: Mapping[str, tuple[str, Mapping[str, str]]], *, cookie: str, csrf: str
) -> HttpTarget:
    """The console's forms, sent by somebody who is signed in, as htmx does: what shows that a page of ours sent them is a header,
    and what is bent is their own."""

    def wrap(body: bytes, _tree: Tree, seed: str) -> Request:
        path, _ = pages[seed]
        headers = (FORM_TYPE, ("Cookie", cookie), ("X-CSRF-Token", csrf))
        return Request(path=path, headers=headers, body=body)

    return HttpTarget(
        "console forms", port=port, trees=lambda: {name: {"x": "1", **fields} for name, (_, fields) in pages.items()},
        renewed=lambda tree, _: tree, wrap=wrap, write=form, slow_s=20,
    )  # fmt: skip
