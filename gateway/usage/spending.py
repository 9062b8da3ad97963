"""From a message that is answered, or a call that ended, to its entry: who caused it, how many tokens, at which price.

What a service does not report is estimated, also of an answer that was cut short: else whoever stops every answer just before its
end would pay for none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from config.settings import PriceSettings
from gateway.agent import Caller, Usage
from gateway.usage.entries import NOBODY, Cause, Purpose, Tokens, call, message
from gateway.usage.meter import Meter
from memory.base import Call, Ledger
from memory.ids import Ids, now_ms
from memory.key import decode_part
from memory.tokens import estimate


class Spending:
    """Notes what is spent. Nothing here waits."""

    def __init__(
        self, meter: Meter, *, ids: Ids, prices: Callable[[], PriceSettings], clock_ms: Callable[[], int] = now_ms
    ) -> None:
        """`prices` gives those of the moment."""
        self._meter = meter
        self._ids = ids
        self._prices = prices
        self._clock_ms = clock_ms

    def answering(self, event_ids: Iterable[int], *, caller: Caller, agent: str) -> None:
        """Note messages that an agent is asked to answer."""
        for event_id in event_ids:
            self._meter.note(message(event_id, cause=cause_of(caller), agent=agent, at_ms=self._clock_ms()))

    def answered(self, ended: Call, *, turn_id: int, caller: Caller, prompt_tokens: int, text: str) -> None:
        """Note a call for an answer, however it ended; `prompt_tokens` are the prompt's as counted here, `text` what was said.
        A service that gave neither text nor figures has most likely asked for nothing."""
        tokens = reported(ended)
        if tokens is None:
            tokens = Tokens(0, 0) if ended.code and not text else Tokens(prompt_tokens, estimate(text), estimated=True)
        self._note("answer", tokens, turn_id=turn_id, cause=cause_of(caller), agent=ended.agent, model=ended.model,
                   failed=bool(ended.code))  # fmt: skip

    def remembered(
        self, usage: Usage | None, *, ledger: Ledger, agent: str, model: str, prompt: str, text: str, failed: bool
    ) -> None:
        """Note a call for memory's own sake: it counts for the conversation that it learns from. `prompt` and `text` are what was
        asked and said, for where no figures came."""
        if usage is not None:
            tokens = Tokens(usage.prompt, usage.completion, usage.cached)
        elif failed and not text:
            tokens = Tokens(0, 0)
        else:
            tokens = Tokens(estimate(prompt), estimate(text), estimated=True)
        self._note(
            "memory",
            tokens,
            turn_id=ledger.turn_id,
            cause=cause_of_ledger(ledger),
            agent=agent,
            model=model,
            failed=failed,
        )

    def _note(
        self, purpose: Purpose, tokens: Tokens, *, turn_id: int, cause: Cause, agent: str, model: str, failed: bool
    ) -> None:
        if not model:
            return  # no model answers here
        entry = call(
            self._ids.next(),
            purpose,
            turn_id=turn_id,
            cause=cause,
            agent=agent,
            model=model,
            tokens=tokens,
            failed=failed,
            at_ms=self._clock_ms(),
            prices=self._prices(),
        )
        self._meter.note(entry)


def reported(ended: Call) -> Tokens | None:
    """Return the tokens as the service told them; None: it did not."""
    if ended.prompt is None or ended.completion is None:
        return None
    return Tokens(ended.prompt, ended.completion, ended.cached)


def cause_of(caller: Caller) -> Cause:
    """Return for whom an answer is."""
    room = "" if caller.chat_type == "private" else caller.room
    return Cause(channel=caller.channel, room=room, person=caller.person_id or NOBODY)


def cause_of_ledger(ledger: Ledger) -> Cause:
    """Return for whom a turn was that has its ledger. One of a former release does not tell its place."""
    frame = ledger.frame
    room = "" if frame.chat_type == "private" else decode_part(frame.conversation.partition("/")[0])
    channel = decode_part(frame.channel) if frame.channel else ""
    return Cause(channel=channel, room=room, person=ledger.person_id or NOBODY)
