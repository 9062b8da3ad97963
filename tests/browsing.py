"""A real browser on the chat page."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, ConsoleMessage, Locator, Page, async_playwright, expect

from tests.chat import FakeRemembers, console
from tests.fakes import FakeIntake
from tests.serving import serving

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP = {"viewport": {"width": 1360, "height": 860}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A headless browser."""
    expect.set_options(timeout=15_000)  # the machine may be busy
    path = shutil.which("chromium")
    assert path is not None, "the browser tests need Debian's chromium: apt-get install chromium fonts-wqy-zenhei"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


class Chat:
    """A person's window on the chat page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self.text = page.locator("#text")
        self.answers = page.locator("#log > .answer:visible")
        self.said = page.locator("#log > .said")
        self.drawer = page.locator("#drawer")
        self.known = page.locator("#known")
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    async def say(self, text: str) -> None:
        await self.text.fill(text)
        await self.text.press("Enter")

    async def enter(self, room: str) -> None:
        await self.page.locator(f"#tab-{room}").click()

    async def speak_as(self, person: str) -> None:
        await self.page.locator(f"#speakers [data-person={person}]").click()

    async def finished(self, count: int) -> Locator:
        """Wait for `count` answers, none of them under way; return the last."""
        await expect(self.answers).to_have_count(count)
        await expect(self.page.locator("#log > .answer[aria-busy=true]")).to_have_count(0)
        return self.answers.last


@asynccontextmanager
async def window(browser: Browser, url: str, *, locale: str = "en-US", **options: Any) -> AsyncIterator[Chat]:
    """A fresh window (its own storage) on the page at `url`; whatever the browser complains about fails the test."""
    context = await browser.new_context(locale=locale, **({**DESKTOP, **options}))
    context.set_default_timeout(15_000)
    chat = Chat(await context.new_page())
    try:
        await chat.page.goto(url)
        await expect(chat.page.locator("#rooms button")).to_have_count(3)
        yield chat
        assert chat.errors == []
    finally:
        await context.close()


@asynccontextmanager
async def scene(
    browser: Browser, intake: FakeIntake, remembers: FakeRemembers | None = None, **options: Any
) -> AsyncIterator[Chat]:
    """A fresh window on the page, with `intake` and `remembers` as the gateway behind it."""
    adapter = console(remembers=remembers)
    async with (
        serving(intake, {"console": adapter}, console=lambda: adapter) as url,
        window(browser, url, **options) as chat,
    ):
        yield chat
