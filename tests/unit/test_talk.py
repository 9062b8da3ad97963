"""What is known of the talk in rooms and threads: who spoke since, and how long bots have been among themselves."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.base import MessageEvent, Sender
from gateway.hot.process import ProcessRateLimits
from gateway.talk import Bots, Talk


def said(
    user: str = "ann", *, room: str = "r", thread: str | None = None, channel: str = "web", text: str = "x"
) -> MessageEvent:
    return MessageEvent(
        channel=channel,
        room=room,
        thread=thread,
        chat_type="group",
        sender=Sender(user=user, tenant="t", account=user),
        dedupe_ids=("d",),
        message_id="m",
        text=text,
    )


class TestLanguage:
    """In which language somebody writes, for what shows none."""

    def test_the_last_that_showed_one_counts_everywhere_on_the_channel(self) -> None:
        """Neither a number nor a command says another one; it is the speaker's own, and others' are theirs."""
        talk = Talk()
        assert talk.language(said()) is None
        for number, text in enumerate(("what is the time?", "我想订一双鞋", "42", "/forget all yes", "ok")):
            talk.heard(said(text=text), number)

        assert "zh" == talk.language(said(room="another", thread="t"))
        assert talk.language(said("鲍勃")) is None
        assert talk.language(said(channel="elsewhere")) is None

    def test_it_is_bounded(self) -> None:
        """Who has been silent for longest is forgotten."""
        talk = Talk(most=2)
        for number, user in enumerate(("a", "b", "c")):
            talk.heard(said(user, text="你好"), number)

        assert [None, "zh", "zh"] == [talk.language(said(user)) for user in ("a", "b", "c")]


class TestTalk:
    """Who spoke since a message."""

    def test_others_have_spoken_when_somebody_else_did(self) -> None:
        talk = Talk()
        talk.heard(said("ann"), 1)
        assert not talk.others_since(said("ann"), 1)

        talk.heard(said("ann"), 2)
        assert not talk.others_since(said("ann"), 1), "one's own next message is no interruption"

        talk.heard(said("鲍勃"), 3)
        assert talk.others_since(said("ann"), 1)
        assert not talk.others_since(said("鲍勃"), 3)

        talk.heard(said("ann"), 4)
        assert talk.others_since(said("ann"), 2), "he spoke between her two messages"
        assert not talk.others_since(said("ann"), 4)
        assert talk.others_since(said("鲍勃"), 3)

    def test_each_place_is_its_own(self) -> None:
        talk = Talk()
        for elsewhere in (said("bob", thread="t"), said("bob", room="r2"), said("bob", channel="c2")):
            talk.heard(said("ann"), 1)
            talk.heard(elsewhere, 2)

        assert not talk.others_since(said("ann"), 1)

    def test_what_is_not_known_counts_as_spoken(self) -> None:
        """After a restart, or where nothing was said for long: a quote too many is better than a riddle."""
        talk = Talk(most=1)
        assert talk.others_since(said(), 1)

        talk.heard(said("ann"), 5)
        assert talk.others_since(said("ann"), 4), "said before we listened"

        talk.heard(said("bob", room="r2"), 6)
        assert talk.others_since(said("ann"), 5), "forgotten"

    def test_a_message_that_is_told_late_is_not_the_last_one(self) -> None:
        """Its other telling showed only now that it asks for an answer."""
        talk = Talk()
        talk.heard(said("ann"), 1)
        talk.heard(said("bob"), 3)
        talk.heard(said("cem"), 2)

        assert not talk.others_since(said("bob"), 3)
        assert talk.others_since(said("ann"), 1)


class TestBots:
    """Bots among themselves."""

    @pytest.fixture
    def bots(self) -> Bots:
        return Bots(ProcessRateLimits())

    async def taken(self, bots: Bots, count: int, *, most: int = 3, **where: Any) -> int:
        """Let so many messages of bots come; return how many were taken up."""
        return sum([await bots.take(said("bot", **where), most=most) for _ in range(count)])

    async def test_a_row_ends_with_a_person(self, bots: Bots) -> None:
        passed = [await self.taken(bots, 5, thread="t")]
        await bots.person(said("ann", thread="t"))
        passed.append(await self.taken(bots, 5, thread="t"))

        assert [3, 3] == passed

    async def test_a_thread_a_message_is_a_row_too(self, bots: Bots) -> None:
        """NousResearch/hermes-agent#91481: a bot that opens a thread each time."""
        passed = [await self.taken(bots, 1, thread=f"t{number}") for number in range(5)]

        assert [1, 1, 1, 0, 0] == passed
        assert 3 == await self.taken(bots, 5, room="r2")

    async def test_people_elsewhere_in_the_room_do_not_feed_a_thread(self, bots: Bots) -> None:
        """Two bots in one thread of a busy room."""
        await self.taken(bots, 3, thread="t")
        await bots.person(said("ann", thread="other"))

        assert 0 == await self.taken(bots, 3, thread="t")
        assert 3 == await self.taken(bots, 5, thread="new")

    async def test_what_a_thread_refuses_is_not_counted_in_its_room(self, bots: Bots) -> None:
        await self.taken(bots, 3, thread="t")
        await bots.person(said("ann"))
        await self.taken(bots, 9, thread="t")

        assert 3 == await self.taken(bots, 5, thread="new")

    async def test_another_telling_is_not_counted(self, bots: Bots) -> None:
        await self.taken(bots, 2)
        await bots.give_back(said("bot"))
        await bots.give_back(said("bot", room="unheard of 群"))

        assert 2 == await self.taken(bots, 5)
        assert 3 == await self.taken(bots, 5, room="unheard of 群")

    async def test_a_row_is_one_on_all_instances(self) -> None:
        """However many of them hear the bots: what was said to one stands in the row of the other."""
        limits = ProcessRateLimits()
        one, other = Bots(limits), Bots(limits)
        await self.taken(one, 2, thread="t")

        assert 1 == await self.taken(other, 5, thread="t")
