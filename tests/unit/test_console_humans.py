"""What humans said to the page's people, over HTTP: fetched by whoever is let in; the gateway behind it is a fake."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from adapters.base import Said
from tests.chat import FakeUnasked, console
from tests.fakes import FakeIntake
from tests.serving import serving


async def get(unasked: FakeUnasked, query: str, **settings: Any) -> tuple[int, Any]:
    adapter = console(unasked=unasked, **settings)
    async with (
        serving(FakeIntake(), {"console": adapter}, console=lambda: adapter) as url,
        aiohttp.ClientSession(url) as client,
        client.get(f"/chat/said?{query}") as response,
    ):
        assert "no-store" == response.headers["Cache-Control"]
        return response.status, await response.json()


async def test_what_was_said_is_fetched() -> None:
    """With its id and time, for that person's conversation, behind what they have."""
    unasked = FakeUnasked(said=(Said(id="7", text="Ann: 您好", said_ms=1_790_000_000_000),))

    status, body = await get(unasked, "room=private-小艾&person=小艾&chat_type=private&after=6")

    assert 200 == status
    assert {"said": [{"id": "7", "text": "Ann: 您好", "said_ms": 1_790_000_000_000}], "last": "7"} == body
    assert [("console", "console", "小艾", "private-小艾", "private", "6")] == unasked.calls


@pytest.mark.parametrize(
    "query",
    [
        "",
        "room=r&person=p",
        "room=r&person=p&chat_type=public",
        "room=r&person=p&chat_type=group&after=x",
        "room=r&person=p&chat_type=group&more=1",
        "room=&person=p&chat_type=group",
    ],
)
async def test_a_query_that_says_not_which_is_refused(query: str) -> None:
    unasked = FakeUnasked()

    status, body = await get(unasked, query)

    assert (422, []) == (status, unasked.calls)
    assert body["detail"]


async def test_it_is_as_closed_as_the_page() -> None:
    unasked = FakeUnasked()

    status, _ = await get(unasked, "room=r&person=p&chat_type=group", token="long and secret")

    assert (401, []) == (status, unasked.calls)
