"""Small talk that needs no place in a window, in English and Chinese, and the questions that turn it into an answer.

"OK" after a statement is a filler; "OK" after "shall I cancel the order?" is a decision and must never be dropped
(requirements F5, C06). Decided once, when a message is appended, and stored with it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

from memory.filler_words import CHINESE, ENGLISH

# Symbols that judge or ask instead of filling: a lone one of them is kept.
_TELLING = frozenset("?？¿⁇❓❔✅✔❌✖❎👎🚫⛔⚠🆘😡🤬😠➕➖")
_LONGEST = 48  # characters; longer messages are never fillers
_CJK = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"[{_CJK}]+|[^\\W_{_CJK}]+")
_REPEATED = re.compile(r"(.{1,4}?)\1+")


def is_low_value(text: str, *, pending_question: bool, extra: Sequence[str] = ()) -> bool:
    """Say whether a user's message is nothing but fillers. `extra` are more of them (the `memory.fillers` setting).

    With a pending question nothing is: whatever is said may be its answer. Case, width, punctuation, emoji and stretched
    letters do not count ("OKKK!!" is "ok"); several fillers in a row are one ("好的，收到，谢谢 👍").
    """
    if pending_question or len(text) > _LONGEST or not _TELLING.isdisjoint(text):
        return False
    known = _known(tuple(extra))
    return _made_of(_words(text), lambda words: words in known or (len(words) == 1 and _run_made_of(words[0], known)))


def _words(text: str) -> tuple[str, ...]:
    """Split into words: a Chinese run is one, taken apart later; everything that is no letter or digit is a gap."""
    folded = text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return tuple(_REPEATED.sub(r"\1", word) for word in _WORD.findall(folded.replace("'", "")))


@lru_cache(maxsize=64)
def _known(extra: tuple[str, ...]) -> frozenset[Sequence[str]]:
    lines = "|".join((*ENGLISH.splitlines(), *CHINESE.splitlines(), *extra)).split("|")
    return frozenset(words for line in lines if (words := _words(line)))


def _run_made_of(run: str, known: frozenset[Sequence[str]]) -> bool:
    """The same inside one Chinese run, which has no spaces to cut at."""
    return run[0] >= "\u3400" and _made_of(run, lambda part: (part,) in known)


def _made_of(whole: Sequence[str], is_known: Callable[[Sequence[str]], bool]) -> bool:
    """Say whether `whole` can be cut into known pieces of up to five; nothing at all (punctuation, emoji) can."""
    reached = [True] + [False] * len(whole)
    for start in range(len(whole)):
        if reached[start]:
            for end in range(start + 1, min(start + 5, len(whole)) + 1):
                reached[end] = reached[end] or is_known(whole[start:end])
    return reached[-1]


_CODE_OR_URL = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.S)
_ASKING = re.compile(
    r"\b(?:shall|should|may|can|could) (?:i|we)\b|\bwould you (?:like|prefer|rather)\b|\bdo you (?:want|need|prefer)\b"
    r"|\bwhich (?:one|of|option)\b|\blet me know\b|\btell me (?:if|which|whether|what|when|how)\b|\bpick one\b"
    r"|\b(?:please|to) (?:confirm|choose|select|specify|provide|reply)\b|\breply (?:with|yes|no)\b|\bsay (?:yes|no)\b"
    r"|\bconfirm (?:that|if|whether|by)\b|要不要|是不是|能不能|可不可以|好不好|行不行|对不对|需不需要|是否|还是说|哪一?[个种款项]"
    r"|请[您你]?(?:确认|选|回复|告诉|提供|说明|输入)|告诉我|跟我说|需要我|要我[帮来给把]|(?:确认|选择)一下"
    r"|[吗呢么吧嘛](?=\s*(?:[。.!！~～…\n]|$))",
    re.I,
)
_OPTION = re.compile(r"^\s*(?:[-*•]|\(?[0-9a-dA-D①-⑩][.)）、:：]?|选项\s*\S)\s*\S", re.M)
_TAIL = 600  # characters of a reply that are looked at for its wording; a question mark counts anywhere


def asks_question(reply: str) -> bool:
    """Say whether an assistant's message asks for something, in English or Chinese: a question mark outside code and links,
    the wording of an offer or a request, or a list of options at its end. In doubt yes: that only keeps a filler more."""
    text = _CODE_OR_URL.sub(" ", reply)
    if "?" in text or "？" in text:
        return True
    tail = text[-_TAIL:]
    return _ASKING.search(tail) is not None or _ends_in_options(tail)


def _ends_in_options(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    options = 0
    while options < len(lines) and _OPTION.match(lines[-1 - options]):
        options += 1
    return options >= 2 and (options == len(lines) or lines[-1 - options].rstrip().endswith((":", "：")))
