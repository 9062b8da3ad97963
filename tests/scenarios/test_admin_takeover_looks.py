"""The console's pages of take-overs in a real browser, while somebody waits on the chat page: in both languages, on a phone,
checked by axe, and up to date by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import expect

from tests.admin_browsing import Window, window
from tests.browsing import chromium
from tests.scenarios.admins import PASSWORD, Admins
from tests.scenarios.stage import Stage, echo, stage

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
channels: {chat: {kind: console}}
"""

pytestmark = pytest.mark.browser


async def says(there: Stage, text: str, *, language: str = "en") -> None:
    """Say something on the chat page, as its page would."""
    body = {
        "room": "private-zoe", "chat_type": "private", "person": {"id": "zoe", "name": "Zoe"},
        "message": {"id": text, "text": text}, "language": language,
    }  # fmt: skip
    async with there.session.post(f"{there.gateway.url}/channels/chat", json=body) as response:
        assert response.status in (200, 202)


async def signed_in(browser: Window, name: str) -> None:
    page = browser.page
    await browser.open("/admin/sign-in")
    await page.fill("input[name=name]", name)
    await page.fill("input[name=password]", PASSWORD)
    await page.locator("main form[action^='/admin/sign-in'] button").first.click()
    await page.wait_for_url("**/admin")


async def right(browser: Window, name: str) -> None:
    """Look at the page as it stands."""
    await browser.shoot(f"takeovers-{name}")
    assert [] == await browser.violations()
    assert 0 == await browser.too_wide()


@pytest.mark.parametrize(("language", "phone"), [("en", False), ("zh", True)])
async def test_an_operator_takes_somebody_over(language: Literal["en", "zh"], phone: bool, tmp_path: Path) -> None:
    """From the list to the hand-back; what the person writes meanwhile appears by itself, and what is being typed stays."""
    texts = {
        "en": ("Where is order 5512?", "/human it is late", "still waiting", "I look into it."),
        "zh": ("订单 5512 到哪里了？", "/人工 太慢了", "还在等", "我来看看。"),
    }[language]
    async with stage(tmp_path, BODY, script=echo) as there, chromium() as browser:
        admins = Admins(there)
        await admins.user("Ann 安")
        async with window(browser, there.gateway.url, language=language, phone=phone, checked=True) as ann:
            await signed_in(ann, "Ann 安")
            await ann.open("/admin/takeovers")
            await right(ann, f"empty-{language}")
            await says(there, texts[0], language=language)
            await says(there, texts[1], language=language)
            async with there.session.get(
                f"{there.gateway.url}/chat/said?room=private-zoe&person=zoe&chat_type=private"
            ):
                pass
            await expect(ann.page.locator("body")).to_be_visible()
            for _ in range(50):
                await ann.open("/admin/takeovers")
                if await ann.page.locator("main table a").count():
                    break
            await right(ann, f"list-{language}")
            await ann.page.locator("main table a").first.click()
            await expect(ann.page.locator("#talk")).to_contain_text(texts[0])
            await right(ann, f"asked-{language}")
            await ann.page.locator("main form[action='/admin/takeovers'] button").click()
            answer = ann.page.locator("textarea[name=text]")
            await answer.fill(texts[3])
            await says(there, texts[2], language=language)
            await expect(ann.page.locator("#talk")).to_contain_text(texts[2], timeout=20_000)
            assert texts[3] == await answer.input_value()
            await right(ann, f"active-{language}")
            await ann.page.locator("main form[action$='/say'] button").click()
            await expect(ann.page.locator("#talk")).to_contain_text(texts[3], timeout=20_000)
            await ann.page.locator("textarea[name=summary]").fill("5512")
            await ann.page.locator("main form[action$='/end'] button.main").click()
            await ann.page.wait_for_url("**/admin/takeovers")
            await ann.open("/admin/takeovers?state=ended")
            await right(ann, f"ended-{language}")
            await ann.page.locator("main table a").first.click()
            await expect(ann.page.locator("main")).to_contain_text("5512")
            await right(ann, f"over-{language}")
