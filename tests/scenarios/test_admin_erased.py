"""Who is erased is erased from where others took part, too: a group that a human had, and all that admins looked at and did. B46,
mem0ai/mem0#3245."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.residues import in_postgres, in_sqlite, left_of
from tests.scenarios.eyes import Eyes
from tests.scenarios.platforms import echo
from tests.scenarios.remembered import learned
from tests.scenarios.stage import stage
from tests.scenarios.test_admin_dead_letters import given_up, until, until_answered
from tests.scenarios.test_admin_takeover import staffed
from tests.scenarios.world import command, in_folder
from tests.scenarios.world import rows as stored

WAY = "telegram-polling"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_speaker_is_erased_from_a_group_that_a_human_has(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """What one of several said goes from the staff's room's queue, while the others' talk and the take-over stand; with whom
    the human answered goes what the human said to them, words and account."""
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    storage = url or in_folder(tmp_path)

    def left(*words: str) -> list[str]:
        return left_of(words, in_postgres(storage) if url else in_sqlite(tmp_path / "clew.db"))

    async def erased(account: int) -> None:
        config = str(there.world.config)
        listed = json.loads((await command("people", "list", "--json", "--config", config))[1])
        (person,) = [one["person"] for one in listed if any(i["account"] == str(account) for i in one["identities"])]
        code, _, err = await command("people", "erase", person, "--json", "--config", config)
        assert 0 == code, err

    async with staffed(tmp_path, ways=(WAY,), storage=url) as there:
        there.world.play(echo)
        tg, bot, desk = there.world.tg, there.world.telegram(WAY).bot, there.desks[WAY]
        zoe, bea = tg.person("Zoe"), tg.person("Bea Löwenzahn")
        group = tg.group("help", zoe, bea, bots=(bot,))
        zoe.says(group, f"@{bot.username} /human")
        await desk.answers("Stachelbeere 大家", to="asks for a human")
        await group.until(lambda chat: any("Stachelbeere" in one.text for one in chat.replies()), timeout_s=20)
        bea.says(group, "my jam is Quittengelee 琥珀色河马")
        assert "Bea Löwenzahn" in await desk.until("Quittengelee")
        zoe.says(group, "still Seegurke here")
        assert "Zoe" in await desk.until("Seegurke"), "each is told by who said it"
        words = ("Quittengelee", "琥珀色河马", "Löwenzahn", "Stachelbeere", "Seegurke")
        assert list(words) == left(*words)

        await erased(bea.id)

        assert ["Stachelbeere", "Seegurke"] == left(*words)
        assert [(1,)] == stored(storage, "SELECT count(*) FROM takeovers WHERE state = 'active'")
        await desk.answers("Mitternachtsblau", to="still Seegurke here")
        await group.until(lambda chat: any("Mitternachtsblau" in one.text for one in chat.replies()), timeout_s=20)
        account = 'SELECT count(*) FROM messages WHERE "user" = ?'
        assert 0 < stored(storage, account, str(zoe.id))[0][0]

        await erased(zoe.id)

        assert [] == left(*words, "Mitternachtsblau")
        assert 0 == stored(storage, account, str(zoe.id))[0][0]


BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
queue: {poll_s: 0.1, attempts: 1}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}, memory: {model: none}}}
"""
ME, NAME = "u1", "Hieronymus 洛汀"
WORDS = ("Hieronymus", "洛汀", "Quittengelee", "琥珀色河马", "Stachelbeere", "Sternfrucht", "杨桃", "Seegurke")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_of_an_erased_person_admins_keep_numbers_alone(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """However they looked for them, at what they said, at its traces and letters, answered and corrected in words of their own:
    no word or name is left in the database, the audit log and its export among it, nor in the gateway's log; what was spent is
    nobody's."""
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    storage = url or in_folder(tmp_path)
    async with stage(tmp_path, BODY, storage=url) as there:
        owner, operator, viewer = Eyes(there, "owner"), Eyes(there, "operator", "hook"), Eyes(there, "viewer")
        turn = await there.hook().say("I like Quittengelee 琥珀色河马.", sender=ME, name=NAME)
        lost = await given_up(there, "where is Stachelbeere?")
        await learned(storage)
        (found,) = (await owner.get("/people", who="洛汀"))["people"]
        person, looked = found["person"], [await owner.ask("GET", "/people", who=f"webhook:hook:{ME}")]
        thing = (await operator.get(f"/people/{person}"))["things"][0]
        await owner.post(f"/people/{person}/correct", {"thing": thing["id"], "value": "杨桃"})
        (talk,) = (await owner.get("/conversations", person=person))["conversations"]
        for path, query in (
            ("/messages", {"words": "Quittengelee"}),
            (f"/conversations/{talk['conversation']}/messages", {}),
            ("/turns", {"person": person}),
            (f"/turns/{turn['turn']}", {}),
            (f"/turns/{turn['turn']}/why", {}),
            (f"/turns/{turn['turn']}/usage", {}),
            (f"/dead-letters/{lost['turn']}", {}),
            (f"/people/{person}/export", {}),
        ):
            looked.append(await operator.ask("GET", path, **query))
            looked.append(await owner.ask("GET", path, **query))
        assert {200, 403} == {status for status, _ in looked}
        assert 403 == (await viewer.ask("GET", "/people", who=NAME))[0]
        many = {"act": "answer", "turns": [lost["turn"]], "text": "Sternfrucht tomorrow"}
        assert ["by_hand"] == [one["done"] for one in (await operator.post("/dead-letters/many", many))["results"]]
        await until_answered(there, lost)
        waits = await given_up(there, "and Seegurke?")

        async def spent() -> bool:
            return bool(stored(storage, "SELECT 1 FROM usage_days WHERE person = ?", int(person)))

        await until(spent)

        def left() -> list[str]:
            data = in_postgres(storage) if url else in_sqlite(there.database)
            return left_of(WORDS, data + "\n".join(there.gateway.log).encode())

        assert list(WORDS) == left()

        await owner.post(f"/people/{person}/erase", {"confirm": True})

        assert [] == left()
        entries = (await owner.get("/audit", limit="200"))["entries"]
        assert {"people.find", "people.correct", "dead-letters.many", "people.erase"} <= {
            entry["operation"] for entry in entries
        }
        told = [str(value) for entry in entries for value in entry["about"].values() if value is not None]
        assert [] == [value for value in told if not re.fullmatch(r"[a-z0-9_ .-]*", value)]
        assert [] == left_of((*WORDS, f'"{ME}"'), (await owner.ask("GET", "/audit/export"))[1].encode())
        assert [] == (await owner.get("/dead-letters"))["letters"]
        for path in (f"/turns/{turn['turn']}", f"/turns/{waits['turn']}", f"/turns/{lost['turn']}/why"):
            status, text = await owner.ask("GET", path)
            assert (200, []) == (status, left_of((*WORDS, f'"{ME}"'), text.encode()))
        for table in ("usage_entries", "usage_days"):
            assert [(0,)] == stored(storage, f"SELECT count(*) FROM {table} WHERE person = ?", int(person))
