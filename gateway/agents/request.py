"""The request body of a chat completion, in the dialect that the service speaks. Pure."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

import msgspec

from config.settings import AgentSettings
from gateway.agent import HAND_OVER
from memory.base import Context

OFFICIAL_URL = "https://api.openai.com/v1"
_OFFICIAL_HOSTS = (".openai.com", ".openai.azure.com")


HAND_OVER_TOOL = {
    "type": "function",
    "function": {
        "name": HAND_OVER,
        "description": (
            "Ask for a human colleague to take this conversation over: when the person asks for a human, or needs something that "
            "you can't do or may not decide. Say in a sentence to the person what happens next. 请求人工同事接手这个对话。"
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "reason": {
                    "type": "string",
                    "description": "For the colleague: what the person needs, in one sentence.",
                }
            },
            "required": ["reason"],
            "additionalProperties": False,
        },
    },
}


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """What services disagree about. `cap` names the field that limits the answer; None: the settings' own
    `parameters` hold one. Newer models of OpenAI know only `max_completion_tokens`, most other services only
    `max_tokens`; some refuse `stream_options`, a prompt's own `temperature`, a `response_format`, or `tools`."""

    cap: Literal["max_completion_tokens", "max_tokens"] | None
    usage: bool = True
    temperature: bool = True
    schema: bool = True
    tools: bool = True
    swapped: bool = False


def first_dialect(settings: AgentSettings) -> Dialect:
    """Return the likeliest dialect, judged by the address."""
    if "max_tokens" in settings.parameters or "max_completion_tokens" in settings.parameters:
        return Dialect(cap=None)
    host = urlsplit(settings.base_url or OFFICIAL_URL).hostname or ""
    return Dialect(cap="max_completion_tokens" if f".{host}".endswith(_OFFICIAL_HOSTS) else "max_tokens")


def other_dialect(dialect: Dialect, said: str) -> Dialect | None:
    """Return the dialect to try after a refusal that names a field of ours, or None if it names none.

    `said` is the refusal in lower case. Each field gives way once, so that this ends.
    """
    if dialect.usage and "stream_options" in said:
        return msgspec.structs.replace(dialect, usage=False)
    if dialect.temperature and "temperature" in said:
        return msgspec.structs.replace(dialect, temperature=False)
    if dialect.schema and ("response_format" in said or "json_schema" in said):
        return msgspec.structs.replace(dialect, schema=False)
    if dialect.tools and "tool" in said:
        return msgspec.structs.replace(dialect, tools=False)
    if dialect.cap is not None and not dialect.swapped and dialect.cap in said:
        other: Literal["max_completion_tokens", "max_tokens"]
        other = "max_tokens" if dialect.cap == "max_completion_tokens" else "max_completion_tokens"
        return msgspec.structs.replace(dialect, cap=other, swapped=True)
    return None


def body(context: Context, settings: AgentSettings, dialect: Dialect) -> bytes:
    """Return the JSON to send: the system block first, then the messages as they are."""
    messages = [{"role": message.role, "content": message.text} for message in context.messages]
    if context.system:
        messages.insert(0, {"role": "system", "content": context.system})
    request: dict[str, object] = {"model": settings.model, "messages": messages, "stream": True}
    if dialect.usage:
        request["stream_options"] = {"include_usage": True}
    if dialect.cap is not None:
        request[dialect.cap] = context.output_tokens
    asked = context.temperature if dialect.temperature else None
    temperature = settings.temperature if asked is None else asked
    if temperature is not None:
        request["temperature"] = temperature
    if context.schema is not None and dialect.schema:
        named = {"name": "answer", "strict": True, "schema": context.schema}
        request["response_format"] = {"type": "json_schema", "json_schema": named}
    if context.may_hand_over and dialect.tools:
        request["tools"] = [HAND_OVER_TOOL]
    return msgspec.json.encode(request | settings.parameters)
