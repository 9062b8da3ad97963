"""The smallest request of each act about what was spent."""

from __future__ import annotations

from gateway.admin.acts import usage

EXAMPLES: dict[str, dict[str, object]] = {
    usage.SUMMARY.name: {},
    usage.SERIES.name: {},
    usage.EXPORT.name: {},
    usage.TURN.name: {"turn": "1"},
    usage.QUOTAS.name: {},
}
