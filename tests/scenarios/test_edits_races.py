"""An edit or deletion that comes just when its message goes from the inbox to memory: begun there, not yet known here."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from tests.scenarios.edits import BODY, Platform, how
from tests.scenarios.stage import echo, users
from tests.scenarios.world import Gateway, ModelServer, gateway, locked, model_server, write_config


@asynccontextmanager
async def between(
    folder: Path, session: aiohttp.ClientSession, settings: str = ""
) -> AsyncIterator[tuple[Platform, dict[str, str], ModelServer]]:
    """A room whose one message, `m1`, has begun and is not in memory yet."""
    async with model_server(echo) as model:
        config = write_config(folder, settings + BODY.replace("MODEL", model.url))
        async with gateway(config, command=("tests.scenarios.relay", str(config), "held")) as process:
            place = Platform(session, process, "queue", "between")
            turn = await place.say("m1", "the old question 旧")
            await process.logged("an append is held")
            yield place, turn, model


async def asked_later(place: Platform, process: Gateway, model: ModelServer) -> list[str]:
    """Ask one more thing and return what users had said."""
    place.gateway = process
    await place.ended(await place.say("later", "and now?"))
    return users(model.prompts[-1])


async def test_an_edit_waits_until_memory_has_its_message(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """It is stored, and applied as soon as that is possible: no second answer, and the old text is not what is kept."""
    async with between(tmp_path, session) as (place, turn, model):
        edit = await place.tell("edit", "m1", text="the new question 新")
        place.gateway.tell(signal.SIGUSR1)
        ended = await place.ended(turn, edit)
        later = await asked_later(place, place.gateway, model)

    assert "accepted" == edit["status"]
    assert ["answered", "applied"] == [view["status"] for view in ended]
    assert "edit" == ended[1]["rule"]
    assert ["the new question 新", "and now?"] == later
    assert 2 == len(model.prompts)


async def test_an_edit_that_waits_outlives_an_absent_store(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """The database is away while it waits; it is applied when that is back."""
    async with between(tmp_path, session, "database: {timeout_s: 0.3}\nqueue: {poll_s: 0.1}\n") as (place, turn, model):
        edit = await place.tell("edit", "m1", text="the new question 新")
        with locked(tmp_path / "clew.db"):
            await place.gateway.logged("edits wait for the store")
        place.gateway.tell(signal.SIGUSR1)
        ended = await place.ended(turn, edit)
        later = await asked_later(place, place.gateway, model)

    assert ["answered", "applied"] == [view["status"] for view in ended]
    assert ["the new question 新", "and now?"] == later


async def test_a_deletion_waits_until_memory_has_its_message(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """The message ends unanswered, and is gone from memory although it was stored after it was deleted."""
    async with between(tmp_path, session) as (place, turn, model):
        deletion = await place.tell("delete", "m1")
        place.gateway.tell(signal.SIGUSR1)
        ended = await place.ended(turn, deletion)
        later = await asked_later(place, place.gateway, model)

    assert "accepted" == deletion["status"]
    assert [("ignored", "deleted_before_answer"), ("applied", "delete")] == [how(view) for view in ended]
    assert ["and now?"] == later


async def test_what_waits_outlives_the_process(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """Killed in between: the next process answers the new text, and the edit ends in sight."""
    async with between(tmp_path, session) as (place, turn, model):
        edit = await place.tell("edit", "m1", text="the new question 新")
        await place.gateway.kill()
        config = place.gateway.config
        async with gateway(config, command=("tests.scenarios.relay", str(config))) as second:
            place.gateway = second
            ended = await place.ended(turn, edit)
            later = await asked_later(place, second, model)

    assert "re: the new question 新" == ended[0]["reply"]["text"]
    assert ("applied", "edit") == how(ended[1])
    assert ["the new question 新", "and now?"] == later
