"""The smallest sensible request of each act about dead letters."""

from __future__ import annotations

from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "dead-letters.list": {},
    "dead-letters.show": {"turn": "1"},
    "dead-letters.retry": {"turn": "1"},
    "dead-letters.discard": {"turn": "1"},
    "dead-letters.answer": {"turn": "1", "text": "We are sorry 抱歉"},
    "dead-letters.many": {"act": "discard", "turns": ["1"]},
}
