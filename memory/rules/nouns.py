"""What slots are called when somebody asks for one, says which is wrong or wants one forgotten; in English and Chinese."""

from __future__ import annotations

import re

_NOUNS = (
    ("order", r"\border(?: number| no\.?| id)?\b|订单|(?<!快递)(?<!物流)(?<!运)单号"),
    ("phone_tail", r"\b(?:phone|mobile|cell)(?: number)?\b|手机|电话"),
    ("shoe_size", r"\bshoe size\b|鞋码|鞋号|鞋的尺码|鞋子?.{0,6}[几多][大码]"),
    (
        "clothes_size",
        r"\b(?:clothes|clothing|shirt|dress|jacket|hoodie|sweater|coat|trousers?) size\b|衣服的?(?:尺码|码)|衣码",
    ),
    ("birthday", r"\bbirthday\b|\bdate of birth\b|\bborn\b|生日|出生"),
    ("address_as", r"\b(?:address|call) you\b|怎么称呼|如何称呼|称呼"),
    ("name", r"\bname\b|名字|姓名|贵姓|大名"),
    ("city", r"\b(?:city|hometown|town)\b|\bwhere (?:do you live|are you based)\b|城市|住在?哪|所在地"),
    ("employer", r"\b(?:employer|company)\b|\bwhere do you work\b|哪家公司|什么公司|任职"),
    ("department", r"\b(?:department|team)\b|部门"),
    ("role", r"\b(?:job title|role|position|profession|job)\b|职位|职业|岗位"),
    ("allergy", r"\ballerg(?:y|ies|ic)\b|过敏"),
    (
        "destination",
        r"\bdestination\b|\bwhere (?:would|do|are|to)\b.{0,30}\b(?:go|going|travel|fly|travell?ing|flying)\b"
        r"|目的地|去哪",
    ),
    ("budget", r"\bbudget\b|预算"),
    ("date", r"\b(?:which|what) (?:date|day)\b|\bwhen (?:would|do|are) you\b|哪天|什么时候|日期"),
    ("membership", r"\bmembership\b|会员"),
)
_WHOSE = (
    ("city", r"\baddress\b|\bwhere i live\b|\bhome\b|地址|住址|住处|住哪|家在哪"),
    ("like", r"\b(?:likes|preferences|tastes)\b|喜好|爱好|偏好"),
    ("dislike", r"\b(?:dislikes|preferences|tastes)\b|喜好|偏好|不喜欢的"),
    ("diet", r"\bdiet\b|饮食|忌口"),
    ("eats", r"\bdiet\b|饮食"),
    ("wish", r"\bwishes\b|要求"),
)
_SIZE = re.compile(r"\bsizes?\b|尺码|尺寸|码数|几码|多大", re.I)
_COMPILED = tuple((slot, re.compile(pattern, re.I)) for slot, pattern in _NOUNS)
_MINE = tuple((slot, re.compile(pattern, re.I)) for slot, pattern in _WHOSE)
SIZES = ("shoe_size", "clothes_size")


def slots_named(text: str) -> list[str]:
    """Return the slots that a text calls by name; a size of which nothing says whether it is of shoes is both."""
    found = [slot for slot, noun in _COMPILED if noun.search(text)]
    if _SIZE.search(text) and not any(slot in found for slot in SIZES):
        found.extend(SIZES)
    return found


def slots_meant(text: str) -> list[str]:
    """Return the slots that a text means which says what of one's own is to be forgotten: of an address only the place is
    kept, and "preferences" are two slots."""
    named = slots_named(text)
    return named + [slot for slot, noun in _MINE if slot not in named and noun.search(text)]
