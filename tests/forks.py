"""Processes of ours without the second that Python takes to import everything: each is forked from one that has done so.

`Forked` is what `asyncio.create_subprocess_exec(sys.executable, "-m", MODULE, …)` would give: a process of its own, with its own
environment, to be killed, frozen and waited for. `python -m tests.forks SOCKET` is the one that forks; there is one for each test
process, and it takes its children along when that ends. A start from nothing is what `make run` and some tests of the start do.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import importlib
import inspect
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# What a gateway imports at its start, and later where its settings or the first turn ask for it.
IMPORTED = (
    "gateway.app",
    "gateway.process",
    "gateway.admin.cli",
    "gateway.admin.people_cli",
    "gateway.admin.postgres",
    "gateway.agents.openai",
    "gateway.inbox.postgres",
    "adapters.slack.adapter",
    "adapters.telegram.adapter",
    "adapters.webhook.adapter",
    "memory.bar",
    "memory.learning",
    "memory.rules.extract",
    "memory.stores.postgres",
    "memory.stores.redis",
    "openai.resources.chat",
    "anyio._backends._asyncio",
    "httpcore2",
    "truststore",
    "coverage",
)


class Forked:
    """A running process; what `asyncio.subprocess.Process` is to others, as far as tests need it."""

    def __init__(self, pid: int, stdin: int, told: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None
        self._stdin = stdin
        self._told = told
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(told, self._end)

    def _end(self) -> None:
        self._loop.remove_reader(self._told)
        self.returncode = int(self._told.recv(64) or -signal.SIGKILL)
        self._told.close()
        self._close_stdin()
        self._ended.set()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin = -1

    def send_signal(self, how: signal.Signals) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):  # it has ended, and that is still on its way to us
                os.kill(self.pid, how)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Return the exit code, once it has ended; of one that a signal ended, the negative number of that."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    async def communicate(self, stdin: bytes = b"") -> tuple[bytes, bytes]:
        """Write all of `stdin` (a pipe's fill at most), and return all that it prints until its end."""
        assert self.stdout is not None
        assert self.stderr is not None
        os.write(self._stdin, stdin)
        self._close_stdin()
        out, err, _ = await asyncio.gather(self.stdout.read(), self.stderr.read(), self.wait())
        return out, err


async def fork(module: str, *arguments: str, env: Mapping[str, str], limit: int = 2**16) -> Forked:
    """Run `python -m MODULE ARGUMENTS` in the project's root, with this environment and no other. `limit`: of a line's bytes."""
    (its_in, stdin), (out, its_out), (err, its_err) = os.pipe(), os.pipe(), os.pipe()
    told = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    told.connect(await asyncio.to_thread(_forking))
    order = json.dumps({"arguments": [module, *arguments], "env": dict(env)}).encode()
    told.setblocking(False)
    socket.send_fds(told, [order], [its_in, its_out, its_err])
    for end in (its_in, its_out, its_err):
        os.close(end)
    made = Forked(int(await asyncio.get_running_loop().sock_recv(told, 64)), stdin, told)
    made.stdout, made.stderr = await _reader(out, limit), await _reader(err, limit)
    return made


async def warm() -> None:
    """Start what forks, if it does not run yet: of several forks at once each would start one of its own."""
    await asyncio.to_thread(_forking)


async def _reader(end: int, limit: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=limit)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(end, "rb", buffering=0))
    return reader


@cache
def _forking() -> str:
    """Start what forks; return where it listens."""
    folder = tempfile.mkdtemp(prefix="clew-forks-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = f"{folder}/socket"
    # As little as anybody's shell has. It is not measured itself: what it imports, the test process has imported too.
    environ = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forks", path],
        cwd=ROOT,
        env=environ | {"PYTHONWARNINGS": "error"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the tests, which then end what they started
    )
    assert process.stdout is not None
    assert b"ready\n" == process.stdout.readline(), "what forks test processes did not start"
    atexit.register(process.communicate)
    return path


def main(path: str) -> None:
    """Import everything, fork for everybody who connects until standard input ends, and in each child be what was asked for."""
    for name in IMPORTED:
        importlib.import_module(name)
    # What Python remembers of a first time, each child has at once: of settings, and of where each module's source is, which
    # coverage asks for at its start.
    importlib.import_module("config.loader").load(ROOT / "config" / "default.yaml", {})
    inspect.stack()
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(path)
        listening.listen(64)
        print("ready", flush=True)
        order = _fork_for_all(listening)
    if order is None:
        return
    os.environ.clear()
    os.environ.update(order["env"])
    if {"COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"} & os.environ.keys():
        importlib.import_module("coverage").process_startup()
    sys.argv = order["arguments"]
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, int):
            _leave(end.code)
        raise
    _leave(0)


def _leave(code: int) -> None:
    """End as Python does, without taking apart all that was imported: that takes as long as a gateway's start."""
    threading._shutdown()  # waits for threads
    atexit._run_exitfuncs()
    gc.collect()  # what was left open is told, as at any end
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _fork_for_all(listening: socket.socket) -> Any:
    """Return None once standard input has ended; in a child, what it is to be, with its own standard streams."""
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    children: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        for source in (listening, woken, sys.stdin):
            selector.register(source, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if sys.stdin in ready:
                for pid in children:
                    os.kill(pid, signal.SIGKILL)
                return None
            if woken in ready:
                os.read(woken, 4096)
                _bury(children)
            if listening in ready:
                caller, _ = listening.accept()
                order, streams, _, _ = socket.recv_fds(caller, 2**18, 3)
                pid = os.fork()
                if pid == 0:
                    for number, stream in enumerate(streams):
                        os.dup2(stream, number)
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a shell's background job
                    for mine in (*children.values(), caller):
                        mine.close()
                    for end in (*streams, woken, wake):
                        os.close(end)
                    return json.loads(order)
                for stream in streams:
                    os.close(stream)
                caller.send(str(pid).encode())
                children[pid] = caller


def _bury(children: dict[int, socket.socket]) -> None:
    """Tell of each child that has ended how it did."""
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with children.pop(pid) as caller, suppress(OSError):
            caller.send(str(os.waitstatus_to_exitcode(status)).encode())


if __name__ == "__main__":
    main(sys.argv[1])
