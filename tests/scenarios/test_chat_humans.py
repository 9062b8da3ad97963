"""A human takes a conversation of the chat page over, in a real browser: the person sees who speaks, and that the bot is silent.
A program that only gets answers is told that there is nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from gateway.human_notices import told
from tests.browsing import chromium, window
from tests.scenarios.admins import Admins
from tests.scenarios.stage import echo, stage

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
channels:
  chat: {kind: console}
  hook: {kind: webhook, secrets: ["${HOOK}"]}
"""


@pytest.mark.browser
async def test_a_human_speaks_on_the_chat_page(tmp_path: Path) -> None:
    """Asked for, taken over, answered and handed back: all of it comes to the page, once, also after a reload, and is no
    question of the person's. The other room hears nothing of it."""
    async with (
        stage(tmp_path, BODY, script=echo) as there,
        chromium() as browser,
        window(browser, there.gateway.url) as chat,
    ):
        admins = Admins(there)
        await chat.say("/human 退款")
        await expect(chat.page.locator("#log")).to_contain_text(told("asked", "en"))
        (asked,) = (await admins.local("GET", "/takeovers"))["takeovers"]
        await admins.local("POST", "/takeovers", takeover=asked["takeover"])
        log = chat.page.locator("#log")
        await expect(log).to_contain_text(told("begun", "en", name="local"), timeout=15_000)
        await chat.say("are you there?")
        await expect(log).to_contain_text("a human has this conversation and answers")
        await admins.local("POST", f"/takeovers/{asked['takeover']}/messages", text="Yes, **here** 在")
        await expect(log).to_contain_text("Yes, here 在", timeout=15_000)
        await chat.page.reload()
        await expect(log).to_contain_text("Yes, here 在")
        await admins.local("POST", f"/takeovers/{asked['takeover']}/end")
        await expect(log).to_contain_text(told("handed_back", "en", name="local"), timeout=15_000)
        await chat.say("and now?")
        await expect(log).to_contain_text("re: and now?")

        text = await log.inner_text()
        assert 1 == text.count("Yes, here 在")
        assert 1 == text.count(told("begun", "en", name="local"))
        await chat.enter("private-bob")
        await expect(log).not_to_contain_text("Yes, here")


async def test_where_nothing_can_be_said_unasked_nobody_is_promised(tmp_path: Path) -> None:
    """Neither to who asks, nor to an operator who tries; another channel's is not even told that there is such a message."""
    async with stage(tmp_path, BODY, script=echo) as there:
        turn = await there.hook().say("/human")
        admins = Admins(there)
        answer = await admins.ask(await admins.token("operator"), "POST", "/takeovers", {"turn": turn["turn"]})
        elsewhere = await admins.token("operator", "elsewhere")
        unknown = [
            await admins.ask(elsewhere, "POST", "/takeovers", {"turn": number}) for number in (turn["turn"], "00123")
        ]

    assert told("off", "en") == turn["reply"]["text"]
    assert (409, True) == (answer.status, "get answers to what they ask" in answer.text)
    assert [404, 404] == [one.status for one in unknown]
    assert unknown[0].text.replace(turn["turn"], "N") == unknown[1].text.replace("123", "N")
