"""What is counted: a message that was let in, or one call of a model, each with whom it counts for. Pure.

An entry is known by its id and purpose, so that noting it again counts nothing twice.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal, NamedTuple

import msgspec

from config.settings import PriceSettings

Purpose = Literal["message", "answer", "memory", "probe"]
EMBEDDER = "(embedder)"
"""What stands for the agent where memory's embedder is asked; no agent has such a name."""
NOBODY = 0
"""The person of what nobody is known for, or somebody who was erased."""

MICRO = 1_000_000
"""Money is counted in whole millionths of the currency."""


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """For whom something is spent: the conversation that caused it. `room` is "" in private, where the person says enough."""

    channel: str
    room: str
    person: int


class Tokens(NamedTuple):
    """Tokens of a call; `cached` of the prompt's were in the service's cache. `estimated`: the service did not report them."""

    prompt: int
    completion: int
    cached: int = 0
    estimated: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One message or call. `money` None: its price is not known. `id` is the event's of a message, drawn for a call."""

    id: int
    purpose: Purpose
    turn_id: int
    at_ms: int
    channel: str
    room: str
    person: int
    agent: str
    model: str = ""
    failed: bool = False
    estimated: bool = False
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    money: int | None = None

    @property
    def messages(self) -> int:
        """How many messages it is."""
        return int(self.purpose == "message")

    @property
    def calls(self) -> int:
        """How many calls it is."""
        return 1 - self.messages

    @property
    def unpriced(self) -> int:
        """How many calls of unknown price it is."""
        return int(self.money is None and self.purpose != "message")

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.prompt + self.completion


def message(event_id: int, *, cause: Cause, agent: str, at_ms: int) -> Entry:
    """Return the entry of a message that is to be answered."""
    return Entry(
        id=event_id, purpose="message", turn_id=event_id, at_ms=at_ms, agent=agent, **msgspec.structs.asdict(cause)
    )


def call(
    entry_id: int,
    purpose: Purpose,
    *,
    turn_id: int,
    cause: Cause,
    agent: str,
    model: str,
    tokens: Tokens,
    failed: bool,
    at_ms: int,
    prices: PriceSettings,
) -> Entry:
    """Return the entry of a model's call, at the prices of now."""
    return Entry(
        id=entry_id,
        purpose=purpose,
        turn_id=turn_id,
        at_ms=at_ms,
        agent=agent,
        model=model,
        failed=failed,
        estimated=tokens.estimated,
        prompt=tokens.prompt,
        cached=min(tokens.cached, tokens.prompt),
        completion=tokens.completion,
        money=cost(tokens, prices, model=model),
        **msgspec.structs.asdict(cause),
    )


def cost(tokens: Tokens, prices: PriceSettings, *, model: str) -> int | None:
    """Return what the tokens cost, in millionths; None: the model's price is not known.

    A price is for a million tokens, so one token costs as many millionths: 1,000 at 0.25 in and 200 at 2 out are 650, or
    0.00065. Rounded once for each call, halves to the even one.
    """
    exact = exact_cost(tokens, prices, model=model)
    return None if exact is None else int(exact.to_integral_value(ROUND_HALF_EVEN))


def exact_cost(tokens: Tokens, prices: PriceSettings, *, model: str) -> Decimal | None:
    """Return the same, not rounded."""
    price = prices.models.get(model)
    if price is None:
        return None
    cached = min(tokens.cached, tokens.prompt)
    cached_price = price.input if price.cached_input is None else price.cached_input
    return (
        (tokens.prompt - cached) * Decimal(str(price.input))
        + cached * Decimal(str(cached_price))
        + tokens.completion * Decimal(str(price.output))
    )


def money_text(millionths: int) -> str:
    """Return an amount as text: 650 gives 0.000650. Pure."""
    return f"{millionths // MICRO}.{millionths % MICRO:06}"
