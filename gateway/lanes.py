"""Lanes: one scope's turns in order, one at a time; scopes side by side. Owns every task of a running turn.

Scheduling only: what an event says is the responder's affair, how events are kept the inbox's. A lane is claimed under a
lease that a heartbeat renews; a lane that was lost is stopped, and its turn writes nothing more (the fence sees to that).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import msgspec

from gateway.errors import LeaseLost, QueueRefused, StoreBusy
from gateway.inbox.base import Claim, Event, Excuse, HaltReason, Inbox
from gateway.waits import boottime_s, happens, retry_wait_s
from memory.errors import Fenced, StoreRefused, StoreUnavailable

logger = logging.getLogger(__name__)

BusyMode = Literal["collect", "queue", "interrupt"]
_LIGHTEST_FIRST = (None, *get_args(HaltReason))
HALT_LOOKS_S = 0.2
"""Time between two looks for what others want halted, at least: what changes meanwhile is seen in one."""

LONGEST_REST_S = 10.0
"""Between two starts of a turn that broke off: a database that was away is back, and an overloaded one gets some air."""

EXCUSED_MOST = 30
"""So many starts of a turn are excused because the store broke them off: five minutes of rests, which an overload may last. What
a store can never take comes to its end, too."""

UNWRITTEN_MOST = 10_000
"""Excuses kept for when the store is back; what is more is forgotten, the oldest first."""

Ending = Literal["ended", "interrupted", "broke", "unstored"]
"""How a run of a turn ended; but after the first its events are still there. `unstored`: by the store's fault, not its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """How the events of a lane may be joined: by the head event's room. `target` is where the reply goes, what it is to
    continue and who is to give it: one reply can't serve two of them."""

    busy: BusyMode
    most: int
    alone: bool  # a command: a turn of its own
    target: tuple[str | None, ...] = ()


@dataclass(slots=True, kw_only=True)
class Running:
    """A turn under way. `halt` is set by whoever wants it to end early; the responder looks at `reason` then."""

    claim: Claim
    turn_id: int
    speaker: str
    events: tuple[Event, ...]
    attempts: int  # starts before this one
    tries: int = 0  # those of them that count: neither cut short by their own speaker nor broken off by the store
    reason: HaltReason | None = None
    halted: asyncio.Event = field(default_factory=asyncio.Event)
    mine: Callable[[], bool] = lambda: True  # `Inbox.mine` of its lane

    def must_be_mine(self) -> None:
        """Raise `LeaseLost` if another instance may be answering. In one step with what no fence can stop: asking an agent."""
        if not self.mine():
            raise LeaseLost(f"the lease of the lane claimed under {self.claim.fence} has run out here")

    def halt(self, reason: HaltReason) -> None:
        """Ask the turn to end early. One of whose messages some are gone begins again with the others."""
        if reason == "withdrawn" and len(self.events) > 1:
            reason = "interrupted"
        if _LIGHTEST_FIRST.index(reason) > _LIGHTEST_FIRST.index(self.reason):
            self.reason = reason
        self.halted.set()

    def answers(self, ids: Collection[int]) -> bool:
        """Whether it answers one of these events."""
        return any(event.id in ids for event in self.events)


def next_turn(
    events: Sequence[Event], gathering: Callable[[Event], Gathering], *, interrupted: bool = False
) -> tuple[Event, ...]:
    """Return the events at the head of a lane that make the next turn; `events` oldest first, not empty.

    The head, and behind it the same speaker's messages without a gap, up to the limit; `queue` joins nothing. Two speakers'
    messages are never joined, nor messages whose replies go to different places, nor is a command. A turn that broke off
    comes back as it was: its reply may be stored already, and answers nothing said since. One that was `interrupted` has
    none, and is joined by what interrupted it.
    """
    head = events[0]
    rule = gathering(head)
    turn = [head]
    started = head.attempts > 0
    joining = rule.busy != "queue" and not rule.alone and (interrupted or not started)
    for event in events[1:]:
        same = started and event.turn_id == head.turn_id and event.attempts > 0
        if not same and not (joining and len(turn) < rule.most and _joins(event, head, rule, gathering)):
            break
        turn.append(event)
    return tuple(turn)


def _joins(event: Event, head: Event, rule: Gathering, gathering: Callable[[Event], Gathering]) -> bool:
    if event.speaker != head.speaker or event.channel != head.channel:
        return False
    own = gathering(event)
    return not own.alone and own.target == rule.target


Respond = Callable[[Running], Awaitable[None]]


@dataclass(slots=True)
class _Held:
    """A lane that is ours until then, by our own clock."""

    claim: Claim
    task: asyncio.Task[None]
    until_s: float


class Lanes:
    """Runs what the inbox hands out. `run()` lives as long as the gateway; `drain` lets it end in good order."""

    def __init__(
        self,
        inbox: Inbox,
        respond: Respond,
        gathering: Callable[[Event], Gathering],
        *,
        most: int,
        lease_s: float,
        retry_s: float,
        late: Callable[[float], None] = lambda seconds: None,
        clock_s: Callable[[], float] = boottime_s,
    ) -> None:
        """`most` lanes at once; leases are renewed thrice per `lease_s`; a lane whose turn failed rests `retry_s`. `late` hears
        by how much each renewal came too late, `clock_s` runs on while the machine sleeps."""
        self._inbox = inbox
        self._respond = respond
        self._gathering = gathering
        self._most = most
        self._lease_s = lease_s
        self._retry_s = retry_s
        self._late = late
        self._clock_s = clock_s
        self._due_s = clock_s() + lease_s
        self._unwritten: dict[int, Excuse] = {}  # by event
        self._excused = asyncio.Event()
        self._claims: dict[str, _Held] = {}
        self._running: dict[str, Running] = {}
        self._draining = asyncio.Event()
        self._slot_free = asyncio.Event()

    async def arrived(self, event: Event) -> None:
        """Let a new message cut short the turn that it will be joined with, where the room wants that, on whatever instance it
        runs; never another speaker's turn (openclaw#76777, openclaw#106483)."""
        if self._gathering(event).busy != "interrupt":
            return
        turn = self._running.get(event.lane)
        if turn is not None:
            if self._interrupts(event, turn.events):
                turn.halt("interrupted")
            return
        try:
            begun = [said for said in await self._inbox.waiting(event.lane) if said.state == "running"]
            answered = [said for said in begun if said.turn_id == begun[0].turn_id]
            if answered and self._interrupts(event, answered):
                await self._inbox.halt([said.id for said in answered], "interrupted")
        except StoreBusy:
            logger.info("turn not interrupted; the message is answered by itself", exc_info=True)

    def _interrupts(self, event: Event, answered: Sequence[Event]) -> bool:
        head = answered[0]
        rule = self._gathering(head)
        wanted = rule.busy == "interrupt" and not rule.alone and len(answered) < rule.most
        return wanted and _joins(event, head, rule, self._gathering)

    async def halt(self, ids: Collection[int], reason: HaltReason) -> bool:
        """Cut short the turns that answer any of these events, on whatever instance they run; whether any does. A stop is
        heard by whoever takes such a turn over, too. Raises `StoreBusy`."""
        here = [turn for turn in self._running.values() if turn.answers(ids)]
        for turn in here:
            turn.halt(reason)
        return bool(ids and await self._inbox.halt(sorted(ids), reason)) or bool(here)

    def taken_over(self, answers: Callable[[Event], bool]) -> None:
        """Cut short the turns here whose head `answers` says is in a conversation that a human has now."""
        for turn in self._running.values():
            if answers(turn.events[0]):
                turn.halt("taken_over")

    @property
    def busy(self) -> int:
        """Number of turns running here."""
        return len(self._running)

    def drain(self) -> None:
        """Claim nothing more; `run` returns when the turns under way have ended."""
        self._draining.set()
        self._slot_free.set()

    async def run(self) -> None:
        """Claim and run lanes until drained; a fault of the queue itself ends this with its exception."""
        async with asyncio.TaskGroup() as tasks:
            beside = [
                tasks.create_task(self._renew(), name="lanes-heartbeat"),
                tasks.create_task(self._hear(), name="lanes-halts"),
                tasks.create_task(self._write_excuses(), name="lanes-excuses"),
            ]
            async with asyncio.TaskGroup() as lanes:
                await self._claim(lanes)
            for task in beside:
                task.cancel()
            try:
                await self._excuse()
            except StoreBusy:
                logger.info("excuses not written", exc_info=True)

    async def _claim(self, tasks: asyncio.TaskGroup) -> None:
        seen = 0
        while not self._draining.is_set():
            free = self._most - len(self._claims)
            if free <= 0:
                self._slot_free.clear()
                await self._slot_free.wait()
                continue
            asked = self._clock_s()
            try:
                claims = await self._inbox.claim(free)
                if not claims:
                    seen = await self._change(seen)
            except StoreBusy:
                logger.warning("queue unavailable", exc_info=True)
                await happens(self._draining, within_s=self._retry_s)
                continue
            for claim in claims:
                if claim.lane in self._claims:
                    self._lost(self._claims[claim.lane])
                task = tasks.create_task(self._lane(claim), name=f"lane {claim.lane}")
                self._claims[claim.lane] = _Held(claim, task, asked + self._lease_s)

    async def _change(self, seen: int) -> int:
        """Wait for a change of the queue, or for the end; return the change's number."""
        change = asyncio.ensure_future(self._inbox.changed(seen))
        drained = asyncio.ensure_future(self._draining.wait())
        try:
            await asyncio.wait({change, drained}, return_when=asyncio.FIRST_COMPLETED)
            return change.result() if change.done() else seen
        finally:
            change.cancel()
            drained.cancel()
            await asyncio.gather(change, drained, return_exceptions=True)

    async def _renew(self) -> None:
        while True:
            self._due_s = self._clock_s() + self._lease_s / 3
            await asyncio.sleep(self._lease_s / 3)
            asked = self._clock_s()
            self._late(max(asked - self._due_s, 0))
            # Nobody has to say that a lease has run out: a process that was stopped, or is cut off, ends its turns by itself.
            out = {
                lane
                for lane, held in self._claims.items()
                if held.until_s <= asked and not self._inbox.mine(held.claim)
            }
            for lane in out:
                self._lost(self._claims[lane])
            self._due_s = asked + self._lease_s  # how long the renewal takes is the store's affair
            claims = {lane: held.claim for lane, held in self._claims.items() if lane not in out}
            if not claims:
                continue
            try:
                kept = {claim.lane for claim in await self._inbox.renew(list(claims.values()))}
            except StoreBusy:
                logger.warning("leases not renewed", exc_info=True)  # the fence keeps a late turn from writing
                continue
            for lane, claim in claims.items():
                # Renewing took a moment: a lane released (and perhaps claimed anew) meanwhile is not lost.
                current = self._claims.get(lane)
                if current is not None and current.claim == claim:
                    if lane in kept:
                        current.until_s = asked + self._lease_s
                    else:
                        self._lost(current)

    def _lost(self, held: _Held) -> None:
        # Not by its name, which is an account's: what is logged outlives the erasure of who it is.
        logger.warning("lane lost", extra={"fence": held.claim.fence})
        if (turn := self._running.get(held.claim.lane)) is not None and turn.claim == held.claim:
            self._cut_off(turn.events)
        held.task.cancel()

    def _cut_off(self, events: Sequence[Event]) -> None:
        """Excuse what ran in a lane that was lost, unless this process has stood still for as long as that takes: what ran may be
        the reason. Leases are renewed thrice a lease, so a stand-still that costs one makes the next renewal that late."""
        if events[0].excused < EXCUSED_MOST and self._clock_s() - self._due_s < self._lease_s / 3:
            self._keep(events)

    async def _hear(self) -> None:
        """Halt what others want halted."""
        seen = 0
        while True:
            try:
                seen = await self._inbox.changed(seen)
                running = {event.id: turn for turn in self._running.values() for event in turn.events}
                for halt in await self._inbox.halts(list(running)) if running else ():
                    turn = running[halt.event_id]
                    # What was said to an earlier start of the same turn was heard then.
                    if any(event.id == halt.event_id and event.attempts < halt.attempts for event in turn.events):
                        turn.halt(halt.reason)
            except StoreBusy:
                logger.warning("not looked for what is to be halted", exc_info=True)
            await asyncio.sleep(HALT_LOOKS_S)

    async def _write_excuses(self) -> None:
        """Write excuses beside all else: a database that hangs must keep no lane waiting."""
        while True:
            await self._excused.wait()
            self._excused.clear()
            try:
                await self._excuse()
            except StoreBusy:
                logger.info("excuses not written", exc_info=True)
                await asyncio.sleep(self._retry_s)
                self._excused.set()

    async def _lane(self, claim: Claim) -> None:
        interrupted = 0  # the head of a turn that begins again with what cut it short
        try:
            while not self._draining.is_set():
                events = [self._as_excused(event) for event in await self._inbox.waiting(claim.lane)]
                if events:
                    # An admin may have taken up again what stands before it.
                    turn = next_turn(events, self._gathering, interrupted=events[0].id == interrupted)
                    ending = await self._turn(claim, turn)
                    if ending in ("broke", "unstored"):
                        await self._rest(turn, excused=ending == "unstored")
                        break
                    if ending == "interrupted":
                        interrupted = turn[0].id
                elif await self._inbox.release(claim):
                    return
            # What a turn that broke off has sent to a store may still be on its way there. Under the lane's next number the turn
            # begins again as if another had it: what comes late then changes nothing.
            await self._inbox.release(claim, hand_over=True)
        except (LeaseLost, Fenced):
            logger.warning("lane taken over", extra={"fence": claim.fence})
        except StoreBusy:
            # Claimed again, here or elsewhere, when the lease has run out.
            logger.warning("queue unavailable", exc_info=True, extra={"fence": claim.fence})
        finally:
            if claim.lane in self._claims and self._claims[claim.lane].claim is claim:
                del self._claims[claim.lane]
            self._slot_free.set()

    async def _rest(self, events: tuple[Event, ...], *, excused: bool) -> None:
        """Wait until a turn that broke off may begin again; the longer, the more often it has begun."""
        if excused:
            self._keep(events)
        wait_s = min(retry_wait_s(events[0].attempts + 1, first_s=self._retry_s), LONGEST_REST_S)
        await happens(self._draining, within_s=wait_s)

    def _keep(self, events: Sequence[Event]) -> None:
        """Have this start of these events excused, as soon as that can be written."""
        self._unwritten |= {
            event.id: Excuse(event_id=event.id, attempts=event.attempts, excused=event.excused) for event in events
        }
        for event_id in list(self._unwritten)[:-UNWRITTEN_MOST]:
            del self._unwritten[event_id]
        self._excused.set()

    def _as_excused(self, event: Event) -> Event:
        """Return the event with what could not be written yet."""
        excuse = self._unwritten.get(event.id)
        if excuse is None or event.attempts <= excuse.attempts:
            return event
        return msgspec.structs.replace(event, excused=max(event.excused, excuse.excused + 1))

    async def _excuse(self) -> None:
        """Write what is not written. Raises `StoreBusy`."""
        excuses = list(self._unwritten.values())
        if excuses:
            await self._inbox.excuse(excuses)
        for excuse in excuses:
            if self._unwritten.get(excuse.event_id) == excuse:
                del self._unwritten[excuse.event_id]

    async def _turn(self, claim: Claim, events: tuple[Event, ...]) -> Ending:
        """Run a turn; return how that ended."""
        turn = Running(
            claim=claim,
            turn_id=events[0].turn_id,
            speaker=events[0].speaker,
            events=events,
            attempts=events[0].attempts,
            tries=max(events[0].attempts - events[0].excused, 0),
            mine=lambda: self._inbox.mine(claim),
        )
        if any(event.halt == "stopped" for event in events):
            turn.halt("stopped")  # said to an instance that is gone
        about = {"fence": claim.fence, "turn": turn.turn_id}
        self._running[claim.lane] = turn
        try:
            await self._respond(turn)
        except (LeaseLost, Fenced):
            self._cut_off(events)
            raise
        except (StoreBusy, StoreUnavailable) as fault:
            logger.warning("turn broken off by the store", exc_info=True, extra=about)
            refused = isinstance(fault, QueueRefused | StoreRefused)  # this message, perhaps
            return "broke" if refused or events[0].excused >= EXCUSED_MOST else "unstored"
        except Exception:
            # The events stay in the lane; the attempt is counted, so that a turn that always fails ends as dead.
            logger.exception("turn broke off", extra=about)
            return "broke"
        finally:
            if self._running.get(claim.lane) is turn:  # else the lane was lost, and runs here anew
                del self._running[claim.lane]
        if turn.reason != "interrupted":
            return "ended"
        self._keep(events)
        return "interrupted"
