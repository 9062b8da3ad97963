"""What can go wrong in the gateway.

GatewayFault
├── AgentFault              the agent gave no usable answer; `code` tells the person and the metrics which kind
│   ├── AgentUnavailable    not reachable, overloaded, 5xx or 429 after retries: a fallback agent may answer
│   ├── AgentTimeout        the deadline passed
│   ├── AgentRefused        bad key, unknown model, request refused: an admin must act
│   ├── AgentBroken         malformed chunk, or a stream without a finish reason
│   └── ContextTooLong      the model says the prompt is too long: trim harder, once
├── LeaseLost               another instance owns the lane now; write nothing
├── StoreBusy               the queue cannot take an event now; carries retry_after_s
│   └── QueueRefused        its database is there, and refuses
├── BadRequest              an admin asked for what can't be done; says what would
├── CannotJoin              this instance can't be one of the others: an admin must act
└── CannotListen            no port to listen on: an admin must act
"""

from __future__ import annotations


class GatewayFault(Exception):
    """Root of the gateway's errors."""


class AgentFault(GatewayFault):
    """The agent gave no usable answer."""

    code = "agent_failed"


class AgentUnavailable(AgentFault):
    """The agent can't be reached or is overloaded; another one may answer."""

    code = "agent_unavailable"

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class AgentTimeout(AgentFault):
    """The agent did not finish before the deadline."""

    code = "agent_timeout"


class AgentRefused(AgentFault):
    """The agent's service refused the request: a key, a model name or the content; retrying won't help."""

    code = "agent_refused"


class AgentBroken(AgentFault):
    """The answer broke off or could not be read; what came so far is not an answer."""

    code = "agent_broken"


class ContextTooLong(AgentFault):
    """The model's window is smaller than the prompt."""

    code = "context_too_long"


class LeaseLost(GatewayFault):
    """Another instance owns the lane now."""


class StoreBusy(GatewayFault):
    """The queue cannot take an event now."""

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class QueueRefused(StoreBusy):
    """The queue's database is there and refuses what was asked. Trying again helps once somebody has mended it."""


class CannotJoin(GatewayFault):
    """Its number is another's, or its clock is too far off."""


class CannotListen(GatewayFault):
    """The HTTP server got no port: taken, not allowed, or no such address."""


class BadRequest(GatewayFault):
    """An admin's request that can't be carried out as it is."""
