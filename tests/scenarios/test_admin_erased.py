"""Who is erased is erased from where others took part, too: a group that a human had. B46, mem0ai/mem0#3245."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.residues import in_postgres, in_sqlite, left_of
from tests.scenarios.platforms import echo
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
