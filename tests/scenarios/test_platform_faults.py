"""What goes wrong between the gateway and the platforms, through the real process: nothing is lost, nothing is said twice."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.emulators.slack.faults import broken
from tests.emulators.slack.faults import throttled as slack_throttled
from tests.emulators.slack.sockets import Socket
from tests.emulators.telegram.faults import FINE, conflicting, cut, html, server_error, throttled
from tests.scenarios.platforms import SLACK, WAYS, World, asks, echo, shows, words, world
from tests.scenarios.stage import Held
from tests.scenarios.test_shutdown import draining
from tests.scenarios.world import Prompt

shared_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(shared_storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder, more = tmp_path_factory.mktemp("faults"), {"slack-socket": ", ping_s: 0.5"}
    async with world(folder, storage=shared_storage, more=more) as there:
        there.platform.pusher.retry_after_s = (0.0, *[0.5] * 20)
        yield there


@pytest.fixture
def there(shared: World) -> World:
    shared.play(echo)
    return shared


@shared_loop
@pytest.mark.parametrize("shared_storage", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("ending", ["refresh_requested", "cut", "silence"])
async def test_a_socket_that_ends_takes_no_message_with_it(ending: str, there: World) -> None:
    """Closed with a word, without one, or dead and not saying so (AstrBotDevs/AstrBot#7861): what is said meanwhile comes
    again, and is answered once."""
    side = there.slack("slack-socket")
    (socket,) = await side.app.sockets.connected()
    room = side.private()
    await asks(room, "before")
    await end(socket, ending)
    there.platform.pusher.ack_s = 0.5
    await room.says("meanwhile 期间")
    await shows(room, "re: meanwhile 期间")
    there.platform.pusher.ack_s = 3.0
    socket.cut()  # by now the platform knows, too
    await socket.closed.wait()
    await asks(room, "after")

    assert ["re: before", "re: meanwhile 期间", "re: after"] == room.replies()


async def end(socket: Socket, how: str) -> None:
    match how:
        case "cut":
            socket.cut()
        case "silence":
            socket.half_close()
        case _:
            await socket.disconnect()


@shared_loop
@pytest.mark.parametrize("shared_storage", ["sqlite", "postgres"], indirect=True)
async def test_polling_that_fails_in_every_way_loses_no_update(there: World) -> None:
    """Errors, a proxy's page, answers that got lost on their way, another program that polls."""
    side = there.telegram("telegram-polling")
    room = side.private()
    await asks(room, "before")
    there.tg.faults.plan(
        "getUpdates", server_error(), FINE, cut(done=True), FINE, html(), FINE, conflicting(), FINE, cut(done=False)
    )
    for number in range(5):
        await asks(room, f"第 {number}")

    assert ["re: before", *(f"re: 第 {number}" for number in range(5))] == room.replies()
    assert [] == there.tg.violations


@shared_loop
@pytest.mark.parametrize("shared_storage", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("way", WAYS)
async def test_who_is_told_to_wait_waits_and_keeps_the_order(way: str, there: World) -> None:
    """The limit's own time, for one message after the other (openclaw/openclaw#50866)."""
    side = there.sides[way]
    room, before = side.private(), side.sends()
    side.limits(1)
    for text in ("one", "two"):
        await room.says(text)
        await asyncio.sleep(0)
    await room.until(lambda replies: "two" in "".join(replies))

    told = "\n".join(room.replies())
    assert 1 == told.count("one") == told.count("two")
    assert told.index("one") < told.index("two")
    assert side.sends() - before <= 3
    assert [] == there.tg.violations
    assert not [
        one for side in there.sides.values() if side.name in SLACK for one in there.slack(side.name).here.violations
    ]


@shared_loop
@pytest.mark.parametrize("shared_storage", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("way", ["slack-http", "telegram-polling", "telegram-webhook"])
async def test_a_limit_at_the_last_edit_brings_no_second_copy(way: str, there: World) -> None:
    """What stands on the screen is finished there, later (NousResearch/hermes-agent#8375, NousResearch/hermes-agent#16668)."""
    held = Held(rest="，后面还有。" + " more" * 600)
    there.play(held)
    side = there.sides[way]
    room = side.group("team", "Ann", "Bob")
    await room.says("a long one")
    await shows(room, held.first)
    if way in SLACK:
        there.slack(way).here.will("chat.update", slack_throttled(1), slack_throttled(1))
    else:
        there.tg.faults.plan("editMessageText", throttled(1), throttled(1))
    held.go_on.set()
    await shows(room, held.first + held.rest)

    assert [held.first + held.rest] == room.replies()


async def test_platforms_that_are_down_at_the_start_come_back(tmp_path: Path) -> None:
    """The gateway starts, the channels whose platform answers work at once, and the others as soon as theirs does; what was
    said meanwhile is answered."""
    ways = ("slack-http", "slack-socket", "telegram-polling")
    async with world(tmp_path, ways=ways, body="queue: {restart_s: 0.2}", prepare=goes_down) as there:
        slack, telegram = there.slack("slack-socket"), there.telegram()
        waiting = [slack.private(), telegram.private()]
        for room in waiting:
            await room.says("are you there?")
        await asks(there.sides["slack-http"].private(), "and you?")
        await there.gateway.logged("channel failed")
        slack.here.faults.always("*", None)
        slack.app.faults.always("*", None)
        for room in waiting:
            await shows(room, "re: are you there?")

        assert [["re: are you there?"]] * 2 == [room.replies() for room in waiting]
        failed = "\n".join(line for line in there.gateway.log if "channel failed" in line)
        assert "slack-socket" in failed
        assert "telegram-polling" in failed


def goes_down(there: World) -> None:
    there.platform.pusher.retry_after_s = (0.0, *[1.0] * 20)
    slack = there.slack("slack-socket")
    slack.here.faults.always("*", broken())
    slack.app.faults.always("*", broken())
    there.tg.faults.plan("getMe", html(), cut(done=False), html(503))


@pytest.mark.parametrize("storage", ["sqlite", "postgres+redis"], indirect=True)
async def test_stopping_under_load(storage: str, tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """SIGTERM with a turn running and another waiting in each of many rooms: after the next start every message has been
    answered, once (openclaw/openclaw#66130)."""
    go_on = asyncio.Event()

    async def answer(prompt: Prompt) -> str:
        if words(prompt) == "first":
            await go_on.wait()
        return echo(prompt)

    async with world(tmp_path, storage=storage, more=", busy: queue, stream: false", server="stop_s: 20") as there:
        there.play(answer)
        there.platform.pusher.retry_after_s = (0.0, *[1.0] * 20)
        rooms = [side.private(f"P{number}") for number in range(4) for side in there.sides.values()]
        for text in ("first", "second 第二"):
            for room in rooms:
                await room.says(text)
        while len(there.model.prompts) < len(rooms):
            there.model.called.clear()
            await there.model.called.wait()
        there.gateway.tell(signal.SIGTERM)
        await draining(session, there.gateway)
        go_on.set()
        code = await there.gateway.ended()
        await there.again()
        for room in rooms:
            await shows(room, "re: first", "re: second 第二")

        assert 0 == code
        assert [["re: first", "re: second 第二"]] * len(rooms) == [room.replies() for room in rooms]
        assert 2 * len(rooms) == len(there.model.prompts)


async def test_a_broken_web_api_is_tried_again(tmp_path: Path) -> None:
    """503 from a proxy that took nothing: the answer comes, once."""
    async with world(tmp_path, ways=("slack-http",), more=", stream: false") as there:
        side = there.slack()
        room = side.private()
        side.will(broken(), broken(stored=True))
        await asks(room, "one")
        await asks(room, "two")

        assert ["re: one", "re: two"] == room.replies()
