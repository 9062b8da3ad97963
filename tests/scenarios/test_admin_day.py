"""The day of an admin who has never seen Clew, in a real browser, from the console alone: what the issue calls done.

With CLEW_DAY naming a folder it takes the README's pictures there.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.admin_browsing import Window
from tests.browsing import chromium
from tests.emulators.slack.server import slack
from tests.scenarios.admin_day import FORGOT, OF_COURSE, ORDER, Day, day

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

CHANNELS = "Channels"
SIZE = {"width": 1120, "height": 720}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def morning(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Day]:
    async with day(tmp_path_factory.mktemp("day")) as played:
        yield played


@pytest_asyncio.fixture(loop_scope="module")
async def ada(browser: Browser, morning: Day) -> AsyncIterator[Window]:
    async with morning.reader(browser, viewport=SIZE) as reader:
        yield reader


async def picture(page: Page, name: str, *, top: str | None = None) -> None:
    """Take one of the README's pictures, from the piece `top` on."""
    if top is not None:
        await page.locator(top).first.evaluate("node => scrollTo(0, node.getBoundingClientRect().top + scrollY - 70)")
    if folder := os.environ.get("CLEW_DAY"):
        await page.screenshot(path=Path(folder) / f"{name}.png")


def setting(page: Page, name: str) -> Locator:
    """A setting's field."""
    return page.locator(f'[name="v.{name}"]')


async def saved(page: Page, morning: Day) -> None:
    """Save a form of settings, and wait until they are in force."""
    seen = len(morning.stage.gateway.log)
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator("#notice .good")).to_be_visible()
    await morning.stage.gateway.logged("settings changed", after=seen)


async def go(ada: Window, place: str) -> Page:
    """Go to a place of the navigation."""
    await ada.page.get_by_role("navigation", name="Console").get_by_role("link", name=place, exact=True).click()
    await expect(ada.page.locator("[aria-current=page]").first).to_be_visible()
    return ada.page


async def test_she_sees_at_a_glance_what_needs_her(ada: Window) -> None:
    await ada.open("/admin")
    await expect(ada.page.get_by_text("Something needs you.")).to_be_visible()
    await picture(ada.page, "overview")


async def test_she_adds_a_channel_and_gives_one_room_another_agent(ada: Window, morning: Day) -> None:
    """A channel is added, tested and answered on without a restart; a room gets another agent and a smaller window."""
    async with slack() as platform:
        here = platform.workspace("Acme")
        app = platform.app(socket_mode=True)
        bot = here.install(app)
        ann = here.person("Ann")
        careers = here.channel("careers", members=[ann, bot])
        page = await go(ada, CHANNELS)
        await page.get_by_role("link", name="slack", exact=True).click()
        await page.get_by_label("Name (needed)").fill("acme-slack")
        await setting(page, "mode").select_option("socket")
        await setting(page, "bot_token").fill(bot.token)
        await setting(page, "app_token").fill(app.app_token)
        await page.locator("summary").filter(has_text="More settings").click()
        await setting(page, "api_url").fill(platform.api_url)
        await page.get_by_role("button", name="Show what would change").click()
        await expect(page.locator("#tried")).to_contain_text("channels.acme-slack")
        await picture(page, "add-a-channel", top="#tried")
        await page.get_by_role("button", name="Add it").click()
        await page.get_by_label("Room").fill(careers.id)
        await page.locator("main form button.main").click()
        await expect(page.locator("main")).to_contain_text("delivered")
        await picture(page, "test-a-channel")

        await page.locator(".head .acts a").click()
        await page.get_by_label("Room, by").fill(careers.id)
        await page.get_by_role("button", name="Open").click()
        await setting(page, "agent").select_option("careers")
        await page.locator("summary").filter(has_text="memory").click()
        await setting(page, "memory.window.turns").fill("4")
        await page.get_by_label("Why").fill("Careers has an agent of its own")
        await page.get_by_role("button", name="Show what would change").click()
        await expect(page.locator("#tried")).to_contain_text("memory.window.turns")
        await picture(page, "a-room-of-its-own", top="#tried")
        await saved(page, morning)

        await ann.says(careers, f"{bot.mention} Do you have work for a baker?")
        await careers.wait_for(lambda _: any(OF_COURSE in message.shown for message in careers.messages()), 20)
        assert "qwen3" == morning.stage.model.models[-1]


async def test_she_finds_out_why_an_answer_forgot_and_mends_it(ada: Window, morning: Day) -> None:
    page = await go(ada, "Conversations")
    await page.get_by_role("search").get_by_role("searchbox").fill("order number")
    await page.get_by_role("search").get_by_role("button").click()
    await page.locator("main").get_by_text(FORGOT).first.wait_for()
    await picture(page, "search")
    turn = morning.forgot["turn"]
    await ada.open(f"/admin/turns/{turn}")
    await expect(page.locator("main")).to_contain_text("turn_limit")
    await picture(page, "why-it-forgot", top="text=What the model was shown")

    await ada.open("/admin/settings/form?path=channels.web-shop")
    await setting(page, "memory.window.turns").fill("8")
    await page.get_by_label("Why").fill("An answer forgot an order number")
    await saved(page, morning)

    await ada.open(f"/admin/turns/{turn}/replay")
    await page.get_by_label("Begin with").select_option(index=1)
    await page.get_by_role("button", name="Compare").click()
    await expect(page.locator("main ins").first).to_be_visible()
    assert any(ORDER in text for text in await page.locator("main ins").all_inner_texts())
    await picture(page, "replay", top="main .notice")

    hook = morning.stage.hook("web-shop")
    again = await hook.say("And my order number?", sender="ann", name="Ann Berg", conversation="chat-ann")
    assert ORDER in again["reply"]["text"]


async def test_she_takes_an_angry_customer_over_and_hands_them_back(ada: Window, morning: Day) -> None:
    page = await go(ada, "Take-overs")
    await page.locator("main table a").first.click()
    await page.get_by_role("button", name="Take over").click()
    await page.locator("textarea").first.fill("I am Ada. I am sorry, Bo: a new parcel leaves today.")
    await page.get_by_role("button", name="Send").click()
    await morning.bo.until(lambda replies: any("a new parcel leaves today" in reply for reply in replies))
    await expect(page.locator("#talk")).to_contain_text("a new parcel leaves today")
    await picture(page, "take-over")
    assert "Ada" in morning.bo.replies()[-1]

    await page.locator("#back textarea").fill("A new parcel was sent to Bo today.")
    await page.locator("#back button.main").click()
    await expect(page.locator("#notice")).to_be_visible()
    await morning.bo.says("Thank you!")
    await morning.bo.until(lambda replies: OF_COURSE in replies[-1])
    assert "A new parcel was sent to Bo" in str(morning.stage.model.prompts[-1])


async def test_she_erases_somebody_and_keeps_the_receipt(ada: Window, morning: Day) -> None:
    page = await go(ada, "People")
    await page.locator("main input[type=text], main input[type=search]").first.fill("dora")
    await page.get_by_role("button", name="Find").click()
    await page.locator("main table a").first.click()
    await page.get_by_role("button", name="Count what would go").click()
    await page.get_by_role("button", name="Erase").click()
    await page.get_by_role("dialog").get_by_role("button", name="Erase").click()
    await expect(page.locator("main table")).to_be_visible()
    await picture(page, "erased")

    assert [] == [row for row in morning.stage.rows("SELECT text FROM messages") if "Quiet Lane" in str(row)]


async def test_she_reads_what_last_month_cost(ada: Window) -> None:
    page = await go(ada, "Cost and quotas")
    await page.get_by_role("link", name="The month before").click()
    await page.get_by_label("By", exact=True).select_option("agent")
    await page.get_by_role("button", name="Show").click()
    await expect(page.locator("main table").first).to_contain_text("careers")
    await expect(page.locator(".figures strong").first).to_contain_text("EUR")
    await picture(page, "cost")
