"""Whether what a person must never be given is in every prompt, however long ago it was said: `python -m tests.bench.pins`.

Constraints of both languages are said once and found by the rules. Then come a hundred turns about other things, on budgets
that leave the window room for hardly anything, in the same session, in later ones, and in another room. Each asked-for prompt
should hold every constraint, whole, in its own section (D14 to D16). The goal of engines.md B.1 is 100 %.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from memory.key import ConversationKey
from memory.policy import Policy
from memory.turn import Prepared
from tests.bench.core import DAY_MS, HOUR_MS, POLICY, Core, opened, print_on_all
from tests.contracts.columns import Column

SAID = {
    "en": (
        ("I'm allergic to penicillin.", "penicillin"),
        ("I can't eat pork.", "pork"),
        ("I'm vegan.", "vegan"),
        ("I use a wheelchair.", "wheelchair"),
        ("Please don't call me by my first name.", "call me by my first name"),
    ),
    "zh": (
        ("我对花生过敏。", "花生"),
        ("我不吃猪肉。", "猪肉"),
        ("我吃素。", "素"),
        ("我坐轮椅。", "轮椅"),
        ("以后别给我打电话。", "别给我打电话"),
    ),
}
FILLING = {
    "en": "What do you have on offer today, number {0}? I read about it in a very long article, and it said. " * 3,
    "zh": "今天第{0}号有什么优惠？我看了一篇很长的文章，里面是这样说的。" * 3,
}
BUDGETS = {
    "the defaults": POLICY,
    "a model of 2,048 tokens, nothing for recall": msgspec.structs.replace(
        POLICY, window_tokens=2_048, output_tokens=1_200, recall_tokens=0, profile_items=0, fragments=0
    ),
    "a window of one turn and 100 tokens": msgspec.structs.replace(
        POLICY, turns=1, keep_turns=1, messages=2, tokens=100
    ),
    "a role text that fills the model": msgspec.structs.replace(
        POLICY, window_tokens=2_048, output_tokens=1_000, system="Answer as our shop would. " * 400
    ),
}
AFTER = (1, 10, 100)

_PINNED = re.compile(r'<memory section="pinned">\n(.*?)\n</memory>', re.S)


@dataclass
class Figures:
    """Constraints looked for in prompts, and found in their section."""

    looked_for: int = 0
    found: int = 0
    missing: list[str] = field(default_factory=list)

    def look(self, prepared: Prepared, values: Sequence[str], *, when: str) -> None:
        """Look for each value in the prompt."""
        section = "".join(_PINNED.findall(prepared.context.system))
        for value in values:
            self.looked_for += 1
            self.found += value in section
            if value not in section:
                self.missing.append(f"{value} {when}")

    def line(self) -> str:
        return f"{self.found} of {self.looked_for}{' | ' + '; '.join(self.missing[:5]) if self.missing else ''}"


def private(user: str, *, room: str = "r1") -> ConversationKey:
    return ConversationKey(user=user, channel="web", room=room, thread=None, chat_type="private", agent="helper")


async def measure(core: Core, language: str, *, after: Sequence[int] = AFTER) -> dict[str, Figures]:
    """Say everything once, and look at each budget's prompts after so many turns and in other sessions."""
    user = f"pins-{language}"
    key, who = private(user), {"person": await core.person(user), "language": language}
    values = [value for _, value in SAID[language]]
    figures = {name: Figures() for name in BUDGETS}
    for text, _ in SAID[language]:
        await core.say(key, text, **who)
    await core.learn()
    said = 0
    for turns in after:
        while said < turns - 1:
            said += 1
            await _fill(core, key, said, who)
        await core.learn()
        await _look(core, key, figures, values, who, when=f"after {turns} turns")
    core.clock.now += 3 * HOUR_MS
    await _look(core, key, figures, values, who, when="in a new session")
    core.clock.now += 400 * DAY_MS
    await _look(core, private(user, room="elsewhere"), figures, values, who, when="a year later, in another room")
    return figures


async def _fill(core: Core, key: ConversationKey, number: int, who: dict[str, Any]) -> None:
    await core.say(key, FILLING[who["language"]].format(number), **who)


async def _look(
    core: Core,
    key: ConversationKey,
    figures: dict[str, Figures],
    values: Sequence[str],
    who: dict[str, Any],
    *,
    when: str,
) -> None:
    """Ask something that has nothing to do with any of it, once under each budget."""
    policy: Policy
    for name, policy in BUDGETS.items():
        prepared = await core.say(key, FILLING[who["language"]].format(when), policy=policy, **who)
        figures[name].look(prepared, values, when=when)


async def rows(column: Column) -> AsyncIterator[str]:
    """Yield a line for each language and budget."""
    async with opened(column) as core:
        for language in SAID:
            for name, figures in (await measure(core, language)).items():
                yield f"{language} | {name} | {figures.line()}"


if __name__ == "__main__":
    print_on_all("database | language | budget | constraints found in their section", rows)
