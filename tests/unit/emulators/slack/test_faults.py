"""The local Slack's bad days: the fault ladder, the rate limits, the clocks."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler

from tests.emulators.slack.clock import ScaledClock, SteppedClock, owned, within
from tests.emulators.slack.faults import (
    Fault,
    broken,
    cut_after,
    cut_before,
    html,
    refused,
    slow,
    slow_after,
    throttled,
)
from tests.emulators.slack.limits import Limits
from tests.unit.emulators.slack.world import World, client, world


async def post(here: World, text: str = "x", **args: Any) -> str:
    """Post once; return what became of it, as the SDK tells."""
    try:
        await here.web.chat_postMessage(channel=here.general.id, text=text, **args)
    except SlackApiError as exc:
        return f"{exc.response.status_code} {exc.response.get('error')}"
    except aiohttp.ClientError as exc:
        return type(exc).__name__
    return "ok"


def shown(here: World) -> list[str]:
    return [message.shown for message in here.general.messages()]


@pytest.mark.parametrize(
    ("fault", "outcome", "stored"),
    [
        (cut_before(), "ServerDisconnectedError", False),
        (cut_after(), "ServerDisconnectedError", True),
        (broken(500), "500 None", False),
        (broken(503), "503 None", False),
        (broken(502, stored=True), "502 None", True),
        (html(), "200 None", False),
        (refused("fatal_error"), "200 fatal_error", False),
        (None, "ok", True),
    ],
)
async def test_each_rung_of_the_ladder(here: World, fault: Fault | None, outcome: str, stored: bool) -> None:
    """What the client sees, and whether the message stands there all the same; the call after it is normal."""
    here.here.will("chat.postMessage", fault)
    met = await post(here, "first")
    after = await post(here, "second")

    assert (outcome, "ok") == (met, after)
    assert (["first"] if stored else []) + ["second"] == shown(here)
    assert ["first", "second"] == [call.args["text"] for call in here.here.called("chat.postMessage")]


async def test_a_call_that_is_too_early_after_a_429_is_noted(here: World, clock: SteppedClock) -> None:
    """`Retry-After` holds for the method in this workspace, and for nothing else (slackapi/python-slack-sdk#805)."""
    here.here.will("chat.postMessage", throttled(30))
    other = here.platform.workspace("Other")
    there = other.install(here.app)
    room = other.channel("general", members=[there])
    with pytest.raises(SlackApiError) as caught:
        await here.web.chat_postMessage(channel=here.general.id, text="x")
    await clock.advance(29)
    early = await post(here, "early")
    await client(there).chat_postMessage(channel=room.id, text="elsewhere")
    await here.web.auth_test()
    await clock.advance(1)
    late = await post(here, "late")

    assert "30" == caught.value.response.headers["Retry-After"]
    assert ("429 ratelimited", "ok") == (early, late)
    assert ["late"] == shown(here)
    assert [("Retry-After", "chat.postMessage")] == [(one.rule, one.method) for one in here.here.violations]
    assert [] == other.violations


async def test_the_sdks_own_handler_waits_as_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its opt-in handler the SDK comes again when the time is over, and no rule is broken."""
    async with world(monkeypatch) as here:
        here.here.will("chat.postMessage", throttled(1))
        web = client(here.bot)
        web.retry_handlers.append(AsyncRateLimitErrorRetryHandler(max_retry_count=1))
        await web.chat_postMessage(channel=here.general.id, text="patience")

        assert ["patience"] == shown(here)
        assert [] == here.here.violations


async def test_a_strange_retry_after_can_be_sent(here: World) -> None:
    """A fraction, which the SDK's handler can't read."""
    here.here.will("*", throttled(2, header="1.5"))
    with pytest.raises(SlackApiError) as caught:
        await here.web.auth_test()

    assert "1.5" == caught.value.response.headers["Retry-After"]


async def test_a_fault_can_stay_until_it_is_taken_away(here: World) -> None:
    """An outage of one method, or of all."""
    here.here.faults.always("*", broken())
    down = [await post(here, "a"), await post(here, "b")]
    here.here.faults.always("*", None)

    assert ["503 None", "503 None", "ok"] == [*down, await post(here, "c")]


async def test_a_slow_call_takes_effect_though_its_caller_has_gone(here: World, clock: SteppedClock) -> None:
    """Before or after the wait: the client's timeout says nothing about what happened (the *unknown* send)."""
    here.here.will("chat.postMessage", slow(60), slow_after(60))
    web = client(here.bot)
    web.timeout = 1
    for text in ("stored after the wait", "stored before the wait"):
        with pytest.raises(asyncio.TimeoutError):
            await web.chat_postMessage(channel=here.general.id, text=text)
    before = shown(here)
    await clock.advance(60)
    await here.general.wait_for(lambda messages: len(messages) == 2)

    assert ["stored before the wait"] == before


async def test_auth_test_can_be_slow_or_fail(here: World, clock: SteppedClock) -> None:
    """As at start-up against a Slack that is unwell."""
    here.here.will("auth.test", slow(4), refused("internal_error"))
    waiting = asyncio.ensure_future(here.web.auth_test())
    await clock.asleep()
    assert not waiting.done()
    await clock.advance(4)

    assert here.bot.id == (await waiting)["user_id"]
    assert "internal_error" == await here.refused("auth.test")


async def test_opening_a_socket_can_fail_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls with the app-level token have a ladder of their own."""
    async with world(monkeypatch, socket_mode=True) as here:
        here.app.will("apps.connections.open", throttled(1), cut_before())
        web = client(here.bot)
        with pytest.raises(SlackApiError, match="429"):
            await web.apps_connections_open(app_token=here.app.app_token)
        with pytest.raises(SlackApiError, match="429"):
            await web.apps_connections_open(app_token=here.app.app_token)


async def test_calls_are_recorded_with_their_times(here: World) -> None:
    """By the platform's clock and the machine's, with what was answered; never the token."""
    await post(here, "one")
    await here.refused("chat.postMessage", channel=here.general.id)
    first, second = here.here.calls

    assert ("chat.postMessage", "POST", here.here.id) == (first.method, first.http_verb, first.team)
    assert (200, None, "no_text") == (first.status, first.error, second.error)
    assert first.monotonic <= second.monotonic
    assert here.bot.token not in str(first.args)


async def test_posts_are_held_to_one_a_second_in_a_channel_after_a_burst(here: World, clock: SteppedClock) -> None:
    """Enforced: the fifth at once is refused, with the wait that it takes; other channels are not touched."""
    here.here.limits.mode = "enforce"
    side = here.here.channel("side", members=[here.bot])
    at_once = [await post(here, str(number)) for number in range(5)]
    await here.web.chat_postMessage(channel=side.id, text="elsewhere")
    await clock.advance(1)
    then = [await post(here, "5"), await post(here, "6")]

    assert ["ok"] * 4 + ["429 ratelimited"] == at_once
    assert ["ok", "429 ratelimited"] == then
    assert {"1 posts a second in a channel"} == {one.rule for one in here.here.violations}


async def test_watching_serves_and_notes(here: World) -> None:
    """The default: a test asserts that no limit was broken without living through the refusals."""
    at_once = [await post(here, str(number)) for number in range(6)]
    noted = len(here.here.violations)
    here.here.limits.mode = "off"
    await post(here, "7")

    assert ["ok"] * 6 == at_once
    assert 2 == noted == len(here.here.violations)


def test_a_tier_is_a_number_in_any_sixty_seconds() -> None:
    """Per method and app; `tolerance_s` forgives calls that come a little unevenly."""
    limits = Limits(mode="enforce")

    def call(at: float, *, app: str = "A1", method: str = "chat.startStream") -> float | None:
        return limits.check(method, app=app, tier=2, post_to=None, now=at)

    assert [None] * 20 == [call(100.0 + number) for number in range(20)]
    assert 30.0 == call(130.0)
    assert call(130.0, app="A2") is None
    assert call(130.0, method="chat.stopStream") is None
    assert call(159.9) is not None
    limits.tolerance_s = 0.5
    assert call(159.9) is None
    assert limits.check("auth.test", app="A1", tier=None, post_to=None, now=0) is None


async def test_a_scaled_clock_runs_faster() -> None:
    """Sixty of its seconds are one of ours: with the real one given, exactly so."""
    real = [1000.0]
    clock = ScaledClock(60, now=lambda: real[0])
    real[0] += 2
    await ScaledClock(1_000_000).sleep(60)

    assert 1120.0 == clock.now()


async def test_minutes_pass_in_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock six thousand times as fast the retry of the sixth minute has come before anybody waited."""
    async with world(monkeypatch, clock=ScaledClock(6000)) as here:
        here.platform.pusher.ack_s = 6000 * 5.0  # five seconds of the machine's
        here.heard.statuses = [500, 500, 500]
        await here.ann.says(here.general, "patience")
        await here.platform.settled()
        first, *_, last = here.app.deliveries

        assert [False, False, False, True] == [one.acked for one in here.app.deliveries]
        assert last.sent_at - first.sent_at >= 360


async def test_a_stepped_clock_wakes_sleepers_in_order() -> None:
    """Whoever goes to sleep again within the step is woken again; nobody wakes early."""
    clock, woken = SteppedClock(0), []

    async def sleeper(name: str, *naps: float) -> None:
        for nap in naps:
            await clock.sleep(nap)
            woken.append((name, clock.now()))

    tasks: set[asyncio.Future[None]] = set()
    for name, naps in (("a", (3.0, 3.0)), ("b", (1.0, 4.0)), ("c", (0.0, 100.0))):
        owned(tasks, sleeper(name, *naps), name=name)
    await clock.asleep(3)
    await clock.advance(10)

    assert [("c", 0), ("b", 1), ("a", 3), ("b", 5), ("a", 6)] == woken
    assert 10 == clock.now()
    with pytest.raises(TimeoutError):
        await clock.asleep(5, timeout_s=0.01)
    for task in list(tasks):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await clock.advance(100)


async def test_work_goes_on_after_its_time_is_over() -> None:
    """`within` stops waiting, not working."""
    clock, go_on = SteppedClock(0), asyncio.Event()
    work = asyncio.ensure_future(go_on.wait())
    waiting = asyncio.ensure_future(within(clock, 3, work))
    await clock.asleep()
    await clock.advance(3)

    with pytest.raises(TimeoutError):
        await waiting
    assert not work.done()
    go_on.set()
    assert await within(clock, 3, work)
