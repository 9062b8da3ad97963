"""`python -m gateway admin first-owner`: how the first user comes about, with a gateway that runs and without."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
from pathlib import Path

import aiohttp
import pytest

from tests.scenarios.conftest import stored
from tests.scenarios.world import ROOT, command, environ, gateway, rows, write, write_config

PASSWORD = "correct horse 电池 staple"
OTHER = "another horse 电池 staple"


@pytest.fixture(params=["sqlite", "postgres"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    with stored(request.param, request, tmp_path) as storage:
        yield write_config(tmp_path, "", storage=storage)


def storage_of(config: Path) -> str:
    return config.read_text("utf-8").partition("storage: ")[2].partition("\n")[0]


async def signed_in(url: str, name: str, password: str) -> int:
    """Sign in as a browser does; return the status."""
    async with aiohttp.ClientSession() as session:
        form = {"name": name, "password": password}
        async with session.post(f"{url}/admin/sign-in", data=form, allow_redirects=False) as response:
            return response.status


async def test_before_and_beside_a_running_gateway(config: Path) -> None:
    """Without an owner the console tells how to make one; one made beside the gateway signs in at once. A second time it is
    refused, and with `--reset` the owner gets another password, which ends the old one."""
    async with gateway(config) as running:
        async with aiohttp.ClientSession() as session, session.get(f"{running.url}/admin") as response:
            assert 503 == response.status
            assert "first-owner" in await response.text()
        code, out, err = await command("admin", "first-owner", "李雷", "--config", config, stdin=f"{PASSWORD}\n")
        assert (0, "李雷 owns this gateway now; sign in at /admin\n") == (code, out), err
        assert 303 == await signed_in(running.url, "李雷", PASSWORD)

        code, out, err = await command("admin", "first-owner", "eve", "--config", config, stdin=f"{PASSWORD}\n")
        assert (1, "") == (code, out)
        assert "李雷" in err
        assert "--reset" in err
        reset = ["admin", "first-owner", "李雷", "--reset", "--config", config]
        code, _, err = await command(*reset, stdin="no\n")
        assert (1, "nothing was changed") == (code, err.splitlines()[-1].rpartition(": ")[2])
        code, _, err = await command(*reset, stdin=f"李雷\n{OTHER}\n")
        assert 0 == code, err
        assert [303, 422] == [await signed_in(running.url, "李雷", word) for word in (OTHER, PASSWORD)]
        assert 0 == await running.stop()
    assert not [line for line in running.log if PASSWORD in line or OTHER in line]


async def test_where_no_gateway_runs(config: Path) -> None:
    """It is done on the database itself, which is made for it; the log of acts tells of it without a name or a password."""
    code, _, err = await command("admin", "first-owner", "ann", "--config", config, stdin=f"{PASSWORD}\n")
    assert 0 == code, err
    code, _, err = await command("admin", "first-owner", "bob", "--reset", "--config", config, stdin=f"bob\n{OTHER}\n")
    assert 0 == code, err

    entries = rows(storage_of(config), "SELECT actor, operation, outcome, about FROM admin_audit ORDER BY id")
    assert [("local", "users.add", "done")] * 2 == [entry[:3] for entry in entries]
    assert {"user": 1, "grants": "owner@*"} == json.loads(entries[0][3])
    users = rows(storage_of(config), "SELECT name, password FROM admin_users ORDER BY id")
    assert ["ann", "bob"] == [name for name, _ in users]
    assert all(kept.startswith("$argon2id$v=19$m=65536") for _, kept in users)


async def test_a_user_who_is_no_owner_can_be_made_one(config: Path) -> None:
    """With `--reset`, for whom the last owner left behind: the password is set, and the role given."""
    first = ["admin", "first-owner", "ann", "--reset", "--config", config]
    assert 0 == (await command(*first, stdin=f"ann\n{PASSWORD}\n"))[0]
    write(storage_of(config), "UPDATE admin_grants SET role = 'viewer'")
    code, _, err = await command(*first, stdin=f"ann\n{OTHER}\n")

    assert 0 == code, err
    assert [("owner",)] == [tuple(row) for row in rows(storage_of(config), "SELECT role FROM admin_grants")]


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "says"),
    [
        (["first-owner"], "", 2, "usage: "),
        (["first-owner", "a", "b"], "", 2, "usage: "),
        (["first-owner", "ann"], "", 1, "no password came in"),
        (["first-owner", "ann"], "short\n", 1, "at least 12"),
        (["first-owner", " ann"], f"{PASSWORD}\n", 1, "is no name"),
    ],
)
async def test_what_can_not_be_done_is_told(
    tmp_path: Path, arguments: list[str], stdin: str, code: int, says: str
) -> None:
    config = write_config(tmp_path, "")
    found, out, err = await command("admin", *arguments, "--config", config, stdin=stdin)

    assert (code, "") == (found, out)
    assert says in err
    assert PASSWORD not in err


async def test_a_killed_gateways_door_is_not_in_the_way(tmp_path: Path) -> None:
    """It leaves the note of its door behind; the database itself is free."""
    config = write_config(tmp_path, "")
    async with gateway(config) as running:
        await running.kill()
    assert (tmp_path / "clew.db.door").exists()
    code, _, err = await command("admin", "first-owner", "ann", "--config", config, stdin=f"{PASSWORD}\n")

    assert 0 == code, err


@pytest.mark.parametrize(("again", "code"), [(PASSWORD, 0), (OTHER, 1)])
async def test_a_password_is_typed_twice_and_not_shown(tmp_path: Path, again: str, code: int) -> None:
    """On a terminal; two that differ change nothing."""
    config = write_config(tmp_path, "")
    ours, theirs = pty.openpty()
    arguments = ["-m", "gateway", "admin", "first-owner", "ann", "--config", str(config)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=ROOT, env=environ(), stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        for prompt, typed in ((b"Password: ", PASSWORD), (b"Once more: ", again)):
            while prompt not in shown:
                shown += await asyncio.to_thread(os.read, ours, 1024)
            os.write(ours, f"{typed}\n".encode())
        async with asyncio.timeout(60):
            found = await process.wait()
    finally:
        os.close(ours)

    assert code == found, shown
    assert PASSWORD.encode() not in shown
