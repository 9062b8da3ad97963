"""On Slack: bare slack-bolt with a handler that replies, beside our edge, our edge with memory, and the whole gateway.

Bolt does less: it verifies, asks and posts; it keeps nothing, forgets what was in work when it dies, answers a repeated delivery
again, and knows no rooms, people or limits. The subjects and their load are those of `tests/bench/slack.py`, by the same driver.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from tests.bench import slack
from tests.bench.tables import Cell, Table


async def measure(quick: bool) -> AsyncIterator[Table]:
    figures = await slack.measured({1: 20, 50: 60} if quick else slack.TURNS, warm=60 if quick else slack.WARM)
    rows: list[list[Cell]] = []
    for n in dict.fromkeys(figure.in_flight for figure in figures):
        those = [figure for figure in figures if figure.in_flight == n]
        least, bolt = those[0].cpu_ms, those[1].cpu_ms
        rows += [
            [
                n, one.subject, one.per_s, one.p50_ms, one.p99_ms, one.p99_ms / one.p50_ms, one.cpu_ms, one.cpu_ms / bolt,
                one.cpu_ms / least, one.rss_mb, one.lost,
            ]
            for one in those
        ]  # fmt: skip
    yield Table(
        title="Slack, mention to answer (G1, G2, G4)",
        columns=(
            "in flight", "who", "turns/s", "p50 ms", "p99 ms", "p99/p50", "CPU ms a turn", "x of bolt", "x of the least",
            "RSS MB", "lost",
        ),
        rows=rows,
    )  # fmt: skip
