"""The README's own words, run as a newcomer would."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.world import ROOT, SECRET, Gateway, environ

README = (ROOT / "README.md").read_text("utf-8")


def block(start: str) -> str:
    """Return the README's code block that begins with `start`."""
    blocks = re.findall(r"```\w+\n(.*?)```", README, re.DOTALL)
    return next(text for text in blocks if text.startswith(start))


async def python(*arguments: str, cwd: Path = ROOT, **env: str) -> tuple[int, str]:
    """Run `python -m …`; return exit code and output."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *arguments, cwd=cwd, env=environ(**env), stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(60):
        out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


async def test_the_first_webhook(tmp_path: Path) -> None:
    """The settings check, the signed curl is answered, a repeat is the same turn, and explain and replay show it."""
    config = tmp_path / "my.yaml"
    config.write_text(f"storage: sqlite:///{tmp_path}/clew.db\n" + block("# my.yaml"), "utf-8")
    assert 0 == (await python("gateway", "check", "--config", str(config), ORDERS_SECRET=SECRET))[0]
    process = Gateway(config, environ(ORDERS_SECRET=SECRET, CLEW_PORT="0"), forked=False)
    try:
        await process.start()
        script = block("BODY=").replace("http://127.0.0.1:8080", process.url)
        turns = [json.loads(await bash(script)) for _ in range(2)]
        turn = turns[0]["turn"]
        explained = await python("gateway", "explain", turn, "--config", str(config), ORDERS_SECRET=SECRET)
        replayed = await python("gateway", "replay", turn, "--config", str(config), ORDERS_SECRET=SECRET)
    finally:
        await process.end()

    assert "answered" == turns[0]["status"]
    assert "8821" in turns[0]["reply"]["text"]
    assert turns[0] == turns[1]
    assert "Running shoes, order tail 8821" in explained[1]
    assert (0, True) == (replayed[0], replayed[1].startswith("identical"))


async def bash(script: str) -> str:
    process = await asyncio.create_subprocess_exec(
        "bash", "-euc", script, env=environ(ORDERS_SECRET=SECRET), stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(30):
        out, _ = await process.communicate()
    return out.decode()


async def test_the_first_agents(tmp_path: Path) -> None:
    """The settings of "Your first agent" are valid, and `show` tells which line gives a room its agent."""
    config = tmp_path / "my.yaml"
    config.write_text(block("agents:\n  shop: {model"), "utf-8")
    code, shown = await python("gateway", "show", "team", "careers", "--config", str(config), ORDERS_SECRET=SECRET)

    assert 0 == code
    line = next(line for line in shown.splitlines() if line.startswith("agent "))
    assert '"jobs"' in line
    assert f"{config}:12 (room)" in line


@pytest.mark.judge
@pytest.mark.timeout(300)
def test_make_run_in_a_fresh_clone(tmp_path: Path) -> None:
    """With Python and nothing else, `make run` comes to the ready line, and the page is there."""
    clone = tmp_path / "clew"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("COV", "PYTEST", "VIRTUAL"))}
    with subprocess.Popen(
        ["make", "run"],
        cwd=clone,
        env=env | {"CLEW_PORT": "0"},
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            ready = next(line for line in process.stdout if line.startswith("Clew is ready"))
            page = subprocess.run(
                ["curl", "-s", ready.split()[3]], check=True, capture_output=True, text=True, timeout=30
            ).stdout
        finally:
            os.killpg(process.pid, signal.SIGTERM)

    assert "(agent: demo)" in ready
    assert "<title>Clew" in page
    assert (clone / ".clew" / "clew.db").exists()
