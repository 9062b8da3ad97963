"""Several gateways with the same settings file on one database, and beside them the model and who talks to them."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from tests.bench.scale.driver import Load, Went
from tests.scenarios.world import ROOT, Gateway, environ, write_config
from tests.services import Postgres, as_admin

BODY = """
agents: {{default: {{kind: openai, base_url: "{model}", model: stub}}}}
channels:
  hook: {{kind: webhook, secrets: ["${{HOOK}}"], limits: {{per_minute: 100000}}{hook}}}
{more}"""


class Helper:
    """A module of the bench that runs as a process of its own and prints what there is to know in lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def line(self) -> str:
        """Return the next line that it prints."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        assert line, "it has ended"
        return line.decode().strip()

    async def told(self, line: str) -> str:
        """Say a line to it, and return the line that it answers."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        return await self.line()

    async def drive(self, load: Load) -> Went:
        """As the driver: run the load."""
        return Went(**json.loads(await self.told(json.dumps(asdict(load)))))


@asynccontextmanager
async def helper(module: str, *arguments: str, python: Path | str = sys.executable) -> AsyncIterator[Helper]:
    """Run a module until the end of the block."""
    process = await asyncio.create_subprocess_exec(
        str(python), "-m", module, *arguments, cwd=ROOT, env=environ(),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=2**26,
    )  # fmt: skip
    try:
        yield Helper(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def model() -> AsyncIterator[tuple[str, int]]:
    """Run the model that answers at once; give its base URL and its process."""
    async with helper("tests.bench.scale.model") as process:
        yield f"http://127.0.0.1:{await process.line()}/v1", process.pid


@asynccontextmanager
async def gateways(
    count: int,
    *,
    storages: Iterator[str] | str,
    model_url: str,
    hook: str = "",
    more: str = "",
    redis: str | None = None,
    inside: Path | None = None,
) -> AsyncIterator[list[Gateway]]:
    """Run so many gateways on one settings file, in a folder of their own. `storages`: one for all, or one each (a way
    through a proxy). `hook` is more of the webhook channel's settings, `more` are channels, and behind them other sections.
    `inside`: a folder where each tells what it holds when it is asked (`inside.py`)."""
    each = itertools.repeat(storages) if isinstance(storages, str) else storages
    with TemporaryDirectory(prefix="clew-bench-") as folder:
        config = config_in(Path(folder), model_url, hook=hook, more=more, redis=redis)
        seen = ("tests.bench.scale.inside", str(inside), "serve", "--config", str(config)) if inside else ()
        async with AsyncExitStack() as stack:
            running = []
            for storage in itertools.islice(each, count):
                gateway = Gateway(config, environ(STORAGE=storage), command=seen, forked=False)
                stack.push_async_callback(gateway.kill)
                await gateway.start()
                running.append(gateway)
            yield running


def config_in(folder: Path, model_url: str, *, hook: str = "", more: str = "", redis: str | None = None) -> Path:
    """Write the settings file that all of them share; the database comes by the environment."""
    storage = '"${STORAGE}"' + (f"\nredis: {redis}" if redis else "")
    body = BODY.format(model=model_url, hook=f", {hook}" if hook else "", more=more)
    return write_config(folder, body, storage=storage, server="log_level: warning")


@contextmanager
def admin(url: str) -> Iterator[psycopg.Connection]:
    """Connect past all policies."""
    with psycopg.connect(as_admin(url), autocommit=True) as db:
        yield db


async def learned(url: str) -> None:
    """Wait until every turn has been learned from."""
    with admin(url) as db:
        while db.execute("SELECT EXISTS (SELECT FROM ledgers WHERE due_ms IS NOT NULL)").fetchall()[0][0]:
            await asyncio.sleep(0.2)  # nothing of ours tells who looks from outside


def connections(server: Postgres, url: str) -> int:
    """Return how many sessions the database has, ours for looking not counted."""
    with admin(url) as db:
        return int(
            db.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchall()[0][0]
        )


def percentile(values: Sequence[float], hundredth: int) -> float:
    """Return the value that so many hundredths of them don't exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * hundredth // 100)]
