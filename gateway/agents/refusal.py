"""What a model service's error means: which `AgentFault`, and how long it asks to wait.

Pure. Services put the reason in different places and words; the words are read here, and never repeated: they may quote
the prompt or part of a key. Only the status and an identifier-like code go on into our own message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from gateway.errors import AgentFault, AgentRefused, AgentUnavailable, ContextTooLong

TRANSIENT = frozenset({408, 409, 425, 429})  # and every 5xx
_WORD_FIELDS = ("code", "type", "param", "message", "detail", "details", "msg", "loc", "error", "errors", "object")
_MAX_WORDS = 4_000

# Codes first; then the words of vLLM, llama.cpp, xAI, OpenRouter, DeepSeek, LM Studio and Ollama, who share them; then
# Anthropic and Mistral; Gemini and Kimi; Qwen, TGI; Zhipu and other Chinese services.
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|model_context_window_exceeded|string_above_max_length|input_too_long"
    r"|(maximum|max|exceed\w*|than) (the |its |model's |model )*(available |input |configured )?"
    r"(context|prompt) (length|size|window)"
    r"|configured context size|context (window|length|size)( is)? (exceed|full|overflow)|context the overflows"
    r"|longer than the (maximum )?model"
    r"|(prompt|input|request)( \w+)? (is )?too (long|large)|too large for model"
    r"|exceed\w* (the |model )*(maximum number of tokens|token limit|input limit)|token limit exceeded"
    r"|range of input length|reduce the length|too many (input )?tokens|tokens \+ .max_new_tokens"
    r"|(超出|超过|超长)[^。]{0,16}(长度|上下文|限制)|(prompt|输入|上下文)[^。]{0,12}(超长|过长)"
)
_REQUEST_TOO_LARGE = re.compile(
    "request too large"
)  # as a 429 no waiting cures it: one prompt beyond a minute's tokens
_NO_QUOTA = re.compile(r"insufficient_quota|insufficient[ _]balance|exceeded your current quota|billing|欠费|余额不足")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


def words(body: object) -> str:
    """Return what an error body says, in lower case, from the fields that are known to hold reasons."""
    return " ".join(_strings(body, depth=5))[:_MAX_WORDS].lower()


def _strings(body: object, *, depth: int) -> list[str]:
    if isinstance(body, str):
        return [body[:_MAX_WORDS]]
    if not depth:
        return []
    if isinstance(body, Mapping):
        return [s for name in _WORD_FIELDS if name in body for s in _strings(body[name], depth=depth - 1)]
    if isinstance(body, list):
        return [s for item in body[:20] for s in _strings(item, depth=depth - 1)]
    return []


def code_of(body: object) -> str:
    """Return the error's identifier-like code or type, or "" if there is none that is safe to show."""
    error = body.get("error", body) if isinstance(body, Mapping) else None
    for name in ("code", "type"):
        value = error.get(name) if isinstance(error, Mapping) else None
        if isinstance(value, str) and _IDENTIFIER.fullmatch(value):
            return value
    return ""


def refusal(status: int, body: object, *, service: str, retry_after_s: float | None = None) -> AgentFault:
    """Return the fault that an HTTP error stands for; `AgentUnavailable` is the one worth another try.

    `service` names the agent's model and host in the message. `body` is the decoded JSON, or text.
    """
    said, code = words(body), code_of(body)
    reason = f"HTTP {status}, {code}" if code else f"HTTP {status}"
    if status in (401, 403):
        return AgentRefused(f"{service} refused the key ({reason}); check the agent's api_key")
    if status == 413 or (_REQUEST_TOO_LARGE if status == 429 else _TOO_LONG).search(said):
        return ContextTooLong(f"{service} says that the prompt is too long ({reason}); check the agent's window_tokens")
    if status == 402 or (status in (400, 429) and _NO_QUOTA.search(said)):
        return AgentRefused(f"{service} has no quota left for this account ({reason}); check its plan and billing")
    if status in TRANSIENT or status >= 500:
        return AgentUnavailable(f"{service} is overloaded or failing ({reason})", retry_after_s=retry_after_s)
    if status == 404:
        return AgentRefused(f"{service} was not found ({reason}); check the agent's model and base_url")
    return AgentRefused(f"{service} refused the request ({reason}); check the agent's model and parameters")


def stream_refusal(error: object, *, service: str) -> AgentFault:
    """Return the fault that an error object inside a stream stands for; without a status of its own it is a 500."""
    inner = error.get("code") if isinstance(error, Mapping) else None
    status = inner if isinstance(inner, int) and 400 <= inner <= 599 else 500
    if status == 500 and _NO_QUOTA.search(words(error)):
        status = 402
    return refusal(status, error, service=service)


def retry_after_s(headers: Mapping[str, str], *, now: float) -> float | None:
    """Return how many seconds the service asks to wait, or None. `now` is UTC in seconds since 1970.

    Reads `retry-after-ms`, then `Retry-After` in seconds or as an HTTP date (RFC 9110, 10.2.3); nonsense is no wish.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < 10**9:
            return seconds
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now)
    except (ValueError, OverflowError):
        return None
