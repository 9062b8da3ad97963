"""The chat page on a real gateway process with the demo agent: what a newcomer does in the first five minutes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.browsing import PHONE, Chat, chromium, window
from tests.scenarios.world import Gateway, gateway, model_server, write_config

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

CONSOLE = "channels: {console: {kind: console, limits: {per_minute: 1000}}}\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clew(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gateway]:
    """A gateway with the settings of `make run`, but its own data."""
    config = write_config(tmp_path_factory.mktemp("clew"), CONSOLE)
    async with gateway(config) as process:
        yield process


async def ask(chat: Chat, text: str) -> str:
    """Say something and return the answer."""
    answers = await chat.answers.count()
    await chat.say(text)
    answer = await chat.finished(answers + 1)
    return await answer.locator(".text").inner_text()


async def fresh(chat: Chat) -> None:
    """Begin a new conversation in this room: the tests share one gateway."""
    assert await ask(chat, "/new")


async def test_what_was_said_is_remembered_and_shown(browser: Browser, clew: Gateway) -> None:
    """A newcomer says something, asks for it back, and sees in the drawer that it stood in the prompt (A02)."""
    async with window(browser, clew.url) as chat:
        await expect(chat.page.locator("#agent")).to_contain_text("Built-in demo, no model")
        await fresh(chat)
        await ask(chat, "I work on a backup tool in Rust")
        assert "backup tool" in await ask(chat, "What did I say?")
        await chat.page.locator(".saw").last.click()
        window_section = chat.drawer.locator(".part", has_text="The last turns, word for word")
        said = window_section.locator("li", has_text="I work on a backup tool in Rust").first
        await expect(said.locator(".pill")).to_have_text("in")
        current = chat.drawer.locator(".part", has_text="The message to answer").locator("li")
        await expect(current).to_contain_text("What did I say?")
        await expect(current).to_contain_text("the message to answer, never dropped")
        await chat.drawer.locator("summary").click()
        await expect(chat.drawer.locator("details pre")).to_contain_text("helpful assistant")


async def test_a_group_keeps_its_speakers_apart(browser: Browser, clew: Gateway) -> None:
    """Two people speak in one room; the bot knows who said what, and the drawer shows it (C26)."""
    async with window(browser, clew.url) as chat:
        await chat.enter("group")
        await fresh(chat)
        await ask(chat, "My tea is oolong")
        await chat.speak_as("bob")
        await ask(chat, "My tea is sencha")
        answer = await ask(chat, "What did Alice say?")
        assert "oolong" in answer
        await chat.page.locator(".saw").last.click()
        entries = chat.drawer.locator(".entries li")
        await expect(entries.filter(has_text="My tea is oolong").first.locator(".name")).to_have_text("Alice")
        await expect(entries.filter(has_text="My tea is sencha").first.locator(".name")).to_have_text("Bob")


async def test_a_private_room_is_private(browser: Browser, clew: Gateway) -> None:
    """What one person says in private is not known to the other, nor in the group."""
    async with window(browser, clew.url) as chat:
        await fresh(chat)
        await ask(chat, "My secret word is xylophone")
        for room in ("private-bob", "group"):
            await chat.enter(room)
            await fresh(chat)
            assert "xylophone" not in await ask(chat, "What did I say?")
            await chat.page.locator(".saw").last.click()
            await expect(chat.drawer.locator(".entries").first).to_be_visible()
            await expect(chat.drawer).not_to_contain_text("xylophone")


async def test_the_whole_in_chinese_on_a_phone(browser: Browser, clew: Gateway) -> None:
    """The page, the bot's answers and the rules in the drawer speak Chinese to a Chinese browser."""
    async with window(browser, clew.url, locale="zh-CN", **PHONE) as chat:
        await chat.enter("group")
        await fresh(chat)
        await ask(chat, "我喜欢乌龙茶 🍵")
        await chat.speak_as("bob")
        assert "乌龙茶" in await ask(chat, "小艾说了什么？")
        await chat.page.locator(".saw").last.click()
        await expect(chat.drawer).to_contain_text("最近几轮的原话")
        entry = chat.drawer.locator(".entries li", has_text="我喜欢乌龙茶").first
        await expect(entry.locator(".name")).to_have_text("小艾")
        await expect(entry.locator(".pill")).to_have_text("放入")
        await chat.page.keyboard.press("Escape")
        await expect(chat.drawer).to_be_hidden()


async def test_commands_answer_and_offer_no_record(browser: Browser, clew: Gateway) -> None:
    """`/help` lists what can be said, `/memory` what is known; no model saw anything, so there is nothing to open."""
    async with window(browser, clew.url) as chat:
        await fresh(chat)
        assert "/stop" in await ask(chat, "/help")
        await ask(chat, "I like trains")
        async with asyncio.timeout(20):
            while "likes trains" not in await ask(chat, "/memory"):
                pass  # it is learned after the reply
        await expect(chat.page.locator(".saw")).to_have_count(1)


async def test_what_is_remembered_can_be_corrected_and_forgotten(browser: Browser, clew: Gateway) -> None:
    """The panel shows what was learned of the person on the page, what is corrected there is what the bot knows, what the write
    bar refuses is told in the page's language, and what is forgotten is gone; the other person has nothing to do with it."""
    async with window(browser, clew.url, locale="zh-CN") as chat:
        known = chat.known
        await chat.enter("private-bob")
        await chat.page.locator("#known-open").click()
        await expect(known.locator(".nothing")).to_have_text("还没有记住关于小博的任何内容。")
        await ask(chat, "我住在奥斯陆")
        await ask(chat, "我对花生过敏")
        await expect(known.locator(".kept .text")).to_have_text(["对花生过敏", "所在地：奥斯陆"])
        await chat.page.locator(".saw").last.click()
        await expect(chat.drawer.locator(".lessons li")).to_contain_text(
            "我对花生过敏已记下始终留意：allergy（由规则发现）"
        )
        await expect(known).to_be_hidden()
        await chat.page.locator("#known-open").click()
        await known.locator("[data-key='profile0 correct']").click()
        await known.locator("form input").fill("sk-proj-abcdefghijklmnopqrstuvwxyz0123456789")
        await chat.page.keyboard.press("Enter")
        await expect(known.locator(".wrong")).to_have_text("内容含有密码、密钥或令牌。")
        await known.locator("form input").fill("卑尔根")
        await chat.page.keyboard.press("Enter")
        await expect(known.locator(".kept .text")).to_have_text(["对花生过敏", "所在地：卑尔根"])
        told = await ask(chat, "/memory")
        assert ("卑尔根" in told, "奥斯陆" in told) == (True, False)
        chat.page.on("dialog", lambda dialog: dialog.accept())
        await known.locator("[data-key='pinned0 forget']").click()
        await expect(known.locator(".kept .text")).to_have_text(["所在地：卑尔根"])
        await chat.enter("private-alice")
        await expect(known).to_contain_text("小艾")
        await expect(known).not_to_contain_text("卑尔根")
        await chat.enter("private-bob")
        await known.get_by_role("button", name="全部忘掉").click()
        await expect(known.locator(".nothing")).to_be_visible()
        chat.errors.clear()  # the browser reports the refusal's status


async def test_a_reload_keeps_transcript_and_records(browser: Browser, clew: Gateway) -> None:
    """After a reload the talk is there as it was, and its records can still be opened."""
    async with window(browser, clew.url) as chat:
        await fresh(chat)
        before = await ask(chat, "Keep **this** `text` & <that>")
        await chat.page.reload()
        await expect(chat.said.last).to_contain_text("Keep **this** `text` & <that>")
        await expect(chat.answers.last.locator(".text")).to_have_text(re.compile(re.escape(before[:20])))
        await chat.page.locator(".saw").last.click()
        await expect(chat.drawer.locator(".entries li").last).to_contain_text("Keep **this** `text` & <that>")


async def test_a_small_talk_message_is_shown_as_left_out(browser: Browser, clew: Gateway) -> None:
    """The drawer tells what was left out, and by which rule (F5)."""
    async with window(browser, clew.url) as chat:
        await fresh(chat)
        await ask(chat, "I work on a backup tool")
        await ask(chat, "What did I say?")  # its answer asks nothing back, so that thanks answer nothing
        await ask(chat, "ok, thanks")
        await ask(chat, "What did I say?")
        await chat.page.locator(".saw").last.click()
        left_out = chat.drawer.locator("li[data-verdict=out]", has_text="ok, thanks")
        await expect(left_out).to_contain_text("small talk")


async def test_an_answer_can_be_stopped(browser: Browser, clew: Gateway) -> None:
    """Stop ends the answer under way, what was written so far stays, and the room is free again."""
    async with window(browser, clew.url) as chat:
        await fresh(chat)
        for number in range(4):
            await ask(chat, f"{number}" + "一二三四五六七八九十" * 15)
        await chat.say("What did I say?")
        answer = chat.answers.nth(5)
        await expect(answer).to_contain_text("0一二")
        await chat.page.locator("#stop").click()
        await chat.finished(7)
        await expect(answer).not_to_contain_text("3一二")
        await expect(chat.page.locator("#stop")).to_be_hidden()
        assert "me again" in await ask(chat, "me again")


async def test_what_waits_is_answered_together(browser: Browser, clew: Gateway) -> None:
    """Messages sent while an answer is written are answered as one; the page shows that answer once, and its record."""
    async with window(browser, clew.url) as chat:
        await fresh(chat)
        await chat.say("一二三四五六七八九十" * 15)
        await expect(chat.answers.nth(1)).to_contain_text("一二三")
        await chat.say("My cat is called Momo")
        await chat.say("What did I say?")
        await chat.finished(4)
        await expect(chat.answers.nth(2)).to_have_text("Answered together with the next message.")
        await expect(chat.answers.nth(3)).to_contain_text("Momo")
        await chat.page.locator(".saw").last.click()
        current = chat.drawer.locator(".part", has_text="The message to answer").locator("li")
        await expect(current).to_contain_text(["My cat is called Momo", "What did I say?"])


async def test_an_answer_can_be_stopped_before_its_first_word(browser: Browser, tmp_path: Path) -> None:
    """A model that thinks for ever is stopped, and the page says so instead of calling it a failure."""

    async def think(prompt: object) -> str:
        await asyncio.Event().wait()
        return ""

    async with model_server(lambda prompt: think(prompt)) as model:
        agent = f"agents: {{default: {{kind: openai, base_url: '{model.url}', api_key: none, model: test}}}}\n"
        async with gateway(write_config(tmp_path, agent + CONSOLE)) as clew, window(browser, clew.url) as chat:
            await expect(chat.page.locator("#agent")).to_have_text("test · agent default")
            await chat.say("Tell me everything")
            await model.called.wait()
            await chat.page.locator("#stop").click()
            await chat.finished(2)
            await expect(chat.answers.first).to_contain_text("Stopped.")
            await expect(chat.page.locator(".problem")).to_have_count(0)


async def test_an_agent_out_of_reach_is_told_in_the_persons_language(browser: Browser, tmp_path: Path) -> None:
    """The person gets the gateway's short honest notice, and may try again."""
    agent = (
        "agents: {default: {kind: openai, base_url: 'http://127.0.0.1:9/v1', api_key: none, model: test, retries: 0}}\n"
    )
    async with (
        gateway(write_config(tmp_path, agent + CONSOLE)) as clew,
        window(browser, clew.url, locale="zh-CN") as chat,
    ):
        await chat.say("你好")
        await expect(chat.page.locator(".problem")).to_contain_text("请稍后再发一次")
        await expect(chat.page.locator(".retry")).to_be_visible()


async def test_the_token_is_asked_for_once(browser: Browser, tmp_path: Path) -> None:
    """With a token set, the page opens after it was given, in this window and the next."""
    config = write_config(tmp_path, "channels: {console: {kind: console, token: opensesame}}\n")
    async with gateway(config) as clew:
        context = await browser.new_context(locale="en-US")
        page = await context.new_page()
        await page.goto(clew.url)
        await page.get_by_label("Token").fill("guess")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_have_text("That is not the token.")
        await page.get_by_label("Token").fill("opensesame")
        await page.keyboard.press("Enter")
        await expect(page.locator("#rooms button")).to_have_count(3)
        chat = Chat(await context.new_page())
        await chat.page.goto(clew.url)
        await chat.say("hello")
        await chat.finished(1)
        assert chat.errors == []
        await context.close()
