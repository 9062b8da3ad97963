"""The page of cost and quotas: what it shows to whom."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from gateway.admin.acts import usage as acts
from gateway.admin.operations import Acting, FieldProblem, Handlers, Invalid, Stream
from gateway.admin.rights import Role
from tests.admin_pages import FakeDoorkeeper, admin, console

HOSTILE = '<script>alert("客服")</script>'


def line(key: str, money: str | None = "0.000650", **fields: Any) -> acts.SpentLine:
    return acts.SpentLine(**{
        "key": key, "messages": 1200, "calls": 3, "failed": 1, "estimated": 0, "unpriced": 0, "prompt_tokens": 1000,
        "cached_tokens": 500, "completion_tokens": 200, "money": money, **fields,
    })  # fmt: skip


@dataclass
class Spent:
    """Acts that tell what they were given to tell; `asked` keeps the requests."""

    lines: tuple[acts.SpentLine, ...] = ()
    total: acts.SpentLine = field(default_factory=lambda: line("", "12345.678901"))
    quotas: tuple[acts.QuotaLine, ...] = ()
    values: tuple[float, ...] = (0.0001, 0.0005)
    asked: list[Any] = field(default_factory=list)

    def handlers(self) -> Handlers:
        return {
            acts.SUMMARY: self.summary,
            acts.SERIES: self.series,
            acts.QUOTAS: self.state,
            acts.EXPORT: self.export,
        }

    async def summary(self, acting: Acting, asked: acts.SpentAsked) -> acts.SpentTold:
        self.asked.append(asked)
        if asked.since == "2026-02-30":
            problem = FieldProblem(path="since", value="2026-02-30", problem="is no day", remedy="write it otherwise")
            raise Invalid("since: is no day", problems=(problem,))
        return acts.SpentTold(
            currency="EUR", since="2026-11-01", until="2026-11-30", lines=self.lines, total=self.total, next="50"
        )

    async def series(self, acting: Acting, asked: acts.SeriesAsked) -> acts.SeriesTold:
        self.asked.append(asked)
        named = acts.SeriesLine(key=HOSTILE if asked.by != "purpose" else "memory", values=self.values)
        others = acts.SeriesLine(key=None, values=(0.0, 0.0))
        return acts.SeriesTold(currency="EUR", days=("2026-11-29", "2026-11-30"), series=(named, others))

    async def state(self, acting: Acting, asked: acts.QuotasAsked) -> acts.QuotasTold:
        return acts.QuotasTold(currency="EUR", lines=self.quotas)

    async def export(self, acting: Acting, asked: acts.ExportAsked) -> Stream:
        self.asked.append(asked)

        async def pieces() -> Any:
            yield b"day,channel\n"

        return Stream(pieces=pieces(), media="text/csv", filename="usage.csv")


async def page(
    spent: Spent, query: str = "", *, status: int = 200, path: str = "", chinese: bool = False, role: Role = "viewer"
) -> str:
    headers = {"Accept-Language": "zh-CN"} if chinese else {}
    keeper = FakeDoorkeeper(actor=admin(role))
    async with (
        console(spent.handlers(), doorkeeper=keeper) as url,
        aiohttp.ClientSession(headers=headers) as session,
        session.get(f"{url}/admin/usage{path}{query}") as response,
    ):
        assert status == response.status
        return await response.text()


def told(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


async def test_what_was_spent_is_shown() -> None:
    """Sums for people, the table of whom, and a chart in a unit in which something is seen; every word is escaped."""
    shown = await page(Spent(lines=(line("shop"), line(HOSTILE, None))))
    words = told(shown)

    assert "12,345.68 EUR" in words
    assert "0.000650 EUR" in words
    assert "unknown" in words
    assert "thousandths of a EUR" not in words
    assert "millionths of a EUR" in words
    assert "2026-11-30 · &lt;script&gt;" in shown
    assert "<script>alert" not in shown
    assert (
        'href="/admin/usage?by=room&amp;measure=money&amp;since=2026-11-01&amp;until=2026-11-30&amp;channel=shop"'
        in shown
    )
    assert "after=50" in shown
    assert "1,200" in words


@pytest.mark.parametrize(("values", "unit"), [((0.2, 3.0), "EUR"), ((0.002, 0.02), "thousandths of a EUR")])
async def test_small_money_is_seen(values: tuple[float, ...], unit: str) -> None:
    """A chart of hundredths would show nothing of what a message costs."""
    assert f"Day by day {unit}" in told(await page(Spent(lines=(line("shop"),), values=values)))


@pytest.mark.parametrize("by", ["channel", "room", "person", "agent", "model", "purpose", "day"])
@pytest.mark.parametrize("chinese", [False, True], ids=["en", "zh"])
async def test_by_everything(by: str, *, chinese: bool) -> None:
    """Each way to group says what its lines are; nobody and nowhere have words, too."""
    key = {"purpose": "memory", "person": "", "room": "", "model": ""}.get(by, "x")
    spent = Spent(lines=(line(key, channel="shop" if by == "room" else None, name="webhook ada"),))
    shown = told(await page(spent, f"?by={by}&measure=tokens", chinese=chinese))

    assert ("channel" if by == "day" else by) == spent.asked[1].by
    assert ("词元/天" if chinese else "tokens a day") in shown
    nobody = {
        "person": ("nobody known, or erased", "未知或已删除的人"),
        "room": ("shop: private talk", "shop: 私聊"),
        "purpose": ("memory", "记忆"),
    }
    assert nobody.get(by, ("webhook ada", "webhook ada"))[chinese] in shown


@pytest.mark.parametrize(
    ("chinese", "words"), [(False, "embedder (recall by meaning)"), (True, "向量模型（按语义回忆）")]
)
async def test_what_memory_costs_has_a_name(words: str, *, chinese: bool) -> None:
    """Its embedder is no agent; and what is known of people is of no channel, which nothing is to be seen below."""
    shown = told(await page(Spent(lines=(line("(embedder)"),)), "?by=agent", chinese=chinese))
    assert words in shown
    for by, none in (("channel", None), ("room", "")):
        everywhere = await page(Spent(lines=(line("", channel=none),)), f"?by={by}", chinese=chinese)
        assert ("不属于任何渠道：关于人的记忆" if chinese else "no channel: what is known of people") in everywhere
        assert "channel=&amp;" not in everywhere


async def test_what_makes_no_sense_is_said() -> None:
    """And this month is shown in its place; an unknown grouping is the first one."""
    spent = Spent(lines=(line("shop"),))
    shown = told(await page(spent, "?since=2026-02-30&by=nonsense&measure=nonsense"))

    assert "since 2026-02-30 : is no day; write it otherwise" in shown
    assert ["channel", "channel"] == [one.by for one in spent.asked[:2]]
    assert spent.asked[1].since is None


async def test_empty_states_teach() -> None:
    """What will stand here, and how quotas are set."""
    shown = told(await page(Spent()))

    assert "As soon as somebody is answered, it stands here" in shown
    assert "Nobody is near a quota now" in shown


async def test_who_is_near_a_quota_stands_out() -> None:
    """With what it is of, and when it begins anew."""
    quota = acts.QuotaLine(
        kind="room", channel="shop", name=HOSTILE, measure="money", span="month", used="0.90", most="1.00", share=0.9,
        over=False, ends="2026-12-01T00:00:00+08:00",
    )  # fmt: skip
    over = acts.QuotaLine(
        kind="person", channel=None, name="7", measure="messages", span="day", used="9", most="9", share=1.0, over=True,
        ends="2026-12-01T00:00:00+08:00",
    )  # fmt: skip
    unpriced = line("", None, unpriced=3, estimated=2)
    words = told(await page(Spent(quotas=(over, quota), total=unpriced)))

    assert "person 7 messages a day 9 of 9 used up 2026-11-30 16:00 UTC" in words
    assert "money a month 0.9000 EUR of 1.00 EUR nearly" in words
    assert "3 calls are not in the sums of money" in words
    assert "Of 2 calls the tokens were not reported" in words


@pytest.mark.parametrize(("role", "links"), [("viewer", []), ("operator", ["7", "7"])])
async def test_persons_lead_to_who_they_are(role: Any, links: list[str]) -> None:
    """For who may know people."""
    over = acts.QuotaLine(
        kind="person", channel=None, name="7", measure="messages", span="day", used="9", most="9", share=1.0, over=True,
        ends="2026-12-01T00:00:00+08:00",
    )  # fmt: skip
    shown = await page(Spent(lines=(line("7"), line("")), quotas=(over,)), "?by=person", role=role)

    assert links == re.findall(r'href="/admin/people/(\d*)"', shown)


async def test_the_file_is_what_is_shown() -> None:
    """The same days and channel."""
    spent = Spent()

    assert "day,channel\n" == await page(spent, "?since=2026-11-01&until=2026-11-30&channel=shop", path="/export")
    assert [acts.ExportAsked(since="2026-11-01", until="2026-11-30", channel="shop")] == spent.asked
