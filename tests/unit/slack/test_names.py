"""Names: asked once, kept a while, bounded, and never waited for long."""

from __future__ import annotations

import asyncio

import pytest

from adapters.base import Quote
from adapters.errors import Throttled, Unreachable
from adapters.slack.names import Names, filled, ids_in, name_of
from tests.unit.slack.samples import message, read


class Directory:
    """Answers what it knows; counts what it is asked."""

    def __init__(self, **names: str) -> None:
        self.names = names
        self.asked: list[str] = []
        self.away = False
        self.wait_s = 0.0
        self.now = 0.0

    async def __call__(self, one: str) -> str | None:
        self.asked.append(one)
        if self.away:
            raise Unreachable("away")
        if self.wait_s:
            raise Throttled("wait", retry_after_s=self.wait_s)
        return self.names.get(one)

    def cache(self, **more: float) -> Names:
        return Names(self, keep_s=100, wait_s=5, clock=lambda: self.now, most=int(more.get("most", 100)))


async def test_a_name_is_asked_for_once_and_again_when_it_is_old() -> None:
    directory = Directory(U1="Ann")
    names = directory.cache()
    for now in (0.0, 99.0, 101.0):
        directory.now = now
        assert {"U1": "Ann"} == await names.of(["U1", "U1"])

    assert ["U1", "U1"] == directory.asked


async def test_what_has_no_name_is_not_asked_for_at_every_message() -> None:
    directory = Directory()
    names = directory.cache()
    for now in (0.0, 59.0, 61.0):
        directory.now = now
        assert {} == await names.of(["U1"])

    assert 2 == len(directory.asked)


async def test_an_old_name_is_better_than_none() -> None:
    """While the platform is away or asks to wait."""
    directory = Directory(U1="Ann")
    names = directory.cache()
    await names.of(["U1"])
    directory.now, directory.away = 200, True

    assert {"U1": "Ann"} == await names.of(["U1"])


async def test_a_platform_that_asks_to_wait_is_asked_nothing_until_then() -> None:
    """Whoever is named meanwhile goes without, or by an old name; then all are asked for again (Slack's Retry-After)."""
    directory = Directory(U1="Ann", U2="李雷")
    names = directory.cache()
    await names.of(["U1"])
    directory.now, directory.wait_s = 200, 30
    assert {"U1": "Ann"} == await names.of(["U1", "U2"])
    directory.wait_s, before = 0, len(directory.asked)
    directory.now = 229.0
    assert {"U1": "Ann"} == await names.of(["U1", "U2", "U3"])
    assert before == len(directory.asked)
    directory.now = 230.0

    assert {"U1": "Ann", "U2": "李雷"} == await names.of(["U1", "U2"])


async def test_the_cache_is_bounded_and_forgets_the_oldest() -> None:
    directory = Directory(**{f"U{n}": f"n{n}" for n in range(5)})
    names = directory.cache(most=3)
    for n in range(5):
        await names.of([f"U{n}"])
    await names.of(["U4", "U0"])

    assert ["U0", "U1", "U2", "U3", "U4", "U0"] == directory.asked


async def test_a_message_of_many_mentions_does_not_use_up_the_minute() -> None:
    directory = Directory(**{f"U{n}": f"n{n}" for n in range(100)})

    assert 20 == len(await directory.cache().of([f"U{n}" for n in range(100)]))


async def test_who_waits_goes_on_without_the_name_and_the_next_one_does_not_wait_for_it() -> None:
    """A platform that is slow would hold each message of a busy room up as long as the first."""
    stuck, now, asked = asyncio.Event(), 0.0, list[str]()

    async def ask(one: str) -> str | None:
        asked.append(one)
        if one == "U2":
            await stuck.wait()
        return {"U1": "Ann", "U2": "Bob"}[one]

    names = Names(ask, keep_s=100, wait_s=0.05, clock=lambda: now)
    assert {"U1": "Ann"} == await names.of(["U1", "U2"])
    now = 59.0
    assert {"U1": "Ann"} == await names.of(["U1", "U2"])
    stuck.set()
    now = 61.0

    assert {"U1": "Ann", "U2": "Bob"} == await names.of(["U1", "U2"])
    assert ["U1", "U2", "U2"] == asked


async def test_an_old_name_outlives_a_look_up_that_was_given_up() -> None:
    stuck, now = asyncio.Event(), 0.0
    stuck.set()

    async def ask(one: str) -> str | None:
        await stuck.wait()
        return "Ann"

    names = Names(ask, keep_s=100, wait_s=0.05, clock=lambda: now)
    await names.of(["U1"])
    now = 200.0
    stuck.clear()

    assert {"U1": "Ann"} == await names.of(["U1"])


async def test_a_platform_that_asks_to_wait_is_not_asked_again_at_once() -> None:
    async def ask(one: str) -> str | None:
        raise Throttled("wait", retry_after_s=30)

    assert {} == await Names(ask, keep_s=1, wait_s=1).of(["U1"])


def test_names_stand_where_the_ids_stood() -> None:
    event = read(
        message("<@U2> in <#C2>, <@U9>", attachments=[{"is_share": True, "author_id": "U3", "text": "<@U2>!"}])
    )
    named = filled(event, {"U1": "Ann", "U2": "Bob", "U3": "Zoe", "C2": "general"})

    assert ["U1", "U2", "U9", "U3", "U2", "C2"] == ids_in(event)
    assert ("Ann", "@Bob in #general, <@U9>") == (named.sender.name, named.text)
    assert Quote(name="Zoe", text="@Bob!") == named.quote


def test_a_program_keeps_the_name_it_brought() -> None:
    event = read(message(bot_id="B2", bot_profile={"name": "Jira"}))

    assert [] == ids_in(event)
    assert "Jira" == filled(event, {}).sender.name


@pytest.mark.parametrize(
    ("found", "name"),
    [
        ({"name": "ann", "profile": {"display_name": "Ann 👋", "real_name": "Ann B"}}, "Ann 👋"),
        ({"name": "ann", "profile": {"display_name": " ", "real_name": "王小明"}}, "王小明"),
        ({"name": "general"}, "general"),
        ({"profile": None, "name": ""}, None),
        (None, None),
    ],
)
def test_a_person_is_called_as_people_see_it(found: object, name: str | None) -> None:
    assert name == name_of(found)
