"""A real browser on the console: languages, themes, sizes, the checker axe, and what a page weighs."""

from __future__ import annotations

import os
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

import axe_playwright_python
from playwright.async_api import Browser, ConsoleMessage, Page, Response

DESKTOP = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
LOCALES = {"en": "en-US", "zh": "zh-CN"}

# WCAG 2.2, 2.5.8: 24 by 24 px for what is pressed, links within text left out.
SMALL = """() => [...document.querySelectorAll("button, summary, input, select, #nav a")].filter((node) => node.checkVisibility())
  .filter((node) => !node.closest(".hidden, .skip") && node.type !== "hidden")
  .filter((node) => { const at = (node.closest("label") ?? node).getBoundingClientRect();
    return at.height < 24 || at.width < 24; })
  .map((node) => node.outerHTML.slice(0, 120))"""

# What a page is about, rather than made of: rows of tables, fields of settings, what was said.
CONTENT = """() => [...document.querySelectorAll("tbody, .fields, .said, pre")]
  .filter((node) => !node.parentElement.closest("tbody, .fields, .said, pre"))
  .reduce((sum, node) => sum + new TextEncoder().encode(node.innerHTML).length, 0)"""

LATER = ("eventsource", "fetch", "xhr")
"""What a page asks for when it is there: as often as one stays on it."""

# All rules; but no style sheet is fetched once more, which only rules need that are off (half of the time).
AXE = 'axe.run({preload: false, resultTypes: ["violations"]})'


@cache
def _axe() -> str:
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")


class Window:
    """A reader's window on the console. Whatever the browser complains about is kept."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.errors: list[str] = []
        self.loaded: list[Response] = []
        self._kept: dict[str, bytes] = {}
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("response", lambda response: self.loaded.append(response))

    def _hear(self, message: ConsoleMessage) -> None:
        # A page that is an error is one, and the browser says so.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.errors.append(f"{self.page.url}: {message.text}")

    async def open(self, path: str) -> Response:
        """Go to a path and return what was answered."""
        self.loaded.clear()
        response = await self.page.goto(self.url + path)
        assert response is not None
        # What the page before had asked for may still have come, and can't be read any more.
        del self.loaded[: self.loaded.index(response)]
        return response

    async def violations(self) -> list[str]:
        """Return what axe finds wrong with the page, serious or not; needs a window with `bypass_csp`."""
        found = await self.page.evaluate(AXE)
        return [
            f"{self.page.url}: {rule['id']} ({rule['impact']}): {node['html'][:160]}"
            for rule in found["violations"]
            for node in rule["nodes"][:3]
        ]

    async def too_wide(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return int(
            await self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        )

    async def too_small(self) -> list[str]:
        """Return what is too small to be pressed."""
        return list(await self.page.evaluate(SMALL))

    async def weights(self) -> tuple[int, int]:
        """Return the bytes of the page and all that it loads: without its content, none of them compressed; with all of it,
        as it travels to who comes for the first time."""
        whole = [one for one in self.loaded if one.status == 200 and one.request.resource_type not in LATER]
        bodies = [await self._body(response) for response in whole]
        content = int(await self.page.evaluate(CONTENT))
        return sum(map(len, bodies)) - content, sum(len(zlib.compress(body)) for body in bodies)

    async def _body(self, response: Response) -> bytes:
        if "immutable" not in response.headers.get("cache-control", ""):
            return await response.body()
        if response.url not in self._kept:
            self._kept[response.url] = await response.body()
        return self._kept[response.url]

    async def shoot(self, name: str) -> None:
        """Take a picture of the whole page, if CLEW_PICTURES names a folder to look through."""
        if folder := os.environ.get("CLEW_PICTURES"):
            await self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


@asynccontextmanager
async def window(
    browser: Browser,
    url: str,
    *,
    language: Literal["en", "zh"] = "en",
    theme: Literal["light", "dark"] = "light",
    phone: bool = False,
    checked: bool = False,
    **more: Any,
) -> AsyncIterator[Window]:
    """A fresh window on the console at `url`; the browser's complaints fail the test. `checked`: axe may run in it."""
    options = {
        **(PHONE if phone else DESKTOP),
        "locale": LOCALES[language],
        "color_scheme": theme,
        "bypass_csp": checked,
    }
    context = await browser.new_context(**{**options, **more})
    context.set_default_timeout(15_000)
    if checked:
        await context.add_init_script(_axe())  # once for all pages: it is half a megabyte
    try:
        opened = Window(await context.new_page(), url)
        yield opened
        assert [] == opened.errors
    finally:
        await context.close()
