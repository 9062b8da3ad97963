"""What admins are told of what was spent, on both databases: rightly summed, within what each may see, the same at every door."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from config.loader import Configuration, load
from gateway.admin.acts import usage as acts
from gateway.admin.operations import Acting, AuditOutcome, Invalid, Missing, Refused, Service, Stream
from gateway.admin.quotas import QuotaActs
from gateway.admin.rights import Actor, Grant, Role
from gateway.admin.usage import UsageActs
from gateway.usage.entries import Entry, money_text
from gateway.usage.reports import UsageReports
from gateway.usage.rows import UsageRows
from memory.base import Identity
from memory.derived import FullStore
from memory.links import Linked
from tests.contracts.admin_database import URLS, open_admin_database
from tests.contracts.browsing import spoken
from tests.contracts.columns import COLUMNS
from tests.unit.test_usage import NOON, UTC, called, said

DAY_MS = 86_400_000

SETTINGS = """
prices: {currency: EUR, models: {mini: {input: 0.25, output: 2}}}
agents:
  helper: {kind: demo, quota: {tokens: {day: 4000}}}
defaults: {agent: helper, quota: {soft: 0.5, person: {messages: {day: 4}}}}
channels:
  console: {kind: console}
  shop:
    kind: webhook
    secrets: [whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=]
    quota: {channel: {money: {month: 0.001}}, room: {messages: {day: 10}}}
    rooms: {客服: {quota: {room: {messages: {day: 2}}}}}
"""


class Audited:
    """Keeps what the log would be told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, AuditOutcome]] = []

    async def write(self, acting: Acting, *, outcome: AuditOutcome) -> None:
        self.told.append((acting.operation.name, outcome))


class House:
    def __init__(self, rows: UsageRows, reports: UsageReports, store: FullStore, configuration: Configuration) -> None:
        self.rows, self.reports, self.store, self.audit = rows, reports, store, Audited()
        made = UsageActs(
            reports=reports, configuration=lambda: configuration, persons=store.persons, clock=lambda: NOON
        )
        quotas = QuotaActs(reports=reports, configuration=lambda: configuration, clock=lambda: NOON)
        self.service = Service(made.handlers(), quotas.handlers(), audit=self.audit)

    async def ask(self, operation: Any, actor: Actor | None = None, **fields: Any) -> Any:
        request = operation.request(**fields)
        return await self.service.perform(actor or actor_of("admin"), operation, request)


def actor_of(role: Role, channel: str | None = None) -> Actor:
    return Actor(id="user:1", name="Ada", grants=(Grant(role=role, channel=channel),), door="api")


@pytest.fixture(params=URLS)
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    (tmp_path / "my.yaml").write_text(SETTINGS, "utf-8")
    async with (
        open_admin_database(URLS[request.param](request)) as database,
        COLUMNS["sqlite"](request).open() as store,
    ):
        yield House(UsageRows(database), UsageReports(database), store, load(tmp_path / "my.yaml", {}))


def at(entry: Entry, **fields: Any) -> Entry:
    return msgspec.structs.replace(entry, **fields)


@pytest.fixture
async def spent(house: House) -> House:
    """Three days of two channels: what person 7 said in a group, what 8 said in private, and a call without a price."""
    await house.rows.write(
        [
            said(1),
            at(called(2, 2000), turn_id=1),
            said(3, at_ms=NOON - DAY_MS),
            at(called(4, 1000, at_ms=NOON - DAY_MS), purpose="memory"),
            at(said(5, at_ms=NOON - 2 * DAY_MS), channel="console", room="", person=8),
            at(
                called(6, 50, at_ms=NOON - 2 * DAY_MS),
                channel="console",
                room="",
                person=8,
                model="other",
                money=None,
                turn_id=5,
            ),
            at(said(7, at_ms=NOON - 40 * DAY_MS), person=0),
        ],
        UTC,
    )
    return house


BY: list[tuple[str, list[tuple[str, str | None, int, int, str | None]]]] = [
    ("channel", [("shop", None, 2, 3000, "0.000750"), ("console", None, 1, 50, None)]),
    ("room", [("客服 👩‍👩‍👧", "shop", 2, 3000, "0.000750"), ("", "console", 1, 50, None)]),
    ("person", [("7", None, 2, 3000, "0.000750"), ("8", None, 1, 50, None)]),
    ("agent", [("helper", None, 3, 3050, "0.000750")]),
    ("model", [("mini", None, 0, 3000, "0.000750"), ("other", None, 0, 50, None), ("", None, 3, 0, "0.000000")]),
    ("purpose", [("answer", None, 3, 2050, "0.000500"), ("memory", None, 0, 1000, "0.000250")]),
    (
        "day",
        [
            ("2026-11-28", None, 1, 50, None),
            ("2026-11-29", None, 1, 1000, "0.000250"),
            ("2026-11-30", None, 1, 2000, "0.000500"),
        ],
    ),
]


@pytest.mark.parametrize(("by", "lines"), BY, ids=[by for by, _ in BY])
async def test_what_was_spent_by_whom(spent: House, by: str, lines: list[tuple[object, ...]]) -> None:
    """This month, the dearest first; what has no price is unknown, not nothing."""
    told = await spent.ask(acts.SUMMARY, by=by)

    assert lines == [(one.key, one.channel, one.messages, one.prompt_tokens, one.money) for one in told.lines]
    assert ("EUR", "2026-11-01", "2026-11-30") == (told.currency, told.since, told.until)
    assert (3, 3, 1, "0.000750") == (told.total.messages, told.total.calls, told.total.unpriced, told.total.money)
    assert [] == spent.audit.told


async def test_pages_are_bounded(spent: House) -> None:
    """And lead from one to the next; a cursor that is none of ours is refused."""
    first = await spent.ask(acts.SUMMARY, by="day", limit=2)
    second = await spent.ask(acts.SUMMARY, by="day", limit=2, after=first.next)

    assert ["2026-11-28", "2026-11-29", "2026-11-30"] == [one.key for one in (*first.lines, *second.lines)]
    assert second.next is None
    with pytest.raises(Invalid):
        await spent.ask(acts.SUMMARY, after="1; DROP TABLE usage_days")


async def test_persons_have_names_for_who_may_know_people(house: House) -> None:
    """A viewer sees numbers, an operator the accounts that are theirs; who was erased is nobody."""
    person = await house.store.person(Identity(kind="webhook", tenant="t", account="ada 艾达"), now_ms=NOON)
    await house.rows.write([at(said(1), person=person), at(said(2), person=0)], UTC)

    names = [
        [(one.key, one.name) for one in (await house.ask(acts.SUMMARY, actor, by="person")).lines]
        for actor in (actor_of("viewer"), actor_of("operator"), actor_of("operator", "shop"))
    ]

    nobody, ada = ("", None), (str(person), "webhook ada 艾达")
    assert [[nobody, (str(person), None)], [nobody, ada], [nobody, (str(person), None)]] == names


async def test_a_person_s_accounts_elsewhere_are_not_told(house: House) -> None:
    """Who may know people in one channel is told by which accounts somebody has written there: not who the person is on other
    platforms, nor who never wrote there."""
    store = house.store
    here = await store.person(Identity(kind="webhook", tenant="t", account="ada 艾达"), now_ms=NOON)
    there = await store.person(Identity(kind="console", tenant="t", account="secret-name"), now_ms=NOON + 1)
    silent = await store.person(Identity(kind="webhook", tenant="t", account="bob"), now_ms=NOON)
    await spoken(store, "hi", at_ms=NOON, turn_id=1, person_id=here, user="ada 艾达", channel="shop")
    await spoken(store, "hi", at_ms=NOON, turn_id=2, person_id=there, user="secret-name", channel="console")
    assert isinstance(await store.links.join(here, there, now_ms=NOON), Linked)
    await house.rows.write([at(said(1), person=here), at(said(2), person=silent)], UTC)

    async def names(actor: Actor) -> list[str | None]:
        told = await house.ask(acts.SUMMARY, actor, by="person", channel="shop")
        return [line.name for line in sorted(told.lines, key=lambda line: int(line.key) != here)]

    assert ["webhook ada 艾达", None] == await names(actor_of("operator", "shop"))
    everywhere = await names(actor_of("operator"))
    assert [{"webhook ada 艾达", "console secret-name"}, {"webhook bob"}] == [
        set((one or "").split(", ")) for one in everywhere
    ]


async def test_who_sees_one_channel_is_told_of_one(spent: House) -> None:
    """Sums, series, files and turns: nothing of the others, not even in the total; asking for another is refused, and noted."""
    actor = actor_of("viewer", "console")

    told = await spent.ask(acts.SUMMARY, actor)
    series = await spent.ask(acts.SERIES, actor, measure="tokens")
    file = await read(await spent.ask(acts.EXPORT, actor))

    assert (["console"], 1) == ([one.key for one in told.lines], told.total.messages)
    assert ["console"] == [one.key for one in series.series]
    assert {"console"} == {row["channel"] for row in file}
    assert {""} == {row["person"] for row in file}
    with pytest.raises(Refused):
        await spent.ask(acts.SUMMARY, actor, channel="shop")
    with pytest.raises(Missing):
        await spent.ask(acts.TURN, actor, turn="1")
    assert [("usage.export", "done"), ("usage.summary", "refused")] == spent.audit.told


async def test_a_series_is_a_figure_for_each_day(spent: House) -> None:
    """Also for days on which there was nothing; those that spent less are one line together."""
    told = await spent.ask(acts.SERIES, measure="tokens", since="2026-11-27", top=1)

    assert ("2026-11-27", "2026-11-28", "2026-11-29", "2026-11-30") == told.days
    assert [("shop", (0, 0, 1000, 2000)), (None, (0, 50, 0, 0))] == [(one.key, one.values) for one in told.series]
    money = await spent.ask(acts.SERIES, by="person", since="2026-11-29", until="2026-11-30")
    assert [("7", (0.00025, 0.0005))] == [(one.key, one.values) for one in money.series]
    rooms = await spent.ask(acts.SERIES, by="room", measure="messages", since="2026-11-29")
    assert [("shop", "客服 👩‍👩‍👧", (1, 1))] == [(one.channel, one.key, one.values) for one in rooms.series]
    nothing = await spent.ask(acts.SERIES, since="2026-11-01", until="2026-11-02")
    assert ((), 2) == (nothing.series, len(nothing.days))


async def read(stream: Stream) -> list[dict[str, str]]:
    text = b"".join([piece async for piece in stream.pieces]).decode()
    return list(csv.DictReader(StringIO(text)))


async def test_a_file_holds_all_of_it(spent: House) -> None:
    """Every day and dimension in one row each, over more rows than one page; persons for who may know people; nothing that a
    spreadsheet would run."""
    for start in range(0, 1200, 300):
        rooms = [(number, f"=cmd|{number}" if number % 2 else f"-100{number}") for number in range(start, start + 300)]
        await spent.rows.write([at(said(1000 + number), room=room) for number, room in rooms], UTC)

    stream = await spent.ask(acts.EXPORT, since="2026-10-01")
    rows = await read(stream)

    assert ("text/csv", "usage-2026-10-01-2026-11-30.csv") == (stream.media, stream.filename)
    assert 1204 == sum(int(row["messages"]) for row in rows)
    assert {"7", "8", ""} == {row["person"] for row in rows}
    (dear,) = (row for row in rows if row["day"] == "2026-11-30" and row["model"] == "mini")
    assert ("0.000500", "2000", "answer") == (dear["money"], dear["prompt"], dear["purpose"])
    named = {row["room"] for row in rows}
    assert {"'=cmd|1", "-1000"} <= named
    assert not any(room.startswith("=") for room in named)


async def test_a_turn_tells_what_it_cost(spent: House) -> None:
    """Its messages and calls, oldest first; of a turn that nothing was counted of there is nothing to know."""
    told = await spent.ask(acts.TURN, turn="1")

    assert [("memory", "0.000250"), ("message", None), ("answer", "0.000500")] == [
        (one.purpose, one.money) for one in told.lines
    ]
    assert "0.000750" == told.money
    await spent.rows.write(
        [at(called(8, 5), turn_id=0, channel="", room="")], UTC
    )  # of no turn: a vector of a profile item
    for none in ("404", "00"):
        with pytest.raises(Missing):
            await spent.ask(acts.TURN, turn=none)


async def test_who_is_near_a_quota(house: House) -> None:
    """From the soft share of each place on, the nearest first; a room by its own limit, persons and agents for who sees all."""
    await house.rows.write(
        [
            *(at(said(number), room="客服") for number in (1, 2)),
            at(said(3), room="other"),
            at(called(4, 3000), room="客服"),
        ],
        UTC,
    )

    told = await house.ask(acts.QUOTAS)
    all_of_shop = await house.ask(acts.QUOTAS, actor_of("viewer", "shop"), least=0)

    assert [
        ("room", "shop", "客服", "messages", "2", "2", True),
        ("agent", None, "helper", "tokens", "3000", "4000", False),
        ("channel", None, "shop", "money", "0.000750", "0.001000", False),
        ("person", None, "7", "messages", "3", "4", False),
    ] == [(one.kind, one.channel, one.name, one.measure, one.used, one.most, one.over) for one in told.lines]
    assert "2026-12-01T00:00:00+00:00" == told.lines[0].ends
    assert [("room", "客服", 1.0), ("channel", "shop", 0.75), ("room", "other", 0.1)] == [
        (one.kind, one.name, one.share) for one in all_of_shop.lines
    ]
    assert ["room"] == [one.kind for one in (await house.ask(acts.QUOTAS, channel="shop", least=0.9)).lines]


async def test_ones_own_is_found_among_many(house: House) -> None:
    """However many others are nearer to, or over, what they have: a channel and an agent are asked for by name."""
    busy = [
        at(called(number, 9000), channel=f"c{number}", agent=f"a{number}", room="", person=0) for number in range(5)
    ]
    await house.rows.write([*busy, at(called(9, 3000), room="", person=0)], UTC)

    told = await house.ask(acts.QUOTAS, limit=2)

    assert [("agent", "helper"), ("channel", "shop")] == [(one.kind, one.name) for one in told.lines]


async def test_a_room_warns_by_its_own_share(house: House, tmp_path: Path) -> None:
    """One that wants to be told early is told, and its neighbours are not."""
    (tmp_path / "early.yaml").write_text(
        SETTINGS.replace("rooms: {客服: {quota: {", "rooms: {客服: {quota: {soft: 0.1, ")
        .replace("messages: {day: 2}", "messages: {day: 10}")
        .replace("soft: 0.5", "soft: 0.9"),
        "utf-8",
    )
    configuration = load(tmp_path / "early.yaml", {})
    await house.rows.write(
        [at(said(number), room=room, person=0) for number, room in enumerate(["客服", "other"])], UTC
    )

    acting = QuotaActs(reports=house.reports, configuration=lambda: configuration, clock=lambda: NOON)
    told = await Service(acting.handlers(), audit=house.audit).perform(
        actor_of("admin"), acts.QUOTAS, acts.QuotasAsked()
    )

    assert [("room", "客服", 0.1)] == [(one.kind, one.name, one.share) for one in told.lines]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"until": "0001-01-01"}, "until"),
        ({"since": "9999-12-31", "until": "9999-12-31"}, "until"),
        ({"since": "2026-02-30"}, "since"),
        ({"until": "2026-13-01"}, "until"),
        ({"since": "2026-12-01"}, "since"),
        ({"since": "2020-01-01"}, "since"),
    ],
)
@pytest.mark.parametrize("operation", [acts.SUMMARY, acts.SERIES, acts.EXPORT], ids=lambda one: one.name)
async def test_days_that_make_no_sense(house: House, operation: Any, fields: dict[str, str], wrong: str) -> None:
    """Are refused by name."""
    with pytest.raises(Invalid) as caught:
        await house.ask(operation, **fields)

    assert [wrong] == [one.path for one in caught.value.problems]


@pytest.mark.parametrize(("millionths", "text"), [(0, "0.000000"), (650, "0.000650"), (12_345_678_901, "12345.678901")])
def test_amounts_as_text(millionths: int, text: str) -> None:
    """To the last millionth, whatever a float would make of it."""
    assert text == money_text(millionths)
