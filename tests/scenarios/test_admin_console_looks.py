"""What all pages of the console are built of, in a real browser: for everybody, on everything, with and without scripts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from gateway.admin.console.parts import PARTS
from tests.admin_browsing import window
from tests.admin_pages import FakeDoorkeeper, console
from tests.browsing import chromium
from tests.sample_page import part

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

TOLD: list[dict[str, str]] = []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url() -> AsyncIterator[str]:
    async with console(parts=(*PARTS, part(TOLD))) as url:
        yield url


# Each pair of choices meets once: axe takes seconds a page.
@pytest.mark.parametrize(
    ("language", "theme", "phone"),
    [("en", "light", False), ("en", "dark", True), ("zh", "light", True), ("zh", "dark", False)],
)
async def test_every_piece_can_be_read_and_pressed_by_everybody(
    browser: Browser, url: str, language: Literal["en", "zh"], theme: Literal["light", "dark"], phone: bool
) -> None:
    async with window(browser, url, language=language, theme=theme, phone=phone, checked=True) as reader:
        for path in ("/admin/sample", "/admin/nothing"):
            await reader.open(path)
            await reader.shoot(f"{path.split('/')[-1]}-{language}-{theme}-{'phone' if phone else 'desktop'}")

            assert [] == await reader.violations()
            assert 0 == await reader.too_wide()
            assert [] == await reader.too_small()


async def test_a_narrow_phone_is_wide_enough(browser: Browser, url: str) -> None:
    async with window(browser, url, viewport={"width": 320, "height": 560}) as reader:
        await reader.open("/admin/sample")

        assert 0 == await reader.too_wide()


async def test_the_policy_stands_in_nobodys_way(browser: Browser, url: str) -> None:
    """Under the real policy the browser refuses nothing that a page wants: a refusal would be an error here."""
    async with window(browser, url) as reader:
        await reader.open("/admin/sample")
        await expect(reader.page.locator("#tail li")).to_have_count(2)
        await expect(reader.page.locator("h1")).to_have_text("Room C0423 客服群")


async def test_everything_works_by_keyboard(browser: Browser, url: str) -> None:
    """The first stop is the way past the navigation; a dialog keeps the focus, and gives it back."""
    async with window(browser, url) as reader:
        page = reader.page
        await reader.open("/admin/sample")
        await page.keyboard.press("Tab")
        await expect(page.locator(".skip")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()

        remove = page.get_by_role("button", name="Remove")
        await remove.focus()
        await page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="Remove acme-shop?")
        await expect(dialog).to_be_visible()
        await expect(dialog.get_by_role("button", name="Remove")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(dialog).to_be_hidden()
        await expect(remove).to_be_focused()


async def test_an_act_is_done_when_it_was_asked_about(browser: Browser, url: str) -> None:
    TOLD.clear()
    async with window(browser, url) as reader:
        await reader.open("/admin/sample")
        await reader.page.get_by_role("button", name="Remove").click()
        await reader.page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        assert [] == TOLD
        await reader.page.get_by_role("button", name="Remove").click()
        await reader.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        await expect(reader.page.locator("#notice")).to_have_text("Done.")

    assert [{"name": "acme-shop"}] == TOLD


@pytest.mark.parametrize("scripts", [True, False])
async def test_a_question_may_send_another_form_of_the_page(browser: Browser, url: str, scripts: bool) -> None:
    """What is ticked in a table goes along, with what the question's button says."""
    TOLD.clear()
    async with window(browser, url, java_script_enabled=scripts) as reader:
        await reader.open("/admin/sample")
        await reader.page.get_by_text("Forget", exact=True).first.click()
        await reader.page.locator("button[form=chosen]").click()
        await expect(reader.page.locator("#notice")).to_have_text("Done.")

    assert [{"thing": "7 客", "act": "forget"}] == TOLD


async def test_without_scripts_the_same_can_be_done(browser: Browser, url: str) -> None:
    TOLD.clear()
    async with window(browser, url, language="zh", java_script_enabled=False) as reader:
        page = reader.page
        await reader.open("/admin/sample")
        await expect(page.locator("time").first).to_have_text("2026-11-30 00:53 UTC")
        await page.locator("summary", has_text="Remove").click()
        await page.locator("details.confirm form .danger").click()
        await expect(page.locator("#notice")).to_have_text("完成。")
        await page.locator("summary", has_text="以表格查看").first.click()
        await expect(page.get_by_role("region", name="Messages an hour")).to_be_visible()
        await page.get_by_role("button", name="English").click()
        await expect(page.locator("html")).to_have_attribute("lang", "en")

    assert [{"name": "acme-shop"}] == TOLD


async def test_moments_are_told_in_the_readers_own_zone(browser: Browser, url: str) -> None:
    async with window(browser, url, language="zh", timezone_id="Asia/Shanghai") as reader:
        await reader.open("/admin/sample")

        await expect(reader.page.locator("td time").first).to_have_text("11月30日 08:53")


async def test_the_newest_of_a_live_list_stand_first_and_the_oldest_leave(browser: Browser, url: str) -> None:
    async with window(browser, url) as reader:
        await reader.open("/admin/sample")
        rows = reader.page.locator("#tail li")

        await expect(rows).to_have_count(2)
        assert ["event 2", "event 1"] == [text[:7] for text in await rows.all_inner_texts()]


async def test_a_piece_that_fails_says_so_and_leaves_the_page(browser: Browser, url: str) -> None:
    async with window(browser, url) as reader:
        await reader.open("/admin/sample")
        await reader.page.get_by_text("A piece that fails").click()

        await expect(reader.page.locator("#notice [role=alert]")).to_contain_text("There is nothing here")
        await expect(reader.page.locator("h1")).to_be_visible()


async def test_the_colours_can_be_chosen_and_stay(browser: Browser, url: str) -> None:
    async with window(browser, url, theme="light") as reader:
        await reader.open("/admin/sample")
        light = await reader.page.evaluate("getComputedStyle(document.body).backgroundColor")
        await reader.page.get_by_title("Colours: change to dark").click()
        await reader.open("/admin")

        assert light != await reader.page.evaluate("getComputedStyle(document.body).backgroundColor")


async def test_who_cannot_get_in_is_told_why(browser: Browser) -> None:
    async with (
        console(doorkeeper=FakeDoorkeeper(owner=False)) as url,
        window(browser, url, language="zh", checked=True) as reader,
    ):
        await reader.open("/admin")
        await reader.shoot("no-owner-zh")

        await expect(reader.page.locator("h1")).to_have_text("还没有人可以登录")
        assert [] == await reader.violations()
