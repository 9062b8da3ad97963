"""The parts of a human take-over as they belong together, for the composition root."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from adapters.base import Adapter, Address
from config.loader import Configuration
from gateway.admin.acts.takeover import TakeoverActs
from gateway.admin.takeovers import Place, TakeoverRows
from gateway.desk import Desk, Posts
from gateway.human_drafts import Drafts
from gateway.human_lane import HumanLane
from gateway.human_turns import HumanTurns
from gateway.humans import Humans
from gateway.inbox.base import Inbox
from gateway.live import Live
from gateway.mailbox import Mailbox
from gateway.metrics import Metrics
from gateway.usage.parts import UsageParts
from memory.base import Store
from memory.humans import HumanTalk
from memory.ids import Ids
from memory.names import Names


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanParts:
    """Who has which conversation, their part of turns, what they say to the transcript, and where it waits on channels that
    nothing can be sent to; `rows` is what all that stands on."""

    rows: TakeoverRows
    humans: Humans
    turns: HumanTurns
    talk: HumanTalk
    mailbox: Mailbox


def human_parts(
    rows: TakeoverRows,
    *,
    inbox: Inbox,
    outbox: Posts,
    store: Store,
    names: Names,
    ids: Ids,
    configuration: Callable[[], Configuration],
    made: Callable[[str], Adapter | None],
    current: Callable[[Address], Address],
    halt: Callable[[frozenset[Place]], None],
    paused: Callable[[Mapping[tuple[str, Literal["waiting", "taken"]], int]], None],
    clock: Callable[[], int],
    retry_s: float,
) -> HumanParts:
    """Make the parts; `made` gives a channel's adapter, `current` where an address is now. The rest as of `Humans`."""
    talk = HumanTalk(store, names=names, clock=clock)
    desk = Desk(rows=rows, outbox=outbox, ids=ids, configuration=configuration, made=made, current=current, clock=clock)
    lane = HumanLane(inbox=inbox, names=names, ids=ids, configuration=configuration, rows=rows, made=made, clock=clock)
    humans = Humans(
        rows=rows,
        desk=desk,
        lane=lane,
        inbox=inbox,
        ids=ids,
        configuration=configuration,
        reaches=lambda name: reaches(made(name)),
        halt=halt,
        paused=paused,
        clock=clock,
        retry_s=retry_s,
    )
    return HumanParts(
        rows=rows,
        humans=humans,
        turns=HumanTurns(humans=humans, talk=talk, made=made),
        talk=talk,
        mailbox=Mailbox(rows=rows, inbox=inbox, outbox=outbox, clock=clock),
    )


def reaches(made: Adapter | None) -> bool:
    """Whether something can be said unasked on a channel."""
    return made is not None and (made.capabilities.fetches or not made.capabilities.collected)


def takeover_acts(staff: HumanParts, *, store: Store, live: Live, metrics: Metrics, usage: UsageParts) -> TakeoverActs:
    """Make what staff do with take-overs in the console and over REST; the model that drafts is counted like any other."""
    drafts = Drafts(
        store=store,
        talk=staff.talk,
        live=live,
        metrics=metrics,
        quotas=usage.quotas,
        spending=usage.spending,
        model_s=lambda: live.configuration.settings.learning.model_s,
    )
    return TakeoverActs(
        humans=staff.humans,
        rows=staff.rows,
        talk=staff.talk,
        model=drafts.model,
        configuration=lambda: live.configuration,
    )
