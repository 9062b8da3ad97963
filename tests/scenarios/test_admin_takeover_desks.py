"""Staff who sit on another platform than the people they answer, and on another instance: one talk all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.human_notices import told
from tests.scenarios.platforms import Room, asks, echo, shows
from tests.scenarios.test_admin_takeover import room_of, staffed
from tests.scenarios.world import gateway, rows

OPERATOR = "Op 安"


@pytest.mark.parametrize(
    ("way", "at"),
    [("telegram-polling", "slack-http"), ("slack-http", "telegram-polling")],
    ids=lambda value: str(value),
)
async def test_staff_answer_people_of_another_platform(way: str, at: str, tmp_path: Path) -> None:
    """What the person writes comes to the staff's room and what is answered there to the person, each as its own platform shows
    it; the person's own platform has no staff's room, and whoever writes there is no staff."""
    async with staffed(tmp_path, ways=(way, at), at={way: at}) as there:
        there.world.play(echo)
        room, desk = room_of(there, way, "private"), there.desks[at]
        await asks(room, "where is 5512?")
        await room.says("/human it is late 晚了")
        post = await desk.until("asks for a human")
        await desk.answers("Hello Zoe 您好", to="asks for a human")
        await shows(room, told("said", "en", name=OPERATOR, text="Hello Zoe 您好"))
        await room.says("对, yes it is 😀")
        await desk.until("对, yes it is 😀")
        await desk.answers("!back refunded", to="asks for a human")
        await shows(room, told("handed_back", "en", name=OPERATOR))
        await asks(room, "thanks")

        assert "it is late 晚了" in post
        assert [] == there.desks[way].posts()
        assert 2 == len(there.world.model.prompts)
        prompt = "\n".join(message["content"] for message in there.world.model.prompts[-1])
        assert "您好" in prompt
        assert "refunded" in prompt


@pytest.mark.parametrize(
    ("way", "kind", "at"),
    [("telegram-webhook", "private", "slack-http"), ("slack-http", "group", "telegram-webhook")],
    ids=lambda value: str(value),
)
async def test_the_person_and_the_staff_are_heard_by_two_instances(
    way: str, kind: str, at: str, tmp_path: Path, postgres_url: str
) -> None:
    """The person's words come in by one, the staff's by the other: each is told once, in order, under the right name, and nothing
    is lost when the staff's instance dies in between. Handed back, the agent goes on where the human left it."""
    async with (
        staffed(tmp_path, ways=(way, at), at={way: at}, storage=postgres_url) as there,
        gateway(there.world.config) as other,
    ):
        there.world.play(echo)
        there.world.sides[at].reach(other.url)
        room, desk = room_of(there, way, kind), there.desks[at]
        await answered(room, "where is 5512?", "re: where is 5512?")
        await answered(room, "/human", told("asked", "en"))
        await desk.answers("one 一", to="asks for a human")
        await shows(room, told("said", "en", name=OPERATOR, text="one 一"))
        for text in ("first of all 对", "second"):
            await room.says(text, to_bot=False)
            await desk.until(text)
        await desk.answers("two", to="asks for a human")
        await shows(room, told("said", "en", name=OPERATOR, text="two"))
        await other.kill()
        await room.says("third", to_bot=False)
        await desk.until("third")
        await other.start()
        there.world.sides[at].reach(other.url)
        await desk.answers("three", to="asks for a human")
        await desk.answers("!back sent anew 已重发", to="asks for a human")
        await shows(room, told("handed_back", "en", name=OPERATOR))
        await answered(room, "and now?", "re: and now?")
        log = [*there.world.gateway.log, *other.log]

        assert [
            "re: where is 5512?", told("asked", "en"), told("begun", "en", name=OPERATOR),
            *(told("said", "en", name=OPERATOR, text=text) for text in ("one 一", "two", "three")),
            told("handed_back", "en", name=OPERATOR), "re: and now?",
        ] == [unquoted(reply) for reply in room.replies()]  # fmt: skip
        posts = desk.posts()
        assert [1, 1, 1] == [sum(text in post for post in posts) for text in ("first of all 对", "second", "third")]
        assert 6 == len(posts)
        prompt = "\n".join(message["content"] for message in there.world.model.prompts[-1])
        said = (
            "where is 5512?",
            "one 一",
            "first of all 对",
            "second",
            "two",
            "third",
            "three",
            "sent anew 已重发",
            "and now?",
        )
        assert sorted(prompt.index(text) for text in said) == [prompt.index(text) for text in said]
        assert [("ended", "handed_back")] == rows(postgres_url, "SELECT state, how FROM takeovers")
        assert [] == rows(postgres_url, "SELECT what FROM takeover_news")
    assert not [line for line in log if '"level":"error"' in line]


async def answered(room: Room, text: str, reply: str) -> None:
    await room.says(text)
    await room.until(lambda replies: reply in map(unquoted, replies))


def unquoted(reply: str) -> str:
    """An instance that has not heard who spoke in between quotes the question it answers; what a human says answers none."""
    for text in ("where is 5512?", "/human", "and now?"):
        reply = reply.removeprefix(f"> Zoe: {text}\n\n")
    return reply
