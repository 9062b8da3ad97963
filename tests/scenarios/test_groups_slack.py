"""A group on a local Slack through the real process: what it is told once, what is quoted, and what becomes of its replies when
the bot is thrown out."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.base import Capabilities
from config.channels.base import RoomSettings
from gateway.presence import LEFT, first_use_text
from tests.emulators.slack.channels import Channel, Message
from tests.emulators.slack.faults import throttled
from tests.emulators.slack.server import slack
from tests.scenarios.platforms import echo
from tests.scenarios.stage import Held
from tests.scenarios.test_slack import AGENT, World, channel_of
from tests.scenarios.world import gateway, model_server, rows, write_config

CAN = Capabilities(deletions=True)
ENGLISH, CHINESE = (first_use_text(RoomSettings(), language, CAN) for language in ("en", "zh"))


@asynccontextmanager
async def world(folder: Path, *, storage: str, notice: bool) -> AsyncIterator[World]:
    async with slack() as platform, model_server(echo) as model:
        here, app = platform.workspace("Acme"), platform.app()
        bot = here.install(app)
        switches = f"first_use_notice: {str(notice).lower()}, stream: false"
        channel = channel_of(app, bot).replace("first_use_notice: false", switches)
        config = write_config(folder, AGENT.format(url=model.url) + f"channels:\n  acme: {channel}\n", storage=storage)
        async with gateway(config) as process:
            app.events_url = f"{process.url}/channels/acme"
            ann, bob, zoe = here.person("Ann"), here.person("Bob 鲍勃", lang="zh"), here.person("Zoe")
            yield World(platform, app, bot, ann, bob, zoe, model, process, config)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(shared_storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("groups"), storage=shared_storage, notice=True) as opened:
        yield opened


@pytest.fixture
def there(shared: World) -> World:
    return shared.afresh()


def ours(there: World, place: Channel) -> list[Message]:
    """What the bot has said; not the platform's own lines about it."""
    return [one for one in place.messages() if one.author is there.bot.user and one.subtype is None]


async def shows(there: World, place: Channel, count: int) -> list[str]:
    """Return the bot's messages once there are so many."""
    await place.wait_for(lambda messages: len(ours(there, place)) >= count, 20)
    return [one.shown for one in ours(there, place)]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_room_is_told_when_the_bot_comes_and_not_again(there: World) -> None:
    """At once, in both languages as nobody has said a word yet; also not when it is brought in a second time."""
    general = there.bot.workspace.channel("general", members=[there.ann])
    general.let_in(there.bot, by=there.ann)
    told = await shows(there, general, 1)
    general.let_out(there.bot)
    general.let_in(there.bot, by=there.ann)
    await there.says(there.ann, general, f"{there.bot.mention} hi", answer="re: hi")

    assert [f"{ENGLISH}\n\n{CHINESE}"] == told
    assert [*told, "re: hi"] == await shows(there, general, 2)
    assert [] == there.bot.workspace.violations


@pytest.mark.asyncio(loop_scope="module")
async def test_a_room_that_was_never_told_is_told_ahead_of_the_first_answer(there: World) -> None:
    """In the thread of the answer and the asker's language; once, whatever thread is next. In private nobody is told."""
    general = there.bot.workspace.channel("general", members=[there.ann, there.bob, there.bot])
    root = await there.says(there.bob, general, f"{there.bot.mention} 你好吗", answer="re: 你好吗")
    await there.says(there.ann, general, f"{there.bot.mention} hi", answer="re: hi")
    private = there.bot.workspace.dm(there.ann, there.bot)
    await there.says(there.ann, private, "hi", answer="re: hi")

    assert [CHINESE, "re: 你好吗", "re: hi"] == there.replies(general)
    assert [root, root] == [message.thread_ts for message in ours(there, general)[:2]]
    assert ["re: hi"] == there.replies(private)


@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_answered_is_quoted_when_others_spoke_since(there: World) -> None:
    """One line of it, by name; not when the asker is the last who spoke."""
    general = there.bot.workspace.channel("general", members=[there.ann, there.bob, there.bot])
    root = await there.ann.says(general, f"{there.bot.mention} first")
    await shows(there, general, 2)
    held = Held(first="")
    there.model.script = held
    there.model.called.clear()
    await there.ann.says(general, f"{there.bot.mention} where is\nthe *order*?", thread=root)
    await there.model.called.wait()
    await there.bob.says(general, "没人知道", thread=root)
    await there.platform.settled()
    held.go_on.set()
    *_, quoting = await shows(there, general, 3)
    there.model.script = echo
    await there.ann.says(general, f"{there.bot.mention} thanks", thread=root)
    *_, plain = await shows(there, general, 4)

    assert quoting.startswith("> Ann: where is the ")
    assert quoting.endswith(", and the rest.")
    assert "re: thanks" == plain


async def test_what_waits_for_a_room_ends_when_the_bot_is_thrown_out(storage: str, tmp_path: Path) -> None:
    """With the reason, at once, and not after all the tries."""
    async with world(tmp_path, storage=storage, notice=False) as there:
        general = there.bot.workspace.channel("general", members=[there.ann, there.bot])
        there.bot.workspace.will("chat.postMessage", throttled(60))
        await there.ann.says(general, f"{there.bot.mention} hi")
        await there.gateway.logged("platform asks to wait")
        general.let_out(there.bot)
        await there.gateway.logged("taken out of a room")
        await there.platform.settled()

        assert [("dead", LEFT)] == ends(storage)
        assert [] == ours(there, general)


def ends(storage: str) -> list[tuple[str, str]]:
    """How messages ended, and why."""
    query = "SELECT state, outcome FROM inbox_events WHERE kind = 'message' AND state <> 'ignored'"
    return [(state, json.loads(outcome)["reason"]) for state, outcome in rows(storage, query)]
