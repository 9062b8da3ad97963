"""The webhook: a request in, its update out, once it is known to come from Telegram; and the address Telegram is given."""

from __future__ import annotations

import hashlib
import hmac
import json

from aiohttp import web

from adapters.bodies import body_of
from adapters.problems import Problem
from adapters.telegram.reading import Fields

SECRET = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the name of a header


async def verified(request: web.Request, *, secret: bytes, limit: int, seconds: float) -> Fields:
    """Return the update of a request that holds our secret.

    Raises `Problem`: 401 without the secret, 408 slower than `seconds`, 413 larger than `limit`, 400 no object of JSON.
    """
    given = request.headers.getall(SECRET, [])
    if len(given) != 1 or not hmac.compare_digest(given[0].encode(errors="replace"), secret):
        raise Problem(401, "unauthorised", f"{SECRET} is not this channel's secret_token")
    return decoded(await body_of(request, limit=limit, seconds=seconds))


def decoded(raw: bytes) -> Fields:
    """Return a JSON object. Lone surrogates and bytes that are no text are read: what is refused comes again for a day, and
    keeps its whole chat waiting. Raises a 400 `Problem` for anything else."""
    try:
        update = json.loads(raw.decode(errors="replace"))
    except (ValueError, RecursionError) as exc:
        raise Problem(400, "bad_json", "the body is not JSON") from exc
    if not isinstance(update, dict):
        raise Problem(400, "bad_json", "the body is not a JSON object")
    return update


def webhook_url(public_url: str, name: str, *, secret: bytes, token: bytes) -> str:
    """Return the address for Telegram. It changes with the secret, which Telegram does not tell: so it is seen whether the one
    it has is ours. The mark is keyed with the bot's token and says nothing about the secret."""
    mark = hmac.new(token, secret, hashlib.sha256).hexdigest()[:12]
    return f"{public_url.rstrip('/')}/channels/{name}?secret={mark}"
