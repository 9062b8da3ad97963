"""A Redis Cluster: what two gateways say to one Redis, heard there, and said again to a real cluster of three masters.

By a client that goes where a command's keys are, as one made for clusters does, and by one that knows a single node, as ours is:
what fails, and why. Then what it costs (`redis_again.py`), and what becomes of gateways that are led to a node of the cluster.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import redis
from redis.crc import key_slot
from redis.exceptions import ClusterCrossSlotError, MovedError, NoScriptError, ResponseError

from memory.people import Traces
from tests.bench.consumption import cpu_s
from tests.bench.scale.cluster import admin, config_in, gateways, helper, model
from tests.bench.scale.redis_again import Command, Nodes, connected, cpu_table, pid_of, say
from tests.bench.scale.redis_said import Heard, Said, listening, running_cluster
from tests.bench.scale.turn_cost import cost
from tests.bench.servers import counting_postgres
from tests.bench.tables import Cell, Table
from tests.scenarios.world import Gateway, command
from tests.services import Valkey, running_valkey

A_CONVERSATION, IN_FLIGHT = 20, 10
"""Turns of a conversation, as many as fill a window worth keeping; fewer in flight than there are conversations, so that each
message is a turn of its own."""
WINDOW = "memory: {window: {turns: 100, messages: 200}, summary: {start_turns: 101}}"
"""Long enough to be kept in Redis: the windows of the default settings are not."""

A_TURN, ERASURE, AGAIN = "a turn", "an erasure", "an erasure taken up again"
SETTING_UP = frozenset(
    {"HELLO", "AUTH", "SELECT", "ECHO", "MONITOR", "PING", "QUIT", "INFO", "SUBSCRIBE", "UNSUBSCRIBE"}
)
"""Of a connection, not of a turn."""

_WORDS = {MovedError: "MOVED", ClusterCrossSlotError: "CROSSSLOT", NoScriptError: "NOSCRIPT"}


@dataclass(slots=True)
class Outcome:
    """How the commands of one name went: how many, the most keys and slots that one of them named, how many named several slots;
    by the server's word those that failed, sent where their keys are, and all sent to one node."""

    times: int = 0
    keys: int = 0
    slots: int = 0
    several: int = 0
    routed: Counter[str] = field(default_factory=Counter)
    at_one: Counter[str] = field(default_factory=Counter)


async def on_a_redis_cluster(turns: int, rounds: int) -> AsyncIterator[Table]:
    """Yield what names which slots and fails, what it costs Redis, and what becomes of gateways that are led to a cluster."""
    conversations = max(2, turns // A_CONVERSATION)
    with counting_postgres() as server, running_valkey() as valkey:
        async with model() as (url, _), helper("tests.bench.scale.driver") as driver:

            async def load(running: Sequence[Gateway], storage: str) -> int:
                went = await cost(
                    running, [(server, storage)], driver, turns=turns, conversations=conversations,
                    in_flight=min(IN_FLIGHT, conversations),
                )  # fmt: skip
                return went.lost

            done = turns + max(1, turns // 10)
            with server.database() as storage:
                async with listening(valkey) as heard:
                    async with gateways(2, storages=storage, model_url=url, more=WINDOW, redis=valkey.url) as running:
                        start = await heard.until_now()
                        lost = await load(running, storage)
                        of_turns = await heard.until_now()
                        subscribed = _subscribed(valkey, [*start, *of_turns])
                    phases = {A_TURN: of_turns, **await _erased(heard, storage, url, valkey)}
                async with gateways(2, storages=storage, model_url=url, more=WINDOW, redis=valkey.url) as running:
                    used = cpu_s(pid_of(valkey))
                    lost += await load(running, storage)
                    used = cpu_s(pid_of(valkey)) - used
                    logged = _logged(running)
            scripts = [one for one in [*start, *of_turns] if one.name == "SCRIPT LOAD"]
            with redis.Redis.from_url(valkey.url) as asked:
                commands = {
                    phase: [Command(one, _keys(asked, one)) for one in said if _of_a_turn(one)]
                    for phase, said in phases.items()
                }
            with running_cluster() as nodes:
                yield _names_table(nodes, commands, scripts, done)
                yield cpu_table(
                    valkey, nodes, commands[A_TURN], scripts, subscribed, turns=done, rounds=rounds, by_gateways_s=used
                )
                with server.database() as storage:
                    async with gateways(2, storages=storage, model_url=url, more=WINDOW, redis=nodes[0].url) as running:
                        lost_there = await load(running, storage)
                        yield _led_table(done, lost=(lost, lost_there), logged=(logged, _logged(running)))


async def _erased(heard: Heard, storage: str, model_url: str, valkey: Valkey) -> dict[str, list[Said]]:
    """Erase one person, and another whose erasure has broken off; return what either says."""
    with admin(storage) as db:
        ((one,), (other,)) = db.execute("SELECT id FROM persons ORDER BY id LIMIT 2").fetchall()
        db.execute("UPDATE persons SET erasing = %s WHERE id = %s", (msgspec.json.encode(Traces()).decode(), other))
    phases = {}
    with TemporaryDirectory(prefix="clew-bench-") as folder:
        config = config_in(Path(folder), model_url, more=WINDOW, redis=valkey.url)
        for name, person in ((ERASURE, one), (AGAIN, other)):
            ended = await command("people", "erase", str(person), "--config", config, STORAGE=storage)
            assert ended[0] == 0, ended
            phases[name] = await heard.until_now()
    return phases


def _subscribed(valkey: Valkey, said: Sequence[Said]) -> list[list[bytes]]:
    """Return the channels of each client that hears some now."""
    with redis.Redis.from_url(valkey.url) as client:
        living = {str(one["addr"]) for one in client.client_list(_type="pubsub")}
    channels: dict[str, list[bytes]] = defaultdict(list)
    for one in said:
        if one.name == "SUBSCRIBE" and one.client in living:
            channels[one.client] += [word for word in one.words[1:] if word not in channels[one.client]]
    return list(channels.values())


def _names_table(
    servers: Sequence[Valkey], commands: dict[str, list[Command]], scripts: Sequence[Said], turns: int
) -> Table:
    outcomes: dict[tuple[str, str], Outcome] = defaultdict(Outcome)
    found: list[str] = []
    with connected(servers, scripts) as nodes:
        for phase, each in commands.items():
            for one in each:
                slots = {key_slot(key) for key in one.keys}
                outcome = outcomes[phase, one.said.name]
                outcome.times += 1
                outcome.keys, outcome.slots = max(outcome.keys, len(one.keys)), max(outcome.slots, len(slots))
                outcome.several += len(slots) > 1
                if one.said.name == "SCAN":
                    found.append(_scanned(nodes, one.said))
                for client, failed in ((nodes.of(one.keys), outcome.routed), (nodes.clients[0], outcome.at_one)):
                    if (fault := _fault(client, one.said)) is not None:
                        failed[fault] += 1
    return Table(
        title=f"Redis Cluster: what two gateways said in {turns:,} turns, said again to three masters",
        columns=(
            "of", "command", "times", "most keys", "most slots", "of several slots", "failed, sent where its keys are",
            "failed, all sent to one node",
        ),
        rows=[
            [
                phase, name, one.times / turns if phase == A_TURN else one.times, one.keys, one.slots, one.several,
                _told(one.routed, one.times), _told(one.at_one, one.times),
            ]
            for (phase, name), one in outcomes.items()
        ],
        notes=(
            f"Times: of turns, a turn. Windows of 100 turns, which Redis keeps, as it keeps none of the default settings'; "
            f"{A_CONVERSATION} turns a conversation.",
            f"Which keys a command names, the server says (COMMAND GETKEYS). {' '.join(found)}",
        ),
    )  # fmt: skip


def _logged(running: Sequence[Gateway]) -> Counter[str]:
    """Return what the gateways have logged about Redis, and how often."""
    return Counter(_event(line) for one in running for line in one.log if re.search("redis|Redis|Moved|words", line))


def _led_table(turns: int, *, lost: tuple[int, int], logged: tuple[Counter[str], Counter[str]]) -> Table:
    events = [event for event, _ in (logged[0] + logged[1]).most_common(6)]
    rows: list[list[Cell]] = [["turns not answered (of twice as many with one server)", *lost]]
    rows += [[f"logged: {event}", *(each[event] for each in logged)] for event in events]
    return Table(
        title=f"Redis Cluster: two gateways of today whose `redis` names one of its nodes, {turns:,} turns",
        columns=("what", "one server", "a node of the cluster"),
        rows=rows,
    )


def _scanned(nodes: Nodes, scan: Said) -> str:
    here, *others = [sum(1 for _ in client.scan_iter(match=scan.words[3], count=1000)) for client in nodes.clients]
    return f"SCAN at one node names {here} of the {here + sum(others)} windows that the cluster keeps."


def _event(line: str) -> str:
    try:
        told = msgspec.json.decode(line, type=dict[str, object])
    except msgspec.MsgspecError:
        return line[:100].replace("|", "¦")
    return " · ".join(str(told[name])[:60] for name in ("event", "reason", "error") if name in told)


def _keys(client: redis.Redis, said: Said) -> list[bytes]:
    try:
        return [bytes(key) for key in say(client, (b"COMMAND", b"GETKEYS", *said.words))]
    except ResponseError:  # it has none
        return []


def _fault(client: redis.Redis, said: Said) -> str | None:
    """Say the command; return the server's word for why it failed."""
    try:
        say(client, said.words)
    except ResponseError as exc:
        return _WORDS.get(type(exc), str(exc).split()[0])
    return None


def _of_a_turn(said: Said) -> bool:
    return said.name not in SETTING_UP and not said.name.startswith(("CLIENT", "SCRIPT"))


def _told(failed: Counter[str], times: int) -> str:
    return ", ".join(f"{number:,} of {times:,} {word}" for word, number in failed.most_common()) or "none"
