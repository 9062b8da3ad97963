"""The door by which the command line reaches a running gateway: who may come in, and what is said when it can't be used."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from gateway.admin.door import ask, door
from gateway.admin.people import Receipt
from gateway.errors import StoreBusy
from memory.base import Identity
from memory.errors import StoreUnavailable
from tests.attacks.fuzz.wire import Request, sent

Erase = Callable[[int | Identity], Awaitable[Receipt | None]]


def erasing(answer: Receipt | Exception | None) -> Erase:
    async def erase(who: int | Identity) -> Receipt | None:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return erase


async def test_what_is_asked_is_done_and_answered(tmp_path: Path) -> None:
    receipt = Receipt(person="7", erased={"messages": 3})
    path = tmp_path / "clew.db"

    async with door(path, erasing(receipt)):
        assert receipt == await ask(path, 7)

    with pytest.raises(OSError, match="No such file"):
        await ask(path, 7)


async def test_an_account_is_asked_for_as_it_is(tmp_path: Path) -> None:
    """Whatever stands in it."""
    asked: list[int | Identity] = []
    account = Identity(kind="webhook", tenant="hook", account="Zwölf:ender/👩‍👩‍👧?\x01")

    async def erase(who: int | Identity) -> Receipt | None:
        asked.append(who)
        return None

    async with door(tmp_path / "clew.db", erase):
        assert await ask(tmp_path / "clew.db", account) is None

    assert [account] == asked


async def test_a_person_that_does_not_exist(tmp_path: Path) -> None:
    async with door(tmp_path / "clew.db", erasing(None)):
        assert await ask(tmp_path / "clew.db", 7) is None


@pytest.mark.parametrize("fault", [StoreBusy("come later", retry_after_s=1), StoreUnavailable("come later")])
async def test_a_store_that_is_away_says_so(tmp_path: Path, fault: Exception) -> None:
    async with door(tmp_path / "clew.db", erasing(fault)):
        with pytest.raises(StoreBusy, match="come later"):
            await ask(tmp_path / "clew.db", 7)


async def test_only_who_reads_the_file_may_come_in(tmp_path: Path) -> None:
    """The file is its owner's alone; one that a killed gateway left, with whatever rights, is made anew."""
    path = tmp_path / "clew.db"
    note = tmp_path / "clew.db.door"
    note.write_text("{}")
    note.chmod(0o644)

    async with door(path, erasing(Receipt(person="7", erased={}))):
        told = json.loads(note.read_text())
        assert 0o600 == note.stat().st_mode & 0o777
        assert told["url"].startswith("http://127.0.0.1:")
        async with aiohttp.ClientSession() as session:
            for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {told['token']}"}):
                async with session.post(f"{told['url']}/people/7/erase", headers=headers) as response:
                    assert 401 == response.status
        note.write_text(json.dumps(told | {"token": "old"}))
        with pytest.raises(OSError, match="another program"):
            await ask(path, 7)

    assert not note.exists()


async def test_what_is_shown_as_the_token_may_be_no_text(tmp_path: Path) -> None:
    """Nobody is let in, and nothing breaks."""
    async with door(tmp_path / "clew.db", erasing(None)):
        url = json.loads((tmp_path / "clew.db.door").read_text())["url"]
        request = Request(path="/people/7/erase", headers=(("Authorization", b"Bearer \xff"),))
        answer = await sent(urlsplit(url).port or 0, request, within_s=10)

    assert 401 == answer.status


async def test_where_it_cannot_be_made_all_else_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "gateway.admin.door")

    async with door(tmp_path / "missing" / "clew.db", erasing(None)):
        assert ["the command line cannot reach this gateway"] == [record.message for record in caplog.records]
    async with door(None, erasing(None)):
        assert [] == [*tmp_path.iterdir()]
