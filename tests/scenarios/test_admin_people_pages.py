"""The console's pages of persons and dead letters in a real browser: what an admin does there on a day, in both languages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.admin_browsing import Window, window
from tests.browsing import chromium
from tests.scenarios.admins import PASSWORD, Admins
from tests.scenarios.remembered import learned
from tests.scenarios.stage import Stage, stage
from tests.scenarios.test_admin_dead_letters import given_up, until_answered
from tests.scenarios.world import in_folder

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
queue: {poll_s: 0.1, attempts: 1}
channels: {hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}, memory: {model: none}}}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("people"), BODY) as running:
        admins = Admins(running)
        await admins.user("Ada", "owner")
        await admins.user("Olga", "operator", "hook")
        yield running


@asynccontextmanager
async def reader(browser: Browser, there: Stage, name: str, **options: object) -> AsyncIterator[Window]:
    """Somebody's window, signed in; axe may run in it."""
    async with window(browser, there.gateway.url, checked=True, **options) as opened:  # type: ignore[arg-type]
        await opened.open("/admin/sign-in")
        await opened.page.locator("[name=name]").fill(name)
        await opened.page.locator("[name=password]").fill(PASSWORD)
        await opened.page.locator("main button").first.click()
        await expect(opened.page.locator("h1")).to_be_visible()
        yield opened


async def looked_at(opened: Window, name: str) -> None:
    """The page is readable: by axe, on the screen that it has."""
    await opened.shoot(name)
    assert [] == await opened.violations()
    assert [] == await opened.too_small()
    assert 0 == await opened.too_wide()


@pytest.mark.parametrize(("language", "phone"), [("en", False), ("zh", True)])
async def test_an_operator_answers_what_was_given_up(
    language: str, phone: bool, browser: Browser, there: Stage
) -> None:
    """Finds it in the list, reads what was asked, and writes the answer; the person gets it."""
    turn = await given_up(there, "Where is my order 订单?")
    async with reader(browser, there, "Olga", language=language, phone=phone) as opened:
        page = opened.page
        await opened.open("/admin/dead-letters")
        await looked_at(opened, f"letters-{language}")
        await page.locator("tbody a").first.click()
        await expect(page.locator(".said").first).to_have_text("Where is my order 订单?")
        await looked_at(opened, f"letter-{language}")
        await page.locator("[name=text]").fill("It leaves today 今天发货")
        await page.locator("form[action$='/answer'] button").click()
        await expect(page.locator("#notice .good")).to_be_visible()
        await looked_at(opened, f"letters-none-{language}")

    answered = await until_answered(there, turn)
    assert answered["reply"]["text"].endswith("It leaves today 今天发货")
    assert "Olga" in answered["reply"]["text"]


async def test_letters_are_ticked_and_set_aside(browser: Browser, there: Stage) -> None:
    turns = [(await given_up(there, f"hello {number}"))["turn"] for number in range(2)]
    async with reader(browser, there, "Olga") as opened:
        page = opened.page
        await opened.open("/admin/dead-letters")
        for turn in turns:
            await page.locator(f"input[name=turn][value='{turn}']").check()
        await page.get_by_role("button", name="Set aside").click()
        await page.get_by_role("dialog").get_by_role("button", name="Set aside").click()
        await expect(page.locator("#notice")).to_contain_text("2 dealt with")


@pytest.mark.parametrize(("language", "phone"), [("en", False), ("zh", True)])
async def test_an_owner_finds_mends_joins_and_erases(
    language: str, phone: bool, browser: Browser, there: Stage
) -> None:
    """From an account to the receipt; a dialog asks before what can't be taken back."""
    storage, me, other = in_folder(there.folder), f"Zoé-{language}", f"second-{language}"
    for sender, text in ((me, "I like rye bread. I live in Oslo."), (other, "I like jam.")):
        await there.hook().say(text, sender=sender, name=sender, conversation=f"c-{sender}")
    await there.hook().say("/forget me", sender=me, name=me, conversation=f"c-{me}")
    await learned(storage)
    async with reader(browser, there, "Ada", language=language, phone=phone) as opened:
        page = opened.page
        await opened.open(f"/admin/people?who={other}")
        number = await page.locator("tbody th code").inner_text()
        await opened.open("/admin/privacy-requests")
        await looked_at(opened, f"requests-{language}")
        await opened.open("/admin/people")
        await looked_at(opened, f"people-{language}")
        await page.locator("[name=who]").fill(me)
        await page.locator("main form[role=search] button").click()
        await page.locator("tbody a").click()
        await expect(page.locator("#known")).to_contain_text("I like rye bread. I live in Oslo.")
        await looked_at(opened, f"person-{language}")

        await page.locator("[name=value]").fill("Bergen")
        await page.locator("select[name=thing]").select_option(label=await _option(opened, "Oslo"))
        await page.locator("form[action$='/correct'] button").click()
        await expect(page.locator("#known")).to_contain_text("Bergen")
        await page.locator("[name=other]").fill(number)
        await page.locator("form[action$='/link'] button").last.click()
        await confirmed(opened, "Join|合并", picture=f"joining-{language}")
        await expect(page.locator("#known")).to_contain_text("jam")
        await confirmed(opened, "Undo|撤销")
        await expect(page.locator("#known")).not_to_contain_text("jam")

        await page.locator("form[action$='/erase'] button").first.click()
        await confirmed(opened, "Erase|删除", picture=f"erasing-{language}")
        await expect(page.locator("h1")).to_contain_text(re.compile("is erased|已删除"))
        await looked_at(opened, f"receipt-{language}")
        await opened.open(f"/admin/people?who={me}")
        await expect(page.locator("tbody")).to_have_count(0)
        await opened.open("/admin/privacy-requests")
        await expect(page.locator("tbody")).to_have_count(0)


async def confirmed(opened: Window, words: str, *, picture: str | None = None) -> None:
    """Press a button, look at what it asks, and press it once more."""
    name = re.compile(f"^({words})$")
    await opened.page.get_by_role("button", name=name).click()
    dialog = opened.page.get_by_role("dialog")
    await expect(dialog).to_be_visible()
    if picture is not None:
        await looked_at(opened, picture)
    await dialog.get_by_role("button", name=name).click()


async def _option(opened: Window, word: str) -> str:
    options = await opened.page.locator("select[name=thing] option").all_inner_texts()
    return next(text for text in options if word in text)
