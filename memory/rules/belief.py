"""Whether a sentence means what a rule found in it: said, not asked, supposed, reported, or said of somebody else."""

from __future__ import annotations

import re

from memory.rules.chinese.manner import LEAD, OTHERS
from memory.rules.rule import Manner, Rule
from memory.rules.sentences import Sentence

_CLAUSE = re.compile(r"[,:]|(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])")
_LEAD_CHARS = 48  # how far back the speaker is looked for


def believed(sentence: Sentence, match: re.Match[str], rule: Rule, manner: Manner, *, said: str) -> bool:
    """Say whether the sentence means what the rule found in it. `said` is what the message said before."""
    if rule.bearing == "loose":
        return True
    text = sentence.text
    before = text[: match.start()]
    if (
        manner.supposed.search(text, 0, match.start("v" if "v" in match.re.groupindex else 0))
        or manner.reported.search(before)
        or manner.other.search(text)
    ):
        return False
    start, end = _clause(text, match)
    if manner.asking.search(text[start:end]) or (sentence.asks and is_asked(text[end:], manner)):
        return False
    return rule.bearing != "lead" or _is_speakers(text[start : match.start()], said + before)


def _clause(text: str, match: re.Match[str]) -> tuple[int, int]:
    starts = [mark.end() for mark in _CLAUSE.finditer(text, 0, match.start())]
    following = _CLAUSE.search(text, match.end())
    return starts[-1] if starts else 0, following.start() if following else len(text)


def is_asked(rest: str, manner: Manner) -> bool:
    """Say whether a question asks for what stands before its `rest`. A question mark at the sentence's end asks for its last
    clause; a mere "right?" asks for all of it."""
    last = _CLAUSE.split(rest)[-1].strip()
    return len(last) < 2 or manner.tag.match(last) is not None


def _is_speakers(lead: str, before: str) -> bool:
    match = LEAD.fullmatch(lead[-_LEAD_CHARS:])
    return match is not None and (match["me"] is not None or OTHERS.search(before) is None)
