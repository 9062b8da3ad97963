"""What admins see where a human answered in the bot's stead: each word under the name of who said it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from gateway.human_notices import told
from tests.scenarios.admins import Admins
from tests.scenarios.eyes import Eyes
from tests.scenarios.stage import Stage, echo, stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = """
agents: {main: {kind: openai, model: m-1, base_url: MODEL, api_key: sk-1}}
defaults: {agent: main, memory: {model: none}}
channels: {page: {kind: console}}
"""
OPERATOR = "eyes"  # what the token of one who looks is called


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    folder: Path = tmp_path_factory.mktemp("humans")
    async with stage(folder, SETTINGS, script=echo) as running:
        yield running


async def say(here: Stage, text: str, *, room: str) -> dict[str, Any]:
    """Say something on the chat page; return the turn at its end."""
    body = {
        "room": room, "chat_type": "private", "person": {"id": "zoe", "name": "Zoe 佐伊"}, "language": "en",
        "message": {"id": f"{room} {text}", "text": text},
    }  # fmt: skip
    async with here.session.post(f"{here.gateway.url}/channels/page", json=body) as response:
        assert response.status in (200, 202), await response.text()
        turn: dict[str, Any] = await response.json()
    url = f"{here.gateway.url}/channels/page/turns/{turn['turn']}?token={turn['token']}"
    async with asyncio.timeout(30):
        while True:
            async with here.session.get(url) as response:
                if (await response.json())["status"] not in ("accepted", "running"):
                    return turn
            await asyncio.sleep(0.05)  # its events are the page's own


async def shown(eyes: Eyes, room: str, count: int) -> list[dict[str, Any]]:
    """Return the lines of the room's conversation as soon as there are so many."""
    (talk,) = (await eyes.get("/conversations", room=room))["conversations"]
    async with asyncio.timeout(30):
        while True:
            lines: list[dict[str, Any]] = (await eyes.get(f"/conversations/{talk['conversation']}/messages"))["lines"]
            if len(lines) >= count:
                return lines
            await asyncio.sleep(0.05)  # nothing outside of the gateway hears of it


async def test_a_conversation_tells_the_operator_from_the_bot(here: Stage) -> None:
    """What an operator said stands once, under their name; what they left for the agent is no message that people saw; that one
    came and went is the gateway's notice, and nobody's word."""
    eyes = Eyes(here, "operator")
    turn = await say(here, "where is 5512?", room="desk")
    begun = await eyes.post("/takeovers", {"turn": turn["turn"]})
    path = f"/takeovers/{begun['takeover']}"
    said = await eyes.post(f"{path}/messages", {"text": "I am looking 在查"})
    await shown(eyes, "desk", 4)
    await say(here, "thank you", room="desk")
    await eyes.post(f"{path}/end", {"summary": "5512 was refunded"})

    lines = await shown(eyes, "desk", 7)
    assert [
        ("user", "Zoe 佐伊", "where is 5512?"),
        ("assistant", "main", "re: where is 5512?"),
        ("gateway", "", told("begun", "en", name=OPERATOR)),
        ("human", OPERATOR, "I am looking 在查"),
        ("user", "Zoe 佐伊", "thank you"),
        ("note", OPERATOR, "5512 was refunded"),
        ("gateway", "", told("handed_back", "en", name=OPERATOR)),
    ] == [(one["role"], one["name"], one["text"]) for one in lines]

    trace = await eyes.get(f"/turns/{said['turn']}")
    assert [("human", OPERATOR, "I am looking 在查", None)] == [
        (one["kind"], one["name"], one["text"], one["message"]) for one in trace["said"]
    ]
    assert "operator" in (await eyes.get(f"/turns/{said['turn']}/why"))["en"]
    listed = {one["turn"]: one["kind"] for one in (await eyes.get("/turns", room="desk"))["turns"]}
    assert ("human", "message") == (listed[said["turn"]], listed[turn["turn"]])
    (found,) = (await eyes.get("/messages", words="在查"))["found"]
    assert ("human", OPERATOR) == (found["role"], found["name"])


async def test_the_page_says_who_spoke(here: Stage) -> None:
    """In both languages."""
    eyes, admins = Eyes(here, "operator"), Admins(here)
    turn = await say(here, "hello", room="told")
    begun = await eyes.post("/takeovers", {"turn": turn["turn"]})
    await eyes.post(f"/takeovers/{begun['takeover']}/messages", {"text": "here I am"})
    await shown(eyes, "told", 4)
    (talk,) = (await eyes.get("/conversations", room="told"))["conversations"]
    await admins.user("Ada", "owner")
    async with admins.signed_in("Ada") as ada:
        path = f"/admin/conversations/{talk['conversation']}"
        pages = [(await ada.get(path, **{"Accept-Language": language})).text for language in ("en", "zh")]

    assert "in the bot&#39;s stead" in pages[0]
    assert "人工坐席的回复" in pages[1]


async def test_the_tail_names_the_operator(here: Stage) -> None:
    """Of their words they are the speaker, though the turn is the person's."""
    eyes = Eyes(here, "operator")
    turn = await say(here, "hello", room="tailed")
    begun = await eyes.post("/takeovers", {"turn": turn["turn"]})
    async with eyes.tail() as follows:
        await follows.content.readline()
        said = await eyes.post(f"/takeovers/{begun['takeover']}/messages", {"text": "here I am"})
        async with asyncio.timeout(30):
            while said["turn"] not in (line := (await follows.content.readline()).decode()):
                pass

    data = json.loads(line.removeprefix("data: "))
    assert (OPERATOR, "here I am", "human") == (data["name"], data["text"], data["line"]["kind"])
