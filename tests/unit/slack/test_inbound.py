"""Events from a local Slack through the real adapter, in both transports: accepted once, and acknowledged only then."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from adapters.base import Address, DeleteEvent, EditEvent, MessageEvent
from adapters.errors import AdapterFault
from tests.emulators.slack.clock import SteppedClock
from tests.emulators.slack.faults import broken, refused, slow, throttled
from tests.fakes import FakeIntake
from tests.pulling import receiving
from tests.unit.slack.world import World, adapter, platform, world

pytestmark = pytest.mark.parametrize("mode", ["http", "socket"])


NOWHERE = Address(channel="acme", room="C1")


def texts(there: World) -> list[str]:
    return [event.text for event in there.intake.messages]


async def test_a_message_arrives_whole(mode: str) -> None:
    """Who, where, what, when; in the forms of the key."""
    async with world(mode=mode) as there:
        ts = await there.ann.says(there.general, f"{there.bot.mention} 你好 <world> & 👋")
        await there.platform.settled()

        event = there.intake.messages[0]
        assert ("acme", there.general.id, ts) == (event.channel, event.room, event.thread)
        assert f"{there.here.id}.{there.ann.id}" == event.sender.user
        assert ("你好 <world> & 👋", ts, "group", True) == (
            event.text,
            event.message_id,
            event.chat_type,
            event.mentions_bot,
        )


@pytest.mark.parametrize("siblings", ["message first", "mention first", "message only", "mention only"])
async def test_a_mention_is_one_message_in_whatever_order_its_events_come(mode: str, siblings: str) -> None:
    """slackapi/bolt-python#941, slackapi/bolt-js#1060; either may be missing (platform-facts 1.3)."""
    async with world(mode=mode, app={"siblings": siblings}) as there:
        await there.ann.says(there.general, f"{there.bot.mention} hi")
        await there.platform.settled()

        assert ["hi"] == texts(there)
        assert all(delivery.acked for delivery in there.app.deliveries)


async def test_an_event_that_comes_twice_is_one_message(mode: str) -> None:
    """Same event id; in Socket Mode under another envelope id (slackapi/bolt-js#2487)."""
    async with world(mode=mode, app={"twice": 1}) as there:
        await there.ann.says(there.general, "hi")
        await there.platform.settled()

        assert ["hi"] == texts(there)
        assert 2 == len(there.app.deliveries)


async def test_what_cannot_be_stored_is_not_acknowledged_and_comes_again(mode: str) -> None:
    """A retry after minutes is the first that is heard: it must not be dropped for being a retry (vercel/chat#667)."""
    clock = SteppedClock()
    async with world(mode=mode, clock=clock) as there:
        there.intake.overloaded = True
        await there.ann.says(there.general, "hi")
        await refused_twice(there, clock, mode)
        assert not any(delivery.acked for delivery in there.app.deliveries)
        assert not texts(there)

        there.intake.overloaded = False
        await clock.advance(60)
        await there.platform.settled()

        assert ["hi"] == texts(there)
        assert there.app.deliveries[-1].acked
        assert there.app.deliveries[-1].attempt == 2


async def refused_twice(there: World, clock: SteppedClock, mode: str) -> None:
    """Let Slack try twice, the second time at once after the first."""
    for tries in (1, 2):
        await there.intake.asked(tries)
        if mode == "socket":
            await clock.advance(4)  # a missing acknowledgement shows by time alone
    await there.platform.pusher.resting()


async def test_a_fault_of_ours_and_the_redelivery_make_exactly_one_turn(mode: str) -> None:
    """Bolt by itself answers 200 when a handler raises, and the event is gone (platform-facts 1.1)."""
    clock = SteppedClock()
    async with world(mode=mode, clock=clock) as there:
        there.intake.bug = RuntimeError("a fault of ours")
        await there.ann.says(there.general, "hi")
        await refused_twice(there, clock, mode)
        there.intake.bug = None
        await clock.advance(60)
        await there.platform.settled()

        assert ["hi"] == texts(there)
        assert ([503, 503, 200] if mode == "http" else [None, None, 200]) == [
            one.status for one in there.app.deliveries
        ]


async def test_edits_and_deletions_arrive_as_such(mode: str) -> None:
    async with world(mode=mode) as there:
        ts = await there.ann.says(there.general, "old")
        await there.ann.edits(there.general, ts, "new")
        await there.ann.deletes(there.general, ts)
        await there.platform.settled()

        message, edit, deletion = [turn.event for turn in there.intake.turns.values()]
        assert isinstance(message, MessageEvent)
        assert isinstance(edit, EditEvent)
        assert isinstance(deletion, DeleteEvent)
        assert [(ts, "new"), ts] == [(edit.message_id, edit.text), deletion.message_id]


async def test_our_own_messages_and_their_edits_are_not_heard(mode: str) -> None:
    """openclaw/openclaw#25495: a reply shown by editing comes back at every step."""
    async with world(mode=mode) as there:
        receipt = await there.adapter.send(there.to(), "working on https://x.example", chunk_id="1")
        await there.adapter.send(there.to(), "done", chunk_id="1", shown=receipt.message_id)
        await there.platform.settled()

        assert there.app.deliveries
        assert not there.intake.turns


async def test_a_slash_command_is_heard_as_its_text(mode: str) -> None:
    async with world(mode=mode) as there:
        delivery = await there.ann.runs(there.app, there.general, "/new", "about cats")

        assert ["/new about cats"] == texts(there)
        assert delivery.acked


async def test_other_bots_are_marked(mode: str) -> None:
    async with world(mode=mode) as there:
        other = there.here.bot("Jira")
        there.general.let_in(other)
        await other.says(there.general, "ticket opened")
        await other.says(there.general, "the old way", legacy=True)
        await there.platform.settled()

        assert [("ticket opened", True), ("the old way", True)] == [
            (e.text, e.sender.is_bot) for e in there.intake.messages
        ]


async def test_strangers_of_a_shared_channel_come_from_their_own_workspace(mode: str) -> None:
    """Slack Connect: their rights are not the host's (platform-facts 1.9)."""
    async with world(mode=mode) as there:
        elsewhere = there.platform.workspace("Partner")
        zoe = elsewhere.person("Zoe")
        shared = there.here.channel("shared", members=[there.ann, zoe, there.bot], shared_with=[elsewhere])
        await zoe.says(shared, "hello")
        await there.platform.settled()

        assert [f"{elsewhere.id}.{zoe.id}"] == [event.sender.user for event in there.intake.messages]


async def test_another_workspace_s_events_of_the_same_app_are_not_taken(mode: str) -> None:
    """One app in two workspaces has one URL; this channel holds the token of one of them."""
    async with world(mode=mode) as there:
        elsewhere = there.platform.workspace("Other")
        bot, zoe = elsewhere.install(there.app), elsewhere.person("Zoe")
        await zoe.says(elsewhere.dm(zoe, bot), "hello")
        await there.platform.settled()

        assert not there.intake.turns
        assert there.app.deliveries[-1].acked


async def test_a_proxy_in_the_environment_is_not_used(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK takes it even for loopback and for an empty setting (platform-facts 1.2)."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with world(mode=mode) as there:
        await there.adapter.probe()


async def test_names_are_filled_in_once_asked(mode: str) -> None:
    """Whoever writes and whoever is mentioned; asked once, not at every message."""
    async with world(mode=mode) as there:
        for _ in range(2):
            await there.ann.says(there.general, f"{there.bob.mention} see {there.general.mention} <@U0NOBODY>")
        await there.platform.settled()
        first, second = [await there.adapter.named(event) for event in there.intake.messages]

        assert ("Ann", "@Bob see #general <@U0NOBODY>") == (first.sender.name, first.text)
        assert second.text == first.text
        assert 3 == len(there.here.called("users.info"))


async def test_a_private_channels_name_is_told_to_nobody(mode: str) -> None:
    """Whoever knows its id could write it down in another room, and the answer would tell what Slack hides from him."""
    async with world(mode=mode) as there:
        hidden = there.here.channel("merger-with-acme", members=[there.bob, there.bot], private=True)
        await there.ann.says(there.general, f"what is {hidden.mention}?")
        await there.platform.settled()
        event = await there.adapter.named(there.intake.messages[0])

        assert f"what is <#{hidden.id}>?" == event.text


@pytest.mark.parametrize("fault", [refused("user_not_found"), broken(500), throttled(30), slow(30)], ids=str)
async def test_names_that_cannot_be_had_stay_as_they_are(mode: str, fault: Any) -> None:
    async with world(mode=mode, names_wait_s=0.2) as there:
        there.here.faults.always("users.info", fault)
        await there.ann.says(there.general, f"hi {there.bob.mention}")
        await there.platform.settled()
        event = there.intake.messages[0]

        assert event == await there.adapter.named(event)


@pytest.mark.parametrize("fault", [refused("invalid_auth"), broken(503), throttled(30)], ids=["token", "5xx", "429"])
async def test_a_channel_whose_token_is_not_proved_does_not_open(mode: str, fault: Any) -> None:
    """Bolt would answer events with 200 and lose them (platform-facts 1.1)."""
    async with platform(socket_mode=mode == "socket") as (_, _, bot):
        bot.workspace.will("auth.test", fault)
        with pytest.raises(AdapterFault, match=r"auth\.test"):
            async with receiving(adapter(bot, mode=mode), FakeIntake()):
                pass


async def test_the_probe_says_what_is_wrong(mode: str) -> None:
    async with world(mode=mode) as there:
        await there.adapter.probe()
        there.bot.revoked = "token_revoked"
        with pytest.raises(AdapterFault, match=r"token_revoked.*install it again"):
            await there.adapter.probe()


async def test_a_closed_channel_takes_and_sends_nothing(mode: str) -> None:
    """And says so, so that the event comes again and the reply waits."""
    async with platform() as (_, _, bot):
        closed = adapter(bot, mode=mode)

        with pytest.raises(AdapterFault, match="not open"):
            await closed.probe()
        for call in (closed.send(NOWHERE, "x", chunk_id="1"), closed.find(NOWHERE, chunk_id="1")):
            with pytest.raises(AdapterFault, match="being opened or closed"):
                await call


async def test_the_url_of_a_socket_s_channel_takes_nothing(mode: str) -> None:
    async with (
        world(mode=mode) as there,
        aiohttp.ClientSession() as client,
        client.post(there.url, data=b"{}") as answer,
    ):
        assert (404 if mode == "socket" else 401) == answer.status
