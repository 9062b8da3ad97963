"""An owner's work on users, tokens and the log in a real browser, in both languages, on desktop and phone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.admin_browsing import window
from tests.browsing import chromium
from tests.scenarios.admins import PASSWORD, Admins
from tests.scenarios.stage import stage

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

BODY = """
channels:
  acme-shop: {kind: webhook, secrets: ["${HOOK}"]}
"""
WORDS = {
    "en": {
        "name": "Name (needed)", "password": "Password (needed)", "sign_in": "Sign in", "add": "Add", "give": "Give",
        "take": "Take away", "remove": "Remove", "make": "Make it", "revoke": "Revoke",
        "wrong": "do not belong together", "none": "There are no tokens",
    },
    "zh": {
        "name": "用户名 （必填）", "password": "密码 （必填）", "sign_in": "登录", "add": "添加", "give": "授予",
        "take": "收回", "remove": "移除", "make": "创建", "revoke": "撤销",
        "wrong": "用户名或密码不正确", "none": "还没有令牌",
    },
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admins(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Admins]:
    async with stage(tmp_path_factory.mktemp("access"), BODY) as played:
        admins = Admins(played)
        await admins.user("Ada Lovelace", "owner")
        yield admins


@pytest.mark.parametrize(
    ("language", "theme", "phone"), [("en", "light", False), ("zh", "dark", True)], ids=["en", "zh"]
)
async def test_an_owners_work(
    browser: Browser, admins: Admins, language: Literal["en", "zh"], theme: Literal["light", "dark"], phone: bool
) -> None:
    """Sign in (once wrongly), make a user, give and take a role, make and revoke a token, look at the log, remove the user."""
    words, person = WORDS[language], {"en": "Grace Hopper", "zh": "韩梅梅"}[language]
    url = admins.stage.gateway.url
    async with window(browser, url, language=language, theme=theme, phone=phone, checked=True) as reader:
        page = reader.page

        async def look(name: str) -> None:
            await reader.shoot(f"access-{name}-{language}")
            assert [] == await reader.violations(), admins.stage.gateway.log[-3:]
            assert 0 == await reader.too_wide()
            assert [] == await reader.too_small()

        await reader.open("/admin/users")
        await look("sign-in")
        for password in ("a wrong password", PASSWORD):
            await page.get_by_label(words["name"], exact=True).fill("ada lovelace")
            await page.get_by_label(words["password"], exact=True).fill(password)
            await page.get_by_role("button", name=words["sign_in"], exact=True).click()
            if password != PASSWORD:
                await expect(page.get_by_role("alert")).to_contain_text(words["wrong"])
                await look("wrong")
        await expect(page).to_have_url(f"{url}/admin/users")

        await page.get_by_label(words["name"], exact=True).fill(person)
        await page.locator("#f-role").select_option("operator")
        await page.locator("#f-channel").select_option("acme-shop")
        await look("users")
        await page.get_by_role("button", name=words["add"], exact=True).click()
        await expect(page.locator("h1")).to_contain_text(person)
        assert 20 == len(await page.locator("pre code").inner_text())
        await look("made")

        await reader.open("/admin/users")
        await page.get_by_role("link", name=person).click()
        await page.locator("#f-role").select_option("admin")
        await page.get_by_role("button", name=words["give"], exact=True).click()
        await expect(page.get_by_role("status")).not_to_be_empty()
        await expect(page.get_by_role("button", name=words["take"])).to_have_count(2)
        await look("user")
        await page.get_by_role("button", name=words["take"]).first.click()
        await page.get_by_role("dialog").get_by_role("button", name=words["take"]).click()
        await expect(page.get_by_role("button", name=words["take"])).to_have_count(1)

        await reader.open("/admin/tokens")
        await expect(page.get_by_role("heading", name=words["none"])).to_be_visible()
        await look("no-tokens")
        await page.locator("#f-name").fill("nightly export")
        await page.locator("#f-grant").select_option("viewer@")
        await page.get_by_role("button", name=words["make"], exact=True).click()
        assert (await page.locator("pre code").inner_text()).startswith("clew_")
        await look("token")
        await reader.open("/admin/tokens")
        await look("tokens")
        await page.get_by_role("button", name=words["revoke"]).first.click()
        await page.get_by_role("dialog").get_by_role("button", name=words["revoke"], exact=True).click()
        await expect(page.get_by_role("heading", name=words["none"])).to_be_visible()

        await reader.open("/admin/account")
        await look("account")
        await reader.open("/admin/users")
        await page.get_by_role("link", name=person).click()
        await page.get_by_role("button", name=words["remove"], exact=True).click()
        await page.get_by_role("dialog").get_by_role("button", name=words["remove"], exact=True).click()
        await expect(page).to_have_url(f"{url}/admin/users")
        await expect(page.get_by_role("link", name=person)).to_have_count(0)
        await reader.open("/admin/audit")
        await expect(page.locator("tbody tr").first).to_contain_text("users.remove")
        await look("audit")
