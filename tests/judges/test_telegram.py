"""What the Telegram channel sends, as PyPI's `mockpost` reads it: its own reading of the Bot API's parameters, none of ours.

It knows neither limits nor entities' rules, and what it lets in can't be used (no secret token, unreadable updates): those are
`tests/emulators/telegram`'s to judge.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.base import Address, Quote
from adapters.errors import AdapterFault
from adapters.telegram.adapter import TelegramAdapter
from config.channels.telegram import TelegramSettings
from tests.fakes import FakeIntake
from tests.judges.install import HERE, mockpost
from tests.judges.processes import process
from tests.pulling import receiving
from tests.services import free_port

pytestmark = pytest.mark.judge

TOKEN = "123456789:" + "AAHclew" * 5
GROUP, PERSON = Address(channel="acme", room="-1001234567890"), Address(channel="acme", room="4242")


@dataclass
class World:
    url: str
    session: aiohttp.ClientSession
    adapter: TelegramAdapter

    async def sent(self) -> list[dict[str, Any]]:
        """Return the parameters of all messages and edits, oldest first, as the judge read them."""
        async with self.session.get(f"{self.url}/api/messages", params={"channel": "telegram", "limit": 500}) as answer:
            kept = await answer.json()
        return [_payload(one) for one in sorted(kept, key=lambda one: one["created_at"])]


def _payload(kept: dict[str, Any]) -> dict[str, Any]:
    raw = kept["raw_payload"]
    told: dict[str, Any] = json.loads(raw) if isinstance(raw, str) else raw
    return told


def adapter(url: str, *, token: str = TOKEN) -> TelegramAdapter:
    chosen = {"token": token, "api_url": f"{url}/telegram", "mode": "webhook", "secret_token": "s3cr3t", "timeout_s": 5}
    return TelegramAdapter("acme", settings=TelegramSettings.model_validate(chosen), public_url="https://bot.example")


@asynccontextmanager
async def judge(folder: Path) -> AsyncIterator[str]:
    port = free_port()
    command, env = [mockpost(), HERE / "mockpost_server.py", str(port)], {"MOCKPOST_STRICT_AUTH": "true"}
    async with process(*command, folder=folder, env=env, ready="Uvicorn running"):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[World]:
    async with judge(tmp_path) as url, aiohttp.ClientSession() as session:
        opened = adapter(url)
        async with receiving(opened, FakeIntake()):
            yield World(url, session, opened)


def marked(told: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the entities as (kind, the text they cover), counted in UTF-16 units."""
    units = told["text"].encode("utf-16-le")
    entities = json.loads(told["entities"]) if isinstance(told["entities"], str) else told["entities"]
    return [
        (one["type"], units[2 * one["offset"] : 2 * (one["offset"] + one["length"])].decode("utf-16-le"))
        for one in entities
    ]


async def test_marks_cover_what_was_marked_behind_emoji_and_in_every_script(there: World) -> None:
    """Text and entities, no parse mode; offsets in UTF-16 units."""
    said = "👨‍👩‍👧 **注意：**请看 [文档](https://example.com/a_b) 和 `x < y`\n\n```python\nprint('你好')\n```"
    receipt = await there.adapter.send(GROUP, said, chunk_id="c-1")

    [told] = await there.sent()
    assert receipt.message_id is not None
    assert GROUP.room == str(told["chat_id"])
    assert "👨‍👩‍👧 注意：请看 文档 和 x < y\n\nprint('你好')" == told["text"]
    assert [("bold", "注意："), ("text_link", "文档"), ("code", "x < y"), ("pre", "print('你好')")] == marked(told)
    assert "parse_mode" not in told


async def test_a_long_answer_arrives_whole_within_the_limit(there: World) -> None:
    """A hundred thousand characters: every piece taken, none over 4,096 units, every paragraph there."""
    paragraphs = [f"Paragraph {number}: 天气很好 **and** so on 🌧️👍🏽, {'words ' * 30}end." for number in range(450)]
    pieces = there.adapter.chunks("\n\n".join(paragraphs))
    for number, piece in enumerate(pieces):
        await there.adapter.send(PERSON, piece, chunk_id=f"c-{number}")

    texts = [told["text"] for told in await there.sent()]
    assert len(pieces) == len(texts)
    assert 4096 >= max(len(text.encode("utf-16-le")) // 2 for text in texts)
    assert [one.replace("**", "") for one in paragraphs] == "\n\n".join(texts).split("\n\n")


async def test_a_growing_answer_is_one_message_that_the_finished_one_replaces(there: World) -> None:
    shown = await there.adapter.show(GROUP, "First", turn="7", shown=None)
    assert shown == await there.adapter.show(GROUP, "First **words", turn="7", shown=shown)
    receipt = await there.adapter.send(GROUP, "First **words**, and the rest.", chunk_id="c-1", shown=shown)

    first, second, third = await there.sent()
    assert "message_id" not in first
    assert receipt.message_id == str(second["message_id"]) == str(third["message_id"])
    assert "First words, and the rest." == third["text"]
    assert [("bold", "words")] == marked(third)


async def test_topic_reply_and_sign_are_named_as_the_platform_wants_them(there: World) -> None:
    """Numbers for topics and messages, previews off."""
    address = Address(
        channel="acme", room=GROUP.room, thread="17", reply_to="99", quoted=Quote(name="Ann", text="is it raining?")
    )
    await there.adapter.sign(address, on=True)
    await there.adapter.send(address, "Yes.", chunk_id="c-1")

    [told] = await there.sent()
    assert 17 == int(told["message_thread_id"])
    assert 99 == _read(told["reply_parameters"])["message_id"]
    assert {"is_disabled": True} == _read(told["link_preview_options"])


async def test_the_probe_is_answered_and_the_webhook_is_set(there: World) -> None:
    await there.adapter.probe()
    async with there.session.get(f"{there.url}/telegram/bot{TOKEN}/getWebhookInfo") as answer:
        told = await answer.json()

    assert told["result"]["url"].startswith("https://bot.example/channels/acme")


async def test_a_wrong_token_stops_the_channel_with_a_remedy_and_without_the_token(tmp_path: Path) -> None:
    async with judge(tmp_path) as url:
        with pytest.raises(AdapterFault, match="BotFather") as caught:
            async with receiving(adapter(url, token="123:wrong-token"), FakeIntake()):
                pass

    assert "wrong-token" not in str(caught.value)


def _read(told: Any) -> dict[str, Any]:
    """An object of a form's field, which is JSON in it."""
    found: dict[str, Any] = json.loads(told) if isinstance(told, str) else told
    return found
