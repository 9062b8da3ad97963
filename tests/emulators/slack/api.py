"""The Web API at `/api/METHOD`: reads arguments wherever clients put them, is strict about them, and lets the faults happen."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.emulators.slack import chat, files, reads, streams
from tests.emulators.slack.apps import App, Bot
from tests.emulators.slack.faults import ApiError, Call, Fault
from tests.emulators.slack.methods import Asked, Method, need

if TYPE_CHECKING:
    from tests.emulators.slack.server import Slack

Json = dict[str, Any]
METHODS = {method.name: method for method in (*chat.METHODS, *streams.METHODS, *reads.METHODS, *files.METHODS)}
ALWAYS = ("token", "team_id")  # Bolt adds the second to every call


async def handle(platform: Slack, request: web.Request) -> web.StreamResponse:
    """Serve one call."""
    name = request.match_info["method"]
    args, is_json = await _arguments(request)
    call = Call(
        method=name,
        args={key: value for key, value in args.items() if key != "token"},
        at=platform.clock.now(),
        monotonic=time.monotonic(),
        http_verb=request.method,
    )
    asker = _asker(platform, _token(request, args))
    if asker is None:
        platform.strangers.append(call)
        return _json(call, _no(ApiError("invalid_auth" if _token(request, args) else "not_authed")))
    if isinstance(asker, Bot):
        call.team = asker.workspace.id
        asker.workspace.calls.append(call)
    faults = asker.workspace.faults if isinstance(asker, Bot) else asker.faults
    held = faults.held(name, call.at)
    if held is not None:
        return _held(call, asker, wait_s=held[0])
    return await _through(platform, request, call, asker, faults.next(name, call.at), is_json=is_json)


async def _through(
    platform: Slack, request: web.Request, call: Call, asker: Bot | App, fault: Fault | None, *, is_json: bool
) -> web.StreamResponse:
    """Answer a call, or let it meet its fault: before it takes effect, or after."""
    if fault is not None and not fault.stored:
        await platform.clock.sleep(fault.delay_s)
        if fault.cut or fault.status is not None or fault.error is not None:
            return _meet(request, call, fault)
    wait_s = _limit(asker, call)
    if wait_s is not None:
        return _too_many(call, wait_s)
    try:
        answer = {"ok": True} | _run(platform, call, asker, is_json=is_json)
    except ApiError as exc:
        answer = _no(exc)
    if fault is not None and fault.stored:
        await platform.clock.sleep(fault.delay_s)
        if fault.cut or fault.status is not None:
            return _meet(request, call, fault)
    return _json(call, answer)


def _run(platform: Slack, call: Call, asker: Bot | App, *, is_json: bool) -> Json:
    """Check the call as Slack does and let it take effect."""
    method = METHODS.get(call.method)
    if method is None:
        raise ApiError("unknown_method", req_method=call.method)
    bot = asker if isinstance(asker, Bot) else None
    if bot is not None and bot.revoked is not None:
        raise ApiError(bot.revoked)
    if (bot is None) != (method.token == "app"):
        raise ApiError("not_allowed_token_type")
    if bot is not None and method.scope is not None:
        need(bot, method.scope)
    args = {} if is_json and method.form_only else call.args
    _check_arguments(method, args)
    app = bot.app if bot is not None else asker
    assert isinstance(app, App)
    return method.answer(Asked(platform=platform, app=app, bot=bot, args=args))


def _check_arguments(method: Method, args: Json) -> None:
    known = {*method.required, *method.optional, *ALWAYS}
    wrong = [f"[ERROR] unknown argument: {name}" for name in args if name not in known]
    wrong += [f"[ERROR] missing required field: {name}" for name in method.required if args.get(name) is None]
    texts = (*method.required, "thread_ts", "text", "markdown_text")
    wrong += [
        f"[ERROR] must be a string [json-pointer:/{name}]"
        for name in texts
        if name not in ("length", "files") and not isinstance(args.get(name, ""), str)
    ]
    if wrong:
        raise ApiError("invalid_arguments", *wrong)


def _limit(asker: Bot | App, call: Call) -> float | None:
    """Return how long the call should have waited; None: it is within the limits, or they are not enforced."""
    method = METHODS.get(call.method)
    if method is None or isinstance(asker, App):
        return None
    post_to = str(call.args.get("channel")) if method.posts else None
    return asker.workspace.limits.check(method.name, app=asker.app.id, tier=method.tier, post_to=post_to, now=call.at)


def _held(call: Call, asker: Bot | App, *, wait_s: float) -> web.Response:
    if isinstance(asker, Bot):
        channel = call.args.get("channel")
        asker.workspace.limits.came_too_early(call.method, channel=channel, now=call.at)
    return _too_many(call, wait_s)


def _too_many(call: Call, wait_s: float) -> web.Response:
    headers = {"Retry-After": str(max(1, math.ceil(wait_s)))}
    return _json(call, _no(ApiError("ratelimited")), status=429, headers=headers)


def _meet(request: web.Request, call: Call, fault: Fault) -> web.Response:
    if fault.cut:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()
    if fault.error is not None:
        return _json(call, _no(ApiError(fault.error)))
    if fault.status == 429:
        return _json(call, _no(ApiError("ratelimited")), status=429, headers=dict(fault.headers))
    call.status = fault.status
    return web.Response(status=fault.status or 200, headers=dict(fault.headers), body=fault.body)


def _no(error: ApiError) -> Json:
    answer: Json = {"ok": False, "error": error.error} | error.fields
    return answer | ({"response_metadata": {"messages": list(error.messages)}} if error.messages else {})


def _json(call: Call, answer: Json, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    call.status, call.answer = status, answer
    return web.json_response(answer, status=status, headers=headers)


def _token(request: web.Request, args: Json) -> str:
    header = request.headers.get("Authorization", "")
    return header.removeprefix("Bearer ").strip() or str(args.get("token") or "")


def _asker(platform: Slack, token: str) -> Bot | App | None:
    for app in platform.apps.values():
        if token and token == app.app_token:
            return app
        for bot in app.bots:
            if token and token == bot.token:
                return bot
    return None


async def _arguments(request: web.Request) -> tuple[Json, bool]:
    """Return the arguments, from query, form and JSON alike, and whether there was JSON."""
    args: Json = dict(request.query)
    if request.content_type == "application/json":
        body = await request.read()
        try:
            document = json.loads(body) if body else {}
        except ValueError:
            document = {}
        return args | (document if isinstance(document, dict) else {}), bool(body)
    if request.can_read_body:
        args |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    return args, False
