"""slack-bolt between the way in and the intake: nothing is lost in it, it asks nobody, and the environment does not matter."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.errors import AdapterFault, Overloaded
from adapters.problems import Problem
from adapters.slack.adapter import SlackAdapter
from adapters.slack.parse import Ignored
from tests.fakes import FakeIntake
from tests.serving import serving
from tests.unit.slack.samples import callback, dispatched, message
from tests.unit.slack.world import adapter, platform, world

SECRET_WORDS = "the word nobody may read in a log"


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (callback({"type": "reaction_added", "user": "U1"}), "unused"),
        (callback({"type": "invented_tomorrow"}), "unused"),
        (callback({"type": "function_executed", "function_execution_id": "Fx1"}), "unused"),
        ({"type": "app_rate_limited", "minute_rate_limited": 1}, "rate_limited"),
        ({"type": "invented_tomorrow"}, "unused"),
        ({"ssl_check": "1", "token": "x"}, "unused"),
        ({}, "unused"),
        ({"type": "block_actions", "actions": [{"action_id": "a"}]}, "interaction"),
        ({"type": "interactive_message", "callback_id": "a", "actions": [{}]}, "interaction"),
        ({"type": "dialog_submission", "callback_id": "a"}, "interaction"),
        ({"type": "dialog_cancellation", "callback_id": "a"}, "interaction"),
        ({"type": "dialog_suggestion", "callback_id": "a"}, "interaction"),
        ({"type": "shortcut", "callback_id": "a"}, "interaction"),
        ({"type": "message_action", "callback_id": ""}, "interaction"),
        ({"type": "view_submission", "view": {"callback_id": "a", "type": "modal"}}, "interaction"),
        ({"type": "view_closed", "view": {"callback_id": ""}}, "interaction"),
        ({"type": "block_suggestion", "action_id": "a"}, "interaction"),
    ],
    ids=str,
)
async def test_what_clew_does_nothing_with_is_acknowledged_by_a_rule(body: dict[str, Any], rule: str) -> None:
    """Bolt answers with 404 what no listener is for, and Slack sends it again (platform-facts 1.1)."""
    taken, answer = await dispatched(body)

    assert (200, "", [Ignored(rule)]) == (answer.status, answer.text, taken)


@pytest.mark.parametrize(
    "body",
    [
        callback({}),
        callback({}) | {"event": None},
        callback({}) | {"event": []},
        callback({"type": None}),
        callback(message()) | {"authorizations": "all"},
        {"type": "block_actions", "user": 7},
        {"type": "block_actions", "actions": []},
        {"type": "block_actions", "actions": [None]},
        {"type": "view_submission", "view": 1.5},
        {"type": "shortcut", "callback_id": ["文"]},
        {"command": {}, "team_id": "T1", "user_id": "U1", "channel_id": "C1", "trigger_id": "1"},
    ],
)
async def test_what_cannot_come_from_slack_is_refused(body: dict[str, Any]) -> None:
    """A 400, for it would be no better the next time; Bolt trips over it."""
    taken, answer = await dispatched(body)

    assert (400, []) == (answer.status, taken)


@pytest.mark.parametrize(
    ("fault", "status", "wait_s"),
    [
        (Overloaded("full", retry_after_s=2.5), 503, "3"),
        (AdapterFault("the store is away"), 503, "1"),
        (RuntimeError("a fault of ours"), 503, "1"),
        (Problem(400, "bad_event", "no good"), 400, None),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "body",
    [
        callback(message()),
        {"command": "/new", "team_id": "T1", "user_id": "U1", "channel_id": "C1", "trigger_id": "1"},
        {"type": "shortcut", "callback_id": "a"},
    ],
    ids=["event", "command", "interaction"],
)
async def test_what_a_listener_fails_at_is_never_acknowledged(
    body: dict[str, Any], fault: Exception, status: int, wait_s: str | None
) -> None:
    """By itself Bolt answers 200, and the event is gone; 503 makes Slack come again."""
    _, answer = await dispatched(body, fault=fault)

    assert (status, wait_s) == (answer.status, answer.headers.get("Retry-After"))
    assert "a fault of ours" not in (answer.text or "")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_OUTER = (
    "authorizations",
    "team",
    "team_id",
    "enterprise",
    "user",
    "view",
    "is_ext_shared_channel",
    "channel",
    "event_id",
)
_INNER = (
    "user",
    "user_team",
    "team",
    "channel",
    "item",
    "message",
    "previous_message",
    "thread_ts",
    "assistant_thread",
)


@given(
    outer=st.dictionaries(st.sampled_from(_OUTER), _JSON),
    inner=st.dictionaries(st.sampled_from(_INNER), _JSON),
    kind=st.sampled_from(["message", "app_mention", "member_joined_channel", "assistant_thread_started", "anything"]),
)
def test_no_shape_of_an_event_makes_slack_send_it_for_ever(
    outer: dict[str, Any], inner: dict[str, Any], kind: str
) -> None:
    """Taken or refused, whatever stands where Bolt looks for ids; never a 5xx."""
    body = {**callback({**message(), "type": kind, **inner}), **outer}
    taken, answer = asyncio.run(dispatched(body))

    assert (answer.status, len(taken)) in [(200, 1), (400, 0)]


async def test_nothing_of_an_event_stands_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Bolt's debug lines and its warning about unhandled requests hold whole bodies."""
    with caplog.at_level(logging.DEBUG):
        for body in (
            callback(message(SECRET_WORDS)),
            {"type": "unheard_of", "text": SECRET_WORDS},
            {"type": "shortcut", "callback_id": SECRET_WORDS},
            {"command": f"/{SECRET_WORDS}", "text": SECRET_WORDS},
        ):
            await dispatched(body)
            await dispatched(body, fault=AdapterFault("the store is away"))

    assert SECRET_WORDS not in caplog.text


async def test_bolt_leaves_no_task_and_calls_nobody() -> None:
    """It starts listeners in tasks that nobody owns, and gives them a client that may post past our pacing."""
    before = asyncio.all_tasks()
    for body in (callback(message()), {"type": "shortcut", "callback_id": "a"}):
        await dispatched(body)  # its client's platform is nowhere

    assert before == asyncio.all_tasks()


ENVIRONMENT = {
    "SLACK_BOT_TOKEN": "xoxb-of-another-app",
    "SLACK_SIGNING_SECRET": "of another app",
    "SLACK_VERIFICATION_TOKEN": "x",
    "SLACK_CLIENT_ID": "1.2",
    "SLACK_CLIENT_SECRET": "of another app",
    "SLACK_SCOPES": "chat:write",
}


@pytest.mark.parametrize("mode", ["http", "socket"])
async def test_what_the_environment_says_to_bolt_does_not_matter(
    mode: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Several apps live in one process; with a client's id Bolt even keeps tokens in files (platform-facts 1.1)."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    async with world(mode=mode) as there:
        await there.ann.says(there.general, f"{there.bot.mention} hi")
        await there.ann.runs(there.app, there.general, "/new", "")
        await there.platform.settled()

        assert {"hi", "/new"} == {event.text for event in there.intake.messages}
        assert 1 == len(there.here.called("auth.test"))
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mode", ["http", "socket"])
async def test_first_events_that_come_together_do_not_ask_who_we_are(mode: str) -> None:
    """Three made Bolt ask three times before it answered (platform-facts 1.1); ours asked once, at the start."""
    async with world(mode=mode) as there:
        await asyncio.gather(*(there.ann.says(there.general, text) for text in ("one", "two", "three")))
        await there.platform.settled()

        assert {"one", "two", "three"} == {event.text for event in there.intake.messages}
        assert 1 == len(there.here.called("auth.test"))


@pytest.mark.parametrize("mode", ["http", "socket"])
async def test_a_slash_command_may_hold_any_word(mode: str) -> None:
    """Bolt's own reading of forms loses a command with the word `payload` in it."""
    async with world(mode=mode) as there:
        delivery = await there.ann.runs(there.app, there.general, "/new", "what is a payload=? 你好")

        assert ["/new what is a payload=? 你好"] == [event.text for event in there.intake.messages]
        assert delivery.acked


async def test_a_channel_that_is_not_open_yet_asks_to_come_again() -> None:
    """A 503, so that what comes too early is not lost."""
    channels: dict[str, SlackAdapter] = {}
    async with platform() as (_, app, bot), serving(FakeIntake(), channels) as url:
        channels["acme"] = adapter(bot)
        app.events_url = f"{url}/channels/acme"

        assert 503 == (await app.inject(callback(message()))).status
