"""Two tenants, workspaces, bots and endpoints with equal ids in everything, and searches by patterns that a neighbour would
match: in chat, by REST, and on the console's pages, on both databases (C18, C19, F10)."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import AsyncIterator, Iterator
from urllib.parse import quote

import pytest
import pytest_asyncio

from tests.attacks.twins import LIKED, PATTERN_LIKED, PATTERNS, ROOM, SENDER, Twins, others, told, twins
from tests.scenarios.admins import Admins
from tests.scenarios.conftest import stored
from tests.scenarios.eyes import Eyes
from tests.scenarios.hostile import pages

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVERYTHING = {*LIKED.values(), PATTERN_LIKED}


@pytest.fixture(scope="module", params=("sqlite", "postgres+redis"))
def storage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str | None]:
    if request.param == "sqlite":
        yield None
        return
    with stored(request.param, request, tmp_path_factory.mktemp("storage")) as line:
        yield line


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(storage: str | None, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Twins]:
    async with twins(tmp_path_factory.mktemp("twins"), storage) as running:
        yield running


async def test_the_ids_are_equal(there: Twins) -> None:
    """In the rows: account, room and message id of each pair, but for a workspace's own part of the account; all was learned."""
    rows = there.stage.rows(
        """SELECT channel, "user", conversation, platform_message_id FROM messages
          WHERE role = 'user' AND "user" <> '%25' AND platform_message_id NOT LIKE 'm-%What%'"""
    )
    ids: dict[str, set[tuple[str, ...]]] = {name: set() for name in LIKED}
    for channel, user, conversation, message in rows:
        ids[channel].add((user.rpartition(".")[2], conversation, message if channel.startswith("slack") else ""))

    for one in ("hook", "slack", "tg"):
        assert ids[f"{one}-a"], one
        assert ids[f"{one}-a"] == ids[f"{one}-b"], one
    values = {value for (value,) in there.stage.rows("SELECT value FROM profile_items WHERE status = 'active'")}
    assert values >= EVERYTHING


async def test_no_prompt_holds_a_twin_s_words(there: Twins) -> None:
    """Each holds what its own place and account said, and what no other did; by patterns, too."""
    for channel, liked in LIKED.items():
        for question in ("What do I like?", f"{liked} % _ * ?"):
            prompt = await there.prompt(channel, question)

            assert {liked} == told(EVERYTHING, prompt), channel


async def test_everybody_is_told_of_themselves_alone(there: Twins) -> None:
    """`/memory` on each channel, and a forgetting by patterns that forgets nothing of anybody (C21)."""
    before = there.stage.rows("SELECT count(*) FROM profile_items WHERE status = 'active'")
    for channel in ("hook-a", "hook-b"):
        listing = await there.says(channel, "/memory")
        assert {LIKED[channel]} == told(EVERYTHING, listing)
        for pattern in PATTERNS:
            answer = await there.says(channel, f"/forget {pattern}")
            assert set() == told(EVERYTHING, answer)

    assert before == there.stage.rows("SELECT count(*) FROM profile_items WHERE status = 'active'")


async def test_rest_by_patterns(there: Twins) -> None:
    """Every search and look-up of who sees everything finds by a pattern only what is really called so."""
    admin = Eyes(there.stage, "owner")
    for pattern in PATTERNS:
        expected = {"%": 1}.get(pattern, 0)
        people = (await admin.get("/people", who=pattern))["people"]
        assert expected == len(people), (pattern, people)
        for path, key in (("/conversations", "conversations"), ("/turns", "turns")):
            found = (await admin.get(path, room=pattern))[key]
            assert bool(expected) is bool(found), (path, pattern)
            assert {pattern} >= {line["room"] for line in found}
        found = (await admin.get("/messages", words="like", room=pattern))["found"]
        assert set() == told(set(LIKED.values()), json.dumps(found, ensure_ascii=False)), pattern
        by_words = json.dumps((await admin.get("/messages", words=f"Quitten{pattern}"))["found"], ensure_ascii=False)
        assert set() == told(EVERYTHING, by_words), pattern
        for path in (
            "/turns",
            "/conversations",
            "/messages?words=like",
            "/channel-health",
            "/turn-counts",
            "/quotas",
            "/usage",
        ):
            status, text = await admin.ask("GET", path.partition("?")[0], channel=pattern, words="like")
            assert status in (200, 404, 422), (path, pattern, status, text)
            assert set() == told(EVERYTHING, text), (path, pattern)
            assert not re.search(r'"turn":\s*"\d+', text), (path, pattern)


async def test_rest_for_who_sees_one_of_a_pair(there: Twins) -> None:
    """By the ids that both have, and by the numbers of the other's rows: nothing of the other channel, not that it is there."""
    for channel, other in (("hook-a", "hook-b"), ("hook-b", "hook-a"), ("slack-a", "slack-b"), ("tg-b", "tg-a")):
        eyes = Eyes(there.stage, "operator", channel)
        looks = [
            ("/turns", {"room": ROOM}), ("/turns", {}), ("/turns", {"channel": other}), ("/conversations", {"room": ROOM}),
            ("/conversations", {}), ("/conversations", {"channel": other}), ("/messages", {"words": "like"}),
            ("/messages", {"words": "like", "channel": other}), ("/messages", {"words": LIKED[other]}),
            ("/people", {"who": SENDER}), ("/people", {"who": "Ann"}), ("/people", {}), ("/people", {"who": LIKED[other]}),
            ("/turn-counts", {}), ("/quotas", {}), ("/usage", {"by": "person"}), ("/dead-letters", {}), ("/takeovers", {}),
            ("/audit", {}), ("/channel-health", {}),
        ]  # fmt: skip
        for path, query in looks:
            status, text = await eyes.ask("GET", path, **query)
            assert status in (200, 403, 404, 422), (path, query, text)
            assert set() == told(others(channel), text), (channel, path, query)
            assert other not in text or status != 200, (channel, path, query)
        for (turn,) in there.stage.rows("SELECT DISTINCT turn_id FROM messages WHERE channel = ?", other):
            for path in (f"/turns/{turn}", f"/turns/{turn}/why", f"/turns/{turn}/usage", f"/dead-letters/{turn}"):
                status, text = await eyes.ask("GET", path)
                assert status in (403, 404), (path, status, text)
                assert set() == told(EVERYTHING, text)
        for (scope,) in there.stage.rows("SELECT id FROM scopes WHERE channel = ?", other):
            status, text = await eyes.ask("GET", f"/conversations/{scope}/messages")
            assert status in (403, 404), text
        theirs = there.stage.rows(
            "SELECT DISTINCT person_id FROM messages WHERE channel = ? AND person_id IS NOT NULL", other
        )
        mine = there.stage.rows(
            "SELECT DISTINCT person_id FROM messages WHERE channel = ? AND person_id IS NOT NULL", channel
        )
        for (person,) in set(theirs) - set(mine):
            for path in (f"/people/{person}", f"/people/{person}/export"):
                status, text = await eyes.ask("GET", path)
                assert status in (403, 404), (path, text)
            status, text = await eyes.ask("POST", f"/people/{person}/forget", json={"things": ["i1", "%"]})
            assert status in (403, 404, 422), text


async def test_the_console_for_who_sees_one_of_a_pair(there: Twins) -> None:
    """Every page that links lead to, and every search by a pattern and by the ids that both have."""
    url = there.stage.storage and there.stage.storage.partition("\n")[0]
    admins = Admins(dataclasses.replace(there.stage, storage=url))
    await admins.user("Olga")  # without an owner the console lets nobody in
    channel = "hook-b"
    await admins.user("Op", "operator", channel)
    async with admins.signed_in("Op") as reader:
        for path, text in (await pages(reader)).items():
            assert set() == told(others(channel), text), path
        for word in (*PATTERNS[:4], SENDER, "like"):
            for path in (
                "/admin/people?who={}", "/admin/conversations?room={}", "/admin/conversations?person={}",
                "/admin/messages?words={}", "/admin/turns?room={}", "/admin/turns?person={}",
            ):  # fmt: skip
                answer = await reader.get(path.format(quote(word)))
                assert answer.status < 500, (path, word)
                assert set() == told(others(channel), answer.text), (path, word)


async def test_a_link_joins_the_account_that_it_is_of(there: Twins) -> None:
    """Its twins, which are called the same on the other endpoint and in the other workspace, stay who they are; and to forget
    everything forgets nothing of theirs."""
    found = re.search(r"^/link (\S+)$", await there.says("hook-a", "/link"), re.M)
    assert found is not None
    await there.says("tg-a", f"/link {found[1]}")
    persons = dict(
        there.stage.rows(
            "SELECT i.kind || ' ' || i.tenant, i.person_id FROM identities AS i WHERE i.account <> '%' ORDER BY i.person_id DESC"
        )
    )
    assert len(persons) - 1 == len(set(persons.values())), "one pair is one, and nobody else"

    listing = await there.says("hook-a", "/memory")
    assert {LIKED["hook-a"], LIKED["tg-a"]} >= told(EVERYTHING, listing)
    for channel in ("hook-b", "slack-a", "slack-b"):
        prompt = await there.prompt(channel, "And what do I like now?")
        assert {LIKED[channel]} == told(EVERYTHING, prompt), channel
    await there.says("hook-a", "/forget everything")
    await there.says("hook-a", "/forget everything yes")
    await there.learned()
    left = {value for (value,) in there.stage.rows("SELECT value FROM profile_items WHERE status = 'active'")}
    assert {LIKED[name] for name in ("hook-b", "slack-a", "slack-b")} | {PATTERN_LIKED} <= left
    assert LIKED["hook-a"] not in left
