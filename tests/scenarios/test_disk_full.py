"""The database's disk is full: nothing is acknowledged that is not stored, no turn dies, and with room again all goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import psycopg

from tests.scenarios.platforms import asks, echo, words, world
from tests.scenarios.world import Prompt, rows
from tests.services import as_admin

WAYS = ("slack-http", "telegram-webhook")
BODY = "queue: {attempts: 1, poll_s: 0.2, restart_s: 0.2}\n"


@contextmanager
def full(url: str) -> Iterator[None]:
    """Refuse whatever is written to any table, as a server without room does: with SQLSTATE 53100."""
    with psycopg.connect(as_admin(url), autocommit=True) as db:
        db.execute(
            "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$"
        )
        found = db.execute(
            "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace"
            " AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.oid"
        ).fetchall()
        for (table,) in found:
            db.execute(
                f"CREATE TRIGGER no_room BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION no_room()".encode()
            )
        yield
        db.execute("DROP FUNCTION no_room CASCADE")


async def test_what_comes_while_the_disk_is_full_is_answered_when_there_is_room(
    tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """What had begun counts as no try, though one is all there is; what came meanwhile was not acknowledged, and comes again.
    Once each, in order, without a restart; and whoever looks sees it."""
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def answer(prompt: Prompt) -> str:
        if words(prompt).startswith("under way"):
            asked.set()
            await go_on.wait()
        return echo(prompt)

    async with world(tmp_path, ways=WAYS, storage=postgres_url, body=BODY, more=", stream: false") as there:
        sides = [there.slack(), there.telegram(WAYS[1])]
        there.slack().platform.pusher.retry_after_s = (0.0, 1.0, 3.0)
        rooms = [side.private() for side in sides]
        for room in rooms:
            await asks(room, "before 之前")
        there.play(answer)
        await rooms[0].says("under way 进行中")
        await asked.wait()
        seen = len(there.gateway.log)
        with full(postgres_url):
            for room in rooms:
                await room.says("meanwhile 同时")
            go_on.set()
            await there.gateway.logged("turn broken off by the store", after=seen)
            await there.gateway.logged("request not acknowledged", after=seen)
            await there.gateway.logged("request refused", after=seen)
            async with session.get(f"{there.gateway.url}/readyz") as response:
                ready = response.status
            stored = rows(postgres_url, "SELECT count(*) FROM inbox_events")
        await rooms[0].until(lambda replies: len(replies) == 3)
        await rooms[1].until(lambda replies: len(replies) == 2)
        ended = rows(postgres_url, "SELECT count(*) FROM inbox_events WHERE state IN ('answered', 'replied')")

    assert (503, [(3,)], [(5,)]) == (ready, stored, ended)
    assert ["re: before 之前", "re: under way 进行中", "re: meanwhile 同时"] == rooms[0].replies()
    assert ["re: before 之前", "re: meanwhile 同时"] == rooms[1].replies()
