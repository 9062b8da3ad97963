"""The socket: lost, refused, replaced, gone silent; no event is lost with it, none is heard twice."""

from __future__ import annotations

import asyncio

import pytest

from adapters.base import Adapter, Reports
from adapters.errors import AdapterFault
from adapters.slack.socket_mode import wait_s
from tests.emulators.slack.clock import SteppedClock
from tests.emulators.slack.faults import broken, refused, throttled
from tests.fakes import FakeIntake
from tests.pulling import receiving
from tests.unit.slack.world import World, adapter, platform, until_it_ends, world


async def heard(there: World, *texts: str) -> None:
    """Let Ann say something and wait until all of `texts` were heard, each once."""
    async with asyncio.timeout(10):
        await there.intake.holding(len(texts))
    assert list(texts) == [event.text for event in there.intake.messages]


def channels_told(caplog: pytest.LogCaptureFixture, event: str) -> set[object]:
    """The channels in whose name the log tells of an event; None for a line without one."""
    return {getattr(record, "channel", None) for record in caplog.records if record.getMessage() == event}


@pytest.mark.parametrize("reason", ["warning", "refresh_requested", "too_many_websockets"])
async def test_a_socket_that_slack_closes_is_replaced_by_one_with_a_new_ticket(reason: str) -> None:
    """Each URL is good for one handshake (slackapi/python-slack-sdk#1446)."""
    async with world(mode="socket") as there:
        (first,) = await there.app.sockets.connected()
        await first.disconnect(reason)
        await first.closed.wait()
        await there.app.sockets.connected()
        await there.ann.says(there.general, "hi")

        await heard(there, "hi")
        tickets = [ticket for ticket, _ in there.app.sockets.handshakes]
        assert len(tickets) == len(set(tickets)) == 2


async def test_a_refused_handshake_is_tried_again_with_a_new_ticket() -> None:
    """The SDK tries the used one for ever (platform-facts 1.1)."""
    async with platform(socket_mode=True) as (_, app, bot):
        app.sockets.refuse = 2
        async with receiving(adapter(bot, mode="socket"), FakeIntake()):
            tickets = [ticket for ticket, _ in app.sockets.handshakes]
            assert [False, False, True] == [let_in for _, let_in in app.sockets.handshakes]
            assert 3 == len(set(tickets))


def test_sockets_that_do_not_last_are_replaced_in_growing_intervals() -> None:
    """Each try takes one of the workspace's calls, and a greeting alone proves nothing."""
    assert [0, 0.5, 1, 2, 4, 8, 16, 30, 30] == [wait_s(failures, longest_s=30) for failures in range(9)]
    assert 30 == wait_s(100_000, longest_s=30)


async def test_greeted_and_dropped_at_once_is_a_failure() -> None:
    """Else a platform that lets nobody stay would be asked for tickets without a pause; one that lasted ends the count."""
    async with platform(socket_mode=True) as (_, app, bot):
        app.sockets.drop = 3
        began = asyncio.get_running_loop().time()
        async with receiving(adapter(bot, mode="socket", reconnect_s=0.1), FakeIntake()):
            await app.sockets.connected()
            assert 0.3 <= asyncio.get_running_loop().time() - began

        assert 4 == len(app.sockets.handshakes)


async def test_a_socket_that_lasted_is_replaced_at_once() -> None:
    """However often that happens: Slack renews each socket every few hours. The waits here would outlast the test."""
    async with world(mode="socket", steady_s=0.001) as there:
        for _ in range(5):
            (socket,) = await there.app.sockets.connected()
            await there.ann.says(there.general, "hi")
            await there.platform.settled()
            await socket.disconnect()
            await socket.closed.wait()

        await there.app.sockets.connected()
        assert 5 == len(there.intake.messages)


async def test_a_socket_that_is_never_greeted_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    """After the first one too, when nobody waits for the channel to open: it answers pings, and no event comes through it."""
    async with world(mode="socket", timeout_s=0.3) as there:
        there.app.sockets.mute = 1
        (first,) = await there.app.sockets.connected()
        first.cut()
        await first.closed.wait()
        (mute,) = await there.app.sockets.connected()
        await mute.closed.wait()
        await there.app.sockets.connected()
        await there.ann.says(there.general, "hi")

        await heard(there, "hi")
    assert {"no greeting within 0.3 s"} <= {getattr(record, "reason", None) for record in caplog.records}


async def test_a_channel_that_is_not_greeted_does_not_open_and_says_why() -> None:
    async with platform(socket_mode=True) as (_, app, bot):
        app.sockets.mute = 100
        with pytest.raises(AdapterFault, match="no socket: not greeted yet"):
            async with receiving(adapter(bot, mode="socket", timeout_s=0.3), FakeIntake()):
                pass


async def test_a_socket_whose_other_end_is_gone_is_found_by_its_silence() -> None:
    """NousResearch/hermes-agent#46990: silently dead; what was sent into it comes again."""
    clock = SteppedClock()
    async with world(mode="socket", clock=clock, ping_s=0.2) as there:
        (first,) = await there.app.sockets.connected()
        first.half_close()
        await there.ann.says(there.general, "hi")
        await there.app.sockets.connected(2)
        first.cut()
        await there.app.sockets.connected(1)
        await clock.advance(4)

        await heard(there, "hi")


async def test_a_socket_that_is_cut_is_opened_again() -> None:
    """slackapi/python-slack-sdk#1110."""
    async with world(mode="socket") as there:
        (first,) = await there.app.sockets.connected()
        first.cut()
        await first.closed.wait()
        await there.app.sockets.connected()
        await there.adapter.probe()
        await there.ann.says(there.general, "hi")

        await heard(there, "hi")


async def test_what_slack_says_about_waiting_is_kept_to(caplog: pytest.LogCaptureFixture) -> None:
    """A 429 or 5xx on the way to a new socket does not end the channel. The log tells which channel was deaf meanwhile."""
    async with platform(socket_mode=True) as (_, app, bot):
        app.will("apps.connections.open", throttled(1), broken(503))
        async with receiving(adapter(bot, mode="socket"), FakeIntake()):
            assert 1 == len(app.sockets.open)

    assert {"acme"} == channels_told(caplog, "socket lost")


async def test_a_channel_that_gets_no_socket_does_not_open_and_says_why() -> None:
    async with platform(socket_mode=True) as (_, app, bot):
        app.faults.always("apps.connections.open", refused("not_allowed_token_type"))
        with pytest.raises(AdapterFault, match=r"no socket.*not_allowed_token_type.*xapp-"):
            async with receiving(adapter(bot, mode="socket", timeout_s=0.5), FakeIntake()):
                pass


async def test_socket_mode_switched_off_ends_the_channel_with_the_remedy() -> None:
    """So that the gateway shows it and tries again in its own time."""
    async with platform(socket_mode=True) as (_, app, bot):
        with pytest.raises(AdapterFault, match="switched off"):
            await until_it_ends(adapter(bot, mode="socket"), app.sockets.turn_off())


async def test_a_socket_that_is_away_shows_in_the_probe_and_in_the_health() -> None:
    """Silently deaf is the worst of it (NousResearch/hermes-agent#46990)."""
    async with world(mode="socket", reconnect_s=60) as there:
        channel: Adapter = there.adapter
        assert isinstance(channel, Reports)
        assert (None, None) == (channel.problem, channel.warning)
        there.app.faults.always("apps.connections.open", broken(503))
        (first,) = await there.app.sockets.connected()
        first.cut()
        await first.closed.wait()
        await there.app.sockets.connected(0)
        with pytest.raises(AdapterFault, match="channel 'acme'"):
            await there.adapter.probe()
        assert channel.problem


async def test_a_malformed_envelope_is_acknowledged_once_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """It would be no better the second time; the next one is heard."""
    async with world(mode="socket") as there:
        (socket,) = await there.app.sockets.connected()
        await socket.ws.send_str("not json")
        await socket.ws.send_json({"type": "events_api", "envelope_id": "e1", "payload": {"type": "event_callback"}})
        await socket.ws.send_json({"type": "events_api", "envelope_id": "e2", "payload": None})
        unknown = {"type": "block_actions", "actions": []}
        await socket.ws.send_json({"type": "interactive", "envelope_id": "e3", "payload": unknown})
        await there.ann.says(there.general, "hi")
        await there.platform.settled()

        await heard(there, "hi")
        assert {"e1", "e2", "e3"} <= {ack["envelope_id"] for ack in there.app.sockets.acks}
        assert {"acme"} == channels_told(caplog, "envelope is malformed")
