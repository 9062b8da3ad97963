"""Follow the settings while the gateway runs.

Yields whenever the file, or a secret file it names, or what is laid over it, says something else; what is broken is yielded as
its problems, and the caller keeps what it has. Never ends by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from pathlib import Path

from watchfiles import awatch

from config.loader import Configuration, load
from config.problems import InvalidSettings

logger = logging.getLogger(__name__)

SETTLE_MS = 100
"""Quiet time after which a burst of changes counts as one: editors truncate, write and rename."""

BURST_MS = 500
"""Longest such burst."""

LOOK_MS = 1000
"""Time between two looks when no event comes: network mounts send none, and a folder may be replaced as a whole."""

Outcome = Configuration | InvalidSettings


Loading = Callable[[], Awaitable[Outcome]]
"""Reads all that says settings; what it can't read it waits for."""


def from_file(path: str | Path, environ: Mapping[str, str]) -> Loading:
    """Return what reads the file, where nothing is laid over it."""

    async def load_file() -> Outcome:
        try:
            # Parsing a large file takes longer than an event loop should stand still.
            return await asyncio.to_thread(load, path, environ)
        except InvalidSettings as invalid:
            return invalid

    return load_file


async def watch(
    path: str | Path, loading: Loading, *, current: Configuration, nudge: asyncio.Event | None = None
) -> AsyncGenerator[Outcome, None]:
    """Yield the settings each time they change, well within two seconds; `InvalidSettings` while they can't be used.

    `current` is what the caller runs with, so that no change since its loading is missed. What is yielded always differs
    from what was current or yielded before. `nudge` is set by whoever knows that what is laid over the file has changed.
    """
    last: Outcome = current
    nudge = nudge or asyncio.Event()
    files = _files(path, last)
    seen: dict[Path, bytes | None] | None = None  # nothing yet: the first look reads the file in any case
    while True:
        folders = _folders(files)
        async with aclosing(_looks(folders, nudge)) as looks:
            async for nudged in looks:
                contents = await asyncio.to_thread(_contents, files)
                if nudged or contents != seen:
                    seen, latest = contents, await loading()
                    files = _files(path, latest)
                    if not _same(latest, last):
                        last = latest
                        yield latest
                if _folders(files) != folders:
                    break


def _same(one: Outcome, other: Outcome) -> bool:
    if isinstance(one, InvalidSettings) or isinstance(other, InvalidSettings):
        return getattr(one, "problems", ()) == getattr(other, "problems", ())
    # By value, secrets too: a new secret leaves the revision as it is.
    return one.settings == other.settings and one.overlay == other.overlay


def _files(path: str | Path, outcome: Outcome) -> tuple[Path, ...]:
    return (Path(path), *outcome.secret_files)


def _contents(files: Iterable[Path]) -> dict[Path, bytes | None]:
    """Return what the files hold; None for one that can't be read."""
    found: dict[Path, bytes | None] = {}
    for file in files:
        try:
            found[file] = file.read_bytes() if file.is_file() else None
        except OSError:
            found[file] = None
    return found


def _folders(files: Iterable[Path]) -> dict[str, tuple[int, int] | None]:
    """Return the folders to watch and which folder each is now (None: there is none): the files' own, where editors rename
    and mounted volumes swap links, and those that links lead to."""
    found: dict[str, tuple[int, int] | None] = {}
    for folder in {folder for file in files for folder in (file.parent, file.resolve().parent)}:
        try:
            status = folder.stat()
            found[str(folder)] = (status.st_dev, status.st_ino)
        except OSError:
            found[str(folder)] = None
    return found


async def _looks(folders: Mapping[str, object], nudge: asyncio.Event) -> AsyncGenerator[bool, None]:
    """Yield at once, when something happened in one of the folders, when nudged (True), and every `LOOK_MS` in any case."""
    yield _nudged(nudge)
    try:
        while True:
            events = awatch(
                *(folder for folder, identity in folders.items() if identity is not None),
                watch_filter=None,
                debounce=BURST_MS,
                step=SETTLE_MS,
                rust_timeout=LOOK_MS,
                yield_on_timeout=True,
                recursive=False,
                stop_event=nudge,
            )
            async with aclosing(events):
                async for _ in events:
                    yield _nudged(nudge)
            yield _nudged(nudge)
    except (OSError, RuntimeError) as exc:
        # A folder that went away this moment, or the system's limit of watches: the clock serves as well, only slower.
        logger.warning("settings file is watched by the clock", extra={"reason": str(exc)})
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_MS / 1000):
                    await nudge.wait()
            yield _nudged(nudge)


def _nudged(nudge: asyncio.Event) -> bool:
    """Whether somebody has nudged since the last look. Forgotten before the look: what comes during it is looked at again."""
    nudged = nudge.is_set()
    nudge.clear()
    return nudged
