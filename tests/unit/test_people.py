"""Who a sender is, and the agent a person has chosen: within bounds, and as the store has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.base import MessageEvent, Sender
from gateway.people import People
from memory.ids import Ids
from memory.stores.sqlite import SqliteStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with SqliteStore(tmp_path / "c.db", ids=Ids(1), write_turn=asyncio.Lock(), timeout_s=5) as opened:
        yield opened


def sender(account: str = "7", *, tenant: str = "acme", **fields: Any) -> Sender:
    return Sender(user=f"{tenant}.{account}", tenant=tenant, account=account, **fields)


def said(account: str = "7", **fields: Any) -> MessageEvent:
    values = {"channel": "hook", "room": "r1", "chat_type": "group", "dedupe_ids": ("x",), "message_id": "m"} | fields
    return MessageEvent(sender=sender(account), text="hi", **values)


async def test_one_person_per_account(store: SqliteStore) -> None:
    """The same account is the same person whatever its name; another kind, tenant or account is another one (C19)."""
    people = People(store)
    first = await people.person(sender(name="小博"), kind="webhook")

    assert first == await people.person(sender(name="Bo"), kind="webhook")
    assert first == await People(store).person(sender(), kind="webhook"), "also after a restart"
    others = {
        await people.person(sender(), kind="console"),
        await people.person(sender(tenant="other"), kind="webhook"),
        await people.person(sender("8"), kind="webhook"),
    }
    assert 3 == len(others - {first})


async def test_who_is_not_vouched_for_is_nobody(store: SqliteStore) -> None:
    """No personal memory for a sender the platform does not answer for."""
    assert await People(store).person(sender(trusted=False), kind="webhook") is None


async def test_a_choice_holds_where_it_was_made(store: SqliteStore) -> None:
    """Chosen for one person in one conversation: not elsewhere, not for others; it survives a restart and can be undone."""
    people = People(store)
    assert await people.chosen_agent(said()) is None
    await people.choose_agent(said(), "wise")
    again = People(store)

    assert ["wise", "wise"] == [await each.chosen_agent(said()) for each in (people, again)]
    for other in (said("8"), said(room="r2"), said(thread="t"), said(channel="second"), said(chat_type="private")):
        assert await again.chosen_agent(other) is None
    await again.choose_agent(said(), None)
    assert await again.chosen_agent(said()) is None
    assert await People(store).chosen_agent(said()) is None


async def test_what_is_known_is_bounded(store: SqliteStore) -> None:
    """Many people cost no more memory than `bound`; who was forgotten is read again, and is the same."""
    people = People(store, bound=3)
    persons = [await people.person(sender(str(number)), kind="webhook") for number in range(10)]
    for number in range(10):
        await people.choose_agent(said(str(number)), f"agent-{number}")

    assert 10 == len(set(persons))
    assert persons == [await people.person(sender(str(number)), kind="webhook") for number in range(10)]
    assert [f"agent-{number}" for number in range(10)] == [await people.chosen_agent(said(str(n))) for n in range(10)]


async def test_a_person_who_was_erased_is_asked_for_anew(store: SqliteStore) -> None:
    """The account is a new person's then; until it is told, the old one is remembered (redis/agent-memory-server#184)."""
    people = People(store)
    first = await people.person(sender(), kind="webhook")
    assert first is not None
    await store.persons.begin(first, now_ms=1)

    assert first == await people.person(sender(), kind="webhook")
    people.forget()
    assert await people.person(sender(), kind="webhook") not in (None, first)
