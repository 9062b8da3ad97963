"""What takes something back or sets it right: "not 8821, it is 8812", "I meant Porto", "forget my size", and in Chinese.

The words rarely name the slot. It is that of the value which is put right, if the session knows it; else what the sentence,
or the assistant's message before, speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory.candidates import KnownValue
from memory.rules.answers import fits
from memory.rules.nouns import slots_meant, slots_named
from memory.rules.rule import Op
from memory.rules.sentences import Sentence, comparable
from memory.slots import SLOTS, slot_of

Change = tuple[Op, str, str]
"""What to do, the slot, the value."""

_EN = (
    r"#?(?!(?:it|that|this|the|a|my|sure|so|but|and|or|yet|now|any ?more|really|always|never|too|very|if|is|am|are|do|does|have"
    r"|i|i'm|at)\b)[\w.'-]{1,30}(?: (?-i:[A-Z])[\w'-]{1,20})?"
)
_ZH = r"(?:[A-Za-z0-9#.-]{1,24}|(?![我你您他她它这那谁])[\u3400-\u9fff]{1,8}?)"
_SWAPS = (
    re.compile(
        rf"\b(?:not|isn't|wasn't) (?P<old>{_EN}?),? (?:but |it's |it is |it should be |i'm |i am |i said "
        rf"|i meant |rather |make it "
        rf"|make that |is )+(?P<new>{_EN}?)(?= ?(?:$|,))",
        re.I,
    ),
    re.compile(rf"(?P<new>{_EN}?),? (?:and )?not (?P<old>{_EN}?)(?= ?(?:$|,))", re.I),
    re.compile(
        rf"(?<!是)不是 ?(?P<old>{_ZH}) ?[码号]?[,\s]*(?:而|应该|其实|我要的)?是 ?(?P<new>{_ZH}) ?[码号]?"
        r"(?=$|[,\s的了哈啊哦呀吧])",
        re.I,
    ),
    re.compile(
        rf"(?:是|要|去|^) ?(?P<new>{_ZH}) ?[码号]?[,\s]*(?:而)?(?<!是)不是 ?(?P<old>{_ZH}) ?[码号]?(?=$|[,\s的了哈啊哦呀吧])",
        re.I,
    ),
)
_MEANT = (
    re.compile(
        rf"(?:\b(?:i meant|i should have said|make that|correction:?|typo,?(?: it's)?"
        rf"|(?:no,? wait|wait,? no|scratch that|no,? actually),?(?: it's| it is| make it)?)|\bsorry,? (?:it's|it is|that's)"
        r"|^(?:no,? )?(?:(?:that's|that is|this is|it's) )?(?:wrong|incorrect|not (?:right|correct|true)),?"
        r" (?:it's|it is|it should be))"
        rf" (?P<new>{_EN}?)(?= ?(?:$|,))",
        re.I,
    ),
    re.compile(
        rf"(?:[说打写记搞发弄讲]错了?+[,\s]*(?:应该|其实)?[是要]?|(?:^|,)(?:不对|错了)[,\s]*(?:应该)?是|(?:^|[,\s])(?:不对|等等)[,\s]*(?:应该)?是?(?=\s?\d)|应该是|其实是|实际是|正确的是|我是说|我指的是"
        rf"|更正[:,]?) ?(?![了的吧啊哦呢哈呀嘛])(?P<new>{_ZH}) ?[码号]?(?=$|[,\s的了哈啊哦呀吧])",
        re.I,
    ),
)
_NO = (
    re.compile(rf"^(?:no|nope),? (?:it's|it is|it should be) (?P<new>{_EN}?)(?= ?(?:$|,))", re.I),
    re.compile(rf"^不是的?[,\s]+是 ?(?![了的吧啊哦呢哈呀嘛])(?P<new>{_ZH}) ?[码号]?(?=$|[,\s的了哈啊哦呀吧])", re.I),
)
"""May answer a question just as well: only where the old value was just repeated."""

_UNTRUE = re.compile(
    r"^(?:no,? )?(?:that's|that is|this is|it's)(?: not| no longer| wrong)(?: (?:true|right|correct"
    r"|the case|valid))?(?: any ?more)?$"
    r"|^(?:这|那)?(?:已经)?不(?:是|对)(?:这样|真的)?了$|^(?:这个?)?(?:已经)?过时了$",
    re.I,
)
_FORGET = re.compile(
    r"^(?:(?:please|just|and|ok|now|no)[, ]+)*(?:(?:can|could) you (?:please )?)?"
    r"(?:forget(?: about)?|(?:don't|do not|stop) (?:save|store|remember|keep|record|saving|storing"
    r"|remembering|keeping|recording)"
    r"|(?:delete|remove|erase)(?= my [\w ]{1,30}from (?:your )?memory)) my (?P<what>[\w ]{2,40}?)(?= ?(?:$|,| from ))"
    r"|(?:^|,)(?:请|麻烦|帮我|你|您|那|就|可以|以后)*(?:(?:别|不要|不用|停止)再?(?:记|保存|记录|存)(?:住"
    r"|着|录|下)?|忘掉|忘了|忘记|删掉|清除)(?:关于)?我的?"
    r"(?P<was>[^,我]{1,8}?)(?:了|吧|吧了|记录|信息|啊)*(?=$|,)",
    re.I,
)


def changes(sentence: Sentence, *, known: Sequence[KnownValue], asked: str) -> list[Change]:
    """Return what a sentence takes back or replaces. `known`: what is held already, latest last, of this turn too."""
    forgotten = _forgotten(sentence)
    if forgotten or sentence.asks:
        return forgotten
    return _untrue(sentence, known, asked) or _replaced(sentence, known, asked)


def _forgotten(sentence: Sentence) -> list[Change]:
    match = _FORGET.search(sentence.text)
    what = match and (match["what"] or match["was"])
    return [("retract", slot, "") for slot in slots_meant(what)] if what else []


def _untrue(sentence: Sentence, known: Sequence[KnownValue], asked: str) -> list[Change]:
    """What the assistant just said is not so: only if one known value stands in it, which alone its slot holds."""
    if _UNTRUE.match(sentence.text) is None:
        return []
    said = [one for one in known if comparable(one.value) in comparable(asked)]
    if len({one.slot for one in said}) != 1 or sum(one.slot == said[0].slot for one in known) != 1:
        return []
    return [("retract", said[0].slot, "")]


def _replaced(sentence: Sentence, known: Sequence[KnownValue], asked: str) -> list[Change]:
    for pattern in _SWAPS:
        for match in pattern.finditer(sentence.text):
            old, new = _cut(sentence, match, "old"), _cut(sentence, match, "new")
            slot = _slot_of_old(old, new, known, sentence.text, asked)
            if slot and old != new:
                return _swap(slot, old, new, is_known=any(_same(one.value, old) for one in known if one.slot == slot))
    for pattern in _MEANT:
        if meant := pattern.search(sentence.text):
            new = _cut(sentence, meant, "new")
            slot = _slot_of_new(new, known, sentence.text, asked)
            return [("set", slot, new)] if slot else []
    for pattern in _NO:
        if meant := pattern.search(sentence.text):
            repeated = [one for one in known if comparable(one.value) in comparable(asked)]
            new = _cut(sentence, meant, "new")
            slot = _slot_of_new(new, repeated, sentence.text, asked)
            return [("set", slot, new)] if slot else []
    return []


def _swap(slot: str, old: str, new: str, *, is_known: bool) -> list[Change]:
    found = slot_of(slot)
    gone: list[Change] = [("retract", slot, old)] if is_known and found and not found.single else []
    return [*gone, ("set", slot, new)]


def _slot_of_old(old: str, new: str, known: Sequence[KnownValue], said: str, asked: str) -> str | None:
    slots = {one.slot for one in known if _same(one.value, old)}
    named = slots_named(said) or slots_named(asked)
    if len(slots) != 1:
        # several hold the old value, or none does: the words around must tell
        told = [slot for slot in named if slot in slots] if slots else _spoken_of(old, named, said, asked)
        slots = set(told)
    return slots.pop() if len(slots) == 1 and fits(next(iter(slots)), new) else None


def _spoken_of(old: str, named: list[str], said: str, asked: str) -> list[str]:
    """The slots a value may be of that nobody knows yet, if the sentence names one, or the assistant just said it."""
    if not slots_named(said) and not (old in asked and any(map(str.isdigit, old))):
        return []
    return [slot for slot in named if fits(slot, old)]


def _slot_of_new(new: str, known: Sequence[KnownValue], said: str, asked: str) -> str | None:
    """Only the new value is said: it takes the place of the one of its kind that was just repeated, or is the only one. Words
    (not numbers) never take a slot's place of which nobody knows what fits: a model named it, and can correct it."""
    numeric = any(map(str.isdigit, new))
    alike = [one for one in known if _shape(one.value) == _shape(new) and fits(one.slot, new) and one.value != new]
    alike = [one for one in alike if numeric or one.slot in SLOTS]
    named = slots_named(said)
    repeated = [one for one in alike if comparable(one.value) in comparable(asked)]
    for some in ([one for one in alike if one.slot in named], repeated, alike if numeric else []):
        if len({one.slot for one in some}) == 1:
            return some[0].slot
    return None


def _same(value: str, other: str) -> bool:
    return comparable(value) == comparable(other)


def _shape(value: str) -> tuple[bool, int]:
    """Numbers are alike by their digits, everything else is alike."""
    return (value.isdigit(), len(value) if value.isdigit() else 0)


def _cut(sentence: Sentence, match: re.Match[str], group: str) -> str:
    return sentence.own[match.start(group) : match.end(group)].strip(" #.'")
