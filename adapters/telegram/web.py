"""Calls of the Bot API, and what their failures mean. The one file that knows the SDK's errors.

The SDK's clients are used without its poller (which confirms before it keeps, and falls over one bad update), its rate limiter
(which lets all chats wait for one) and a proxy from the environment; polling has a client of its own, so that waiting for
updates never keeps a reply waiting for a connection.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any

from telegram import Bot
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    RetryAfter,
    TelegramError,
    TimedOut,
)
from telegram.request import HTTPXRequest

from adapters.errors import Moved, Refused, Throttled, Unknown, Unreachable
from adapters.telegram.polling import Contested
from config.channels.telegram import TelegramSettings

for _name, _level in {"httpx": logging.WARNING, "httpcore": logging.WARNING, "telegram": logging.CRITICAL}.items():
    # They log URLs, which hold the token, and parameters, which hold what people said; the SDK as an error every answer that
    # it can't read, whole. What is wrong we say ourselves.
    logging.getLogger(_name).setLevel(_level)

_NEVER_LEFT = frozenset(
    {"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol", "InvalidURL"}
)
"""What the HTTP client names the failures after which nothing was sent."""

_WHICH = ("message_id", "date", "chat")
"""What tells which message it is; no other answer has an id of a message's."""

_DEFAULT_WAIT_S = 30.0

REMEDIES: Mapping[str, str] = {
    "bot was blocked by the user": "the person has to unblock the bot",
    "user is deactivated": "the account is gone",
    "bot was kicked": "add the bot to the group again",
    "bot is not a member": "add the bot to the group again",
    "can't initiate conversation": "the person has to press Start first",
    "chat not found": "the chat is gone, or the bot was never in it",
    "not enough rights": "let the bot write in the group: its members' permissions, or make it an admin",
    "have no rights": "let the bot write in the group: its members' permissions, or make it an admin",
    "CHAT_WRITE_FORBIDDEN": "let the bot write in the group: its members' permissions, or make it an admin",
    "TOPIC_CLOSED": "the topic is closed: open it, or make the bot an admin",
}
"""What to do about the errors an admin is likely to meet, by a part of their text."""


class ApiRefused(Refused):
    """Telegram said no; `reason` is its own word for it."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason

    def because(self, *parts: str) -> bool:
        """Whether the reason holds one of these parts, in whatever case."""
        return any(part.casefold() in self.reason.casefold() for part in parts)


@asynccontextmanager
async def clients(settings: TelegramSettings) -> AsyncIterator[tuple[Bot, HTTPXRequest]]:
    """Open the bot's client, and the one that waits for updates."""
    os.environ["PTB_TIMEDELTA"] = "true"  # the SDK's own switch: without it every 429 is a DeprecationWarning, too
    async with (
        _request(settings, read_s=settings.timeout_s) as calling,
        _request(settings, read_s=settings.timeout_s + settings.poll_s) as polling,
    ):
        token, url = settings.token.get_secret_value(), settings.api_url.rstrip("/")
        yield Bot(token, base_url=f"{url}/bot", request=calling, get_updates_request=polling), polling


class _Client(HTTPXRequest):
    """A client whose calls end in time as a whole, and whose answers can be read. The HTTP client's own limits are for each wait
    alone, and an answer may come drop by drop."""

    def __init__(self, *, within_s: float, **more: Any) -> None:
        super().__init__(**more)
        self._within_s = within_s

    async def do_request(self, *args: Any, **more: Any) -> tuple[int, bytes]:
        try:
            async with asyncio.timeout(self._within_s):
                return await super().do_request(*args, **more)
        except TimeoutError as exc:
            raise TimedOut from exc

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """Return an answer of the Bot API; of a message, only which it is. The SDK reads all that stands in one (what it replies
        to, too) and fails at a field that it misses: the message would be there, and count as not sent. Raises
        `TelegramError` for what is none, as a proxy's own JSON."""
        answer: Any = HTTPXRequest.parse_json_payload(payload)
        if not isinstance(answer, dict) or not ("result" in answer or isinstance(answer.get("description"), str)):
            raise TelegramError("no answer of the Bot API")
        result = answer.get("result")
        if isinstance(result, dict) and "message_id" in result:
            answer["result"] = {name: result[name] for name in _WHICH if name in result}
        return answer


def _request(settings: TelegramSettings, *, read_s: float) -> HTTPXRequest:
    return _Client(
        # Longer than what comes before the request leaves: a failure there must not look like one after it.
        within_s=2 * settings.connect_s + read_s,
        read_timeout=read_s,
        write_timeout=settings.timeout_s,
        connect_timeout=settings.connect_s,
        pool_timeout=settings.connect_s,
        proxy=settings.proxy,
        httpx_kwargs={"trust_env": False},
    )


@contextmanager
def translated(method: str, *, scope: str | None = None, repeatable: bool = False) -> Iterator[None]:
    """Turn whatever a call of `method` raises into a `SendFailed`; `scope` is the budget a 429 speaks of.

    `BadRequest` and `TimedOut` are both a `NetworkError` to the SDK: told apart here. Only what surely never left this machine
    is `Unreachable`, unless the call may be made again without harm (`repeatable`)."""
    try:
        yield
    except RetryAfter as exc:
        wait_s = _seconds(exc.retry_after)
        raise Throttled(f"{method}: Telegram asks to wait {wait_s:g} s", retry_after_s=wait_s, scope=scope) from exc
    except ChatMigrated as exc:
        raise Moved(f"{method}: the group is a supergroup now", new_room=str(exc.new_chat_id)) from exc
    except (InvalidToken, Forbidden, BadRequest, Conflict) as exc:
        raise _said_no(method, exc) from None
    except TelegramError as exc:
        raise _lost(method, exc, scope=scope, repeatable=repeatable) from (None if _foreign(exc) else exc)


def _said_no(method: str, exc: TelegramError) -> Unreachable | ApiRefused:
    """Without its cause, whose text may hold the token."""
    if _foreign(exc):
        return Unreachable(
            f"{method}: something before Telegram refused ({type(exc).__name__}): look at proxy and api_url"
        )
    if isinstance(exc, InvalidToken):  # replies wait for the admin to set one that works
        return _unknown_there(method, exc.message)
    if isinstance(exc, Conflict):
        remedy = "another program takes this bot's updates: stop it, or give this channel a bot of its own"
        return Contested(f"{method}: {remedy} ({exc.message})")
    return _refused(method, exc.message)


def _unknown_there(method: str, reason: str) -> Unreachable | ApiRefused:
    """The SDK takes every 401 and 404 for a wrong token."""
    if "unauthorized" in reason.casefold():
        return Unreachable(f"{method}: the token is wrong: copy it again from @BotFather")
    if "method not found" in reason.casefold():
        remedy = "the Bot API server at api_url is too old for it: update the server"
        return ApiRefused(f"{method}: {reason} ({remedy})", reason=reason)
    if method == "getMe":  # so answers Telegram to what has not the form of a token
        remedy = "the token is wrong, or api_url is no Bot API server: copy the token again from @BotFather"
        return Unreachable(f"{method}: {reason}: {remedy}")
    return Unreachable(f"{method}: {reason}: look at api_url, which has answered otherwise before")


def _foreign(exc: TelegramError) -> bool:
    """Whether a refusal was no answer of the Bot API's, which is always JSON, but some proxy's page. The SDK quotes that whole,
    and such pages like to name the address that was asked for, in which the token stands."""
    return isinstance(exc.__cause__, TelegramError)


def _refused(method: str, reason: str) -> ApiRefused:
    remedy = next((remedy for part, remedy in REMEDIES.items() if part.casefold() in reason.casefold()), None)
    return ApiRefused(f"{method}: {reason}" + (f" ({remedy})" if remedy else ""), reason=reason)


def _lost(method: str, exc: TelegramError, *, scope: str | None, repeatable: bool) -> Throttled | Unreachable | Unknown:
    cause = type(exc.__cause__).__name__
    if cause in _NEVER_LEFT:
        return Unreachable(f"{method}: Telegram can't be reached ({cause})")
    if "too many requests" in exc.message.casefold():  # without its number
        return Throttled(f"{method}: Telegram asks to wait", retry_after_s=_DEFAULT_WAIT_S, scope=scope)
    told = f"{method}: the answer was lost ({type(exc).__name__}, {cause})"
    return Unreachable(told) if repeatable else Unknown(told)


def _seconds(wait: int | timedelta) -> float:
    seconds = wait.total_seconds() if isinstance(wait, timedelta) else float(wait)
    return max(seconds, 1.0)
