"""The README's "Run it for a company", step by step from its own text: one file becomes three gateways behind a load balancer."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest

from tests.scenarios.world import ROOT, Gateway, Hook, environ, gateway, write_config
from tests.services import Postgres, Valkey, free_port

TEXT = (ROOT / "README.md").read_text("utf-8").partition("\n## Run it for a company\n")[2].partition("\n## ")[0]
BODY = """
agents: {shop: {kind: demo}}
defaults: {agent: shop}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}}
"""

pytestmark = [pytest.mark.judge, pytest.mark.timeout(300)]


def step(start: str) -> str:
    """Return the section's code block that begins with `start`."""
    return next(text for text in re.findall(r"```\w+\n(.*?)```", TEXT, re.DOTALL) if text.startswith(start))


async def bash(script: str, **env: str) -> None:
    process = await asyncio.create_subprocess_exec("bash", "-euc", script, cwd=ROOT, env=environ(**env))
    async with asyncio.timeout(120):
        assert 0 == await process.wait(), script


@asynccontextmanager
async def company(folder: Path, server: Postgres, cache: Valkey) -> AsyncIterator[tuple[list[Gateway], Gateway]]:
    """Take all steps of the section; yields the three gateways, and where the load balancer is."""
    # What there is: one gateway, one file, one talk.
    small = write_config(folder, BODY)
    async with gateway(small) as one, aiohttp.ClientSession() as session:
        assert "answered" == (await Hook(session, one).say("My order number is 8821.", message_id="m-1"))["status"]
        await one.stop()

    # 1. A database.
    role, database = f"clew_{server.port}", f"company_{server.port}"
    sql = (
        step("CREATE ROLE")
        .replace("ROLE clew", f"ROLE {role}")
        .replace("DATABASE clew OWNER clew", f"DATABASE {database} OWNER {role}")
    )
    with psycopg.connect(server.url("postgres", admin=True), autocommit=True) as admin:
        for line in sql.splitlines():
            admin.execute(line)  # type: ignore[arg-type]
        # As many as PostgreSQL lets in by default, but for those it keeps for its superusers.
        admin.execute(f"ALTER ROLE {role} CONNECTION LIMIT 97")
    env = {
        "CLEW_DATABASE": f"postgresql://{role}:change-me@127.0.0.1:{server.port}/{database}",
        "CLEW_REDIS": cache.emptied(),
    }

    # 2. The settings, on every machine the same.
    config = folder / "company.yaml"
    lines = step("# clew.yaml").replace("0.0.0.0", "127.0.0.1").replace("10.0.0.10", "127.0.0.1")
    config.write_text(BODY + lines.replace("server:\n", "server:\n  port: 0\n") + "embedder: {kind: none}\n", "utf-8")

    # 3. What there is comes along.
    where = (".venv/bin/python", "clew.yaml", "sqlite:///.clew/clew.db")
    there = (str(ROOT / ".venv/bin/python"), str(config), f"sqlite:///{folder / 'clew.db'}")
    await bash(_with(step(".venv/bin/python -m gateway db copy"), where, there), **env)

    # 4. Three gateways.
    check, _, serve = step(".venv/bin/python -m gateway check").strip().partition("\n")
    await bash(_with(check, where, there), **env)
    command = _with(serve, where, there).split()[2:]
    async with AsyncExitStack() as running:
        gateways = [await running.enter_async_context(gateway(config, command=command, **env)) for _ in range(3)]
        # 5. The load balancer.
        balancer = await running.enter_async_context(balanced(folder, gateways))
        yield gateways, balancer
    with psycopg.connect(server.url("postgres", admin=True), autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {database} WITH (FORCE)")
        admin.execute(f"DROP ROLE {role}")


@asynccontextmanager
async def balanced(folder: Path, gateways: list[Gateway]) -> AsyncIterator[Gateway]:
    """Run HAProxy with the section's settings before the gateways; yields where it listens, over TLS."""
    program = shutil.which("haproxy") or "/usr/sbin/haproxy"
    pem, port = folder / "bot.pem", free_port()
    key, cert = folder / "key", folder / "cert"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=localhost",
        "-keyout",
    ]
    subprocess.run([*made, key, "-out", cert], check=True, capture_output=True)
    pem.write_text(cert.read_text("utf-8") + key.read_text("utf-8"), "utf-8")
    text = (
        step("# /etc/haproxy")
        .replace("/etc/haproxy/bot.example.com.pem", str(pem))
        .replace("bind :443", f"bind 127.0.0.1:{port}")
    )
    for number, one in enumerate(gateways, start=11):
        text = text.replace(f"10.0.0.{number}:8080", one.url.removeprefix("http://"))
    config = folder / "haproxy.cfg"
    config.write_text(text, "utf-8")
    process = await asyncio.create_subprocess_exec(program, "-db", "-f", str(config))
    try:
        there = Gateway(config, {})
        there.url = f"https://localhost:{port}"
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as session, asyncio.timeout(30):
            while not await _ready(session, there.url):
                await asyncio.sleep(0.05)
        yield there
    finally:
        process.terminate()
        await process.wait()


async def _ready(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(f"{url}/readyz") as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


def _with(text: str, these: tuple[str, ...], those: tuple[str, ...]) -> str:
    for this, that in zip(these, those, strict=True):
        text = text.replace(this, that)
    return text


async def test_from_one_file_to_three_gateways(
    tmp_path: Path, postgres_server: Postgres, valkey_server: Valkey
) -> None:
    """What was said to the one is known to the three; a killed one, and an upgrade of each in turn, is not noticed outside."""
    async with (
        company(tmp_path, postgres_server, valkey_server) as (gateways, balancer),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as session,
    ):
        hook = Hook(session, balancer)
        before = await hook.say("What did I say?", message_id="m-2")
        again = await hook.say("What did I say?", message_id="m-2")

        assert ("answered", before["turn"]) == (before["status"], again["turn"])
        assert "8821" in before["reply"]["text"]

        streamed = await hook.say("Are you there?", mode="async")
        assert "answered" == (await hook.settled(streamed))["status"]

        async with session.get(f"{balancer.url}/metrics") as response:
            assert 404 == response.status

        await gateways[0].kill()
        assert ["answered"] * 6 == [(await hook.say(f"还在吗 {n}", conversation=f"c{n}"))["status"] for n in range(6)]
        await gateways[0].start()

        answers = asyncio.create_task(_trickle(hook))
        for one in gateways:
            assert 0 == await one.stop()
            await one.start()
            await bash(step("systemctl stop").splitlines()[-1].replace("http://127.0.0.1:8080", one.url))
        answers.cancel()
        said = await answers

        assert said
        assert {"answered"} == set(said)


async def _trickle(hook: Hook) -> list[str]:
    """Say one thing after the other until cancelled; return how each ended. Who waits at a gateway that stops is told of the turn
    as it is, and follows it elsewhere."""
    said: list[str] = []
    while (task := asyncio.current_task()) is not None and not task.cancelling():
        try:
            turn = await hook.say("今天怎么样？", conversation="trickle")
            said.append((turn if turn["status"] == "answered" else await _followed(hook, turn))["status"])
        except asyncio.CancelledError:
            break
    return said


async def _followed(hook: Hook, turn: dict[str, Any]) -> dict[str, Any]:
    """Follow a turn to its end as a browser does: where a stream ends too early, it connects again."""
    while True:
        with suppress(AssertionError, aiohttp.ClientError):
            return await hook.settled(turn)
