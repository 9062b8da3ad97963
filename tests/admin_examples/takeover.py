"""The smallest sensible request of each act about take-overs."""

from __future__ import annotations

from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "takeovers.list": {},
    "takeovers.show": {"takeover": "1"},
    "takeovers.ask": {"turn": "1"},
    "takeovers.begin": {"turn": "1"},
    "takeovers.messages": {"takeover": "1"},
    "takeovers.say": {"takeover": "1", "text": "您好"},
    "takeovers.draft_summary": {"takeover": "1"},
    "takeovers.hand_back": {"takeover": "1"},
}
