"""The pages of persons, over a real store, without a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from config.loader import load
from memory.links import UNDO_MS
from tests.contracts.columns import COLUMNS, SqliteColumn
from tests.contracts.queues import open_queues
from tests.unit.admin.acting import OWNER
from tests.unit.admin.reading import hidden, reading
from tests.unit.admin.test_people import HOOK, PAGE, SETTINGS, STAFF, Office, two_channels


@pytest.fixture
async def office(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Office]:
    (tmp_path / "clew.yaml").write_text(SETTINGS, "utf-8")
    column = COLUMNS["sqlite"](request)
    assert isinstance(column, SqliteColumn)
    async with column.open() as store, open_queues(f"sqlite:///{column.path}") as queues:
        yield Office(store, queues, load(tmp_path / "clew.yaml", {}))


@pytest.mark.parametrize(("language", "nobody"), [("en", "Nobody is known yet"), ("zh", "还没有任何人员")])
async def test_people_are_found(office: Office, language: str, nobody: str) -> None:
    """By account; to whom everything is open, everybody; whose channels somebody never came to is told of nobody."""
    async with reading(*office.handlers, by=OWNER, language=language) as pages:
        assert nobody in await pages.get("/people")
        person = str(await two_channels(office))
        assert f'href="/admin/people/{person}"' in await pages.get("/people")
        assert f'href="/admin/people/{person}"' in await pages.get("/people?who=42")
        assert person not in await pages.get("/people?who=nobody")
    async with reading(*office.handlers, by=HOOK, language=language) as pages:
        assert person not in await pages.get("/people")
        assert f'href="/admin/people/{person}"' in await pages.get("/people?who=42")
        assert person not in await pages.get("/people?who=zo%C3%A9")


async def test_a_person_is_shown_as_one_may_see_them(office: Office) -> None:
    """What does not come from one's channels is not on the page, nor what one may not do."""
    person = await two_channels(office)
    async with reading(*office.handlers, by=OWNER) as pages:
        whole = await pages.get(f"/people/{person}")
    async with reading(*office.handlers, by=HOOK) as pages:
        part = await pages.get(f"/people/{person}")
        await pages.get("/people/4711", status=404)
    async with reading(*office.handlers, by=PAGE) as pages:
        await pages.post(f"/people/{person}/erase", {"confirm": "on"}, status=403)

    assert all(word in whole for word in ("绿茶", "secret jam", "zoé", "/export", "/correct", "/link"))
    assert "绿茶" in part
    assert "1 more are known from channels" in part
    assert not [word for word in ("secret jam", "zoé", "/export", "/correct", "/link", "/erase") if word in part]


async def test_what_is_known_is_mended_by_forms(office: Office) -> None:
    """Corrected, refused with the reason, forgotten."""
    person = await two_channels(office)
    things = {thing.value: thing.id for thing in (await office.show(person)).things}
    at = f"/people/{person}"
    async with reading(*office.handlers, by=STAFF) as pages:
        assert at == await pages.post(f"{at}/correct", {"thing": things["tea"], "value": "rooibos & milk"})
        page = await pages.get(at)
        assert "It is corrected." in page
        assert "rooibos &amp; milk" in page
        wrong = {"thing": things["绿茶"], "value": "4111 1111 1111 1111"}
        refused = await pages.post(f"{at}/correct", wrong, status=422)
        assert "number of a bank card" in refused
        assert "4111" not in refused
        await pages.post(f"{at}/forget", [("thing", things["绿茶"]), ("thing", things["secret jam"])])
        await pages.post(f"{at}/forget", {"thing": things["绿茶"]}, status=409)

    assert ["rooibos & milk"] == await office.values(person)


async def test_persons_are_joined_and_parted_by_forms(office: Office) -> None:
    """First it is told what it would do."""
    ann = await office.person("ann")
    office.now += 1
    bob = await office.person("bob")
    await office.tells(bob, "bob", "hook", "jam")
    async with reading(*office.handlers, by=STAFF, clock=lambda: office.now) as pages:
        page = await pages.post(f"/people/{ann}/link", {"other": str(bob)}, status=200)
        assert f"Person {ann} is known for longer" in page
        assert [] == await office.values(ann)
        assert "one person already" in await pages.post(f"/people/{ann}/link", {"other": str(ann)}, status=422)
        assert f"/people/{ann}" == await pages.post(f"/people/{ann}/link", {"other": str(bob), "confirm": "on"})
        (link,) = (await office.show(ann)).links
        assert f'name="link" value="{link.link}"' in await pages.get(f"/people/{ann}")
        await pages.post(f"/people/{ann}/unlink", {"link": link.link})

    assert ["jam"] == await office.values(bob)


async def test_an_old_link_is_taken_apart_account_by_account(office: Office) -> None:
    person = await two_channels(office)
    office.now += UNDO_MS + 1
    async with reading(*office.handlers, by=STAFF, clock=lambda: office.now) as pages:
        page = await pages.get(f"/people/{person}")
        assert 'name="link"' not in page
        await pages.post(f"/people/{person}/unlink", {"identity": hidden(page, "identity")})

    assert 1 == len((await office.show(person)).person.identities)


async def test_data_are_taken_along_and_erased(office: Office) -> None:
    """Counted first; then the receipt is a page of numbers."""
    person = await two_channels(office)
    async with reading(*office.handlers, by=OWNER) as pages:
        assert "secret jam" in await pages.get(f"/people/{person}/export")
        page = await pages.post(f"/people/{person}/erase", {}, status=200)
        assert "Lasting facts: 3" in page
        assert 3 == len(await office.values(person))
        receipt = await pages.post(f"/people/{person}/erase", {"confirm": "on"}, status=200)
        assert f"Person {person} is erased" in receipt
        assert "zoé" not in receipt
        assert "erased" in await pages.get(f"/people/{person}")


@pytest.mark.parametrize(
    ("language", "none", "word"), [("en", "Nothing is open", "overdue"), ("zh", "没有待处理的请求", "已逾期")]
)
async def test_requests_stand_until_they_are_met(office: Office, language: str, none: str, word: str) -> None:
    person = await office.person("ann")
    async with reading(*office.handlers, by=OWNER, language=language) as pages:
        assert none in await pages.get("/privacy-requests")
        await pages.post(f"/people/{person}/request", {"kind": "export"})
        (noted,) = await office.store.persons.requests(after=(0, 0), limit=9)
        assert word not in await pages.get("/privacy-requests")
        office.now += 10**11
        assert word in await pages.get("/privacy-requests")
        assert word not in await pages.get(f"/people/{person}"), "there it is coloured"
        assert "/privacy-requests" == await pages.post(f"/privacy-requests/{noted.id}/met")
        assert none in await pages.get("/privacy-requests")
    async with reading(*office.handlers, by=STAFF, language=language) as pages:
        await pages.get("/privacy-requests", status=403)
