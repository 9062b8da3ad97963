"""The HTTP front: who may speak, and what is no request of Slack's. Every row of platform-facts 1.1 that Bolt gets wrong."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest
from slack_sdk.signature import SignatureVerifier

from adapters.errors import AdapterFault
from adapters.problems import Problem
from adapters.slack.signing import sign, timestamp_of, verify
from tests.fakes import FakeIntake
from tests.pulling import receiving
from tests.unit.slack.samples import callback, message
from tests.unit.slack.world import World, adapter, platform, world

BODY = b'{"a": "\xe4\xbd\xa0"}'


@pytest.fixture
async def there() -> AsyncIterator[World]:
    async with world(signing_secrets=["the first", "the second"], body_bytes=4096, body_s=0.3) as opened:
        yield opened


def signed(body: object, *, secret: str = "the first", at_s: float | None = None, **headers: str) -> dict[str, Any]:
    """The arguments of a signed POST; `headers` replace or add."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    stamp = str(int(time.time() if at_s is None else at_s))
    made = {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": sign(raw, stamp=stamp, secret=secret.encode()),
    }
    return {"data": raw, "headers": made | headers}


async def post(there: World, call: dict[str, Any]) -> tuple[int, str]:
    async with aiohttp.ClientSession() as client, client.post(there.url, **call) as answer:
        return answer.status, await answer.text()


def ours(**fields: Any) -> dict[str, Any]:
    return callback(message(**fields), authorizations=[])


@pytest.mark.parametrize("secret", ["the first", "the second"])
async def test_each_of_the_secrets_lets_in(there: World, secret: str) -> None:
    """One is replaced by the other without a gap."""
    assert (200, "") == await post(there, signed(ours(), secret=secret))
    assert 1 == len(there.intake.messages)


STAMP = "X-Slack-Request-Timestamp"
SIGNATURE = "X-Slack-Signature"


@pytest.mark.parametrize(
    "call",
    [
        {"data": b"{}"},
        signed(ours(), secret="another"),
        signed(ours(), **{SIGNATURE: ""}),
        signed(ours(), **{SIGNATURE: "v0=é"}),
        signed(ours(), **{SIGNATURE: "v1=00"}),
        signed(ours(), **{STAMP: "yesterday"}),
        signed(ours(), **{STAMP: "١٧٠٠٠٠٠٠٠٠"}),
        signed(ours(), **{STAMP: "-1"}),
        signed(ours(), **{STAMP: "9" * 400}),
        -400,
        +400,
        signed(b"not json", secret="another"),
        signed(b"[]", secret="another"),
    ],
    ids=[
        "unsigned", "wrong-secret", "empty", "not-ascii", "version", "no-time", "foreign-digits", "negative", "huge", "old",
        "early", "unparsed-first", "unparsed-list",
    ],
)  # fmt: skip
async def test_whoever_is_not_slack_is_refused_before_anything_is_parsed(
    there: World, call: dict[str, Any] | int
) -> None:
    """401 for all of it (openclaw/openclaw#32599); never a 500. A number stands for seconds off the clock of this moment."""
    if isinstance(call, int):
        call = signed(ours(), at_s=time.time() + call)
    status, _ = await post(there, call)

    assert 401 == status
    assert not there.intake.turns


async def test_a_signing_secret_that_everybody_knows_opens_no_channel() -> None:
    """The page's settings say `later` until there is one: whoever has read it could sign as Slack."""
    async with platform() as (_, _, bot):
        with pytest.raises(AdapterFault, match="still says 'later'"):
            async with receiving(adapter(bot, mode="http", signing_secrets=["later"]), FakeIntake()):
                pass


async def test_what_is_refused_is_told_of_now_and_then(there: World, caplog: pytest.LogCaptureFixture) -> None:
    """Another app's secret, or a proxy that changes bodies, looks like a quiet day; strangers must not fill the log."""
    for _ in range(3):
        await post(there, signed(ours(), at_s=time.time() - 3600))

    told = [vars(record) for record in caplog.records if record.message == "request refused"]
    assert [("acme", 401)] == [(one["channel"], one["status"]) for one in told]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b'"x"',
        b"\xff",
        b"[" * 3000,
        b'{"a": "\\ud800"}',
        callback({}) | {"event": None},
    ],
    ids=["empty", "text", "list", "string", "bytes", "deep", "surrogate", "null-event"],
)
async def test_what_is_signed_and_yet_no_event_is_refused(there: World, body: object) -> None:
    """A 400, and the next event is heard."""
    refused, _ = await post(there, signed(body))
    accepted, _ = await post(there, signed(ours()))

    assert (400, 200) == (refused, accepted)


async def test_a_body_is_held_to_its_bounds(there: World) -> None:
    """Too large, announced or not; too slow; encoded."""

    async def slowly() -> AsyncIterator[bytes]:
        yield b"{"
        await never.wait()

    async def in_pieces() -> AsyncIterator[bytes]:
        for _ in range(10):
            yield b" " * 1000

    never = asyncio.Event()
    statuses = [
        (await post(there, signed(b"x" * 5000)))[0],
        (await post(there, {**signed(b""), "data": in_pieces()}))[0],
        (await post(there, {**signed(b""), "data": slowly()}))[0],
        (await post(there, signed(BODY, **{"Content-Encoding": "gzip"})))[0],
    ]

    assert [413, 413, 408, 415] == statuses


async def test_the_challenge_comes_back(there: World) -> None:
    """Slack asks once, when the URL is set; it is signed too."""
    status, body = await post(there, signed({"type": "url_verification", "challenge": "x-ö"}))

    assert (200, {"challenge": "x-ö"}) == (status, json.loads(body))


async def test_the_app_s_page_accepts_our_url() -> None:
    async with world() as opened:
        await opened.app.subscribe(opened.url)


@pytest.mark.parametrize(
    ("fields", "heard"),
    [
        (
            {"command": "/new", "text": "", "team_id": "T1", "user_id": "U1", "channel_id": "D1", "trigger_id": "1"},
            ["/new"],
        ),
        ({"payload": json.dumps({"type": "block_actions", "trigger_id": "1"})}, []),
        ({"ssl_check": "1", "token": "x"}, []),
    ],
    ids=["command", "button", "ssl-check"],
)
async def test_forms_are_read_and_answered_empty(there: World, fields: dict[str, str], heard: list[str]) -> None:
    """What a command is answered with would be shown to its sender."""
    fields = {name: there.here.id if name == "team_id" else value for name, value in fields.items()}
    form = signed(urlencode(fields).encode(), **{"Content-Type": "application/x-www-form-urlencoded"})

    assert (200, "") == await post(there, form)
    assert heard == [event.text for event in there.intake.messages]


@pytest.mark.parametrize("raw", [b"payload=nojson", b"a=%ff", b"&".join(b"a=%d" % n for n in range(200))])
async def test_a_form_that_is_none_is_refused(there: World, raw: bytes) -> None:
    status, _ = await post(there, signed(raw, **{"Content-Type": "application/x-www-form-urlencoded"}))

    assert 400 == status


def test_we_sign_as_the_platform_s_own_library_does() -> None:
    """A second opinion on the signature, and on the window around now."""
    verifier = SignatureVerifier("secret")
    stamp = str(int(time.time()))
    signature = sign(BODY, stamp=stamp, secret=b"secret")

    assert verifier.is_valid(BODY, stamp, signature)
    verify(BODY, stamp=stamp, signatures=[signature], secrets=[b"secret"])


@pytest.mark.parametrize(("skew_s", "good"), [(-300, True), (300, True), (-301, False), (301, False)])
def test_five_minutes_either_way_are_good(skew_s: int, good: bool) -> None:
    now_s = 1_700_000_000.0
    stamps = [str(int(now_s) + skew_s)]
    if good:
        assert stamps[0] == timestamp_of(stamps, now_s=now_s)
    else:
        with pytest.raises(Problem, match="clock"):
            timestamp_of(stamps, now_s=now_s)


@pytest.mark.parametrize("stamps", [[], ["1", "1"]])
def test_a_header_stands_there_once(stamps: list[str]) -> None:
    with pytest.raises(Problem):
        timestamp_of(stamps, now_s=1)
