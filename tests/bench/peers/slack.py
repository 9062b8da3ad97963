"""On Slack: bare slack-bolt with a handler that replies, beside our edge, our edge with memory, and the whole gateway.

Bolt does less: it verifies, asks and posts; it keeps nothing, forgets what was in work when it dies, answers a repeated delivery
again, and knows no rooms, people or limits. The subjects and their load are those of `tests/bench/slack.py`.
"""

from __future__ import annotations

from tests.bench.slack import measure

__all__ = ["measure"]
