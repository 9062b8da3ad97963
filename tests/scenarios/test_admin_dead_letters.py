"""Dead letters and unknown sends through the real process, on local platforms that refuse: seen, sent and answered again,
answered by hand, each once."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.human_notices import told
from tests.emulators.telegram.errors import forbidden
from tests.emulators.telegram.faults import Fault
from tests.scenarios.eyes import Eyes
from tests.scenarios.platforms import QUICK, World, asks, shows, world
from tests.scenarios.stage import Stage, stage
from tests.scenarios.world import Prompt

WAY = "telegram-polling"


@dataclass
class Desk:
    """The door of whoever owns the machine."""

    folder: Path
    url: str
    session: aiohttp.ClientSession

    async def act(self, method: str, path: str, **values: Any) -> Any:
        status, body = await self.tried(method, path, **values)
        assert status < 300, (method, path, status, body)
        return body

    async def tried(self, method: str, path: str, **values: Any) -> tuple[int, Any]:
        door = json.loads(await asyncio.to_thread((self.folder / "clew.db.door").read_text))
        headers = {"Authorization": f"Bearer {door['token']}"}
        sent = {"params": values} if method == "GET" else {"json": values}
        async with self.session.request(method, f"{door['url']}/api/v1{path}", headers=headers, **sent) as response:
            return response.status, json.loads(await response.text())

    async def letters(self, **asked: str) -> list[dict[str, Any]]:
        return (await self.act("GET", "/dead-letters", **asked))["letters"]  # type: ignore[no-any-return]

    async def waits(self, count: int) -> list[dict[str, Any]]:
        """Wait until so many letters are there, newest first."""

        async def there() -> bool:
            return len(await self.letters()) == count

        await until(there)
        return await self.letters()

    async def gauge(self) -> float:
        """What the metrics tell of letters."""
        async with self.session.get(f"{self.url}/metrics") as response:
            found = re.search(r"^clew_dead (\S+)$", await response.text(), re.M)
        assert found is not None
        return float(found[1])


async def until(wanted: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that only the doors tell."""
    async with asyncio.timeout(20):
        while not await wanted():  # nothing outside of the gateway hears of its rows
            await asyncio.sleep(0.05)


def refuses(there: World, times: int = 1) -> None:
    """Let the platform refuse the next messages for good."""
    there.tg.faults.plan("sendMessage", *[Fault(error=forbidden("bot was blocked by the user"))] * times)


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


async def test_what_a_platform_refused_goes_out_when_it_is_sent_again(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """The letter says why and what the person saw; sent again it arrives once, whoever else presses the button too; an answer by
    hand is seen under a name, and the agent knows of it."""
    async with world(tmp_path, ways=(WAY,), body=QUICK) as there:
        room, desk = there.sides[WAY].private(), Desk(tmp_path, there.gateway.url, session)
        refuses(there)
        await room.says("where is 我的订单?")
        (letter,) = await desk.waits(1)

        assert ("dead", "undeliverable", "nothing", WAY, "send") == tuple(
            letter[name] for name in ("kind", "code", "person_saw", "channel", "fits")
        )
        assert letter["reason"]
        assert 1 == await desk.gauge()
        path = f"/dead-letters/{letter['turn']}"
        shown = await desk.act("GET", path)
        assert (["where is 我的订单?"], ["re: where is 我的订单?"]) == (
            [one["text"] for one in shown["said"]],
            [one["text"] for one in shown["pieces"]],
        )
        tries = await asyncio.gather(*(desk.tried("POST", f"{path}/retry", seen=letter["seen"]) for _ in range(3)))
        assert 1 == sum(status == 200 for status, _ in tries)
        await shows(room, "re: where is 我的订单?")
        assert (0, []) == (await desk.gauge(), await desk.letters())

        refuses(there)
        await room.says("and my invoice?")
        (letter,) = await desk.waits(1)
        await desk.act(
            "POST", f"/dead-letters/{letter['turn']}/answer", text="It is **on its way** 📦", name="Ana 安娜"
        )
        await room.until(lambda replies: any("Ana" in reply for reply in replies))
        assert 1 == sum("Ana" in reply for reply in room.replies())
        heard: list[Prompt] = []

        def listening(prompt: Prompt) -> str:
            heard.append(prompt)
            return "thanks noted"

        there.play(listening)
        await room.says("thank you")
        await shows(room, "thanks noted")
        talk = json.dumps(heard[-1], ensure_ascii=False)
        assert "Ana 安娜" in talk
        assert "It is **on its way** 📦" in talk
        assert [] == await desk.letters()


async def test_an_unknown_send_is_repeated_only_by_choice(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """The message had arrived, its receipt had not; who sends it again is told that it may appear twice."""
    async with world(tmp_path, ways=(WAY,), body=QUICK) as there:
        side, desk = there.sides[WAY], Desk(tmp_path, there.gateway.url, session)
        room = side.private()
        side.loses_receipt()
        await room.says("hello")
        await shows(room, "re: hello")
        (letter,) = await desk.waits(1)

        assert ("unknown", "perhaps") == (letter["kind"], letter["person_saw"])
        assert 0 == await desk.gauge()
        path = f"/dead-letters/{letter['turn']}"
        status, problem = await desk.tried("POST", f"{path}/retry")
        assert 422 == status
        assert "may see it twice" in problem["detail"]
        await desk.act("POST", f"{path}/retry", may_repeat=True)
        await room.until(lambda replies: replies.count("re: hello") == 2)
        assert [] == await desk.letters()

        side.loses_receipt()
        await room.says("bye")
        (letter,) = await desk.waits(1)
        await desk.act("POST", f"/dead-letters/{letter['turn']}/discard")
        assert [] == await desk.letters()
        await asks(room, "still there?")
        assert 1 == room.replies().count("re: bye")


async def test_many_are_sent_again_at_once(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """By a filter, each with its own result: who is gone for good stays, and everybody else gets their answer, once."""
    async with world(tmp_path, ways=(WAY,), body=QUICK) as there:
        desk = Desk(tmp_path, there.gateway.url, session)
        rooms = [there.sides[WAY].private(f"P{number}") for number in range(4)]
        refuses(there, len(rooms))
        for number, room in enumerate(rooms):
            await room.says(f"第 {number}")
        await desk.waits(len(rooms))
        refuses(there)

        dealt = await desk.act("POST", "/dead-letters/many", act="retry", code="undeliverable")

        assert {("send", None)} == {(one["done"], one["problem"]) for one in dealt["results"]}
        (left,) = await desk.waits(1)
        await desk.act("POST", "/dead-letters/many", act="retry", turns=[left["turn"]])
        for number, room in enumerate(rooms):
            await shows(room, f"re: 第 {number}")
            assert [f"re: 第 {number}"] == room.replies()


BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
queue: {poll_s: 0.1, attempts: 1}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"]}}"""


@pytest.fixture(params=["sqlite", "postgres"])
async def there(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    storage = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    async with stage(tmp_path, BODY, storage=storage) as opened:
        yield opened


async def one_letter(eyes: Eyes) -> dict[str, Any]:
    """Wait for the only letter."""

    async def there() -> bool:
        return len((await eyes.get("/dead-letters"))["letters"]) == 1

    await until(there)
    return (await eyes.get("/dead-letters"))["letters"][0]  # type: ignore[no-any-return]


async def test_a_dead_turn_is_answered_again_in_its_lane(there: Stage) -> None:
    """Also where one try is all that a turn has: what was given up while the store was broken is answered when it is whole, where
    it was asked, and its caller finds the answer (openclaw#5951)."""
    eyes, hook = Eyes(there, "operator", "hook"), there.hook()
    broken_turn = await given_up(there, "while broken 坏了")
    await hook.say("meanwhile")
    letter = await one_letter(eyes)
    assert ("gave_up", "answer", 1) == (letter["code"], letter["fits"], letter["messages"])

    await eyes.post(f"/dead-letters/{letter['turn']}/retry", {})
    answered = await until_answered(there, broken_turn)

    assert "re: while broken 坏了" == answered["reply"]["text"]
    assert [] == (await eyes.get("/dead-letters"))["letters"]
    await hook.say("what now?")
    told_model = json.dumps(there.model.prompts[-1], ensure_ascii=False)
    assert 1 == told_model.count("while broken 坏了") - told_model.count("re: while broken 坏了")


async def test_a_dead_turn_is_answered_by_hand_where_no_agent_is_asked(there: Stage) -> None:
    """The caller finds the words, under a name; they are in the transcript once, what was asked as well; also where the gateway
    was killed as soon as it had taken the words."""
    eyes, hook = Eyes(there, "operator", "hook"), there.hook()
    turn = await given_up(there, "my order, please")
    letter = await one_letter(eyes)
    await there.change(BODY.replace("attempts: 1", "attempts: 3"))  # a kill costs one
    asked = len(there.model.prompts)

    await eyes.post(f"/dead-letters/{letter['turn']}/answer", {"text": "已寄出", "name": "Ana"})
    await there.gateway.kill()
    await there.gateway.start()
    answered = await until_answered(there, turn)

    assert told("said", "en", name="Ana", text="已寄出") == answered["reply"]["text"]
    assert "by_hand" == answered["rule"]
    assert asked == len(there.model.prompts)
    await hook.say("ok?")
    talk = [message["content"] for message in there.model.prompts[-1][1:]]
    assert "my order, please" in talk[-3]
    assert talk[-2].endswith("已寄出")
    assert "Ana" in talk[-2]
    assert 1 == json.dumps(talk, ensure_ascii=False).count("已寄出")
    (line,) = [one for one in (await eyes.get("/messages", words="已寄出"))["found"] if one["role"] == "human"]
    page = await eyes.get(f"/conversations/{line['conversation']['conversation']}/messages")
    (shown,) = [one for one in page["lines"] if "已寄出" in one["text"]]
    assert ("human", "Ana", turn["turn"], "by_hand") == tuple(
        shown[field] for field in ("role", "name", "turn", "rule")
    )


async def test_an_answer_by_hand_needs_no_agent(tmp_path: Path) -> None:
    """The one that was asked is not configured any more: the person gets the words all the same."""
    async with stage(tmp_path, BODY) as there:
        turn = await given_up(there, "hello?")
        other = BODY.replace("default:", "other:").replace("channels: {hook: {", "channels: {hook: {agent: other, ")
        await there.change(f"defaults: {{agent: other}}\n{other}")
        eyes = Eyes(there, "operator", "hook")
        letter = await one_letter(eyes)

        await eyes.post(f"/dead-letters/{letter['turn']}/answer", {"text": "Here I am", "name": "Ana"})
        answered = await until_answered(there, turn)

        assert told("said", "en", name="Ana", text="Here I am") == answered["reply"]["text"]
        roles = there.rows("SELECT role, text, speaker_name FROM messages ORDER BY id")
        assert ("assistant", "Here I am", "Ana") in roles


async def given_up(there: Stage, text: str) -> dict[str, Any]:
    """Say something that can't be stored, until it is given up."""
    hook = there.hook()
    there.sql("ALTER TABLE messages RENAME TO hidden")
    turn = await hook.settled(sent := await hook.say(text, mode="async"))
    there.sql("ALTER TABLE hidden RENAME TO messages")
    assert ("dead", "gave_up") == (turn["status"], turn["error"]["code"])
    return sent


async def until_answered(there: Stage, turn: dict[str, Any]) -> dict[str, Any]:
    hook = there.hook()

    async def answered() -> bool:
        return bool((await hook.turn(turn))["status"] == "answered")

    await until(answered)
    return await hook.turn(turn)
