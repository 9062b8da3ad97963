"""What rules take from a speaker's own words: candidates for the write bar, in English and Chinese, with no model.

Precision before recall: what is asked, supposed, reported, joked or about somebody else gives nothing. A mention is no
statement ("how do I file a complaint?"), and whose it is must be plain. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memory.candidates import Candidate, KnownValue, Source
from memory.fillers import asks_question, is_low_value
from memory.rules.answers import answered
from memory.rules.belief import believed
from memory.rules.corrections import Change, changes
from memory.rules.languages import LANGUAGES
from memory.rules.rule import Manner, Rule
from memory.rules.sentences import Sentence, comparable, sentences
from memory.rules.values import Span, values
from memory.slots import SLOTS, slot_of


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
        held = [*known, *_held((one.op, one.slot, one.value) for one in found)]
        found.extend(
            Candidate(op=op, slot=slot, value=value, source_id=source.id, by="rules")
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
        ruled = _by_rules(sentence, said)
        put_right = changes(sentence, known=[*known, *_held([*found, *ruled])], asked=asked)
        settled = {slot for _, slot, _ in put_right}
        found += put_right + [change for change in ruled if change[1] not in settled]
        said += sentence.text + "。"
    return found or [("set", slot, value) for slot, value in answered(spoken, asked)]


def _held(found: Iterable[Change]) -> list[KnownValue]:
    return [KnownValue(slot=slot, value=value) for op, slot, value in found if op == "set"]


def _by_rules(sentence: Sentence, said: str) -> list[Change]:
    """Apply the rules of the scripts that occur. A word is taken once, by the first rule that wants it; `remember` takes a
    sentence of which nothing else was understood that lasts."""
    found: list[tuple[int, Change]] = []
    taken: list[tuple[Span, str]] = []
    for rule, manner in _rules(sentence.text):
        for match in rule.pattern.finditer(sentence.text):
            if rule.slot == "remember" and any(_lasts(slot) for _, slot in taken):
                break
            if not believed(sentence, match, rule, manner, said=said):
                continue
            for span in values(sentence, match, rule, manner):
                if not any(_takes(earlier, slot, span, rule.slot) for earlier, slot in taken):
                    taken.append((span, rule.slot))
                    found.append((span[0], (rule.op, rule.slot, sentence.own[slice(*span)])))
    return [change for _, change in sorted(found, key=lambda one: one[0])]


def _lasts(slot: str) -> bool:
    return slot in SLOTS and SLOTS[slot].life != "session"


def _takes(earlier: Span, slot: str, span: Span, other: str) -> bool:
    """Say whether an earlier value leaves nothing for a later one: it holds all of its words, or some for the same slot."""
    within = earlier[0] <= span[0] and span[1] <= earlier[1]
    return within or (slot == other and earlier[0] < span[1] and span[0] < earlier[1])


def _rules(text: str) -> Iterator[tuple[Rule, Manner]]:
    for language in LANGUAGES:
        if language.script.search(text):
            yield from ((rule, language.manner) for rule in language.rules)


def _settled(found: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Keep the last word: of equal changes one, of a single-valued slot the newest."""
    last: dict[tuple[str, str], Candidate] = {}
    for one in found:
        slot = slot_of(one.slot)
        value = "" if slot and slot.single else comparable(one.value)
        last.pop((one.slot, value), None)
        last[one.slot, value] = one
    return tuple(last.values())
