"""Cost and quotas through the real process, on both databases: seen at each door, raised while it runs, and without a person who
is erased."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.scenarios.eyes import Eyes
from tests.scenarios.stage import Stage, echo, stage
from tests.scenarios.world import command

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub, retries: 0}}
prices: {currency: CNY, models: {stub: {input: 1, output: 4}}}
defaults: {memory: {model: none}, quota: {person: {messages: {day: LIMIT}}}}
channels: {shop: {kind: webhook, secrets: ["${HOOK}"]}, other: {kind: webhook, secrets: ["${HOOK}"]}}
"""


@pytest.fixture(params=["sqlite", "postgres"])
async def world(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[Stage]:
    storage = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    async with stage(tmp_path, BODY.replace("LIMIT", "2"), storage=storage) as running:
        running.model.usage = (300, 50)
        yield running


async def written(world: Stage, messages: int) -> None:
    """Wait until so many messages, and as many calls, are counted."""
    async with asyncio.timeout(20):
        while world.rows("SELECT coalesce(sum(messages), 0), coalesce(sum(calls), 0) FROM usage_days") != [
            (messages, messages)
        ]:
            await asyncio.sleep(0.05)  # another process's writes tell nobody


async def test_what_was_spent_is_seen_and_a_quota_raised(world: Stage) -> None:
    """By REST and on the command line, by who may see it; a quota that is raised holds at once, and drops nobody."""
    world.play(echo)
    shop = world.hook("shop")
    turns = [await shop.say(f"q{number}", sender="ada 艾达") for number in range(3)]
    await world.hook("other").say("hi", sender="bob")
    await written(world, 3)
    viewer, of_shop, operator = Eyes(world, "viewer"), Eyes(world, "viewer", "shop"), Eyes(world, "operator")

    told = await viewer.get("/usage", by="channel")
    assert [("shop", 2, "0.001000"), ("other", 1, "0.000500")] == [
        (one["key"], one["messages"], one["money"]) for one in told["lines"]
    ]
    assert ("CNY", "0.001500", 3) == (told["currency"], told["total"]["money"], told["total"]["calls"])
    assert ["0.001000"] == [one["money"] for one in (await of_shop.get("/usage"))["lines"]]
    names = [one["name"] for one in (await operator.get("/usage", by="person"))["lines"]]
    assert ["webhook ada 艾达", "webhook bob"] == names
    (near,) = (await viewer.get("/quotas"))["lines"]
    assert ("person", "2", "2", True) == (near["kind"], near["used"], near["most"], near["over"])
    cost = await viewer.get(f"/turns/{turns[0]['turn']}/usage")
    assert ("0.000500", ["message", "answer"]) == (cost["money"], [one["purpose"] for one in cost["lines"]])

    arguments = (
        "admin",
        "usage.summary",
        "by=model",
        "--json",
        "--url",
        world.gateway.url,
        "--config",
        world.gateway.config,
    )
    token = viewer.headers["Authorization"].removeprefix("Bearer ")
    code, out, err = await command(*arguments, CLEW_TOKEN=token)
    assert 0 == code, err
    assert {"stub", ""} == {one["key"] for one in json.loads(out)["lines"]}

    assert "quota_person_messages_day" == turns[2]["error"]["code"]
    await world.change(BODY.replace("LIMIT", "3"))
    assert "answered" == (await shop.say("q3", sender="ada 艾达"))["status"]


async def test_an_erased_person_spent_nothing_that_can_be_known(world: Stage) -> None:
    """The sums stay; in no row is a number of theirs, and they begin anew as somebody else."""
    world.play(echo)
    shop = world.hook("shop")
    for sender in ("ada", "ada", "bob"):
        await shop.say("hi", sender=sender)
    await written(world, 3)
    owner = Eyes(world, "owner")
    before = await owner.get("/usage", by="person")
    ada = before["lines"][0]["key"]

    await owner.post(f"/people/{ada}/erase", {"confirm": True})

    after = await owner.get("/usage", by="person")
    assert before["total"] == after["total"]
    assert [("", 2), (before["lines"][1]["key"], 1)] == [(one["key"], one["messages"]) for one in after["lines"]]
    left = "SELECT count(*) FROM usage_entries WHERE person = {} UNION ALL SELECT count(*) FROM usage_counts WHERE name = '{}'"
    assert {(0,)} == set(world.rows(left.format(ada, ada)))
    assert "answered" == (await shop.say("hi again", sender="ada"))["status"]
