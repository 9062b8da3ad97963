"""What admins see of talk on platforms: turns found by a message's link, edits and deletions, receipts, what could not be
delivered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.emulators.telegram.faults import throttled
from tests.scenarios.eyes import Eyes
from tests.scenarios.platforms import SlackRoom, World, asks, echo, shows, world
from tests.scenarios.stage import Held, Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Seen:
    """The platforms, and one who may read everything."""

    world: World
    eyes: Eyes

    async def turn(self, **query: str) -> Any:
        """Return the only turn that a search finds."""
        (line,) = [one for one in (await self.eyes.get("/turns", **query))["turns"] if one["kind"] == "message"]
        return await self.eyes.get(f"/turns/{line['turn']}")

    async def ends(self, turn: str, state: str) -> Any:
        """Wait for a turn's end; return its trace."""
        async with asyncio.timeout(30):
            while (trace := await self.eyes.get(f"/turns/{turn}"))["end"]["state"] != state:
                await asyncio.sleep(0.05)  # nothing outside of the gateway hears of it
        return trace

    def slack_link(self, room: SlackRoom, ts: str) -> str:
        return f"https://acme.slack.com/archives/{room.channel.id}/p{ts.replace('.', '')}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seen(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Seen]:
    folder: Path = tmp_path_factory.mktemp("platforms")
    async with (
        world(folder, ways=("slack-http", "telegram-polling")) as there,
        aiohttp.ClientSession() as session,
    ):
        yield Seen(there, Eyes(Stage(folder, there.model, there.gateway, session), "operator"))


async def test_a_turn_is_found_by_the_link_of_its_message_and_of_its_reply(seen: Seen) -> None:
    """As people copy it on the platform; in a thread, too. A link to nothing of ours finds nothing, and says so."""
    room = seen.world.slack().group("links", "Ann")
    ts = await room.says("where is it?")
    await shows(room, "re: where is it?")
    (reply,) = room.ours()

    said = await seen.turn(link=seen.slack_link(room, ts))
    sent = await seen.turn(link=seen.slack_link(room, reply.ts) + f"?thread_ts={ts}&cid={room.channel.id}")
    assert said["turn"] == sent["turn"]
    said = await seen.ends(said["turn"], "answered")
    assert ("where is it?", ts) == (said["said"][0]["text"], said["said"][0]["message"])
    (piece,) = said["pieces"]
    assert ("sent", "re: where is it?", 1) == (piece["state"], piece["text"], piece["of"])
    assert piece["put_ms"] <= piece["settled_ms"]
    assert [] == (await seen.eyes.get("/turns", link=seen.slack_link(room, "1700000000.000001")))["turns"]
    assert 422 == (await seen.eyes.ask("GET", "/turns", link="https://example.org/p1"))[0]


async def test_a_private_supergroups_link_finds_its_turn(seen: Seen) -> None:
    """With the topic in the link, and by the message's id in its room."""
    room = seen.world.telegram().group("Links 链接", "Ann")
    message = await room.says("在哪里？")
    await shows(room, "re: 在哪里？")
    chat = str(room.chat.id)
    assert room.topic is not None

    link = f"https://t.me/c/{chat.removeprefix('-100')}/{room.topic.id}/{message.id}"
    found = await seen.turn(link=link)
    assert "在哪里？" == found["said"][0]["text"]
    same = await seen.turn(channel="telegram-polling", room=chat, message=str(message.id))
    assert found["turn"] == same["turn"]


async def test_edits_and_deletions_are_seen_as_people_see_them(seen: Seen) -> None:
    """An edit with what was said before; what was deleted is shown by no act, though the queue keeps it for a while. A reply
    stands as it stands on the platform."""
    room = seen.world.slack().private("Dee")
    first = await room.says("teh order")
    await shows(room, "re: teh order")
    second = await room.says("Geheimnis 秘密")
    await shows(room, "re: Geheimnis 秘密")
    await room.edits(first, "the order")
    await room.people["Dee"].deletes(room.channel, second)
    edited = await _edited(seen, seen.slack_link(room, first))
    deleted = await seen.turn(link=seen.slack_link(room, second))
    (conversation,) = {deleted["conversation"], edited["conversation"]}
    async with asyncio.timeout(60):
        while True:
            page = await seen.eyes.get(f"/conversations/{conversation}/messages")
            gone = [line for line in page["lines"] if line["deleted_ms"] is not None]
            if gone:
                break
            await asyncio.sleep(0.05)

    line = page["lines"][0]
    assert ("the order", ["teh order"]) == (line["text"], [one["text"] for one in line["earlier"]])
    assert line["edited_ms"] is not None
    assert ["edit"] == [one["kind"] for one in edited["about"]]
    assert [("", "user")] == [(line["text"], line["role"]) for line in gone]
    trace = await seen.eyes.get(f"/turns/{deleted['turn']}")
    assert "Geheimnis" not in json.dumps([trace["said"], trace["about"]])
    for turn in (edited["about"][0]["event"], trace["about"][0]["event"]):
        applied = await seen.eyes.get(f"/turns/{turn}")
        assert "applied" == applied["end"]["state"]
        assert "because it" in (await seen.eyes.get(f"/turns/{turn}/why"))["en"]


async def _edited(seen: Seen, link: str) -> Any:
    async with asyncio.timeout(60):
        while not (trace := await seen.turn(link=link))["about"]:
            await asyncio.sleep(0.05)
    return trace


async def test_what_could_not_be_delivered_says_why(seen: Seen) -> None:
    """The person has blocked the bot meanwhile: the reply was made, and is dead, with the platform's word."""
    room = seen.world.telegram().private("Bea")
    await asks(room, "hello")
    held = Held()
    seen.world.play(held)
    message = await room.says("still there?")
    await seen.world.model.called.wait()
    room.people["Bea"].blocks(room.bot)
    held.go_on.set()
    found = await seen.turn(channel="telegram-polling", room=str(room.chat.id), message=str(message.id))
    trace = await seen.ends(found["turn"], "dead")
    seen.world.play(echo)

    assert ("undeliverable", "dead") == (trace["end"]["code"], trace["pieces"][0]["state"])
    assert trace["end"]["reason"]
    assert "First words, and the rest." == trace["reply"]
    why = await seen.eyes.get(f"/turns/{found['turn']}/why")
    assert "The answer was made, and the platform refused to take it." == why["en"]


async def test_what_people_say_to_each_other_says_why_it_was_not_answered(seen: Seen) -> None:
    """In a thread in which the bot has answered."""
    room = seen.world.slack().group("between", "Ann", "Bob")
    await asks(room, "hello", by="Ann")
    ts = await room.says("I think 12 is right", by="Bob", to_bot=False)
    async with asyncio.timeout(60):
        while not (lines := (await seen.eyes.get("/turns", link=seen.slack_link(room, ts)))["turns"]):
            await asyncio.sleep(0.05)
    why = await seen.eyes.get(f"/turns/{lines[0]['turn']}/why")
    assert ("ignored", "trigger") == (why["state"], why["setting"]["path"].rpartition(".")[2])


async def test_a_platform_that_is_asked_says_what_is_wrong(seen: Seen) -> None:
    """Whoever asks sees its word beside what the gateway knows by itself."""
    await asks(seen.world.telegram().private("Eve"), "hello")
    seen.world.telegram().tg.faults.plan("getMe", throttled(3))

    told = {one["channel"]: one for one in (await seen.eyes.get("/channel-health", probe="true"))["channels"]}
    assert "ok" == told["slack-http"]["probed"]
    assert told["telegram-polling"]["probed"] not in ("", "ok")
    assert told["telegram-polling"]["last_delivery_ms"] is not None
