"""A judge's process: started, waited for, and ended with the block, whatever happens in it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

START_S = 30
_KEPT = ("PATH", "HOME", "LANG")


@asynccontextmanager
async def process(*command: str | Path, folder: Path, env: Mapping[str, str], ready: str) -> AsyncIterator[None]:
    """Run a command in `folder` until the block ends; it is ready when it says `ready`. It has no more of our environment than
    it needs, and ends by itself when we are gone and its standard input with us."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    running = await asyncio.create_subprocess_exec(
        *map(str, command), cwd=folder, env={**kept, **env},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    assert running.stdout is not None
    said, reading = list[bytes](), None
    try:
        async with asyncio.timeout(START_S):
            while ready.encode() not in (line := await running.stdout.readline()):
                assert line, f"{command[0]} ended:\n{b''.join(said).decode('utf-8', 'replace')}"
                said.append(line)
        reading = asyncio.create_task(running.stdout.read())  # a full pipe would stop it
        yield
    finally:
        if running.returncode is None:
            running.kill()
        await running.wait()
        if reading is not None:
            await reading
