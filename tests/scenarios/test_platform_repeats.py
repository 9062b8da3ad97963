"""What platforms tell twice, late or in another order, and what a start or a reload does to them: one answer each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.emulators.slack.apps import Siblings
from tests.scenarios.platforms import QUICK, SLACK, TELEGRAM, World, asks, echo, shows, world

shared_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(shared_storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("repeats"), storage=shared_storage, more=", stream: false") as there:
        yield there


@pytest.fixture
def there(shared: World) -> World:
    shared.play(echo)
    return shared


@shared_loop
@pytest.mark.parametrize("order", ["message first", "mention first", "message only", "mention only"])
@pytest.mark.parametrize("way", SLACK)
async def test_a_mention_is_one_question_however_it_is_told(way: str, order: Siblings, there: World) -> None:
    """`message` and `app_mention` in both orders, one of them alone, and each of them twice (openclaw/openclaw#34859,
    openclaw/openclaw#32190, openclaw/openclaw#23103)."""
    side = there.slack(way)
    side.app.siblings, side.app.twice = order, 8
    room = side.group("team", "Ann", "Bob")
    await asks(room, "one 一")
    await asks(room, "two", by="Bob")
    await there.platform.settled()
    side.app.siblings, side.app.twice = "message first", 0

    assert ["re: one 一", "re: two"] == room.replies()
    assert 2 == len(there.model.prompts)


@shared_loop
@pytest.mark.parametrize("way", TELEGRAM)
async def test_an_update_that_comes_again_is_not_answered_again(way: str, there: World) -> None:
    """The same message under its own number, under another one, and behind the next one."""
    side = there.telegram(way)
    room = side.private()
    message = await room.says("once")
    await shows(room, "re: once")
    for _ in range(2):
        there.tg.inject({"message": message.body}, bot=side.bot)
    await asks(room, "twice")
    there.tg.inject({"message": message.body}, bot=side.bot)
    await asks(room, "thrice")

    assert ["re: once", "re: twice", "re: thrice"] == room.replies()
    assert 3 == len(there.model.prompts)


@pytest.mark.parametrize("storage", ["sqlite", "postgres+redis"], indirect=True)
async def test_a_start_and_a_change_of_settings_repeat_nothing(storage: str, tmp_path: Path) -> None:
    """Events that come again after minutes and a restart (openclaw/openclaw#83521); a channel that was made anew three times
    is one listener (AstrBotDevs/AstrBot#5848); Telegram is told its commands and its webhook once (openclaw/openclaw#32017)."""
    async with world(tmp_path, storage=storage, body=QUICK) as there:
        rooms = {way: side.private() for way, side in there.sides.items()}
        for room in rooms.values():
            await asks(room, "before")
        await there.tg.wait_called("setMyCommands", times=6)  # of two bots, in three languages
        told = len(there.tg.called("setMyCommands")), len(there.tg.called("setWebhook"))
        for seconds in (2, 3, 2):
            await changed(there, "show_every_s: 1", f"show_every_s: {seconds}")
            for room in rooms.values():
                await asks(room, f"with {seconds} s {len(there.model.prompts)}")
            await changed(there, f"show_every_s: {seconds}", "show_every_s: 1")
        await there.gateway.kill()
        await there.again()
        for way in SLACK:
            app = there.slack(way).app
            first = app.deliveries[0]
            assert (await there.platform.pusher.again(app, first.payload, attempt=3)).acked
        for room in rooms.values():
            await asks(room, "after")

        for room in rooms.values():
            assert 5 == len(room.replies()) == len(set(room.replies()))
        assert 5 * len(rooms) == len(there.model.prompts)
        assert told == (len(there.tg.called("setMyCommands")), len(there.tg.called("setWebhook")))
        assert not [call for call in there.tg.calls if call.status == 409]


async def changed(there: World, old: str, new: str) -> None:
    """Write a setting of each channel, and wait until it is in force."""
    seen = len(there.gateway.log)
    there.config.write_text(there.config.read_text("utf-8").replace(old, new), "utf-8")
    await there.gateway.logged("settings changed", after=seen)
