"""The command line's `db copy`: from the SQLite file of one machine to the PostgreSQL database of many. Prints and returns the
exit code."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time

from config.loader import Configuration
from config.masking import masked
from config.settings import Settings
from gateway.app import alone, open_storage, schemas
from gateway.copying import source, target
from gateway.copying.copying import Tell, begun, copy
from gateway.copying.progress import Progress
from gateway.copying.refusals import CannotCopy, Differs
from gateway.errors import GatewayFault
from gateway.storage import sqlite_path
from memory.errors import MemoryFault
from memory.ids import Ids

OK, FAILED, INVALID = 0, 1, 2


def db_copy(configuration: Configuration, args: argparse.Namespace) -> int:
    """Copy, or go on with a copy that broke off; compare; and say so. Both ends default to the settings' storage."""
    settings = configuration.settings
    from_, to = args.source or settings.storage, args.target or settings.storage
    path = sqlite_path(from_)
    if path is None:
        return _say(f"db copy: --from {masked(from_)!r} is not a SQLite file; write sqlite:///PATH", INVALID)
    if not to.startswith("postgresql://"):
        return _say(f"db copy: --to {masked(to)!r} is not a PostgreSQL database; write postgresql://…", INVALID)
    if not path.exists():
        return _say(f"db copy: there is no file at {str(path)!r}; check --from", FAILED)
    begun_s, timeout_s = time.monotonic(), settings.database.timeout_s
    try:
        with (
            alone(path),
            source.opened(path, timeout_s=timeout_s) as here,
            target.connected(to, timeout_s=timeout_s) as there,
        ):
            resumed = begun(here, there, known=schemas(), make=lambda: asyncio.run(_make(settings, to)))
            copied = copy(here, there, resumed=resumed, tell=_telling)
    except (CannotCopy, Differs, MemoryFault, GatewayFault) as fault:
        return _say(f"db copy: {fault}", FAILED)
    except KeyboardInterrupt:
        return _say("\ndb copy: broken off; call it again, and it goes on from here", FAILED)
    rows, seconds = sum(copied.rows.values()), time.monotonic() - begun_s
    if args.json:
        told = {
            "from": from_,
            "to": masked(to),
            "resumed": copied.resumed,
            "rows": dict(copied.rows),
            "seconds": round(seconds, 1),
        }
        print(json.dumps(told, indent=2))
        return OK
    for table, number in copied.rows.items():
        if number:
            print(f"{number:12,}  {table}")
    print(f"{rows:12,}  rows copied, and the same in both databases ({seconds:,.0f} s)")
    return OK


def _telling(total: int, doing: str) -> Tell:
    progress = Progress(total, sys.stderr)

    def tell(done: int, table: str) -> None:
        if table:
            progress.at(done, f"{doing} {table}")
        else:
            progress.end(done, doing)

    return tell


async def _make(settings: Settings, storage: str) -> None:
    """Make the tables, as a gateway that starts does."""
    async with open_storage(settings.model_copy(update={"storage": storage, "redis": None}), ids=Ids(0)):
        pass


def _say(reason: str, code: int) -> int:
    print(reason, file=sys.stderr)
    return code
