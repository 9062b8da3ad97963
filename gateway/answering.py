"""The parts that answer a turn as they belong together, for the composition root."""

from __future__ import annotations

from collections.abc import Callable

from adapters.base import Address
from gateway.asking import Asking
from gateway.by_hand import AnsweringByHand
from gateway.hot.base import Streams
from gateway.human_parts import HumanParts
from gateway.inbox.base import Inbox, Outbox
from gateway.intake import Intake
from gateway.linking import Linking
from gateway.live import Live
from gateway.memory_in_chat import MemoryInChat
from gateway.metrics import Metrics
from gateway.naming import Naming
from gateway.pacing import Pacing
from gateway.people import People
from gateway.personal_memory import PersonalMemory
from gateway.presence import Presence
from gateway.replies import Commands
from gateway.responder import Responder
from gateway.senders import Shares
from gateway.showing import Showing
from gateway.talk import Talk
from gateway.traces import Traces
from gateway.usage.parts import UsageParts
from memory.derived import FullStore
from memory.service import Memory


def responder(
    *,
    inbox: Inbox,
    outbox: Outbox,
    store: FullStore,
    memory: Memory,
    people: People,
    personal: PersonalMemory,
    staff: HumanParts,
    usage: UsageParts,
    intake: Intake,
    live: Live,
    naming: Naming,
    presence: Presence,
    talk: Talk,
    pacing: Pacing,
    shares: Shares,
    limited: Callable[[str, str, float], None],
    show_s: float,
    streams: Streams,
    metrics: Metrics,
    traces: Traces,
    current: Callable[[Address], Address],
    accounts_changed: Callable[[], None],
    clock: Callable[[], int],
) -> Responder:
    """Make what answers turns, and with it who asks agents, what commands do and what humans say. `accounts_changed` is told when
    accounts are others' than before; the rest as of `Responder`."""
    asking = Asking(
        live=live,
        memory=memory,
        streams=streams,
        metrics=metrics,
        quotas=usage.quotas,
        spending=usage.spending,
        traces=traces,
    )
    linking = Linking(
        links=store.links,
        people=people,
        live=live,
        moving=accounts_changed,
        joined=usage.meter.join,
        clock=clock,
    )
    showing = Showing(
        inbox=inbox,
        outbox=outbox,
        channels=live,
        pacing=pacing,
        show_s=show_s,
        shares=shares,
        counted=lambda channel, outcome: metrics.show_ended(channel=channel, outcome=outcome),
        limited=limited,
    )
    in_chat = MemoryInChat(personal=personal, store=store, names=memory.names, live=live, clock=clock)
    return Responder(
        inbox=inbox,
        outbox=outbox,
        memory=memory,
        people=people,
        asking=asking,
        commands=Commands(memory=memory, people=people, asking=asking, in_chat=in_chat, linking=linking, live=live),
        human_turns=staff.turns,
        by_hand=AnsweringByHand(memory=memory, humans=staff.talk, people=people, asking=asking, live=live),
        live=live,
        naming=naming,
        presence=presence,
        talk=talk,
        showing=showing,
        streams=streams,
        metrics=metrics,
        quotas=usage.quotas,
        spending=usage.spending,
        current=current,
        settled=intake.settled,
        traces=traces,
    )
