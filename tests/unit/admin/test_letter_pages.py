"""The pages of dead letters, over real queues, without a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from config.loader import load
from gateway.admin.dead_letters import DeadLetterActs
from gateway.admin.rights import Actor
from gateway.inbox.dead import by_hand
from tests.contracts.queues import URLS, open_queues
from tests.unit.admin.acting import OWNER, actor
from tests.unit.admin.reading import hidden, reading
from tests.unit.admin.test_dead_letters import LATER, SETTINGS, Desk, _ids

OPERATOR = actor(("operator", "hook"))
HOSTILE = "<script>alert(1)</script> 我的订单"


@pytest.fixture
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    path = tmp_path / "clew.yaml"
    path.write_text(SETTINGS, "utf-8")
    async with open_queues(URLS["sqlite"](request)) as queues:
        yield Desk(queues, load(path, {}))  # type: ignore[arg-type]  # whole queues


def acts(desk: Desk) -> DeadLetterActs:
    return DeadLetterActs(
        inbox=desk.queues,
        letters=desk.queues.letters,
        configuration=lambda: desk.configuration,
        current=desk.current,
        ids=_ids,
        clock=lambda: LATER,
        dealt=lambda channel, how: desk.dealt.append((channel, how)),
    )


@pytest.mark.parametrize(
    ("language", "empty", "given_up"),
    [("en", "Nothing waits for you", "given up"), ("zh", "没有待处理的消息", "已放弃")],
)
async def test_letters_are_listed_and_read(desk: Desk, language: str, empty: str, given_up: str) -> None:
    """In both languages; what was said is text, whatever it looks like."""
    async with reading(acts(desk).handlers(), by=OWNER, language=language) as pages:
        assert empty in await pages.get("/dead-letters")
        event = await desk.gave_up(HOSTILE)
        maybe = await desk.replied("<b>one</b>", "two")
        await desk.settled("sent", "unknown")

        listed = await pages.get("/dead-letters")
        shown = await pages.get(f"/dead-letters/{event.id}")
        other = await pages.get(f"/dead-letters/{maybe.id}")

    assert given_up in listed
    assert str(event.id) in listed
    assert "<script>alert" not in shown + listed
    assert "&lt;script&gt;alert(1)&lt;/script&gt; 我的订单" in shown
    assert "&lt;b&gt;one&lt;/b&gt;" in other


@pytest.mark.parametrize("by", [OPERATOR, OWNER])
async def test_a_letter_is_dealt_with_by_its_buttons(desk: Desk, by: Actor) -> None:
    """Answered again, sent again although it may have arrived, set aside; each leads back to the list."""
    silent, maybe, other = await desk.gave_up(), await desk.replied("one"), await desk.gave_up()
    await desk.settled("unknown")
    async with reading(acts(desk).handlers(), by=by) as pages:
        for event, act, form, done in (
            (silent, "retry", {"how": "answer"}, "being answered again"),
            (maybe, "retry", {"how": "send", "may_repeat": "on"}, "on its way"),
            (other, "discard", {}, "set aside"),
        ):
            page = await pages.get(f"/dead-letters/{event.id}")
            form |= {"seen": hidden(page, "seen")}
            assert "/dead-letters" == await pages.post(f"/dead-letters/{event.id}/{act}", form)
            assert done in await pages.get("/dead-letters")
            await pages.get(f"/dead-letters/{event.id}", status=404)

    assert [("hook", "answer"), ("hook", "send"), ("hook", "discard")] == desk.dealt


async def test_an_answer_is_written_and_a_wrong_one_comes_back(desk: Desk) -> None:
    """With what was written, and what is wrong with it."""
    event = await desk.gave_up()
    async with reading(acts(desk).handlers(), by=OPERATOR) as pages:
        page = await pages.post(f"/dead-letters/{event.id}/answer", {"text": " ", "name": "Team"}, status=422)
        assert "there are no words in it" in page
        assert 'value="Team"' in page
        await pages.post(f"/dead-letters/{event.id}/answer", {"text": "明天寄出", "name": "Team", "seen": "0"})

    (waiting,) = await desk.queues.waiting(event.lane)
    words = by_hand(waiting)
    assert words is not None
    assert ("Team", "明天寄出") == (words.name, words.text)


async def test_many_are_ticked(desk: Desk) -> None:
    """What can't be done is told beside what was; nothing ticked is no act."""
    mine, maybe = await desk.gave_up(), await desk.replied("one")
    await desk.settled("unknown")
    turns = [("turn", str(mine.id)), ("turn", str(maybe.id))]
    async with reading(acts(desk).handlers(), by=OPERATOR) as pages:
        assert "/dead-letters" == await pages.post("/dead-letters", {"act": "retry"})
        assert "Nothing was chosen" in await pages.get("/dead-letters")
        page = await pages.post("/dead-letters", [*turns, ("act", "retry")], status=200)
        assert "may see it twice" in page
        assert "being answered again" in page
        page = await pages.post("/dead-letters", [*turns, ("act", "answer")], status=422)
        assert "needs words" in page
        await pages.post("/dead-letters", [turns[1], ("act", "retry"), ("may_repeat", "on")])
        assert "1 dealt with" in await pages.get("/dead-letters")
        assert "this filter" in await pages.get("/dead-letters?kind=dead&channel=hook&code=gave_up")


async def test_the_list_goes_on(desk: Desk) -> None:
    events = [await desk.gave_up() for _ in range(51)]
    async with reading(acts(desk).handlers(), by=OPERATOR) as pages:
        first = await pages.get("/dead-letters?kind=dead")
        assert f"kind=dead&amp;after={events[1].id}" in first
        assert str(events[0].id) in await pages.get(f"/dead-letters?kind=dead&after={events[1].id}")


@pytest.mark.parametrize(("language", "all_told"), [("en", "on the pages that follow"), ("zh", "包括后续页面")])
async def test_all_that_the_filter_names_are_dealt_with(desk: Desk, language: str, all_told: str) -> None:
    """Also what is on no page yet; the filter stays, and what it does not name stays as it was."""
    events = [await desk.gave_up() for _ in range(52)]
    maybe = await desk.replied("one")
    await desk.settled("unknown")
    async with reading(acts(desk).handlers(), by=OPERATOR, language=language) as pages:
        page = await pages.get("/dead-letters?kind=dead")
        assert all_told in page
        assert 'name="kind" value="dead"' in page
        form = {"kind": "dead", "all": "on", "act": "discard", "turn": str(events[0].id)}
        assert "/dead-letters?kind=dead" == await pages.post("/dead-letters", form)
        assert "52" in await pages.get("/dead-letters?kind=dead")

    assert [str(maybe.id)] == await desk.list()
