"""What admins with few rights, and programs with a token, try against the admins' doors on both databases: other people's
numbers, rights that one does not have, secrets and words in what is shown, and values that no database takes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from gateway.admin.binding import fields, is_list
from gateway.admin.operations import Operation
from gateway.admin.rights import ROLES, Role
from gateway.admin.table import OPERATIONS
from tests.admin_examples import example
from tests.scenarios.admins import PASSWORD, Admins, Answer
from tests.scenarios.conftest import stored
from tests.scenarios.hostile import API_KEY, HOSTILE, MARK, OWNER, found, hostile_world, pages
from tests.scenarios.world import SECRET

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["sqlite", "postgres"])
async def admins(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Admins]:
    folder = tmp_path_factory.mktemp("rights")
    with stored(request.param, request, folder) as storage:
        async with hostile_world(folder, storage=storage) as made:
            yield made


async def test_no_page_shows_a_secret(admins: Admins) -> None:
    """Keys of services, signing secrets, passwords, tokens and their digests stand on no page, in no answer of the API, in no
    export and in no line of the log."""
    secrets = {
        API_KEY,
        SECRET,
        SECRET.removeprefix("whsec_"),
        PASSWORD,
        *(admins.tokens or {"x": await admins.token("owner")}).values(),
    }
    owner = await admins.token("owner")
    secrets.add(owner)
    async with admins.signed_in(OWNER) as reader:
        shown = await pages(reader)
    for operation in OPERATIONS:
        if operation.method == "GET" and "{" not in operation.path and operation.name != "turns.tail":
            shown[operation.name] = (await admins.ask(owner, "GET", operation.path)).text
    shown["log"] = "\n".join(admins.stage.gateway.log)

    assert [] == [(where, secret[:8]) for where, text in shown.items() for secret in secrets if secret in text]


IDS = {
    "turn": "turn",
    "turns": "turn",
    "takeover": "takeover",
    "conversation": "conversation",
    "person": "person",
    "other": "person",
    "who": "person",
}
"""By the names that ids have in requests: what they are ids of."""


def about(operation: Operation, name: str, value: str) -> dict[str, Any]:
    """Return a request that names the id in this field, and no other id beside it that could be left out."""
    known = fields(operation)
    told = {key: one for key, one in example(operation).items() if key not in IDS or known[key].required}
    return told | {name: [value] if is_list(known[name]) else value}


@pytest.mark.parametrize("role", ROLES)
async def test_numbers_of_another_channel_open_nothing(admins: Admins, role: Role) -> None:
    """Who has a role in one channel gets 403 or 404 for every id of another one, by every operation that takes one, in its path,
    query or body; and no list, search, filter, sum or export shows it."""
    owner, theirs = await admins.token("owner"), await admins.token(role, "other")
    ids: dict[str, set[str]] = {kind: set() for kind in IDS.values()}
    for path in ("/turns?channel=hook", "/conversations?channel=hook", "/takeovers?channel=hook", "/people?who=alice"):
        told = (await admins.ask(owner, "GET", path)).body
        for kind in ids:
            ids[kind] |= found(told, kind)
    own = found((await admins.ask(theirs, "GET", "/people?who=alice")).body, "person")
    ids["person"] -= own
    assert all(ids.values()), ids
    leaks, tried = [], set()
    for operation in OPERATIONS:
        for name in IDS.keys() & fields(operation).keys():
            tried.add(operation.name)
            for value in sorted(ids[IDS[name]])[:2]:
                answer = await admins.call(theirs, operation, about(operation, name, value))
                results = (answer.body or {}).get("results", ())
                harmless = not any(one["done"] for one in results) and not shows(answer, ids, but=value)
                if answer.status not in (403, 404) and not (answer.status == 200 and harmless):
                    leaks.append((operation.name, name, value, answer.status, answer.text[:200]))
    assert len(tried) > 25, tried
    for operation in OPERATIONS:
        if operation.method == "GET" and "{" not in operation.path and operation.name != "turns.tail":
            for channel in ({}, {"channel": "hook"}) if "channel" in fields(operation) else ({},):
                answer = await admins.call(theirs, operation, example(operation) | channel)
                if answer.status not in (200, 403, 404, 422) or shows(answer, ids):
                    leaks.append((operation.name, "", "", answer.status, answer.text[:200]))
    assert [] == leaks


def shows(answer: Answer, ids: dict[str, set[str]], *, but: str = "") -> bool:
    """Whether an answer tells something of the other channel: its name, or an id of what is in it (`but` that which was sent)."""
    told = answer.body if answer.body is not None else [json.loads(line) for line in lines_of(answer)]
    return "hook" in found(told, "channel") or any(found(told, kind) & numbers - {but} for kind, numbers in ids.items())


def lines_of(answer: Answer) -> list[str]:
    return answer.text.splitlines() if "ndjson" in answer.headers.get("Content-Type", "") else []


async def test_what_people_said_is_for_those_who_may_read_it(admins: Admins) -> None:
    """A viewer sees that there were turns, and not one word, name or room of them."""
    viewer = await admins.token("viewer")
    shown = ""
    for operation in OPERATIONS:
        if operation.method == "GET" and "{" not in operation.path and not isinstance(operation.result, str):
            shown += (await admins.ask(viewer, "GET", operation.path)).text
    turns = (await admins.ask(viewer, "GET", "/turns")).body
    for turn in sorted(found(turns, "turn"))[:5]:
        for tail in ("", "/why"):
            shown += (await admins.ask(viewer, "GET", f"/turns/{turn}{tail}")).text

    assert "我的名字" not in shown
    assert f"{MARK}()</script> [click]" not in shown
    assert HOSTILE[2] not in shown


ESCALATIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/tokens", {"name": "more", "grants": [{"role": "owner"}]}),
    ("POST", "/users", {"name": "mine", "grants": [{"role": "owner"}], "password": PASSWORD}),
    ("PUT", "/users/1/grants", {"role": "owner"}),
    ("PUT", "/users/1/password", {"password": "another password of mine"}),
    ("DELETE", "/users/1", {}),
]


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
async def test_nobody_makes_more_of_himself(admins: Admins, role: Role) -> None:
    """Tokens, users, grants and passwords above one's own rights are refused, for all of the gateway and for one channel."""
    for channel in (None, "hook"):
        token = await admins.token(role, channel)
        for method, path, body in ESCALATIONS:
            answer = await admins.ask(token, method, path, body or None)
            assert answer.status in (403, 404), (role, channel, method, path, answer.status, answer.text)
    mine = (await admins.ask(await admins.token(role, "hook"), "GET", "/me")).body
    assert [{"role": role, "channel": "hook"}] == mine["grants"]


async def test_an_owner_of_one_channel_owns_no_other(admins: Admins) -> None:
    token = await admins.token("owner", "hook")
    for body in (
        {"name": "t", "grants": [{"role": "viewer"}]},
        {"name": "t", "grants": [{"role": "viewer", "channel": "other"}]},
    ):
        assert 403 == (await admins.ask(token, "POST", "/tokens", body)).status
    for role in ROLES:
        for channel in ({}, {"channel": "other"}):
            answer = await admins.ask(token, "PUT", "/users/1/grants", {"role": role} | channel)
            assert answer.status in (403, 404), (role, channel)


async def test_others_credentials_can_not_be_ended(admins: Admins) -> None:
    """Token and session numbers are small: whoever guesses one ends nothing of another's."""
    await admins.token("owner")
    stranger = await admins.token("admin")
    tokens = (await admins.ask(await admins.token("owner"), "GET", "/tokens?everybodys=true")).body["tokens"]
    own = (await admins.ask(stranger, "GET", "/me")).body["id"]
    for told in tokens:
        if f"token:{told['id']}" != own:
            assert 404 == (await admins.ask(stranger, "DELETE", f"/tokens/{told['id']}")).status, told["name"]
    async with admins.signed_in(OWNER) as reader:
        for number in range(1, 10):
            assert 404 == (await admins.ask(stranger, "DELETE", f"/sessions/{number}")).status
        assert 200 == (await reader.get("/admin")).status


async def test_deep_and_odd_json_is_a_422(admins: Admins) -> None:
    """Nested beyond reason, of the wrong shape, with huge numbers, NUL or lone surrogates: refused in words, never a 500."""
    owner = await admins.token("owner")
    headers = {"Authorization": f"Bearer {owner}", "Content-Type": "application/json"}
    odd = [
        b"[" * 200_000,
        b'{"name":' * 5_000,
        b"null",
        b"[]",
        b'"x"',
        b"1e999",
        b'{"name": 1e999}',
        b'{"name": "\\u0000", "days": 99999999999999999999999}',
        b'{"name": "\\ud800"}',
        b"\xff\xfe",
        b"{",
    ]
    for body in odd:
        async with admins.stage.session.post(f"{admins.url}/tokens", data=body, headers=headers) as response:
            assert response.status in (200, 400, 422), (body[:20], response.status, await response.text())
    for query in (
        "limit=0",
        "limit=999999999999999999999",
        "limit=x",
        "after=%00",
        "after=%ED%A0%80",
        "after=' OR 1=1 --",
        "nothing=1",
        "limit=1&limit=2",
    ):
        answer = await admins.ask(owner, "GET", f"/tokens?{query}")
        assert answer.status in (200, 422), (query, answer.status, answer.text)


async def test_the_audit_log_holds_ids_alone(admins: Admins) -> None:
    """After all of the above: what people said, were called and searched for is not in it, so that an erasure need not look
    there."""
    owner = await admins.token("owner")
    for path in (
        "/messages?words=%E6%88%91%E7%9A%84%E5%90%8D%E5%AD%97",
        "/people?who=alice",
        "/conversations",
        "/turns",
    ):
        assert 200 == (await admins.ask(owner, "GET", path)).status, path
    for turn in sorted(found((await admins.ask(owner, "GET", "/turns")).body, "turn"))[:3]:
        await admins.ask(owner, "GET", f"/turns/{turn}")
    log = (await admins.ask(owner, "GET", "/audit/export")).text

    assert "conversations.search" in log
    assert [] == [word for word in (MARK, "我的名字", "alice", "img src", PASSWORD, "hello") if word in log]


async def test_nothing_was_a_fault_of_ours(admins: Admins) -> None:
    """All of the above left no error in the log: nobody is woken by strangers."""
    assert [] == [line for line in admins.stage.gateway.log if '"level":"error"' in line]


async def test_who_reads_words_is_audited() -> None:
    """Every operation that needs the right to read is a look or an act: none goes unseen."""
    unseen: list[Operation] = [one for one in OPERATIONS if one.right == "read" and one.audited == "no"]

    assert [] == [one.name for one in unseen]
