"""Last month's cost and the quotas of now, in a real browser over real rows: read, filtered, leafed through, taken as a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from config.loader import load
from config.settings import PriceSettings
from gateway.admin.quotas import QuotaActs
from gateway.admin.usage import UsageActs
from gateway.usage.entries import Cause, Entry, Tokens, call, message
from gateway.usage.reports import UsageReports
from gateway.usage.rows import UsageRows
from gateway.usage.windows import zone
from memory.ids import Ids
from memory.stores.sqlite import SqliteStore
from tests.admin_browsing import window
from tests.admin_pages import NOW_MS, console
from tests.browsing import chromium
from tests.contracts.admin_database import open_admin_database

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

DAY_MS = 86_400_000
SETTINGS = """
prices: {currency: EUR, models: {large: {input: 12.5, cached_input: 1.25, output: 100}, small: {input: 0.05, output: 0.4}}}
agents:
  sales: {kind: openai, base_url: "http://h/v1", model: large, quota: {money: {month: 12}}}
  small: {kind: openai, base_url: "http://h/v1", model: small}
defaults: {agent: sales, quota: {person: {messages: {day: 30}}, soft: 0.5}}
channels:
  acme-shop: {kind: webhook, secrets: [whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=]}
  客服: {kind: console}
""".replace("客服", "support-zh")


def entries(prices: PriceSettings) -> list[Entry]:
    """Two months of talk on two channels, more on workdays, with memory's part and a model that has no price."""
    made, ids = [], Ids(3)
    for back in range(60):
        at_ms = NOW_MS - back * DAY_MS
        for number in range(4 + (back * 7) % 5 if back % 7 not in (0, 1) else 2):
            cause = Cause(
                channel="acme-shop" if number % 3 else "support-zh",
                room="" if number % 2 else "C0423 客服群",
                person=1_000_000_007 + number,
            )
            turn = ids.next()
            made.append(message(turn, cause=cause, agent="sales", at_ms=at_ms))
            for purpose, agent, model, tokens in (
                ("answer", "sales", "large" if back != 3 else "unknown-4", Tokens(5200, 410, cached=3000)),
                ("memory", "small", "small", Tokens(900, 60, estimated=number == 3)),
            ):
                made.append(
                    call(
                        ids.next(), purpose, turn_id=turn, cause=cause, agent=agent, model=model, tokens=tokens,  # type: ignore[arg-type]
                        failed=False, at_ms=at_ms, prices=prices,
                    )
                )  # fmt: skip
    busy = Cause(channel="acme-shop", room="", person=1_000_000_007)
    made += [message(ids.next(), cause=busy, agent="sales", at_ms=NOW_MS) for _ in range(29)]
    return made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    folder: Path = tmp_path_factory.mktemp("usage")
    (folder / "my.yaml").write_text(SETTINGS, "utf-8")
    configuration = load(folder / "my.yaml", {})
    async with (
        open_admin_database(f"sqlite:///{folder / 'usage.db'}") as database,
        SqliteStore(folder / "memory.db", ids=Ids(1), write_turn=asyncio.Lock(), timeout_s=5) as store,
    ):
        await UsageRows(database).write(entries(configuration.settings.prices), zone("UTC"))
        acts = UsageActs(
            reports=UsageReports(database),
            configuration=lambda: configuration,
            persons=store.persons,
            clock=lambda: NOW_MS,
        )
        quotas = QuotaActs(reports=UsageReports(database), configuration=lambda: configuration, clock=lambda: NOW_MS)
        async with console(acts.handlers(), quotas.handlers()) as url:
            yield url


# Each pair of choices meets once: axe takes seconds a page.
@pytest.mark.parametrize(
    ("language", "theme", "phone"),
    [("en", "light", False), ("en", "dark", True), ("zh", "light", True), ("zh", "dark", False)],
)
async def test_cost_can_be_read_by_everybody(
    browser: Browser, url: str, language: Literal["en", "zh"], theme: Literal["light", "dark"], phone: bool
) -> None:
    """In both languages and themes, on a phone too, and by who does not see the chart."""
    async with window(browser, url, language=language, theme=theme, phone=phone, checked=True) as reader:
        await reader.open("/admin/usage")
        await reader.shoot(f"usage-{language}-{theme}-{'phone' if phone else 'desktop'}")

        assert [] == await reader.violations()
        assert 0 == await reader.too_wide()
        assert [] == await reader.too_small()


async def test_last_months_cost_is_two_clicks_away(browser: Browser, url: str) -> None:
    """The month before, by person, from a channel down to its rooms, and as a file; without a script as well."""
    async with window(browser, url, java_script_enabled=False) as reader:
        page = reader.page
        await reader.open("/admin/usage")
        await page.get_by_role("link", name="The month before").click()
        await expect(page.locator(".lead")).to_contain_text("From 2026-10-01 to 2026-10-31")
        await page.get_by_role("link", name="acme-shop", exact=True).click()
        await expect(page.get_by_role("rowheader", name="acme-shop: C0423 客服群")).to_be_visible()
        await page.get_by_label("By", exact=True).select_option("person")
        await page.get_by_role("button", name="Show").click()
        await expect(page.locator(".lead")).to_contain_text("From 2026-10-01 to 2026-10-31")
        await expect(page.get_by_role("rowheader", name="1000000008")).to_be_visible()
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download as CSV").click()

        file = await (await download.value).path()
        rows = file.read_text("utf-8").splitlines()
        assert rows[0].startswith("day,channel,room,person,agent,model,purpose,messages,")
        assert all(row.startswith("2026-10-") and ",acme-shop," in row for row in rows[1:])
        assert "usage-2026-10-01-2026-10-31.csv" == (await download.value).suggested_filename


async def test_who_is_near_a_quota_is_seen_at_once(browser: Browser, url: str) -> None:
    """The person who has used up theirs, and the agent that nearly has."""
    async with window(browser, url) as reader:
        await reader.open("/admin/usage")
        person = reader.page.get_by_role("row", name="person 1000000007 messages a day")
        agent = reader.page.get_by_role("row", name="agent sales money a month")

        await expect(person).to_contain_text("used up")
        await expect(agent).to_contain_text("of 12.00 EUR")
