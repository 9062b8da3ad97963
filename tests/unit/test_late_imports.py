"""Libraries that take long to load are loaded beside the event loop, whatever asks for them first: a loop that stands still for a
second or more loses its conversations to other instances."""

from __future__ import annotations

import subprocess
import sys

import pytest

WATCHED = """
import asyncio, sys, threading
HEAVY = ("openai", "httpx2", "authlib", "joserfc", "pydantic._internal")
on_the_loop, beside = set(), set()

class Watch:
    def find_spec(self, name, path, target=None):
        if name in HEAVY:
            here = threading.current_thread() is threading.main_thread() and asyncio._get_running_loop() is not None
            (on_the_loop if here else beside).add(name)
        return None

sys.meta_path.insert(0, Watch())
CLOSED = "http://127.0.0.1:9/v1"

async def tried(work):
    try:
        async with asyncio.timeout(20):
            await work
    except Exception as fault:
        assert "127.0.0.1" in str(fault) or "provider" in str(fault), repr(fault)
    print(sorted(on_the_loop), "openai" in beside, "authlib" in beside)
"""
AGENT = """
from config.settings import AgentSettings
from gateway.agents.openai import OpenAIAgent
agent = OpenAIAgent(AgentSettings.model_validate({"base_url": CLOSED, "api_key": "k", "retries": 0}))
"""
WAYS = {
    "a probe": AGENT + "work = agent.probe()",
    "an answer": AGENT + """
import time
from tests.model_server import caller, context
async def asked():
    async for _ in agent.answer(context("Hello? 你好？"), caller=caller(), deadline=time.monotonic() + 9):
        pass
work = asked()
""",
    "vectors": """
from config.settings import EmbedderSettings
from memory.embedders.choice import choose_embedder
embedder = choose_embedder(EmbedderSettings.model_validate(
    {"kind": "openai", "model": "text-embedding-3-small", "base_url": CLOSED, "api_key": "k", "retries": 0}))
work = embedder.embed(["Hello? 你好？"])
""",
    "a sign-in": """
from config.admin import OidcSettings
from gateway.admin.oidc import Provider
settings = OidcSettings(issuer="http://127.0.0.1:9", client_id="clew", client_secret="x")
work = Provider(settings).begin("http://127.0.0.1/back", now_s=1)
""",
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_takes_long_to_load_is_loaded_beside_the_loop(way: str) -> None:
    """By a process that is new, and asks for it for the first time."""
    code = WATCHED + WAYS[way] + "\nasyncio.run(tried(work))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    expected = "[] False True" if way == "a sign-in" else "[] True False"
    assert expected == done.stdout.strip(), done.stderr[-1500:]
