"""What the acts are made from, and the one service over all of them. The composition root fills `Parts`; here each part's acts
take what they need of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from adapters.base import Address
from config.loader import Configuration
from gateway.admin.acts.takeover import TakeoverActs
from gateway.admin.channel_health import HealthActs
from gateway.admin.channels import ChannelActs, Manifest
from gateway.admin.consequences import Consequences
from gateway.admin.conversations import ConversationActs
from gateway.admin.database import Database
from gateway.admin.dead_letters import DeadLetterActs
from gateway.admin.deleting import Deleting
from gateway.admin.entrance import Entrance
from gateway.admin.instances import InstanceActs
from gateway.admin.joining import JoiningActs
from gateway.admin.keeping import SecretActs
from gateway.admin.knowing import KnowingActs
from gateway.admin.loading import Layers
from gateway.admin.operations import Handlers, Service
from gateway.admin.people import Eraser
from gateway.admin.persons_known import PersonsKnown
from gateway.admin.planning import Planner
from gateway.admin.privacy import PrivacyActs
from gateway.admin.quotas import QuotaActs
from gateway.admin.replaying import ReplayActs
from gateway.admin.service import Admin
from gateway.admin.settings import SettingsActs
from gateway.admin.settings_history import HistoryActs
from gateway.admin.tail import Tail
from gateway.admin.tracing import TraceActs
from gateway.admin.turns import TurnActs
from gateway.admin.usage import UsageActs
from gateway.health import Health
from gateway.inbox.base import Inbox, Outbox
from gateway.inbox.dead import DeadLetters
from gateway.inbox.looking import Looking
from gateway.intake import Intake
from gateway.leases import Leases
from gateway.live import Live
from gateway.metrics import Metrics
from gateway.people import People
from gateway.personal_memory import PersonalMemory
from gateway.usage.reports import UsageReports
from memory.derived import FullStore
from memory.ids import Ids
from memory.service import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The running gateway, as acts see it. `current` says where an address is now, `accounts_changed` is told when accounts are
    others' than before, `joined` who is whom now (absorbed, survivor), `clock` gives milliseconds since 1970."""

    database: Database
    layers: Layers
    store: FullStore
    inbox: Inbox
    outbox: Outbox
    looking: Looking
    memory: Memory
    people: People
    intake: Intake
    live: Live
    leases: Leases
    health: Health
    metrics: Metrics
    eraser: Eraser
    entrance: Entrance
    takeovers: TakeoverActs
    tail: Tail
    letters: DeadLetters
    personal: PersonalMemory
    current: Callable[[Address], Address]
    accounts_changed: Callable[[], None]
    joined: Callable[[int, int], Awaitable[None]]
    ids: Ids
    manifest: Manifest
    configuration: Callable[[], Configuration]
    clock: Callable[[], int]


def service(parts: Parts) -> Service:
    """Return the service: one line for each module of `gateway/admin/acts`."""
    bound: tuple[Handlers, ...] = (
        *parts.entrance.handlers(),
        *settings_acts(parts),
        *seeing_acts(parts),
        parts.takeovers.handlers(),
        *people_acts(parts),
        *usage_acts(parts),
    )
    return Service(*bound, audit=parts.entrance.audit)


def seeing_acts(parts: Parts) -> tuple[Handlers, ...]:
    """Return what is seen of channels, turns and conversations."""
    looking, admin = parts.looking, Admin(memory=parts.memory, store=parts.store)
    probe_s = parts.live.configuration.settings.queue.send_s
    health = HealthActs(looking=looking, live=parts.live, metrics=parts.metrics, clock=parts.clock, probe_s=probe_s)
    turns = TurnActs(looking=looking, persons=parts.store.persons, live=parts.live, clock=parts.clock)
    traces = TraceActs(
        admin=admin,
        inbox=parts.inbox,
        looking=looking,
        store=parts.store,
        database=parts.database,
        configuration=parts.configuration,
    )
    replays = ReplayActs(admin=admin, store=parts.store, inbox=parts.inbox, configuration=parts.configuration)
    conversations = ConversationActs(browsing=parts.store.browsing, inbox=parts.inbox, looking=looking)
    several = not parts.configuration().settings.storage.startswith("sqlite:")
    instances = InstanceActs(parts.leases, wanted=parts.health.wanted, several=several, clock=parts.clock)
    acts = (health, instances, turns, traces, replays, conversations, parts.tail)
    return tuple(one.handlers() for one in acts)


def usage_acts(parts: Parts) -> tuple[Handlers, ...]:
    """Return what is told of what was spent, and of quotas."""
    reports = UsageReports(parts.database)
    usage = UsageActs(
        reports=reports, configuration=parts.configuration, persons=parts.store.persons, clock=parts.clock
    )
    quotas = QuotaActs(reports=reports, configuration=parts.configuration, clock=parts.clock)
    return usage.handlers(), quotas.handlers()


def settings_acts(parts: Parts) -> tuple[Handlers, ...]:
    """Return what is done about settings, secrets and channels."""
    revisions, vault, loader = parts.layers.revisions, parts.layers.vault, parts.layers.loader
    planner = Planner(loader=loader, revisions=revisions, vault=vault, configuration=parts.configuration)
    settings = SettingsActs(
        live=parts.live,
        loader=loader,
        planner=planner,
        revisions=revisions,
        vault=vault,
        consequences=Consequences(
            memory=parts.memory,
            placed=parts.live.placed,
            deleting=Deleting(browsing=parts.store.browsing, inbox=parts.inbox, clock=parts.clock),
        ),
    )
    secrets = SecretActs(
        vault=vault, loader=loader, revisions=revisions, database=parts.database, configuration=parts.configuration
    )
    channels = ChannelActs(
        live=parts.live,
        settings=settings,
        planner=planner,
        vault=vault,
        revisions=revisions,
        inbox=parts.inbox,
        outbox=parts.outbox,
        looking=parts.looking,
        ids=parts.ids,
        manifest=parts.manifest,
        clock=parts.clock,
    )
    history = HistoryActs(revisions)
    return settings.handlers(), history.handlers(), secrets.handlers(), channels.handlers()


def people_acts(parts: Parts) -> tuple[Handlers, ...]:
    """Return what is done about persons, and about what was given up."""
    store, known = parts.store, PersonsKnown(parts.store.persons, configuration=parts.configuration)
    knowing = KnowingActs(
        store=store, personal=parts.personal, known=known, configuration=parts.configuration, clock=parts.clock
    )
    joining = JoiningActs(
        links=store.links,
        known=known,
        changed=parts.accounts_changed,
        joined=parts.joined,
        ids=parts.ids,
        clock=parts.clock,
    )
    privacy = PrivacyActs(persons=store.persons, known=known, eraser=parts.eraser, clock=parts.clock)
    letters = DeadLetterActs(
        inbox=parts.inbox,
        letters=parts.letters,
        configuration=parts.configuration,
        current=parts.current,
        ids=parts.ids,
        clock=parts.clock,
        dealt=parts.metrics.letter_dealt,
    )
    return knowing.handlers(), joining.handlers(), privacy.handlers(), letters.handlers()
