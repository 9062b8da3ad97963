"""Quotas at work: whether a message may be answered now, who is told that it may not, and which admins are warned.

Asked once as a message comes, and for what calls cost once more before the agent is asked. The second look is needed: tokens and
money are known after a call only, so of ten messages that wait in a lane, or of a hundred lanes, all pass the first one while
there is anything left. It costs no look at the database but where others count too and what is known here is older than a second.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from adapters.base import InboundEvent, MessageEvent
from config.channels.base import RoomSettings
from config.loader import Configuration
from gateway.admission import PROBE, Verdict
from gateway.notices import Language, notice
from gateway.people import People
from gateway.usage.entries import NOBODY, Cause, message
from gateway.usage.meter import Meter
from gateway.usage.quotas import (
    MEASURES,
    SPENT,
    Limit,
    Measure,
    Used,
    any_set,
    limits_for,
    limits_of,
    nearing,
    quota_notice,
    reached,
)
from gateway.usage.rows import Subject, person_subject
from gateway.usage.windows import Starts, starts, zone
from gateway.wishes import command_in

logger = logging.getLogger(__name__)

TELL_AGAIN_MS = {"minute": 60_000, "day": 3_600_000, "month": 3_600_000}
"""Whoever asks on is told no more often than so: answering each message would be a flood of our own."""
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A message that counts already and is not stored yet."""

    cause: Cause
    agent: str
    at_ms: int
    subjects: tuple[Subject, ...]


@dataclass(frozen=True, slots=True)
class Admitted:
    """What became of a message's verdict. `held` None: no quota holds for it."""

    verdict: Verdict
    held: Held | None = None


class Quotas:
    """One for all channels; the counts are the meter's."""

    def __init__(
        self,
        meter: Meter,
        *,
        people: People,
        configuration: Callable[[], Configuration],
        taken_over: Callable[[MessageEvent], bool],
        met: Callable[[str, Limit, Literal["soft", "hard"]], None],
        clock_ms: Callable[[], int],
    ) -> None:
        """`taken_over`: a human has the conversation. `met` hears (channel, limit, kind) of each message that met a limit: a soft
        one warns, a hard one refuses it."""
        self._meter = meter
        self._people = people
        self._configuration = configuration
        self._taken_over = taken_over
        self._met = met
        self._clock_ms = clock_ms
        self._told: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._warned: OrderedDict[tuple[Limit, str], None] = OrderedDict()
        self._words: OrderedDict[tuple[Limit, str], None] = OrderedDict()

    async def admit(self, event: InboundEvent, settings: RoomSettings, *, agent: str, verdict: Verdict) -> Admitted:
        """Return the verdict on a message, or its refusal where a quota is used up; what may be answered counts at once, until
        `stored` or `take_back`. Commands are free: nobody loses the right to be forgotten with the last of their tokens. So is
        what a human is to answer.

        Raises `memory.errors.StoreUnavailable`.
        """
        if verdict.action != "answer" or verdict.rule == PROBE or not isinstance(event, MessageEvent):
            return Admitted(verdict)
        limited = self._limited(settings, agent)
        if not limited or free(event) or self._taken_over(event):
            return Admitted(verdict)
        channel = self._configuration().settings.channels.get(event.channel)
        if channel is None:
            return Admitted(verdict)  # removed while this came in: its turn ends in sight, and asks nobody
        person = await self._people.person(event.sender, kind=channel.kind)
        cause = cause_of_event(event, person)
        limits = self._limits(cause, settings, agent)
        subjects = tuple(dict.fromkeys(limit.subject for limit in limits))
        await self._meter.ready(subjects)
        # No waiting from here on: of messages that come at once only as many pass as may.
        now = self._clock_ms()
        full = self._reached(limits, now, MEASURES)
        if full is not None:
            self._met(event.channel, full, "hard")
            return Admitted(Verdict("ignore" if event.sender.is_bot else "refuse", full.rule))
        self._meter.counters.hold(subjects, 1)
        self._warn(event.channel, limits, settings.quota.soft, now)
        return Admitted(verdict, Held(cause=cause, agent=agent, at_ms=now, subjects=subjects))

    def stored(self, held: Held, event_id: int) -> None:
        """The message stands in the inbox, as this event: it counts for good."""
        self._meter.counters.hold(held.subjects, -1)
        self._meter.note(message(event_id, cause=held.cause, agent=held.agent, at_ms=held.at_ms))

    def take_back(self, held: Held) -> None:
        """The message was known already, or could not be stored: it counts no more."""
        self._meter.counters.hold(held.subjects, -1)

    async def used_up(
        self, event: MessageEvent, settings: RoomSettings, *, agent: str, person: int | None
    ) -> str | None:
        """Return the rule of the quota of tokens or money that is used up, now that the message's turn has come; None: ask."""
        if not self._limited(settings, agent):
            return None
        # Messages were counted as they came, this one among them: it must not be refused for itself.
        limits = [
            limit for limit in self._limits(cause_of_event(event, person), settings, agent) if limit.measure in SPENT
        ]
        if not limits:
            return None
        await self._meter.ready(tuple(dict.fromkeys(limit.subject for limit in limits)))
        full = self._reached(limits, self._clock_ms(), SPENT)
        if full is None:
            return None
        self._met(event.channel, full, "hard")
        return full.rule

    def word_for(self, person: int | None, settings: RoomSettings, *, language: Language) -> str | None:
        """Return what a person is told beside an answer, once in its time, when the soft share of a quota of theirs of a day or
        month is used up; None: nothing."""
        if not settings.quota.tell or person is None:
            return None
        limits = [limit for limit in limits_of(person_subject(person), settings.quota.person) if limit.span != "minute"]
        now = self._clock_ms()
        used = self._used(now)
        for limit in nearing(limits, used, soft=settings.quota.soft):
            if self._first(self._words, (limit, getattr(self._starts(now), limit.span))):
                share = getattr(used(limit.subject)[limit.span], limit.measure) * 100 // limit.most
                return notice("quota_near", language, share=share, span=notice(f"quota_{limit.span}", language))
        return None

    async def agent_used_up(self, agent: str) -> bool:
        """Whether the agent's own quota of tokens or money is used up: memory then asks it nothing."""
        settings = self._configuration().settings.agents.get(agent)
        if settings is None:
            return False
        subject = Subject("agent", "", agent)
        limits = tuple(limits_of(subject, settings.quota))
        if limits:
            await self._meter.ready([subject])
        return self._reached(limits, self._clock_ms(), SPENT) is not None

    def may_tell(self, event: InboundEvent, rule: str) -> bool:
        """Whether the sender is to be told of the refusal: once in a while, whatever they go on to send."""
        key, now = (f"{event.channel}:{event.sender.user}", rule), self._clock_ms()
        told, again_ms = self._told.get(key), TELL_AGAIN_MS[rule.rpartition("_")[2]]
        if told is not None and now - told < again_ms:
            return False
        self._told[key] = now
        self._told.move_to_end(key)
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        return True

    def untold(self, event: InboundEvent, rule: str) -> None:
        """The message that was to be told of was known already, or could not be stored: nobody was told."""
        self._told.pop((f"{event.channel}:{event.sender.user}", rule), None)

    def notice(self, rule: str, language: Language, *, at_ms: int) -> str:
        """Return what whoever was refused at that moment is told."""
        name = self._configuration().settings.usage.time_zone
        return quota_notice(rule, language, at_ms=at_ms, zone=zone(name), zone_name=name)

    def _limited(self, settings: RoomSettings, agent: str) -> bool:
        own = self._configuration().settings.agents.get(agent)
        return any_set(settings.quota, None if own is None else own.quota)

    def _limits(self, cause: Cause, settings: RoomSettings, agent: str) -> tuple[Limit, ...]:
        own = self._configuration().settings.agents.get(agent)
        return limits_for(
            channel=cause.channel,
            room=cause.room,
            person=cause.person,
            agent=agent,
            quota=settings.quota,
            of_agent=None if own is None else own.quota,
        )

    def _reached(self, limits: Iterable[Limit], now: int, measures: Collection[Measure]) -> Limit | None:
        return reached(limits, self._used(now), measures=measures)

    def _used(self, now: int) -> Used:
        """Return what gives each subject's amounts of this moment, looked up once."""
        at = self._starts(now)
        return cache(lambda subject: self._meter.counters.used(subject, at))

    def _warn(self, channel: str, limits: Iterable[Limit], soft: float, now: int) -> None:
        at = self._starts(now)
        for limit in nearing(limits, self._used(now), soft=soft):
            self._met(channel, limit, "soft")
            if self._first(self._warned, (limit, getattr(at, limit.span))):
                about = {"quota": limit.rule, "of": limit.subject.name, "channel": channel}
                logger.warning("a quota is nearly used up", extra=about)

    def _first(self, said: OrderedDict[tuple[Limit, str], None], key: tuple[Limit, str]) -> bool:
        """Whether it was not said yet; it is from now on."""
        if key in said:
            return False
        said[key] = None
        if len(said) > REMEMBERED:
            said.popitem(last=False)
        return True

    def _starts(self, now: int) -> Starts:
        return starts(now, zone(self._configuration().settings.usage.time_zone))


def free(event: MessageEvent) -> bool:
    """Whether the message is a command that asks no agent."""
    command = command_in(event.text)
    return command is not None and not (command.name == "new" and command.argument)


def cause_of_event(event: MessageEvent, person: int | None) -> Cause:
    """Return for whom a message counts."""
    room = "" if event.chat_type == "private" else event.room
    return Cause(channel=event.channel, room=room, person=person or NOBODY)
