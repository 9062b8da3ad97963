"""The agent that answers when no model is configured: offline, deterministic, and honest about being neither.

It quotes, and with attribution: from the assembled context alone, so that what it says shows what a model would have
been shown, and to whom it belonged.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from gateway.agent import AgentEvent, Caller, Delta, Done
from gateway.agents.demo_words import EVERYBODY, PATTERNS, TEXTS, THAT, Topic
from gateway.errors import AgentTimeout
from memory.base import Context

MAX_QUOTE = 300  # characters
MAX_LISTED = 6

# Words with the space behind them; of scripts without spaces one character, with its variation selectors.
_WIDE = r"\u2e80-\ua4cf\uf900-\ufaff\uff00-\uffef"
_PIECES = re.compile(rf"[{_WIDE}][\ufe00-\ufe0f\U000e0100-\U000e01ef]*|[^\s{_WIDE}]+\s*|\s+")


# The system block's sections, as `memory/sections.py` writes them: a label line, then items that can't close the tag.
_SECTION = re.compile(r'<memory section="(\w+)">\n[^\n]*\n(.*?)\n</memory>', re.S)
_SPOKEN = re.compile(r"^\[([^\[\]\n]+)\]: (.+)$", re.M)
_KEPT = re.compile(r"^- (.+)$", re.M)
ABOUT_THE_ASKER = frozenset({"pinned", "profile", "facts"})  # sections that hold nothing of anybody else
TALK_AROUND = frozenset({"carried", "observed"})


class DemoAgent:
    """Answers from the context alone. `pace_s` lies between two pieces of the reply, so that streaming can be seen."""

    reports_lookups = True  # it never looks anything up

    def __init__(self, *, pace_s: float = 0.012) -> None:
        self._pace_s = pace_s

    async def answer(self, context: Context, *, caller: Caller, deadline: float) -> AsyncGenerator[AgentEvent, None]:
        """Stream the reply word by word; see `gateway.agent.Agent`."""
        for piece in _PIECES.findall(reply(context, language=caller.language, drawer=caller.kind == "console")):
            if asyncio.get_running_loop().time() >= deadline:
                raise AgentTimeout("the demo agent did not finish: the deadline passed")
            yield Delta(piece)
            await asyncio.sleep(self._pace_s)
        yield Done(finish="stop")

    async def probe(self) -> None:
        """It is always there."""

    async def aclose(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One thing that was said; `speaker` is "" in private talk, None for a reply of the bot."""

    speaker: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the demo agent sees: everything said before the question, oldest first, and the question.

    `around` was said outside the messages (observed, carried from another agent); `kept` is known of the asker.
    """

    before: tuple[Utterance, ...]
    around: tuple[Utterance, ...]
    kept: tuple[str, ...]
    question: Utterance
    language: str

    def text(self, name: str, /, **values: object) -> str:
        return TEXTS[name][self.language].format(**values)

    @property
    def people(self) -> list[Utterance]:
        return [said for said in self.before if said.speaker is not None]

    @property
    def mine(self) -> list[Utterance]:
        """What the asker said before."""
        return [said for said in self.people if said.speaker == self.question.speaker]


def reply(context: Context, *, language: str, drawer: bool) -> str:
    """Return the demo agent's answer in `language` ("en" or "zh"). `drawer`: the person can open the ledger."""
    view = _view(context, language=language)
    topic, about = _topic(view.question.text)
    if topic is None:
        parts = [view.text("echo", quote=_quote(view.question.text)), view.text("self"), view.text("ask")]
    else:
        parts = [_answer(view, topic, about)]
        if topic in ("self", "count"):
            parts.append(view.text("set_up" if topic == "self" else "beyond"))
    if drawer and topic in (None, "self", "count", "about_me"):
        parts.append(view.text("drawer"))
    return "\n".join(parts)


def _view(context: Context, *, language: str) -> View:
    said: list[Utterance] = []
    for message in context.messages:
        # `said` holds what was said, without the marks that the message puts before it for a model.
        for speaker, text in [(one.speaker, one.text) for one in message.said] or [("", message.text)]:
            said.append(Utterance(speaker=speaker if message.role == "user" else None, text=text))
    sections = [(found[1], found[2]) for found in _SECTION.finditer(context.system)]
    spoken = [mark for name, text in sections if name in TALK_AROUND for mark in _SPOKEN.finditer(text)]
    kept = [line[1] for name, text in sections if name in ABOUT_THE_ASKER for line in _KEPT.finditer(text)]
    return View(
        before=tuple(said[:-1]),
        around=tuple(Utterance(speaker=mark[1], text=mark[2]) for mark in spoken),
        kept=tuple(kept),
        question=said[-1],
        language="zh" if language == "zh" else "en",
    )


def _topic(question: str) -> tuple[Topic | None, str]:
    """Return what the question is about, and the name or text that it asks for ("" if none)."""
    wanted = question.strip().casefold()
    if len(wanted) > MAX_QUOTE:
        return None, ""  # a long text is not one of our questions, whatever it quotes
    for topic, pattern in PATTERNS:
        if found := pattern.search(wanted):
            about = next((part for part in found.groupdict().values() if part), "")
            return topic, about.strip(" \t\n?？!！.。,，:：;；\"'“”‘’「」『』")
    return None, ""


def _answer(view: View, topic: Topic, about: str) -> str:
    if topic == "count":
        people, mine = len(view.people) + 1, sum(said.speaker is None for said in view.before)
        return view.text("count", all=people + mine, people=people, mine=mine)
    if topic == "who_said":
        return _who_said(view, about)
    if topic == "words_of":
        return _words_of(view, about)
    if topic == "people":
        names = _names(view)
        return view.text("people", names=view.text("comma").join(names)) if names else view.text("alone")
    if topic == "your_words":
        replies = [said for said in view.before if said.speaker is None]
        return view.text("your_words", quote=_quote(replies[-1].text)) if replies else view.text("no_reply")
    if topic == "self":
        return view.text("self")
    if topic == "about_me":
        known = [*view.kept, *(said.text for said in view.mine)]
        return view.text("about_me", list=_listed(known)) if known else view.text("nothing_about_me")
    if not view.mine:
        return view.text("no_words")
    if topic in ("first_words", "last_words"):
        return view.text(topic, quote=_quote(view.mine[0 if topic == "first_words" else -1].text))
    return view.text(topic, list=_listed([said.text for said in view.mine]))


def _who_said(view: View, about: str) -> str:
    """Name the speaker of the newest message that holds `about`; of "that" and the like, of the newest one there is."""
    wanted = "" if about in THAT else about
    for said in reversed((*view.around, *view.people)):
        if wanted in said.text.casefold():
            return view.text("said_by", speaker=_speaker(view, said), quote=_quote(said.text))
    return view.text("nobody_said")


def _words_of(view: View, name: str) -> str:
    if name in EVERYBODY and view.people:
        lines = [view.text("said_by", speaker=_speaker(view, said), quote=_quote(said.text)) for said in view.people]
        return "\n".join(lines[-MAX_LISTED:])
    theirs = [said for said in (*view.around, *view.people) if said.speaker and said.speaker.casefold() == name]
    if theirs:
        return view.text("words_of", speaker=theirs[-1].speaker, list=_listed([said.text for said in theirs]))
    names = _names(view)
    seen = view.text("people", names=view.text("comma").join(names)) if names else view.text("alone")
    return view.text("unknown_name", speaker=_quote(name)) + view.text("space") + seen


def _names(view: View) -> list[str]:
    """Return who speaks in view, in order of appearance; empty in private talk."""
    return list(dict.fromkeys(said.speaker for said in (*view.around, *view.people, view.question) if said.speaker))


def _speaker(view: View, said: Utterance) -> str:
    return said.speaker if said.speaker and said.speaker != view.question.speaker else view.text("you")


def _listed(texts: Sequence[str]) -> str:
    return "\n".join(f"- {_quote(text)}" for text in texts[-MAX_LISTED:])


def _quote(text: str) -> str:
    return f"“{text if len(text) <= MAX_QUOTE else text[:MAX_QUOTE] + '…'}”"
