"""How stored messages are shown in a window: who speaks, what they reply to, from when a past reply is. Pure.

In a group every user's message carries its speaker's mark, and none can be forged; in private talk there is none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from memory.base import HANDED_BACK, Message, Quoted, Said
from memory.labels import Labels
from memory.policy import Policy
from memory.text import cut_middle, neutral_name, one_line, unforged, without_citations
from memory.tokens import MESSAGE_OVERHEAD, Tokenizer

_QUOTE_CHARS = 200
_LEAST = 32  # tokens of its own that a cut message should keep
_QUOTE_SIGNS = str.maketrans('[]［］【】“”"', "()()()'''")


class Speech:
    """The window's voice for one prompt: computes a row's cost and its text, with the marks of its place and language."""

    def __init__(
        self,
        rows: Sequence[Message],
        policy: Policy,
        labels: Labels,
        *,
        names: dict[str, str],
        group: bool,
        reports_lookups: bool,
        tokenizer: Tokenizer,
    ) -> None:
        """`rows` are all candidates, so that a quote of one of them follows its edits and its deletion."""
        self._labels = labels
        self._names = names
        self._group = group
        self._tokenizer = tokenizer
        self._all_replies = policy.down_weight == "all" or (policy.down_weight == "auto" and not reports_lookups)
        self._some_replies = policy.down_weight == "auto"
        self._marks: dict[int, str] = {}  # by row: each is asked for when trimming, showing and accounting
        self._mark_tokens: dict[str, int] = {}
        asked_for = {row.reply_to for row in rows if row.reply_to is not None}
        self._quotable = {row.platform_message_id: row for row in rows if row.platform_message_id in asked_for}

    def cost(self, row: Message) -> int:
        """Return the tokens of a row as it would be shown whole."""
        return self._tokenizer.stored(row) + self._tokens_of_mark(self._mark(row)) + MESSAGE_OVERHEAD

    def show(self, row: Message, max_tokens: int | None) -> tuple[str, Said]:
        """Return a row's text with its mark, and who said what. `max_tokens` None: whole."""
        mark = self._mark(row)
        text = without_citations(row.text) if row.role == "assistant" else row.text
        if self._group and row.role == "user":
            text = unforged(text)
        if max_tokens is not None:
            room = max_tokens - MESSAGE_OVERHEAD - self._tokens_of_mark(mark)
            if room < _LEAST and row.role == "user":
                mark = self._speaker_mark(row)  # without the quote: what was said now matters more
                room = max_tokens - MESSAGE_OVERHEAD - self._tokens_of_mark(mark)
            text = cut_middle(text, room, count=self._tokenizer.count, marker=self._labels.cut)
        if not text.strip():
            text = self._labels.no_text
        speaker = self._names[row.user] if self._group and row.role == "user" else ""
        return mark + text, Said(id=row.id, speaker=speaker, text=text)

    def _mark(self, row: Message) -> str:
        mark = self._marks.get(row.id)
        if mark is None:
            mark = self._reply_mark(row) if row.role == "assistant" else self._speaker_mark(row, self._quote(row))
            self._marks[row.id] = mark
        return mark

    def _speaker_mark(self, row: Message, quote: str = "") -> str:
        if self._group:
            return f"[{self._names[row.user]}{quote}]: "
        return f"[{quote.lstrip(',， ')}]\n" if quote else ""

    def _reply_mark(self, row: Message) -> str:
        if row.speaker_name:
            left = any(step.name == HANDED_BACK for step in row.steps)
            label = self._labels.left_by_human if left else self._labels.by_human
            return label.format(name=neutral_name(row.speaker_name, "?")) + "\n"
        if not (self._all_replies or (self._some_replies and row.looked_up_ms is not None)):
            return ""
        seconds = (row.looked_up_ms or row.created_ms) // 1000
        when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
        return self._labels.past_reply.format(when=when) + "\n"

    def _quote(self, row: Message) -> str:
        quoted, source = row.quote, self._quotable.get(row.reply_to) if row.reply_to is not None else None
        if source is not None:
            by_bot = source.role == "assistant"
            quoted = Quoted(name=source.speaker_name or source.user, text=source.text, by_bot=by_bot)
        if quoted is None or not quoted.text.strip():
            return ""
        text = one_line(quoted.text.translate(_QUOTE_SIGNS), _QUOTE_CHARS)
        if quoted.by_bot:
            return self._labels.replying_to_bot.format(text=text)
        account = source.user if source is not None else "?"
        name = self._names.get(account) or neutral_name(quoted.name, account)
        return self._labels.replying.format(name=name, text=text)

    def _tokens_of_mark(self, mark: str) -> int:
        if not mark:
            return 0
        tokens = self._mark_tokens.get(mark)
        if tokens is None:
            tokens = self._mark_tokens[mark] = self._tokenizer.count(mark)
        return tokens
