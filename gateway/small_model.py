"""The small model of memory, asked through one of the configured agents (`memory.models.SmallModel`).

Which one is the `memory.model` setting's business; retries, address and key are the agent's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Protocol

from config.channels.base import RoomSettings
from gateway.agent import Caller, Delta, Done, Usage
from gateway.errors import AgentFault
from gateway.live import Live, MadeAgent
from gateway.metrics import Metrics
from memory.base import Context, PromptMessage
from memory.errors import ModelFailed

TEMPERATURE = 0.3  # A43: notes and summaries want no invention

_CHARS_A_TOKEN = 16  # more than any text has; an answer that is longer heeds no limit

_NOBODY = Caller(
    channel="", kind="memory", tenant="", account="", person_id=None, chat_type="private", room="", thread=None, language="en"
)  # fmt: skip
SMALL = "small"
"""The agent that `auto` means, if there is one of that name."""


def model_name(room: RoomSettings, answering: str, agents: Mapping[str, MadeAgent]) -> str | None:
    """Return the agent whose model memory asks where `answering` answers; None: none, so rules alone."""
    wished = room.memory.model
    if wished == "none":
        return None
    name = (SMALL if SMALL in agents else answering) if wished == "auto" else wished
    made = agents.get(name)
    return name if made is not None and made.model else None


class Spent(Protocol):
    """Hears of each question: what its service reported, what was asked and said, and whether that was all in vain."""

    def __call__(self, usage: Usage | None, *, model: str, prompt: str, text: str, failed: bool) -> None: ...


class AgentModel:
    """One agent as a small model; each question may take `timeout_s`."""

    def __init__(self, name: str, *, live: Live, metrics: Metrics, timeout_s: float, spent: Spent) -> None:
        self.name = name
        self._live = live
        self._spent = spent
        self._metrics = metrics
        self._timeout_s = timeout_s

    async def complete(self, *, system: str, prompt: str, schema: Mapping[str, object] | None, max_tokens: int) -> str:
        """See `memory.models.SmallModel`. An answer that was cut off is none."""
        context = Context(
            system=system,
            messages=(PromptMessage(role="user", text=prompt),),
            tokens=0,
            output_tokens=max_tokens,
            temperature=TEMPERATURE,
            schema=schema,
        )
        try:
            text, done = await self._asked(context)
        except KeyError:
            raise ModelFailed(f"agent {self.name!r} is not configured any more") from None
        except AgentFault as fault:
            self._metrics.agent_failed(agent=self.name, code=fault.code)
            raise ModelFailed(f"agent {self.name!r} failed ({fault.code})") from fault
        if done is None or done.finish != "stop" or not text.strip():
            finish = done.finish if done else "none"
            raise ModelFailed(f"agent {self.name!r} gave no whole answer (finish {finish!r})")
        return text

    async def _asked(self, context: Context) -> tuple[str, Done | None]:
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        pieces: list[str] = []
        left = _CHARS_A_TOKEN * context.output_tokens
        done: Done | None = None
        async with self._live.agent(self.name) as made:
            try:
                async with aclosing(made.agent.answer(context, caller=_NOBODY, deadline=deadline)) as events:
                    async for event in events:
                        match event:
                            case Delta(text):
                                pieces.append(text)
                                left -= len(text)
                                if left < 0:  # it was told how much it may say, and goes on and on
                                    raise ModelFailed(f"agent {self.name!r} says far more than it was asked for")
                            case Done():
                                done = event
            finally:
                asked = f"{context.system}\n{context.messages[0].text}"
                usage = done.usage if done is not None else None
                said = "".join(pieces)
                self._spent(usage, model=made.model, prompt=asked, text=said, failed=done is None)
        return "".join(pieces), done
