"""Every page of the console that links lead to, over a real gateway: in both languages, by every role, on desktop and phone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.admin_browsing import Window
from tests.browsing import chromium
from tests.scenarios.admin_day import ORDER, Day, day
from tests.scenarios.admins import Admins
from tests.scenarios.stage import stage

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

MOST_PAGES = 80
MOST_BYTES = 100_000
"""No page weighs more: without its content (frame, script, style and htmx, none compressed), nor with it as it travels."""
PLACES = {
    "/admin", "/admin/health", "/admin/instances", "/admin/turns", "/admin/live", "/admin/conversations",
    "/admin/dead-letters", "/admin/usage", "/admin/takeovers", "/admin/people", "/admin/privacy-requests",
    "/admin/connect", "/admin/settings", "/admin/secrets", "/admin/users", "/admin/audit", "/admin/account",
    "/admin/tokens", "/admin/help",
}  # fmt: skip
"""What the navigation leads an owner to."""
FILLED = {"/admin/instances", "/admin/live", "/admin/users", "/admin/audit", "/admin/account", "/admin/help"}
"""Those of them that always have something to show."""
NOT_PAGES = re.compile(r"^/admin/(static/|.*(export|download|events)\b)")
ID = re.compile(r"(?<=/)\d+|\d{3,}|(?<=/channels/)[^/]+|%[0-9A-F]{2}.*$")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def morning(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Day]:
    async with day(tmp_path_factory.mktemp("day")) as played:
        yield played


def shape(path: str) -> str:
    """Return what pages have in common that differ by ids only: one of them is looked at."""
    parts = urlsplit(path)
    return ID.sub("N", parts.path) + "?" + "&".join(sorted(pair.partition("=")[0] for pair in parts.query.split("&")))


async def walk(reader: Window, *, start: str = "/admin") -> AsyncIterator[str]:
    """Open every page that links lead to from `start`, one of each shape."""
    waiting, seen = [start], {shape(start)}
    while waiting:
        path = waiting.pop(0)
        response = await reader.open(path)
        assert response.status == 200, (path, response.status, await reader.page.locator("main").inner_text())
        yield path
        hrefs = await reader.page.locator("a[href]").evaluate_all(
            "nodes => nodes.map(node => node.getAttribute('href'))"
        )
        for href in hrefs:
            found = urldefrag(urljoin(path, href)).url
            if found.startswith("/admin") and not NOT_PAGES.match(found) and shape(found) not in seen:
                seen.add(shape(found))
                waiting.append(found)
    assert len(seen) < MOST_PAGES


async def wrong_with(reader: Window, path: str, *, language: str = "en") -> list[str]:
    """Return what is wrong with an open page for who reads it, on whatever screen."""
    await reader.shoot(f"{language}{path.replace('/', '-').replace('?', '-')[:80]}")
    weights = await reader.weights()
    return [
        *await reader.violations(),
        *(f"{path}: too small: {small}" for small in await reader.too_small()),
        *(f"{path}: {wide} px too wide" for wide in [await reader.too_wide()] if wide),
        *(f"{path}: {bytes_} bytes" for bytes_ in weights if bytes_ > MOST_BYTES),
    ]


async def test_all_pages_can_be_read_and_pressed_by_everybody(browser: Browser, morning: Day) -> None:
    """WCAG by axe, on a desktop, in light colours, in English; no page is heavy."""
    paths, wrong = [], []
    async with morning.reader(browser, checked=True) as reader:
        async for path in walk(reader):
            paths.append(path)
            wrong += await wrong_with(reader, path)

    assert [] == wrong
    assert PLACES <= set(paths)


async def test_all_pages_can_be_read_on_a_phone_in_the_dark_in_chinese(browser: Browser, morning: Day) -> None:
    wrong = []
    async with morning.reader(browser, language="zh", theme="dark", phone=True, checked=True) as reader:
        async for path in walk(reader):
            wrong += await wrong_with(reader, path, language="zh")
            said = await reader.page.locator("main").inner_text()
            wrong += [] if re.search(r"[\u4e00-\u9fff]", said) else [f"{path}: not a word of Chinese"]

    assert [] == wrong


async def test_a_viewer_sees_every_page_that_is_offered_and_no_word_that_was_said(
    browser: Browser, morning: Day
) -> None:
    async with morning.reader(browser, "Vera") as reader:
        async for path in walk(reader):
            shown = await reader.page.content()
            assert [] == [word for word in (ORDER, "Quiet Lane", "cambiar", "换尺码", "third time") if word in shown], (
                path
            )


async def test_an_operator_of_one_channel_is_led_nowhere_in_vain(browser: Browser, morning: Day) -> None:
    """No link is shown that ends at a closed door."""
    async with morning.reader(browser, "Olga") as reader:
        assert 8 < len([path async for path in walk(reader)])


@pytest.mark.parametrize(("language", "days"), [("en", "400"), ("zh", "300")])
async def test_what_deletes_is_saved_with_a_word_that_it_is_meant(
    browser: Browser, morning: Day, language: str, days: str
) -> None:
    """Tried, it is seen what goes; saved without the tick, all is as before, and shown again; with it, it is saved. By phone."""
    async with morning.reader(browser, language=language, phone=True, checked=True) as reader:
        page, wrong = reader.page, list[str]()
        await reader.open("/admin/settings/form?path=retention")
        await page.locator("[name$=message_days]").fill(days)
        await page.locator("button[value=try]").click()
        await expect(page.locator("#tried [name=delete]")).to_be_visible()
        wrong += await reader.violations()
        await page.locator("button[value=save]").click()
        await expect(page.locator(".notice.bad[role=alert]")).to_be_visible()
        assert days == await page.locator("[name$=message_days]").input_value()
        wrong += [*await reader.violations(), *await reader.too_small()]
        assert 0 == await reader.too_wide()
        await page.locator("[name=delete]").check()
        await page.locator("button[value=save]").click()
        await expect(page.locator("[name=delete]")).to_have_count(0)
        await expect(page.locator(".notice.bad")).to_have_count(0)

    assert [] == wrong
    assert [(int(days),)] == morning.stage.rows(
        "SELECT CAST(json_extract(overlay, '$.retention.message_days') AS INTEGER) FROM settings_revisions"
        " ORDER BY number DESC LIMIT 1"
    )


async def test_where_nothing_is_yet_it_is_said_what_would_be_there(tmp_path: Path) -> None:
    """A gateway on its first day, without a channel: every page that lists something teaches what, in both languages."""
    async with stage(tmp_path, "channels: {}") as here:
        admins = Admins(here)
        await admins.user("Ada")
        async with admins.signed_in("Ada") as ada:
            for place in sorted(PLACES - FILLED):
                for language, script in (("en", r"[A-Za-z]{3}"), ("zh", r"[\u4e00-\u9fff]{3}")):
                    page = (await ada.get(place, **{"Accept-Language": language})).text
                    taught = re.search(r'<div class="empty">\s*<h2>(.+?)</h2>\s*<p>(.+?)</p>', page, re.DOTALL)

                    assert taught is not None, (place, language)
                    assert all(re.search(script, said) for said in taught.groups()), (place, language, taught.groups())
