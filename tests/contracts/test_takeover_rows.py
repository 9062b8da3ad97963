"""Take-overs as rows, on both databases: one live row a place, one winner of each change, what moves and what is erased."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from gateway.admin.takeovers import Place, Post, Takeover, TakeoverRows
from tests.contracts.admin_database import URLS, open_admin_database

NOW = 1_800_000_000_000


@pytest.fixture(params=URLS)
async def rows(request: pytest.FixtureRequest) -> AsyncIterator[TakeoverRows]:
    async with open_admin_database(URLS[request.param](request)) as database:
        yield TakeoverRows(database)


def takeover(
    id_: int, *, channel: str = "acme", conversation: str = "r1", user: str = "*", person_id: int | None = None
) -> Takeover:
    return Takeover(
        id=id_,
        channel=channel,
        conversation=conversation,
        user=user,
        chat_type="group" if user == "*" else "private",
        state="asked",
        asked_by="person",
        note="的确 angry 😠",
        person_id=person_id,
        operator=None,
        operator_name=None,
        since_ms=NOW,
        touched_ms=NOW,
        created_ms=NOW,
        how=None,
        summary=None,
        last=b"\x00route\xff",
        last_person_id=person_id,
        turn_id=2**62 + id_,
        asked_turn_id=2**62 + id_,
        changes=0,
    )


async def test_a_row_comes_back_as_it_was(rows: TakeoverRows) -> None:
    """Numbers of 63 bits, bytes and any script."""
    new = takeover(7, conversation="房间/线程😀", user="T1.U%20", person_id=2**62)

    stored, added = await rows.add(new)

    assert (new, True) == (stored, added)
    assert new == await rows.get(7)
    assert new == await rows.at([new.place])
    assert [new] == await rows.live()


async def test_a_place_has_one_live_take_over(rows: TakeoverRows) -> None:
    """Of ten who ask at once one makes it, and all get that; when it has ended, the next one is another."""
    made = await asyncio.gather(*(rows.add(takeover(id_)) for id_ in range(1, 11)))

    (first,) = {row for row, _ in made}
    assert [True] == [added for _, added in made if added]
    assert await rows.end(first, "dismissed", summary=None, now_ms=NOW)
    assert (takeover(20), True) == await rows.add(takeover(20))
    assert 2 == len(await rows.page(channels=None, live=None, before=None, limit=10))


async def test_of_two_who_take_it_one_has_it(rows: TakeoverRows) -> None:
    """Both have seen it waiting; the second is refused."""
    asked, _ = await rows.add(takeover(1))

    taken = await asyncio.gather(
        *(rows.take(asked, operator=f"user:{n}", name=f"Op {n}", now_ms=NOW + 5) for n in range(5))
    )

    now = await rows.get(1)
    assert now is not None
    assert [now] == [won for won in taken if won]
    assert ("active", NOW + 5, 1) == (now.state, now.touched_ms, now.changes)
    assert f"user:{taken.index(now)}" == now.operator


async def test_a_time_out_loses_to_an_act(rows: TakeoverRows) -> None:
    """What looked idle when it was read is not ended if the operator has done something since; of two instances one ends it."""
    asked, _ = await rows.add(takeover(1))
    await rows.take(asked, operator="user:1", name="Ann", now_ms=NOW)
    seen = await rows.get(1)
    assert seen is not None
    touched = [await rows.touch(row, now_ms=NOW + 1) for row in (asked, seen)]

    late = await rows.end(seen, "timed_out", summary=None, now_ms=NOW + 2)
    again = await rows.get(1)
    assert again is not None
    both = await asyncio.gather(*(rows.end(again, "timed_out", summary=None, now_ms=NOW + 2) for _ in range(2)))

    assert ([False, True], None) == (touched, late)
    assert ["timed_out"] == [ended.how for ended in both if ended is not None]
    assert not await rows.touch(seen, now_ms=NOW + 3)


async def test_the_nearest_conversation_counts(rows: TakeoverRows) -> None:
    """Of a thread and its room the thread's; other rooms, other users and what has ended are nobody's."""
    room, _ = await rows.add(takeover(1, conversation="r1"))
    thread, _ = await rows.add(takeover(2, conversation="r1/t1"))

    both = [Place("acme", "r1/t1", "*"), Place("acme", "r1", "*")]
    assert thread == await rows.at(both)
    assert room == await rows.at([Place("acme", "r1/t2", "*"), Place("acme", "r1", "*")])
    assert await rows.at([Place("acme", "r1/t2", "*")]) is None
    assert await rows.at([Place("acme", "r1", "U1")]) is None
    assert await rows.at([Place("other", "r1", "*")]) is None
    await rows.end(thread, "handed_back", summary="done 完成", now_ms=NOW)
    assert room == await rows.at(both)


async def test_all_that_came_about_is_to_be_told(rows: TakeoverRows) -> None:
    """In order, each change with whose hands it was in then; a later one does not hide the earlier ones, and each goes when it
    was told. Another take-over's are its own; one that an operator began was asked for by nobody."""
    asked, _ = await rows.add(takeover(1))
    other, _ = await rows.add(msgspec.structs.replace(takeover(2, conversation="r2"), state="active"))
    taken = await rows.take(asked, operator="user:1", name="Ann 安", now_ms=NOW)
    assert taken is not None
    over = await rows.take(taken, operator="user:2", name="Bob", now_ms=NOW)
    assert over is not None
    await rows.end(over, "handed_back", summary="done", now_ms=NOW)

    news = await rows.news(1)
    for _ in range(2):
        await rows.told(news[0])

    assert [("asked", None), ("begun", "Ann 安"), ("begun", "Bob"), ("ended", "Bob")] == [
        (one.what, one.operator_name) for one in news
    ]
    left = await rows.news()
    assert [*news[1:], *await rows.news(2)] == left
    assert [(other.id, "begun")] == [(one.takeover_id, one.what) for one in left[3:]]


async def test_what_was_part_of_a_take_over_is_known(rows: TakeoverRows) -> None:
    """The last turn of any of them in these conversations; 0 where there was none."""
    for id_, conversation in ((1, "r1"), (2, "r1/t1")):
        row, _ = await rows.add(takeover(id_, conversation=conversation))
        await rows.end(row, "dismissed", summary=None, now_ms=NOW)

    places = [Place("acme", "r1/t1", "*"), Place("acme", "r1", "*")]
    assert [2**62 + 2, 2**62 + 1] == [await rows.last_turn(places), await rows.last_turn(places[1:])]
    assert 0 == await rows.last_turn([Place("acme", "r1", "U1")])


async def test_pages_are_within_rights(rows: TakeoverRows) -> None:
    """Newest first, of the given channels only, live or ended."""
    for id_, channel in ((1, "acme"), (2, "other"), (3, "acme")):
        await rows.add(takeover(id_, channel=channel, conversation=f"r{id_}"))
    first = await rows.get(1)
    assert first is not None
    await rows.end(first, "handed_back", summary=None, now_ms=NOW)

    async def ids(
        channels: set[str] | None, *, live: bool | None = None, before: int | None = None, limit: int = 9
    ) -> list[int]:
        return [row.id for row in await rows.page(channels=channels, live=live, before=before, limit=limit)]

    assert [3, 2, 1] == await ids(None)
    assert [3, 1] == await ids({"acme"})
    assert [3] == await ids({"acme"}, live=True)
    assert [1] == await ids({"acme"}, live=False)
    assert [2, 1] == await ids(None, before=3)
    assert [3] == await ids(None, limit=1)
    assert [] == await ids(set())


async def test_posts_lead_to_their_take_over(rows: TakeoverRows) -> None:
    """By the platform's id, once it is known; in that room of that channel only."""
    asked, _ = await rows.add(takeover(1))
    await rows.posted(Post(turn_id=5, takeover_id=1, channel="staff", room="desk", message_id=None))

    unknown = await rows.unknown_posts("staff", "desk")
    before = await rows.by_message("staff", "desk", ["m5"])
    assert await rows.first_post(1, "staff", "desk") is None
    known = msgspec.structs.replace(unknown[0], message_id="m5")
    await rows.posted(known)
    await rows.posted(unknown[0])
    for turn_id, message_id in ((4, ""), (6, "m6")):
        await rows.posted(Post(turn_id=turn_id, takeover_id=1, channel="staff", room="desk", message_id=message_id))

    assert before is None
    assert [] == await rows.unknown_posts("staff", "desk")
    assert known == await rows.first_post(1, "staff", "desk")
    assert await rows.first_post(1, "staff", "other") is None
    assert asked == await rows.by_message("staff", "desk", ["m4", "m5"])
    assert await rows.by_message("staff", "other", ["m5"]) is None


async def test_a_take_over_moves_with_its_room(rows: TakeoverRows) -> None:
    """With its threads; where the new id has one already, the old one's ends; other rooms stay."""
    for id_, conversation in ((1, "-10"), (2, "-10/5"), (3, "-100"), (4, "-99/5")):
        await rows.add(takeover(id_, conversation=conversation))
    await rows.posted(Post(turn_id=5, takeover_id=1, channel="acme", room="-10", message_id="m5"))

    for _ in range(2):
        await rows.move("acme", "-10", "-99", ids_last=True)

    assert {1, 3, 4} == {one.takeover_id for one in await rows.news()}
    found = {
        row.id: (row.conversation, row.how) for row in await rows.page(channels=None, live=None, before=None, limit=9)
    }
    assert {1: ("-99", None), 2: ("-99/5", "moved"), 3: ("-100", None), 4: ("-99/5", None)} == found
    assert await rows.by_message("acme", "-99", ["m5"]) is not None


async def test_a_number_of_the_old_room_is_another_messages_in_the_new_one(rows: TakeoverRows) -> None:
    """Whoever answers that answers nobody outside; what is still on its way arrives in the new room."""
    await rows.add(takeover(1))
    for turn_id, message_id in ((5, "37"), (6, None)):
        await rows.posted(Post(turn_id=turn_id, takeover_id=1, channel="staff", room="-10", message_id=message_id))

    await rows.move("staff", "-10", "-99", ids_last=False)
    await rows.move("staff", "-10", "-99", ids_last=False)

    assert await rows.by_message("staff", "-99", ["37"]) is None
    assert await rows.first_post(1, "staff", "-99") is None
    assert [6] == [post.turn_id for post in await rows.unknown_posts("staff", "-99")]


async def test_nothing_is_left_of_who_is_erased(rows: TakeoverRows) -> None:
    """By person, under all their numbers, and by account; what is live ends; others' rows stay as they are, without what they
    told of the person's words."""
    await rows.add(takeover(1, conversation="d1", user="T1.U1"))
    await rows.add(takeover(2, person_id=76))
    others, _ = await rows.add(takeover(3, conversation="d2", person_id=78))
    await rows.posted(Post(turn_id=5, takeover_id=1, channel="staff", room="desk", message_id="m5"))

    for turn_id, person_id in ((6, 77), (7, 78), (8, None)):
        await rows.posted(
            Post(turn_id=turn_id, takeover_id=3, channel="staff", room="desk", message_id="m", person_id=person_id)
        )

    await rows.heard(3, last=b"", turn_id=2**62 + 99, person_id=79)
    others = await rows.get(3) or others
    assert [1, 2] == [row.id for row in await rows.about((76, 77), {("acme", "T1.U1")})]
    assert [] == await rows.about((79,), set()), "they only spoke in another's"
    turns = await rows.of_person((76, 77), {("acme", "T1.U1")})
    counts = [await rows.erase((76, 77), {("acme", "T1.U1")}, now_ms=NOW) for _ in range(2)]

    assert ([5, 6], [2, 0]) == (turns, counts)
    assert [6, 7, 8] == await rows.of_person((78,), set())
    left = await rows.page(channels=None, live=False, before=None, limit=9)
    assert [("", "", None, None, None, b"", "erased")] * 2 == [
        (row.conversation, row.user, row.note, row.person_id, row.last_person_id, row.last, row.how) for row in left
    ]
    assert [] == await rows.of_person((76, 77), {("acme", "T1.U1")})
    about = await rows.by_message("staff", "desk", ["m5"])
    assert about is not None, "what is written behind it is still no message to the bot"
    assert (1, "erased") == (about.id, about.how)
    assert [3] == [one.takeover_id for one in await rows.news()]
    assert [others] == await rows.live()


async def test_where_somebody_last_spoke_only_goes_forward(rows: TakeoverRows) -> None:
    """What an older turn tells late changes nothing."""
    await rows.add(takeover(1))
    newest = 2**62 + 50
    await rows.heard(1, last=b"new", turn_id=newest, person_id=5)
    await rows.heard(1, last=b"old", turn_id=newest - 1, person_id=6)

    now = await rows.get(1)
    assert now is not None
    assert (b"new", newest, 5) == (now.last, now.turn_id, now.last_person_id)
