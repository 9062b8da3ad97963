"""The chat page's channel with a gateway side that explains every turn by one ledger."""

from __future__ import annotations

from typing import Any

import msgspec

from adapters.base import AgentView
from adapters.console.adapter import ConsoleAdapter
from adapters.errors import UnknownTurn
from config.channels.console import ConsoleSettings
from gateway.hot.process import ProcessRateLimits

MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def _entry(
    section: str, role: str, text: str, tokens: int, verdict: str, rule: str, speaker: str = ""
) -> dict[str, Any]:
    entry = {"section": section, "ids": ["1"], "role": role, "speaker": speaker, "text": text}
    return entry | {"tokens": tokens, "verdict": verdict, "rule": rule}


LEDGER: dict[str, Any] = {
    "turn": "7",
    "agent": "default",
    "model": "gpt-5-mini",
    "tokenizer": "o200k",
    "now_ms": 1_790_000_000_000,
    "session": "s-3f0d",
    "revision": "5ac01e",
    "system": f"You are a helpful assistant. {MARKUP}",
    "budget": {"window_tokens": 32_768, "output_reserve": 2_000, "history": 241, "history_limit": 6_000, "total": 400},
    "failed": ["summary"],
    "notes": ["extraction pending"],
    "usage": {"prompt": 812, "completion": 96},
    "entries": [
        _entry("role", "system", "", 142, "in", "always") | {"ids": []},
        _entry("profile", "", "works on backups", 9, "in", "profile"),
        _entry("profile", "", "likes tea", 9, "out", "profile_limit"),
        _entry("window", "user", "ok, thanks", 3, "out", "low_value", "Alice"),
        _entry("window", "user", f"My tool is called Clew {MARKUP}", 14, "in", "window", "Alice"),
        _entry("window", "assistant", "", 40, "out", "deleted"),
        _entry("window", "user", "很长的消息 … 结束", 220, "cut", "kept_turns", "小博"),
        _entry("message", "user", "Who said that? 🙂", 6, "in", "current_turn", "Bob"),
        _entry("weather", "user", "from a newer gateway", 1, "in", "rule_of_tomorrow"),
    ],
}


class FakeExplains:
    """Explains every turn by the same ledger, to whoever has not the token `wrong`; two agents."""

    async def explain(self, channel: str, turn_id: str, *, token: str) -> bytes:
        if not token or token == "wrong":
            raise UnknownTurn("no such turn")
        return msgspec.json.encode(LEDGER)

    def agents(self, channel: str) -> tuple[AgentView, ...]:
        return (AgentView(name="default", kind="demo"), AgentView(name="wise", kind="openai", model="gpt-5-mini"))


def console(*, public_url: str | None = None, **settings: Any) -> ConsoleAdapter:
    """The channel, with these settings."""
    chosen = ConsoleSettings.model_validate(settings)
    return ConsoleAdapter(
        "console", settings=chosen, explains=FakeExplains(), guesses=ProcessRateLimits(), public_url=public_url
    )
