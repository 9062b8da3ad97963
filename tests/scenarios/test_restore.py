"""Going back to a backup, by the lines of `gateway/README.md`: on PostgreSQL to any moment, with SQLite to the copy's."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import CalledProcessError

import aiohttp
import pytest

from gateway.errors import LeaseLost
from gateway.inbox.postgres import PostgresInbox
from gateway.inbox.postgres_arriving import FENCES_A_SECOND, LEAST_S
from memory.errors import Fenced
from memory.ids import Ids
from memory.stores.postgres import PostgresStore
from tests.contracts.queues import accept, claim_one
from tests.contracts.store import opened, put, said, window
from tests.scenarios.conftest import HOOK
from tests.scenarios.stage import echo, users
from tests.scenarios.world import ROOT, Hook, command, gateway, in_folder, model_server, rows, write_config
from tests.services import Postgres

README = (ROOT / "gateway" / "README.md").read_text("utf-8")


def block(start: str) -> str:
    """Return the code block of the gateway's README that begins with `start`."""
    blocks = re.findall(r"```\w+\n(.*?)```", README, re.DOTALL)
    return next(text for text in blocks if text.startswith(start))


@pytest.fixture
def archiving() -> Iterator[Postgres]:
    """A server that keeps its log, as the README says, on a disk that it may believe in."""
    folder = Path(tempfile.mkdtemp(prefix="clew-pitr-"))
    folder.chmod(0o711)
    (folder / "backup" / "wal").mkdir(parents=True)
    server = Postgres(folder, options="", settings=block("archive_mode").replace("/backup", f"{folder}/backup"))
    try:
        server.start()
        server.own(folder / "backup", folder / "backup" / "wal")
        yield server
    finally:
        for data in ("restored", "data"):
            if (folder / data / "postmaster.pid").exists():
                server.shell(f"pg_ctl -D {folder}/{data} -m immediate -s stop")
        shutil.rmtree(folder, ignore_errors=True)


def shell(server: Postgres, start: str, **more: str) -> str:
    """Run a block of the README, with the folders that it names in the server's own."""
    lines = block(start)
    for name in ("/backup", "/restored"):
        lines = lines.replace(name, f"{server.folder}{name}")
    return server.shell(lines, SUPERUSER=server.url("postgres", admin=True), **more)


async def test_postgres_goes_back_to_a_moment(
    archiving: Postgres, redis_url: str, tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    """Somebody is erased by mistake; the database goes back to before that: they are there, with all that was said until then
    and nothing of what was said later, though Redis has it. A moment that the log does not reach is told. Who starts
    first lets fences go on far above; the same message, repeated, is answered again."""
    async with model_server(echo) as model:
        body = f"""
agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}
redis: {redis_url}
channels: {HOOK}"""
        url = archiving.url("postgres")
        config = write_config(tmp_path, body, storage=url)
        async with gateway(config) as first:
            hook = Hook(session, first)
            await hook.say("订单尾号 8821", sender="alice")
            shell(archiving, "BASE=")
            await hook.say("before", sender="alice")
            moment = str(rows(url, "SELECT clock_timestamp()::text")[0][0])
            await hook.say("after", sender="alice", message_id="m-after")
            erased = await command("people", "erase", "webhook:hook:alice", "--config", config)
            assert 0 == erased[0], erased
            fence = rows(url, "SELECT last_value FROM inbox_fence")[0][0]
            assert 0 == await first.stop()
        shell(archiving, "psql -d")
        archiving.shell(f"pg_ctl -D {archiving.folder}/data -m fast -s stop")
        base = str(next((archiving.folder / "backup").glob("base.*")))
        with pytest.raises(CalledProcessError):
            shell(archiving, "cp -a", BASE=base, T="2100-01-01 00:00:00+00")
        reason = (archiving.folder / "restored" / "log").read_text("utf-8")
        shutil.rmtree(archiving.folder / "restored")
        shell(archiving, "cp -a", BASE=base, T=moment)
        async with gateway(config) as second:
            hook = Hook(session, second)
            log = list(second.log)
            people = json.loads((await command("people", "list", "--json", "--config", config))[1])
            await hook.say("and now?", sender="alice")
            again = await hook.say("after", sender="alice", message_id="m-after")
            prompts = model.prompts[-2:]

    assert "recovery ended before configured recovery target was reached" in reason
    assert ["webhook:hook:alice"] == [
        ":".join(identity.values()) for person in people for identity in person["identities"]
    ]
    assert ["订单尾号 8821", "before", "and now?"] == users(prompts[0])
    assert ["订单尾号 8821", "before", "and now?", "after"] == users(prompts[1])
    assert "re: after" == again["reply"]["text"]
    assert any("the database was restored" in line for line in log)
    assert fence < LEAST_S * FENCES_A_SECOND < rows(url, "SELECT last_value FROM inbox_fence")[0][0]


async def test_who_outlived_a_restore_writes_nothing(archiving: Postgres) -> None:
    """A process that was overlooked holds a lane from after the moment, under a fence that the restored database has not given
    yet. It connects by itself, and may look; its turn goes no further, in the queue or in the memory."""
    url = archiving.url("postgres")
    async with (
        PostgresStore(url, ids=Ids(1), pool_size=2, timeout_s=10) as store,
        PostgresInbox(url, pool_size=2, timeout_s=10, lease_s=60, poll_s=0.1, accept_max=9) as overlooked,
    ):
        scope = await opened(store)
        event = await accept(overlooked, "大厅")
        await put(store, scope.id, said("before", 1), turn_id=1, fence=(await claim_one(overlooked)).fence)
        shell(archiving, "BASE=")
        moment = str(rows(url, "SELECT clock_timestamp()::text")[0][0])
        late = await accept(overlooked, "later")
        claim = await claim_one(overlooked)
        shell(archiving, "psql -d")
        archiving.shell(f"pg_ctl -D {archiving.folder}/data -m fast -s stop")
        shell(archiving, "cp -a", BASE=str(next((archiving.folder / "backup").glob("base.*"))), T=moment)
        async with PostgresInbox(url, pool_size=2, timeout_s=10, lease_s=60, poll_s=0.1, accept_max=9):
            with pytest.raises(LeaseLost):
                await overlooked.start([late.id], turn_id=2, lane="later", fence=claim.fence)
            with pytest.raises(Fenced):
                await put(store, scope.id, said("late", 2), turn_id=2, fence=claim.fence)

        assert ["before"] == await window(store, scope.id)
        assert [event.id] == [waiting.id for waiting in await overlooked.waiting("大厅")]


async def test_a_file_goes_back_to_its_backup(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """A copy made beside the running gateway is put in the place of the file: what was said until then goes on, what was said
    later is gone, and no log of the old file is played into the new one."""
    (tmp_path / "backup").mkdir()
    async with model_server(echo) as model:
        config = write_config(
            tmp_path,
            f"""
agents: {{default: {{kind: openai, base_url: "{model.url}", model: stub}}}}
channels: {HOOK}""",
            storage=f"sqlite:///{tmp_path}/.clew/clew.db",
        )
        async with gateway(config) as first:
            hook = Hook(session, first)
            await hook.say("before 备份 😀")
            copying = block("python -m gateway db backup").replace("/backup", f"{tmp_path}/backup").split()[3:]
            copied = await command(*copying, "--config", config)
            await hook.say("after")
            await first.kill()
        script = block("mv .clew").replace("/backup", f"{tmp_path}/backup")
        moving = await asyncio.create_subprocess_exec("bash", "-euc", script, cwd=tmp_path)
        assert 0 == await moving.wait()
        async with gateway(config) as second:
            await Hook(session, second).say("and now?")
        seen = users(model.prompts[-1])

    assert 0 == copied[0], copied
    assert ["before 备份 😀", "and now?"] == seen


async def test_the_lines_that_copy(bare_postgres_url: str, tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """The README's own command, with its variable for the database."""
    config = write_config(tmp_path, f"agents: {{default: {{kind: demo}}}}\nchannels: {HOOK}")
    async with gateway(config) as first:
        await Hook(session, first).say("hello")
    line = block("python -m gateway db copy").replace("sqlite:///.clew/clew.db", in_folder(tmp_path))
    line = line.replace('"$DATABASE"', bare_postgres_url)
    code, out, _ = await command(*line.split()[3:], "--config", config)

    assert 0 == code
    assert "rows copied, and the same in both databases" in out
    assert [(2,)] == rows(bare_postgres_url, "SELECT count(*) FROM messages")
