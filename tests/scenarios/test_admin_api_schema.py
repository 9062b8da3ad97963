"""The admins' REST door under generated calls: with a token of each role, against its own OpenAPI document, on a gateway with
something to see. No 5xx, no status that is not documented, every answer as its schema says."""

from __future__ import annotations

import asyncio
import io
import re
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, seed, settings
from openapi_spec_validator import validate
from schemathesis.config import SchemathesisConfig

from gateway.admin.openapi import document
from gateway.admin.rights import RIGHTS, ROLES
from gateway.admin.table import OPERATIONS
from gateway.app import VERSION
from tests.scenarios.admins import Admins
from tests.scenarios.stage import echo, stage

DOCUMENT = msgspec.json.decode(msgspec.json.encode(document(OPERATIONS, version=VERSION)))
CONFIG = SchemathesisConfig.from_dict({"generation": {"deterministic": True, "max-examples": 4, "database": "none"}})
API = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
BOUNDED = settings(
    max_examples=4,
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
BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: one, retries: 0}}
memory: {model: none}
defaults: {limits: {per_minute: 100000}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"]}
  other: {kind: webhook, secrets: ["${HOOK}"]}
"""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The URL of a running gateway where somebody has talked, and a token of each role."""
    folder = tmp_path_factory.mktemp("api")
    ready, stop = threading.Event(), asyncio.Event()
    found: dict[str, Any] = {}

    async def serve() -> None:
        found["loop"] = asyncio.get_running_loop()
        async with stage(folder, BODY, script=echo) as running:
            await running.hook().say("我的订单 A-1 到了吗？", sender="alice", name="Alice 爱丽丝")
            await running.hook("other").say("hello", sender="bob")
            admins = Admins(running)
            found["tokens"] = await admins.every_role()
            await admins.user("somebody", "viewer")
            found["url"] = running.gateway.url
            ready.set()
            await stop.wait()
            found["log"] = running.gateway.log

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="served")
    thread.start()
    assert ready.wait(60)
    try:
        yield found["url"], found["tokens"]
    finally:
        found["loop"].call_soon_threadsafe(stop.set)
        thread.join(30)
    assert not [line for line in found["log"] if '"level":"error"' in line]


def test_the_document_is_valid_openapi() -> None:
    """Integrators generate clients from it: every operation is in it, under its own name."""
    validate(DOCUMENT)

    told = {act["operationId"] for path in DOCUMENT["paths"].values() for act in path.values()}
    assert {operation.name for operation in OPERATIONS} == told
    assert DOCUMENT["info"]["version"] == VERSION


def test_the_running_gateway_tells_the_same_document(api: tuple[str, dict[str, str]]) -> None:
    assert DOCUMENT == requests.get(f"{api[0]}/api/v1/openapi.json", timeout=10).json()


@API.exclude(operation_id=ENDLESS).parametrize()
@BOUNDED
@seed(1)
def test_calls_of_every_shape_get_a_documented_answer(case: Any, api: tuple[str, dict[str, str]]) -> None:
    """As an owner: whatever is sent, the answer is one that the document names, and never a fault of ours."""
    url, tokens = api
    case.call_and_validate(
        base_url=url, headers={"Authorization": f"Bearer {tokens['owner']}"}, timeout=20, excluded_checks=EXCLUDED
    )


@pytest.mark.parametrize("role", [role for role in ROLES if role != "owner"])
def test_what_a_role_lacks_is_refused_whatever_is_asked(api: tuple[str, dict[str, str]], role: str) -> None:
    """Generated calls by every other role: where its right is missing nothing but a refusal comes back, and elsewhere what
    the document says."""
    url, tokens = api
    lacking = {operation.name for operation in OPERATIONS if operation.right not in RIGHTS[role]}  # type: ignore[index]
    refused = 0
    for found in API.exclude(operation_id=ENDLESS).get_all_operations():
        operation = found.ok()
        name = operation.definition.raw["operationId"]

        def check(case: Any, name: str = name) -> None:
            nonlocal refused
            response = case.call_and_validate(
                base_url=url, headers={"Authorization": f"Bearer {tokens[role]}"}, timeout=20, excluded_checks=EXCLUDED
            )
            if name in lacking:
                assert response.status_code in (403, 404, 405, 422), (name, response.status_code)
                refused += response.status_code == 403

        bounded = settings(BOUNDED, max_examples=1)
        seed(2)(bounded(operation_test(operation, check)))()
    assert refused or not lacking


def operation_test(operation: Any, check: Any) -> Any:
    from hypothesis import given

    @given(case=operation.as_strategy())
    def run(case: Any) -> None:
        check(case)

    return run


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
def test_each_documented_status_is_given(
    api: tuple[str, dict[str, str]], status: int, method: str, path: str, how: dict[str, Any]
) -> None:
    """Each with a body as documented: problem details with a code, or nothing. (403 is above, 503 in test_admin_away.py.)"""
    headers = {"Authorization": f"Bearer {api[1]['owner']}"} | how.get("headers", {})
    response = requests.request(method, f"{api[0]}/api/v1{path}", **(how | {"headers": headers}), timeout=20)

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


def test_without_a_token_nothing_is_looked_at(api: tuple[str, dict[str, str]]) -> None:
    """No credentials, or wrong ones of any shape: 401 for every operation, before anything else is looked at."""
    for path, acts in DOCUMENT["paths"].items():
        for method in acts:
            for header in (None, "Bearer nonsense", "Basic YTpi", "Bearer ", "Bearer " + "x" * 5000):
                headers = {} if header is None else {"Authorization": header}
                response = requests.request(method, f"{api[0]}{filled(path)}", headers=headers, timeout=10)
                assert 401 == response.status_code, (method, path, header)
                assert "Bearer" == response.headers["WWW-Authenticate"]


def test_other_methods_are_not_taken(api: tuple[str, dict[str, str]]) -> None:
    """405 with what is allowed, or 404, and no stack trace, for each method that a path does not have."""
    for path, acts in DOCUMENT["paths"].items():
        for method in {"get", "post", "put", "delete", "patch", "trace", "options"} - acts.keys():
            response = requests.request(method, f"{api[0]}{filled(path)}", timeout=10)
            assert response.status_code in (401, 404, 405), (method, path, response.status_code)
