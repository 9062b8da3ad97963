"""What a page is told of a person's memory, and how corrections reach the store: cases that a talk rarely makes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Remembered, Sender
from config.loader import load
from gateway.channels import Times
from gateway.live import Live
from gateway.memory_on_page import MemoryOnPage
from gateway.people import People
from gateway.personal_memory import PersonalMemory
from memory.bar_words import EMAIL, RULES
from memory.base import Identity
from memory.derived import FullStore
from memory.ids import Ids
from tests.contracts.columns import COLUMNS
from tests.contracts.store import HOUR, NOW, fact, item, opened

SETTINGS = """\
agents: {default: {kind: demo}}
channels:
  page: {kind: console, memory: {facts: {emails: EMAILS}}}
"""
ANN = Sender(user="ann", tenant="page", account="ann")


@pytest.fixture
async def store(request: pytest.FixtureRequest) -> AsyncIterator[FullStore]:
    async with COLUMNS["sqlite"](request).open() as opened_store:
        yield opened_store


def remembering(store: FullStore, folder: Path, *, emails: bool) -> MemoryOnPage:
    (folder / "my.yaml").write_text(SETTINGS.replace("EMAILS", str(emails).lower()), "utf-8")
    live = Live(
        load(folder / "my.yaml", {}),
        make_agent=lambda name, settings: pytest.fail("no agent is asked"),
        make_adapter=lambda name, settings: pytest.fail("no channel is made"),
        times=Times(start_s=1, send_s=1, rest_s=1),
    )
    return MemoryOnPage(
        personal=PersonalMemory(store=store, ids=Ids(1), clock=lambda: NOW), people=People(store), live=live
    )


@pytest.fixture
def page(store: FullStore, tmp_path: Path) -> MemoryOnPage:
    return remembering(store, tmp_path, emails=False)


async def ann(store: FullStore) -> int:
    return await store.person(Identity(kind="console", tenant="page", account="ann"), now_ms=NOW)


async def texts(page: MemoryOnPage, *, language: str = "en") -> list[str]:
    return [one.text for one in (await page.remembered("page", ANN, language=language)).kept]


async def test_nobody_has_no_memory(page: MemoryOnPage) -> None:
    """A sender whom the platform does not vouch for sees nothing, and changes nothing."""
    hidden = Sender(user="x", tenant="page", account="x", trusted=False)

    assert Remembered() == await page.remembered("page", hidden, language="en")
    assert 0 == await page.forget("page", hidden, None)
    assert "这一条已经忘掉了。" == await page.correct("page", hidden, "i1", "tea", language="zh")


async def test_what_an_admin_wrote_is_corrected_as_it_stands(page: MemoryOnPage, store: FullStore) -> None:
    """An item without a slot is its text; it is told as entered, with no place."""
    await store.put_profile([item(5, person_id=await ann(store), text="prefers 早班")])
    (kept,) = (await page.remembered("page", ANN, language="zh")).kept
    assert ("profile", "prefers 早班", "prefers 早班") == (kept.kind, kept.text, kept.value)
    assert (True, None, None) == (kept.entered, kept.channel, kept.room)

    assert None is await page.correct("page", ANN, kept.id, "prefers 晚班", language="zh")

    assert ["prefers 晚班"] == await texts(page)


async def test_each_namespace_and_session_gets_the_new_value_once(page: MemoryOnPage, store: FullStore) -> None:
    """All rows that say it are corrected, of whatever namespace and session; where the new value is known, the old one goes."""
    me = await ann(store)
    of: dict[str, Any] = {"person_id": me, "slot": "like"}
    here, there = await opened(store), await opened(store, room="r2")
    await store.put_profile([
        item(1, namespace="a", value="tea", text="likes tea", **of),
        item(2, namespace="b", value="TEA", text="likes TEA", **of),
        item(3, namespace="b", value="rye", text="likes rye", **of),
    ])  # fmt: skip
    await store.put_facts([
        fact(4, here.id, value="tea", expires_ms=NOW + HOUR, **of),
        fact(5, there.id, value="tea", session_id="s-2", expires_ms=NOW + HOUR, **of),
        fact(6, there.id, value="rye", session_id="s-2", expires_ms=NOW + HOUR, **of),
    ])  # fmt: skip
    tea, rye = (await page.remembered("page", ANN, language="en")).kept
    assert ("i1.i2.f4.f5", "i3.f6") == (tea.id, rye.id)

    assert None is await page.correct("page", ANN, "i1", "Rye", language="en")

    items, facts = await store.derived.known(me, now_ms=NOW)
    assert {("a", "Rye"), ("b", "rye")} == {(row.namespace, row.value) for row in items}
    assert {("s-1", "Rye"), ("s-2", "rye")} == {(row.session_id, row.value) for row in facts}
    assert ["likes Rye"] == await texts(page)
    assert ["喜欢Rye"] == await texts(page, language="zh")


async def test_an_address_is_kept_where_the_channel_keeps_them(
    page: MemoryOnPage, store: FullStore, tmp_path: Path
) -> None:
    """`memory.facts.emails` of the channel decides, as for what is said."""
    await store.put_profile(
        [item(5, person_id=await ann(store), slot="remember", value="mail", text="asked to remember: mail")]
    )
    address = "ann@example.org"

    assert RULES[EMAIL][0] == await page.correct("page", ANN, "i5", address, language="en")
    page = remembering(store, tmp_path, emails=True)
    assert None is await page.correct("page", ANN, "i5", address, language="en")

    assert [f"asked to remember: {address}"] == await texts(page)
