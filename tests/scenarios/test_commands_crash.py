"""A command that was carried out, and whose process died before its answer was stored, is carried out once, and says so."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from gateway.notices import NOTICES, Language, notice
from tests.scenarios.kill_at import armed
from tests.scenarios.remembered import learned
from tests.scenarios.world import Gateway, Hook, gateway, in_folder, write_config

BODY = """
agents: {default: {kind: demo}}
memory: {model: none}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}}}
"""


@asynccontextmanager
async def deadly(folder: Path) -> AsyncIterator[Gateway]:
    """A gateway that dies where it is told to."""
    config = write_config(folder, BODY)
    async with gateway(config, command=("tests.scenarios.kill_at", str(config))) as running:
        yield running


async def says(hook: Hook, text: str, name: str = "ann") -> str:
    turn = await hook.say(text, sender=name, conversation=f"with {name}")
    return str(turn["reply"]["text"])


async def known(hook: Hook, name: str = "ann") -> list[str]:
    """Return the numbered lines of what is known."""
    return re.findall(r"^\d+\. .*$", await says(hook, "/memory", name), re.M)


def word(name: str, language: Language) -> str:
    return notice(name, language, prefix="")


@pytest.mark.parametrize(
    ("verb", "before", "command", "language", "told", "left"),
    [
        ("forgetting.forget", "/memory", "/forget 1", "en", ["forgotten_before"], 1),
        ("forgetting.forget_slots", "/memory", "/忘记 我的城市", "zh", ["forgotten_before"], 1),
        ("forgetting.forget_turn", "/memory", "forget that", "en", ["forgotten_before", "unlearn_stays"], 1),
        ("forgetting.forget_all", "/forget all", "/forget all yes", "en", ["forgotten_all_before"], 0),
    ],
)  # fmt: skip
async def test_what_was_forgotten_is_not_said_to_be_unknown(
    verb: str, before: str, command: str, language: Language, told: list[str], left: int,
    tmp_path: Path, session: aiohttp.ClientSession,
) -> None:  # fmt: skip
    """What it was has no words any more that could be told; that it is forgotten is. Nothing else is, and nobody is asked
    for a confirmation that they gave."""
    async with deadly(tmp_path) as first:
        hook = Hook(session, first)
        for text in ("I like rye bread", "I live in Oslo"):
            await says(hook, text)
        await learned(in_folder(tmp_path))
        await says(hook, before)
        await armed(first, verb, "after")
        turn = await hook.say(command, sender="ann", conversation="with ann", mode="async")
        await first.dead()
    async with gateway(write_config(tmp_path, BODY)) as second:
        hook = Hook(session, second)
        settled = await hook.settled(turn)
        rest = await known(hook)

    assert "\n".join(word(name, language) for name in told) == settled["reply"]["text"]
    assert left == len(rest)


async def test_who_was_taken_apart_is_taken_apart_once(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """Cat was joined to Bob, and went along when he was joined to Ann: the turn that is taken up again leaves those two together,
    and says what was done."""
    async with deadly(tmp_path) as first:
        hook = Hook(session, first)
        for name, text in (("ann", "I like rye bread"), ("bob", "I like oolong"), ("猫", "我喜欢牛奶")):
            await says(hook, text, name)
        await learned(in_folder(tmp_path))
        for one, other in (("bob", "猫"), ("ann", "bob")):
            code = re.search(r"^/link (\S+)$", await says(hook, "/link", one), re.M)
            assert code is not None
            assert await says(hook, f"/link {code[1]}", other) in {
                word("link_done", language) for language in NOTICES["link_done"]
            }
        assert 3 == len(await known(hook, "猫"))
        await armed(first, "links.unlink", "after")
        turn = await hook.say("/unlink", sender="猫", conversation="with 猫", mode="async")
        await first.dead()
    async with gateway(write_config(tmp_path, BODY)) as second:
        hook = Hook(session, second)
        settled = await hook.settled(turn)
        counts = [len(await known(hook, name)) for name in ("ann", "bob", "猫")]
        again = await says(hook, "/unlink", "猫")

    assert settled["reply"]["text"] in {word("unlink_done", language) for language in NOTICES["unlink_done"]}
    assert [2, 2, 1] == counts
    assert again in {word("unlink_none", language) for language in NOTICES["unlink_none"]}
