"""What the local Slack tells apps over HTTP: shapes as recorded, signatures, siblings, retries."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.signature import SignatureVerifier

from tests.emulators.slack.clock import SteppedClock
from tests.emulators.slack.push import Delivery
from tests.loopback import on_loopback
from tests.unit.emulators.slack.world import World, client, world

RECORDED = Path(__file__).parents[3] / "payloads" / "slack" / "recorded"


def recorded(kind: str) -> dict[str, Any]:
    """Bodies recorded from the real platform, all of one kind of event."""
    bodies: list[dict[str, Any]] = json.loads((RECORDED / "webhook-bodies.json").read_bytes())
    kinds: dict[str, Callable[[dict[str, Any]], bool]] = {
        "mention": lambda event: event["type"] == "app_mention",
        "message": lambda event: "client_msg_id" in event and "thread_ts" not in event,
        "reply": lambda event: "client_msg_id" in event and "thread_ts" in event,
        "own": lambda event: "bot_profile" in event,
        "own changed": lambda event: event.get("subtype") == "message_changed",
    }
    wanted = kinds[kind]
    return next(body for body in bodies if wanted(body["event"]) and "attachments" not in body["event"])


def keys(body: dict[str, Any]) -> dict[str, set[str]]:
    """The fields of a delivery: of its envelope, its event, and the messages and authorizations inside."""
    event = body["event"]
    found = {"envelope": set(body), "event": set(event), "authorization": set(body["authorizations"][0])}
    return found | {name: set(event[name]) for name in ("message", "previous_message", "bot_profile") if name in event}


async def test_events_have_the_fields_of_recorded_ones(here: World) -> None:
    """A message, its mention, a reply, the bot's own post and its update: key by key as the real platform sent them."""
    root = await here.ann.says(here.general, f"{here.bot.mention} 1")
    await here.ann.says(here.general, "2", thread=root)
    own = await here.web.chat_postMessage(channel=here.general.id, text="Processing...", thread_ts=root)
    await here.web.chat_update(channel=here.general.id, ts=own["ts"], text="Done")
    await here.platform.settled()
    got = [one.body for one in here.heard.received]

    assert [keys(recorded(kind)) for kind in ("message", "mention", "reply", "own", "own changed")] == [
        keys(body) for body in got
    ]
    assert recorded("message")["event"]["blocks"][0]["elements"] == [
        {
            "type": "rich_text_section",
            "elements": [
                {"type": "user", "user_id": "U00FAKEBOT01"},
                {"type": "text", "text": " 1"},
            ],
        }
    ]
    assert [
        {
            "type": "rich_text_section",
            "elements": [
                {"type": "user", "user_id": here.bot.id},
                {"type": "text", "text": " 1"},
            ],
        }
    ] == got[0]["event"]["blocks"][0]["elements"]


async def test_joining_has_the_fields_of_a_recorded_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a workspace of an Enterprise Grid, as recorded: the bot hears of its own arrival and of who brought it."""
    body = json.loads((RECORDED / "member-joined-channel-slack.json").read_bytes())["memberJoinedChannel"]
    async with world(monkeypatch) as here:
        grid = here.platform.workspace("Grid", enterprise="E00FAKEENT01")
        bot, zoe = grid.install(here.app), grid.person("Zoe")
        room = grid.channel("room", members=[zoe])
        room.let_in(bot, by=zoe)
        await here.platform.settled()
        joined, shown = here.heard.received

        assert keys(body) == keys(joined.body)
        assert (bot.id, zoe.id) == (joined.event["user"], joined.event["inviter"])
        assert "channel_join" == shown.event["subtype"]


async def test_what_a_bot_hears_of_a_channel(here: World) -> None:
    """Edits, deletions, files, reactions, joins, leaves, other bots of both kinds: each in its own shape."""
    general, jenkins = here.general, here.here.bot("jenkins")
    ts = await here.ann.says(general, "a < b & c")
    await here.ann.edits(general, ts, "a > b")
    await here.ann.reacts(general, ts, "eyes")
    await here.ann.deletes(general, ts)
    shared = here.here.file("notes.txt", "备忘".encode(), by=here.bob)
    await here.bob.says(general, "", files=[shared])
    await jenkins.says(general, "build 1 passed")
    await jenkins.says(general, "build 2 passed", legacy=True)
    await here.bob.leaves(general)
    await here.bob.joins(general)
    await here.platform.settled()
    events = here.heard.events

    assert [
        "message",
        "message:message_changed",
        "reaction_added",
        "message:message_deleted",
        "message:file_share",
        "message",
        "message:bot_message",
        "message:channel_leave",
        "member_left_channel",
        "member_joined_channel",
        "message:channel_join",
    ] == here.heard.kinds()
    assert "a &lt; b &amp; c" == events[0]["text"]
    assert here.ann.id == events[1]["message"]["edited"]["user"]
    assert ("a &gt; b", ts) == (events[1]["message"]["text"], events[1]["message"]["ts"])
    assert "user" not in events[1]
    assert "text" not in events[1]
    assert ts == events[3]["deleted_ts"]
    assert "notes.txt" == events[4]["files"][0]["name"]
    assert ("client_msg_id" in events[5], events[5]["bot_id"]) == (False, jenkins.bot_id)
    assert ("user" in events[6], events[6]["username"]) == (False, "jenkins")


async def test_a_root_with_replies_is_deleted_into_a_tombstone(here: World) -> None:
    """Slack keeps its place: the event is a change, by nobody we know, not a deletion."""
    root = await here.ann.says(here.general, "root")
    await here.bob.says(here.general, "reply", thread=root)
    await here.ann.deletes(here.general, root)
    await here.platform.settled()
    event = here.heard.events[-1]

    assert "message_changed" == event["subtype"]
    assert ("tombstone", "USLACKBOT") == (event["message"]["subtype"], event["message"]["user"])
    assert "message_not_found" == await here.refused("chat.update", channel=here.general.id, ts=root, text="x")


async def test_an_unfurled_link_and_a_counter_change_a_message_without_an_edit(here: World) -> None:
    """Phantom `message_changed`, which must never look like a new text; a bot that forbids it causes none."""
    here.here.reply_counters = True
    root = await here.ann.says(here.general, "see https://example.com/a?b=1&c=2")
    await here.bob.says(here.general, "ok", thread=root)
    await here.web.chat_postMessage(
        channel=here.general.id, text="<https://evil.example|x>", unfurl_links=False, unfurl_media=False
    )
    await here.web.chat_postMessage(channel=here.general.id, text="<https://leak.example|x>")
    await here.platform.settled()
    changes = [event for event in here.heard.events if event.get("subtype") == "message_changed"]

    assert ["https://example.com/a?b=1&c=2", "https://leak.example"] == here.general.unfurled
    assert 3 == len(changes)
    assert all("edited" not in change["message"] for change in changes)
    assert all(change["message"]["text"] == change["previous_message"]["text"] for change in changes)


async def test_conversations_are_told_apart_by_their_channel_type(here: World) -> None:
    """DM, group DM, private channel; a mention in a DM comes as `message` alone."""
    for room in (
        here.here.dm(here.ann, here.bot),
        here.here.dm(here.ann, here.bob, here.bot),
        here.here.channel("secret", members=[here.ann, here.bot], private=True),
    ):
        await here.ann.says(room, f"{here.bot.mention} hi")
    await here.platform.settled()

    assert ["app_mention", "app_mention", "group", "im", "mpim"] == sorted(
        event.get("channel_type", event["type"]) for event in here.heard.events
    )


@pytest.mark.parametrize(
    ("siblings", "kinds"),
    [
        ("message first", ["message", "app_mention"]),
        ("mention first", ["app_mention", "message"]),
        ("message only", ["message"]),
        ("mention only", ["app_mention"]),
    ],
)
async def test_a_mention_arrives_twice_in_either_order_or_once(
    monkeypatch: pytest.MonkeyPatch, siblings: str, kinds: list[str]
) -> None:
    """Two events, two event ids, one ts (slackapi/bolt-python#941)."""
    async with world(monkeypatch, siblings=siblings) as here:
        ts = await here.ann.says(here.general, f"hey {here.bot.mention}")
        await here.platform.settled()

        assert kinds == here.heard.kinds()
        assert {ts} == {event["ts"] for event in here.heard.events}
        assert len(kinds) == len({one.body["event_id"] for one in here.heard.received})


async def test_a_bot_that_has_not_joined_hears_its_mention_only(here: World) -> None:
    """And nothing at all of its own mentions of itself (slackapi/bolt-python#1350)."""
    public = here.here.channel("public", members=[here.ann])
    await here.ann.says(public, f"{here.bot.mention} come in")
    await here.ann.says(public, "nobody there")
    await here.bot.user.says(here.general, f"I am {here.bot.mention}")
    await here.platform.settled()

    assert ["app_mention", "message"] == here.heard.kinds()
    assert "bot_id" in here.heard.events[1]


async def test_an_app_hears_what_it_subscribed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest's events decide, per kind of conversation."""
    async with world(monkeypatch, events=frozenset({"message.im", "app_mention"})) as here:
        await here.ann.says(here.general, "not this")
        await here.ann.says(here.general, f"{here.bot.mention} but this")
        await here.ann.says(here.here.dm(here.ann, here.bot), "and this")
        await here.platform.settled()

        assert ["but this", "and this"] == [event["text"].split("> ")[-1] for event in here.heard.events]


async def test_a_stranger_of_slack_connect_keeps_its_own_team(here: World) -> None:
    """Both installations of one app hear it, each as its own; the author's team is never the host's."""
    other = here.platform.workspace("Other")
    zoe, there = other.person("Zoe"), other.install(here.app)
    shared = here.here.channel("shared", members=[here.ann, here.bot, zoe, there], shared_with=[other])
    ts = await zoe.says(shared, f"{here.bot.mention} hello from outside")
    await here.platform.settled()
    bodies = [one.body for one in here.heard.received]
    profile = (await here.web.users_info(user=zoe.id))["user"]

    assert {ts} == {body["event"]["ts"] for body in bodies}
    assert [(here.here.id, "message"), (here.here.id, "app_mention"), (other.id, "message")] == [
        (body["authorizations"][0]["team_id"], body["event"]["type"]) for body in bodies
    ]
    message, mention, _ = bodies
    assert (other.id, here.here.id, other.id) == (
        message["team_id"],
        message["context_team_id"],
        message["event"]["team"],
    )
    assert (here.here.id, other.id) == (mention["event"]["team"], mention["event"]["user_team"])
    assert all(body["is_ext_shared_channel"] for body in bodies)
    assert (other.id, True, False) == (profile["team_id"], profile["is_stranger"], "email" in profile["profile"])


async def test_deliveries_are_signed_over_their_raw_bytes(here: World) -> None:
    """The SDK's verifier accepts what came; the same document written anew has another signature."""
    await here.ann.says(here.general, "你好 https://a.example/b")
    await here.platform.settled()
    one = here.heard.received[0]
    verifier = SignatureVerifier(here.app.signing_secret)

    assert verifier.is_valid_request(one.raw, one.headers)
    assert not verifier.is_valid_request(json.dumps(one.body).encode(), one.headers)
    assert "X-Slack-Retry-Num" not in one.headers


async def test_the_url_is_checked_with_a_challenge(here: World) -> None:
    """What does not return it is refused, as on the app's page."""
    delivery = await here.app.subscribe(here.heard.url)

    assert delivery.acked
    with pytest.raises(AssertionError, match="challenge"):
        await here.app.subscribe(here.platform.api_url + "auth.test")
    assert here.heard.url == here.app.events_url


async def test_a_failed_delivery_comes_again_at_once_after_a_minute_and_after_five(
    here: World, clock: SteppedClock
) -> None:
    """Same event id each time, its number and the reason in the headers; then never again (vercel/chat#667)."""
    here.heard.statuses = [500, 503, 404, 500]
    start = clock.now()
    await here.ann.says(here.general, "hello")
    for wait_s in (60, 300):
        await here.platform.pusher.resting()
        await clock.advance(wait_s)
    await here.platform.settled()
    headers = [one.headers for one in here.heard.received]

    assert 1 == len({one.body["event_id"] for one in here.heard.received})
    assert [None, "1", "2", "3"] == [header.get("X-Slack-Retry-Num") for header in headers]
    assert [None, "http_error", "http_error", "http_error"] == [h.get("X-Slack-Retry-Reason") for h in headers]
    assert [0, 0, 60, 360] == [round(one.sent_at - start) for one in here.app.deliveries]


async def test_a_late_ack_counts_as_none(here: World, clock: SteppedClock) -> None:
    """After three seconds the event comes again, although the first try is answered later (slackapi/bolt-python#1027)."""
    here.heard.go_on.clear()
    await here.ann.says(here.general, "slow one")
    await here.heard.holding(1)
    await clock.advance(3)
    await here.heard.holding(2)
    here.heard.go_on.set()
    await here.platform.pusher.settled(late=True)
    first, second = here.app.deliveries

    assert ("http_timeout", True, False) == (first.failed, first.late, first.acked)
    assert (True, "http_timeout") == (second.acked, second.reason)


async def test_an_app_can_ask_not_to_be_told_again(here: World) -> None:
    """`X-Slack-No-Retry: 1` on a refusal ends it."""
    here.heard.statuses, here.heard.headers = [400], {"X-Slack-No-Retry": "1"}
    await here.ann.says(here.general, "hello")
    await here.platform.settled()

    assert 1 == len(here.heard.received)


async def test_an_app_that_is_away_is_called_again(here: World) -> None:
    """A refused connection is a failed try like any other; so is an app without a URL."""
    here.app.events_url = "http://127.0.0.1:9/"
    here.platform.pusher.retry_after_s = (0.0,)
    await here.ann.says(here.general, "hello?")
    await here.platform.settled()
    here.app.events_url = None
    await here.ann.says(here.general, "hello?")
    await here.platform.settled()

    assert ["connection_failed"] * 4 == [one.failed for one in here.app.deliveries]


async def test_any_event_can_be_sent_again(here: World) -> None:
    """Acknowledged ones too: twice in a row by option, or whenever the test says."""
    here.app.twice = 1
    await here.ann.says(here.general, "once")
    await here.platform.settled()
    again = await here.platform.pusher.again(here.app, here.app.deliveries[0].payload, attempt=3)

    assert 3 == len(here.heard.received)
    assert 1 == len({one.body["event_id"] for one in here.heard.received})
    assert ("3", True) == (here.heard.received[-1].headers["X-Slack-Retry-Num"], again.acked)


async def test_anything_can_be_sent(here: World) -> None:
    """Recorded bodies, and what no platform would send; signed, and never again."""
    here.heard.statuses = [500]
    refused = await here.app.inject({"type": "event_callback", "event": None})
    taken = await here.app.inject(recorded("message"))

    assert (False, True) == (refused.acked, taken.acked)
    assert [None, "Ev0A4QA0FC8P"] == [one.body.get("event_id") for one in here.heard.received]
    assert all(
        SignatureVerifier(here.app.signing_secret).is_valid_request(o.raw, o.headers) for o in here.heard.received
    )


async def test_events_come_in_order_unless_told_otherwise(here: World) -> None:
    """One channel's events wait for each other's first try; another channel's do not; without order none does."""
    side = here.here.channel("side", members=[here.ann, here.bot])
    here.heard.go_on.clear()
    for room in (here.general, here.general, side):
        await here.ann.says(room, "x")
    await here.heard.holding(2)
    here.heard.go_on.set()
    await here.platform.settled()
    ordered = [event["channel"] for event in here.heard.events]
    here.heard.go_on.clear()
    here.platform.pusher.in_order = False
    for _ in range(3):
        await here.ann.says(here.general, "y")
    await here.heard.holding(6)
    here.heard.go_on.set()
    await here.platform.settled()

    assert {here.general.id, side.id} == set(ordered[:2])


async def test_an_app_is_told_that_events_are_held_back(here: World) -> None:
    """An outer event without an inner one."""
    await here.app.tell_rate_limited(here.here)
    await here.platform.settled()
    body = here.heard.received[0].body

    assert ("app_rate_limited", here.here.id, 0) == (body["type"], body["team_id"], body["minute_rate_limited"] % 60)
    assert "event" not in body


async def test_a_slash_command_is_a_signed_form_and_its_answer_is_kept(here: World) -> None:
    """Field by field as recorded; the response URL takes five answers, for the asker or for all."""
    recorded_form = json.loads((RECORDED / "slash-commands-slack.json").read_bytes())["slashCommandWithArgs"]
    delivery = await here.ann.runs(here.app, here.general, "/clew", "new a < b")
    got = here.heard.received[0]
    url = got.body["response_url"]
    async with here.platform.pusher.session.post(url, json={"text": "for you"}) as first:
        assert 200 == first.status
    async with here.platform.pusher.session.post(url, json={"text": "all", "response_type": "in_channel"}):
        pass
    statuses = []
    for text in ("", "3", "4", "5", "6"):
        async with here.platform.pusher.session.post(url, json={"text": text}) as answer:
            statuses.append(answer.status)
    async with here.platform.pusher.session.post(f"{here.platform.url}/hooks/none", json={}) as answer:
        statuses.append(answer.status)

    assert delivery.acked
    assert set(recorded_form) == set(got.body)
    assert ("/clew", "new a &lt; b") == (got.body["command"], got.body["text"])
    assert SignatureVerifier(here.app.signing_secret).is_valid_request(got.raw, got.headers)
    assert ["for you", "3", "4", "5"][:1] == [message.shown for _, message in here.general.ephemerals][:1]
    assert ["all"] == [message.shown for message in here.general.messages()]
    assert [400, 200, 200, 404, 404, 404] == statuses


async def test_one_app_in_two_workspaces_hears_both_apart(here: World) -> None:
    """Tokens, bots and teams differ; the same person's ids do not exist in the other."""
    other = here.platform.workspace("Other")
    there, zoe = other.install(here.app), other.person("Zoe")
    room = other.channel("general", members=[zoe, there])
    await zoe.says(room, "over here")
    await here.ann.says(here.general, "and here")
    await here.platform.settled()

    assert {other.id, here.here.id} == {one.body["team_id"] for one in here.heard.received}
    assert other.id == (await client(there).auth_test())["team_id"]
    assert "channel_not_found" == await here.refused("chat.postMessage", channel=room.id, text="x")


async def test_bolt_answers_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """slack-bolt, with nothing but its documented parts, verifies, hears and answers in the thread."""
    async with world(monkeypatch) as here:
        bolt = AsyncApp(signing_secret=here.app.signing_secret, client=here.web)

        async def echo(event: dict[str, Any], say: Any) -> None:
            await say(text=f"echo: {event['text']}", thread_ts=event["ts"])

        bolt.event("message")(echo)

        async def handle(request: web.Request) -> web.Response:
            return await to_aiohttp_response(await bolt.async_dispatch(await to_bolt_request(request)))

        app = web.Application()
        app.router.add_post("/slack/events", handle)
        async with on_loopback(app) as url:
            await here.app.subscribe(f"{url}/slack/events")
            ts = await here.ann.says(here.general, "hello 你好 👋")
            reply = await here.general.reply(here.bot, after=ts)
            await here.platform.settled()

            assert ("echo: hello 你好 👋", ts) == (reply.shown, reply.thread_ts)


def test_a_delivery_is_late_only_when_it_came_too_late() -> None:
    """A try that failed otherwise is not late."""
    assert not Delivery(kind="events_api", payload={}, failed="http_error", status=500).late
