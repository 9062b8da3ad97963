"""From a message that is answered, or a call that ended, to its entry: who caused it, how many tokens, at which price.

What a service does not report is estimated, also of an answer that was cut short: else whoever stops every answer just before its
end would pay for none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

import msgspec

from config.settings import PriceSettings
from gateway.agent import Caller, Usage
from gateway.usage.entries import EMBEDDER, NOBODY, Cause, Entry, Purpose, Tokens, call, exact_cost, message
from gateway.usage.meter import Meter
from memory.base import Call, Ledger
from memory.ids import Ids, now_ms
from memory.key import decode_part
from memory.models import Asker
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
        self._owed: dict[str, Decimal] = {}  # by model: parts of a millionth; as many as models have been embedders

    def answering(self, event_ids: Iterable[int], *, caller: Caller, agent: str) -> None:
        """Note messages that an agent is asked to answer."""
        for event_id in event_ids:
            self._meter.note(message(event_id, cause=cause_of(caller), agent=agent, at_ms=self._clock_ms()))

    def answered(self, ended: Call, *, turn_id: int, caller: Caller, prompt_tokens: int, text: str) -> Call:
        """Note a call for an answer, however it ended, and return it with the id by which it is counted; `prompt_tokens` are the
        prompt's as counted here, `text` what was said. A service that gave neither text nor figures has most likely asked for
        nothing."""
        if not ended.model:
            return ended  # no model answers here
        tokens = reported(ended)
        if tokens is None:
            tokens = Tokens(0, 0) if ended.code and not text else Tokens(prompt_tokens, estimate(text), estimated=True)
        entry = self._entry(
            "answer",
            tokens,
            turn_id=turn_id,
            cause=cause_of(caller),
            agent=ended.agent,
            model=ended.model,
            failed=bool(ended.code),
        )
        self._meter.note(entry)
        return msgspec.structs.replace(ended, id=entry.id)

    def remembered(
        self, usage: Usage | None, *, ledger: Ledger, agent: str, model: str, prompt: str, text: str, failed: bool
    ) -> None:
        """Note a call for memory's own sake: it counts for the conversation that it learns from. `prompt` and `text` are what was
        asked and said, for where no figures came."""
        if model:
            tokens = _tokens(usage, prompt, text, failed=failed)
            self._meter.note(
                self._entry(
                    "memory",
                    tokens,
                    turn_id=ledger.turn_id,
                    cause=cause_of_ledger(ledger),
                    agent=agent,
                    model=model,
                    failed=failed,
                )
            )

    def probed(
        self,
        usage: Usage | None,
        *,
        turn_id: int,
        caller: Caller,
        agent: str,
        model: str,
        prompt: str,
        text: str,
        failed: bool,
    ) -> None:
        """Note a call for the gateway's own probe: nobody's, but its channel's and agent's."""
        if model:
            tokens = _tokens(usage, prompt, text, failed=failed)
            self._meter.note(
                self._entry(
                    "probe", tokens, turn_id=turn_id, cause=cause_of(caller), agent=agent, model=model, failed=failed
                )
            )

    def embedded(self, model: str, texts: Sequence[tuple[Asker, str]], tokens: int | None) -> None:
        """Note a request to memory's embedder; each turn and person has the share of it that their texts have. `tokens` as
        reported; None: they were not. Most texts cost less than a millionth: what is over is charged with the next one."""
        weights: Counter[tuple[Cause, int]] = Counter()
        for asker, text in texts:
            weights[cause_of_asker(asker), asker.turn_id] += estimate(text)
        of_all, so_far, told = max(1, weights.total()), 0, 0
        total = of_all if tokens is None else tokens
        for (cause, turn_id), weight in weights.items():
            so_far += weight
            upto = total * so_far // of_all
            share, told = Tokens(upto - told, 0, estimated=tokens is None), upto
            entry = self._entry(
                "memory", share, turn_id=turn_id, cause=cause, agent=EMBEDDER, model=model, failed=False
            )
            self._meter.note(msgspec.structs.replace(entry, money=self._charged(share, model)))

    def _charged(self, tokens: Tokens, model: str) -> int | None:
        exact = exact_cost(tokens, self._prices(), model=model)
        if exact is None:
            return None
        exact += self._owed.get(model, Decimal(0))
        self._owed[model] = exact % 1
        return int(exact)

    def _entry(
        self, purpose: Purpose, tokens: Tokens, *, turn_id: int, cause: Cause, agent: str, model: str, failed: bool
    ) -> Entry:
        return call(
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


def _tokens(usage: Usage | None, prompt: str, text: str, *, failed: bool) -> Tokens:
    """Return the tokens as the service told them, or as they are estimated; none for what failed without a word."""
    if usage is not None:
        return Tokens(usage.prompt, usage.completion, usage.cached)
    return Tokens(0, 0) if failed and not text else Tokens(estimate(prompt), estimate(text), estimated=True)


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
    return _cause(frame.channel, frame.conversation, frame.chat_type, ledger.person_id)


def cause_of_asker(asker: Asker) -> Cause:
    """Return for whom an embedder was asked. What is known of a person, wherever it was said, is of no channel."""
    return _cause(asker.channel, asker.conversation, asker.chat_type, asker.person_id)


def _cause(channel: str, conversation: str, chat_type: str, person: int | None) -> Cause:
    """Return the cause of the key's columns, encoded as they are in databases."""
    room = "" if chat_type == "private" or not conversation else decode_part(conversation.partition("/")[0])
    return Cause(channel=decode_part(channel) if channel else "", room=room, person=person or NOBODY)
