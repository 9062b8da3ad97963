"""The gateway as a process: signals, the ready line, exit codes; and one run beside a command that needs it for a moment."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from config.loader import Configuration, load
from config.masking import secrets_of
from gateway import logs
from gateway.app import run
from gateway.errors import CannotJoin, CannotListen, StoreBusy
from gateway.front import address
from memory.errors import MemoryFault

logger = logging.getLogger(__name__)

CANNOT_RUN = (CannotJoin, CannotListen, MemoryFault, StoreBusy, OSError)


async def serve(path: Path, environ: Mapping[str, str]) -> int:
    """Run the gateway as a process: logs to standard error, the ready line to standard output, stop by signal.

    Returns the exit code: 0 after an orderly end, 1 when it could not start. Raises `InvalidSettings`.
    """
    configuration = load(path, environ)
    mask = logs.configure(configuration.settings.server.log_level, secrets=secrets_of(configuration.settings))
    for warning in configuration.warnings:
        logger.warning("settings", extra={"problem": str(warning)})
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    code = 0
    try:
        await run(
            configuration,
            path=path,
            environ=environ,
            stop=stop,
            announce=lambda line: print(line, flush=True),
            mask=mask,
        )
    except* CANNOT_RUN as faults:
        for fault in flat(faults):
            print(f"Clew can't go on: {fault}", file=sys.stderr)
        code = 1
    return code


@asynccontextmanager
async def running_beside(configuration: Configuration, *, url: str | None) -> AsyncIterator[str]:
    """Give the address of a running gateway: `url`, the one that listens where the settings say, or one run for this.

    Raises a group with `CANNOT_RUN` in it when that one can't run.
    """
    server = configuration.settings.server
    if url is not None or await listens(server.host, server.port):
        yield (url or address(server.host, server.port)).rstrip("/")
        return
    stop = asyncio.Event()
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    mask = logs.configure("error", secrets=secrets_of(configuration.settings))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(
            run(
                configuration,
                path=Path(configuration.file),
                environ=os.environ,
                stop=stop,
                announce=ready.set_result,
                mask=mask,
            )
        )
        yield (await ready).split()[3].rstrip("/")
        stop.set()


async def listens(host: str, port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        async with asyncio.timeout(1):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    await writer.wait_closed()
    return True


def flat(group: BaseExceptionGroup[Exception]) -> list[BaseException]:
    """Return the single exceptions of a group."""
    found: list[BaseException] = []
    for exc in group.exceptions:
        found.extend(flat(exc) if isinstance(exc, BaseExceptionGroup) else [exc])
    return found
