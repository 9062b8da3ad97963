"""The gateway's own message: when it is sent, what counts as an answer, and that one at a time is under way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from adapters.base import MessageEvent
from config.telemetry import ProbeSettings
from gateway.inbox.base import NewEvent, Outcome
from gateway.inbox.dead import Wanted
from gateway.metrics import Metrics
from gateway.probing import Probe
from tests.contracts.dead import Post
from tests.contracts.queues import NOW_MS, URLS, open_queues
from tests.fakes import FakeIntake
from tests.unit.test_metrics import samples

SETTINGS = ProbeSettings(every_s=5, channel="acme", room="C1", thread="7", within_s=0.05)


@pytest.fixture
async def queues(request: pytest.FixtureRequest) -> AsyncIterator[Post]:
    async with open_queues(URLS["sqlite"](request)) as opened:
        yield opened  # type: ignore[misc]  # whole queues


def probe(
    intake: FakeIntake, queues: Post, settings: Callable[[], ProbeSettings] = lambda: SETTINGS
) -> tuple[Probe, Metrics]:
    metrics = Metrics(version="1")
    return Probe(intake=intake, letters=queues.letters, metrics=metrics, settings=settings), metrics


async def test_an_answer_is_timed(queues: Post) -> None:
    """The message goes where the settings say, in a conversation of its own, as nobody whom anybody knows."""
    intake = FakeIntake(answer=lambda event: "pong")
    probing, metrics = probe(intake, queues)

    assert "answered" == await probing.once(SETTINGS, channel="acme")
    assert "answered" == await probing.once(SETTINGS, channel="acme")
    first, second = intake.messages
    assert ("acme", "C1", "7", "private", True, False) == (
        first.channel,
        first.room,
        first.thread,
        first.chat_type,
        first.probe,
        first.sender.trusted,
    )
    assert first.message_id != second.message_id
    assert not {*first.dedupe_ids} & {*second.dedupe_ids}
    assert 2 == samples(metrics)["clew_probe_seconds_count", "acme"]
    assert None is probing.problem


async def test_a_failure_says_why_and_is_over_with_the_next_answer(queues: Post) -> None:
    intake = FakeIntake()
    probing, metrics = probe(intake, queues)
    settings = ProbeSettings(every_s=5, channel="acme", room="C1", within_s=30)
    running = asyncio.create_task(probing.once(settings, channel="acme"))
    (turn,) = await intake.holding(1)
    await intake.followed(turn, readers=0)
    await intake.end(turn, code="agent_timeout")

    assert "failed" == await running
    assert "agent_timeout" in (probing.problem or "")
    assert 1 == samples(metrics)["clew_probes_total", "acme", "failed"]
    assert ("clew_probe_seconds_count", "acme") not in samples(metrics)
    intake.answer = lambda event: "pong"
    assert "answered" == await probing.once(settings, channel="acme")
    assert None is probing.problem


async def test_one_that_was_refused_waits_for_no_admin(queues: Post) -> None:
    """Nor counts among what does: the probe itself tells of it, at each time, and a day of them would hide what people wrote."""
    intake = FakeIntake()
    probing, metrics = probe(intake, queues)
    running = asyncio.create_task(probing.once(ProbeSettings(channel="acme", within_s=30), channel="acme"))
    (turn,) = await intake.holding(1)
    refused = Outcome(state="dead", code="undeliverable", reason="chat not found")
    for id_, outcome in ((int(turn), refused), (4711, refused)):
        await queues.accept(
            NewEvent(
                id=id_,
                channel="acme",
                kind="control",
                speaker="somebody",
                body=b"",
                token="t",
                fingerprint=None,
                now_ms=NOW_MS,
                outcome=outcome,
            ),
            lane="lane",
            dedupe_ids=[str(id_)],
        )
    await intake.end(turn, code="undeliverable")

    assert "failed" == await running
    assert "undeliverable" in (probing.problem or "")
    assert 1 == samples(metrics)["clew_probes_total", "acme", "failed"]
    assert [4711] == [letter.turn_id for letter in await queues.letters.listed(Wanted())]
    assert 1 == (await queues.stats()).dead


async def test_a_gateway_that_takes_nothing_in_fails_its_probe(queues: Post) -> None:
    intake = FakeIntake()
    intake.overloaded = True
    probing, _ = probe(intake, queues)

    assert "failed" == await probing.once(SETTINGS, channel="acme")
    assert "the queue is full" in (probing.problem or "")


async def test_one_that_came_to_no_end_is_waited_for(queues: Post) -> None:
    """While a platform is away, one probe waits in the outbox, not one for each interval; another channel is no matter of it."""
    intake = FakeIntake()
    probing, metrics = probe(intake, queues)

    assert ["late", "late"] == [await probing.once(SETTINGS, channel="acme") for _ in range(2)]
    assert 1 == len(intake.turns)
    assert "no end within 0.05 s" in (probing.problem or "")
    assert 2 == samples(metrics)["clew_probes_total", "acme", "late"]
    await intake.end(next(iter(intake.turns)))
    assert "answered" == await probing.once(SETTINGS, channel="acme")
    assert 1 == len(intake.turns)
    assert "late" == await probing.once(SETTINGS, channel="other")
    assert ["acme", "other"] == [message.channel for message in intake.messages]


async def test_the_timer_follows_the_settings(queues: Post) -> None:
    """Off: nothing is sent, and what was wrong is forgotten. On: after `every_s`. A change of the settings begins it anew."""
    now: list[ProbeSettings] = [ProbeSettings()]
    asked = asyncio.Event()

    def answer(event: MessageEvent) -> str:
        asked.set()
        return "pong"

    intake = FakeIntake(answer=answer)
    probing, _ = probe(intake, queues, lambda: now[0])
    probing.problem = "of before"
    running = asyncio.create_task(probing.run())
    await asyncio.sleep(0)
    assert (None, 0) == (probing.problem, len(intake.turns))
    now[0] = ProbeSettings.model_construct(every_s=0.01, channel="acme", room=None, thread=None, within_s=1.0)
    probing.rescheduled()
    async with asyncio.timeout(10):
        await asked.wait()
    now[0] = ProbeSettings()
    probing.rescheduled()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert {"(probe)"} == {message.room for message in intake.messages}
