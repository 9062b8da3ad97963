"""Asking the agent: the answer as a live stream, a fallback where one is down, one shorter try where the prompt is too long,
and an early end when its speaker wants it.

Between the memory that made the prompt and the responder that hands the reply on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from config.channels.base import RoomSettings
from gateway.agent import HAND_OVER, Caller, Delta, Done, Retry, ToolUse
from gateway.errors import AgentBroken, AgentFault, AgentTimeout, AgentUnavailable, ContextTooLong
from gateway.hot.base import Streams
from gateway.human_notices import told
from gateway.lanes import Running
from gateway.live import Live, MadeAgent
from gateway.metrics import Metrics
from gateway.notices import notice
from gateway.policy import policy_of
from gateway.routing import Route, place_of
from gateway.small_model import model_name
from gateway.traces import OFF, Traces
from gateway.usage.enforcing import Quotas
from gateway.usage.spending import Spending
from memory.base import Call, Step
from memory.ids import now_ms
from memory.policy import Policy
from memory.service import Memory
from memory.turn import Prepared, Reply

logger = logging.getLogger(__name__)

DOWN = (AgentUnavailable, AgentTimeout, AgentBroken)
"""What makes a fallback agent answer. A refusal does not: another model must not say what this one may not."""


@dataclass(slots=True)
class Draft:
    """An answer while it is made. `prepared` is the prompt in force: a fallback or a shorter try replaces it. `changed` is set
    whenever the text has grown; whoever shows it clears that."""

    prepared: Prepared
    text: str = ""
    steps: list[Step] = field(default_factory=list)
    hand_over: str | None = None  # why the agent wants a human; None: it does not
    calls: list[Call] = field(default_factory=list)
    done: Done | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def reply(self) -> Reply:
        """Return the finished answer as memory keeps it."""
        done = self.done or Done(finish="stopped")
        usage = {"prompt": done.usage.prompt, "completion": done.usage.completion} if done.usage else {}
        return Reply(
            text=self.text,
            usage=usage,
            calls=tuple(self.calls),
            steps=tuple(self.steps),
            thinking=done.thinking,
            thinking_s=done.thinking_s,
            looked_up_ms=done.looked_up_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lent:
    """An agent for the length of a turn, whatever is reloaded meanwhile, and the policy by which it is asked."""

    made: MadeAgent
    policy: Policy
    may_hand_over: bool = False


@dataclass(slots=True)
class _Timing:
    """A call under way; times are the loop's."""

    lent: Lent
    began: float
    first: float | None = None
    retries: int = 0
    code: str = ""
    done: Done | None = None

    def call(self, *, now: float) -> Call:
        """Return the call as the ledger keeps it."""
        usage = self.done.usage if self.done is not None else None
        return Call(
            agent=self.lent.policy.agent,
            model=self.lent.made.model,
            ms=round((now - self.began) * 1000),
            first_ms=None if self.first is None else round((self.first - self.began) * 1000),
            retries=self.retries,
            finish=self.done.finish if self.done is not None else "",
            code=self.code,
            prompt=None if usage is None else usage.prompt,
            completion=None if usage is None else usage.completion,
            cached=0 if usage is None else usage.cached,
        )


class Asking:
    """Asks agents for the responder."""

    def __init__(
        self,
        *,
        live: Live,
        memory: Memory,
        streams: Streams,
        metrics: Metrics,
        quotas: Quotas,
        spending: Spending,
        traces: Traces = OFF,
    ) -> None:
        self._traces = traces
        self._quotas = quotas
        self._spending = spending
        self._live = live
        self._memory = memory
        self._streams = streams
        self._metrics = metrics

    @asynccontextmanager
    async def lent(self, agent: str, room: RoomSettings) -> AsyncIterator[Lent]:
        """Lend the agent, with the policy by which it is asked in the room. Raises KeyError: no such."""
        async with self._live.agent(agent) as made:
            policy = policy_of(
                agent,
                made.settings,
                room,
                model=made.model,
                reports_lookups=made.agent.reports_lookups,
                summarised=room.memory.summary.enabled and model_name(room, agent, self._live.agents()) is not None,
            )
            yield Lent(made=made, policy=policy, may_hand_over=room.takeover.agent_may_ask)

    async def ask(self, turn: Running, head: Route, draft: Draft, *, lent: Lent, caller: Caller) -> bool:
        """Fill the draft. False: the turn was interrupted and begins again. One that was stopped, or whose message is gone,
        has what there was so far, marked, or no text; where it was before, no agent is asked. Raises `AgentFault` when no agent
        gave an answer, `LeaseLost` where one would be asked, again too, that another instance may be asking."""
        if not turn.halted.is_set() and await self._answered(turn, head, draft, lent=lent, caller=caller):
            return True
        if turn.reason == "interrupted":
            return False
        if draft.text:
            taken = turn.reason == "taken_over"
            said = told("taken_over_mark", head.language) if taken else notice("stopped_mark", head.language)
            mark = f"\n\n{said}"
            draft.text += mark
            self._streams.delta([event.id for event in turn.events], mark)
        return True

    async def _answered(self, turn: Running, head: Route, draft: Draft, *, lent: Lent, caller: Caller) -> bool:
        """Let the agent answer; False: the turn was halted first."""
        answer = asyncio.ensure_future(self._with_fallback(turn, head, draft, lent=lent, caller=caller))
        halted = asyncio.ensure_future(turn.halted.wait())
        try:
            await asyncio.wait({answer, halted}, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                answer.result()
            return answer.done()
        finally:
            answer.cancel()
            halted.cancel()
            await asyncio.gather(answer, halted, return_exceptions=True)

    async def _with_fallback(self, turn: Running, head: Route, draft: Draft, *, lent: Lent, caller: Caller) -> None:
        try:
            await self._shorter_if_need_be(turn, lent, draft, caller=caller)
        except DOWN as fault:
            # As the settings are now: agent, policy and revision of one moment, whatever was reloaded since the turn began.
            configuration = self._live.configuration
            room = place_of(head.event, configuration)
            if room is None or room.fallback is None or await self._quotas.agent_used_up(room.fallback):
                raise
            logger.warning("fallback agent answers", extra={"fallback": room.fallback, "reason": str(fault)})
            async with self.lent(room.fallback, room) as other:
                self._begin_again(turn, draft)
                draft.prepared = await self._memory.handed_over(
                    draft.prepared, policy=other.policy, revision=configuration.revision
                )
                await self._shorter_if_need_be(turn, other, draft, caller=caller)

    async def _shorter_if_need_be(self, turn: Running, lent: Lent, draft: Draft, *, caller: Caller) -> None:
        try:
            try:
                await self._traced(turn, lent, draft, caller=caller)
            except ContextTooLong:
                draft.prepared = self._memory.shortened(draft.prepared)
                self._begin_again(turn, draft)
                await self._traced(turn, lent, draft, caller=caller)
        except AgentFault as fault:
            self._metrics.agent_failed(agent=lent.policy.agent, code=fault.code)
            raise

    async def _traced(self, turn: Running, lent: Lent, draft: Draft, *, caller: Caller) -> None:
        with self._traces.span("ask", agent=lent.policy.agent, model=lent.made.model or None) as span:
            await self._stream(turn, lent, draft, caller=caller)
            if draft.done is not None:
                span.note(finish=draft.done.finish)
                if draft.done.usage is not None:
                    span.note(prompt_tokens=draft.done.usage.prompt, completion_tokens=draft.done.usage.completion)

    async def _stream(self, turn: Running, lent: Lent, draft: Draft, *, caller: Caller) -> None:
        turn.must_be_mine()
        timing = _Timing(lent, began=asyncio.get_running_loop().time())
        try:
            await self._streamed(turn, lent, draft, timing, caller=caller)
        except AgentFault as fault:
            timing.code = fault.code
            raise
        finally:
            ended = timing.call(now=asyncio.get_running_loop().time())
            asked = draft.prepared.context.tokens
            draft.calls.append(
                self._spending.answered(
                    ended, turn_id=turn.turn_id, caller=caller, prompt_tokens=asked, text=draft.text
                )
            )

    async def _streamed(self, turn: Running, lent: Lent, draft: Draft, timing: _Timing, *, caller: Caller) -> None:
        ids, name = [event.id for event in turn.events], lent.policy.agent
        loop = asyncio.get_running_loop()
        deadline = loop.time() + lent.made.settings.timeout_s
        context = msgspec.structs.replace(draft.prepared.context, may_hand_over=lent.may_hand_over)
        stream = lent.made.agent.answer(context, caller=caller, deadline=deadline)
        async with aclosing(stream) as events:
            async for event in events:
                match event:
                    case Delta(text):
                        if not draft.text:
                            timing.first = loop.time()
                            waited = (now_ms() - turn.events[0].accepted_ms) / 1000
                            self._metrics.first_token(waited, channel=caller.channel, agent=name)
                        draft.text += text
                        draft.changed.set()
                        self._streams.delta(ids, text)
                    case ToolUse(step):
                        draft.steps.append(step)
                        if step.name == HAND_OVER:
                            draft.hand_over = step.detail
                    case Retry():
                        turn.must_be_mine()
                        timing.retries += 1
                    case Done():
                        draft.done = timing.done = event
        if not draft.text.strip() and draft.hand_over is not None:
            draft.text = told("agent_hands_over", "zh" if caller.language == "zh" else "en")
            draft.changed.set()
            self._streams.delta(ids, draft.text)
        if not draft.text.strip():
            # Nothing that people could see: platforms refuse it, or show what stands for it.
            raise AgentBroken(f"agent {name!r} said nothing (finish {draft.done.finish if draft.done else 'none'!r})")

    def _begin_again(self, turn: Running, draft: Draft) -> None:
        if draft.text:
            self._streams.reset([event.id for event in turn.events])
        draft.text, draft.done = "", None
        draft.hand_over = None
        draft.steps.clear()
