"""What gateways said to one Redis, said again to it and to a cluster: what it costs the servers, and who hears what is published.

One client says one command after the other, so all that differs is where it goes: a command with keys to the master that has
their slot, one without to each in turn.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import redis
from redis.client import PubSub
from redis.crc import key_slot
from redis.exceptions import ResponseError

from tests.bench.consumption import cpu_s
from tests.bench.scale.redis_said import Said, node_of
from tests.bench.tables import Cell, Table, spread
from tests.services import Valkey

TIMES = 10
IDLE_S = 2
ONE, THREE, SHARDED = "one server", "cluster, PUBLISH", "cluster, SPUBLISH"


@dataclass(frozen=True, slots=True)
class Command:
    """Words of a client's, and the keys that they name by the server's word."""

    said: Said
    keys: Sequence[bytes]

    @property
    def publishes(self) -> bool:
        return self.said.name == "PUBLISH"


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What saying it all again took: CPU of all servers and of the busiest; publishes that were answered by "nobody hears", and
    words that were heard all the same."""

    cpu_s: float
    busiest_s: float
    idle_ms: float  # a second, of all servers, when nothing is said
    unheard: int
    heard: int


class Nodes:
    """One server, or masters that share the slots among them."""

    def __init__(self, clients: Sequence[redis.Redis]) -> None:
        self.clients = clients
        self._turn = 0

    def of(self, keys: Sequence[bytes]) -> redis.Redis:
        """Return the one that has the first key; each in turn where there is none."""
        if keys and len(self.clients) > 1:
            return self.clients[node_of(key_slot(keys[0]))]
        self._turn += 1
        return self.clients[self._turn % len(self.clients)]


def say(client: redis.Redis, words: Sequence[bytes | int]) -> Any:
    """Say the words as they are; return the answer. Raises the client's errors."""
    return client.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py has no type for it


@contextmanager
def connected(servers: Sequence[Valkey], scripts: Sequence[Said]) -> Iterator[Nodes]:
    """Connect to all of them, and make scripts known to each, as a client does when it first calls one."""
    with ExitStack() as stack:
        clients = [stack.enter_context(redis.Redis.from_url(server.url, protocol=2)) for server in servers]
        for client in clients:
            for script in scripts:
                say(client, script.words)
        yield Nodes(clients)


def cpu_table(
    one: Valkey, cluster: Sequence[Valkey], commands: Sequence[Command], scripts: Sequence[Said],
    subscribed: Sequence[Sequence[bytes]], *, turns: int, rounds: int, by_gateways_s: float,
) -> Table:  # fmt: skip
    """Say the commands of so many turns again in each way, in turns. `subscribed`: the channels of each who hears."""
    taken: dict[str, list[Again]] = {ONE: [], THREE: [], SHARDED: []}
    for _ in range(rounds):
        for way, each in taken.items():
            servers = [one] if way is ONE else cluster
            each.append(_again(servers, commands, scripts, subscribed, sharded=way is SHARDED))
    said, published = turns * TIMES, sum(command.publishes for command in commands)
    single = statistics.median(again.cpu_s for again in taken[ONE])
    a_turn: list[Cell] = [len(commands) / turns, published / turns]
    rows: list[list[Cell]] = [
        [
            way, *a_turn, spread([again.cpu_s * 1000 / said for again in each]),
            statistics.median(again.cpu_s for again in each) / single,
            statistics.median(again.busiest_s for again in each) / single,
            statistics.median(again.idle_ms for again in each),
            f"{statistics.median(again.unheard for again in each) / max(1, TIMES * published):.0%}",
            statistics.median(again.heard for again in each) / said,
        ]
        for way, each in taken.items()
    ]  # fmt: skip
    rows.append(["one server, by the gateways themselves", *a_turn, by_gateways_s * 1000 / turns, *[None] * 5])
    return Table(
        title=f"Redis Cluster: Redis' CPU a turn, the same said again {TIMES} times (median of {rounds} [least..most])",
        columns=(
            "to", "commands a turn", "publishes a turn", "Redis' CPU ms a turn, all nodes", "x of one server",
            "the busiest node's, x of one server", "idle: CPU ms a second, all nodes",
            "publishes answered by “nobody hears”", "words heard a turn",
        ),
        rows=rows,
        notes=(
            f"By one client, one command after the other; {len(subscribed)} hear what the gateways heard, at a master each.",
            "A cluster's PUBLISH goes to all nodes, and its answer counts who hears at the node that was asked.",
        ),
        raw={way: [asdict(again) for again in each] for way, each in taken.items()},
    )  # fmt: skip


def _again(
    servers: Sequence[Valkey], commands: Sequence[Command], scripts: Sequence[Said],
    subscribed: Sequence[Sequence[bytes]], *, sharded: bool,
) -> Again:  # fmt: skip
    pids = [pid_of(server) for server in servers]
    unheard = heard = 0
    with connected(servers, scripts) as nodes, ExitStack() as stack:
        hearers = []
        for number, channels in enumerate(subscribed):
            for client, of in _places(nodes, channels, number, sharded=sharded):
                hearer: PubSub = stack.enter_context(client.pubsub())  # type: ignore[no-untyped-call]
                for channel in of:  # one by one: they are of different slots
                    (hearer.ssubscribe if sharded else hearer.subscribe)(channel)
                hearers.append(hearer)
        idle = cpu_s(*pids)
        time.sleep(IDLE_S)
        idle = cpu_s(*pids) - idle
        used = [cpu_s(pid) for pid in pids]
        for _ in range(TIMES):
            for command in commands:
                words = command.said.words
                if command.publishes and sharded:
                    answer = say(nodes.of([words[1]]), (b"SPUBLISH", *words[1:]))
                else:
                    answer = _answer(nodes.of(command.keys), words)
                unheard += command.publishes and answer == 0
            heard += sum(map(_drained, hearers))
        each = [cpu_s(pid) - was for pid, was in zip(pids, used, strict=True)]
    return Again(
        cpu_s=sum(each), busiest_s=max(each), idle_ms=idle * 1000 / IDLE_S, unheard=unheard, heard=heard
    )  # fmt: skip


def _answer(client: redis.Redis, words: Sequence[bytes]) -> Any:
    try:
        return say(client, words)
    except ResponseError:  # which ones, and why, is another table
        return None


def _places(
    nodes: Nodes, channels: Sequence[bytes], number: int, *, sharded: bool
) -> Iterator[tuple[redis.Redis, Sequence[bytes]]]:
    """Give where a hearer connects, and for which channels: one master for all, or each that has some."""
    if not sharded:
        yield nodes.clients[number % len(nodes.clients)], channels
        return
    for client in nodes.clients:
        if there := [channel for channel in channels if nodes.of([channel]) is client]:
            yield client, there


def _drained(hearer: PubSub) -> int:
    """Return how many words have come in."""
    count = 0
    while (word := hearer.get_message(timeout=0.2)) is not None:
        count += word["type"] in ("message", "smessage")
    return count


def pid_of(server: Valkey) -> int:
    assert server.process is not None
    return server.process.pid
