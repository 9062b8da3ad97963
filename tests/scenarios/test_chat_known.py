"""What is remembered, on the chat page in a real browser: shown, corrected, forgotten, kept up with; the gateway is a fake."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.browsing import PHONE, Chat, chromium, scene
from tests.chat import MARKUP, FakeRemembers
from tests.fakes import FakeIntake

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


async def opened(chat: Chat, count: int = 4) -> None:
    await chat.page.locator("#known-open").click()
    await expect(chat.known.locator(".kept li")).to_have_count(count)


@pytest.mark.parametrize(
    ("locale", "title", "headings", "place"),
    [
        (
            "en-US",
            "What is remembered of Alice",
            [
                "Always minded",
                "Profile, for later conversations too",
                "Facts of running conversations",
                "Still to be learned from",
            ],
            "2026 · in private",
        ),
        (
            "zh-CN",
            "记住的关于小艾的内容",
            ["始终留意", "个人资料（以后的对话也会用到）", "进行中对话的事实", "还没有整理的话"],
            "日 · 私聊",
        ),
    ],
)
async def test_what_is_remembered_is_shown_by_kind(
    browser: Browser, locale: str, title: str, headings: list[str], place: str
) -> None:
    """By kind, with day and place, and what is still to be learned from; in both languages, and text never becomes markup."""
    async with scene(browser, FakeIntake(lambda event: "ok"), FakeRemembers(), locale=locale) as chat:
        await opened(chat)
        await expect(chat.known.locator("h2")).to_have_text(title)
        await expect(chat.known.locator("h3 > span:first-child")).to_have_text(headings)
        await expect(chat.known.locator(".kept:not(.waits) .source")).to_contain_text([place] * 3)
        await expect(chat.known.locator(".kept:not(.waits) .text")).to_have_text(
            ["allergic to peanuts", f"likes {MARKUP}", "订单 8821"]
        )
        await expect(chat.known.locator(".waits li")).to_contain_text("My cat is called Momo")


async def test_a_correction_is_made_in_place(browser: Browser) -> None:
    """The field holds the value; Enter saves, Escape leaves it; a refusal is told beside it, and nothing is lost."""
    remembers = FakeRemembers()
    async with scene(browser, FakeIntake(lambda event: "ok"), remembers) as chat:
        keys = chat.page.keyboard
        await opened(chat)
        correct = chat.known.locator("[data-key='pinned0 correct']")
        await expect(correct).to_have_attribute("aria-label", "Correct: allergic to peanuts")
        await correct.focus()
        await keys.press("Enter")
        field = chat.known.locator("form input")
        await expect(field).to_be_focused()
        await expect(field).to_have_value("peanuts")
        await keys.press("Escape")
        await expect(chat.known.locator("form")).to_have_count(0)
        await expect(chat.known).to_be_visible()
        await expect(correct).to_be_focused()

        remembers.refusal = "It holds a password, a key or a token."
        await keys.press("Enter")
        await field.fill("核桃 🥜")
        await keys.press("Enter")
        await expect(chat.known.locator(".wrong")).to_have_text(remembers.refusal)
        await expect(field).to_have_value("核桃 🥜")
        remembers.refusal = ""
        await keys.press("Enter")
        await expect(chat.known.locator(".kept .text").first).to_have_text("likes 核桃 🥜")
        await expect(chat.known.locator(".kept .source").first).to_contain_text("corrected by hand")
        await expect(correct).to_be_focused()
        await chat.known.locator("[data-key='pinned0 correct']").click()
        await chat.known.locator("[data-key='session0 correct']").click()  # one field at a time
        await expect(field).to_have_value("8821")
        chat.errors.clear()  # the browser reports the refusal's status

    assert [("i1", "核桃 🥜", "en")] * 2 == [call[3:] for call in remembers.calls]


async def test_what_was_forgotten_elsewhere_is_gone_when_its_field_is_left(browser: Browser) -> None:
    """The list behind an open field waits for it, and is looked at anew then: nothing stale is left to act on."""
    remembers = FakeRemembers()
    async with scene(browser, FakeIntake(lambda event: "ok"), remembers) as chat:
        await opened(chat)
        await chat.known.locator("[data-key='session0 correct']").click()
        del remembers.kept["f8"]
        remembers.refusal = "That was forgotten already."
        await chat.known.locator("form input").press("Enter")
        await expect(chat.known.locator(".wrong")).to_have_text(remembers.refusal)
        await chat.known.locator("form input").press("Escape")
        await expect(chat.known.locator(".kept:not(.waits) li")).to_have_count(2)
        chat.errors.clear()  # the browser reports the refusal's status


async def test_one_thing_is_forgotten_after_a_question(browser: Browser) -> None:
    """Asked back in its words, and told what stays; declined, it stays all."""
    remembers = FakeRemembers()
    asked: list[str] = []

    async def answer(dialog: Any) -> None:
        asked.append(dialog.message)
        await (dialog.dismiss() if len(asked) == 1 else dialog.accept())

    async with scene(browser, FakeIntake(lambda event: "ok"), remembers) as chat:
        chat.page.on("dialog", answer)
        await opened(chat)
        forget = chat.known.locator("[data-key='session0 forget']")
        await forget.click()
        await expect(chat.known.locator(".kept li")).to_have_count(4)
        await forget.click()
        await expect(chat.known.locator(".kept li")).to_have_count(3)
        await expect(chat.page.locator("#known-close")).to_be_focused()

    assert ["Forget this? “订单 8821” What was said stands in its conversation until a new one begins."] * 2 == asked
    assert [("console", "console", "alice", "f8")] == remembers.calls


async def test_everything_is_forgotten_and_a_new_conversation_begins(browser: Browser) -> None:
    """As `/forget all` in private; the panel says that there is nothing then."""
    intake, remembers = FakeIntake(lambda event: "ok"), FakeRemembers()
    async with scene(browser, intake, remembers, locale="zh-CN") as chat:
        chat.page.on("dialog", lambda dialog: dialog.accept())
        await chat.enter("group")
        await chat.speak_as("bob")
        remembers.waits.clear()
        await opened(chat, 3)
        await chat.known.get_by_role("button", name="全部忘掉").click()
        await expect(chat.known.locator(".nothing")).to_have_text("还没有记住关于小博的任何内容。")
        await chat.enter("private-bob")
        await expect(chat.said).to_contain_text("/new")

    assert [("console", "console", "bob", None)] == remembers.calls
    assert [("/new", "private-bob", "bob")] == [(one.text, one.room, one.sender.user) for one in intake.messages]


async def test_it_keeps_up_with_the_talk(browser: Browser) -> None:
    """After an answer it is read again, and as long as something is still to be learned from; it turns to whoever speaks."""
    intake, remembers = FakeIntake(lambda event: "ok"), FakeRemembers()
    kept = remembers.kept
    remembers.kept, remembers.waits = {}, []
    async with scene(browser, intake, remembers) as chat:
        await chat.page.locator("#known-open").click()
        await expect(chat.known.locator(".nothing")).to_have_text("Nothing is remembered of Alice yet.")
        remembers.waits = FakeRemembers().waits
        await chat.say("My cat is called Momo")
        await expect(chat.known.locator(".waits li")).to_have_count(1)
        remembers.kept, remembers.waits = kept, []
        await expect(chat.known.locator(".kept li")).to_have_count(3)
        await expect(chat.known.locator(".waits")).to_have_count(0)
        await chat.enter("private-bob")
        await expect(chat.known.locator("h2")).to_have_text("What is remembered of Bob")
        await chat.page.locator("#language").click()
        await expect(chat.known.locator("h2")).to_have_text("记住的关于小博的内容")
        await chat.finished(0)


async def test_what_is_wrong_is_said(browser: Browser) -> None:
    """The gateway out of order, or away: the panel says so, and what was shown stays."""
    async with scene(browser, FakeIntake(lambda event: "ok"), FakeRemembers()) as chat:

        async def refuse(route: Any) -> None:
            await route.fulfill(status=503, json={"detail": "out of order"})

        await chat.page.route(re.compile("/chat/memory"), refuse)
        await chat.page.locator("#known-open").click()
        await expect(chat.known.get_by_role("alert")).to_have_text("That did not work: out of order")
        await chat.page.unroute(re.compile("/chat/memory"))
        await chat.page.keyboard.press("Escape")
        await opened(chat)
        await expect(chat.known.locator(".callout")).to_have_count(0)
        await chat.page.route(re.compile("/chat/memory"), lambda route: route.abort())
        chat.page.once("dialog", lambda dialog: dialog.accept())
        await chat.known.locator("[data-key='pinned0 forget']").click()
        await expect(chat.known.get_by_role("alert")).to_contain_text("The gateway can't be reached")
        await expect(chat.known.locator(".kept li")).to_have_count(4)
        chat.errors.clear()


@pytest.mark.parametrize("device", ["desktop", "phone"])
async def test_one_panel_at_a_time(browser: Browser, device: str) -> None:
    """Record and memory take each other's place where both can be reached; closing gives the focus back."""
    options = PHONE if device == "phone" else {}
    async with scene(browser, FakeIntake(lambda event: "ok"), FakeRemembers(), **options) as chat:
        await chat.say("hello")
        saw = (await chat.finished(1)).locator(".saw")
        await saw.click()
        await expect(chat.drawer).to_be_visible()
        if device == "phone":
            await chat.page.keyboard.press("Escape")
        await opened(chat)
        await expect(chat.drawer).to_be_hidden()
        await expect(chat.page.locator("#known-close")).to_be_focused()
        await chat.page.keyboard.press("Escape")
        await expect(chat.known).to_be_hidden()
        await expect(chat.page.locator("#known-open")).to_be_focused()
