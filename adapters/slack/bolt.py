"""slack-bolt between the way in and the intake: which kind of request is it, and what is Slack answered.

By itself Bolt loses events: it answers before a listener is done, with 200 when one fails and 404 where there is none; it reads
the environment, and asks `auth.test` at the first event (platform-facts 1.1). All of that is switched off or replaced here.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.error import BoltUnhandledRequestError
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from adapters.base import InboundEvent, MessageEvent
from adapters.errors import AdapterFault
from adapters.problems import CONTENT_TYPE, Problem, as_problem, unavailable
from adapters.slack import parse
from adapters.slack.authors import Identity
from adapters.slack.parse import Ignored
from adapters.slack.reading import string
from config.channels.slack import SlackSettings

logger = logging.getLogger(__name__)

# Bolt gives this level to all loggers it makes; below it, it writes whole requests into the log.
_QUIET = logging.getLogger(f"{__name__}.sdk")
_QUIET.setLevel(logging.ERROR)

_ANY = re.compile("")
_AGAIN_S = 1.0

Body = dict[str, Any]
Dispatch = Callable[[Body], Awaitable[web.Response]]
"""Answer a request of Slack's by its decoded body. 5xx: not stored, Slack shall send it again."""


def dispatcher(
    channel: str,
    *,
    settings: SlackSettings,
    client: AsyncWebClient,
    me: Identity,
    take: Callable[[InboundEvent | Ignored], Awaitable[None]],
    commanded: Callable[[str, str], Awaitable[None]] | None = None,
) -> Dispatch:
    """Return the channel's way through Bolt. `take` stores what a request says, or notes why it is nothing for us; Slack is
    answered when it has returned. `commanded` hears (trigger id, response URL) of a slash command before that."""
    app = _app(client, me)

    async def kept(event: InboundEvent | Ignored) -> None:
        try:
            await take(event)
        except AdapterFault:
            raise
        except Exception as exc:  # a fault of ours, not of what Slack sent
            raise AdapterFault(type(exc).__name__) from exc

    async def event(body: Body) -> BoltResponse:
        await kept(parse.parse(body, channel=channel, me=me, reply_in_thread=settings.reply_in_thread))
        return BoltResponse(status=200)

    async def command(body: Body) -> BoltResponse:
        said = parse.slash(body, channel=channel, me=me, prefix=settings.slash_prefix)
        if isinstance(said, MessageEvent) and commanded is not None:
            await commanded(said.message_id, string(body, "response_url"))
        await kept(said)
        return BoltResponse(status=200)

    async def interaction() -> BoltResponse:
        await kept(Ignored("interaction"))
        return BoltResponse(status=200)

    async def failed(error: Exception, body: Body) -> BoltResponse:
        if not isinstance(error, BoltUnhandledRequestError):
            return _refusal(error, channel)
        await kept(Ignored("rate_limited" if body.get("type") == "app_rate_limited" else "unused"))
        return BoltResponse(status=200)

    app.error(failed)
    app.event(_ANY)(event)
    app.command(_ANY)(command)
    for family in (app.action, app.shortcut, app.view, app.view_closed, app.options):
        family(_ANY)(interaction)

    async def dispatch(body: Body) -> web.Response:
        try:
            answer = await app.async_dispatch(_request(body))
        except Exception as exc:  # Bolt trips over some shapes outside of what asks `failed`
            answer = _refusal(exc, channel)
        return await to_aiohttp_response(answer)

    return dispatch


def _app(client: AsyncWebClient, me: Identity) -> AsyncApp:
    installed = AuthorizeResult(enterprise_id=me.enterprise, team_id=me.team, bot_user_id=me.user, bot_id=me.bot)

    async def authorize() -> AuthorizeResult:
        return installed  # as `auth.test` told at the start; without a token, for no listener calls Slack

    return AsyncApp(
        name="slack_bolt.app",  # also a logger's name: a channel's own could be that of a logger of ours
        logger=_QUIET,
        client=client,  # else Bolt makes one, with the environment's token
        signing_secret="",  # None would be the environment's
        authorize=authorize,
        process_before_response=True,  # the answer waits for the listener, which waits for the store; and no task is left
        raise_error_for_unhandled_request=True,  # else 404, and the body in the log
        request_verification_enabled=False,  # verified by `front.py`, on the raw bytes
        ignoring_self_events_enabled=False,  # `authors.py` does, for every workspace
        ignoring_self_assistant_message_events_enabled=False,
        ssl_check_enabled=False,  # would compare a token of the environment's
        attaching_function_token_enabled=False,
        attaching_conversation_kwargs_enabled=False,
    )


def _request(body: Body) -> AsyncBoltRequest:
    """Return a decoded body as Bolt takes one. Raises a 400 `Problem` where Bolt would trip over its shape."""
    event = body.get("event")
    if body.get("type") == "event_callback" and not (isinstance(event, dict) and isinstance(event.get("type"), str)):
        raise Problem(400, "bad_event", "event: not an object with a type", field="event")
    return AsyncBoltRequest(body=body, mode="socket_mode")  # its other mode decodes, worse than `front.py`


def _refusal(error: Exception, channel: str) -> BoltResponse:
    """Return what Slack is told of a failure: that it shall come again, if that may help. What is no `AdapterFault` is Bolt's or
    the parser's, of a body that would be no better the next time."""
    if not isinstance(error, AdapterFault):
        logger.warning("request can't be read", extra={"channel": channel}, exc_info=error)
        error = Problem(400, "bad_event", "the body is of no shape that Slack sends")
    problem = as_problem(error)
    if problem.status >= 500:
        logger.warning("request not acknowledged", extra={"channel": channel}, exc_info=error)
        if problem.status != 503:
            problem = unavailable("the gateway can't take this now", retry_after_s=_AGAIN_S)
    body = problem.body().decode()
    return BoltResponse(status=problem.status, body=body, headers={"Content-Type": CONTENT_TYPE, **problem.headers})
