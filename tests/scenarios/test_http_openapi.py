"""The published API document is valid, its examples are true, and the running server keeps it under generated calls."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from schemathesis.config import SchemathesisConfig
from standardwebhooks.webhooks import Webhook

from gateway.app import VERSION
from tests.scenarios.world import ROOT, SECRET, gateway, write_config
from tests.serving import JWT_SECRET, message, token

DOCUMENT = json.loads((ROOT / "gateway" / "openapi.json").read_bytes())
CONFIG = SchemathesisConfig.from_dict({"generation": {"deterministic": True, "max-examples": 15, "database": "none"}})
API = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
# The tests put credentials on what is sent, so what schemathesis generated for them is not what the server met.
CREDENTIALS = [schemathesis.checks.ignored_auth]
BOUNDED = settings(deadline=None, suppress_health_check=list(HealthCheck))


CHANNELS = """
agents: {default: {kind: demo}}
defaults: {limits: {per_minute: 100000}}
channels:
  shop: {kind: webhook, secrets: ["${HOOK}"]}
  api: {kind: webhook, jwt: {algorithms: [HS256], issuer: "https://id.example", audience: clew, secret: "${JWT}"}}
"""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The URL of a running gateway process with a signed and a bearer channel, and a turn (`turn`, `token`) of it."""
    config = write_config(tmp_path_factory.mktemp("api"), CHANNELS)
    ready, stop = threading.Event(), asyncio.Event()
    found: dict[str, Any] = {}

    async def serve() -> None:
        found["loop"] = asyncio.get_running_loop()
        async with gateway(config, JWT=JWT_SECRET) as running:
            found["url"] = running.url
            ready.set()
            await stop.wait()
            found["log"] = running.log

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="served")
    thread.start()
    assert ready.wait(60)
    try:
        posted = requests.post(f"{found['url']}/channels/shop", json=message(), auth=Signed(), timeout=20).json()
        yield found["url"], posted
    finally:
        found["loop"].call_soon_threadsafe(stop.set)
        thread.join(30)
    assert not [line for line in found["log"] if '"error"' in line]


class Signed(requests.auth.AuthBase):
    """Signs what is really sent."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        raw = request.body or b""
        raw = raw.encode() if isinstance(raw, str) else raw
        at = datetime.now(tz=UTC)
        delivery = f"msg_{time.perf_counter_ns()}"
        request.headers["webhook-id"] = delivery
        request.headers["webhook-timestamp"] = str(int(at.timestamp()))
        request.headers["webhook-signature"] = Webhook(SECRET).sign(delivery, at, raw.decode(errors="replace"))
        return request


class Bearer(requests.auth.AuthBase):
    """Sends a token that is good for a minute."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {token(groups=['team'])}"
        return request


def test_the_document_is_valid_openapi() -> None:
    """Integrators generate clients from it; it says which version of the gateway it is of."""
    validate(DOCUMENT)

    assert DOCUMENT["info"]["version"] == VERSION


def examples(node: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(node, dict):
        if "schema" in node:
            shown = [one["value"] for one in node.get("examples", {}).values()]
            shown += [node["example"]] if "example" in node else []
            yield from ((path, node["schema"], one) for one in shown)
        for key, value in node.items():
            yield from examples(value, f"{path}/{key}")


@pytest.mark.parametrize(("path", "schema", "example"), list(examples(DOCUMENT)))
def test_every_example_keeps_its_schema(path: str, schema: Any, example: Any) -> None:
    """An example that does not hold misleads more than none."""
    Draft202012Validator(schema | {"components": DOCUMENT["components"]}).validate(example)


@API.include(operation_id="say").parametrize()
@BOUNDED
def test_signed_calls_of_every_shape_get_a_documented_answer(case: Any, api: tuple[str, dict[str, str]]) -> None:
    """No 500, no undocumented status, every response as its schema says (checkpoint 5)."""
    case.path_parameters["name"] = "shop"
    # Only here `sender.id` is required, which the schema can't say.
    excluded = [*CREDENTIALS, schemathesis.checks.positive_data_acceptance]
    case.call_and_validate(base_url=api[0], auth=Signed(), timeout=10, excluded_checks=excluded)


@API.include(operation_id="say").parametrize()
@BOUNDED
def test_bearer_calls_of_every_shape_get_a_documented_answer(case: Any, api: tuple[str, dict[str, str]]) -> None:
    """The same over the other kind of credentials, where a body may contradict its token."""
    case.path_parameters["name"] = "api"
    case.call_and_validate(base_url=api[0], auth=Bearer(), timeout=10, excluded_checks=CREDENTIALS)


@API.include(operation_id="say").parametrize()
@BOUNDED
def test_calls_without_good_credentials_get_a_documented_answer(case: Any, api: tuple[str, dict[str, str]]) -> None:
    """Whatever stands in the credentials' headers: 401 at most, before anything is parsed."""
    case.path_parameters["name"] = "shop"

    response = case.call_and_validate(base_url=api[0], timeout=10, excluded_checks=CREDENTIALS)

    assert response.status_code in (400, 401, 404, 405, 413, 415)


@API.exclude(operation_id="say").parametrize()
@BOUNDED
def test_every_reading_call_gets_a_documented_answer(case: Any, api: tuple[str, dict[str, str]]) -> None:
    """Turns that are and that are not, with and without their token; health, metrics, this document."""
    url, turn = api
    if "turn" in case.path_parameters:
        case.path_parameters |= {"name": "shop", "turn": turn["turn"]}
        case.query["token"] = turn["token"]
    case.call_and_validate(
        base_url=url, timeout=10, excluded_checks=[*CREDENTIALS, schemathesis.checks.negative_data_rejection]
    )
