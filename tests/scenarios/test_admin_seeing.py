"""What admins see of a running gateway: channels, turns whatever became of them and why, conversations; each within their rights.

Over both databases; on platforms in `test_admin_seeing_platforms.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from gateway.admin.conversations import UNHEARD
from tests.scenarios.conftest import stored
from tests.scenarios.eyes import Eyes
from tests.scenarios.stage import Stage, said, stage
from tests.scenarios.world import Prompt

SETTINGS = """
agents:
  main: {kind: openai, model: m-1, base_url: MODEL, api_key: sk-1, timeout_s: 20, retries: 1, system: Be brief.}
  gone: {kind: openai, model: m-2, base_url: "http://127.0.0.1:9/v1", api_key: sk-1, retries: 0}
prices: {currency: CNY, models: {m-1: {input: 1000, output: 2000}}}
defaults: {agent: main, memory: {model: none, window: {turns: 3}}}
channels:
  hook:
    kind: webhook
    secrets: ["${HOOK}"]
    allow: {members: [u1, u2, boss]}
    limits: {per_minute: 1000, message_chars: 400}
    rooms:
      quiet: {trigger: [mention], observe: false}
      heard: {trigger: [mention], observe: true}
      broken: {agent: gone}
      busy: {trigger: [prefix], prefix: ["!"], observe: false}
  other: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}}
"""
HOSTILE = '<img src=x onerror="alert(1)">\u202e'
ORDER = "订单号 8821"

pytestmark = pytest.mark.asyncio(loop_scope="module")


def answers(prompt: Prompt) -> str:
    return f"re: {said(prompt)}"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with stored(request.param, request, tmp_path_factory.mktemp("storage")) as line:
        yield line


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, database: str) -> AsyncIterator[Stage]:
    folder: Path = tmp_path_factory.mktemp("seeing")
    async with stage(folder, SETTINGS, storage=database, script=answers) as running:
        running.model.usage = (1000, 50)
        yield running


async def events(lines: aiohttp.StreamReader, count: int) -> list[tuple[str, Any]]:
    """Return the next events of a stream."""
    found: list[tuple[str, Any]] = []
    name = ""
    async with asyncio.timeout(60):
        while len(found) < count:
            line = (await lines.readline()).decode().rstrip("\n")
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                found.append((name, json.loads(line.removeprefix("data: "))))
    return found


async def learned(eyes: Eyes, turn: dict[str, Any]) -> Any:
    """Wait until a turn is learned from; return its trace."""
    async with asyncio.timeout(60):
        while (trace := await eyes.get(f"/turns/{turn['turn']}"))["learning"] != "done":
            await asyncio.sleep(0.05)  # nothing outside of the gateway hears of it
    return trace


KEPT = (
    "messages", "message_versions", "observed", "sessions", "scopes", "ledgers", "facts", "profile_items", "summaries",
    "fragments", "persons", "identities", "inbox_events", "outbox_chunks", "outbox_replies",
)  # fmt: skip


def stored_rows(world: Stage, turn: str) -> dict[str, list[str]]:
    """Return all rows of the gateway's talk and queues, and what was spent on a turn."""
    asked = {table: f"SELECT * FROM {table}" for table in KEPT}
    asked["usage_entries"] = f"SELECT * FROM usage_entries WHERE turn_id = {turn}"
    return {table: sorted(map(repr, world.rows(query))) for table, query in asked.items()}


class TestTurns:
    """B and E of the requirements' ledger, for every end that a message can have."""

    async def test_an_answered_turn_from_event_to_receipt(self, world: Stage) -> None:
        """Rule, settings, prompt with what was kept, call, cost, reply; who may read sees the words."""
        hook, eyes = world.hook(), Eyes(world, "operator", "hook")
        await hook.say(f"my {ORDER}", sender="u1", name=HOSTILE, conversation="story")
        turn = await hook.say("and when?", sender="u1", name=HOSTILE, conversation="story")

        trace = await eyes.get(f"/turns/{turn['turn']}")
        assert ("answered", "private", "") == (trace["end"]["state"], trace["end"]["rule"], trace["end"]["code"])
        assert (HOSTILE, "and when?") == (trace["said"][0]["name"], trace["said"][0]["text"])
        assert ("main", "story", "private", "en") == tuple(
            trace["way"][field] for field in ("agent", "room", "chat_type", "language")
        )
        assert trace["way"]["revision"]
        window = [entry for entry in trace["prompt"]["entries"] if entry["section"] == "window"]
        assert f"my {ORDER}" in [entry["text"] for entry in window]
        assert {"in"} == {entry["verdict"] for entry in window}
        assert trace["prompt"]["exact"]
        (call,) = trace["calls"]
        assert ("main", "m-1", "stop", 0, 1000, 50) == tuple(
            call[field] for field in ("agent", "model", "finish", "retries", "prompt", "completion")
        )
        assert 0 <= call["first_ms"] <= call["ms"]
        assert "re: and when?" == trace["reply"]
        assert trace["conversation"] is not None
        async with asyncio.timeout(60):
            while not (spent := (await eyes.get(f"/turns/{turn['turn']}"))["spent"]):
                await asyncio.sleep(0.05)  # it is written a little later
        assert [(1.1, "CNY", False)] == [(one["money"], one["currency"], one["estimated"]) for one in spent]
        why = await eyes.get(f"/turns/{turn['turn']}/why")
        assert "It was answered because it was written to the bot in private." == why["en"]
        assert "它得到了回答，因为它是私聊消息。" == why["zh"]

    async def test_what_was_learned_or_refused(self, world: Stage) -> None:
        """Each with its reason, as soon as it is learned from."""
        eyes = Eyes(world, "admin")
        turn = await world.hook().say(
            "My name is Quentin and my password is hunter2", sender="u2", conversation="lesson"
        )

        trace = await learned(eyes, turn)
        assert "in" in {one["verdict"] for one in trace["learned"]}
        assert all(one["text"] for one in trace["learned"])

    async def test_a_failed_turn_says_which_setting_decided(self, world: Stage) -> None:
        """The agent that could not be reached, with what would have helped: a fallback."""
        eyes = Eyes(world, "viewer")
        turn = await world.hook().say("hello?", conversation="broken")

        trace, why = await eyes.get(f"/turns/{turn['turn']}"), await eyes.get(f"/turns/{turn['turn']}/why")
        assert ("failed", "agent_unavailable") == (trace["end"]["state"], trace["end"]["code"])
        assert ["agent_unavailable"] == [call["code"] for call in trace["calls"]]
        assert any(note.startswith("agent_unavailable") for note in trace["prompt"]["notes"])
        assert "agent gone could not be reached" in why["en"]
        assert "智能体 gone" in why["zh"]
        assert "channels.hook.fallback" == why["setting"]["path"]

    @pytest.mark.parametrize(
        ("room", "text", "end", "setting", "value"),
        [
            (
                "quiet",
                "just talk",
                ("ignored", "not_addressed", ""),
                "channels.hook.rooms.quiet.trigger",
                '["mention"]',
            ),
            ("heard", "just talk", ("observed", "observe", ""), "channels.hook.rooms.heard.trigger", '["mention"]'),
            ("long", "x" * 401, ("failed", "too_long", "too_long"), "channels.hook.limits.message_chars", "400"),
        ],
    )
    async def test_what_was_not_answered_says_why(
        self, world: Stage, room: str, text: str, end: tuple[str, str, str], setting: str, value: str
    ) -> None:
        """By rule and by setting: where it stands, what it was then and is now."""
        eyes = Eyes(world, "viewer", "hook")
        chat_type = "private" if room == "long" else "group"
        turn = await world.hook().say(text, sender="u1", conversation=room, chat_type=chat_type)

        trace, why = await eyes.get(f"/turns/{turn['turn']}"), await eyes.get(f"/turns/{turn['turn']}/why")
        assert end == (trace["end"]["state"], trace["end"]["rule"], trace["end"]["code"])
        assert (None, []) == (trace["prompt"], trace["calls"])
        assert (setting, value, value) == (why["setting"]["path"], why["setting"]["then"], why["setting"]["now"])
        assert "clew.yaml:" in why["setting"]["origin"]
        assert why["en"].endswith(".")
        assert why["zh"].endswith("。")
        line = (await eyes.get("/turns", rule=end[2] or end[1], room=room))["turns"][0]
        assert (turn["turn"], end[0]) == (line["turn"], line["state"])

    async def test_every_end_has_its_trace_and_its_reason(self, world: Stage) -> None:
        """Where it came in, how it was let in, how it ended and why: whatever became of it. (`dead`: on the platforms.)"""
        hook, eyes = world.hook(), Eyes(world, "viewer", "hook")
        group = {"sender": "u1", "chat_type": "group"}
        ends = {
            "answered": await hook.say("hi", conversation="ends"),
            "applied": await hook.say("/stop", conversation="ends"),
            "observed": await hook.say("talk", conversation="heard", **group),
            "ignored": await hook.say("talk", conversation="quiet", **group),
            "failed": await hook.say("hi", conversation="broken"),
        }

        for state, turn in ends.items():
            trace, why = await eyes.get(f"/turns/{turn['turn']}"), await eyes.get(f"/turns/{turn['turn']}/why")
            assert state == trace["end"]["state"] == why["state"]
            assert (turn["turn"], "") == (trace["said"][0]["event"], trace["said"][0]["text"])
            assert trace["way"]["rule"]
            assert trace["way"]["revision"]
            assert (state in ("answered", "failed")) == (trace["prompt"] is not None) == bool(trace["calls"])
            assert (why["en"][-1], why["zh"][-1]) == (".", "。")
            assert "by the rule" not in why["en"]

    async def test_what_was_stopped_has_its_reason(self, world: Stage) -> None:
        """Before its first word, by its own speaker: the call is told as cut short."""
        never = asyncio.Event()

        async def held(prompt: Prompt) -> str:
            await never.wait()
            return "late"

        hook, eyes = world.hook(), Eyes(world, "viewer")
        world.model.called.clear()
        world.model.script = held
        first = await hook.say("think long", conversation="stopping", mode="async")
        await world.model.called.wait()
        await hook.say("/stop", conversation="stopping")
        world.model.script = answers
        never.set()

        async with asyncio.timeout(60):
            while (trace := await eyes.get(f"/turns/{first['turn']}"))["end"]["state"] in ("accepted", "running"):
                await asyncio.sleep(0.05)
        assert ("failed", "stopped") == (trace["end"]["state"], trace["end"]["code"])
        assert [("", "")] == [(call["finish"], call["code"]) for call in trace["calls"]]
        assert "/stop" in (await eyes.get(f"/turns/{first['turn']}/why"))["en"]

    async def test_settings_that_the_console_made_have_its_number(self, world: Stage) -> None:
        """Beside the digest that every turn carries."""
        eyes, seen = Eyes(world, "owner"), len(world.gateway.log)
        change = {"changes": [{"path": "channels.hook.rooms.numbered.bot_depth", "act": "set", "value": 3}]}
        made = await eyes.post("/settings/revisions", change)
        await world.gateway.logged("settings changed", after=seen)
        turn = await world.hook().say("hi", conversation="numbered")

        assert made["number"] == (await eyes.get(f"/turns/{turn['turn']}"))["way"]["number"]

    async def test_a_record_that_cannot_be_read_hides_nothing_else(self, world: Stage) -> None:
        """The rest of the turn is shown, without its prompt."""
        eyes = Eyes(world, "operator")
        turn = await world.hook().say("hi", conversation="damaged")
        damaged = "X'7B'" if (world.storage or "").startswith("sqlite") else "'\\x7b'"
        world.sql(f"UPDATE ledgers SET body = {damaged}, due_ms = NULL WHERE turn_id = {turn['turn']}")

        trace = await eyes.get(f"/turns/{turn['turn']}")
        assert (None, "re: hi", "answered") == (trace["prompt"], trace["reply"], trace["end"]["state"])

    async def test_pages_of_turns_meet(self, world: Stage) -> None:
        """By channel, state and time; a cursor that nobody gave is refused with its field."""
        eyes = Eyes(world, "viewer", "hook")
        asked = [(await world.hook().say(f"page {n}", conversation="pages"))["turn"] for n in range(5)]

        found: list[str] = []
        query = {"channel": "hook", "states": "answered", "room": "pages", "limit": "2"}
        while True:
            page = await eyes.get("/turns", **query)
            found += [line["turn"] for line in page["turns"]]
            if page["next"] is None:
                break
            query["after"] = page["next"]
        assert asked[::-1] == found
        status, text = await eyes.ask("GET", "/turns", after="1; DROP")
        assert 422 == status
        assert "after" in text

    async def test_a_person_is_found_by_number(self, world: Stage) -> None:
        """With what they said on whatever channel, also what was not answered."""
        eyes = Eyes(world, "viewer")
        mine = [(await world.hook().say("hi", sender="boss", conversation="b1"))["turn"]]
        mine.append((await world.hook().say("x" * 401, sender="boss", conversation="b1"))["turn"])
        await world.hook().say("hi", sender="u2", conversation="b2")
        ((person,),) = world.rows("SELECT person_id FROM messages WHERE conversation = 'b1' AND role = 'user'")

        found = await eyes.get("/turns", person=str(person), limit="1")
        assert [mine[1]] == [line["turn"] for line in found["turns"]]
        rest = await eyes.get("/turns", person=str(person), after=found["next"])
        assert [mine[0]] == [line["turn"] for line in rest["turns"]]

    async def test_counts_tell_what_ended_how(self, world: Stage) -> None:
        """By hour and rule, for charts."""
        eyes = Eyes(world, "viewer", "hook")
        await world.hook().say("talk", conversation="quiet", chat_type="group", sender="u1")

        counts = (await eyes.get("/turn-counts", hours="1"))["counts"]
        assert {"hook"} == {one["channel"] for one in counts}
        assert any(one["state"] == "ignored" and one["rule"] == "not_addressed" for one in counts)


class TestReplay:
    """A turn under other settings (E06)."""

    async def test_prompts_side_by_side(self, world: Stage) -> None:
        """Under its own settings it is the same byte for byte; a smaller window leaves out what a bigger one kept."""
        hook, eyes = world.hook(), Eyes(world, "operator", "hook")
        for text in (f"my {ORDER}", "is it raining in Oslo today?", "and in Bergen, what is it like?"):
            earlier = await hook.say(text, conversation="replay")
        await learned(eyes, earlier)  # until then it would stay in the window
        turn = await hook.say("which order?", conversation="replay")

        same = await eyes.post(f"/turns/{turn['turn']}/replay", {})
        assert same["identical"]
        assert same["then"] == same["now"]
        assert ORDER not in json.dumps(same["then"]["messages"], ensure_ascii=False)
        more = await eyes.post(f"/turns/{turn['turn']}/replay", {"changes": ["memory.window.turns=4"]})
        assert not more["identical"]
        assert ORDER in more["now"]["messages"][0]["text"]
        assert any(line.startswith("+") and ORDER in line for line in more["difference"])
        again = await eyes.post(f"/turns/{turn['turn']}/replay", {"settings": "now"})
        assert again["identical"]

    async def test_it_changes_nothing(self, world: Stage) -> None:
        """Whatever it is tried under, no row is another one; only the audit log has the look."""
        hook, eyes = world.hook(), Eyes(world, "operator", "hook")
        await learned(eyes, await hook.say("My name is Quentin.", sender="u2", conversation="still"))
        turn = await hook.say("who am I? 我是谁", sender="u2", conversation="still")
        await learned(eyes, turn)
        async with asyncio.timeout(60):
            while not (await eyes.get(f"/turns/{turn['turn']}"))["spent"]:
                await asyncio.sleep(0.05)  # it is written a little later
        before = stored_rows(world, turn["turn"])

        for settings in ("then", "now"):
            for changes in ([], ["memory.window.turns=1"], ["agent.profile_namespace=other"], ["agent.system=x"]):
                made = await eyes.ask(
                    "POST", f"/turns/{turn['turn']}/replay", json={"settings": settings, "changes": changes}
                )
                assert made[0] in (200, 403), made
        assert before == stored_rows(world, turn["turn"])

    async def test_what_cannot_be_replayed_says_so(self, world: Stage) -> None:
        """A setting that is none is a field at fault; a turn without a prompt has nothing to replay."""
        eyes = Eyes(world, "operator")
        turn = await world.hook().say("hi", conversation="r2")
        ignored = await world.hook().say("hi", conversation="quiet", chat_type="group", sender="u1")

        status, text = await eyes.ask("POST", f"/turns/{turn['turn']}/replay", json={"changes": ["memory.nothing=1"]})
        assert (422, True) == (status, "memory.nothing" in text)
        assert 404 == (await eyes.ask("POST", f"/turns/{ignored['turn']}/replay", json={}))[0]


class TestConversations:
    """Talk as people saw it."""

    async def test_everything_stands_where_it_was_said(self, world: Stage) -> None:
        """Messages, replies, a command with its answer, what was refused with its notice; names as they are, hostile or not."""
        hook, eyes = world.hook(), Eyes(world, "operator", "hook")
        for text in ("one", "/help", "x" * 401, "two 二"):
            await hook.say(text, conversation="whole", name=HOSTILE)

        (line,) = (await eyes.get("/conversations", room="whole", channel="hook"))["conversations"]
        page = await eyes.get(f"/conversations/{line['conversation']}/messages")
        told = [(one["role"], one["text"][:12], one["rule"]) for one in page["lines"]]
        assert [
            ("user", "one", "private"), ("assistant", "re: one", "private"),
            ("unheard", "/help", "private"), ("gateway", "What you can", ""),
            ("unheard", "x" * 12, "too_long"), ("gateway", "Your message", "too_long"),
            ("user", "two 二", "private"), ("assistant", "re: two 二", "private"),
        ] == told  # fmt: skip
        assert {HOSTILE, "main", ""} == {one["name"] for one in page["lines"]}
        first = await eyes.get(f"/conversations/{line['conversation']}/messages", limit="2")
        before = await eyes.get(
            f"/conversations/{line['conversation']}/messages", limit="2", before=first["lines"][0]["line"]
        )
        assert page["lines"] == before["lines"] + first["lines"]

    async def test_what_is_left_out_is_said_to_be(self, world: Stage) -> None:
        """Between two questions people said more to each other than a page shows beside them: the newest of it is shown."""
        hook, eyes = world.hook(), Eyes(world, "operator", "hook")
        group = {"sender": "u1", "conversation": "busy", "chat_type": "group"}
        await hook.say("!hi", **group)
        for _ in range(5):
            await asyncio.gather(*(hook.say("闲聊 talk", **group) for _ in range(41)))
        await hook.say("!bye", **group)

        (line,) = (await eyes.get("/conversations", room="busy"))["conversations"]
        page = await eyes.get(f"/conversations/{line['conversation']}/messages")
        said = [one["role"] for one in page["lines"]]
        assert page["cut"]
        assert (UNHEARD - 1, 2) == (said.count("unheard"), said.count("user"))
        newest = await eyes.get(f"/conversations/{line['conversation']}/messages", limit="1")
        assert not newest["cut"]

    async def test_found_by_words_in_both_languages(self, world: Stage) -> None:
        """A Chinese word inside a sentence, an English one in any case; the newest first."""
        hook, eyes = world.hook(), Eyes(world, "operator", "hook")
        await hook.say("我的玳瑁猫丢了", conversation="cat")
        await hook.say("A TORTOISESHELL cat", conversation="cat")

        assert ["re: 我的玳瑁猫丢了", "我的玳瑁猫丢了"] == [
            one["text"] for one in (await eyes.get("/messages", words="玳瑁猫"))["found"]
        ]
        found = (await eyes.get("/messages", words="cat tortoiseshell", limit="1"))["found"]
        assert ("re: A TORTOISESHELL cat", "cat") == (found[0]["text"], found[0]["conversation"]["room"])
        assert 422 == (await eyes.ask("GET", "/messages", words=" "))[0]


class TestRights:
    """Who may see what: a viewer no words, the operator of one channel nothing of another."""

    async def test_a_viewer_sees_no_word_anywhere(self, world: Stage) -> None:
        """Of text, names or titles, by whatever act; what shows words alone is refused."""
        hook, eyes = world.hook(), Eyes(world, "viewer")
        turn = await hook.say("Zaubernuss 金缕梅", conversation="secret", name="Hamamelis")
        (line,) = (await eyes.get("/conversations", room="secret"))["conversations"]

        texts = [
            (await eyes.ask("GET", path))[1]
            for path in (
                "/turns", f"/turns/{turn['turn']}", f"/turns/{turn['turn']}/why", "/turn-counts", "/conversations",
                "/channel-health",
            )
        ]  # fmt: skip
        for word in ("Zaubernuss", "金缕梅", "Hamamelis"):
            assert [] == [text[:80] for text in texts if word in text]
        for path in (f"/conversations/{line['conversation']}/messages", "/messages?words=Zaubernuss"):
            assert 403 == (await eyes.ask("GET", path))[0]
        assert 403 == (await eyes.ask("POST", f"/turns/{turn['turn']}/replay", json={}))[0]

    async def test_what_memory_keeps_of_a_person_is_shown_to_readers_of_all_channels(self, world: Stage) -> None:
        """It may have been said anywhere. Who reads one channel sees that it went in, and no word of it; nor the prompt whole."""
        hook, everywhere, here = world.hook(), Eyes(world, "operator"), Eyes(world, "operator", "hook")
        await learned(everywhere, await hook.say("I am allergic to peanuts.", sender="u77", conversation="nuts"))
        turn = await hook.say("What shall I cook?", sender="u77", conversation="nuts-2")
        path = f"/turns/{turn['turn']}"
        whole, part = (await everywhere.get(path))["prompt"], (await here.get(path))["prompt"]
        pinned, hidden = ([one for one in told["entries"] if one["section"] == "pinned"] for told in (whole, part))

        assert "peanuts" in pinned[0]["text"]
        assert "peanuts" in whole["system"]
        assert [("", "", True, "in")] == [
            (one["text"], one["speaker"], one["elsewhere"], one["verdict"]) for one in hidden
        ]
        assert "What shall I cook?" in [one["text"] for one in part["entries"]]
        assert "" == part["system"]
        assert "peanuts" not in (await here.ask("GET", path))[1]
        assert 403 == (await here.ask("POST", f"{path}/replay", json={}))[0]
        assert 200 == (await everywhere.ask("POST", f"{path}/replay", json={}))[0]

    async def test_the_operator_of_a_channel_knows_of_no_other(self, world: Stage) -> None:
        """Not by listing, not by searching, not by an id; a wrong id and another's look alike."""
        eyes = Eyes(world, "operator", "other")
        turn = await world.hook().say("Zaubernuss", conversation="secret2")
        own = await world.hook("other").say("Zaubernuss", conversation="own")
        ((talk,),) = world.rows("SELECT scope_id FROM messages WHERE conversation = 'secret2' AND role = 'user'")

        assert {"other"} == {line["channel"] for line in (await eyes.get("/turns"))["turns"]}
        assert {"other"} == {line["channel"] for line in (await eyes.get("/conversations"))["conversations"]}
        assert {"own"} == {
            one["conversation"]["room"] for one in (await eyes.get("/messages", words="zaubernuss"))["found"]
        }
        assert ["other"] == [one["channel"] for one in (await eyes.get("/channel-health"))["channels"]]
        wrong = [
            await eyes.ask("GET", f"/turns/{turn['turn']}"),
            await eyes.ask("GET", f"/turns/{turn['turn']}/why"),
            await eyes.ask("GET", f"/conversations/{talk}/messages"),
            await eyes.ask("POST", f"/turns/{turn['turn']}/replay", json={}),
            await eyes.ask("GET", "/turns/7123456789012345678"),
            await eyes.ask("GET", "/conversations/1/messages"),
        ]
        assert [404] * 6 == [status for status, _ in wrong]
        details = {json.loads(text)["detail"].replace(turn["turn"], "N").replace(str(talk), "N") for _, text in wrong}
        assert all("hook" not in detail and "secret2" not in detail for detail in details)
        for path in ("/turns", "/conversations", "/messages", "/turn-counts", "/channel-health", "/tail"):
            query = {"channel": "hook"} | ({"words": "a"} if path == "/messages" else {})
            assert 403 == (await eyes.ask("GET", path, **query))[0]
        assert "Zaubernuss" == (await eyes.get(f"/turns/{own['turn']}"))["said"][0]["text"]

    async def test_each_look_at_words_is_in_the_audit_log(self, world: Stage) -> None:
        """By ids, without the words that were seen or looked for."""
        eyes, owner = Eyes(world, "operator", "hook"), Eyes(world, "owner")
        turn = await world.hook().say("Seidelbast", conversation="audited")
        await eyes.get(f"/turns/{turn['turn']}")
        await eyes.get("/messages", words="Seidelbast")

        status, text = await owner.ask("GET", "/audit")
        assert 200 == status
        assert f'"turn":"{turn["turn"]}"' in text.replace(" ", "")
        assert "conversations.search" in text
        assert "seidelbast" not in text.casefold()


class TestTail:
    """The live tail."""

    async def test_it_tells_of_messages_as_they_come_and_end(self, world: Stage) -> None:
        """Accepted and answered, with words for who may read, and without for who may only see."""
        reader, viewer = Eyes(world, "operator", "hook"), Eyes(world, "viewer")
        async with reader.tail() as told, viewer.tail(channel="hook") as seen:
            assert "text/event-stream" == told.headers["Content-Type"].partition(";")[0]
            await told.content.readline()
            await seen.content.readline()
            await world.hook("other").say("not yours", conversation="t0")
            turn = await world.hook().say("尾巴", conversation="tail", name="Tail")
            (_, last) = (await events(told.content, 1))[0]
            while last["line"]["state"] != "answered":
                (_, last) = (await events(told.content, 1))[0]
            assert (turn["turn"], "尾巴", "Tail", "re: 尾巴") == (
                last["line"]["turn"],
                last["text"],
                last["name"],
                last["reply"],
            )
            (_, blind) = (await events(seen.content, 1))[0]
            assert ("hook", "", "", "") == (blind["line"]["channel"], blind["text"], blind["name"], blind["reply"])


class TestHealth:
    """Channels at a glance."""

    async def test_signs_of_life_and_errors(self, world: Stage) -> None:
        """Last event, what ended and failed; a channel that nobody has is none."""
        eyes = Eyes(world, "operator")
        await world.hook().say("hi", conversation="alive")
        await world.hook().say("hi", conversation="broken")

        told = await eyes.get("/channel-health", probe="true")
        hook = next(one for one in told["channels"] if one["channel"] == "hook")
        assert (True, "webhook", "ok", None) == (hook["up"], hook["kind"], hook["probed"], hook["problem"])
        assert hook["last_event_ms"]
        assert 1 <= hook["failed"] < hook["ended"]
        assert 404 == (await eyes.ask("GET", "/channel-health", channel="nobody"))[0]
