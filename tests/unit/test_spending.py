"""From calls to what they cost: whose they are, and what is counted where a service tells nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import tzinfo
from functools import partial
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.settings import Settings
from gateway.admin.database import Database
from gateway.agent import Caller, Usage
from gateway.usage.entries import EMBEDDER, Cause, Entry, Tokens, call, message
from gateway.usage.meter import Meter
from gateway.usage.reports import UsageReports, Wanted
from gateway.usage.rows import Purpose, UsageRows
from gateway.usage.spending import Spending, cause_of, cause_of_ledger
from memory.base import Call, Frame
from memory.ids import Ids
from memory.models import Asker
from memory.tokens import estimate
from tests.contracts.admin_database import open_admin_database
from tests.contracts.store import ledger
from tests.unit.test_usage import NOON, PRICES, UTC

ADA = Caller(
    channel="shop",
    kind="webhook",
    tenant="t",
    account="ada",
    person_id=7,
    chat_type="group",
    room="客服 1",
    thread="9",
    language="zh",
)
WORDS = "一二三 four five 👩‍👩‍👧"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_admin_database(f"sqlite:///{tmp_path / 'usage.db'}") as opened:
        yield opened


class World:
    def __init__(self, rows: UsageRows) -> None:
        self.noted: list[Entry] = []
        self.dropped = 0
        self.meter = Meter(
            rows, fresh_s=None, zone=lambda: UTC, read_s=lambda: 5, counted=self.noted.append, dropped=self.drop
        )
        prices = Settings(prices=PRICES).prices
        self.spending = Spending(self.meter, ids=Ids(2), prices=lambda: prices, clock_ms=lambda: NOON)

    def drop(self, count: int) -> None:
        self.dropped += count

    def told(self) -> list[tuple[str, int, int, int, bool, bool, int | None]]:
        return [
            (one.purpose, one.prompt, one.cached, one.completion, one.estimated, one.failed, one.money)
            for one in self.noted
        ]


@pytest.fixture
def world(database: Database) -> World:
    return World(UsageRows(database))


@pytest.mark.parametrize(
    ("ended", "text", "told"),
    [
        (Call(agent="a", model="mini", ms=1, prompt=100, completion=20, cached=60), WORDS, (100, 60, 20, False, False, 52)),
        (Call(agent="a", model="mini", ms=1, finish="stop"), WORDS, (90, 0, estimate(WORDS), True, False, None)),
        (Call(agent="a", model="mini", ms=1), "", (90, 0, 0, True, False, None)),  # stopped before the first word
        (Call(agent="a", model="mini", ms=1, code="agent_broken"), WORDS, (90, 0, estimate(WORDS), True, True, None)),
        (Call(agent="a", model="mini", ms=1, code="agent_unavailable"), "", (0, 0, 0, False, True, 0)),
    ],
    ids=["reported", "not reported", "stopped", "broken off", "failed"],
)  # fmt: skip
async def test_what_a_call_counts_as(
    world: World, ended: Call, text: str, told: tuple[int, int, int, bool, bool, int | None]
) -> None:
    """As its service tells; else by the prompt that it was sent and the words that came, as whoever stops every answer would pay
    for none; in every script (langchain-ai/langchainjs#11304)."""
    counted = world.spending.answered(ended, turn_id=5, caller=ADA, prompt_tokens=90, text=text)

    assert world.noted[0].id == counted.id
    (one,) = world.told()
    money = told[-1] if told[-1] is not None else round(90 * 0.25 + told[2] * 2)
    assert ("answer", *told[:-1], money) == one
    assert (5, "shop", "客服 1", 7) == (
        world.noted[0].turn_id,
        world.noted[0].channel,
        world.noted[0].room,
        world.noted[0].person,
    )


async def test_where_no_model_answers_nothing_is_spent(world: World) -> None:
    """Only messages count of the demo agent."""
    demo = Call(agent="demo", ms=1)
    assert demo == world.spending.answered(demo, turn_id=5, caller=ADA, prompt_tokens=90, text=WORDS)
    world.spending.answering([5, 6], caller=ADA, agent="demo")
    world.spending.answering([5], caller=ADA, agent="demo")  # its turn began again

    assert ["message", "message"] == [one.purpose for one in world.noted]


@pytest.mark.parametrize(
    ("usage", "text", "failed", "told"),
    [
        (Usage(prompt=100, completion=20), WORDS, False, (100, 20, False)),
        (None, WORDS, False, (estimate("asked"), estimate(WORDS), True)),
        (None, "", True, (0, 0, False)),
        (None, WORDS, True, (estimate("asked"), estimate(WORDS), True)),
    ],
)
async def test_what_memory_asks_counts_for_its_conversation(
    world: World, usage: Usage | None, text: str, told: tuple[int, int, bool], *, failed: bool
) -> None:
    """With the person and room of the turn that it learns from: nobody is to be surprised by it (getzep/graphiti#467)."""
    of = ledger(50, 5, person_id=7, frame=Frame(channel="shop", conversation="客服/9", chat_type="group"))
    world.spending.remembered(usage, ledger=of, agent="small", model="mini", prompt="asked", text=text, failed=failed)

    (one,) = world.noted
    assert (*told, failed) == (one.prompt, one.completion, one.estimated, one.failed)
    assert ("memory", 50, "shop", "客服", 7, "small") == (
        one.purpose, one.turn_id, one.channel, one.room, one.person, one.agent,
    )  # fmt: skip


async def test_the_embedder_is_paid_by_those_whose_words_it_got(world: World) -> None:
    """Each turn its share of the tokens, to the last of them; with the person and place whose words they are, in every script.
    What is known of a person wherever it was said is of no channel."""
    ada = Asker(turn_id=5, person_id=7, channel="shop", conversation="客服/9", chat_type="group")
    item = Asker(person_id=8)
    texts = [
        (ada, WORDS),
        (item, "likes tea"),
        (ada, "one more"),
        (Asker(turn_id=6, person_id=7, channel="shop"), "hm"),
    ]

    world.spending.embedded("mini", texts, 1001)

    assert 1001 == sum(one.prompt for one in world.noted)
    assert [(5, "shop", "客服", 7), (0, "", "", 8), (6, "shop", "", 7)] == [
        (one.turn_id, one.channel, one.room, one.person) for one in world.noted
    ]
    assert {("memory", EMBEDDER, "mini", False)} == {
        (one.purpose, one.agent, one.model, one.estimated) for one in world.noted
    }
    assert all(one.prompt > 0 for one in world.noted)
    assert len({one.id for one in world.noted}) == 3


async def test_what_an_embedder_does_not_tell_is_estimated(world: World) -> None:
    """Text by text; a model without a price costs nobody knows what."""
    world.spending.embedded("unknown", [(Asker(turn_id=5), WORDS)], None)
    world.spending.embedded("mini", [], None)

    assert [("memory", estimate(WORDS), 0, 0, True, False, None)] == world.told()


async def test_many_small_texts_cost_what_they_cost_together(world: World) -> None:
    """A question of ten tokens at 0.02 a million is a fifth of a millionth: rounded each for itself, they would all be free."""
    for _ in range(1000):
        world.spending.embedded("tiny", [(Asker(turn_id=5), "a question"), (Asker(turn_id=6), "another")], 10)

    assert 1000 * 10 * 2 // 100 == sum(one.money or 0 for one in world.noted)


async def test_the_probe_is_paid_by_its_channel_and_agent(world: World) -> None:
    """It is nobody's; where no model answers it costs nothing."""
    nobody = msgspec.structs.replace(ADA, person_id=None, chat_type="private")
    spent = partial(world.spending.probed, turn_id=5, caller=nobody, agent="helper", prompt="ping", failed=False)
    spent(Usage(prompt=100, completion=2), model="mini", text="pong")
    spent(None, model="mini", text="pong")
    spent(None, model="", text="pong")

    assert [("probe", 100, 2, False), ("probe", estimate("ping"), estimate("pong"), True)] == [
        (one.purpose, one.prompt, one.completion, one.estimated) for one in world.noted
    ]
    assert {("shop", "", 0, "helper")} == {(one.channel, one.room, one.person, one.agent) for one in world.noted}


def test_private_talk_is_the_persons_alone() -> None:
    """Its room names somebody, too: it is not kept. Whom nobody vouches for is nobody."""
    private = Caller(
        **{name: getattr(ADA, name) for name in ADA.__struct_fields__} | {"chat_type": "private", "person_id": None}
    )
    of = ledger(50, 5, person_id=None, frame=Frame(channel="shop", conversation="ada", chat_type="private"))

    assert Cause(channel="shop", room="", person=0) == cause_of(private) == cause_of_ledger(of)
    assert Cause(channel="", room="", person=7) == cause_of_ledger(ledger(50, 5, person_id=7, frame=Frame()))


class Broken(UsageRows):
    """Rows that refuse every entry of a room."""

    async def write(self, entries: Sequence[Entry], where: tzinfo) -> set[tuple[int, Purpose]]:
        if any(entry.room == "bad" for entry in entries):
            raise ValueError("refused")
        return await super().write(entries, where)


async def test_what_nobody_can_write_holds_up_nothing(database: Database) -> None:
    """It is dropped, in sight, and the gateway runs on."""
    there = World(Broken(database))
    there.meter.note(message(1, cause=Cause(channel="c", room="bad", person=0), agent="a", at_ms=NOON))
    running = asyncio.create_task(there.meter.run())
    there.meter.drain()
    async with asyncio.timeout(5):
        await running

    assert (1, 0) == (there.dropped, there.meter.waiting)


TOKENS = st.builds(Tokens, prompt=st.integers(0, 10**6), completion=st.integers(0, 10**6), cached=st.integers(0, 10**6))
TURNS = st.lists(
    st.tuples(
        st.sampled_from(["shop", "客服"]),
        st.sampled_from(["", "r", "👩‍👩‍👧"]),
        st.integers(0, 3),
        st.sampled_from(["mini", "free", "unknown"]),
        TOKENS,
        st.integers(0, 3),  # days ago
        st.integers(1, 3),  # how often it is noted
    ),
    max_size=60,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TURNS)
async def test_the_sum_of_all_rows_is_that_of_all_turns(
    tmp_path: Path, turns: list[tuple[str, str, int, str, Tokens, int, int]]
) -> None:
    """By whatever it is grouped, however often each turn is noted, in whatever pieces, and also when a person is erased."""
    ids, prices = Ids(4), PRICES
    async with open_admin_database("sqlite:///" + str(tmp_path / f"{ids.next()}.db")) as database:
        rows, reports = UsageRows(database), UsageReports(database)
        entries = []
        for channel, room, person, model, tokens, back, times in turns:
            turn, cause = ids.next(), Cause(channel=channel, room=room, person=person)
            at_ms = NOON - back * 86_400_000
            said = message(turn, cause=cause, agent="a", at_ms=at_ms)
            made = call(turn, "answer", turn_id=turn, cause=cause, agent="a", model=model, tokens=tokens, failed=False,
                        at_ms=at_ms, prices=prices)  # fmt: skip
            entries += [(said, times), (made, times)]
        for again in (1, 2, 3):
            batch = [one for one, times in entries if times >= again]
            for start in range(0, len(batch), 7):
                await rows.write(batch[start : start + 7], UTC)
        await rows.erase(2)

        wanted = Wanted("2026-11-01", "2026-11-30", None)
        total = await reports.total(wanted)
        groups = [
            await reports.summary(wanted, by, offset=0, limit=200)
            for by in ("channel", "room", "person", "model", "day")
        ]

    unique = [one for one, _ in entries]
    sums = (
        sum(one.messages for one in unique),
        sum(one.prompt for one in unique),
        sum(one.completion for one in unique),
        sum(one.money or 0 for one in unique),
        sum(one.unpriced for one in unique),
    )
    assert sums == (total.messages, total.prompt, total.completion, total.money, total.unpriced)
    for found in groups:
        assert sums == (
            sum(one.messages for one in found),
            sum(one.prompt for one in found),
            sum(one.completion for one in found),
            sum(one.money for one in found),
            sum(one.unpriced for one in found),
        )
    assert 2 not in {one.key[0] for one in groups[2]}
