"""What people ask for in plain words that the gateway does itself: only where the whole message says so, in English or Chinese.

"Forget that" must not depend on a model, which would say that it did. Whatever says more than this goes to the agent. Pure.
"""

from __future__ import annotations

import re

from gateway.commands import Command, parse_command
from memory.rules.traditional import SIMPLIFIED

_MOST_CHARS = 60
_EDGES = " \t\n.,!?…~。，！？、～"

_SAID_BEFORE = (
    r"(?:that|this|what i (?:just )?(?:said|told you|wrote)(?: just now)?|(?:my|the) last (?:message|thing i said))"
)
_FORGETS = (
    r"(?:forget(?: about)?|un-?learn|un-?remember|(?:do not|don't|dont|never) (?:remember|memori[sz]e|store|keep))"
)
_POLITE = r"(?:(?:please|pls|ok|okay|sorry|no|actually)[,.]? )*"
_ENGLISH = re.compile(rf"{_POLITE}{_FORGETS} {_SAID_BEFORE}(?:,? (?:please|pls|again))?")

_JUST = r"(?:刚刚|刚才|刚)"
_THING = r"(?:话|内容|那句话?|那些话?|东西|消息)"
_SAID = rf"(?:我?{_JUST}(?:说|讲|写|发)(?:过)?的{_THING}?|我?上一(?:句话?|条消息)|{_JUST}[那这](?:句话?|条消息))"
_THIS = rf"(?:[这那](?:个|条|件事|句话?)|{_SAID})"
_FORGET = r"(?:忘了|忘掉|忘记)"
_KEEP = r"(?:别|不要|不用|不许|不准)再?(?:记(?:住|下来?|着|录)?|保存)"
_DROPS = rf"(?:把|将){_THIS}(?:都|给我|给)?(?:{_FORGET}|删了|删掉)"
_LAST = rf"{_THIS}(?:就|请|你|您)*(?:{_FORGET}|{_KEEP})"
_CHINESE = re.compile(
    rf"(?:请|麻烦|拜托)?(?:你|您)?(?:{_FORGET}{_THIS}|{_KEEP}{_THIS}|{_DROPS}|{_LAST})(?:吧|啊|哦|了|好吗|谢谢)?"
)


def command_in(text: str) -> Command | None:
    """Return the command that a message is, by name or in plain words, or None."""
    return parse_command(text) or (Command("unlearn") if _unlearns(text) else None)


def _unlearns(text: str) -> bool:
    if len(text) > _MOST_CHARS:
        return False
    said = " ".join(text.casefold().replace("’", "'").split()).strip(_EDGES)
    chinese = re.sub(r"[\s，、,]", "", "".join(SIMPLIFIED.get(char, char) for char in said))
    return bool(_ENGLISH.fullmatch(said) or _CHINESE.fullmatch(chinese))
