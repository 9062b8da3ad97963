"""The instruments of `make bench-scale` on small measure: what they count is what there is. The figures are in
tests/bench/README.md."""

from __future__ import annotations

import asyncio
import json
import math
import random

import psycopg
import pytest

from memory.key import ConversationKey
from tests.bench.core import opened
from tests.bench.scale.cluster import helper
from tests.bench.scale.driver import Load, signed
from tests.bench.scale.filler import Talk, fill, session_of
from tests.bench.scale.flat import QUESTION
from tests.bench.scale.inside import held
from tests.bench.scale.processes import bound_by
from tests.bench.scale.queue import Queue, inboxes
from tests.bench.scale.slopes import slope_of, verdict
from tests.bench.slack_load import load, sink
from tests.bench.tables import Table, shown, spread
from tests.bench.turns import started
from tests.contracts.columns import PostgresColumn
from tests.services import as_admin

KEY = ConversationKey(user="me", channel="web", room="r", thread=None, chat_type="private", agent="a")


def test_a_table_is_markdown() -> None:
    table = Table(title="t", columns=("a", "b"), rows=[["x", 1234], [0.12345, None]], notes=("note",))

    assert ["### t", "", "| a | b |", "| --- | --- |", "| x | 1,234 |", "| 0.123 | - |", "", "note"] == (
        table.text().splitlines()
    )
    assert ["1,235", "12.3", "1.23"] == [shown(one) for one in (1234.6, 12.34, 1.234)]
    assert "2 [1..30.0]" == spread([30, 1, 2])


def test_what_is_used_up_is_what_binds() -> None:
    assert "a gateway's one core" == bound_by({"a gateway's one core": 0.95, "the driver's": 0.1}, 2.0, ours=1.9)
    assert bound_by({"a gateway's one core": 0.5}, 0.1, ours=0.1).startswith("waits")


@pytest.mark.parametrize(
    ("an_hour", "noise", "said"),
    [(0, 0.5, "stays"), (200, 0.5, "grows"), (3, 0.05, "grows, by less than 2 %"), (0, 60, "cannot be told")],
)
def test_a_slope_is_told_from_wavering(an_hour: float, noise: float, said: str) -> None:
    """Growth is called so only where it is more than chance, and "stays" only where growth would have been seen."""
    rng = random.Random(3)
    hours = [n / 360 for n in range(120)]
    values = [100 + an_hour * at + rng.gauss(0, noise) for at in hours]

    slope, spread = slope_of(hours, values)

    assert an_hour == pytest.approx(slope, abs=2 * spread)
    assert verdict(slope, spread, values, span=hours[-1]).startswith(said), (slope, spread)


def test_two_samples_tell_no_slope() -> None:
    assert (0, math.inf) == slope_of([0, 1], [1, 5])


class Keeper:
    """Somebody who never lets go."""

    def __init__(self) -> None:
        self.kept = {number: str(number) for number in range(400_000)}


def test_a_map_that_grows_is_named_by_its_holder() -> None:
    keeper = Keeper()

    told = held(tasks=3)

    assert 400_000 == told.containers[f"dict {__name__}.Keeper.kept"] == len(keeper.kept)
    assert 3 == told.tasks
    assert sum(told.types.values()) <= told.objects


def test_some_messages_are_of_people_who_never_wrote_before() -> None:
    load = Load(urls=[], turns=10, in_flight=1, conversations=2, name="n", newcomers=5)

    people = [json.loads(signed(load, number)[0])["conversation"] for number in range(10)]

    assert ["n-new-0", "n-1", "n-0", "n-1", "n-0", "n-new-5", "n-0", "n-1", "n-0", "n-1"] == people


@pytest.mark.parametrize("name", ["limit", "edge", "core"])
async def test_each_subject_beside_bolt_answers_in_the_thread(name: str, postgres_url: str) -> None:
    """What a figure compares is a process of its own that nothing else starts: it must still run."""
    async with sink() as there, started("tests.bench.slack_subjects", name, there.url, postgres_url) as (url, pid):
        spent = await load(there, url, pid, first=0, in_flight=2, turns=4, server_s=lambda: 0.0, settled=_nothing)

    assert (4, 0) == (len(spent.times_ms), spent.lost)


async def _nothing() -> None:
    return None


async def test_round_trips_are_counted_on_the_wire(postgres_url: str) -> None:
    """Three statements one behind the other are three; sent together they are one."""
    port = postgres_url.rpartition(":")[2].partition("/")[0]
    async with helper("tests.bench.scale.wire", port) as wire:
        far = postgres_url.replace(f":{port}/", f":{await wire.line()}/")
        async with await psycopg.AsyncConnection.connect(far, autocommit=True) as db:
            await db.execute("SELECT 1")
            await wire.told("")
            for _ in range(3):
                await db.execute("SELECT 1")
            apart = await wire.told("")
            await db.execute("SELECT 1; SELECT 1; SELECT 1")
            together = await wire.told("")

    assert ("3", "1") == (apart, together)


async def test_every_message_of_a_queue_begins_in_order(postgres_url: str) -> None:
    async with inboxes(2, postgres_url) as opened_:
        queue = Queue(opened_, slow="slow", slow_s=0.01)
        async with queue.running():
            ids = await asyncio.gather(*(queue.put("slow" if n % 10 == 0 else f"lane-{n % 3}") for n in range(60)))
            await queue.began(60)

    assert set(ids) == queue.started_at.keys()
    assert all(lane == sorted(lane) for lane in queue.order.values())


async def test_a_filled_database_goes_on_as_if_it_had_been_written_turn_by_turn(postgres_url: str) -> None:
    """The window holds the filler's last messages, recall finds older ones by their words, and the turn is stored behind them."""
    async with opened(PostgresColumn(postgres_url)) as core:
        talk = Talk(KEY, 10**15, await core.person("me"), 60)
        fill(postgres_url, [talk], others=200)

        prepared = await core.say(talk.key, QUESTION, person=talk.person_id)

        loaded = prepared.inputs.loaded
        assert session_of(talk) == prepared.session_id
        assert {talk.scope_id} == {message.scope_id for message in loaded.window}
        assert loaded.hits
    with psycopg.connect(as_admin(postgres_url)) as db:
        counted = db.execute("SELECT count(*), count(*) FILTER (WHERE scope_id = %s) FROM messages", (talk.scope_id,))
        assert (262, 62) == counted.fetchall()[0]
