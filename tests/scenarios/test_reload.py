"""Settings changed while the gateway runs and people talk: nothing dropped, nobody else touched, the last good ones stay."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from gateway.notices import notice
from tests.scenarios.stage import Held, Stage, echo, stage
from tests.scenarios.world import SECRET
from tests.serving import NEXT_SECRET, message, signed
from tests.serving import SECRET as FIRST_SECRET


def channel(name: str, more: str = "sync_s: 20") -> str:
    return f'{name}: {{kind: webhook, secrets: ["${{HOOK}}"], {more}}}'


HOOK, OTHER, LEAVING = channel("hook"), channel("other"), channel("leaving")


def body(marker: str, *channels: str, defaults: str = "{}", model: str = "one", more: str = "") -> str:
    """Settings that differ from every other test's by their marker."""
    listed = "\n".join(f"  {channel}" for channel in channels or (HOOK, OTHER))
    return f"""
agents:
  default: {{kind: openai, base_url: "MODEL", model: {model}}}
  second: {{kind: openai, base_url: "MODEL", model: two}}
  marker: {{kind: demo, system: "{marker}"}}
defaults: {{agent: default, limits: {{per_minute: 100000}}, {defaults.strip("{}")}}}
{more}
channels:
{listed}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("reload"), body("at first")) as running:
        yield running


@pytest.fixture(autouse=True)
def _echo(world: Stage) -> None:
    world.play(echo)


pytestmark = pytest.mark.asyncio(loop_scope="module")


def replaced(world: Stage, *, after: int) -> set[str]:
    """The agents and channels that were replaced, by the log."""
    lines = [json.loads(line) for line in world.gateway.log[after:]]
    return {
        line.get("channel") or line["agent"]
        for line in lines
        if line["event"] in ("channel replaced", "agent replaced")
    }


async def test_no_message_is_dropped_while_everything_changes(world: Stage) -> None:
    """People go on talking while agents and channels are replaced under them: each message is answered, once."""
    done = asyncio.Event()

    async def talk(person: int) -> int:
        hook, said = world.hook(), 0
        while not done.is_set():
            text = f"第 {said} 句 of {person}"
            turn = await hook.say(text, sender=f"p{person}", conversation=f"talk{person}")
            assert ("answered", {"text": f"re: {text}"}) == (turn["status"], turn.get("reply")), turn
            said += 1
        return said

    async with asyncio.TaskGroup() as talkers:
        talking = [talkers.create_task(talk(person)) for person in range(8)]
        for number in range(4):
            hook = channel("hook", f"sync_s: {30 + number}")
            await world.change(body(f"load {number}", hook, OTHER, model=f"model-{number}"))
        done.set()
    said = sum(task.result() for task in talking)

    assert said == len(world.model.prompts)
    assert len(set(world.model.models)) > 1, "messages met more than one of the settings"


async def test_what_is_invalid_is_refused_with_its_line(world: Stage) -> None:
    """The log names file and line; the last good settings stay, and the next valid change is taken."""
    await world.change(body("before the fault", defaults="{fallback: second}"))
    seen = len(world.gateway.log)
    text = world.gateway.config.read_text("utf-8")
    lines = text.splitlines()
    at = lines.index("channels:") + 1
    lines.insert(at, "  third: {kind: webhook, secrets: [], busy: sometimes}")
    world.gateway.config.write_text("\n".join(lines), "utf-8")
    await world.gateway.logged(f"{world.gateway.config}:{at + 1} channels.third.busy", after=seen)
    turn = await world.hook().say("still there?", conversation="invalid")
    await world.change(body("after the fault"))

    assert "re: still there?" == turn["reply"]["text"]


async def test_a_room_s_settings_apply_without_another_adapter(world: Stage) -> None:
    """A room that is configured anew is answered by its agent at once; the channel runs on as it is (openclaw#70524)."""
    seen = len(world.gateway.log)
    rooms = channel("hook", "sync_s: 20, busy: queue, rooms: {lab: {agent: second, allow: {members: [hook.eve]}}}")
    await world.change(body("a room", rooms, OTHER))
    await world.hook().say("who answers?", conversation="lab")
    await world.hook().say("who answers?", conversation="elsewhere")

    assert ["two", "one"] == world.model.models
    assert not replaced(world, after=seen) & {"hook", "other"}


async def test_only_what_changed_is_replaced(world: Stage) -> None:
    """A channel added, changed and removed leaves the others' open streams open (openclaw#137591)."""
    held = Held()
    world.play(held)
    await world.change(body("before"))
    turn = await world.hook("other").say("a long one", conversation="untouched", mode="async")
    reading = asyncio.create_task(world.hook("other").settled(turn))
    await world.hook("other").shown(turn, held.first)
    seen = len(world.gateway.log)

    assert 404 == (await world.hook("third").post(message()))[0]
    third, changed = channel("third"), channel("hook", "sync_s: 7")
    await world.change(body("added", changed, OTHER, third))
    assert 401 == await plain_post(world, "third")
    assert {"hook", "marker"} == replaced(world, after=seen)
    await world.change(body("removed", changed, OTHER))
    assert 404 == (await world.hook("third").post(message()))[0]

    held.go_on.set()
    assert held.first + held.rest == (await reading)["reply"]["text"]


async def plain_post(world: Stage, channel: str) -> int:
    async with world.session.post(f"{world.gateway.url}/channels/{channel}", json={}) as response:
        return response.status


async def test_a_turn_keeps_the_agent_it_began_with(world: Stage) -> None:
    """The agent is replaced while it answers: that answer comes to its end, the next one is the new agent's."""
    held = Held()
    await world.change(body("the old agent", model="old"))
    world.play(echo)
    world.model.scripts["old"] = held
    turn = await world.hook().say("begun with the old", conversation="mid-turn", mode="async")
    await world.hook().shown(turn, held.first)
    await world.change(body("the new agent", model="new"))
    other = await world.hook().say("for the new", conversation="another")
    held.go_on.set()
    settled = await world.hook().settled(turn)

    assert "re: for the new" == other["reply"]["text"]
    assert held.first + held.rest == settled["reply"]["text"]
    assert ["old", "new"] == world.model.models


async def test_secrets_are_rotated_by_their_files(world: Stage) -> None:
    """A new secret in the file is asked for, the old one is refused, and neither is ever logged."""
    secret, key = world.folder / "hook.secret", world.folder / "model.key"
    secret.write_text(FIRST_SECRET)
    key.write_text("key-before-12345")
    hook = 'hook: {kind: webhook, secrets: ["file:hook.secret"]}'
    keyed = body("secrets", hook, OTHER).replace("model: one", 'model: one, api_key: "file:model.key"')
    await world.change(keyed)

    async def post(number: int, secret: str) -> int:
        sent = message("with a secret", conversation="rotation", message={"id": f"r{number}", "text": "hi"})
        url = f"{world.gateway.url}/channels/hook"
        async with world.session.post(url, **signed(sent, secret=secret, delivery=f"d{number}")) as response:
            return response.status

    assert [200, 401] == [await post(1, FIRST_SECRET), await post(2, NEXT_SECRET)]
    seen = len(world.gateway.log)
    secret.write_text(NEXT_SECRET)
    await world.gateway.logged("settings changed", after=seen)
    assert [401, 200] == [await post(3, FIRST_SECRET), await post(4, NEXT_SECRET)]
    assert {"hook"} == replaced(world, after=seen)
    seen = len(world.gateway.log)
    key.write_text("key-afterwards-67890")
    await world.gateway.logged("settings changed", after=seen)

    assert {"default"} == replaced(world, after=seen)
    logged = "\n".join(world.gateway.log)
    for word in (FIRST_SECRET, NEXT_SECRET, SECRET, "key-before-12345", "key-afterwards-67890"):
        assert word not in logged


async def test_a_removed_channel_s_turns_end_in_sight(world: Stage) -> None:
    """One turn runs and one waits when their channel goes: who waits is told, and both end as dead, with their reasons."""
    held = Held()
    await world.change(body("with it", HOOK, LEAVING, defaults="{busy: queue}"))
    world.play(held)
    hook = world.hook("leaving")
    first = await hook.say("running", conversation="gone", mode="async")
    await hook.shown(first, held.first)
    waiting = await hook.say("waiting", conversation="gone", mode="async")
    sync = asyncio.create_task(hook.say("waiting too", conversation="gone"))
    reading = asyncio.create_task(hook.settled(waiting))
    await until_waiting(world, 2)
    await world.change(body("without it", HOOK))
    held.go_on.set()
    told, answered = await reading, await sync
    await world.change(body("with it again", HOOK, LEAVING))
    states = [(await hook.turn(turn))["status"] for turn in (first, waiting, answered)]

    for turn in (told, answered):
        assert ("dead", "undeliverable", notice("undeliverable", "en")) == (
            turn["status"], turn["error"]["code"], turn["error"]["message"],
        )  # fmt: skip
    assert ["dead"] * 3 == states
    assert 1 == len(world.model.prompts), "nobody is asked for an answer that can't be given"


async def until_waiting(world: Stage, count: int) -> None:
    """Wait until so many messages wait in the queue, as the metrics say."""
    async with asyncio.timeout(30):
        while True:
            async with world.session.get(f"{world.gateway.url}/metrics") as response:
                if f"clew_inbox_waiting {count}.0" in await response.text():
                    return


async def test_a_message_whose_channel_goes_while_it_comes_in(world: Stage) -> None:
    """It is not half accepted: the sender is asked to come again, and then told that there is no such channel."""
    await world.change(body("about to go", HOOK, LEAVING))
    sent = signed(message("slow"), secret=SECRET)
    begun, gone = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield sent["data"][:10]
        begun.set()
        await gone.wait()
        yield sent["data"][10:]

    async def post(data: Any) -> tuple[int, str | None]:
        url = f"{world.gateway.url}/channels/leaving"
        async with world.session.post(url, data=data, headers=sent["headers"]) as response:
            return response.status, response.headers.get("Retry-After")

    posting = asyncio.create_task(post(slowly()))
    await begun.wait()
    # The request is with the adapter when another one, sent after it, has been answered.
    await world.hook("leaving").say("passes by", conversation="by")
    await world.change(body("gone", HOOK))
    gone.set()

    assert (503, "1") == await posting
    assert 404 == (await post(sent["data"]))[0]


async def test_what_waits_for_the_next_start_is_said(world: Stage) -> None:
    """Address, storage and queue are read at start: changing them is no error, and does not pass in silence."""
    seen = len(world.gateway.log)
    await world.change(body("at start", more="queue: {lanes: 7}"))

    told = [json.loads(line) for line in world.gateway.log[seen:]]
    assert [("a change waits for the next start", "queue")] == [
        (line["event"], line.get("section")) for line in told if line["level"] == "warning"
    ]


async def test_a_change_that_meets_an_absent_store_is_taken_when_it_is_back(tmp_path: Path) -> None:
    """Settings are stored before they apply; a store that is away for a moment does not lose the change."""
    async with stage(tmp_path, body("before", more="queue: {poll_s: 0.1}")) as own:
        with table_gone(own.database, "revisions"):
            changing = asyncio.create_task(own.change(body("after", model="new", more="queue: {poll_s: 0.1}")))
            await own.gateway.logged("changed settings wait for the store")
        await changing
        await own.hook().say("who?")

    assert ["new"] == own.model.models


@contextmanager
def table_gone(database: Path, table: str) -> Iterator[None]:
    """Let whoever uses the table fail at once: without a time limit to run out, a slow machine makes no difference."""
    with closing(sqlite3.connect(database, isolation_level=None, timeout=30)) as other:
        other.execute(f"ALTER TABLE {table} RENAME TO elsewhere")
        yield
        other.execute(f"ALTER TABLE elsewhere RENAME TO {table}")
