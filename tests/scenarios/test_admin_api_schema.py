"""The admins' REST door under generated calls: with a token of each role, against its own OpenAPI document, on a gateway with
something to see. No 5xx, no status that is not documented, every answer as its schema says."""

from __future__ import annotations

import asyncio
import base64
import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, seed, settings
from openapi_spec_validator import validate
from schemathesis.config import SchemathesisConfig
from schemathesis.generation.feedback import NO_FEEDBACK
from schemathesis.pytest._test_builder import build_operation_test

from gateway.admin.openapi import document
from gateway.admin.rights import RIGHTS, ROLES
from gateway.admin.table import OPERATIONS
from gateway.app import VERSION
from tests.scenarios.admins import Admins, asked
from tests.scenarios.conftest import stored
from tests.scenarios.stage import echo, stage

DOCUMENT = msgspec.json.decode(msgspec.json.encode(document(OPERATIONS, version=VERSION)))
CONFIG = SchemathesisConfig.from_dict({"generation": {"deterministic": True, "max-examples": 2, "database": "none"}})
BY_NAME = {operation.name: operation for operation in OPERATIONS}
API = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
BOUNDED = settings(
    max_examples=2,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
EXCLUDED = [
    schemathesis.checks.ignored_auth,  # the tests put the credentials on what is sent
    schemathesis.checks.positive_data_acceptance,  # what is well formed may still name what is not there, or disagree
    schemathesis.checks.missing_required_header,
    schemathesis.checks.allow_header_conformance,  # `/people/unlink` is also a `/people/{person}`: its 405 names those methods
    schemathesis.checks.unsupported_method,  # one test of its own below
]
ENDLESS = "turns.tail"
UNMADE = ("channels.add", "channels.prepare")
"""What a kind of channel needs no document says, and nobody makes up."""
COSTLY = ("users.add", "users.password")
"""Each makes what is kept of a password, which is meant to cost: of their calls every tenth is sent."""
KEY = base64.b64encode(bytes(32)).decode()
BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: one, retries: 0}}
memory: {model: none}
defaults: {limits: {per_minute: 100000}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"]}
  other: {kind: webhook, secrets: ["${HOOK}"]}
"""


class Served:
    """A gateway where somebody has talked, served beside the tests; `session` keeps its connections, `tokens` are roles'."""

    def __init__(self, url: str, tokens: dict[str, str]) -> None:
        self.url = url
        self.tokens = tokens
        self.session = requests.Session()

    def ask(self, method: str, path: str, token: str | None = None, **how: Any) -> requests.Response:
        """Send a request, with a token if one is given."""
        headers = how.pop("headers", {}) | ({} if token is None else {"Authorization": f"Bearer {token}"})
        return self.session.request(method, f"{self.url}{path}", headers=headers, timeout=20, **how)

    def told(self, name: str, /, *, status: int = 200, **values: Any) -> Any:
        """Do it as an owner, and return what is said; with this status (200: or 204), and as the document has it."""
        method, path, body = asked(BY_NAME[name], values)
        response = self.ask(method, f"/api/v1{path}", self.tokens["owner"], **({} if body is None else {"json": body}))
        assert status == (200 if response.status_code == 204 else response.status_code), (name, response.text)
        API.find_operation_by_id(name).validate_response(response)
        return response.json() if response.headers.get("Content-Type", "").startswith("application/json") else None

    def call(self, case: Any, role: str) -> Any:
        """Send a generated call, and check that the document says what comes back."""
        headers = {"Authorization": f"Bearer {self.tokens[role]}"}
        return case.call_and_validate(
            base_url=self.url, session=self.session, headers=headers, timeout=20, excluded_checks=EXCLUDED
        )


@contextmanager
def served(folder: Path, storage: str) -> Iterator[Served]:
    """Run one in a thread of its own: what generates calls waits for each answer."""
    ready, stop = threading.Event(), asyncio.Event()
    found: dict[str, Any] = {}

    async def serve() -> None:
        found["loop"] = asyncio.get_running_loop()
        async with stage(folder, BODY, storage=storage, script=echo, environ={"CLEW_SECRET_KEY": KEY}) as running:
            await running.hook().say("我的订单 A-1 到了吗？", sender="alice", name="Alice 爱丽丝")
            await running.hook("other").say("hello", sender="bob")
            admins = Admins(running)
            for number in range(10):  # small numbers are called for, and those that the tests come with should stay
                await admins.local("POST", "/tokens", name=f"spare {number}", grants=[{"role": "viewer"}])
            found["tokens"] = await admins.every_role()
            await admins.user("somebody", "viewer")
            found["url"] = running.gateway.url
            ready.set()
            await stop.wait()
            found["log"] = running.gateway.log

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="served")
    thread.start()
    assert ready.wait(60)
    made = Served(found["url"], found["tokens"])
    try:
        yield made
    finally:
        made.session.close()
        found["loop"].call_soon_threadsafe(stop.set)
        thread.join(30)
    assert not [line for line in found["log"] if '"level":"error"' in line]


@pytest.fixture(scope="module")
def api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("api")
    with stored("sqlite", request, folder) as storage, served(folder, storage) as made:
        yield made


def test_the_document_is_valid_openapi() -> None:
    """Integrators generate clients from it: every operation is in it, under its own name."""
    validate(DOCUMENT)

    told = {act["operationId"] for path in DOCUMENT["paths"].values() for act in path.values()}
    assert {operation.name for operation in OPERATIONS} == told
    assert DOCUMENT["info"]["version"] == VERSION


def test_the_running_gateway_tells_the_same_document(api: Served) -> None:
    assert DOCUMENT == api.ask("GET", "/api/v1/openapi.json").json()


NAMES = [operation.name for operation in OPERATIONS if operation.name != ENDLESS]


@pytest.mark.parametrize("name", NAMES)
def test_calls_of_every_shape_get_a_documented_answer(name: str, api: Served) -> None:
    """Whatever is sent, by an owner, the answer is one that the document names, and never a fault of ours. What an owner was
    understood with is then sent by every other role: who lacks the right is refused, and hears no more than that."""
    made = understood = 0

    def check(case: Any) -> None:
        nonlocal made, understood
        made += 1
        if name in COSTLY and made % 10:
            return
        answer = api.call(case, "owner")
        done = answer.status_code < 300 or answer.json()["code"] in ("missing", "disagrees")
        if not done or understood == 2:
            return
        understood += 1
        for role in ROLES[:-1]:
            answer = api.call(case, role)
            if BY_NAME[name].right not in RIGHTS[role]:
                assert 403 == answer.status_code, (role, answer.text)

    # Made here and not by a decorator: it takes longer than to collect all other tests, and each process of the tests collects.
    build_operation_test(
        config=API.config,
        operation=API.find_operation_by_id(name),
        test_func=seed(1)(check),
        explicit_settings=BOUNDED,
        given_kwargs={},
        feedback=NO_FEEDBACK,
    )()
    assert understood or name in UNMADE, "nothing of it reached behind the checks of fields"


@pytest.mark.parametrize("column", ["sqlite", "postgres"])
def test_what_one_call_gives_others_take(column: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Users, tokens, persons, turns, conversations, take-overs, secrets and revisions from their beginning to their end, by the
    ids that answers give: each answer is as the document has it, and what has ended is gone for every later call."""
    with stored(column, request, tmp_path) as storage, served(tmp_path, storage) as api:
        user = api.told("users.add", name="新 user", grants=[{"role": "viewer"}])["user"]
        api.told("users.grant", user=user, role="operator", channel="hook")
        assert 2 == len(api.told("users.show", user=user)["grants"])
        assert user in {one["id"] for one in api.told("users.list")["users"]}
        api.told("users.revoke", user=user, channel="hook")
        assert api.told("users.password", user=user)["password"]
        assert [] == api.told("sessions.list", user=user)["sessions"]
        api.told("users.remove", user=user)
        for name in ("users.show", "users.remove", "users.restore", "users.password"):
            api.told(name, user=user, status=404)
        api.told("users.grant", user=user, role="viewer", status=404)

        token = api.told("tokens.create", name="ci", grants=[{"role": "viewer", "channel": "hook"}])
        assert token["id"] in {one["id"] for one in api.told("tokens.list", everybodys=True)["tokens"]}
        assert [{"role": "viewer", "channel": "hook"}] == api.ask("GET", "/api/v1/me", token["secret"]).json()["grants"]
        assert 1 == api.told("tokens.revoke", token=token["id"])["tokens"]
        assert 401 == api.ask("GET", "/api/v1/me", token["secret"]).status_code
        api.told("tokens.revoke", token=token["id"], status=404)

        api.told("secrets.put", name="example", value="订单")
        assert ["example"] == [one["name"] for one in api.told("secrets.list")["secrets"]]
        api.told("secrets.remove", name="example")
        api.told("secrets.remove", name="example", status=404)

        change = {"changes": [{"path": "channels.hook.language", "act": "set", "value": "zh"}], "expected": 0}
        number = api.told("settings.change", **change)["number"]
        api.told("settings.change", **change, status=409)
        assert number == api.told("settings.history")["revisions"][0]["number"]
        assert 1 == len(api.told("settings.revision", number=number)["settings"])
        assert 1 == len(api.told("settings.compare", old=0, new=number)["changes"])
        api.told("settings.roll_back", number=0)
        assert [] == api.told("settings.compare", old=0, new=number + 1)["changes"]

        turn = api.told("turns.list", channel="hook")["turns"][0]["turn"]
        trace = api.told("turns.trace", turn=turn)
        assert "answered" == api.told("turns.why", turn=turn)["state"]
        assert api.told("turns.replay", turn=turn, changes=["memory.window.turns=1"])["now"]["messages"]
        api.told("usage.turn", turn=turn)
        talk = api.told("conversations.list", channel="hook")["conversations"][0]["conversation"]
        assert talk == trace["conversation"]
        assert 2 == len(api.told("conversations.show", conversation=talk)["lines"])
        assert talk == api.told("conversations.search", words="订单")["found"][0]["conversation"]["conversation"]

        person = api.told("people.find", who="alice")["people"][0]["person"]
        api.told("people.show", person=person)
        wish = api.told("people.request", person=person, kind="erasure")["request"]
        assert wish == api.told("people.requests")["requests"][0]["request"]
        assert person == api.told("people.met", request=wish)["person"]
        api.told("people.met", request=wish, status=404)
        other = api.told("people.find", who="bob")["people"][0]["person"]
        link = api.told("people.link", person=person, other=other, confirm=True)
        assert api.told("people.unlink", link=link["link"])["as_it_was"]
        api.told("people.export", person=person)
        assert api.told("people.erase", person=person, confirm=True)["done"]
        assert [] == api.told("people.find", who="alice")["people"]
        gone = api.told("people.show", person=person)
        assert gone["person"]["erased_ms"]
        assert ([], []) == (gone["person"]["identities"], gone["things"])
        assert api.told("audit.list", operation="people.erase")["entries"]


STATUSES: list[tuple[int, str, str, dict[str, Any]]] = [
    (200, "GET", "/tokens", {}),
    (204, "PUT", "/users/1/grants", {"json": {"role": "viewer", "channel": "hook"}}),
    (401, "GET", "/me", {"headers": {"Authorization": "Bearer no"}}),
    (404, "DELETE", "/tokens/999999", {}),
    (
        409,
        "POST",
        "/settings/revisions",
        {"json": {"changes": [{"path": "channels.hook.language", "value": "zh"}], "expected": 77}},
    ),
    (413, "POST", "/tokens", {"data": io.BytesIO(b" " * 1_100_000), "headers": {"Content-Type": "application/json"}}),
    (415, "POST", "/tokens", {"data": b"name=x", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}),
    (422, "POST", "/tokens", {"json": {"name": ""}}),
    (422, "GET", "/tokens", {"params": {"limit": "0"}}),
    (
        400,
        "POST",
        "/tokens",
        {"data": b"not gzip", "headers": {"Content-Type": "application/json", "Content-Encoding": "gzip"}},
    ),
]


@pytest.mark.parametrize(("status", "method", "path", "how"), STATUSES)
def test_each_documented_status_is_given(api: Served, status: int, method: str, path: str, how: dict[str, Any]) -> None:
    """Each with a body as documented: problem details with a code, or nothing. (403 is above, 503 in test_admin_away.py.)"""
    token = None if "Authorization" in how.get("headers", {}) else api.tokens["owner"]
    response = api.ask(method, f"/api/v1{path}", token, **how)

    assert status == response.status_code, response.text
    template = next(
        one for one in DOCUMENT["paths"] if re.fullmatch(re.sub(r"{[^}]*}", "[^/]+", one), f"/api/v1{path}")
    )
    assert str(status) in DOCUMENT["paths"][template][method.lower()]["responses"]
    if status >= 400:
        assert "application/problem+json" == response.headers["Content-Type"]
        assert {"type", "title", "status", "detail", "code"} <= response.json().keys()


def filled(path: str) -> str:
    return re.sub(r"{[^}]*}", "1", path)


def test_without_a_token_nothing_is_looked_at(api: Served) -> None:
    """No credentials, or wrong ones of any shape: 401 for every operation, before anything else is looked at."""
    for path, acts in DOCUMENT["paths"].items():
        for method in acts:
            for header in (None, "Bearer nonsense", "Basic YTpi", "Bearer ", "Bearer " + "x" * 5000):
                headers = {} if header is None else {"Authorization": header}
                response = api.ask(method, filled(path), headers=headers)
                assert 401 == response.status_code, (method, path, header)
                assert "Bearer" == response.headers["WWW-Authenticate"]


def test_other_methods_are_not_taken(api: Served) -> None:
    """405 with what is allowed, or 404, and no stack trace, for each method that a path does not have."""
    for path, acts in DOCUMENT["paths"].items():
        for method in {"get", "post", "put", "delete", "patch", "trace", "options"} - acts.keys():
            response = api.ask(method, filled(path))
            assert response.status_code in (401, 404, 405), (method, path, response.status_code)
