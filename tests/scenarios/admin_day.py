"""A shop's gateway on an ordinary morning, for whoever looks through the console: talk in both languages, an answer that forgot,
somebody who is angry, last month's spending."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.async_api import Browser, expect

from tests.admin_browsing import Window, window
from tests.emulators.telegram.emulator import Telegram, telegram
from tests.scenarios.admins import PASSWORD, Admins
from tests.scenarios.platforms import Room, TelegramSide, shows
from tests.scenarios.stage import Stage, said, stage
from tests.scenarios.world import Prompt

ORDER = "8821-4477"
FORGOT = "I am sorry, I can't see an order number in what you told me."
OF_COURSE = "Of course. What else can I do for you?"
HOSTILE = "<img src=x onerror=alert(1)> \"Mallory\" '客服'"

SETTINGS = """
admin: {secret_key: "Y2xldy1jbGV3LWNsZXctY2xldy1jbGV3LWNsZXctISE="}
agents:
  shop: {kind: openai, model: gpt-5-mini, base_url: "MODEL", api_key: a-key-of-the-test, system: You answer questions.}
  careers: {kind: openai, model: qwen3, base_url: "MODEL", api_key: a-key-of-the-test, system: 你帮人找工作。}
defaults: {agent: shop}
prices: {currency: EUR, models: {gpt-5-mini: {input: 0.25, output: 2}, qwen3: {input: 0.1, output: 0.4}}}
channels:
  acme-chat: {TELEGRAM}
  web-shop:
    kind: webhook
    secrets: ["${HOOK}"]
    quota: {person: {messages: {day: 200}}}
    memory: {window: {turns: 2, keep_turns: 1}, facts: {enabled: false}, recall: {fragments: 0}, summary: {enabled: false}}
"""


def answer(prompt: Prompt) -> str:
    """A model that knows what stands in its prompt, and nothing else."""
    asked = said(prompt)
    if "order number" in asked and "?" in asked:
        return f"Your order number is {ORDER}." if ORDER in json.dumps(prompt[:-1]) else FORGOT
    if "订单" in asked:
        return "您的订单已经发货，预计明天送达。📦"
    return OF_COURSE


@dataclass
class Day:
    """The world, with the ids that a reader will look for."""

    stage: Stage
    admins: Admins
    forgot: dict[str, str]  # the turn whose answer forgot
    bo: Room  # where somebody angry has asked for a human

    @asynccontextmanager
    async def reader(self, browser: Browser, name: str = "Ada", **options: object) -> AsyncIterator[Window]:
        """Somebody's window, signed in."""
        async with window(browser, self.stage.gateway.url, **options) as opened:  # type: ignore[arg-type]
            await opened.open("/admin/sign-in")
            await opened.page.locator("[name=name]").fill(name)
            await opened.page.locator("[name=password]").fill(PASSWORD)
            await opened.page.locator("main button").first.click()
            await expect(opened.page.locator("h1")).to_be_visible()
            yield opened


@asynccontextmanager
async def day(folder: Path) -> AsyncIterator[Day]:
    """Play the morning, and make three admins: Ada (owner), Olga (operator of the shop), Vera (viewer)."""
    async with telegram(reads_all=True) as tg, _opened(folder, tg) as (here, side):
        admins = Admins(here)
        await admins.user("Ada", "owner")
        await admins.user("Olga", "operator", "web-shop")
        await admins.user("Vera", "viewer")
        forgot, bo = await _morning(here, side)
        _last_month(here)
        yield Day(here, admins, forgot, bo)


@asynccontextmanager
async def _opened(folder: Path, tg: Telegram) -> AsyncIterator[tuple[Stage, TelegramSide]]:
    side = TelegramSide("acme-chat", tg, tg.add_bot("acme_chat_bot", reads_all=True), webhook=False)
    async with stage(folder, SETTINGS.replace("TELEGRAM", side.settings()), script=answer) as here:
        yield here, side


async def _morning(here: Stage, side: TelegramSide) -> tuple[dict[str, str], Room]:
    hook = here.hook("web-shop")
    ann = {"sender": "ann", "name": "Ann Berg", "conversation": "chat-ann"}
    for text in (
        f"Hello, my order {ORDER} has not arrived yet.",
        "It is for my sister's birthday.",
        "Do you also sell gift wrap?",
        "And cards?",
    ):
        await hook.say(text, **ann)  # type: ignore[arg-type]
    forgot = await hook.say("What was my order number again?", **ann)  # type: ignore[arg-type]
    await hook.say("我的订单什么时候到？", sender="li", name="李雷", conversation="chat-li")
    for sender, name, text in (
        ("maria", "María", "¿Alguien sabe si abren el lunes?"),
        ("li", "李雷", "订单 5502 可以换尺码吗？🙏"),
        ("mallory", HOSTILE, HOSTILE),
    ):
        await hook.say(text, sender=sender, name=name, conversation="room-help", chat_type="group")
    bo = side.private("Bo Lind")
    await bo.says("My parcel is broken, and nobody helps me!")
    await shows(bo, OF_COURSE)
    await bo.says("/human This is the third time I write!")
    await bo.until(lambda replies: any("human" in reply for reply in replies))
    await hook.say("Remember that my address is 12 Quiet Lane.", sender="dora", name="Dora", conversation="chat-dora")
    return forgot, bo


def _last_month(here: Stage) -> None:
    """Put spending into the tables as it would stand there after a month of it."""
    first = datetime.now(tz=UTC).replace(day=1)
    last = first - timedelta(days=1)
    columns = "day, channel, room, person, agent, model, purpose, messages, calls, failed, estimated, unpriced, prompt, cached"
    for number in range(1, last.day + 1):
        for agent, model, share in (("shop", "gpt-5-mini", 3), ("careers", "qwen3", 1)):
            calls = (number * 7 % 11 + 4) * share
            prompt, completion = calls * 2_300, calls * 260
            texts = (f"{last.replace(day=number):%Y-%m-%d}", "web-shop", "", 0, agent, model, "answer")
            numbers = (calls, calls, 0, 0, 0, prompt, 0, completion, prompt // 4 + completion * 2)
            here.sql(f"INSERT INTO usage_days ({columns}, completion, money) VALUES {texts + numbers}")
