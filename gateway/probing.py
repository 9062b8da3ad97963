"""The gateway's own message on a timer: does an answer still go out, and after how long (`probe` in the settings).

It takes the way of everybody's: accepted, stored, its lane, the agent, the outbox, the channel. It is told nobody's memory and
leaves none: the agent gets one fixed question, nothing is appended or learned, and no quota holds it back. What its call costs is
counted, as the probe's. Nor does one that could not be delivered wait for an admin: figures and readiness tell of it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from contextlib import aclosing
from typing import Protocol

from adapters.base import TERMINAL, InboundEvent, MessageEvent, Sender, TurnView
from adapters.errors import AdapterFault
from config.telemetry import ProbeSettings
from gateway.agent import Caller, Delta, Done
from gateway.errors import AgentBroken, StoreBusy
from gateway.inbox.dead import DeadLetters
from gateway.live import Live
from gateway.metrics import Metrics, ProbeOutcome
from gateway.small_model import Spent
from gateway.waits import happens
from memory.base import Context, PromptMessage
from memory.ids import now_ms

logger = logging.getLogger(__name__)

QUESTION = Context(
    system="You are being probed by the gateway that you answer for. Answer with the single word: pong",
    messages=(PromptMessage(role="user", text="ping"),),
    tokens=0,
    output_tokens=64,
)
_SENDER = Sender(user="(probe)", tenant="(clew)", account="(probe)", name="Clew", trusted=False)
_ROOM = "(probe)"


class Accepts(Protocol):
    """What a probe needs of the intake."""

    async def accept(self, event: InboundEvent, *, fingerprint: str | None = None) -> TurnView: ...

    async def wait(self, channel: str, turn_id: str, *, timeout_s: float) -> TurnView: ...


class Probe:
    """Probes for as long as the gateway runs. `problem` says what came of the last one; None: it was answered, or there was
    none."""

    def __init__(
        self, *, intake: Accepts, letters: DeadLetters, metrics: Metrics, settings: Callable[[], ProbeSettings]
    ) -> None:
        """`settings` gives those of the moment."""
        self._intake = intake
        self._letters = letters
        self._metrics = metrics
        self._settings = settings
        self._changed = asyncio.Event()
        self._pending: tuple[str, str] | None = None  # channel and turn of one that has come to no end
        self.problem: str | None = None

    def rescheduled(self) -> None:
        """Look at the settings again: they have changed."""
        self._changed.set()

    async def run(self) -> None:
        """Probe every `every_s`, the first time when that has passed; wait for settings that want it."""
        while True:
            self._changed.clear()
            settings = self._settings()
            if settings.every_s is None or settings.channel is None:
                self.problem = None
                await self._changed.wait()
            elif not await happens(self._changed, within_s=settings.every_s):
                await self.once(settings, channel=settings.channel)

    async def once(self, settings: ProbeSettings, *, channel: str) -> ProbeOutcome:
        """Send one message and wait for its end. While an earlier one has come to none, that one is waited for: a platform
        that is away for a day must not get a day's probes when it is back."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            if self._pending is None or self._pending[0] != channel:
                self._pending = channel, (await self._intake.accept(_message(channel, settings))).turn
            view = await self._intake.wait(*self._pending, timeout_s=settings.within_s)
        except (AdapterFault, StoreBusy) as fault:
            self._pending = None
            return self._ended(channel, "failed", loop.time() - began, str(fault))
        if view.status not in TERMINAL:
            return self._ended(channel, "late", settings.within_s, f"no end within {settings.within_s:g} s")
        self._pending = None
        await self._leave_no_letter(int(view.part_of or view.turn))
        reason = (view.error or {}).get("code") or view.rule or view.status
        outcome: ProbeOutcome = "answered" if view.status == "answered" else "failed"
        return self._ended(channel, outcome, loop.time() - began, reason)

    async def _leave_no_letter(self, turn_id: int) -> None:
        try:
            letter = await self._letters.find(turn_id)
            if letter is not None:
                await self._letters.set_aside(turn_id, seen=letter.seen, now_ms=now_ms())
        except StoreBusy:
            logger.warning("a probe's letter could not be set aside", exc_info=True, extra={"turn": turn_id})

    def _ended(self, channel: str, outcome: ProbeOutcome, seconds: float, reason: str) -> ProbeOutcome:
        self._metrics.probe_ended(channel=channel, outcome=outcome, seconds=seconds)
        self.problem = None
        if outcome != "answered":
            self.problem = f"the last message of the probe through channel {channel!r} got no answer: {reason}"
            logger.warning("probe not answered", extra={"channel": channel, "outcome": outcome, "reason": reason})
        return outcome


async def pong(live: Live, agent: str, caller: Caller, *, spent: Spent) -> str:
    """Ask the agent the probe's question, and no other; `spent` hears what that took. Raises `AgentFault`, and KeyError where
    there is no such agent."""
    text, done = "", None
    async with live.agent(agent) as made:
        deadline = asyncio.get_running_loop().time() + made.settings.timeout_s
        try:
            async with aclosing(made.agent.answer(QUESTION, caller=caller, deadline=deadline)) as events:
                async for event in events:
                    if isinstance(event, Delta):
                        text += event.text
                    elif isinstance(event, Done):
                        done = event
        finally:
            asked = f"{QUESTION.system}\n{QUESTION.messages[0].text}"
            usage = None if done is None else done.usage
            spent(usage, model=made.model, prompt=asked, text=text, failed=done is None)
    if not text.strip():
        raise AgentBroken(f"agent {agent!r} said nothing to the probe")
    return text


def _message(channel: str, settings: ProbeSettings) -> MessageEvent:
    """Each is a message of its own, in a conversation of the probe's alone."""
    message_id = secrets.token_hex(8)
    return MessageEvent(
        channel=channel,
        room=settings.room or _ROOM,
        thread=settings.thread,
        chat_type="private",
        sender=_SENDER,
        dedupe_ids=(f"{_SENDER.user}:{message_id}",),
        message_id=message_id,
        text="ping",
        probe=True,
    )
