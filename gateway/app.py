"""COMPOSITION ROOT: opens everything in reading order, by hand, and ends it in good order.

The only file that names concrete classes. What a test wants to replace is a keyword argument.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
)
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from adapters.base import Adapter
from adapters.console.access import Guesses
from adapters.console.adapter import ConsoleAdapter
from adapters.slack.manifest import manifest
from config.channels.base import ChannelSettings
from config.channels.console import ConsoleSettings
from config.channels.slack import SlackSettings
from config.channels.telegram import TelegramSettings
from config.channels.webhook import WebhookSettings
from config.loader import Configuration
from config.reload import watch
from config.settings import AgentSettings, LearningSettings, MeaningSettings, Settings
from gateway import logs
from gateway.admin.api import routes
from gateway.admin.console.serving import doors
from gateway.admin.database import Database
from gateway.admin.door import door, local_actor
from gateway.admin.entrance import Entrance
from gateway.admin.loading import hear, layers_over
from gateway.admin.people import Eraser, Receipt
from gateway.admin.schema import ADMINS
from gateway.admin.service import Admin, Explaining
from gateway.admin.sqlite import SqliteDatabase
from gateway.admin.tail import Tail
from gateway.admin.takeovers import Place, TakeoverRows
from gateway.admin.wiring import Parts, service
from gateway.admitting import Admitting
from gateway.agents.demo import DemoAgent
from gateway.agents.openai import OpenAIAgent
from gateway.answering import responder
from gateway.build import release
from gateway.channels import Times
from gateway.commands import MENU
from gateway.control import Control
from gateway.delivery import Delivery
from gateway.errors import BadRequest
from gateway.following import Placing, follow_change
from gateway.front import http_channel, look_once, ready_line, rendered
from gateway.gathering import gathering
from gateway.health import Health, PassedOver
from gateway.held_back import HeldBack
from gateway.hot.base import Shelf
from gateway.hot.opening import open_hot
from gateway.http import HttpServer
from gateway.human_lane import places_answered
from gateway.human_parts import human_parts, takeover_acts
from gateway.inbox.schema import QUEUES
from gateway.inbox.sqlite import SqliteInbox
from gateway.intake import Intake
from gateway.lanes import Lanes
from gateway.learning import Learner
from gateway.leases import About, Leases, ProcessLeases, given_up, once, shared_clock
from gateway.linking import Mover
from gateway.live import Live, MadeAgent
from gateway.mailbox import Mailbox
from gateway.memory_on_page import MemoryOnPage
from gateway.metrics import Metrics
from gateway.naming import Naming
from gateway.pacing import Pacing
from gateway.people import People
from gateway.personal_memory import PersonalMemory
from gateway.presence import Presence
from gateway.probing import Probe
from gateway.proxies import networks
from gateway.retention import Retention
from gateway.rooms import Rooms
from gateway.senders import Senders
from gateway.sent_before import recall
from gateway.storage import Queues, Storage, make_folder, sqlite_path
from gateway.talk import Talk
from gateway.traces import traced
from gateway.usage.catching_up import CatchingUp
from gateway.usage.parts import usage_parts
from gateway.usage.rows import UsageRows
from gateway.waits import boottime_s
from memory.base import Identity
from memory.derived import FullStore
from memory.embedders.choice import choose_embedder
from memory.embedding import Vectors
from memory.ids import Ids, now_ms
from memory.schema import read_migrations
from memory.service import Memory
from memory.stores.lock import StoreLock
from memory.stores.migrate import MEMORY
from memory.stores.sqlite import SqliteStore
from memory.tokens import Tokenizers

if TYPE_CHECKING:  # they bring NumPy
    from gateway.embedding import Embedding
    from memory.meaning import Meaning, Spent

logger = logging.getLogger(__name__)

VERSION = "0.1.0"

MOVED_S = 60.0
"""Seconds between two looks for what another instance left of joining persons."""
BROKEN_OFF_S = 600.0
"""The same of erasing somebody: long enough for what a command is just doing."""
ADMIN_POOL = 4
"""PostgreSQL connections for the admins' tables, at most; one is kept open."""


@asynccontextmanager
async def open_storage(settings: Settings, *, ids: Ids) -> AsyncIterator[Storage]:
    """Open store and queues, migrate them, and close them at the end. `ids` are this instance's own from then on. Raises
    `StoreUnavailable`, `SchemaTooNew` and `CannotJoin`."""
    database, queue = settings.database, settings.queue
    path = sqlite_path(settings.storage)
    async with AsyncExitStack() as stack:
        store: FullStore
        queues: Queues
        admin: Database
        leases: Leases
        warning, number = None, settings.server.instance
        about = About(release=VERSION if path is not None else release(VERSION))  # a file's is beside nobody's
        if path is not None:
            make_folder(path.parent)
            stack.enter_context(StoreLock(path))
            write_turn = asyncio.Lock()
            store = await stack.enter_async_context(
                SqliteStore(path, ids=ids, write_turn=write_turn, timeout_s=database.timeout_s)
            )
            queues = await stack.enter_async_context(
                SqliteInbox(
                    path,
                    write_turn=write_turn,
                    timeout_s=database.timeout_s,
                    lease_s=queue.lease_s,
                    poll_s=queue.poll_s,
                    accept_max=queue.accept_max,
                )
            )
            admin = await stack.enter_async_context(
                SqliteDatabase(path, write_turn=write_turn, timeout_s=database.timeout_s)
            )
            leases = ProcessLeases(about, number=number, rest_s=queue.poll_s, clock_ms=now_ms)
        else:
            from gateway.admin.postgres import PostgresDatabase
            from gateway.inbox.postgres import PostgresInbox  # only who uses a database pays for its driver
            from gateway.inbox.postgres_joining import Entry
            from memory.stores.postgres import PostgresStore

            truth = await stack.enter_async_context(
                PostgresStore(settings.storage, ids=ids, pool_size=database.pool, timeout_s=database.timeout_s)
            )
            store, warning = truth, truth.warning
            queues = shared = await stack.enter_async_context(
                PostgresInbox(
                    settings.storage,
                    pool_size=database.pool,
                    timeout_s=database.timeout_s,
                    lease_s=queue.lease_s,
                    poll_s=queue.poll_s,
                    accept_max=queue.accept_max,
                    entry=Entry(about=about, number=number, numbered=ids.renumber),
                )
            )
            leases = shared.leases
            admin = await stack.enter_async_context(
                PostgresDatabase(settings.storage, pool_size=ADMIN_POOL, timeout_s=database.timeout_s)
            )
        if settings.redis is not None:
            from memory.stores.redis import RedisCache

            store = await stack.enter_async_context(
                RedisCache(store, settings.redis, ttl_s=database.cache_s, timeout_s=database.cache_timeout_s)
            )
        yield Storage(store=store, queues=queues, admin=admin, leases=leases, warning=warning)


@asynccontextmanager
async def open_admin_reading(settings: Settings) -> AsyncIterator[Database]:
    """Open the admins' tables to read beside a running gateway. Raises `StoreBusy`, also where there are none yet."""
    path, timeout_s = sqlite_path(settings.storage), settings.database.timeout_s
    if path is not None:
        async with SqliteDatabase(path, write_turn=asyncio.Lock(), timeout_s=timeout_s, read_only=True) as database:
            yield database
    else:
        from gateway.admin.postgres import PostgresDatabase

        async with PostgresDatabase(settings.storage, pool_size=1, timeout_s=timeout_s, read_only=True) as server:
            yield server


@asynccontextmanager
async def open_reading(settings: Settings) -> AsyncIterator[FullStore]:
    """Open the store to read beside a running gateway: no lock, no migration, no cache."""
    path = sqlite_path(settings.storage)
    timeout_s = settings.database.timeout_s
    async with AsyncExitStack() as stack:
        if path is not None:
            yield await stack.enter_async_context(
                SqliteStore(path, ids=Ids(0), write_turn=asyncio.Lock(), timeout_s=timeout_s, read_only=True)
            )
        else:
            from memory.stores.postgres import PostgresStore

            yield await stack.enter_async_context(
                PostgresStore(settings.storage, ids=Ids(0), pool_size=2, timeout_s=timeout_s, read_only=True)
            )


async def erase_alone(configuration: Configuration, who: int | Identity) -> Receipt | None:
    """Erase a person where no gateway runs on the SQLite file; on PostgreSQL beside those that run. None: nobody has that number.

    Raises as `Eraser.erase` does; `StoreUnavailable` also for a file that another process has."""
    settings = configuration.settings

    async def ended(_turn_id: int) -> None:
        """Nobody follows a turn here."""

    beside = settings.model_copy(update={"server": settings.server.model_copy(update={"instance": None})})
    async with open_storage(beside, ids=Ids(0)) as storage:
        eraser = Eraser(
            store=storage.store,
            queues=storage.queues,
            configuration=lambda: configuration,
            ended=ended,
            forget=lambda _event_ids: None,
            uncount=UsageRows(storage.admin).erase,
            takeovers=TakeoverRows(storage.admin),
            leases=storage.leases,
            clock=now_ms,
            within_s=settings.queue.send_s,
        )
        return await eraser.erase(who)


def alone(path: Path) -> AbstractContextManager[object]:
    """Hold the SQLite file as a gateway does. Entering raises `StoreUnavailable` where one runs on it."""
    return StoreLock(path)


def schemas() -> dict[str, int]:
    """Return this release's versions of the three schemas in a database, by the tables that count them."""
    return {one.table: len(read_migrations(one.folder / "postgres")) for one in (MEMORY, QUEUES, ADMINS)}


async def backup(settings: Settings, target: Path) -> AsyncGenerator[int, None]:
    """Copy the SQLite file to `target` while it is in use; yields the pages left to copy."""
    path = sqlite_path(settings.storage)
    if path is None:
        raise BadRequest(
            "db backup copies SQLite files; for PostgreSQL use pg_dump, or base backups with WAL archiving"
        )
    timeout_s = settings.database.timeout_s
    async with SqliteStore(path, ids=Ids(0), write_turn=asyncio.Lock(), timeout_s=timeout_s, read_only=True) as store:
        async for left in store.backup(str(target)):
            yield left


def agent_kind(settings: AgentSettings) -> str:
    """Return the agent's kind, `auto` resolved."""
    if settings.kind == "auto":
        return "openai" if settings.api_key is not None or settings.base_url is not None else "demo"
    return settings.kind


def make_agent(name: str, settings: AgentSettings, *, metrics: Metrics) -> MadeAgent:
    """Make an agent of the configured kind. Nothing connects before the first call."""
    kind = agent_kind(settings)
    if kind == "demo":
        return MadeAgent(agent=DemoAgent(), settings=settings, kind=kind, model="")
    agent = OpenAIAgent(settings, on_rate_limit=lambda seconds: metrics.rate_limited(seconds, of="agent", who=name))
    return MadeAgent(agent=agent, settings=settings, kind=kind, model=settings.model)


def make_meaning(settings: MeaningSettings, vectors: Vectors, *, spent: Spent) -> Meaning | None:
    """Return what recalls by meaning, not loaded yet; None: no embedder is on, and not even NumPy is imported. `spent` hears of
    requests to a service. Raises `ModelFailed`."""
    embedder = choose_embedder(settings)
    if embedder is None:
        return None
    from memory.meaning import Meaning

    former = None if settings.former is None else choose_embedder(settings.former)
    cache_bytes = int(settings.cache_mb * 1_000_000)
    embedders = [embedder] if former is None or former.name == embedder.name else [embedder, former]
    return Meaning(embedders, vectors, cache_bytes=cache_bytes, question_s=settings.question_s, spent=spent)


def make_embedding(
    meaning: Meaning, settings: LearningSettings, *, metrics: Metrics, owner: str, clock: Callable[[], int]
) -> Embedding:
    """Return what makes the vectors that are missing."""
    from gateway.embedding import Embedding

    return Embedding(
        meaning, metrics=metrics, owner=owner, wait_s=settings.wait_s, lease_s=settings.lease_s, clock=clock
    )


async def run(
    configuration: Configuration,
    *,
    path: Path,
    environ: Mapping[str, str],
    stop: asyncio.Event,
    announce: Callable[[str], None],
    mask: logs.SecretMask,
    opened: Callable[..., AbstractAsyncContextManager[Storage]] = open_storage,
    adapters: Callable[..., Adapter] | None = None,
    clock_ms: Callable[[], int] = now_ms,
) -> None:
    """Serve until `stop` is set, then end in good order. `announce` gets the ready line, `mask` each new secret; `opened`
    opens the truth, `adapters` makes a channel (None: `make_adapter`, whose arguments it gets), `clock_ms` says what is due
    to be sent.

    Raises what keeps the gateway from starting (`CannotListen`, `MemoryFault`, `StoreBusy`), and whatever ends one of its
    lasting tasks: a gateway that goes on without one of them would accept and never answer.
    """
    settings, queue = configuration.settings, configuration.settings.queue
    instance = settings.server.instance
    ids = Ids(random.randrange(1024) if instance is None else instance)  # noqa: S311  # a number, not a secret
    metrics = Metrics(version=VERSION)
    passed_over = PassedOver(metrics.passed_over)
    pacing = Pacing()
    tokenizers = Tokenizers()
    tracing = traced(settings.telemetry, instance=f"{ids.next():x}", version=VERSION, ended=metrics.spans_ended)
    async with (
        tracing as traces,
        opened(settings, ids=ids) as storage,
        open_hot(settings, passed_over=passed_over) as hot,
    ):
        store, queues, leases = storage.store, storage.queues, storage.leases
        layers = layers_over(path, environ, storage.admin, settings, clock=now_ms)
        configuration = await layers.loader.start()
        settings = configuration.settings
        live = Live(
            configuration,
            make_agent=lambda name, agent: make_agent(name, agent, metrics=metrics),
            make_adapter=lambda name, channel: (adapters or make_adapter)(
                name,
                channel,
                live=live,
                explains=explaining,
                remembers=remembering,
                unasked=staff.mailbox,
                guesses=hot.limits,
                shelf=hot.shelf,
                metrics=metrics,
            ),
            times=Times(start_s=queue.start_s, send_s=queue.send_s, rest_s=queue.restart_s),
            leases=leases,
            noted=lambda channel, outcome: metrics.channel_started(channel=channel, outcome=outcome),
            placed=lambda changed: rooms.applied(changed),
        )
        senders = Senders(
            leases,
            live,
            recall=lambda name: recall(name, outbox=queues, channels=live, pacing=pacing, clock_ms=clock_ms),
            changed=lambda: delivery.look(),
        )
        people, talk = People(store), Talk()
        owner, shared_ms = f"{ids.next():x}", shared_clock(leases, now_ms)
        meaning = make_meaning(
            settings.embedder,
            store.vectors,
            spent=lambda model, texts, tokens: usage.spending.embedded(model, texts, tokens),
        )
        embedding = (
            None
            if meaning is None
            else make_embedding(meaning, settings.learning, metrics=metrics, owner=owner, clock=shared_ms)
        )
        memory = Memory(store, tokenizers=tokenizers, due=lambda: learner.wake(), meaning=meaning)

        mover, finisher = Mover(store.links, look_s=None), Mover(store.links, look_s=MOVED_S)

        def accounts_changed() -> None:
            people.forget()
            rooms.tell()
            mover.wake()

        def look_up_anew() -> None:
            live.configuration = rooms.applied(live.configuration)
            people.forget()  # another instance may have erased one

        def forgotten(event_ids: Sequence[int]) -> None:
            people.forget()
            rooms.tell()
            memory.names.forget()
            hot.streams.forget(event_ids)
            if meaning is not None:
                meaning.forget()

        rooms = Rooms(names=memory.names, outbox=queues, changed=look_up_anew, bus=hot.bus)
        usage = usage_parts(
            UsageRows(storage.admin),
            several=sqlite_path(settings.storage) is None,
            people=people,
            ids=ids,
            metrics=metrics,
            configuration=lambda: live.configuration,
            taken_over=lambda message: humans.has(message),
        )

        def ended(channel: str, outcome: str, rule: str) -> None:
            metrics.turn_ended(channel=channel, agent="", outcome=outcome, rule=rule)

        def taken_over(places: frozenset[Place]) -> None:
            lanes.taken_over(lambda event: not places.isdisjoint(places_answered(event)))

        staff = human_parts(
            TakeoverRows(storage.admin),
            inbox=queues,
            outbox=queues,
            store=store,
            names=memory.names,
            ids=ids,
            configuration=lambda: live.configuration,
            made=lambda name: live.made(name),
            current=rooms.current,
            halt=taken_over,
            paused=metrics.takeovers,
            clock=now_ms,
            retry_s=queue.poll_s,
        )
        humans = staff.humans

        async def move_room(channel: str, room: str, now_room: str) -> None:
            await rooms.move(channel, room, now_room)
            await humans.move(channel, room, now_room)
            await usage.meter.move_room(channel, room, now_room)

        intake = Intake(
            inbox=queues,
            outbox=queues,
            streams=hot.streams,
            admitting=Admitting(
                limits=hot.limits, answered=store.answered, desk=humans.at_desk, taken_over=humans.covers
            ),
            quotas=usage.quotas,
            talk=talk,
            people=people,
            names=memory.names,
            ids=ids,
            configuration=lambda: live.configuration,
            act=lambda event: control.take(event),
            arrived=lambda event: lanes.arrived(event),
            ended_at_once=ended,
            delivered=lambda channel, seconds: metrics.delivered(seconds, channel=channel),
            poll_s=settings.queue.poll_s,
            traces=traces,
        )
        probe = Probe(
            intake=intake,
            letters=queues.letters,
            metrics=metrics,
            settings=lambda: live.configuration.settings.probe,
        )
        presence = Presence(
            outbox=queues, names=memory.names, ids=ids, made=lambda name: live.made(name), ended=intake.ended
        )
        naming = Naming(channels=live, names_s=queue.names_s)
        explaining = Explaining(admin=Admin(memory=memory, store=store), intake=intake, inbox=queues, live=live)
        personal = PersonalMemory(store=store, ids=ids, clock=now_ms)
        held_back = HeldBack(pacing, hot.bus, clock=shared_ms)

        def limited(channel: str, scope: str, seconds: float) -> None:
            metrics.rate_limited(seconds, of="channel", who=channel)
            held_back.tell(channel, scope, seconds)

        remembering = MemoryOnPage(personal=personal, people=people, live=live)
        answering = responder(
            inbox=queues,
            outbox=queues,
            store=store,
            memory=memory,
            people=people,
            personal=personal,
            staff=staff,
            usage=usage,
            intake=intake,
            live=live,
            naming=naming,
            presence=presence,
            talk=talk,
            pacing=pacing,
            shares=senders,
            limited=limited,
            show_s=queue.show_s,
            streams=hot.streams,
            metrics=metrics,
            traces=traces,
            current=rooms.current,
            accounts_changed=accounts_changed,
            clock=now_ms,
        )
        learner = Learner(
            store.derived,
            live=live,
            metrics=metrics,
            quotas=usage.quotas,
            spending=usage.spending,
            ids=ids,
            owner=owner,
            poll_s=queue.poll_s,
            learned=(lambda: None) if embedding is None else embedding.wake,
            clock=shared_ms,
            traces=traces,
        )
        lanes = Lanes(
            queues,
            answering.respond,
            lambda event: gathering(event, live.configuration),
            most=settings.queue.lanes,
            lease_s=settings.queue.lease_s,
            retry_s=settings.queue.poll_s,
            late=lambda seconds: metrics.loop_late(seconds, now_s=boottime_s()),
        )
        control = Control(
            inbox=queues,
            memory=memory,
            people=people,
            naming=naming,
            lanes=lanes,
            configuration=lambda: live.configuration,
            presence=presence,
            moved=move_room,
            desk_said=humans.desk_said,
            settled=intake.settled,
            ended=ended,
            retry_s=settings.queue.poll_s,
            look_s=settings.queue.lease_s,
        )
        delivery = Delivery(
            queues,
            queues,
            live,
            intake.ended,
            pacing=pacing,
            shares=senders,
            send_s=queue.send_s,
            attempts=queue.send_attempts,
            first_wait_s=queue.send_wait_s,
            throttled_s=queue.throttled_s,
            clock_ms=clock_ms,
            moved=move_room,
            counted=lambda channel, outcome: metrics.send_ended(channel=channel, outcome=outcome),
            limited=limited,
            traces=traces,
        )
        health = Health(
            store=store,
            inbox=queues,
            live=live,
            leases=leases,
            timeout_s=settings.database.timeout_s,
            embedder=(lambda: None) if embedding is None else lambda: embedding.problem,
            settings=lambda: layers.loader.warning,
            store_warning=storage.warning,
            probe=lambda: probe.problem,
            shared=lambda: passed_over.problem,
            clean_up=lambda: retention.problem,
            unheld_s=2 * queue.lease_s,
        )
        leases.describe(health.condition)
        retention = Retention(
            inbox=queues,
            store=store,
            metrics=metrics,
            settings=lambda: live.configuration.settings.retention,
            expire_acts=lambda before_ms: entrance.audit.expire(before_ms),
        )
        eraser = Eraser(
            store=store,
            queues=queues,
            configuration=lambda: live.configuration,
            ended=intake.ended,
            forget=forgotten,
            uncount=usage.meter.erase,
            takeovers=staff.rows,
            leases=leases,
            clock=now_ms,
            within_s=queue.send_s,
        )

        entrance = Entrance(
            storage.admin,
            settings=lambda: live.configuration.settings.admin,
            limits=hot.limits,
            clock=now_ms,
            metrics=metrics,
        )
        tail = Tail(inbox=queues, looking=queues.looking)
        acts = service(
            Parts(
                database=storage.admin,
                layers=layers,
                store=store,
                inbox=queues,
                outbox=queues,
                looking=queues.looking,
                memory=memory,
                people=people,
                intake=intake,
                live=live,
                leases=leases,
                health=health,
                metrics=metrics,
                eraser=eraser,
                entrance=entrance,
                takeovers=takeover_acts(staff, store=store, live=live, metrics=metrics, usage=usage),
                tail=tail,
                letters=queues.letters,
                personal=personal,
                current=rooms.current,
                accounts_changed=accounts_changed,
                joined=usage.meter.join,
                ids=ids,
                manifest=manifest_of,
                configuration=lambda: live.configuration,
                clock=now_ms,
            )
        )
        catching_up = CatchingUp(
            usage.rows,
            store=store,
            meter=usage.meter,
            settings=lambda: live.configuration.settings,
            clock_ms=now_ms,
            deleted=lambda rows: metrics.deleted("usage", rows),
        )
        entered = doors(
            acts,
            entrance,
            public_url=lambda: live.configuration.settings.server.public_url,
            trusted=networks(settings.server.trusted_proxies),
            version=VERSION,
        )
        server = HttpServer(
            settings=settings.server,
            intake=intake,
            channel=lambda name: http_channel(live, name),
            console=lambda: console_of(live),
            ready=health.check,
            admin=entered if settings.admin.enabled else (),
            metrics=lambda: rendered(metrics, queues, health, leases, senders),
            refused=lambda channel, code: metrics.request_refused(channel=channel, code=code),
        )

        def rescheduled() -> None:
            leases.tell(live.configuration.revision)
            retention.rescheduled()
            probe.rescheduled()

        placing = Placing(
            settings,
            rooms=rooms,
            mask=mask,
            store=store,
            memory=memory,
            live=live,
            intake=intake,
            metrics=metrics,
            tokenizers=tokenizers,
            rescheduled=rescheduled,
        )
        nudge = asyncio.Event()

        async def follow_settings(tasks: asyncio.TaskGroup) -> None:
            loading = layers.loader.load
            async with aclosing(watch(path, loading, current=configuration, nudge=nudge)) as changes:
                async for change in changes:
                    await follow_change(
                        change,
                        lambda changed: placing.put(changed, tasks),
                        not_in_force=layers.loader.not_in_force,
                        retry_s=settings.queue.poll_s,
                    )

        async with asyncio.TaskGroup() as tasks:
            await rooms.look()
            await humans.learn()
            await placing.put(configuration, tasks, first=True)
            await control.recover()
            lasting = [
                tasks.create_task(follow_settings(tasks), name="settings"),
                tasks.create_task(hear(storage.admin, nudge), name="revisions"),
                tasks.create_task(once(leases, "retention", retention.run), name="retention"),
                tasks.create_task(probe.run(), name="probe"),
                tasks.create_task(once(leases, "counts", catching_up.run), name="counts"),
                tasks.create_task(control.run(), name="edits"),
                tasks.create_task(control.follow(), name="what others left"),
                tasks.create_task(rooms.follow(), name="moved rooms"),
                tasks.create_task(humans.follow(), name="take-overs"),
                tasks.create_task(learner.run(), name="learning"),
                tasks.create_task(mover.run(), name="joined persons"),
                tasks.create_task(once(leases, "links", finisher.run), name="what others left of joining"),
                tasks.create_task(
                    once(leases, "erasures", lambda: eraser.run(look_s=BROKEN_OFF_S)), name="erasures that broke off"
                ),
                tasks.create_task(tail.run(), name="tail"),
                tasks.create_task(senders.run(), name="senders"),
                tasks.create_task(held_back.follow(), name="waits that platforms ask for"),
            ]
            counting = tasks.create_task(usage.meter.run(), name="usage")
            turns = tasks.create_task(lanes.run(), name="lanes")
            sending = tasks.create_task(delivery.run(), name="delivery")
            at_the_door = routes(acts, local_actor, version=VERSION)
            async with door(sqlite_path(settings.storage), eraser.erase, at_the_door), server.running() as port:
                announce(ready_line(settings, port=port, live=live))
                if embedding is not None:  # it loads for a second
                    lasting.append(tasks.create_task(embedding.run(), name="vectors"))
                lasting.append(tasks.create_task(look_once(health), name="first look"))
                await stop.wait()
                health.stopping = True
                # First of all: people write on, and another instance can hear them.
                await given_up(leases, {"channel", "job", "send"}, within_s=settings.database.timeout_s)
                tail.close()
                lanes.drain()
                await ended_within(turns, seconds=settings.server.stop_s)
                delivery.drain()
                await ended_within(sending, seconds=settings.queue.send_s)
            for task in lasting:
                task.cancel()
            # What they were asking models is counted, too.
            await asyncio.wait(lasting, timeout=settings.database.timeout_s)
            usage.meter.drain()
            await ended_within(counting, seconds=settings.database.timeout_s)
            await live.aclose()


async def ended_within(task: asyncio.Task[None], *, seconds: float) -> None:
    """Wait for a task that was asked to end; one that does not is cancelled. Its work is taken up at the next start."""
    _, pending = await asyncio.wait({task}, timeout=seconds)
    if pending:
        logger.warning("cancelled at the deadline", extra={"task": task.get_name(), "seconds": seconds})
        task.cancel()
        await asyncio.wait({task})


def make_adapter(
    name: str,
    settings: ChannelSettings,
    *,
    live: Live,
    explains: Explaining,
    remembers: MemoryOnPage,
    unasked: Mailbox,
    guesses: Guesses,
    shelf: Shelf,
    metrics: Metrics,
) -> Adapter:
    """Make a channel of the configured kind. Only who uses a platform pays for its SDK."""
    match settings:
        case ConsoleSettings():
            public_url = live.configuration.settings.server.public_url
            return ConsoleAdapter(
                name,
                settings=settings,
                explains=explains,
                remembers=remembers,
                unasked=unasked,
                guesses=guesses,
                public_url=public_url,
            )
        case SlackSettings():
            from adapters.slack.adapter import SlackAdapter

            return SlackAdapter(name, settings=settings, shelf=shelf)
        case TelegramSettings():
            from adapters.telegram.adapter import TelegramAdapter

            public_url = live.configuration.settings.server.public_url
            return TelegramAdapter(
                name,
                settings=settings,
                public_url=public_url,
                menu=menu(),
                left_behind=lambda: metrics.update_left_behind(channel=name),
            )
        case WebhookSettings():
            from adapters.webhook.adapter import WebhookAdapter

            return WebhookAdapter(
                name,
                settings=settings,
                members=lambda room, thread: members_of(live.configuration, name, room, thread),
            )
    raise ValueError(f"channel {name!r}: kind {settings.kind!r} has no adapter")


def manifest_of(
    configuration: Configuration, name: str, kind: str | None = None, mode: str | None = None
) -> dict[str, object] | None:
    """Return the manifest that a channel's app is made from on its platform; None: its kind has no such thing. `kind` and `mode`
    are those of a channel that is not there yet."""
    settings, public_url = configuration.settings.channels.get(name), configuration.settings.server.public_url
    if settings is None and kind == "slack":
        settings = SlackSettings(mode="socket" if mode == "socket" else "http", bot_token=SecretStr("xoxb-later"))
    if not isinstance(settings, SlackSettings):
        return None
    url = f"{public_url.rstrip('/')}/channels/{name}" if public_url is not None else None
    commands: dict[str, str] = {command: told["en"] for command, told in MENU.items()}
    return manifest(settings, app_name="Clew", url=url, commands=commands)


def menu() -> dict[str, dict[str, str]]:
    """Return what each command does, by language, for platforms that show a menu of them."""
    return {command: dict(told.items()) for command, told in MENU.items()}


def members_of(configuration: Configuration, name: str, room: str, thread: str | None) -> Sequence[str] | None:
    """Return who may name a group conversation of the channel; nobody, once the channel is removed."""
    if name not in configuration.settings.channels:
        return ()
    return configuration.effective(name, room, thread).allow.members


def console_of(live: Live) -> ConsoleAdapter | None:
    """Return the chat page's adapter, None if none is configured."""
    adapters = (live.adapter(name) for name in live.channels())
    return next((adapter for adapter in adapters if isinstance(adapter, ConsoleAdapter)), None)
