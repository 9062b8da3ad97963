"""One process with two workspaces, two bots and a webhook, and two agents: nobody hears, knows or answers for another."""

from __future__ import annotations

import asyncio
import re
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import aiohttp

from tests.scenarios.platforms import SLACK, TELEGRAM, WAYS, World, asks, echo, shows, words, world
from tests.scenarios.world import Hook, Prompt

AGENT = {"slack-http": "red", "slack-socket": "blue", "telegram-polling": "blue", "telegram-webhook": "red"}
BODY = '  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}, agent: red}\n'


def everything(folder: Path, storage: str | None = None) -> AbstractAsyncContextManager[World]:
    agents = ", ".join(f"{name}: {{kind: openai, base_url: 'MODEL', model: {name}}}" for name in ("red", "blue"))
    return world(
        folder, agents=agents, more={way: f", agent: {agent}" for way, agent in AGENT.items()}, body=BODY, storage=storage
    )  # fmt: skip


async def test_nobody_sees_what_is_another_s(storage: str, tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """Everybody is called Ann, and says her secret in private and another in a group, in every channel at once; the prompt of
    each turn holds the secrets of its own place only, and went to its own agent (A12, openclaw/openclaw#7215,
    RasaHQ/rasa#7941)."""
    async with everything(tmp_path, storage) as there:
        hook = Hook(session, there.gateway)
        rooms = {(way, "private"): side.private() for way, side in there.sides.items()}
        rooms |= {(way, "second"): side.private() for way, side in there.sides.items()}
        rooms |= {(way, "group"): side.group("team 团队") for way, side in there.sides.items()}
        places = {f"{way}/{kind}": room for (way, kind), room in rooms.items()}
        for number in (1, 2, 3):
            async with asyncio.TaskGroup() as tasks:
                for place, room in places.items():
                    tasks.create_task(asks(room, f"secret «{place}» 秘密 {number}"))
                tasks.create_task(hook.say(f"secret «hook/private» 秘密 {number}", name="Ann"))
        prompts = list(zip(there.model.models, there.model.prompts, strict=True))

    assert 3 * (len(places) + 1) == len(prompts)
    for model, prompt in prompts:
        place = re.findall("«(.*?)»", words(prompt))[0]
        number = int(words(prompt)[-1])
        assert AGENT.get(place.partition("/")[0], "red") == model
        assert {place} == set(re.findall("«(.*?)»", str(prompt)))
        assert all(f"{number}" in str(prompt) for number in range(1, number)), "and its own it still knows"
    for place, room in places.items():
        assert [f"re: secret «{place}» 秘密 {number}" for number in (1, 2, 3)] == room.replies()


async def test_an_answer_goes_where_its_question_came_from(tmp_path: Path) -> None:
    """A's slow answer while others ask the same agent by other channels, and while A herself asks somewhere else: bound when
    the question was accepted (openclaw/openclaw#77292, openclaw/openclaw#29301, AstrBotDevs/AstrBot#1766)."""
    go_on = asyncio.Event()

    async def answer(prompt: Prompt) -> str:
        if words(prompt).startswith("slow"):
            await go_on.wait()
        return echo(prompt)

    async with everything(tmp_path) as there:
        there.play(answer)
        slow = {way: side.private() for way, side in there.sides.items()}
        groups = {way: side.group("team", "Ann", "Bob") for way, side in there.sides.items()}
        for way, room in (*slow.items(), *groups.items()):
            await room.says(f"slow {way}")
        while len(there.model.prompts) < len(slow) + len(groups):
            there.model.called.clear()
            await there.model.called.wait()
        quick = {way: side.private("Bob 鲍勃") for way, side in there.sides.items()}
        for way, room in quick.items():
            await asks(room, f"quick {way}")
        go_on.set()
        for way in WAYS:
            await shows(slow[way], f"re: slow {way}")
            await shows(groups[way], f"re: slow {way}")

        assert [[f"re: quick {way}"] for way in WAYS] == [quick[way].replies() for way in WAYS]
        assert [[f"re: slow {way}"] for way in WAYS] == [slow[way].replies() for way in WAYS]
        assert [[f"re: slow {way}"] for way in WAYS] == [groups[way].replies() for way in WAYS]


async def test_one_account_that_fails_keeps_no_other_waiting(tmp_path: Path) -> None:
    """One workspace's token is revoked, one bot's platform answers nothing: the others answer as ever, and so do these again
    when they can."""
    async with everything(tmp_path) as there:
        slack, telegram = there.slack("slack-http"), there.telegram("telegram-webhook")
        lost, away = slack.private(), telegram.private()
        slack.bot.revoked = "token_revoked"
        telegram.limits(2)
        await lost.says("is anybody there?")
        await away.says("hello?")
        for way in (SLACK[1], TELEGRAM[0]):
            await asks(there.sides[way].private(), "all well?")
        slack.bot.revoked = None
        await asks(slack.private("Zoe"), "and now?")
        await shows(away, "re: hello?")
