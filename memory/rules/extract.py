"""What rules take from a speaker's own words: candidates for the write bar, in English and Chinese, with no model.

Precision before recall: what is asked, supposed, reported, joked or about somebody else gives nothing. A mention is no
statement ("how do I file a complaint?"), and whose it is must be plain. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from memory.candidates import Candidate, KnownValue, Source
from memory.fillers import asks_question, is_low_value
from memory.rules.answers import answered
from memory.rules.chinese.manner import LEAD, OTHERS
from memory.rules.corrections import Change, changes
from memory.rules.languages import LANGUAGES
from memory.rules.rule import Manner, Rule
from memory.rules.sentences import BLOT, Sentence, comparable, sentences
from memory.slots import slot_of

_CLAUSE = re.compile(r"[,:]|(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])")
_LEAD_CHARS = 48  # how far back the speaker is looked for
_MONEY = "$€£¥"
Span = tuple[int, int]


def propose(sources: Sequence[Source], *, known: Sequence[KnownValue] = (), asked: str = "") -> tuple[Candidate, ...]:
    """Return what one speaker's messages of a turn say about himself, in the order it was said; `sources` oldest first.

    `known` is what the session holds of him, latest last: a correction finds its slot by it. `asked` is the assistant's
    message before, for bare answers. Values are the message's own words in one width (NFKC). Of a slot with a single value
    only the last one counts.
    """
    found: list[Candidate] = []
    for source in sources:
        if is_low_value(source.text, pending_question=asks_question(asked)):
            continue
        held = [*known, *(KnownValue(slot=one.slot, value=one.value) for one in found if one.op == "set")]
        found.extend(
            Candidate(
                op="retract" if op == "retract" else "set", slot=slot, value=value, source_id=source.id, by="rules"
            )
            for op, slot, value in _changes(source.text, held, asked)
            if comparable(value) in comparable(source.text)
        )
    return _settled(found)


def _changes(message: str, known: Sequence[KnownValue], asked: str) -> list[Change]:
    spoken = sentences(message)
    if any(language.manner.joke.search(one.text) for one in spoken for language in LANGUAGES):
        return []
    found: list[Change] = []
    said = ""
    for sentence in spoken:
        put_right = changes(sentence, known=known, asked=asked)
        settled = {slot for _, slot, _ in put_right}
        ruled = [change for change in _by_rules(sentence, said) if change[1] not in settled]
        found += put_right + ruled
        said += sentence.text + "。"
    return found or [("set", slot, value) for slot, value in answered(spoken, asked)]


def _by_rules(sentence: Sentence, said: str) -> list[Change]:
    """Apply the rules of the scripts that occur. A word is taken once, by the first rule that wants it; `remember` takes a
    sentence of which nothing else was understood."""
    found: list[tuple[int, Change]] = []
    taken: list[tuple[Span, str]] = []
    for rule, manner in _rules(sentence.text):
        for match in rule.pattern.finditer(sentence.text):
            if rule.slot == "remember" and found:
                break
            if not _believed(sentence, match, rule, manner, said):
                continue
            for span in _values(sentence, match, rule, manner):
                if not any(_takes(earlier, slot, span, rule.slot) for earlier, slot in taken):
                    taken.append((span, rule.slot))
                    found.append((span[0], (rule.op, rule.slot, sentence.own[slice(*span)])))
    return [change for _, change in sorted(found, key=lambda one: one[0])]


def _takes(earlier: Span, slot: str, span: Span, other: str) -> bool:
    """Say whether an earlier value leaves nothing for a later one: it holds all of its words, or some for the same slot."""
    within = earlier[0] <= span[0] and span[1] <= earlier[1]
    return within or (slot == other and earlier[0] < span[1] and span[0] < earlier[1])


def _rules(text: str) -> Iterator[tuple[Rule, Manner]]:
    for language in LANGUAGES:
        if language.script.search(text):
            yield from ((rule, language.manner) for rule in language.rules)


def _believed(sentence: Sentence, match: re.Match[str], rule: Rule, manner: Manner, said: str) -> bool:
    """Say whether the sentence means what the rule found in it."""
    if rule.bearing == "loose":
        return True
    text = sentence.text
    before = text[: match.start()]
    if (
        manner.supposed.search(text, 0, _value_span(match)[0])
        or manner.reported.search(before)
        or manner.other.search(text)
    ):
        return False
    start, end = _clause(text, match)
    if manner.asking.search(text[start:end]) or (sentence.asks and _is_asked(text[end:], manner)):
        return False
    return rule.bearing != "lead" or _is_speakers(text[start : match.start()], said + before)


def _clause(text: str, match: re.Match[str]) -> Span:
    starts = [mark.end() for mark in _CLAUSE.finditer(text, 0, match.start())]
    following = _CLAUSE.search(text, match.end())
    return starts[-1] if starts else 0, following.start() if following else len(text)


def _is_asked(rest: str, manner: Manner) -> bool:
    """A question mark at the sentence's end asks for its last clause; a mere "right?" asks for all of it."""
    last = _CLAUSE.split(rest)[-1].strip()
    return len(last) < 2 or manner.tag.match(last) is not None


def _is_speakers(lead: str, before: str) -> bool:
    match = LEAD.fullmatch(lead[-_LEAD_CHARS:])
    return match is not None and (match["me"] is not None or OTHERS.search(before) is None)


def _values(sentence: Sentence, match: re.Match[str], rule: Rule, manner: Manner) -> list[Span]:
    start, end = _value_span(match)
    if start == end:
        return [(start, end)]
    parts = _parts(sentence.text, (start, end), manner) if rule.many else [_trimmed(sentence.text, (start, end))]
    return [
        part
        for part in parts
        if part[0] < part[1]
        and BLOT not in sentence.own[slice(*part)]
        and not (rule.many and manner.worthless.fullmatch(sentence.text[slice(*part)]))
    ]


def _value_span(match: re.Match[str]) -> Span:
    """Of a rule without a value: the place where it was found, empty."""
    return match.span("v") if "v" in match.re.groupindex else (match.start(), match.start())


def _parts(text: str, span: Span, manner: Manner) -> list[Span]:
    parts, start = [], span[0]
    for mark in (*manner.between.finditer(text[slice(*span)]), None):
        stop = span[0] + mark.start() if mark else span[1]
        parts.append(_bare(text, (start, stop), manner))
        start = span[0] + mark.end() if mark else stop
    return parts


def _bare(text: str, span: Span, manner: Manner) -> Span:
    """Take off what is no part of the thing itself: articles, particles, "very much"."""
    start, end = _trimmed(text, span)
    while start < end and (edge := manner.edges.search(text[start:end])) and edge[0]:
        start, end = _trimmed(text, (start + edge.end(), end) if edge.start() == 0 else (start, start + edge.start()))
    return start, end


def _trimmed(text: str, span: Span) -> Span:
    start, end = span
    while start < end and not (_is_word(text[start]) or text[start] in _MONEY):
        start += 1
    while start < end and not (_is_word(text[end - 1]) or text[end - 1] in f"{_MONEY}+%"):
        end -= 1
    return start, end


def _is_word(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM"


def _settled(found: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Keep the last word: of equal changes one, of a single-valued slot the newest."""
    last: dict[tuple[str, str], Candidate] = {}
    for one in found:
        slot = slot_of(one.slot)
        value = "" if slot and slot.single else comparable(one.value)
        last.pop((one.slot, value), None)
        last[one.slot, value] = one
    return tuple(last.values())
