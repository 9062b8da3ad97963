"""Thirty days later, in a new session of a process that was killed in between: what was learned is there, and said to be old.

On SQLite over every kind of channel, on the servers over webhooks; with a small model, and by rules alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.scenarios.memory_world import HOOKS, WAYS, remembering
from tests.scenarios.remembered import Change, Line, days_later, labels, sections
from tests.scenarios.world import Prompt, rows

FIRST_AND_LATER: dict[str, tuple[tuple[Line, ...], tuple[Line, ...]]] = {
    "B42-en": (
        (Line("I have wide feet, and size 41 was too tight."), Line("Thanks, that is all for today.")),
        (Line("Which shoes have a wide last?", "Wide lasts, from 42.", known={"profile": ("wide feet", "41 was too tight")}),),
    ),
    "B42-zh": (
        (Line("我脚宽，41码穿着紧"), Line("谢谢，今天就这样")),
        (Line("有宽楦的跑鞋吗？", "有，宽楦建议 42 码起。", known={"profile": ("脚宽", "41码")}),),
    ),
    "B60-en": (
        (Line("Please call me Captain."), Line("I want to return the running shoes.")),
        (Line("Where is my order, number 8821?", "Captain, 8821 is not your return.", known={"profile": ("Captain", "return")}),),
    ),
    "B60-zh": (
        (Line("叫我王姐就行"), Line("跑鞋要退货")),
        (Line("订单尾号 8821 到哪了？", "王姐，8821 在路上，退货另算。", known={"profile": ("王姐", "退货")}),),
    ),
    "D14-en": (
        (Line("I am allergic to penicillin."), Line("And my knee hurts.")),
        (Line("What helps with a sore throat?", "Nothing with penicillin.", known={"pinned": ("allergic to penicillin",)}),),
    ),
    "D14-zh": (
        (Line("我对青霉素过敏"), Line("最近睡得不好")),
        (Line("嗓子疼吃什么药？", "不能用青霉素类。", known={"pinned": ("对青霉素过敏",)}),),
    ),
    "B21-en": (
        (Line("I'm a VIP member."), Line("Don't recommend me anything white.")),
        (Line("A VIP price for a white or a blue coat?", "Blue, at the VIP price.", known={"profile": ("VIP", "white")}),),
    ),
    "B21-zh": (
        (Line("我是VIP会员"), Line("别给我推荐白色的")),
        (Line("VIP会员买白色还是蓝色外套好？", "蓝色，按会员价。", known={"profile": ("VIP", "白色")}),),
    ),
}  # fmt: skip
NOTES: dict[str, Sequence[Change]] = {
    "wide feet": (("set", "fit", "wide feet"), ("set", "fit", "41 was too tight")),
    "脚宽": (("set", "fit", "脚宽"),),
    "return the running": (("set", "request", "return"), ("set", "product", "running shoes")),
    "penicillin": (("set", "allergy", "penicillin"),),
    "VIP会员": (("set", "membership", "VIP"),),
    "anything white": (("set", "dislike", "white"),),
}


def told_as_old(prompt: Prompt) -> bool:
    """B29, B31: nothing of it poses as said today; facts of the session there are none of yet."""
    held = sections(prompt)
    return set(held) <= {"pinned", "profile", "recalled", "facts"} and all(
        "earlier" in label or "历史" in label or "此前" in label or name in ("pinned", "facts")
        for name, label in labels(prompt).items()
    )


@pytest.mark.parametrize("storage", ["sqlite", "postgres", "postgres+redis"], indirect=True)
async def test_a_new_session_knows_the_person(storage: str, tmp_path: Path) -> None:
    """B21, B22, B29, B31, B35, B42, B60, C21, D04, D05, D08, D14, D16, E25, E26, E29: the first turn after thirty days and a
    SIGKILL is answered from profile and constraints, with nothing of the old talk in the window; that is kept (LangBot#804)."""
    ways = WAYS if storage.startswith("sqlite") else HOOKS
    talks = [(scene, way) for scene in FIRST_AND_LATER for way in ways]
    async with remembering(tmp_path, storage=storage, ways=ways) as world:
        world.plays(*(line for parts in FIRST_AND_LATER.values() for part in parts for line in part), notes=NOTES)
        talkers = {(scene, way): world.talker(way, f"Ann {scene}") for scene, way in talks}
        for number in (0, 1):
            lines = [FIRST_AND_LATER[scene][0][number].said for scene, _ in talks]
            await asyncio.gather(*(talkers[talk].ask(said) for talk, said in zip(talks, lines, strict=True)))
            await world.learned()
        await world.there.gateway.kill()
        days_later(storage, 30)
        await world.there.again()
        world.there.model.prompts.clear()
        later = [FIRST_AND_LATER[scene][1][0] for scene, _ in talks]
        found = await asyncio.gather(*(talkers[talk].ask(line.said) for talk, line in zip(talks, later, strict=True)))

    assert {talk: line.answer for talk, line in zip(talks, later, strict=True)} == dict(zip(talks, found, strict=True))
    assert [(2 * 2 * len(talks) + 2 * len(talks),)] == rows(storage, "SELECT count(*) FROM messages")
    assert {2} == {len(prompt) for prompt in world.there.model.prompts}, "the window is the new session's"
    assert [] == [prompt for prompt in world.there.model.prompts if not told_as_old(prompt)]
