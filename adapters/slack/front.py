"""The HTTP front of a Slack channel: a request in, its verified payload out. Nothing is parsed before it is verified."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from aiohttp import web

from adapters.bodies import body_of
from adapters.problems import Problem
from adapters.slack.signing import timestamp_of, verify

_FORM = "application/x-www-form-urlencoded"


async def verified(request: web.Request, *, secrets: Sequence[bytes], limit: int, seconds: float) -> dict[str, Any]:
    """Return the payload of a request that Slack signed: an event, or a form (slash commands, buttons).

    Raises `Problem`: 401 not signed by one of `secrets`, 408 slower than `seconds`, 413 larger than `limit`, 415 encoded, 400
    no payload of Slack's.
    """
    if "Content-Encoding" in request.headers:
        raise Problem(415, "encoded_body", "send the body without Content-Encoding: a signature is over what is sent")
    stamp = timestamp_of(request.headers.getall("X-Slack-Request-Timestamp", []), now_s=time.time())
    raw = await body_of(request, limit=limit, seconds=seconds)
    verify(raw, stamp=stamp, signatures=request.headers.getall("X-Slack-Signature", []), secrets=secrets)
    return _form(raw) if request.content_type == _FORM else decoded(raw)


def decoded(raw: bytes | str) -> dict[str, Any]:
    """Return a JSON object. Raises a 400 `Problem` for anything else."""
    try:
        payload = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as exc:
        raise Problem(400, "bad_json", "the body is not JSON") from exc
    if not isinstance(payload, dict):
        raise Problem(400, "bad_json", "the body is not a JSON object")
    return payload


def _form(raw: bytes) -> dict[str, Any]:
    """Return a form's fields: a slash command's own, or the JSON in `payload` that buttons and dialogs send."""
    try:
        fields = dict(parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=100, errors="strict"))
    except ValueError as exc:
        raise Problem(400, "bad_form", "the form can't be read") from exc
    return decoded(fields["payload"]) if "payload" in fields else fields
