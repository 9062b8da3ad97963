"""What processes use, out of /proc: CPU seconds, memory, files; of one process, of a PostgreSQL server, of the whole machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tests.services import Postgres

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count() or 1


def cpu_s(*pids: int) -> float:
    """Return the CPU seconds that the processes have used so far, all together."""
    return sum(sum(map(int, _stat(pid)[11:13])) for pid in pids) * TICK_S


def server_cpu_s(server: Postgres) -> float:
    """Return the CPU seconds of a server's processes so far, of those that have ended too: of these by ticks, of those that live
    to the microsecond, since a statement takes less than a tick."""
    own = sum(map(int, _stat(server_pid(server))[11:15])) * TICK_S
    return own + sum(_single_thread_s(pid) for pid, _ in _children(server))


def _single_thread_s(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except OSError:  # it has ended meanwhile
        return 0.0


def server_anonymous_mb(server: Postgres) -> float:
    """Return the memory of a server's processes that no file stands behind, without what they share, in MB."""
    total = anonymous_mb(server_pid(server))
    for pid, _ in _children(server):
        with contextlib.suppress(OSError, StopIteration):  # it has ended meanwhile
            total += anonymous_mb(pid)
    return total


def _children(server: Postgres) -> Iterator[tuple[int, list[str]]]:
    postmaster = server_pid(server)
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = _stat(int(folder.name))
        except OSError:  # it has ended meanwhile
            continue
        if int(stat[1]) == postmaster:
            yield int(folder.name), stat


def server_pid(server: Postgres) -> int:
    """Return the process that all of a server's others are children of."""
    return int((server.folder / "data" / "postmaster.pid").read_text().split()[0])


def machine_busy_s() -> float:
    """Return the CPU seconds that all cores have worked so far, whoever for."""
    fields = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
    return (sum(fields) - fields[3] - fields[4]) * TICK_S


def anonymous_mb(pid: int) -> float:
    """Return the resident memory of a process that no file stands behind, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024


def open_files(pid: int) -> int:
    """Return how many files and sockets a process has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
