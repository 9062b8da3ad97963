"""Commands in chat: what is one, what is not, and what the gateway says."""

from __future__ import annotations

import re
import string
from typing import get_args

import pytest

from config.channels.base import RoomSettings, Trigger
from gateway.commands import NAMES, Command, agent_answer, help_text, lasts, parse_command
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
        ("/start", Command("help")),
        ("/记忆", Command("memory")),
        ("/忘记2", Command("forget", "2")),
        ("/忘掉第２条", Command("forget", "第２条")),
        ("/忘记全部", Command("forget", "全部")),
        ("/忘记我的地址", Command("forget", "我的地址")),
        ("/忘记密码怎么办", None),
        ("/记忆力", None),
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


def test_help_says_in_a_group_what_the_bot_hears() -> None:
    """By the room's triggers, in both languages; in private there is nothing to say about it."""
    room = RoomSettings(trigger=("mention", "thread", "prefix"), prefix=("!bot", "机器人"), observe=True)
    english, chinese = (help_text(room, language, chat_type="group").splitlines()[-2:] for language in ("en", "zh"))

    assert (
        "when I am mentioned; in threads in which I have answered before; to messages that begin with !bot, 机器人"
        in english[0]
    )
    assert "有人提到我；在我回答过的话题里发言；消息以 !bot、机器人 开头" in chinese[0]
    assert ("background" in english[1], "背景" in chinese[1]) == (True, True)
    assert "mentioned" not in help_text(room, "en")
    assert "every message" in help_text(RoomSettings(trigger=("mention", "always")), "en", chat_type="group")
    assert help_text(RoomSettings(trigger=()), "en", chat_type="group").endswith("this list")


@pytest.mark.parametrize("trigger", get_args(Trigger))
def test_every_trigger_can_be_told(trigger: Trigger) -> None:
    assert notice(f"heard_{trigger}", "zh", prefixes="!") in help_text(
        RoomSettings(trigger=(trigger,), prefix=("!",)), "zh", chat_type="group"
    )


def test_help_names_commands_as_the_platform_does() -> None:
    """Where another app has /new, ours is /clew-new there."""
    text = help_text(RoomSettings(agents=("jobs",)), "en", prefix="clew-")

    names = ("new", "stop", "memory", "forget", "link", "unlink", "human", "agent", "help")
    assert {f"/clew-{name}" for name in names} == set(re.findall(r"^/\S+", text, re.M))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/new", True),
        ("/new hi", True),
        ("/agent jobs", True),
        ("/agent", False),
        ("/stop", False),
        ("/memory", False),
        ("/forget 2", True),
    ],
)
def test_what_changes_something_for_later(text: str, expected: bool) -> None:
    command = parse_command(text)

    assert command is not None
    assert expected is lasts(command)


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
