"""Commands in chat: what is one, what is not, and what the gateway says."""

from __future__ import annotations

import string

import pytest

from config.channels.base import RoomSettings
from gateway.commands import NAMES, Command, agent_answer, help_text, parse_command
from gateway.notices import NOTICES, notice


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/new", Command("new")),
        ("  /NEW  ", Command("new")),
        ("／new", Command("new")),
        ("/新对话", Command("new")),
        ("/new 我想订一双鞋", Command("new", "我想订一双鞋")),
        ("/agent\nshop", Command("agent", "shop")),
        ("/停止", Command("stop")),
        ("/帮助", Command("help")),
        ("/记忆", Command("memory")),
        ("/newspaper", None),
        ("/etc/passwd", None),
        ("/", None),
        ("/ new", None),
        ("／ ", None),
        ("please /stop", None),
        ("", None),
    ],
)
def test_what_is_a_command(text: str, command: Command | None) -> None:
    """The first word decides; paths and words that only begin like a command are talk."""
    assert command == parse_command(text)


def test_choosing_an_agent() -> None:
    """Only what the admin lists can be chosen; the answer names the choices, in the person's language."""
    room = RoomSettings(agent="shop", agents=("shop", "jobs"))

    assert ("jobs", "从现在起由 jobs 回答您。") == agent_answer("jobs", current="shop", settings=room, language="zh")
    assert agent_answer("root", current="shop", settings=room, language="en")[0] is None
    assert "shop, jobs" in agent_answer("", current="shop", settings=room, language="en")[1]
    assert agent_answer("jobs", current="shop", settings=RoomSettings(agent="shop"), language="en")[0] is None


def test_help_lists_what_works_here() -> None:
    """/agent stands in the list only where there is a choice."""
    assert "/agent" not in help_text(RoomSettings(), "en")
    assert "jobs" in help_text(RoomSettings(agents=("jobs",)), "zh")


def test_every_notice_has_both_languages() -> None:
    """English and Chinese are equal citizens: same notices, same values."""
    for name, texts in NOTICES.items():
        fields = {
            language: {field for _, field, _, _ in string.Formatter().parse(text) if field}
            for language, text in texts.items()
        }

        assert {"en", "zh"} == texts.keys(), name
        assert fields["en"] == fields["zh"], name


def test_notice_fills_in() -> None:
    """Values stand where the text says."""
    assert "That was more than 20 messages" in notice("rate_limited", "en", limit=20)


def test_every_command_has_a_chinese_name() -> None:
    """Whoever writes Chinese need not know the English word."""
    assert {name for word, name in NAMES.items() if not word.isascii()} == set(NAMES.values())
