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
from tests.scenarios.world import Refusal

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Seen:
    """The platforms, and one who may read everything."""

    world: World
    eyes: Eyes

    async def turn(self, **query: str) -> Any:
        """Return the only turn that a search finds: a reply's receipt is stored a little after people see it."""
        async with asyncio.timeout(30):
            while not (found := (await self.eyes.get("/turns", **query))["turns"]):
                await asyncio.sleep(0.05)  # nothing outside of the gateway hears of it
        (line,) = [one for one in found if one["kind"] == "message"]
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


async def test_of_messages_answered_together_the_deleted_one_is_gone(seen: Seen) -> None:
    """Whichever of them one looks at; the other keeps its words (mem0ai/mem0#3245)."""
    room = seen.world.slack().private("Gil")
    held = Held()
    seen.world.play(held)
    await room.says("first")
    await seen.world.model.called.wait()
    kept, deleted = await room.says("keep this"), await room.says("Geheimnis 秘密")
    both = await _waiting(seen, seen.slack_link(room, kept), seen.slack_link(room, deleted))
    seen.world.play(echo)
    held.go_on.set()
    for turn in both:
        await seen.ends(turn, "answered")
    assert 2 == len((await seen.eyes.get(f"/turns/{both[0]}"))["said"])
    await room.people["Gil"].deletes(room.channel, deleted)

    for turn in both:
        async with asyncio.timeout(30):
            while not (trace := await seen.eyes.get(f"/turns/{turn}"))["about"]:
                await asyncio.sleep(0.05)  # nothing outside of the gateway hears of it
        assert ["keep this", ""] == [one["text"] for one in trace["said"]]
        assert ["delete"] == [one["kind"] for one in trace["about"]]


async def _waiting(seen: Seen, *links: str) -> list[str]:
    """Return the turns of these messages as soon as they are stored."""
    found: list[str] = []
    async with asyncio.timeout(30):
        for link in links:
            while not (lines := (await seen.eyes.get("/turns", link=link))["turns"]):
                await asyncio.sleep(0.05)
            found.append(lines[0]["turn"])
    return found


async def test_what_was_no_part_of_the_talk_is_gone_when_it_is_deleted(seen: Seen) -> None:
    """A conversation shows what was said to others beside the talk: as it was edited last, and nothing of what was deleted."""
    room = seen.world.slack().group("aside", "Ann", "Bob")
    await asks(room, "hello", by="Ann")
    edited = await room.says("teh aside", by="Bob", to_bot=False)
    deleted = await room.says("Geheimnis 秘密", by="Bob", to_bot=False)
    (turn, _) = await _waiting(seen, seen.slack_link(room, edited), seen.slack_link(room, deleted))
    await room.people["Bob"].edits(room.channel, edited, "the aside")
    await room.people["Bob"].deletes(room.channel, deleted)
    await asks(room, "go on", by="Ann")
    conversation = (await seen.turn(link=seen.slack_link(room, room.ours()[-1].ts)))["conversation"]
    async with asyncio.timeout(30):
        while True:
            lines = (await seen.eyes.get(f"/conversations/{conversation}/messages"))["lines"]
            aside = [line["text"] for line in lines if line["role"] == "unheard"]
            if aside == ["the aside", ""]:
                break
            await asyncio.sleep(0.05)

    assert "Geheimnis" not in json.dumps(lines, ensure_ascii=False)
    assert "the aside" == (await seen.eyes.get(f"/turns/{turn}"))["about"][0]["text"]


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


async def test_a_notice_that_could_not_be_delivered_keeps_its_reason(seen: Seen) -> None:
    """No answer was made: the agent failed, and the word of that did not arrive either."""
    room = seen.world.telegram().private("Bel")
    await asks(room, "hello")
    held = asyncio.Event()

    async def fails(_prompt: object) -> Refusal:
        await held.wait()
        return Refusal(401)

    seen.world.model.called.clear()
    seen.world.play(fails)
    message = await room.says("still there?")
    await seen.world.model.called.wait()
    room.people["Bel"].blocks(room.bot)
    held.set()
    found = await seen.turn(channel="telegram-polling", room=str(room.chat.id), message=str(message.id))
    trace = await seen.ends(found["turn"], "dead")
    seen.world.play(echo)

    why = await seen.eyes.get(f"/turns/{found['turn']}/why")
    assert "undeliverable" == trace["end"]["code"]
    assert why["en"].startswith("The service behind the agent")
    assert why["en"].endswith("the platform refused to take it.")
    assert "answer was made" not in why["en"]


async def test_an_answer_that_may_not_have_arrived_says_so(seen: Seen) -> None:
    """The platform took it, or not: nobody saw the end of the send."""
    side = seen.world.telegram()
    room = side.private("Una")
    await asks(room, "hello")
    side.loses_receipt()
    message = await room.says("lost?")
    found = await seen.turn(channel="telegram-polling", room=str(room.chat.id), message=str(message.id))
    trace = await seen.ends(found["turn"], "answered")

    assert ["unknown"] == [piece["state"] for piece in trace["pieces"]]
    assert "is not known" in (await seen.eyes.get(f"/turns/{found['turn']}/why"))["en"]


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


async def test_a_channels_health_is_told_after_a_restart(seen: Seen) -> None:
    """Of each kind: that it is connected, its last signs of life and its errors, as the queues keep them; waits that its platform
    asked for are counted from the start on, and said to be."""
    rooms = {name: side.private("Ria") for name, side in seen.world.sides.items()}
    async with asyncio.timeout(60):
        for name, side in seen.world.sides.items():
            number = 0
            while not (await _health(seen))[name][
                "limited"
            ]:  # a sign that the answer is made may be told to wait in its stead
                number += 1
                side.limits(1)
                await asks(rooms[name], f"wait a little 等等 {number}")
        before = await _health(seen)
        while any(one["last_delivery_ms"] < one["last_event_ms"] for one in before.values()):
            before = await _health(seen)
    await seen.world.gateway.stop()
    await seen.world.again()
    after = await _health(seen)

    for name, was in before.items():
        assert (True, None) == (after[name]["up"], after[name]["problem"])
        kept = ("kind", "last_event_ms", "last_delivery_ms", "ended", "failed")
        assert {field: was[field] for field in kept} == {field: after[name][field] for field in kept}
        assert was["limited_s"] >= 0.5
        assert (0, 0.0, 0, 0.0) == tuple(after[name][field] for field in ("limited", "limited_s", "waiting", "lag_s"))


async def _health(seen: Seen) -> dict[str, Any]:
    return {one["channel"]: one for one in (await seen.eyes.get("/channel-health"))["channels"]}
