"""Real SIGKILL at each step of a message that came from a platform, by each way: it is answered, once, in order.

What the platform was not told about comes again, what it was told about is taken up. Time stands still for the platforms but
where a test lets it pass, so that their redelivery after minutes takes none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.scenarios.kill_at import armed
from tests.scenarios.platforms import QUICK, SLACK, TELEGRAM, WAYS, World, asks, echo, shows, words, world
from tests.scenarios.stage import Held

shared_loop = pytest.mark.asyncio(loop_scope="module")

# Where the ways differ each of them, elsewhere one of each platform.
STEPS = [
    *((way, "queues.accept", when) for when in ("before", "after") for way in WAYS),
    ("slack-http", "queues.claim", "after"),
    ("telegram-webhook", "queues.start", "after"),
    ("slack-http", "store.append_and_load", "after"),
    ("telegram-webhook", "store.append", "after"),
    ("slack-http", "queues.put", "before"),
    ("telegram-webhook", "queues.put", "after"),
    *((way, "queues.sent", "before") for way in WAYS),
]
# Each step on PostgreSQL, by one way after the other; with Redis, those that touch what it keeps, and the two ends.
ON_POSTGRES = [
    ("slack-http", "queues.accept", "before"),
    ("telegram-polling", "queues.accept", "after"),
    ("slack-socket", "queues.claim", "after"),
    ("telegram-webhook", "queues.start", "after"),
    ("slack-http", "store.append_and_load", "after"),
    ("telegram-polling", "store.append", "after"),
    ("slack-socket", "queues.put", "before"),
    ("telegram-webhook", "queues.put", "after"),
    ("slack-http", "queues.sent", "before"),
]
WITH_REDIS = [
    ("telegram-polling", "queues.accept", "after"),
    ("slack-socket", "store.append_and_load", "after"),
    ("telegram-webhook", "store.append", "after"),
    ("slack-http", "queues.sent", "before"),
]
CASES = [
    (column, *step)
    for column, steps in (("sqlite", STEPS), ("postgres", ON_POSTGRES), ("postgres+redis", WITH_REDIS))
    for step in steps
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(shared_storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with world(
        tmp_path_factory.mktemp("crashes"),
        stepped=True,
        module="tests.scenarios.kill_at",
        more=", busy: queue, stream: false",
        body=QUICK,
        storage=shared_storage,
    ) as there:
        yield there


@pytest_asyncio.fixture(loop_scope="module")
async def there(shared: World) -> World:
    """The same world, alive, its model echoing."""
    shared.play(echo)
    if not shared.gateway.alive:
        await shared.again()
    return shared


async def minutes_pass(there: World) -> None:
    """Let everything come again that was not acknowledged: what a dead socket was sent, then what nobody took."""
    for seconds in (4, 60):
        await there.later(seconds)
        await there.platform.pusher.resting()


@shared_loop
@pytest.mark.parametrize(
    ("shared_storage", "way", "verb", "when"),
    CASES,
    ids=["-".join(case) for case in CASES],
    indirect=["shared_storage"],
    scope="module",
)
async def test_killed_at(way: str, verb: str, when: str, there: World) -> None:
    """One answer, whatever step the process died at, and one to what was said while it was dead, by this way and another
    (openclaw/openclaw#29106, openclaw/openclaw#96374, getsentry/junior#33)."""
    side = there.sides[way]
    room, other = side.private(), there.sides[WAYS[(WAYS.index(way) + 2) % 4]].private("Bob 鲍勃")
    await armed(there.gateway, verb, when)
    await room.says("one 一")
    await there.gateway.dead()
    await room.says("two")
    await other.says("while it was dead")
    await there.again()
    await minutes_pass(there)
    await shows(room, "re: one 一", "re: two")
    await shows(other, "re: while it was dead")

    if (verb, when) == ("queues.accept", "before"):
        assert ["re: one 一", "re: two"] == sorted(room.replies()), "both come again, in whatever order"
    else:
        assert ["re: one 一", "re: two"] == room.replies()
    assert ["re: while it was dead"] == other.replies()
    calls = [words(prompt) for prompt in there.model.prompts]
    assert 1 == calls.count("two") == calls.count("while it was dead")
    if verb in ("queues.accept", "queues.put", "queues.sent") or (verb, when) == ("store.append", "after"):
        assert (verb, when) == ("queues.put", "before") or 1 == calls.count("one 一"), (
            "a stored reply costs no second call"
        )


@shared_loop
@pytest.mark.parametrize(
    ("shared_storage", "way"),
    [*(("sqlite", way) for way in WAYS), ("postgres", "slack-socket"), ("postgres", "telegram-polling")],
    indirect=["shared_storage"],
    scope="module",
)
async def test_killed_with_a_send_on_its_way(way: str, there: World) -> None:
    """On record as being sent, and nobody knows whether it left: Slack is asked, and has it once; Telegram can't be, and is
    sent nothing twice (openclaw/openclaw#88016). What comes behind is sent."""
    room = there.sides[way].private()
    await armed(there.gateway, "queues.due", "after")
    await room.says("one")
    await there.gateway.dead()
    await there.again()
    await asks(room, "two")

    assert (["re: one"] if way in SLACK else []) + ["re: two"] == room.replies()
    if way in TELEGRAM:
        await there.gateway.logged("send unknown")


@pytest.mark.parametrize(
    ("storage", "when", "ways"),
    [
        ("sqlite", "after", ("slack-http", "telegram-polling")),
        ("postgres", "after", ("slack-http", "telegram-polling")),
        pytest.param("sqlite", "before", ("slack-socket",), id="before its id is kept"),
    ],
    indirect=["storage"],
)
async def test_killed_while_the_answer_is_shown(storage: str, when: str, ways: tuple[str, ...], tmp_path: Path) -> None:
    """The message that shows the first words is the one that holds the answer: after a restart, too. Slack can be asked for it
    even where nobody had the time to note its id."""
    async with world(tmp_path, module="tests.scenarios.kill_at", body=QUICK, storage=storage) as there:
        for way in ways:
            held = Held()
            there.play(held)
            room = there.sides[way].group("team 团队", "Ann", "Bob")
            await armed(there.gateway, "queues.show", when)
            await room.says("hi")
            await there.gateway.dead()
            assert [held.first] == room.replies()
            (growing,) = room.ours()
            held.go_on.set()
            await there.again()
            await room.until(lambda replies, end=held.rest: replies[0].endswith(end))

            assert [growing] == room.ours(), "told anew whom it answers, where that can't be known any more"
