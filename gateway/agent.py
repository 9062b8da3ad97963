"""What answers: the one protocol that every agent kind implements (`gateway/agents/`)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

import msgspec

from memory.base import Context, Step


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The verified identity behind a turn: the only ground for permission. Never taken from memory or text (B56)."""

    channel: str
    kind: str
    tenant: str
    account: str
    person_id: int | None
    chat_type: str
    room: str
    thread: str | None
    language: str  # "en" or "zh": the person's, for what the agent itself says


HAND_OVER = "hand_over"
"""The step by which an agent asks for a human, where `Context.may_hand_over` lets it; its detail says why."""


class Delta(msgspec.Struct, frozen=True):
    """More of the reply's text; never empty."""

    text: str


class ToolUse(msgspec.Struct, frozen=True):
    """The agent did something on the way (goes into the step log)."""

    step: Step


class Retry(msgspec.Struct, frozen=True):
    """The agent asks its service again, as nothing was shown yet; for the record only."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens as the model's service reports them."""

    prompt: int
    completion: int
    cached: int = 0  # of the prompt's: those that the service had in its cache, and asks less for


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The answer is complete; the last event, exactly once."""

    finish: str  # "stop", "length", "content_filter", ...
    usage: Usage | None = None  # None: not reported
    looked_up_ms: int | None = None  # when the look-up behind this answer was made; None: none, or the agent can't tell
    thinking: str | None = None
    thinking_s: float | None = None


AgentEvent = Delta | ToolUse | Retry | Done


class Agent(Protocol):
    """Answers one assembled context.

    `answer` yields `Delta`s, `ToolUse`s and `Retry`s, then one `Done`; a stream that ends otherwise raised a
    `gateway.errors.AgentFault`. `deadline` is in `asyncio` loop time; past it `AgentTimeout` is raised. Safe for many
    calls at once; cancelling the iteration closes the call. Retries that repeat no text are the agent's own.
    """

    reports_lookups: bool
    """True when `Done.looked_up_ms` None means "no look-up", so that only real look-ups are down-weighted (E08)."""

    def answer(self, context: Context, *, caller: Caller, deadline: float) -> AsyncGenerator[AgentEvent, None]: ...

    async def probe(self) -> None:
        """Prove that the agent can be reached, cheaply; raises `AgentFault`."""
        ...

    async def aclose(self) -> None: ...
