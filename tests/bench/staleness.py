"""How often a value that is no longer true comes before the one that is: `python -m tests.bench.staleness`.

Our own set, made here: people say something, later say that it has changed, and are asked about it in the words they used
first, which is what favours the old value. Beside it the same ranking without the succession that the store keeps. The goal
of engines.md B.1 is a rate of 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory.ranking import current
from memory.terms import terms
from tests.bench.talk import Said, Talk

# What was said first; what was said later, of the same slot; what is asked. In braces: old and new value.
CHANGES = {
    "English": (
        ("My favourite drink is {0}.", "These days I only drink {1}.", "What is my favourite drink?"),
        ("I live in {0} near the river.", "We have moved, it is {1} now.", "Which city do I live in?"),
        ("My shoe size is {0}.", "The {0} pinched, I need {1}.", "What is my shoe size?"),
        ("My order number is {0}.", "Sorry, it is {1}, not {0}.", "What is my order number?"),
        ("I work at {0} as an engineer.", "Last week I started at {1}.", "Where do I work as an engineer?"),
        ("My phone is a {0}.", "Got a {1} for my birthday!", "What phone is mine?"),
        ("My manager's name is {0}.", "{0} has left, {1} leads us now.", "What is my manager's name?"),
        ("The meeting is on {0} in room four.", "They put it off to {1}.", "When is the meeting in room four?"),
        ("My budget for the trip is {0} euros.", "Make that {1} at most.", "What is my budget for the trip?"),
        ("I am allergic to {0}, the doctor says.", "It was never {0}, the test says {1}.", "What am I allergic to?"),
    ),
    "Chinese": (
        ("我最喜欢的饮料是{0}。", "现在只喝{1}了。", "我最喜欢的饮料是什么？"),
        ("我住在{0}，离江边很近。", "搬家了，如今在{1}。", "我住在哪个城市？"),
        ("我的鞋码是{0}码。", "{0}太挤，要换{1}的。", "我的鞋码是多少？"),
        ("我的订单号是{0}。", "说错了，不是{0}，是{1}。", "我的订单号是多少？"),
        ("我在{0}上班，做工程师。", "上周跳槽去{1}了。", "我在哪里上班做工程师？"),
        ("我的手机是{0}。", "生日收到一台{1}！", "我的手机是什么？"),
        ("我的经理叫{0}。", "{0}走了，由{1}接手。", "我的经理叫什么？"),
        ("会议定在{0}，四号会议室。", "改期到{1}。", "四号会议室的会议定在哪天？"),
        ("这次旅行的预算是{0}块。", "最多{1}吧。", "这次旅行的预算是多少？"),
        ("医生说我对{0}过敏。", "复查说不是{0}，是{1}。", "我对什么过敏？"),
    ),
}
VALUES = {
    "English": (
        ("coffee", "tea"), ("Lisbon", "Porto"), ("42", "43"), ("8821", "8812"), ("Acme", "Globex"), ("Pixel", "Fairphone"),
        ("Dana", "Omar"), ("Tuesday", "Friday"), ("900", "700"), ("peanuts", "sesame"),
    ),
    "Chinese": (
        ("咖啡", "绿茶"), ("武汉", "南京"), ("四十二", "四十三"), ("8821", "8812"), ("华信", "远景"), ("小米", "荣耀"),
        ("王磊", "赵敏"), ("周二", "周五"), ("九百", "七百"), ("花生", "芝麻"),
    ),
}  # fmt: skip
BETWEEN = {
    "English": ("The weather is lovely today.", "Thanks for your help!", "Can you set a timer?", "That film was long."),
    "Chinese": ("今天天气真好。", "谢谢你的帮助！", "帮我定个闹钟。", "那部电影好长。"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A question, and the places of the old and the new statement among all that was said."""

    asked: str
    old: int
    new: int


def make(language: str, *, between: int) -> tuple[list[str], list[Change]]:
    """Return what one person said, oldest first, with `between` other messages between all first and all later values, and
    the changes in it."""
    said = [first.format(*values) for (first, _, _), values in zip(CHANGES[language], VALUES[language], strict=True)]
    said += [BETWEEN[language][at % len(BETWEEN[language])] for at in range(between)]
    changes = []
    for old, ((_, later, asked), values) in enumerate(zip(CHANGES[language], VALUES[language], strict=True)):
        changes.append(Change(asked=asked, old=old, new=len(said)))
        said.append(later.format(*values))
    return said, changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of so many questions: how often the old value came before the new one; how often the new one was among the first
    three; how often the old one was there at all, among ten."""

    questions: int
    stale_first: int
    found: int
    stale_at_all: int


def measure(language: str, *, between: int, session: int, successors: bool) -> Figures:
    """Ask about every change, with or without the succession that a store keeps; `session` messages make one."""
    said, changes = make(language, between=between)
    talk = Talk([
        Said(session=f"s{at // session}", position=at % session, text=text, terms=terms(text))
        for at, text in enumerate(said)
    ])  # fmt: skip
    known = {change.old: change.new for change in changes} if successors else {}
    rows = [
        _row(current([one.id for one in talk.recall(terms(change.asked), k=10)], known), change) for change in changes
    ]
    stale, found, at_all = (sum(column) for column in zip(*rows, strict=True))
    return Figures(questions=len(rows), stale_first=stale, found=found, stale_at_all=at_all)


def _row(found: Sequence[int], change: Change) -> tuple[bool, bool, bool]:
    old, new = (found.index(id_) if id_ in found else len(found) for id_ in (change.old, change.new))
    return old < new, new < min(3, len(found)), old < len(found)


def report() -> Iterator[str]:
    """Yield a line for each language, distance between the values, and way."""
    for language in CHANGES:
        for between in (0, 40, 400):
            for successors in (False, True):
                figures = measure(language, between=between, session=5, successors=successors)
                how = "with successors" if successors else "words, neighbours, sessions alone"
                yield (
                    f"{language}, {between:3} messages between, {how}: stale first {figures.stale_first} of "
                    f"{figures.questions}, new one among the first three {figures.found}, stale at all {figures.stale_at_all}"
                )


if __name__ == "__main__":
    print("\n".join(report()))
