"""Whether a value that somebody else cut out of a message (a model) may be held for what the speaker says of himself: not where
it is asked, supposed, reported, quoted, denied, or said of another person.

The rules ask the same of what they find (`belief.py`), but know the words around it; here only the value's place is known.
"""

from __future__ import annotations

import re
from itertools import islice

from memory.rules.belief import is_asked
from memory.rules.chinese.manner import OTHERS
from memory.rules.english.words import PEOPLE
from memory.rules.languages import LANGUAGES
from memory.rules.sentences import Sentence, comparable, own_words, sentences

_PLACES = 8  # of a value in a sentence that are looked at
_THIRD = re.compile(
    rf"\b(?:he|she|they|he's|she's|they're|his|her|their|him|them|someone|somebody|everyone)\b"
    rf"|\b(?:my|our|his|her|their|the|a)(?: [\w-]+)?? {PEOPLE}(?:'s)?\b"
    r"|(?-i:\b(?!(?:Name|This|That|There|It|What|Who|Here|Everything|Nothing|Today|Tomorrow|Yesterday|Which|Where|How|Why|And|But|So|My|I)\b)"
    r"[A-Z][a-z]+) (?:is|has|likes|loves|hates|wears|lives|works|moved|can't|doesn't|isn't|prefers|needs|wants)\b",
    re.I,
)
_FIRST = re.compile(
    rf"\b(?:i|i'm|im|i've|i'd|i'll|me|myself|we|we're|we've|us)\b|\b(?:my|our)\b(?!(?: [\w-]+)?? {PEOPLE}\b)", re.I
)
_FIRST_CHINESE = re.compile(r"我|俺|咱|本人")
_CLAUSE = re.compile(r"[,:]| (?:but|because|while|though) | and (?=(?:i|my|he|she|we|they|the|his|her|our)\b)", re.I)
_DENIED = re.compile(
    r"\b(?:not(?! only)|never|no longer|neither|nor)\b|n't\b(?! (?:forget|worry|mind|know why))"
    r"|(?<!得)不(?![过仅只但止得]|要忘|好意思|知道为)|没(?!事|错|关系)|别(?!忘|人)",
    re.I,
)
_FORGET = re.compile(
    r"\b(?:forget|remove|delete|erase|drop|don't (?:save|keep|store|remember)|stop (?:saving|keeping|remembering))\b"
    r"|忘[掉了记]|删|清除|清空|(?:别|不要|不用)再?[记存保]",
    re.I,
)
_OVER = re.compile(
    rf"{_FORGET.pattern}|\b(?:not|never|no longer|any ?more|used to|stopped|quit|gave up|over|outgr\w+|left|moved|changed|instead"
    r"|wrong|now|again|former\w*|was|were|cancel\w*)\b|n't\b|[不没别错改又非]|以前|曾|过去|现在|可以|离职|搬走|好了|取消",
    re.I,
)
_DENIED_AFTER = re.compile(r"^\W*(?:is|was|am|are)(?:n't| not| never)\b|^[^,。]{0,3}不过敏", re.I)


def doubted(message: str, value: str, *, deniable: bool) -> bool:
    """Say whether the value is nowhere in the message what the speaker says of himself. `deniable`: a "not" before it makes it
    untrue, as it does of what somebody likes, not of what he dislikes. False where the value does not stand there literally."""
    wanted = comparable(value)
    if not wanted or wanted not in comparable(message):
        return False
    if wanted not in comparable(own_words(message)):
        return True  # in a quote, in code or in a link
    places = [
        (sentence, match.start(), match.end())
        for sentence in sentences(message)
        for match in islice(re.finditer(re.escape(wanted), comparable(sentence.text)), _PLACES)
    ]
    return bool(places) and all(_is_doubtful(*place, deniable=deniable) for place in places)


def ended(message: str, value: str) -> bool:
    """Say whether the message says, where the value stands, that it is over, or asks to have it forgotten; of no value, whether
    it asks to have something forgotten at all."""
    wanted = comparable(value)
    over = _OVER if wanted else _FORGET
    return any(
        wanted in comparable(sentence.text) and over.search(sentence.text) is not None and not sentence.asks
        for sentence in sentences(message)
    )


def _is_doubtful(sentence: Sentence, start: int, end: int, *, deniable: bool) -> bool:
    text = sentence.text
    first = max((mark.end() for mark in _CLAUSE.finditer(text, 0, start)), default=0)
    following = _CLAUSE.search(text, end)
    clause = slice(first, following.start() if following else len(text))
    manners = [language.manner for language in LANGUAGES if language.script.search(text)]
    return (
        _is_of_another(text[:start])
        or any(manner.supposed.search(text, 0, start) or manner.reported.search(text[:start]) for manner in manners)
        or any(manner.asking.search(text[clause]) for manner in manners)
        or (sentence.asks and any(is_asked(text[end:], manner) for manner in manners))
        or (
            deniable
            and (_DENIED.search(text[first:start]) or _DENIED_AFTER.search(text[end : clause.stop])) is not None
        )
    )


def _is_of_another(before: str) -> bool:
    """Say whether the last one named before the value is not the speaker."""
    others = max((match.end() for pattern in (_THIRD, OTHERS) for match in pattern.finditer(before)), default=-1)
    own = max((match.end() for pattern in (_FIRST, _FIRST_CHINESE) for match in pattern.finditer(before)), default=-1)
    return others > own
