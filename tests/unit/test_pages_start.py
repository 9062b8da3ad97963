"""The overview: what it shows to whom."""

from __future__ import annotations

import re

import aiohttp

from gateway.admin.acts import dead_letters, health, people, settings, takeover, turns, usage
from gateway.admin.operations import Acting, Handlers
from tests.admin_pages import NOW_MS, FakeDoorkeeper, admin, console

HOUR_MS = 3_600_000


def channel(name: str, *, up: bool = True, waiting: int = 0, lag_s: float = 0) -> health.ChannelTold:
    return health.ChannelTold(
        channel=name, kind="webhook", up=up, problem=None if up else "<b>no</b> route", warning=None, probed="",
        last_event_ms=NOW_MS, last_delivery_ms=None, waiting=waiting, lag_s=lag_s, outbox_waiting=0, outbox_lag_s=0, ended=0,
        failed=0, unknown_sends=0, limited=0, limited_s=0, left_behind=0, failed_starts=0,
    )  # fmt: skip


def seeing(
    *channels: health.ChannelTold, counts: tuple[turns.CountTold, ...] = (), from_ms: int | None = None
) -> Handlers:
    async def healthy(acting: Acting, asked: health.HealthAsked) -> health.HealthTold:
        return health.HealthTold(channels=channels, counted_from_ms=None)

    async def counted(acting: Acting, asked: turns.CountsAsked) -> turns.CountsTold:
        return turns.CountsTold(counts=counts, from_ms=from_ms)

    return {health.HEALTH: healthy, turns.COUNTS: counted}


def handling(letters: int, asked: int) -> Handlers:
    letter = dead_letters.LetterLine(
        turn="1", kind="dead", channel="shop", configured=True, room=None, thread=None, chat_type=None, messages=1, code="x",
        reason=None, accepted_ms=1, age_s=1, person_saw="nothing", sent=0, unknown=0, dead=1, fits="send", seen=0,
    )  # fmt: skip
    over = takeover.TakeoverTold(
        takeover="1", channel="shop", room="r", thread=None, chat_type="private", user="u", state="asked", asked_by="person",
        operator=None, mine=False, created_ms=1, since_ms=1, touched_ms=1, ends_ms=None, how=None, turn="1",
    )  # fmt: skip

    async def dead(acting: Acting, wanted: dead_letters.LettersAsked) -> dead_letters.LettersPage:
        return dead_letters.LettersPage(letters=(letter,) * letters, next="9" if letters == 200 else None)

    async def live(acting: Acting, wanted: takeover.TakeoversAsked) -> takeover.TakeoversPage:
        return takeover.TakeoversPage(takeovers=(over,) * asked, next=None)

    return {dead_letters.LIST: dead, takeover.LIST: live}


async def overview(*handlers: Handlers, doorkeeper: FakeDoorkeeper | None = None) -> str:
    async with (
        console(*handlers, doorkeeper=doorkeeper) as url,
        aiohttp.ClientSession() as session,
        session.get(f"{url}/admin") as response,
    ):
        assert 200 == response.status
        return await response.text()


def tiles(page: str) -> list[tuple[str, str]]:
    """Mood and value of each figure."""
    return re.findall(r'<div class="tile (\w*)">.*?<strong>(.*?)</strong>', page, re.DOTALL)


async def test_when_all_is_well_it_says_so() -> None:
    page = await overview(seeing(channel("shop")), handling(0, 0))

    assert "All is well." in page
    assert [("", "1 of 1"), ("", "0"), ("", "0"), ("", "0"), ("", "0"), ("", "0")] == tiles(page)


async def test_what_was_not_counted_is_not_shown_as_nothing() -> None:
    """Of a very busy day the first hours are not counted: the page says from when on they are."""
    assert "messages are counted from here on" in await overview(seeing(channel("shop"), from_ms=NOW_MS - HOUR_MS))
    assert "messages are counted from here on" not in await overview(seeing(channel("shop")))


async def test_what_needs_somebody_stands_out() -> None:
    shop = channel("shop", waiting=3, lag_s=200)
    page = await overview(seeing(shop, channel("客服", up=False)), handling(200, 2))

    assert "Something needs you." in page
    assert "the oldest for 3 min" in page
    assert [("bad", "1 of 2"), ("warn", "3"), ("", "0"), ("", "0"), ("bad", "200+"), ("warn", "2")] == tiles(page)
    assert "&lt;b&gt;no&lt;/b&gt; route" in page


async def test_messages_are_counted_by_what_became_of_them() -> None:
    def count(state: str, number: int, *, ago_h: int = 0) -> turns.CountTold:
        hour_ms = NOW_MS // HOUR_MS * HOUR_MS - ago_h * HOUR_MS
        return turns.CountTold(channel="shop", hour_ms=hour_ms, state=state, rule="", count=number)  # type: ignore[arg-type]

    counts = (
        count("answered", 1200),
        count("answered", 34, ago_h=23),
        count("dead", 2),
        count("ignored", 5),
        count("running", 1),
    )
    page = await overview(seeing(channel("shop"), counts=counts))

    assert [("", "1 of 1"), ("", "0"), ("", "1,234"), ("", "2")] == tiles(page)
    assert "<title>12:00 · answered: 1,200</title>" in page
    assert "<title>13:00 · answered: 34</title>" in page
    assert "<title>12:00 · not meant to be answered: 5</title>" in page


async def test_requests_quotas_and_settings_that_are_not_in_force_are_told() -> None:
    line = usage.QuotaLine(
        kind="person",
        channel=None,
        name="7",
        measure="messages",
        span="day",
        used="9",
        most="9",
        share=1,
        over=True,
        ends="x",
    )
    status = settings.StatusTold(
        number=3, newest=4, digest="d", file="f", problem="revision 4: <agents>", secrets=None, sections=(), fixed=(), kinds=(),
        channels={}, agents=(),
    )  # fmt: skip

    async def requests(acting: Acting, asked: people.RequestsAsked) -> people.RequestsPage:
        return people.RequestsPage(requests=(), unfinished=(), next=None)

    async def quotas(acting: Acting, asked: usage.QuotasAsked) -> usage.QuotasTold:
        return usage.QuotasTold(currency="EUR", lines=(line,))

    async def newest(acting: Acting, asked: object) -> settings.StatusTold:
        return status

    bound: Handlers = {people.REQUESTS: requests, usage.QUOTAS: quotas, settings.STATUS: newest}
    page = await overview(bound)

    assert [("", "0"), ("warn", "1")] == tiles(page)
    assert "1 used up" in page
    assert "revision 4: &lt;agents&gt;" in page
    assert "Something needs you." in page

    of_one_channel = await overview(bound, doorkeeper=FakeDoorkeeper(actor=admin("admin", "shop")))
    assert [("warn", "1")] == tiles(of_one_channel)


async def test_who_has_no_channel_yet_is_told_what_one_is() -> None:
    assert "No channel is configured yet" in await overview(seeing())


async def test_nobody_sees_figures_beyond_their_rights() -> None:
    viewer = FakeDoorkeeper(actor=admin("viewer", "shop"))
    page = await overview(seeing(channel("shop")), handling(3, 3), doorkeeper=viewer)

    assert "Dead letters" not in re.sub(r"<title>.*?</title>", "", page)
    assert 5 == len(tiles(page))
