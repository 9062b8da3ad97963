"""Makes other people's text safe to stand in a prompt: names that forge nothing, sections that cannot be closed from inside,
messages cut in their middle, citation marks taken out. Pure; nothing here changes what is stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

_NAME_CHARS = 32
_ACCOUNT_CHARS = 24
_OPENING, _CLOSING, _COLONS = "[［【〔﹝〖〚⟦⁅❲", "]］】〕﹞〗〛⟧⁆❳", ":：﹕︓︰∶꞉ː։׃"
_BRACKETS = str.maketrans(
    dict.fromkeys(f"{_OPENING}{_CLOSING}{_COLONS}(){{}}<>（）｛｝＜＞﹤﹥「」『』〈〉《》‹›,，﹐、､;；\"“”'`|\\", " ")
)
# Marks, letters and symbols that show nothing, beside what Unicode itself calls a format character.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
_BLANKS = re.compile(f"[{_BLANK}]")
_RESERVED = frozenset({
    "system", "assistant", "user", "developer", "tool", "function", "you", "me", "bot", "ai", "agent",
    "admin", "administrator", "operator", "memory",
    "系统", "助手", "用户", "开发者", "工具", "你", "我", "机器人", "智能体", "管理员", "记忆",
})  # fmt: skip


def one_line(text: str, max_chars: int) -> str:
    """Return `text` on one line: white space collapsed, controls, bidi marks and whatever else is invisible gone, cut with
    an ellipsis at `max_chars`."""
    text = text[: max_chars * 16]  # enough, whatever of it is invisible in good faith
    visible = "".join(" " if char.isspace() else char for char in text if char.isspace() or is_visible(char))
    line = " ".join(visible.split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


@lru_cache(maxsize=4096)
def is_visible(char: str) -> bool:
    """Say whether a reader sees one character: no control, format or unassigned one, no blank letter, no variation selector."""
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn") and _BLANKS.fullmatch(char) is None


def neutral_name(name: str, account: str) -> str:
    """Return a display name that can stand in a speaker's mark: one line without brackets, colons, commas and quotes, so
    that it can't end the mark or add a reply to it; the account where nothing is left; never a role's name alone
    ("system" becomes "system (U07)")."""
    plain = one_line(name.translate(_BRACKETS), _NAME_CHARS)
    if not plain:
        return one_line(account.translate(_BRACKETS), _ACCOUNT_CHARS) or "?"
    return _with_account(plain, account) if _folded(plain) in _RESERVED else plain


def distinct_names(people: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the name to show for each account. `people` are (account, display name), oldest first: an account's newest
    name counts. Accounts with equal names, or such as look equal in another case or width, are told apart by account."""
    newest = dict(people)
    shown = {account: neutral_name(newest[account], account) for account in sorted(newest)}
    by_name: dict[str, list[str]] = {}
    for account, name in shown.items():
        by_name.setdefault(_folded(name), []).append(account)
    for namesakes in by_name.values():
        if len(namesakes) > 1:
            shown.update((account, _with_account(shown[account], account)) for account in namesakes)
    return _numbered(shown)


def _with_account(name: str, account: str) -> str:
    return f"{name} ({one_line(account.translate(_BRACKETS), _ACCOUNT_CHARS)})"


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _numbered(shown: dict[str, str]) -> dict[str, str]:
    """Number what is still equal: accounts that differ only in characters that a name may not show."""
    taken: set[str] = set()
    for account, name in shown.items():
        number, unique = 1, name
        while _folded(unique) in taken:
            number += 1
            unique = f"{name} #{number}"
        taken.add(_folded(unique))
        shown[account] = unique
    return shown


_SECTION_SIGNS = str.maketrans("<>＜＞﹤﹥【】", "‹›‹›‹›〔〕")
# How we mark speakers: brackets, then a colon, with nothing between that a reader sees; emphasis doesn't count either.
_UNSEEN = f"\\s*_~`\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0001-\U000e007f{_BLANK}"
_CLOSED = re.compile(rf"[{re.escape(_CLOSING)}](?=[{_UNSEEN}]*[{_COLONS}])")
_BRACKET = re.compile(rf"([{re.escape(_OPENING)}])|[{re.escape(_CLOSING)}]")


def unforged(text: str) -> str:
    """Return `text` with the brackets of everything that poses as a speaker's mark (`[Bob]: …`) made parentheses; those of
    an index (`list[0]:`) stay."""
    closed = {match.start() for match in _CLOSED.finditer(text)}
    if not closed:
        return text
    chars: list[str] = list(text)
    opened: list[int] = []
    for bracket in _BRACKET.finditer(text):
        at = bracket.start()
        if bracket[1]:
            opened.append(at)
            continue
        start = opened.pop() if opened else -1
        if at in closed and not (start > 0 and _is_word(text[start - 1])):
            chars[at] = ")"
            if start >= 0:
                chars[start] = "("
    return "".join(chars)


def _is_word(char: str) -> bool:
    return char.isascii() and char.isalnum()


def enclosed(text: str) -> str:
    """Return memory text for inside a section: it can neither close it, nor open one, nor pose as a label or a speaker."""
    return unforged(text.translate(_SECTION_SIGNS))


_CODE = r"(```.*?(?:```|\Z)|`[^`\n]*`)"
_CITATION = re.compile(
    _CODE + r"|【\d{1,3}(?::\d{1,3})?†[^【】\n]{0,120}】|:contentReference\[oaicite:\d+\](?:\{index=\d+\})?"
    r"|\ue200[^\ue200\ue201]{0,200}\ue201"
    r"|</?cite\b[^<>\n]{0,200}>|<sup>\s*\[?\d{1,3}\]?\s*</sup>|[ \t]?\[(?:citation|cite|source|来源|引用)\s*[:：][^\]\n]{1,80}\]"
    r"|^\[\^[\w-]{1,20}\]:[^\n]*\n?|[ \t]?\[\^[\w-]{1,20}\^?\]"
    r"|(?:[ \t]|(?<![A-Za-z0-9_)\]]))(?:\[\d{1,2}(?:\s?[,，、-]\s?\d{1,2})*\])+(?![(\[:\w])",
    re.S | re.M,
)
_MAY_CITE = re.compile(r"[\[【<\ue200]")


def without_citations(reply: str) -> str:
    """Return an assistant's message without citation marks (A45); code stays as it is, and so does `list[1]`."""
    if not _MAY_CITE.search(reply):
        return reply
    return _CITATION.sub(lambda match: match[1] or "", reply)


def cut_middle(text: str, max_tokens: int, *, count: Callable[[str], int], marker: str) -> str:
    """Return `text` with its middle replaced by `marker` (`{n}` in it is the number of characters left out), so that it
    has at most `max_tokens` tokens by `count`. Too few for the marker itself: an ellipsis. Splits no visible character."""
    total = count(text)
    if total <= max(0, max_tokens):
        return text
    keep = len(text) * max(0, max_tokens - count(marker)) // total
    while keep >= 2:
        head, tail = _boundary(text, keep - keep // 2), _boundary(text, len(text) - keep // 2)
        while text[tail : tail + 1] in tuple(
            _OPENING
        ):  # after a word it was none, after a line break it would be a mark
            tail += 1
        cut = text[:head] + marker.format(n=tail - head) + text[tail:]
        if count(cut) <= max_tokens:
            return cut
        keep = keep * 9 // 10
    return "…"


_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def _boundary(text: str, index: int) -> int:
    """Return the nearest place at or before `index` that splits no visible character (emoji sequences, accents, flags)."""
    for at in range(index, max(0, index - 32), -1):
        if at >= len(text) or not _splits(text, at):
            return at
    return index


def _splits(text: str, at: int) -> bool:
    before, char = text[at - 1], text[at]
    if char in _FLAG_LETTERS and before in _FLAG_LETTERS:  # flags are pairs: counted from where the run of them begins
        return (at - len(text[:at].rstrip(_FLAG_LETTERS))) % 2 == 1
    return (
        before == "\u200d"
        or char in "\u200d\ufe0e\ufe0f\u20e3"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or unicodedata.combining(char) != 0
    )
