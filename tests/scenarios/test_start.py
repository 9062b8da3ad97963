"""What keeps a gateway from starting is said in one sentence, with the way out, and by the exit code."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.scenarios.conftest import HOOK
from tests.scenarios.world import command, gateway, locked, write_config
from tests.services import free_port

BODY = f"agents: {{default: {{kind: demo}}}}\nchannels: {HOOK}"


async def test_a_second_gateway_on_one_file(tmp_path: Path) -> None:
    """One SQLite file has one gateway; the second says who has it, and neither changes anything."""
    config = write_config(tmp_path, BODY)
    async with gateway(config) as first:
        code, out, err = await command("serve", "--config", config)
        migrating = await command("db", "migrate", "--config", config)

        assert (1, "") == (code, out)
        assert f"another gateway (process {first.pid}) is using '{tmp_path / 'clew.db'}'; stop it first" in err
        assert 1 == migrating[0]
        assert "is using" in migrating[2]
    async with gateway(config):
        pass  # the lock went with the process that held it, killed though it was


async def test_a_busy_port(tmp_path: Path) -> None:
    """The address, the reason and the settings that choose another; nothing else runs on."""
    async with gateway(write_config(tmp_path, BODY)) as first:
        (tmp_path / "other").mkdir()
        port = first.url.rpartition(":")[2]
        code, _, err = await command("serve", "--config", write_config(tmp_path / "other", BODY), CLEW_PORT=port)

    assert 1 == code
    assert f"can't listen on '127.0.0.1' port {port}: Address already in use; stop the other program, or set" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ("sqlite:///{folder}/file/clew.db", "File exists; check `storage`"),
        ("sqlite:///{folder}", "Is a directory"),
        ("sqlite:////proc/clew/clew.db", "No such file or directory; check `storage`"),
        ("postgresql://nobody@127.0.0.1:{port}/clew", "Connection refused"),
    ],
)
async def test_a_storage_that_cannot_be_opened(storage: str, said: str, tmp_path: Path) -> None:
    """A folder that can't be written, a server that is not there: exit 1, the reason, no traceback."""
    (tmp_path / "file").touch()
    named = storage.format(folder=tmp_path, port=free_port())
    code, _, err = await command("serve", "--config", write_config(tmp_path, BODY, storage=named))

    assert 1 == code
    assert "Clew can't go on: " in err
    assert said.lower() in err.lower()
    assert "Traceback" not in err


@pytest.mark.parametrize("storage", ["mysql://localhost/clew", "sqlite://clew.db", "/var/lib/clew.db", "sqlite:///"])
async def test_an_unknown_storage(storage: str, tmp_path: Path) -> None:
    """A storage that Clew does not know is a fault of the settings: exit 2, with its line."""
    config = write_config(tmp_path, BODY, storage=storage)
    code, _, err = await command("serve", "--config", config)

    assert 2 == code
    assert f"{config}:2 storage: " in err


async def test_no_settings_file(tmp_path: Path) -> None:
    """Exit 2, and where to start from."""
    code, _, err = await command("serve", "--config", tmp_path / "none.yaml")

    assert 2 == code
    assert "can't be read (No such file or directory); give the path of a YAML file" in err


@pytest.mark.parametrize("table", ["memory_schema", "queue_schema"])
async def test_a_newer_schema_on_sqlite(table: str, tmp_path: Path) -> None:
    """An older release leaves a newer database alone, and says what to do."""
    config = write_config(tmp_path, BODY)
    assert 0 == (await command("db", "migrate", "--config", config))[0]
    database = tmp_path / "clew.db"
    with closing(sqlite3.connect(database)) as db, db:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "oldest"]
        values = ["99", *["0"] * (len(columns) - 1)]
        db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(values)})")
    before = database.read_bytes()
    code, _, err = await command("serve", "--config", config)

    assert 1 == code
    assert "99" in err
    assert "newer" in err
    assert before == database.read_bytes()


async def test_a_newer_schema_on_postgres(postgres_url: str, tmp_path: Path) -> None:
    """So does one on PostgreSQL."""
    config = write_config(tmp_path, BODY, storage=postgres_url)
    assert 0 == (await command("db", "migrate", "--config", config))[0]
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("INSERT INTO memory_schema VALUES (99, 'of tomorrow', 0)")
    code, _, err = await command("serve", "--config", config)

    assert 1 == code
    assert "99" in err
    assert "newer" in err


async def test_a_locked_database(tmp_path: Path) -> None:
    """Another program holds the file: the gateway gives up within its timeout and says so."""
    config = write_config(tmp_path, f"database: {{timeout_s: 0.2}}\n{BODY}")
    assert 0 == (await command("db", "migrate", "--config", config))[0]
    with locked(tmp_path / "clew.db"):
        code, _, err = await command("serve", "--config", config)

    assert 1 == code
    assert "database is locked" in err
    assert "Traceback" not in err
