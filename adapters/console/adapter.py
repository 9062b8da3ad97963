"""The chat page that comes with the gateway: its files, what people say on it, and what the model saw.

The answers reach the page through the turn's own event stream, which the HTTP server offers for every channel.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, quote

import msgspec
from aiohttp import web

from adapters.base import TERMINAL, Address, Capabilities, Explains, Intake, Receipt, Remembers, Unasked
from adapters.console import access, remembered, render
from adapters.console.parse import event_of, fingerprint, parse, sender_of, whereabouts
from adapters.errors import AdapterFault
from adapters.problems import Problem, unavailable
from config.channels.console import ConsoleSettings

_STATIC = Path(__file__).with_name("static")
_TOKEN_BYTES = 4096
_COOKIE_S = 30 * 24 * 3600
_PROXY_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP")
_AFTER_A_MINUTE = {"Retry-After": "60"}
_REFUSED = {
    "not_local": (403, "the chat page is for its own machine only; set channels.NAME.token to open it to others"),
    "guessing": (429, "too many wrong tokens came from this address; come again in a minute"),
    "token_needed": (401, "the chat page asks for its token; open / in a browser, or send `Authorization: Bearer …`"),
    "foreign_page": (403, "this was sent by a page of another origin"),
}


@dataclass(frozen=True, slots=True)
class _File:
    body: bytes
    type: str
    etag: str


def _read_files() -> dict[str, _File]:
    files = {}
    for path in _STATIC.iterdir():
        if path.suffix in render.TYPES:
            body = path.read_bytes()
            files[path.name] = _File(body, render.TYPES[path.suffix], hashlib.sha256(body).hexdigest()[:16])
    return files


class ConsoleAdapter:
    """One console channel: implements `adapters.base.Adapter`, and answers HTTP requests by `handle`."""

    capabilities = Capabilities(streams=True, collected=True, fetches=True)

    def __init__(
        self,
        name: str,
        *,
        settings: ConsoleSettings,
        explains: Explains,
        remembers: Remembers,
        unasked: Unasked,
        guesses: access.Guesses,
        public_url: str | None = None,
    ) -> None:
        """`public_url` is the server's: the host under which the page may be opened besides this machine's own names."""
        self.heartbeat_s = settings.heartbeat_s
        self._name = name
        self._settings = settings
        self._token = settings.token.get_secret_value() if settings.token else None
        self._explains = explains
        self._remembers = remembers
        self._unasked = unasked
        self._guesses = guesses
        self._public_url = public_url
        self._intake: Intake | None = None
        self._files: dict[str, _File] = {}

    @asynccontextmanager
    async def running(self, intake: Intake) -> AsyncIterator[None]:
        self._files = await asyncio.to_thread(_read_files)
        self._intake = intake
        try:
            yield
        finally:
            self._intake = None

    def chunks(self, text: str) -> list[str]:
        return [text]

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        """The reply stands in the turn, where the page reads it: nothing is left to send."""
        return Receipt()

    async def probe(self) -> None:
        if self._intake is None or "index.html" not in self._files:
            raise AdapterFault(f"channel {self._name!r}: the chat page is not running")

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer `/`, `/chat/*` and `POST /channels/{name}`. Raises a `Problem` for what can't be answered."""
        match (request.method, request.path.strip("/").split("/")):
            case ("GET" | "HEAD", [""]):
                return await self._page(request)
            case ("GET" | "HEAD", ["chat", "static", name]):
                return self._static(request, name)
            case ("GET" | "HEAD", ["chat", "info"]):
                return await self._info(request)
            case ("GET" | "HEAD", ["chat", "turns", turn_id, "ledger"]):
                return await self._ledger(request, turn_id)
            case ("GET" | "HEAD", ["chat", "memory"]):
                return await self._memory(request)
            case ("GET" | "HEAD", ["chat", "said"]):
                return await self._said_to(request)
            case ("POST", ["chat", "memory", ("forget" | "forget-all" | "correct") as act]):
                return await self._change_memory(request, act)
            case ("POST", ["chat", "token"]):
                return await self._take_token(request)
            case ("POST", ["channels", _]):
                return await self._say(request)
            case _:
                raise Problem(404, "not_found", "nothing is served at this path")

    # Reading

    async def _page(self, request: web.Request) -> web.Response:
        language = render.language_of(request.headers.get("Accept-Language", ""))
        match await self._refusal(request):
            case None:
                return self._static(request, "index.html")
            case "token_needed":
                return _html(render.token_page(language), status=401)
            case "guessing":
                return _too_many(language)
            case _:
                return _html(render.not_local_page(language), status=403)

    def _static(self, request: web.Request, name: str) -> web.Response:
        file = self._files.get(name)
        if file is None:
            raise Problem(404, "not_found", "the chat page has no such file")
        # Asked again each time, answered 304: a new version is never mixed with an old one's files.
        headers = render.HEADERS | {"ETag": f'"{file.etag}"', "Cache-Control": "no-cache", "Content-Type": file.type}
        if any(tag.value == file.etag for tag in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        response = web.Response(body=file.body, headers=headers)
        response.enable_compression()
        return response

    async def _info(self, request: web.Request) -> web.Response:
        await self._admit(request)
        return _json(msgspec.json.encode({"channel": self._name, "agents": self._explains.agents(self._name)}))

    async def _ledger(self, request: web.Request, turn_id: str) -> web.Response:
        await self._admit(request)
        token = request.query.get("token", "")
        return _json(await self._explains.explain(self._name, turn_id, token=token))

    async def _memory(self, request: web.Request) -> web.Response:
        await self._admit(request, writes=True)
        person, language = request.query.get("person", ""), request.query.get("language", "en")
        return _json(await remembered.shown(self._remembers, self._name, person=person, language=language))

    async def _said_to(self, request: web.Request) -> web.Response:
        await self._admit(request, writes=True)
        where = whereabouts(request.query)
        sender = sender_of(where.person, channel=self._name)
        said = await self._unasked.said_to(
            self._name, sender, room=where.room, chat_type=where.chat_type, after=where.after
        )
        return _json(msgspec.json.encode(said))

    # Writing

    async def _change_memory(self, request: web.Request, act: remembered.Act) -> web.Response:
        body = await self._said_body(request)
        return _json(await remembered.changed(self._remembers, self._name, act, body))

    async def _say(self, request: web.Request) -> web.Response:
        post = parse(await self._said_body(request))
        if self._intake is None:
            raise unavailable("the chat page is being swapped; send the same message again", retry_after_s=1)
        view = await self._intake.accept(event_of(post, channel=self._name), fingerprint=fingerprint(post))
        body = msgspec.to_builtins(view)
        body.pop("duplicate", None)
        where = f"/channels/{quote(self._name)}/turns/{view.turn}"
        status = 200 if view.status in TERMINAL else 202
        return _json(msgspec.json.encode(body), status=status, headers={"Location": where})

    async def _said_body(self, request: web.Request) -> bytes:
        """Return the JSON of somebody who may speak for the page's people."""
        await self._admit(request, writes=True)
        if request.content_type != "application/json":
            raise Problem(415, "bad_type", "send the body as application/json")
        return await self._body(request, at_most=self._settings.body_bytes)

    async def _take_token(self, request: web.Request) -> web.Response:
        if access.foreign(_visit(request, self._cookie), public_url=self._public_url):
            raise Problem(403, "foreign_page", _REFUSED["foreign_page"][1])
        form = parse_qs((await self._body(request, at_most=_TOKEN_BYTES)).decode(errors="replace"))
        if self._token is None:
            raise Problem(404, "not_found", "this chat page has no token")
        language = render.language_of(request.headers.get("Accept-Language", ""))
        right = access.same(form.get("token", [""])[0].strip(), self._token)
        if not await self._may_guess(request.remote, right=right):
            return _too_many(language)
        if not right:
            return _html(render.token_page(language, told="wrong"), status=403)
        response = web.Response(status=303, headers={"Location": "/"})
        response.set_cookie(
            self._cookie,
            access.cookie_value(self._token),
            max_age=_COOKIE_S,
            path="/",
            httponly=True,
            samesite="Strict",
            secure=request.secure or (self._public_url or "").startswith("https:"),
        )
        return response

    async def _body(self, request: web.Request, *, at_most: int) -> bytes:
        """Return the body; it is never held beyond its limit, and never waited for longer than `body_s`."""
        if request.headers.get("Content-Encoding", "identity") != "identity":
            raise Problem(415, "bad_encoding", "send the body without a Content-Encoding")
        body = bytearray()
        try:
            async with asyncio.timeout(self._settings.body_s):
                async for piece in request.content.iter_any():
                    body += piece
                    if len(body) > at_most:
                        raise Problem(413, "too_large", f"the body is larger than {at_most} bytes")
        except TimeoutError as exc:
            raise Problem(408, "too_slow", "the body took too long to arrive") from exc
        return bytes(body)

    # Access

    @property
    def _cookie(self) -> str:
        return f"clew_{self._name}"  # cookies are shared by all ports of a host

    async def _refusal(
        self, request: web.Request, *, writes: bool = False
    ) -> access.Refusal | Literal["guessing"] | None:
        visit = _visit(request, self._cookie)
        reason = access.refusal(visit, token=self._token, public_url=self._public_url, writes=writes)
        guess = self._token is not None and access.shows_token(visit)
        if guess and not await self._may_guess(visit.remote, right=reason != "token_needed"):
            return "guessing"
        return reason

    async def _may_guess(self, remote: str | None, *, right: bool) -> bool:
        """Whether what a visitor shows as the token may be looked at; a wrong one counts."""
        who, most = access.guesser(remote), access.GUESSES_PER_MINUTE
        return await (self._guesses.free(who, most=most) if right else self._guesses.take(who, most=most))

    async def _admit(self, request: web.Request, *, writes: bool = False) -> None:
        if (reason := await self._refusal(request, writes=writes)) is not None:
            status, detail = _REFUSED[reason]
            headers = {401: {"WWW-Authenticate": "Bearer"}, 429: _AFTER_A_MINUTE}.get(status)
            raise Problem(status, reason, detail, headers=headers)


def _visit(request: web.Request, cookie: str) -> access.Visit:
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    return access.Visit(
        remote=request.remote,
        host=request.headers.get("Host"),
        origin=request.headers.get("Origin"),
        site=request.headers.get("Sec-Fetch-Site"),
        proxied=any(header in request.headers for header in _PROXY_HEADERS),
        bearer=bearer.strip() if scheme.lower() == "bearer" else None,
        cookie=request.cookies.get(cookie),
    )


def _too_many(language: render.Language) -> web.Response:
    response = _html(render.token_page(language, told="wait"), status=429)
    response.headers.update(_AFTER_A_MINUTE)
    return response


def _html(page: str, *, status: int) -> web.Response:
    return web.Response(text=page, status=status, content_type="text/html", headers=render.GATE_HEADERS)


def _json(body: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    plain = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return web.Response(body=body, status=status, content_type="application/json", headers=plain | (headers or {}))
