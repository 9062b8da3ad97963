"""The console's pages of turns, conversations and channels' health, read without a browser: in both languages, within rights."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio

from tests.scenarios.admins import Admins, Reader
from tests.scenarios.stage import Stage, echo, stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = """
agents:
  main: {kind: openai, model: m-1, base_url: MODEL, api_key: sk-1, system: Be brief.}
  gone: {kind: openai, model: m-2, base_url: "http://127.0.0.1:9/v1", api_key: sk-1, retries: 0}
defaults: {agent: main, memory: {model: none}}
channels:
  hook:
    kind: webhook
    secrets: ["${HOOK}"]
    allow: {members: [u1]}
    limits: {per_minute: 1000, message_chars: 400}
    rooms: {quiet: {trigger: [mention]}, broken: {agent: gone}}
"""
HOSTILE = "<img src=x onerror=alert(1)>\"'\u202e 李"
WORD = "Quittengelee"


@dataclass
class Played:
    """A gateway in which something was said, and the turns by what became of them."""

    stage: Stage
    admins: Admins
    turns: dict[str, str]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def played(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Played]:
    async with stage(tmp_path_factory.mktemp("pages"), SETTINGS, script=echo) as here:
        admins = Admins(here)
        await admins.user("Ada", "owner")
        await admins.user("Vera", "viewer")
        hook = here.hook()
        turns: dict[str, dict[str, Any]] = {}
        turns["first"] = await hook.say(f"{WORD} {HOSTILE}", conversation="c1", name=HOSTILE)
        turns["answered"] = await hook.say("and then?", conversation="c1", name=HOSTILE)
        turns["ignored"] = await hook.say("just talk", sender="u1", conversation="quiet", chat_type="group")
        turns["failed"] = await hook.say("hello", conversation="broken")
        turns["refused"] = await hook.say("x" * 401, conversation="c1")
        turns["command"] = await hook.say("/help", conversation="c1")
        yield Played(here, admins, {name: turn["turn"] for name, turn in turns.items()})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ada(played: Played) -> AsyncIterator[Reader]:
    async with played.admins.signed_in("Ada") as reader:
        yield reader


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def vera(played: Played) -> AsyncIterator[Reader]:
    async with played.admins.signed_in("Vera") as reader:
        yield reader


async def page(reader: Reader, path: str, *, language: str = "en") -> str:
    answer = await reader.get(path, **{"Accept-Language": language})
    assert 200 == answer.status, (path, answer.status, answer.text[-2000:])
    assert "<img src=x" not in answer.text
    return answer.text


@pytest.mark.parametrize("end", ["first", "answered", "ignored", "failed", "refused", "command"])
async def test_a_turn_of_every_end_has_its_page(played: Played, ada: Reader, vera: Reader, end: str) -> None:
    """In both languages, with a sentence why; without a word for who may not read."""
    path = f"/admin/turns/{played.turns[end]}"
    english, chinese = await page(ada, path), await page(ada, path, language="zh")

    assert re.search(r"<h2>Why</h2>\s*<p><span class=\"badge \w+\">[a-z ]+</span> [A-Z][^<]+\.</p>", english), english
    assert re.search(r"<h2>原因</h2>\s*<p><span class=\"badge \w+\">[^<]+</span> [^<]+。</p>", chinese)
    seen = await page(vera, path)
    assert WORD not in seen
    assert escape(HOSTILE, quote=True) not in seen
    assert "/replay" not in seen
    assert "/admin/conversations/" not in seen


async def test_a_turn_leads_to_what_it_was_made_by(played: Played, ada: Reader, vera: Reader) -> None:
    """The forms of its place and of its agent open; who may not change them is led nowhere."""
    for end in ("answered", "ignored", "failed"):
        links = re.findall(r"/admin/settings/form\?path=[^\"]+", await page(ada, f"/admin/turns/{played.turns[end]}"))
        assert 2 == len(links)
        for link in links:
            await page(ada, link)
    assert "/admin/settings/form" not in await page(vera, f"/admin/turns/{played.turns['answered']}")


async def test_turns_are_listed_and_found(played: Played, ada: Reader) -> None:
    """By what became of them; what can't be asked says so beside the form."""
    failed = await page(ada, "/admin/turns?states=failed&channel=hook")
    assert played.turns["failed"] in failed
    assert played.turns["answered"] not in failed
    assert "No message" not in failed
    assert played.turns["failed"] not in await page(ada, "/admin/turns?day=2020-01-01")
    today = f"{datetime.now(tz=UTC):%Y-%m-%d}"
    assert played.turns["failed"] in await page(ada, f"/admin/turns?day={today}&states=failed")
    assert 422 == (await ada.get("/admin/turns?day=yesterday")).status
    assert "No message matches." in await page(ada, "/admin/turns?rule=no_such_rule")
    answer = await ada.get(f"/admin/turns?link={quote('https://example.org/1')}")
    assert 422 == answer.status
    assert "link" in answer.text


async def test_a_turn_is_tried_under_other_settings(played: Played, ada: Reader) -> None:
    """The prompts side by side, and what differs; a setting that is none is told as such."""
    path = f"/admin/turns/{played.turns['answered']}/replay"
    assert "Byte for byte the prompt of then." in await page(ada, path)
    other = await ada.post(path, settings="then", changes="agent.system=Be long.\n\n")
    assert 200 == other.status
    assert "<del>" in other.text
    assert "<ins>" in other.text
    assert "Be long." in other.text
    assert "Be brief." in other.text
    wrong = await ada.post(path, settings="now", changes="memory.nothing=1")
    assert (422, True) == (wrong.status, "memory.nothing" in wrong.text)
    assert 404 == (await ada.get(f"/admin/turns/{played.turns['ignored']}/replay")).status


async def test_conversations_are_read_and_searched(played: Played, ada: Reader, vera: Reader) -> None:
    """As people saw them: names, notices, what was refused; a viewer sees that there are some."""
    listed = await page(ada, "/admin/conversations?channel=hook")
    (number,) = set(re.findall(r"/admin/conversations/(\d+)\"><bdi>Quitten", listed))
    shown = await page(ada, f"/admin/conversations/{number}")
    for text in (
        escape(HOSTILE, quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
        "the gateway",
        "too_long",
        f"/admin/turns/{played.turns['answered']}",
    ):
        assert text in shown
    found = await page(ada, f"/admin/messages?words={WORD.lower()}")
    assert f"/admin/conversations/{number}?before=" in found
    assert "Nothing found" in await page(ada, "/admin/messages?words=nowhere-to-be-found")
    assert 200 == (await ada.get("/admin/messages")).status
    seen = await page(vera, "/admin/conversations")
    assert WORD not in seen
    assert "/admin/conversations/" not in seen
    assert 403 == (await vera.get(f"/admin/conversations/{number}")).status
    assert 403 == (await vera.get(f"/admin/messages?words={WORD}")).status


async def test_channels_tell_how_they_are(played: Played, ada: Reader) -> None:
    """With why messages were not answered, and what the platform says when asked."""
    health = await page(ada, "/admin/health?probe=true")
    assert "all is well" in health
    assert "not_addressed" in health
    assert "渠道健康" in await page(ada, "/admin/health", language="zh")


async def test_what_happens_is_sent_as_pieces_of_a_page(played: Played, ada: Reader, vera: Reader) -> None:
    """Escaped, and without words for who may not read."""
    assert "data-live" in await page(ada, "/admin/live")
    seen: dict[str, str] = {}
    ready = asyncio.Event()

    async def follow(name: str, reader: Reader) -> None:
        async with asyncio.timeout(60), reader.session.get(f"{reader.url}/admin/live/events") as response:
            assert "text/event-stream" == response.content_type
            await response.content.readline()
            waiting.discard(name)
            if not waiting:
                ready.set()
            text = ""
            while "</section>" not in text.partition("answered")[2]:
                text += (await response.content.readline()).decode()
            seen[name] = text

    waiting = {"ada", "vera"}
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(follow("ada", ada))
        tasks.create_task(follow("vera", vera))
        await ready.wait()
        await played.stage.hook().say(f"{WORD} {HOSTILE}", conversation="c9")

    assert WORD in seen["ada"]
    assert "<img src=x" not in seen["ada"]
    assert WORD not in seen["vera"]
