"""What people ask for in plain words that the gateway does itself: only where the whole message says so, in English or Chinese.

"Forget that" and "forget my address" must not depend on a model, which would say that it did. Whatever says more than this goes
to the agent, and so does what may be meant for it: an order, a date. Pure.
"""

from __future__ import annotations

import re

from gateway import forget_argument
from gateway.commands import Command, parse_command
from gateway.forget_argument import Called
from memory.rules.traditional import SIMPLIFIED
from memory.slots import SLOTS

_MOST_CHARS = 60
_EDGES = " \t\n.,!?…~。，！？、～"

_SAID_BEFORE = (
    r"(?:that|this|what i (?:just )?(?:said|told you|wrote)(?: just now)?|(?:my|the) last (?:message|thing i said))"
)
_FORGETS = (
    r"(?:forget(?: about)?|un-?learn|un-?remember|(?:do not|don't|dont|never) (?:remember|memori[sz]e|store|keep))"
)
_POLITE = r"(?:(?:please|pls|ok|okay|sorry|no|actually)[,.]? )*"
_PLEASE = r"(?:,? (?:please|pls|again))?"
_ENGLISH = re.compile(rf"{_POLITE}{_FORGETS} {_SAID_BEFORE}{_PLEASE}")
_MINE = r"my (?:(?!(?:is|was|are|were|if|when|that)\b)\w+ ?){1,4}?"
_ENGLISH_MINE = re.compile(
    rf"{_POLITE}(?:(?:can|could|would) you (?:please )?)?"
    rf"(?:{_FORGETS} (?P<what>{_MINE})|(?:delete|remove|erase) (?P<kept>{_MINE}) ?from (?:your )?memory){_PLEASE}"
)

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


_WHAT = r"我的(?P<{name}>[^我是说在有了,]{{1,8}}?)"
_DONE = r"(?:吧|啊|哦|了|好吗|谢谢)?"
_ASKED = r"(?:请|麻烦|拜托)?(?:你|您)?(?:帮我)?"
_CHINESE_MINE = re.compile(
    rf"{_ASKED}(?:(?:{_FORGET}|{_KEEP})(?:关于)?{_WHAT.format(name='what')}"
    rf"|(?:把|将){_WHAT.format(name='kept')}(?:都|给我|给)?(?:{_FORGET}|从(?:你|您)?(?:的)?记忆[里中]?(?:删了|删掉|删除))){_DONE}"
)
_ENGLISH_ALL = re.compile(
    rf"{_POLITE}(?:(?:can|could|would) you (?:please )?)?(?:forget|unlearn|(?:delete|erase)(?= .*\bme\b)) (?:everything|all)"
    rf"(?: (?:that )?(?:you (?:have learned|have learnt|learned|know|remember) )?(?:about|of) me)?{_PLEASE}"
)
_EVERYTHING = r"(?:一切|全部|所有(?:的?(?:内容|信息|事情?|东西))?)"
_CHINESE_ALL = re.compile(
    rf"{_ASKED}(?:{_FORGET}(?:你记得的?|你记住的?)?(?:关于|有关)?我的?{_EVERYTHING}"
    rf"|(?:把|将)(?:你记得的?|你记住的?)?(?:关于|有关)?我的?{_EVERYTHING}(?:都|给我)?{_FORGET}){_DONE}"
)


def command_in(text: str) -> Command | None:
    """Return the command that a message is, by name or in plain words, or None."""
    return parse_command(text) or _wish(text)


def _wish(text: str) -> Command | None:
    if len(text) > _MOST_CHARS:
        return None
    said = " ".join(text.casefold().replace("’", "'").split()).strip(_EDGES)
    chinese = re.sub(r"[\s，、,]", "", "".join(SIMPLIFIED.get(char, char) for char in said))
    if _ENGLISH.fullmatch(said) or _CHINESE.fullmatch(chinese):
        return Command("unlearn")
    if _ENGLISH_ALL.fullmatch(said) or _CHINESE_ALL.fullmatch(chinese):
        return Command("forget", "all")
    mine = _ENGLISH_MINE.fullmatch(said) or _CHINESE_MINE.fullmatch(chinese)
    return _forget_mine(mine["what"] or mine["kept"]) if mine else None


def _forget_mine(what: str) -> Command | None:
    """Only what lasts is surely not meant for the agent: who wants an order forgotten may want it called off."""
    match forget_argument.read(what):
        case Called(slots=slots) if all(SLOTS[slot].life != "session" for slot in slots):
            return Command("forget", what.strip())
    return None
