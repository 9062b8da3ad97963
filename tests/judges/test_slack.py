"""The whole gateway in somebody else's Slack: a real process, a real model's stand-in, and npm's `emulate` in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.judges.slack import BOT, BOT_TOKEN, SIGNING_SECRET, SlackJudge, slack_judge
from tests.scenarios.platforms import echo
from tests.scenarios.stage import Held, talk
from tests.scenarios.world import Gateway, ModelServer, gateway, model_server, write_config

pytestmark = pytest.mark.judge

MENTION = f"<@{BOT}>"


@dataclass
class World:
    judge: SlackJudge
    model: ModelServer
    gateway: Gateway
    room: str

    async def says(self, text: str, *, by: str = "alice", room: str = "", thread: str | None = None) -> str:
        arguments = {"channel": room or self.room, "text": text, **({"thread_ts": thread} if thread else {})}
        return str((await self.judge.call("chat.postMessage", by=by, **arguments))["ts"])

    async def answered(self, *answers: str, thread: str | None = None, room: str = "") -> None:
        """Wait until this is what the app said in a thread or a room, oldest first. The judge tells nobody who only watches, so
        it is asked now and then."""
        method, where = ("conversations.replies", {"ts": thread}) if thread else ("conversations.history", {})
        texts: list[str] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(20):
                while texts != [*answers]:
                    await asyncio.sleep(0.02)
                    told = await self.judge.call(method, channel=room or self.room, **where)
                    messages = sorted(told["messages"], key=lambda one: one["ts"])
                    texts = [one["text"] for one in messages if one["user"] == BOT]
        assert [*answers] == texts


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[World]:
    async with slack_judge(tmp_path) as judge, model_server(echo) as model:
        channel = (
            f"{{kind: slack, bot_token: {BOT_TOKEN}, signing_secrets: [{SIGNING_SECRET}], api_url: '{judge.api_url}', "
            "first_use_notice: false, show_every_s: 1, limits: {per_minute: 1000}}"
        )
        agents = f"agents: {{default: {{kind: openai, base_url: '{model.url}', model: stub}}}}\n"
        config = write_config(tmp_path, f"{agents}channels:\n  acme: {channel}\n")
        async with gateway(config) as process:
            await judge.hears(f"{process.url}/channels/acme")
            yield World(judge, model, process, judge.rooms["bots"])


async def test_a_mention_is_answered_in_its_thread_and_remembered_there(there: World) -> None:
    """Two people of one thread, told apart by the judge's own names for them."""
    root = await there.says(f"{MENTION} my colour is 红色")
    await there.answered("re: my colour is 红色", thread=root)
    await there.says(f"{MENTION} and mine is blue", by="bob", thread=root)
    await there.answered("re: my colour is 红色", "re: and mine is blue", thread=root)

    prompt = "\n".join(text for _, text in talk(there.model.prompts[-1]))
    assert "[alice]: my colour is 红色" in prompt
    assert "[bob]: and mine is blue" in prompt


async def test_a_direct_message_is_answered_and_an_edit_is_heard(there: World) -> None:
    """No second answer to the edit; the next one knows the new text."""
    room = str((await there.judge.call("conversations.open", users=BOT))["channel"]["id"])
    ts = await there.says("my order is 8821", room=room)
    await there.answered("re: my order is 8821", room=room)
    await there.judge.call("chat.update", channel=room, ts=ts, text="my order is 4711")
    await there.says("which order?", room=room)
    await there.answered("re: my order is 8821", "re: which order?", room=room)

    users = "\n".join(text for role, text in talk(there.model.prompts[-1]) if role == "user")
    assert 2 == len(there.model.prompts)
    assert "4711" in users
    assert "8821" not in users


async def test_an_answer_grows_in_one_message(there: World) -> None:
    """Posted, edited; the status, which this judge does not know, costs nothing."""
    held = Held()
    there.model.script = held
    root = await there.says(f"{MENTION} hi")
    await there.answered("First words", thread=root)
    held.go_on.set()
    await there.answered("First words, and the rest.", thread=root)


async def test_each_of_many_is_acknowledged_and_answered_once(there: World) -> None:
    """Five questions of two people at once, a thread each. Our own messages, which come back as events, ask nothing."""
    roots = await asyncio.gather(
        *(there.says(f"{MENTION} question {number}", by=("alice", "bob")[number % 2]) for number in range(5))
    )
    assert 5 == len(set(roots))
    for number, root in enumerate(roots):
        await there.answered(f"re: question {number}", thread=root)

    assert 5 == len(there.model.prompts)
    assert {200} == set(await there.judge.deliveries())
