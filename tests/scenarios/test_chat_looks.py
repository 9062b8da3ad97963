"""The chat page for everybody: both languages, light and dark, phone and desktop, keyboard and screen reader."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.browsing import PHONE, chromium, scene
from tests.chat import FakeRemembers
from tests.fakes import FakeIntake

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

REPLY = """You said: **a backup tool**, with `code`.

> a quote

[a link](https://example.org)

| a | b |
|---|---|
| 1 | 2 |
"""

UNNAMED = """() => [...document.querySelectorAll("button, input, textarea, [role=tab], dialog, [role=log], summary")]
  .filter((node) => node.checkVisibility() || node.tagName === "DIALOG")
  .filter((node) => !(node.ariaLabel || node.textContent.trim() || node.labels?.length || node.hasAttribute("aria-labelledby")))
  .map((node) => node.outerHTML)"""

# WCAG 2.2, 1.4.3: 4.5 to 1 for text. Colours are painted to be read, whatever their notation.
PALE = """() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const brush = canvas.getContext("2d", { willReadFrequently: true });
  const paint = (under, colour) => {
    brush.fillStyle = `rgb(${under.join(",")})`; brush.fillRect(0, 0, 1, 1);
    brush.fillStyle = colour; brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (node) => {
    const chain = [];
    for (let at = node; at; at = at.parentElement) chain.unshift(getComputedStyle(at).backgroundColor);
    return chain.reduce(paint, [255, 255, 255]);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const skip = !walker.currentNode.data.trim() || !node.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    if (skip || node.closest("[aria-hidden=true], .hidden, .skip, .noscript")) continue;
    const under = ground(node);
    const [a, b] = [light(paint(under, getComputedStyle(node).color)), light(under)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${node.tagName}.${node.className} ${walker.currentNode.data.slice(0, 40)}`);
  }
  return found;
}"""

SMALL = """() => [...document.querySelectorAll("button, summary, a[href], input")].filter((node) => node.checkVisibility())
  .map((node) => [node.closest("label") ?? node, node]).filter(([area, node]) => !node.closest(".skip, .text, #skip"))
  .filter(([area]) => area.getBoundingClientRect().height < 24 || area.getBoundingClientRect().width < 24)
  .map(([, node]) => node.outerHTML)"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """Where pictures go: a folder to look through if CLEW_PICTURES names one."""
    folder = Path(os.environ.get("CLEW_PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", ["desktop", "phone"])
@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
async def test_every_look_can_be_read_and_touched(
    browser: Browser, album: Path, locale: str, device: str, scheme: str
) -> None:
    """In each language, theme and size: contrast 4.5 to 1, nothing wider than the screen, targets of 24 pixels, all named."""
    options = PHONE if device == "phone" else {}
    intake, remembers = FakeIntake(lambda event: REPLY), FakeRemembers()
    remembers.refusal = "Not that. 不行。"
    async with scene(browser, intake, remembers, locale=locale, color_scheme=scheme, **options) as chat:

        async def look(name: str) -> None:
            await chat.page.screenshot(path=album / f"{name}-{locale[:2]}-{device}-{scheme}.png")
            assert [] == await chat.page.evaluate(PALE)
            assert [] == await chat.page.evaluate(UNNAMED)
            assert [] == await chat.page.evaluate(SMALL)
            assert await chat.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

        await look("empty")
        await chat.enter("group")
        await chat.say("I am Alice, and I work on a backup tool in Rust 🦀")
        await chat.finished(1)
        await chat.speak_as("bob")
        await chat.say("一段很长的中文" * 30 + "x" * 300)
        answer = await chat.finished(2)
        await look("talk")
        await answer.locator(".saw").click()
        await expect(chat.drawer.locator(".entries")).to_have_count(5)
        await look("drawer")
        await chat.drawer.locator("summary").scroll_into_view_if_needed()
        await look("ledger")
        await chat.drawer.locator(".lessons").scroll_into_view_if_needed()
        await look("learned")
        await chat.page.keyboard.press("Escape")
        await chat.page.locator("#known-open").click()
        await expect(chat.known.locator(".kept li")).to_have_count(4)
        await look("known")
        await chat.known.locator("[data-key='profile0 correct']").click()
        await chat.page.keyboard.press("Enter")
        await expect(chat.known.locator(".wrong")).to_have_text("Not that. 不行。")
        await look("correct")
        chat.errors.clear()  # the browser reports the refusal's status


async def test_the_browsers_language_is_spoken_and_can_be_switched(browser: Browser) -> None:
    """English or Chinese by the browser; a switch beats it, and is remembered; the drawer follows."""
    async with scene(browser, FakeIntake(lambda event: REPLY), locale="zh-CN") as chat:
        root = chat.page.locator("html")
        await expect(root).to_have_attribute("lang", "zh-Hans")
        await expect(chat.page.locator("#send")).to_have_text("发送")
        await expect(chat.page.locator("#tab-private-alice .label")).to_have_text("小艾")
        await chat.say("你好")
        await (await chat.finished(1)).locator(".saw").click()
        await expect(chat.drawer.locator("h2")).to_have_text("模型看到了什么")
        await chat.text.fill("draft")
        await chat.page.locator("#language").click()
        await expect(chat.drawer.locator("h2")).to_have_text("What the model saw")
        await expect(chat.drawer.locator(".entries .pill").first).to_have_text("in")
        await expect(chat.text).to_have_value("draft")
        await chat.page.reload()
        await expect(root).to_have_attribute("lang", "en")
        await expect(chat.page.locator("#send")).to_have_text("Send")
        await expect(chat.page.locator("#tab-private-alice .label")).to_have_text("Alice")


async def test_both_languages_say_everything(browser: Browser) -> None:
    """Every key has its words, with the same blanks, in English and Chinese."""
    async with scene(browser, FakeIntake(lambda event: REPLY)) as chat:
        words = await chat.page.evaluate("async () => (await import('/chat/static/words.js')).words")

    def blanks(text: str) -> set[str]:
        return {part.split("}")[0] for part in text.split("{")[1:]}

    assert words["en"].keys() == words["zh"].keys()
    assert [] == [key for key, text in words["en"].items() if blanks(text) != blanks(words["zh"][key])]


async def test_the_theme_can_be_chosen(browser: Browser) -> None:
    """The system's theme at first; light and dark by choice, remembered and there before the first paint."""
    async with scene(browser, FakeIntake(lambda event: REPLY), color_scheme="dark") as chat:
        ground = "getComputedStyle(document.body).backgroundColor"
        dark = await chat.page.evaluate(ground)
        await chat.page.locator("#theme").click()
        assert await chat.page.evaluate(ground) != dark
        await expect(chat.page.locator("#theme")).to_have_attribute("aria-label", "Theme: light")
        await chat.page.reload()
        assert await chat.page.locator("html").get_attribute("data-theme") == "light"
        await chat.page.locator("#theme").click()
        assert await chat.page.evaluate(ground) == dark


async def test_everything_works_by_keyboard(browser: Browser) -> None:
    """Rooms by arrows, speakers by arrows, send by Enter, the drawer opened and closed with the focus where it was."""
    async with scene(browser, FakeIntake(lambda event: REPLY)) as chat:
        page, keys = chat.page, chat.page.keyboard
        await expect(chat.text).to_be_focused()
        await page.locator(".skip").focus()
        await expect(page.locator(".skip")).to_be_in_viewport()
        await keys.press("Enter")
        await expect(chat.text).to_be_focused()
        await page.locator(".skip").focus()
        for _ in range(4):
            await keys.press("Tab")
        await expect(page.locator("#tab-private-alice")).to_be_focused()
        await keys.press("ArrowUp")
        await expect(page.locator("#tab-group")).to_be_focused()
        await expect(page.locator("#tab-group")).to_have_attribute("aria-selected", "true")
        await page.locator("#speakers [value=alice]").focus()
        await keys.press("ArrowRight")
        await expect(page.locator("#speakers [value=bob]")).to_be_checked()
        await keys.press("Tab")
        await expect(chat.text).to_be_focused()
        await keys.type("hello")
        await keys.press("Enter")
        await expect(chat.said.last).to_have_attribute("data-person", "bob")
        saw = (await chat.finished(1)).locator(".saw")
        await saw.focus()
        await keys.press("Enter")
        await expect(page.locator("#drawer-close")).to_be_focused()
        await keys.press("Escape")
        await expect(chat.drawer).to_be_hidden()
        await expect(saw).to_be_focused()


async def test_a_command_is_offered_not_sent(browser: Browser) -> None:
    """The hints fill the field; the person sends."""
    async with scene(browser, FakeIntake(lambda event: REPLY)) as chat:
        await expect(chat.page.locator("#commands button")).to_have_text(
            ["/help", "/new", "/memory", "/human", "/agent"]
        )
        await chat.page.locator("#commands button", has_text="/memory").click()
        await expect(chat.text).to_have_value("/memory")
        await expect(chat.text).to_be_focused()
        await expect(chat.said).to_have_count(0)


async def test_motion_is_reduced_where_it_is_asked(browser: Browser) -> None:
    """Nothing moves for somebody who asks for that."""
    async with scene(browser, FakeIntake(), reduced_motion="reduce") as chat:
        await chat.say("hello")
        await expect(chat.page.locator(".dots")).to_be_visible()
        names = "[...document.querySelectorAll('*')].map((node) => getComputedStyle(node).animationName)"
        assert {"none"} == set(await chat.page.evaluate(names))


async def test_a_reader_who_scrolled_back_is_left_there(browser: Browser) -> None:
    """New text does not pull the page away from what is being read; a button leads to the newest."""
    intake = FakeIntake(lambda event: "line\n\n" * 40)
    async with scene(browser, intake) as chat:
        await chat.say("first")
        await chat.finished(1)
        intake.answer = lambda event: None
        async with chat.page.expect_request(lambda request: "/events" in request.url):
            await chat.say("second")
        scroller = chat.page.locator("#scroller")
        await scroller.evaluate("(node) => { node.scrollTop = 0; }")
        turn = list(intake.turns)[-1]
        await intake.delta(turn, "more\n\n" * 20)
        await intake.end(turn)
        await chat.finished(2)
        assert await scroller.evaluate("(node) => node.scrollTop") == 0
        await chat.page.locator("#newest").click()
        await expect(chat.page.locator("#newest")).to_be_hidden()
        await expect(chat.answers.last.locator(".saw")).to_be_in_viewport()
