"""What an operator is told of the gateways that run beside each other, by the act and on its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gateway.admin.acts.instances import LIST, HeldTold
from gateway.admin.instances import InstanceActs, held
from gateway.admin.operations import Refused, Service
from gateway.conditions import LONGEST, MOST_PROBLEMS, Condition, condition_of, told
from gateway.instances import unheld
from gateway.leases import About, Departed, Instance, ProcessLeases
from tests.admin_pages import NOW_MS
from tests.unit.admin.acting import OWNER, Log, actor
from tests.unit.admin.reading import reading

WANTED = frozenset({"channel:acme-bot", "send:acme-bot", "channel:lark"})

EVIL = "<script>alert('看')</script> 'x'"
ONE = Instance(
    id=4,
    number=1,
    release="0.2",
    settings="r1",
    host="机器-甲/41",
    joined_ms=NOW_MS - 60_000,
    left_s=4.5,
    leases=("channel:acme-bot/0", "erasure:person-4711", "job:retention", "send:acme-bot"),
    here=True,
    condition=Condition(lease_s=5, skew_s=0.004),
)
HUNG = Instance(
    id=7,
    number=900,
    release="0.1",
    settings="r2",
    host="机器-乙/7",
    joined_ms=NOW_MS - 50_000,
    left_s=1.5,
    leases=("channel:acme-bot/1",),
    here=False,
    condition=Condition(lease_s=5, skew_s=-2.5, problems={"channel lark": EVIL, "shared": "no answer"}),
)
EARLIER = Instance(
    id=9, number=None, release=None, settings=None, host=None, joined_ms=NOW_MS, left_s=3, leases=(), here=False
)
GONE = (
    Departed(
        id=6, number=2, release="0.2", host="机器-乙/7", joined_ms=NOW_MS - 9e6, left_ms=NOW_MS - 60_000, lost=True
    ),  # type: ignore[arg-type]
    Departed(
        id=5, number=3, release="0.2", host="机器-丙/1", joined_ms=NOW_MS - 9e6, left_ms=NOW_MS - 9_000_000, lost=False
    ),  # type: ignore[arg-type]
)


class Beside(ProcessLeases):
    """Leases that see other instances."""

    def __init__(self, instances: Sequence[Instance], departed: Sequence[Departed] = ()) -> None:
        super().__init__(About(release="0.2"), number=1, rest_s=1, clock_ms=lambda: NOW_MS)
        self._others = instances
        self._gone = departed

    async def instances(self) -> Sequence[Instance]:
        return self._others

    async def departed(self, *, since_ms: int) -> Sequence[Departed]:
        return [one for one in self._gone if one.left_ms >= since_ms]


def acts(
    instances: Sequence[Instance] = (ONE, HUNG, EARLIER), gone: Sequence[Departed] = GONE, *, several: bool = True
) -> InstanceActs:
    return InstanceActs(Beside(instances, gone), wanted=lambda: WANTED, several=several, clock=lambda: NOW_MS)


async def test_each_is_told_as_it_says_that_it_is() -> None:
    """Also one that tells nothing of itself, as an earlier release; what only one does by name, but nobody who is erased."""
    told = await Service(acts().handlers(), audit=Log()).perform(OWNER, LIST)

    here, hung, earlier = told.instances
    assert ("4", True, False, False, 0.5) == (here.id, here.here, here.late, here.other_settings, here.seen_s)
    assert [("erase", ""), ("job", "retention"), ("receive", "acme-bot"), ("send", "acme-bot")] == [
        (one.kind, one.what) for one in here.holds
    ]
    assert (True, True, True, 3.5, -2.5) == (
        hung.late, hung.other_settings, hung.other_release, hung.seen_s, hung.skew_s
    )  # fmt: skip
    assert (None, None, False, False, {}) == (
        earlier.seen_s, earlier.skew_s, earlier.late, earlier.other_settings, earlier.problems
    )  # fmt: skip
    assert [(True, True), (False, False)] == [(one.lost, one.back) for one in told.departed]
    assert [HeldTold(kind="receive", what="lark")] == list(told.nobodys)
    assert "4711" not in str(told)


async def test_who_sees_some_channels_only_is_told_nothing() -> None:
    """What instances hold names all channels."""
    service = Service(acts().handlers(), audit=Log())

    with pytest.raises(Refused):
        await service.perform(actor(("owner", "acme-bot")), LIST)
    assert 3 == len((await service.perform(actor(("viewer", None)), LIST)).instances)


ENGLISH = """3 gateways run.|Gives no sign of life|3.50 s ago|set it by NTP|Given up for dead|runs again|clean-up|another release
|other settings|Instance without a number|Done by nobody|Stopped in good order|not told"""
CHINESE = """有 3 个网关在运行|没有响应|3.50 秒前|请用 NTP 校准|被视为已失效|已恢复运行|清理|版本不同|设置不同
|没有编号的实例|目前无人负责|正常停止|未告知"""


@pytest.mark.parametrize(("language", "words"), [("en", ENGLISH), ("zh", CHINESE)])
async def test_page_in_both_languages(language: str, words: str) -> None:
    """What a platform says is shown as it is, and stays a text."""
    async with reading(acts().handlers(), by=OWNER, language=language) as pages:
        page = await pages.get("/instances")

    assert [] == [word for word in words.replace("\n", "").split("|") if word not in page]
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize(
    ("several", "words"), [(True, "Start others with the same settings file"), (False, "A SQLite file has one gateway")]
)
async def test_one_that_is_alone_is_told_so(several: bool, words: str) -> None:
    """And what would have to be done for more."""
    stopping = replace(ONE, condition=Condition(lease_s=5, stopping=True))
    async with reading(acts([stopping], (), several=several).handlers(), by=OWNER) as pages:
        page = await pages.get("/instances")

    assert "One gateway runs." in page
    assert words in page
    assert "None has gone in the last seven days." in page
    assert "Stops" in page


async def test_overview_counts_them_and_who_was_lost() -> None:
    """An instance lost within the hour, or one that is late, needs somebody; a warning alone is only told."""
    warned = replace(ONE, condition=Condition(lease_s=5, problems={"embedder": "is down"}))
    async with reading(acts().handlers(), by=OWNER) as pages:
        lost = await pages.get("")
    async with reading(acts([ONE, warned], GONE[1:]).handlers(), by=OWNER) as pages:
        ill = await pages.get("")
    async with reading(acts([ONE], GONE[1:]).handlers(), by=OWNER) as pages:
        well = await pages.get("")

    assert "1 lost in the last hour" in lost
    assert "Something needs you." in lost
    assert "1 with something to look at" in ill
    assert "All is well." in ill
    assert "with something to look at" not in well


def test_a_lease_is_named_by_what_is_done_with_it() -> None:
    """Whoever is erased is not named, nor is what this release does not know."""
    assert HeldTold(kind="receive", what="acme-bot") == held("channel:acme-bot/1")
    assert HeldTold(kind="send", what="web") == held("send:web")
    assert [HeldTold(kind="erase", what="")] * 2 == [held("person:4711"), held("morgen:x")]


def test_one_slot_of_two_is_enough() -> None:
    """A socket is held by two instances where there are two; of none that is seen, nothing is known."""
    assert {"channel:lark"} == unheld(WANTED, [ONE, HUNG])
    assert frozenset() == unheld(WANTED, [])


def test_a_condition_is_kept_short_and_storable() -> None:
    """It is written once a second: so many problems, so long; and neither NUL nor half a character is refused by a database."""
    problems = {f"部分 {n}": "拒绝\x00\ud800" + "🤖" * 500 for n in range(40)}
    kept = told(Condition(lease_s=5, problems=problems))
    read = condition_of(kept)

    assert read is not None
    assert MOST_PROBLEMS == len(read.problems)
    assert {LONGEST} == {len(problem) for problem in read.problems.values()}
    assert "\\u0000" not in kept
    assert [None, None] == [condition_of(None), condition_of('{"skew_s": "morgen"}')]
    assert Condition(lease_s=5) == condition_of('{"lease_s": 5, "of_tomorrow": [1]}')
