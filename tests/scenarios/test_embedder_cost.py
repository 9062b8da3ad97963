"""What recall by meaning costs where a service embeds, through the real process: counted for whoever's words were sent there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.contracts.embedder import vectors_of
from tests.model_server import ModelServer, model_server, silent
from tests.scenarios.eyes import Eyes
from tests.scenarios.stage import Stage, echo, stage
from tests.scenarios.world import rows

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub, retries: 0}}
embedder: {kind: openai, base_url: "EMBEDDER", model: m-3, dims: 3, threshold: 0.9, question_s: 20}
prices: {models: {stub: {input: 1, output: 4}, m-3: {input: 0.02, output: 0}}}
defaults: {memory: {model: none}}
channels: {shop: {kind: webhook, secrets: ["${HOOK}"]}}
"""
SPENT = """SELECT turn_id, channel, person, agent, model, estimated, prompt, money FROM usage_entries
  WHERE purpose = 'memory' ORDER BY id"""


async def embeddings(server: ModelServer, request: web.Request) -> web.StreamResponse:
    """A hundred tokens a text."""
    vectors = vectors_of(server.bodies[-1], dims=3)
    items = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    return web.json_response({"data": items, "usage": {"prompt_tokens": 100 * len(items)}})


async def counted(world: Stage, least: int) -> list[tuple[Any, ...]]:
    async with asyncio.timeout(30):
        while len(found := world.rows(SPENT)) < least:
            await asyncio.sleep(0.05)  # another process's writes tell nobody
    return found


async def test_an_embedder_s_requests_are_counted_for_whom_they_are(tmp_path: Path) -> None:
    """What was said and answered is embedded after the reply, the next question before it: each for its turn, person and channel,
    at its model's price; an admin sees it beside the answers."""
    async with model_server() as embedder:
        embedder.will(embeddings)
        async with stage(tmp_path, BODY.replace("EMBEDDER", embedder.url)) as world:
            world.play(echo)
            shop = world.hook("shop")
            said = await shop.say("I wear size 42 shoes.", sender="ada")
            later = await counted(world, 1)
            asked = await shop.say("which sneakers?", sender="ada")
            question = (await counted(world, len(later) + 1))[len(later)]
            persons = world.rows("SELECT id FROM persons")
            told = (await Eyes(world, "viewer").get("/usage", by="agent"))["lines"]
            trace = await Eyes(world, "viewer").get(f"/turns/{asked['turn']}/usage")

    ((person,),) = persons
    assert [(int(said["turn"]), "shop"), (0, "")] == [one[:2] for one in later], "the item learned is of no channel"
    assert {(person, "(embedder)", "m-3", 0)} == {one[2:6] for one in later}
    assert (300, 6) == (sum(one[6] for one in later), sum(one[7] for one in later))
    assert (int(asked["turn"]), "shop", person, "(embedder)", "m-3", 0, 100, 2) == question
    assert "(embedder)" in {one["key"] for one in told}
    assert {"message", "answer", "memory"} == {one["purpose"] for one in trace["lines"]}


async def test_what_was_asked_as_the_gateway_stopped_is_counted(tmp_path: Path) -> None:
    """Its service charges for it though nobody waits for the answer; it is estimated, as no ledger has it."""
    async with model_server() as embedder:
        embedder.will(silent)
        async with stage(tmp_path, BODY.replace("EMBEDDER", embedder.url)) as world:
            world.play(echo)
            await world.hook("shop").say("I wear size 42 shoes.", sender="ada")
            async with asyncio.timeout(30):
                while not embedder.bodies:
                    await asyncio.sleep(0.05)  # another process's requests tell nobody

    left = rows(f"sqlite:///{tmp_path / 'clew.db'}", SPENT)
    assert {("(embedder)", "m-3", 1)} == {one[3:6] for one in left}
    assert all(one[6] > 0 for one in left)
