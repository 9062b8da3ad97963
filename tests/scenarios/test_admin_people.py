"""What admins do about persons, through the real process on both databases: an account is found, what is known of it is seen with
its sources and mended, two accounts become one person and two again, and an erasure leaves nothing, in the audit log neither."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.residues import in_postgres, in_sqlite, left_of
from tests.scenarios.eyes import Eyes
from tests.scenarios.remembered import learned
from tests.scenarios.stage import Stage, stage
from tests.scenarios.world import in_folder

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}, memory: {model: none}}
  other: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}, memory: {model: none}}
  mute: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}, memory: {facts: {enabled: false}}}
  chat: {kind: console}
"""
ME, NAME = "Zwölfender-77", "Hieronymus 洛汀"
WORDS = (ME, NAME, "Quittengelee", "琥珀色河马")


@pytest.fixture(params=["sqlite", "postgres"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    storage = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    async with stage(tmp_path, BODY, storage=storage) as running:
        yield running


def residues(world: Stage) -> list[str]:
    """What of the person is left in the raw bytes of the storage."""
    storage = world.storage or in_folder(world.folder)
    return left_of(WORDS, in_sqlite(world.database) if storage.startswith("sqlite") else in_postgres(storage))


async def says(world: Stage, text: str, *, sender: str = ME, channel: str = "hook", name: str = NAME) -> None:
    """Say something in private, and wait until it is learned from."""
    await world.hook(channel).say(text, sender=sender, name=name, conversation=f"c-{channel}-{len(sender)}")
    await learned(world.storage or in_folder(world.folder))


async def person_of(eyes: Eyes, who: str) -> str:
    (line,) = (await eyes.get("/people", who=who))["people"]
    return str(line["person"])


async def known(eyes: Eyes, person: str) -> list[str]:
    return [thing["value"] for thing in (await eyes.get(f"/people/{person}"))["things"]]


async def test_a_person_is_found_mended_and_erased(world: Stage) -> None:
    """The next prompt says what the admin corrected; once erased, not a byte of words, name or account is left, the audit log
    included, which still tells who did it to whom (B46)."""
    admin, operator = Eyes(world, "admin"), Eyes(world, "operator", "hook")
    await says(world, "I like Quittengelee. I live in Oslo.")
    await says(world, "我喜欢琥珀色河马")
    person = await person_of(admin, ME)

    told = await operator.get(f"/people/{person}")
    assert {"Quittengelee", "Oslo", "琥珀色河马"} == {thing["value"] for thing in told["things"]}
    (home,) = [thing for thing in told["things"] if thing["value"] == "Oslo"]
    assert ("I like Quittengelee. I live in Oslo.", "hook") == (
        home["sources"][0]["text"],
        home["sources"][0]["channel"],
    )
    status, _ = await operator.ask("POST", f"/people/{person}/correct", json={"thing": home["id"], "value": "Bergen"})
    assert 403 == status
    await admin.post(f"/people/{person}/correct", {"thing": home["id"], "value": "Bergen"})
    jam = next(thing for thing in told["things"] if thing["value"] == "Quittengelee")
    await operator.post(f"/people/{person}/forget", {"things": [jam["id"]]})
    await world.hook().say("where do I live?", sender=ME, name=NAME, conversation="new talk")
    assert "Bergen" in world.model.prompts[-1][0]["content"]
    assert "Quittengelee" not in world.model.prompts[-1][0]["content"]
    await learned(world.storage or in_folder(world.folder))

    await world.hook().say("/forget me", sender=ME, name=NAME, conversation="new talk")
    (asked,) = (await admin.get("/privacy-requests"))["requests"]
    assert (person, "erasure", "hook") == (asked["person"], asked["kind"], asked["channel"])
    status, text = await admin.ask("GET", f"/people/{person}/export")
    assert 200 == status
    document = json.loads(text)
    assert {row["value"] for row in document["profile"] if row["status"] == "active"} >= {"Bergen", "琥珀色河马"}
    assert {"/forget me", "where do I live?"} <= {row["text"] for row in document["queue"]}, (
        "what memory has none of, too"
    )
    assert ([NAME], ["erasure"]) == (document["names"], [one["kind"] for one in document["requests"]])
    counted = await admin.post(f"/people/{person}/erase", {})
    assert (False, 1) == (counted["done"], counted["counts"]["identities"])
    erased = await admin.post(f"/people/{person}/erase", {"confirm": True})

    assert erased["done"]
    assert erased["counts"]["messages"] >= counted["counts"]["messages"]
    assert [] == residues(world)
    left = await admin.get("/privacy-requests")
    assert ([], []) == (left["requests"], left["unfinished"])
    assert [] == (await admin.get("/people", who=ME))["people"]
    entries: list[dict[str, Any]] = (await admin.get("/audit"))["entries"]
    about = [entry for entry in entries if entry["operation"] == "people.erase"]
    assert [person, person] == [entry["about"]["person"] for entry in about]


async def test_a_person_is_found_by_any_part_of_a_name(world: Stage) -> None:
    """In either language, by one character too, where the actor may know of it; also where nothing is learned of anybody."""
    admin, operator, other = Eyes(world, "admin"), Eyes(world, "operator", "hook"), Eyes(world, "operator", "other")
    await says(world, "hello", name="Ｊürgen 王小龙")
    await says(world, "hello", sender="second", channel="other", name="王大明")
    await says(world, "hello", sender="third", channel="mute", name="Åsa")
    one, third = await person_of(admin, "JURGEN"), await person_of(admin, "asa")

    assert third == await person_of(admin, "third")
    assert one == await person_of(operator, "小龙")
    assert 2 == len((await admin.get("/people", who="王"))["people"])
    assert [["王大明"]] == [line["names"] for line in (await other.get("/people", who="王"))["people"]]
    assert [] == (await other.get("/people", who="小龙"))["people"]


async def test_two_accounts_become_one_person_and_two_again(world: Stage) -> None:
    """The agent knows on both channels what was said on either, and after the undoing no more of the other than before: at
    once, though the gateway remembers who is who."""
    admin = Eyes(world, "admin")
    await says(world, "I like Quittengelee.")
    await says(world, "I live in Oslo.", sender="second", channel="other", name="Two")
    one, two = await person_of(admin, ME), await person_of(admin, "second")

    made = await admin.post(f"/people/{one}/link", {"other": two, "confirm": True})
    assert ["Quittengelee", "Oslo"] == await known(admin, made["survivor"])
    await says(world, "what do you know?", sender="second", channel="other", name="Two")
    assert "Quittengelee" in world.model.prompts[-1][0]["content"]
    parted = await admin.post("/people/unlink", {"link": made["link"]})

    assert parted["as_it_was"]
    assert (["Quittengelee"], ["Oslo"]) == (await known(admin, one), await known(admin, two))
    await says(world, "and now?", sender="second", channel="other", name="Two")
    assert "Quittengelee" not in world.model.prompts[-1][0]["content"]
    assert "Oslo" in world.model.prompts[-1][0]["content"]


async def test_an_operator_of_one_channel_meets_nobody_of_another(world: Stage) -> None:
    """By no account and no number, and nothing of it is theirs to change (IDOR)."""
    admin, other = Eyes(world, "admin"), Eyes(world, "operator", "other")
    await says(world, "I like Quittengelee.")
    person = await person_of(admin, ME)
    thing = (await admin.get(f"/people/{person}"))["things"][0]

    assert [] == (await other.get("/people", who=ME))["people"]
    tries = [
        await other.ask("GET", f"/people/{person}"),
        await other.ask("POST", f"/people/{person}/forget", json={"things": [thing["id"]]}),
        await other.ask("GET", "/people/4711"),
    ]
    assert {404} == {status for status, _ in tries}
    for method, path, body in (
        ("GET", f"/people/{person}/export", None),
        ("POST", f"/people/{person}/erase", {"confirm": True}),
        ("POST", f"/people/{person}/link", {"other": "1", "confirm": True}),
        ("GET", "/privacy-requests", None),
    ):
        assert 403 == (await other.ask(method, path, json=body))[0]
    assert ["Quittengelee"] == await known(admin, person)
