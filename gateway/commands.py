"""Commands that people write in chat: how they are recognised, and who may be told what. Pure; acting is the responder's.

A command is the first word of a message: `/new`, `／new`, or its Chinese name (`/新对话`; `/忘记2` needs no space). Anything else
beginning with a slash (a path, a regular expression) is talk for the agent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from config.channels.base import RoomSettings
from gateway import forget_argument
from gateway.notices import Language, notice
from memory.key import ChatType

CommandName = Literal["help", "new", "stop", "agent", "memory", "forget", "unlearn", "link", "unlink", "human"]
"""`unlearn` is said in plain words only (`gateway/wishes.py`)."""

NAMES: dict[str, CommandName] = {
    "help": "help", "帮助": "help", "start": "help",  # what platforms' own button for a first message sends
    "new": "new", "新对话": "new", "新会话": "new",
    "stop": "stop", "停止": "stop",
    "agent": "agent", "智能体": "agent",
    "memory": "memory", "记忆": "memory",
    "human": "human", "人工": "human", "转人工": "human", "人工服务": "human",
    "link": "link", "关联": "link", "unlink": "unlink", "解除关联": "unlink",
    "forget": "forget", "忘记": "forget", "忘掉": "forget",
}  # fmt: skip

_JOINED = re.compile(r"(?:忘记|忘掉)(.{1,40})")

MENU: dict[CommandName, dict[Language, str]] = {
    "new": {"en": "Start a new conversation", "zh": "开始新的对话"},
    "stop": {"en": "Stop the answer that is being written for you", "zh": "停止正在为您写的回答"},
    "memory": {"en": "What I know of you", "zh": "我记得的关于您的内容"},
    "forget": {"en": "Have me forget something of that", "zh": "让我忘掉其中的内容"},
    "link": {"en": "Be known as the same person on another channel", "zh": "与您在另一个渠道的账号关联"},
    "unlink": {"en": "Take that back for this account", "zh": "解除这个账号的关联"},
    "human": {"en": "Ask for a human", "zh": "请求人工服务"},
    "agent": {"en": "Who answers you here, and who else could", "zh": "由谁回答您，还有谁可以选"},
    "help": {"en": "What you can write", "zh": "可以使用的命令"},
}
"""What each command does in a few words, for platforms that show a menu of them."""


@dataclass(frozen=True, slots=True)
class Command:
    """A recognised command and what stood behind its name, stripped. Behind `/new` it is the new conversation's first
    message."""

    name: CommandName
    argument: str = ""


def parse_command(text: str) -> Command | None:
    """Return the command that `text` is, or None."""
    stripped = text.strip()
    if not stripped.startswith(("/", "／")) or not stripped[1:] or stripped[1].isspace():
        return None
    word, *rest = stripped[1:].split(maxsplit=1)
    name = NAMES.get(word.lower())
    if name is None and (joined := _JOINED.fullmatch(stripped[1:])) and forget_argument.read(joined[1]):
        return Command("forget", joined[1])
    return Command(name, *rest) if name else None


def lasts(command: Command) -> bool:
    """Whether the command changes something for later, for others or under the sender's name: only who is known may."""
    return command.name in ("new", "forget", "unlearn", "link", "unlink") or (
        command.name == "agent" and bool(command.argument)
    )


def personal(command: Command) -> bool:
    """Whether the answer to the command concerns its sender alone; a new conversation, and a human, are there for everybody."""
    return command.name not in ("new", "human")


def help_text(settings: RoomSettings, language: Language, *, chat_type: ChatType = "private", prefix: str = "") -> str:
    """Return the list of commands that work in this room, and in a group what else the bot hears. `prefix` stands before
    commands' names in the platform's menu."""
    names = ", ".join(settings.agents)
    line = notice("help_agent", language, agents=names, prefix=prefix) if settings.agents else ""
    human = notice("help_human", language, prefix=prefix) if settings.takeover.people_may_ask else ""
    text = notice("help", language, human_line=human, agent_line=line, prefix=prefix)
    return text if chat_type == "private" else "\n".join([text, *_heard_here(settings, language)])


def _heard_here(settings: RoomSettings, language: Language) -> list[str]:
    """Return what a group is told about when it is answered."""
    triggers = ("always",) if "always" in settings.trigger else tuple(dict.fromkeys(settings.trigger))
    comma = ", " if language == "en" else "、"
    ways = [notice(f"heard_{trigger}", language, prefixes=comma.join(settings.prefix)) for trigger in triggers]
    lines = (
        [notice("help_heard", language, ways="; ".join(ways) if language == "en" else "；".join(ways))] if ways else []
    )
    if settings.observe and triggers != ("always",):
        lines.append(notice("help_observed", language))
    return lines


def agent_answer(asked: str, *, current: str, settings: RoomSettings, language: Language) -> tuple[str | None, str]:
    """Return the agent to switch to (None: no change) and what to tell the person."""
    names = ", ".join(settings.agents)
    if not settings.agents:
        return None, notice("agent_fixed", language, agent=current)
    if not asked:
        return None, notice("agent_is", language, agent=current, agents=names)
    if asked not in settings.agents:
        return None, notice("agent_unknown", language, asked=asked, agents=names)
    return asked, notice("agent_set", language, agent=asked)
