"""What a bare answer says, by the question before it: "42" after "what shoe size do you wear?"."""

from __future__ import annotations

import re

from memory.fillers import is_low_value
from memory.rules.chinese.manner import OTHERS
from memory.rules.english.words import PEOPLE
from memory.rules.languages import CHINESE, ENGLISH
from memory.rules.nouns import SIZES, slots_named
from memory.rules.sentences import Sentence, sentences

_LONGEST = 60  # characters: a longer message is no bare answer
_ASKING = re.compile(
    r"[吗呢]$|请|麻烦|告诉|提供|填写|哪|什么|多少|几|多大|\b(?:please|tell me|let me know|may i"
    r"|could you|what|which|where|when|do you)\b",
    re.I,
)
_BEFORE = re.compile(
    r"^(?:(?:it's|it is|that's|that is|i am|i'm|is|a|an|the|size|number|around|about|roughly|maybe"
    r"|approximately|in|to|on|for|from"
    r"|yes|well|hi|just|my \w+(?: \w+)? is)[, ]+|(?:是的|就是|是|我的是|大概|大约|差不多|应该是|嗯|哦"
    r"|那就|我要|我在|在|要|去|想去|对|有)[, ]*)+",
    re.I,
)
_AFTER = re.compile(
    r"(?:[, ]+(?:please|thanks|thank you|thx|i think|for me|would be great|a night|or so)|[, ]*(?:左右"
    r"|上下|吧|啊|哦|呢|谢谢|就行|就好|的|过敏))+$",
    re.I,
)
# Questions whose answer is of somebody else, or of a thing: "your son's name", "the name on the order", "which company made it".
_OF_OTHERS = re.compile(
    rf"\byour(?: [\w-]+)?? {PEOPLE}\b|\b(?:he|she|they|his|her|their|any ?(?:body|one)|some ?(?:body|one)|every ?(?:body|one)"
    r"|recipient|gift|guests?|travell?ers?|group|party|on the (?:order|card|parcel|invoice|account))\b"
    rf"|{OTHERS.pattern}|收件|收货|联系人|对方|有没有人|谁",
    re.I,
)
_ABOUT_SOMEBODY = re.compile(r"\b(?:name|company|employer|born|birthday|job|profession|allerg\w+)\b", re.I)
_YOU = re.compile(r"\byou(?:r|rself)?\b|[你您]", re.I)
_NOTHING = re.compile(
    r"(?:yes|no|none|nope|nothing|never|not|sure|okay|maybe|later|both|either|any|same|why|what|how|who"
    r"|hello|thanks|cancel|stop|help)\b.*"
    r"|[没无不有随都好可是对别等什哪怎谁这那你我他她暂算知].*|.*[吗呢?]",
    re.I,
)
_PROPER = re.compile(r"(?-i:[A-Z][\w'-]{1,30}(?: [A-Z][\w'-]{1,30}){0,2})|[\u3400-\u9fff]{2,6}")
_FOODS = re.compile(
    r"[a-z][a-z -]{2,30}(?:(?:, [a-z -]{3,30}){0,5},? (?:and|or|&) [a-z -]{3,30})?"
    r"|[\u3400-\u9fff]{1,6}(?:[、和跟与][\u3400-\u9fff]{1,6}){0,5}",
    re.I,
)
_SHAPES = {
    "order": re.compile(r"#?(?P<v>[a-z]{0,4}-?\d[\da-z-]{2,24})", re.I),
    "phone_tail": re.compile(r"\d{3,4}"),
    "shoe_size": re.compile(r"(?P<v>(?:1[0-5]|[3-9]|2\d|3\d|4\d|50)(?:[.,]5)?(?: ?(?:us|uk|eu))?)\s?[码号]?", re.I),
    "clothes_size": re.compile(r"(?P<v>x{0,3}[sl]|m|[2-5]xl|small|medium|large|extra large)\s?[码号]?", re.I),
    "birthday": re.compile(
        r"(?:\d{2,4}[年/.-])?\d{1,2}[月/.-]\d{1,2}[号日]?|[a-z]{3,9} \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?"
        r"|\d{1,2}(?:st|nd|rd|th)?(?: of)? [a-z]{3,9}(?:,? \d{4})?",
        re.I,
    ),
    "date": re.compile(
        r"(?:\d{4}年)?\d{1,2}月\d{1,2}[号日]?|(?:下|这)个?(?:周|星期)[一二三四五六日天]|明天|后天|tomorrow"
        r"|(?:next|this) \w+day|[a-z]{3,9} \d{1,2}(?:st|nd|rd|th)?|\d{1,2}(?:st|nd|rd"
        r"|th)?(?: of)? [a-z]{3,9}",
        re.I,
    ),
    "name": re.compile(r"(?-i:[A-Z][\w'-]{1,20}(?: [A-Z][\w'-]{1,20}){0,2})|[\u3400-\u9fff]{2,4}"),
    "address_as": re.compile(r"(?-i:[A-Z][\w'.-]{1,20}(?: [A-Z][\w'-]{1,20}){0,2})|[\u3400-\u9fff]{2,4}"),
    "city": _PROPER,
    "destination": _PROPER,
    "employer": _PROPER,
    "department": _PROPER,
    "budget": re.compile(
        r"[$€£¥]? ?(?:\d[\d,.]{0,12}k?|[一二两三四五六七八九十百千万]{2,6})(?: ?(?:euros?|eur|dollars?|usd"
        r"|pounds?|gbp|bucks|元|块钱?|万|千))?",
        re.I,
    ),
    "allergy": _FOODS,
}
_BETWEEN = {"allergy": (ENGLISH.manner.between, CHINESE.manner.between)}


def fits(slot: str, value: str) -> bool:
    """Say whether a value looks like one of the slot's; of a slot without a shape of its own any does."""
    shape = _SHAPES.get(slot)
    return shape is None or shape.fullmatch(value) is not None


def answered(spoken: list[Sentence], asked: str) -> list[tuple[str, str]]:
    """Return slot and value of a message that is nothing but an answer to what was asked; where two slots fit, nothing."""
    if not asked or len(spoken) != 1 or spoken[0].asks or len(spoken[0].text) > _LONGEST:
        return []
    bare = _bare(spoken[0])
    question = _question(asked)
    if _is_of_another(question):
        return []
    named = [slot for slot in slots_named(question) if slot in _SHAPES and bare and fits(slot, bare)]
    if len(named) != 1 or _NOTHING.fullmatch(spoken[0].text) or _NOTHING.fullmatch(bare):
        return []
    slot = named[0]
    if slot not in SIZES and is_low_value(bare, pending_question=False):
        return []  # a "great" may decide something, but is nobody's city
    parts = [_of_shape(slot, bare)]
    for between in _BETWEEN.get(slot, ()):
        parts = [part.strip() for piece in parts for part in between.split(piece)]
    return [(slot, part) for part in parts if part]


def of_another(message: str, asked: str) -> bool:
    """Say whether a message answers, in a few words, a question about somebody else or a thing."""
    return bool(asked) and len(message) <= _LONGEST and _is_of_another(_question(asked))


def _is_of_another(question: str) -> bool:
    return _OF_OTHERS.search(question) is not None or (
        _ABOUT_SOMEBODY.search(question) is not None and _YOU.search(question) is None
    )


def _of_shape(slot: str, bare: str) -> str:
    match = _SHAPES[slot].fullmatch(bare)
    return match["v"] if match and "v" in match.re.groupindex else bare


def _question(asked: str) -> str:
    return "\n".join(one.text for one in sentences(asked) if one.asks or _ASKING.search(one.text))


def _bare(sentence: Sentence) -> str:
    before = _BEFORE.match(sentence.text)
    start = before.end() if before else 0
    after = _AFTER.search(sentence.text, start)
    return sentence.own[start : after.start() if after else None].strip(" .,!")
