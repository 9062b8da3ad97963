"""The counting parts as they belong together, for the composition root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from adapters.base import MessageEvent
from config.loader import Configuration
from gateway.metrics import Metrics
from gateway.people import People
from gateway.usage.enforcing import Quotas
from gateway.usage.entries import MICRO, Entry
from gateway.usage.meter import Meter
from gateway.usage.quotas import Limit
from gateway.usage.rows import UsageRows
from gateway.usage.spending import Spending
from gateway.usage.windows import zone
from memory.ids import Ids, now_ms

FRESH_S = 1.0
"""Seconds for which an instance goes by what it knows, where others count too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageParts:
    """What counts, what holds back, and what notes; `rows` is what all that stands on."""

    rows: UsageRows
    meter: Meter
    quotas: Quotas
    spending: Spending


def usage_parts(
    rows: UsageRows,
    *,
    several: bool,
    people: People,
    ids: Ids,
    metrics: Metrics,
    configuration: Callable[[], Configuration],
    taken_over: Callable[[MessageEvent], bool],
    clock_ms: Callable[[], int] = now_ms,
) -> UsageParts:
    """Make the parts. `several`: other instances may count in the same database. `taken_over`: a human has a conversation."""

    def counted(entry: Entry) -> None:
        if entry.calls:
            told = metrics.tokens if entry.purpose == "answer" else metrics.memory_tokens
            told(agent=entry.agent, prompt=entry.prompt, completion=entry.completion)
        if entry.money is not None:
            currency = configuration().settings.prices.currency
            metrics.cost(entry.money / MICRO, agent=entry.agent, currency=currency)
        elif entry.unpriced:
            metrics.unpriced(agent=entry.agent)

    def met(channel: str, limit: Limit, kind: Literal["soft", "hard"]) -> None:
        metrics.quota_met(channel=channel, per=limit.subject.kind, unit=limit.measure, limit=kind)

    meter = Meter(
        rows,
        fresh_s=FRESH_S if several else None,
        zone=lambda: zone(configuration().settings.usage.time_zone),
        read_s=lambda: configuration().settings.usage.wait_s,
        counted=counted,
        dropped=metrics.usage_dropped,
        clock_ms=clock_ms,
    )
    quotas = Quotas(
        meter, people=people, configuration=configuration, taken_over=taken_over, met=met, clock_ms=clock_ms
    )
    spending = Spending(meter, ids=ids, prices=lambda: configuration().settings.prices, clock_ms=clock_ms)
    return UsageParts(rows=rows, meter=meter, quotas=quotas, spending=spending)
