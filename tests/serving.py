"""The real HTTP server with chosen adapters in front of a fake intake, and callers' credentials."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import jwt
from standardwebhooks.webhooks import Webhook

from adapters.base import Adapter, Intake
from adapters.errors import Overloaded
from adapters.webhook.adapter import WebhookAdapter
from config.channels.webhook import WebhookSettings
from config.settings import ServerSettings
from gateway.http import HttpChannel, HttpServer, Readiness
from tests.pulling import receiving

SECRET = "whsec_" + base64.b64encode(b"the first secret of this channel").decode()
NEXT_SECRET = "whsec_" + base64.b64encode(b"the secret that follows the first").decode()
JWT_SECRET = "a secret of thirty-two bytes or more"
JWT_SETTINGS = {"algorithms": ["HS256"], "issuer": "https://id.example", "audience": "clew", "secret": JWT_SECRET}


def webhook(name: str = "shop", *, members: list[str] | None = None, **settings: Any) -> WebhookAdapter:
    """A webhook channel; signed with SECRET unless told otherwise."""
    chosen = WebhookSettings.model_validate({"secrets": [SECRET], **settings})
    return WebhookAdapter(name, settings=chosen, members=lambda room, thread: members)


async def all_well() -> Readiness:
    return Readiness(ready=True, checks={"store": "ok"})


async def one_metric() -> bytes:
    return b"clew_turns_total 1.0\n"


@asynccontextmanager
async def serving(
    intake: Intake,
    channels: Mapping[str, Any],
    *,
    console: Callable[[], HttpChannel | None] = lambda: None,
    ready: Callable[[], Awaitable[Readiness]] = all_well,
    settings: ServerSettings | None = None,
    refused: Callable[[str, str], None] = lambda channel, code: None,
) -> AsyncIterator[str]:
    """Serve `channels` (kept up with while they change; None: being swapped) and give the base URL."""

    def channel(name: str) -> HttpChannel | None:
        if name in channels and channels[name] is None:
            raise Overloaded("being swapped", retry_after_s=1)
        return channels.get(name)

    server = HttpServer(
        settings=settings or ServerSettings(port=0, stop_s=2),
        intake=intake,
        channel=channel,
        console=console,
        ready=ready,
        metrics=one_metric,
        refused=refused,
    )
    async with AsyncExitStack() as stack:
        for adapter in channels.values():
            if adapter is not None:
                running: Adapter = adapter
                await stack.enter_async_context(receiving(running, intake))
        port = await stack.enter_async_context(server.running())
        yield f"http://127.0.0.1:{port}"


def message(text: str = "hello", **changes: Any) -> dict[str, Any]:
    """A whole call; `changes` replace or (None) remove top-level fields."""
    body = {
        "conversation": "room-7",
        "chat_type": "private",
        "sender": {"id": "alice", "name": "Alice"},
        "message": {"id": "m-1", "text": text},
    } | changes
    return {key: value for key, value in body.items() if value is not None}


def signed(body: object, *, secret: str = SECRET, delivery: str = "msg_1", at_s: float | None = None) -> dict[str, Any]:
    """The request arguments of a signed POST; `body` is JSON-encoded unless it is bytes."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    at = datetime.fromtimestamp(time.time() if at_s is None else at_s, tz=UTC)
    headers = {
        "Content-Type": "application/json",
        "webhook-id": delivery,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(delivery, at, raw.decode()),
    }
    return {"data": raw, "headers": headers}


def token(key: Any = JWT_SECRET, *, algorithm: str = "HS256", kid: str | None = None, **claims: Any) -> str:
    """A bearer token that JWT_SETTINGS accept; `claims` replace or (None) remove claims."""
    payload = {"sub": "alice", "iss": "https://id.example", "aud": "clew", "exp": time.time() + 60} | claims
    kept = {name: value for name, value in payload.items() if value is not None}
    return jwt.encode(kept, key, algorithm=algorithm, headers={"kid": kid} if kid else None)


def bearer(body: object, credential: str) -> dict[str, Any]:
    """The request arguments of a POST with a bearer token."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return {"data": raw, "headers": {"Content-Type": "application/json", "Authorization": f"Bearer {credential}"}}
