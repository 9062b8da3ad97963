"""A channel for programs: POST a signed message, get the answer at once, as a stream, or later.

The only file of this channel with a socket. Who calls is `auth`'s question, what is said `parse`'s, what the caller sees
`render`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

import aiohttp
from aiohttp import web
from standardwebhooks.webhooks import Webhook

from adapters.base import TERMINAL, Address, Capabilities, Intake, Receipt, StreamEvent, TurnView
from adapters.bodies import body_of
from adapters.errors import AdapterFault
from adapters.problems import Problem, unavailable
from adapters.sse import CLOSING, follow
from adapters.webhook import parse, render
from adapters.webhook.auth import KeySet, parse_jwks, verify_signature, verify_token
from adapters.webhook.identity import Principal, require_membership, sender_of
from config.channels.webhook import JwtSettings, WebhookSettings

_LARGEST_JWKS = 262_144
_OPENING_S = 1.0


class WebhookAdapter:
    """One webhook channel. `members` gives `allow.members` as it stands for a room and thread at this moment.

    Raises `AdapterFault` when there are no credentials to check: an open endpoint would let anybody speak as anybody. That
    they are well formed was checked when the settings were loaded.
    """

    capabilities = Capabilities(streams=True, collected=True)

    def __init__(
        self,
        name: str,
        *,
        settings: WebhookSettings,
        members: Callable[[str, str | None], Sequence[str] | None],
    ) -> None:
        if not settings.secrets and settings.jwt is None:
            raise AdapterFault(
                f"channel {name!r} has neither `secrets` nor `jwt`: set one, so that callers can be known"
            )
        self.heartbeat_s = settings.heartbeat_s
        self._name = name
        self._settings = settings
        self._members = members
        self._verifiers = [Webhook(secret.get_secret_value()) for secret in settings.secrets]
        self._keys = _key_set(settings.jwt)
        self._intake: Intake | None = None

    @asynccontextmanager
    async def running(self, intake: Intake) -> AsyncIterator[None]:
        self._intake = intake
        try:
            yield
        finally:
            self._intake = None

    def chunks(self, text: str) -> list[str]:
        return render.chunks(text)

    async def send(self, address: Address, chunk: str, *, chunk_id: str, shown: str | None = None) -> Receipt:
        """Give the receipt at once: the reply stands in the outbox, where its caller collects it."""
        return Receipt()

    async def probe(self) -> None:
        """Fetch the issuer's keys, where there are such; without, nothing of this channel lies outside the gateway."""
        if self._settings.jwt is not None and self._settings.jwt.jwks_url is not None:
            parse_jwks(await _fetch_keys(self._settings.jwt))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Take one message, and answer with its turn. Raises `Problem`, and what `Intake.accept` raises."""
        intake = self._intake
        if intake is None:
            raise unavailable(f"channel {self._name!r} is being opened or closed", retry_after_s=_OPENING_S)
        principal, raw = await self._authenticated(request)
        body = parse.parse_body(raw)
        sender = sender_of(
            principal, claimed=body.sender.id, name=body.sender.name, tenant=self._settings.tenant or self._name
        )
        require_membership(
            principal,
            user=sender.user,
            chat_type=body.chat_type,
            conversation=body.conversation,
            members=self._members(body.conversation, body.thread),
        )
        event = parse.to_event(body, sender, channel=self._name, delivery=principal.delivery)
        view = await intake.accept(event, fingerprint=parse.fingerprint(body, user=sender.user))
        if body.mode == "stream":
            events = _with_token(intake.events(self._name, view.turn), token=view.token)
            return await follow(request, events, heartbeat_s=self.heartbeat_s)
        settled = await self._settled(request, intake, view) if body.mode == "sync" else view
        return self._answer(settled, token=view.token)

    async def _authenticated(self, request: web.Request) -> tuple[Principal, bytes]:
        """Return who calls, and the body they sent; both checked on the bytes as they came."""
        if "Content-Encoding" in request.headers:
            raise Problem(
                415, "encoded_body", "send the body without Content-Encoding: a signature is over what is sent"
            )
        if request.content_type != "application/json":
            raise Problem(415, "not_json", "send JSON, as Content-Type: application/json")
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if self._settings.jwt is not None and (scheme or not self._verifiers):
            if scheme.lower() != "bearer" or not token.strip():
                detail = "send Authorization: Bearer and a token"
                raise Problem(401, "unauthorised", detail, headers={"WWW-Authenticate": "Bearer"})
            principal = await verify_token(token.strip(), settings=self._settings.jwt, keys=self._keys)
            return principal, await self._body(request)
        raw = await self._body(request)
        return verify_signature(self._verifiers, raw, headers=lambda name: request.headers.getall(name, [])), raw

    async def _body(self, request: web.Request) -> bytes:
        return await body_of(request, limit=self._settings.body_bytes, seconds=self._settings.body_s)

    async def _settled(self, request: web.Request, intake: Intake, view: TurnView) -> TurnView:
        """Return the turn once it has ended, or as it stands after `sync_s`, or when the server closes."""
        if view.status in TERMINAL:
            return view
        waiting = asyncio.create_task(intake.wait(self._name, view.turn, timeout_s=self._settings.sync_s))
        closing = asyncio.create_task(request.app[CLOSING].wait())
        try:
            await asyncio.wait({waiting, closing}, return_when=asyncio.FIRST_COMPLETED)
            return waiting.result() if waiting.done() else view
        finally:
            waiting.cancel()
            closing.cancel()
            await asyncio.gather(waiting, closing, return_exceptions=True)

    def _answer(self, view: TurnView, *, token: str | None) -> web.Response:
        status = render.turn_status(view)
        return web.Response(
            status=status,
            body=render.turn_body(view, token=token),
            content_type="application/json",
            headers={"Location": render.turn_path(self._name, view.turn)} if status == 202 else None,
        )


async def _with_token(
    events: AsyncGenerator[StreamEvent, None], *, token: str | None
) -> AsyncGenerator[StreamEvent, None]:
    async with aclosing(events):
        async for event in events:
            yield render.with_token(event, token=token)


def _key_set(settings: JwtSettings | None) -> KeySet | None:
    if settings is None or settings.jwks_url is None:
        return None
    return KeySet(lambda: _fetch_keys(settings), settings=settings)


async def _fetch_keys(settings: JwtSettings) -> bytes:
    """Return the JWKS document from its configured place and no other: redirects are not followed."""
    document = bytearray()
    timeout = aiohttp.ClientTimeout(total=settings.timeout_s)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(settings.jwks_url or "", allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise AdapterFault(f"jwt.jwks_url answered {response.status}")
            async for piece in response.content.iter_any():
                document += piece
                if len(document) > _LARGEST_JWKS:
                    raise AdapterFault(f"jwt.jwks_url sent more than {_LARGEST_JWKS} bytes")
    except (aiohttp.ClientError, TimeoutError, ValueError) as exc:
        raise AdapterFault(f"jwt.jwks_url can't be fetched: {type(exc).__name__}") from exc
    return bytes(document)
