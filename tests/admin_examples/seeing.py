"""The smallest sensible request of each act that looks at channels, turns and conversations."""

from __future__ import annotations

from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "channels.health": {},
    "instances.list": {},
    "turns.list": {"states": ["ignored", "failed"]},
    "turns.trace": {"turn": "1"},
    "turns.why": {"turn": "1"},
    "turns.replay": {"turn": "1", "changes": ["memory.window.turns=4"]},
    "turns.counts": {"hours": 2},
    "turns.tail": {},
    "conversations.list": {},
    "conversations.search": {"words": "order 订单"},
    "conversations.show": {"conversation": "1"},
}
