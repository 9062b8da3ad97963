"""The chat page in a real browser, with the gateway's side in the test's hands: streams and faults."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from adapters.base import StreamEvent
from tests.browsing import Chat, chromium, scene
from tests.fakes import FakeIntake

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


def turn_of(intake: FakeIntake, number: int = -1) -> str:
    return list(intake.turns)[number]


async def until_said(intake: FakeIntake, chat: Chat, text: str) -> str:
    """Say something; return its turn once the page follows it."""
    async with chat.page.expect_request(re.compile(r"/events\?token=")):
        await chat.say(text)
    return turn_of(intake)


async def test_a_reply_grows_is_reset_and_ends(browser: Browser) -> None:
    """What is shown is always the text so far; a reset replaces it; the end takes the caret away and offers the ledger."""
    intake = FakeIntake()
    async with scene(browser, intake) as chat:
        turn = await until_said(intake, chat, "hello")
        await expect(chat.answers.last).to_contain_text("Thinking")
        await intake.delta(turn, "Hel")
        await intake.delta(turn, "lo")
        await expect(chat.answers.last.locator(".text")).to_have_text("Hello")
        await expect(chat.answers.last).to_have_attribute("aria-busy", "true")
        await intake.reset(turn, "Good ")
        await intake.delta(turn, "day")
        await expect(chat.answers.last.locator(".text")).to_have_text("Good day")
        await expect(chat.page.locator(".saw")).to_have_count(0)
        await intake.end(turn)

        answer = await chat.finished(1)
        await expect(answer.locator(".text")).to_have_text("Good day")
        await expect(answer.locator(".saw")).to_be_visible()
        await expect(chat.page.locator("#announce")).to_have_text("Clew → Alice: Good day")


async def test_a_failed_turn_says_why_and_can_be_tried_again(browser: Browser) -> None:
    """The gateway's words are shown; trying again is a new message with the same text."""
    intake = FakeIntake()
    async with scene(browser, intake) as chat:
        turn = await until_said(intake, chat, "hello")
        await intake.delta(turn, "Hel")
        await intake.end(turn, code="agent_timeout")
        problem = chat.page.locator(".problem")
        await expect(problem).to_contain_text("the agent could not answer")
        intake.answer = lambda event: "here I am"
        await problem.get_by_role("button").click()
        await expect(chat.answers.last).to_contain_text("here I am")

    first, second = intake.messages
    assert (first.text, second.text) == ("hello", "hello")
    assert first.message_id != second.message_id


async def test_what_was_not_taken_is_kept_and_sent_again_under_its_id(browser: Browser) -> None:
    """An overloaded gateway is told plainly; trying again can't be answered twice."""
    intake = FakeIntake(lambda event: "here I am")
    intake.overloaded = True
    async with scene(browser, intake) as chat:
        await chat.say("hello")
        await expect(chat.page.locator(".problem")).to_contain_text("send the same request again later")
        intake.overloaded = False
        await chat.page.locator(".retry").click()
        await expect(chat.answers.last).to_contain_text("here I am")
        assert ["503" in error for error in chat.errors] == [True]  # the browser's own line about it
        chat.errors.clear()

    assert len(intake.messages) == 1


class NotingIntake(FakeIntake):
    """Notes from where its readers go on."""

    def __init__(self) -> None:
        super().__init__()
        self.afters: list[int | None] = []

    def events(self, channel: str, turn_id: str, *, after: int | None = None) -> AsyncGenerator[StreamEvent, None]:
        self.afters.append(after)
        return super().events(channel, turn_id, after=after)


async def test_a_lost_connection_is_taken_up_where_it_broke(browser: Browser) -> None:
    """The page says so, comes again with the last event's id, and the text is whole."""
    intake = NotingIntake()
    async with scene(browser, intake) as chat:
        broken, mended = asyncio.Event(), asyncio.Event()

        async def break_off(route: Any) -> None:
            if not broken.is_set():
                broken.set()
                body = 'retry: 10\n\nid: 1\nevent: delta\ndata: {"text": "Hel"}\n\n'  # and the connection ends
                await route.fulfill(status=200, headers={"Content-Type": "text/event-stream"}, body=body)
            else:
                await mended.wait()
                await route.continue_()

        await chat.page.route(re.compile(r"/events\?token="), break_off)
        turn = await until_said(intake, chat, "hello")
        await intake.delta(turn, "Hel")
        await intake.delta(turn, "lo")
        await expect(chat.answers.last).to_contain_text("Connection lost")
        mended.set()
        await expect(chat.answers.last.locator(".text")).to_have_text("Hello")
        await intake.end(turn)
        await chat.finished(1)

    assert [1] == intake.afters


async def test_a_stream_refused_for_now_is_asked_for_again(browser: Browser) -> None:
    """A 503 in the middle of a swap ends nothing: the page looks at the turn, and follows it anew."""
    intake = FakeIntake()
    async with scene(browser, intake) as chat:
        refused = asyncio.Event()

        async def refuse_once(route: Any) -> None:
            if refused.is_set():
                await route.continue_()
            else:
                refused.set()
                await route.fulfill(status=503, body="")

        await chat.page.route(re.compile(r"/events\?token="), refuse_once)
        turn = await until_said(intake, chat, "hello")
        await intake.delta(turn, "Hello")
        await expect(chat.answers.last.locator(".text")).to_have_text("Hello")
        await intake.end(turn)
        await chat.finished(1)
        chat.errors.clear()  # the browser's own line about the 503


async def test_a_turn_the_gateway_has_forgotten_is_given_up(browser: Browser) -> None:
    """After the gateway lost its data, an open message says so instead of waiting for ever."""
    intake = FakeIntake()
    async with scene(browser, intake) as chat:
        await until_said(intake, chat, "hello")
        intake.turns.clear()
        await chat.page.reload()
        await expect(chat.page.locator(".problem")).to_contain_text("no longer knows this message")
        chat.errors.clear()


async def test_a_reload_goes_on_with_what_was_under_way(browser: Browser) -> None:
    """An answer that was growing when the page was left grows on, from its beginning, and the transcript is there."""
    intake = FakeIntake()
    async with scene(browser, intake) as chat:
        turn = await until_said(intake, chat, "你好")
        await intake.delta(turn, "你")
        await expect(chat.answers.last.locator(".text")).to_have_text("你")
        await chat.page.reload()
        await expect(chat.said).to_have_text([re.compile("你好$")])
        await intake.delta(turn, "好 👋")
        await intake.end(turn)
        answer = await chat.finished(1)
        await expect(answer.locator(".text")).to_have_text("你好 👋")

    assert len(intake.messages) == 1


async def test_messages_answered_together_show_one_answer(browser: Browser) -> None:
    """What was collected into one turn has its answer once, under the last of them."""
    intake = FakeIntake()
    async with scene(browser, intake) as chat:
        first = await until_said(intake, chat, "one")
        second = await until_said(intake, chat, "two")
        await expect(chat.answers).to_have_text(["Thinking…", "Waiting for its turn…"])
        view = intake.turns[second].view
        intake.turns[second].view = msgspec.structs.replace(view, part_of=first)
        for turn in (first, second):
            await intake.delta(turn, "both")
            await intake.end(turn)
        await chat.finished(2)

        await expect(chat.page.locator(".answer .text")).to_have_count(1)
        await expect(chat.answers.first).to_have_text("Answered together with the next message.")
        await expect(chat.answers.last.locator(".text")).to_have_text("both")


async def test_more_messages_than_connections_are_all_answered(browser: Browser) -> None:
    """A browser has six connections to a host: streams that wait never keep a message from being sent."""
    intake = FakeIntake()
    async with scene(browser, intake) as chat:
        for number in range(9):
            await chat.say(f"message {number}")
        await expect(chat.page.locator(".answer[data-status=accepted]")).to_have_count(9)
        for turn in list(intake.turns):
            await intake.delta(turn, "ok")
            await intake.end(turn)
        await chat.finished(9)

    assert [f"message {number}" for number in range(9)] == [event.text for event in intake.messages]
