"""Calls of Slack's Web API, and what their failures mean. The one file that knows the SDK's errors.

The SDK's client is used with one shared session, without its retry handlers (delivery is the only retry owner, and the
connection-error handler can post twice) and without a proxy from the environment.
"""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.errors import Refused, SendFailed, Throttled, Unknown, Unreachable
from config.channels.slack import SlackSettings

_QUIET = logging.getLogger(f"{__name__}.sdk")
_QUIET.setLevel(logging.WARNING)  # at DEBUG the SDK formats every body into a log line, wanted or not

_TOKEN_ERRORS = frozenset(
    {"not_authed", "invalid_auth", "account_inactive", "token_revoked", "token_expired", "org_login_required"}
)
_MIGRATIONS = frozenset({"team_added_to_org", "external_channel_migrating"})
_SLACKS_OWN = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
_RATE_ERRORS = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
_DEFAULT_WAIT_S = 30.0

REMEDIES: Mapping[str, str] = {
    "not_in_channel": "invite the app into the channel: /invite @app",
    "channel_not_found": "the channel is gone, or private and the app is not in it",
    "is_archived": "the channel is archived",
    "missing_scope": "update the app from `python -m gateway manifest CHANNEL` and install it again",
    "restricted_action": "the workspace's settings forbid posting there",
    "invalid_auth": "the token is wrong: copy the Bot User OAuth Token again",
    "token_revoked": "the app was removed: install it again and set the new token",
    "account_inactive": "the app was removed from the workspace: install it again and set the new token",
    "not_allowed_token_type": "this token is of another kind: xoxb- is the bot's, xapp- the socket's",
}
"""What to do about the errors an admin is likely to meet."""


class ApiRefused(Refused):
    """Slack said no; `code` is its own word for it (`cant_update_message`, …)."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class TokenRefused(Unreachable):
    """Slack does not take our token any more: nothing goes out until an admin has set another one."""


@asynccontextmanager
async def client(settings: SlackSettings) -> AsyncIterator[tuple[AsyncWebClient, aiohttp.ClientSession]]:
    """Open a client of the Web API over one keep-alive session, and that session."""
    timeout = aiohttp.ClientTimeout(total=settings.timeout_s, connect=settings.connect_s)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        opened = AsyncWebClient(
            token=settings.bot_token.get_secret_value(),
            base_url=settings.api_url,
            session=session,
            retry_handlers=[],
            logger=_QUIET,
        )
        opened.proxy = settings.proxy  # the constructor reads the environment's, even for an empty one
        yield opened, session


@contextmanager
def translated(method: str, *, scope: str | None = None) -> Iterator[None]:
    """Turn whatever a call of `method` raises into a `SendFailed`; `scope` is the budget a 429 speaks of.

    Only what surely never left this machine is `Unreachable`; a call that broke off or timed out may have been heard.
    """
    try:
        yield
    except SlackApiError as exc:
        raise _answered(method, exc, scope) from None  # it quotes what Slack answered, and so messages
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL, SlackClientError) as exc:
        raise Unreachable(f"{method}: Slack can't be reached ({type(exc).__name__})") from exc
    except aiohttp.ClientHttpProxyError as exc:
        raise Unreachable(f"{method}: the proxy answered {exc.status}") from exc
    except (aiohttp.ClientError, TimeoutError, AttributeError, ValueError) as exc:
        # The last two: the SDK trips over an answer that is text, a list or a JSON number.
        raise Unknown(f"{method}: the answer was lost ({type(exc).__name__})") from exc


def _answered(method: str, exc: SlackApiError, scope: str | None) -> SendFailed:
    response: Any = exc.response
    status: int = getattr(response, "status_code", 0) or getattr(response, "status", 0)
    data = getattr(response, "data", None)
    code = data.get("error") if isinstance(data, dict) else None
    code = code if isinstance(code, str) else ""
    if status == 429 or code in _RATE_ERRORS:
        wait_s = retry_after_s(getattr(response, "headers", {}))
        return Throttled(f"{method}: Slack asks to wait {wait_s:g} s", retry_after_s=wait_s, scope=scope)
    if status >= 500 or code in _SLACKS_OWN or not code:
        return Unknown(f"{method}: Slack answered {status} {code}".rstrip())
    told = f"{method}: {code}" + (f" ({REMEDIES[code]})" if code in REMEDIES else "")
    if code in _TOKEN_ERRORS:
        return TokenRefused(told)
    if code in _MIGRATIONS:
        return Unreachable(told)  # Slack is moving the workspace or channel, and will be done
    return ApiRefused(told, code=code)


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the seconds Slack asks to wait; what is no number (or no header) is half a minute."""
    try:
        wait_s = float(headers.get("Retry-After", _DEFAULT_WAIT_S))
    except ValueError:
        return _DEFAULT_WAIT_S
    return min(max(wait_s, 1.0), 3600.0) if math.isfinite(wait_s) else _DEFAULT_WAIT_S
