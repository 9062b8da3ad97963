"""Take-overs over real queues and a real store: who may do what when, what is refused and why, and what goes on by itself."""

from __future__ import annotations

import asyncio
import dataclasses

import msgspec
import pytest

from adapters.base import MessageEvent, Sender
from gateway.admin.operations import Disagrees, Invalid, Missing
from gateway.admin.takeovers import Place, Post, TakeoverRows
from gateway.desk import NO_POST, YOUNG_MS, Desk
from gateway.errors import StoreBusy
from gateway.human_notices import told
from gateway.humans import MOST_CHARS, SUMMARY_CHARS
from gateway.inbox.base import Outcome
from gateway.mailbox import ON_ITS_WAY_MS
from gateway.taking_over import Wish, deadline_ms, settings_of
from tests.unit.human_world import ANN, BOB, Said, World, world

__all__ = ["world"]


class TestOperators:
    """What an operator does."""

    async def test_who_has_it_is_told_to_who_comes_later(self, world: World) -> None:
        """And may take it from them; taking what one has changes nothing. The turns that run there are cut short."""
        turn = await world.turn()
        mine = await world.humans.begin(turn, ANN, over=False)

        assert mine.id == (await world.humans.begin(turn, ANN, over=False)).id
        with pytest.raises(Disagrees, match="Ann 安 has this conversation"):
            await world.humans.begin(turn, BOB, over=False)
        his = await world.humans.begin(turn, BOB, over=True)
        with pytest.raises(Disagrees, match="Bob has this conversation"):
            await world.humans.say(his, ANN, "hello", key="1")
        assert (mine.id, "Bob") == (his.id, his.operator_name)
        assert [Place("chat", "r1", "zoe")] * 2 == world.halted
        assert ["begun", "begun"] == await world.acts()

    async def test_words_are_sent_once_and_in_order(self, world: World) -> None:
        mine = await world.humans.begin(await world.turn(), ANN, over=False)

        turns = [await world.humans.say(mine, ANN, text, key=key) for text, key in (("a", "1"), ("b", "2"), ("a", "1"))]

        assert turns[0] == turns[2] != turns[1]
        assert ["begun", "said a", "said b"] == await world.acts()

    async def test_an_id_is_of_the_same_words_only(self, world: World) -> None:
        """Other words under the id of what was sent would be lost without a word."""
        mine = await world.humans.begin(await world.turn(), ANN, over=False)
        await world.humans.say(mine, ANN, "a", key="1")
        with pytest.raises(Disagrees, match="an id of their own"):
            await world.humans.say(mine, ANN, "b", key="1")

        assert ["begun", "said a"] == await world.acts()

    async def test_what_a_human_did_leads_to_the_conversation_too(self, world: World) -> None:
        """By the turn of a colleague's words it is taken over as by the person's: it goes on where the person spoke, under their
        name."""
        first = await world.humans.begin(await world.turn(), ANN, over=False)
        words = await world.humans.say(first, ANN, "hello", key="1")
        await world.humans.hand_back(first, ANN, None)
        event, said = await world.humans.event(words)

        again = await world.humans.begin(words, BOB, over=False)

        assert (first.turn_id, first.last, first.place) == (again.turn_id, again.last, again.place)
        assert "Ann 安" == said.event.sender.name
        assert ("zoe", "chat") == (event.speaker, event.channel)

    async def test_what_a_colleague_asks_for_is_told_to_the_person(self, world: World) -> None:
        """Else the bot would fall silent, or tell that nobody came, without a word before."""
        asked = await world.humans.ask_for(await world.turn(), "please look")
        await world.humans.hand_back(asked, BOB, None)

        assert ["asked", "ended"] == await world.acts()

    async def test_where_the_staffs_room_is_away_the_act_is_done(self, world: World) -> None:
        """It is told later; words that went out must not look as if they had not, or they would be sent again."""

        class Away(TakeoverRows):
            away = True

            async def posted(self, post: Post) -> None:
                if self.away:
                    raise StoreBusy("away", retry_after_s=1)
                await super().posted(post)

        rows = Away(world.database)
        world.desk = Desk(
            rows=rows, outbox=world.queues, ids=world.ids, configuration=lambda: world.configuration, made=world.made,
            current=world.current, clock=world.clock,
        )  # fmt: skip
        humans = world.another(rows)
        of, fresh = await humans.ask(world.route(), Wish(by="person"), turn_id=await world.turn(), person_id=None)
        taken = await humans.take(of, ANN, over=False)
        with pytest.raises(StoreBusy):  # nothing is said ahead of what is still to be told
            await humans.say(taken, ANN, "hi", key="1")
        rows.away = False
        await humans.say(taken, ANN, "hi", key="1")
        rows.away = True
        await humans.say(taken, ANN, "again", key="2")
        rows.away = False
        await humans.look()

        assert fresh
        assert ["begun", "said hi", "said again"] == await world.acts()
        assert 3 == len(await world.posts())

    async def test_what_can_not_be_is_refused(self, world: World) -> None:
        """With what would be: no words or too many, what nobody has, what has ended, what is not there."""
        turn = await world.turn()
        asked = await world.humans.ask_for(turn, "look 看")
        with pytest.raises(Disagrees, match="take it over first"):
            await world.humans.say(asked, ANN, "x", key="1")
        mine = await world.humans.take(asked, ANN, over=False)
        for text in ("", " \n", "x" * (MOST_CHARS + 1)):
            with pytest.raises(Invalid, match="characters"):
                await world.humans.say(mine, ANN, text, key="1")
        with pytest.raises(Invalid, match="summary"):
            await world.humans.hand_back(mine, ANN, "x" * (SUMMARY_CHARS + 1))
        with pytest.raises(Disagrees, match="faster"):
            await world.humans.take(asked, BOB, over=True)
        ended = await world.humans.hand_back(mine, ANN, " done 完 ")
        for act in (
            world.humans.take(ended, BOB, over=True), world.humans.say(ended, ANN, "x", key="2"),
            world.humans.hand_back(ended, ANN, None), world.humans.hand_back(mine, ANN, None),
        ):  # fmt: skip
            with pytest.raises(Disagrees):
                await act
        for missing in (world.humans.find(5), world.humans.begin(5, ANN, over=False)):
            with pytest.raises(Missing):
                await missing
        assert ("done 完", "look 看") == (ended.summary, ended.note)

    async def test_nothing_is_said_in_what_changed_hands_meanwhile(self, world: World) -> None:
        """Who decided on an old look: a colleague has it now, or the bot again; what they wrote reaches nobody."""
        mine = await world.humans.begin(await world.turn(), ANN, over=False)
        theirs = await world.humans.take(mine, BOB, over=True)
        with pytest.raises(Disagrees, match="in between"):
            await world.humans.say(mine, ANN, "too late", key="1")
        await world.humans.hand_back(theirs, BOB, None)
        with pytest.raises(Disagrees, match="in between"):
            await world.humans.say(theirs, BOB, "太晚了", key="2")

        assert ["begun", "begun", "ended"] == await world.acts()

    async def test_a_request_can_be_dismissed_by_anybody(self, world: World) -> None:
        asked = await world.humans.ask_for(await world.turn(), None)

        ended = await world.humans.hand_back(asked, BOB, None)

        assert ("dismissed", "operator") == (ended.how, ended.asked_by)
        assert [asked.id] == [row.id for row in await world.rows.page(channels=None, live=False, before=None, limit=9)]

    async def test_where_nobody_can_be_reached_nothing_is_begun(self, world: World) -> None:
        """On a channel that only answers; on one that is no more."""
        with pytest.raises(Disagrees, match="and nothing else"):
            await world.humans.begin(await world.turn(world.route(channel="hook")), ANN, over=False)
        mine = await world.humans.begin(await world.turn(), ANN, over=False)
        settings = world.configuration.settings.model_copy(update={"channels": {}})
        world.configuration = dataclasses.replace(world.configuration, settings=settings)
        with pytest.raises(Disagrees, match="can't be written to any more"):
            await world.humans.say(mine, ANN, "x", key="1")


class TestFollowing:
    """What goes on by itself."""

    async def test_each_ends_in_its_time_and_is_told_once(self, world: World) -> None:
        """By whichever instance looks first; what the operator does begins the time anew."""
        asked = await world.humans.ask_for(await world.turn(), None)
        mine = await world.humans.begin(
            await world.turn(world.route(room="r2", sender=Sender(user="bo", tenant="t", account="bo"))),
            ANN,
            over=False,
        )
        room = settings_of(asked, world.configuration).takeover
        first_s = await world.humans.look()
        world.clock.now = deadline_ms(asked, room)
        await world.humans.say(mine, ANN, "still here", key="1")
        await asyncio.gather(world.humans.look(), world.another().look())
        over = await world.rows.get(asked.id)
        world.clock.now += 150_000
        await world.humans.look()
        still = await world.rows.get(mine.id)
        world.clock.now += 50_001
        await world.humans.look()
        gone = await world.rows.get(mine.id)

        assert 60 == first_s
        assert over is not None
        assert still is not None
        assert gone is not None
        assert ("not_taken", "active", "timed_out") == (over.how, still.state, gone.how)
        assert ["asked", "ended"] == await world.acts()
        assert {("chat", "waiting"): 1, ("chat", "taken"): 1} == world.counts[0]
        assert [] == await world.rows.news()

    async def test_what_a_crash_cut_off_is_told_by_the_next(self, world: World) -> None:
        """The row was changed, and then nothing."""
        turn = await world.turn()
        asked = await world.humans.ask_for(turn, None)
        await world.posts()
        assert await world.rows.take(asked, operator="user:1", name="Ann", now_ms=world.clock())

        for _ in range(2):
            await world.another().look()

        assert ["asked", "begun"] == await world.acts()
        assert ["Ann 已接手 **Zoe (chat)**。"] == await world.posts()

    async def test_a_quick_end_hides_no_beginning(self, world: World) -> None:
        """Two have had it and one has handed it back before anybody could be told, and the gateway died: all of it is told, once,
        in order, whoever looks, and however many at once."""
        asked = await world.humans.ask_for(await world.turn(), None)
        taken = await world.rows.take(asked, operator="user:1", name="Ann", now_ms=world.clock())
        assert taken is not None
        over = await world.rows.take(taken, operator="user:2", name="鲍勃", now_ms=world.clock())
        assert over is not None
        assert await world.rows.end(over, "handed_back", summary="done 完", now_ms=world.clock())

        await asyncio.gather(*(world.another().look() for _ in range(3)))
        await world.another().look()

        assert ["asked", "begun", "begun", "ended"] == await world.acts()
        posts = await world.posts()
        wanted = [
            "Ann 已接手 **Zoe (chat)**。",
            "鲍勃 已接手 **Zoe (chat)**。",
            "鲍勃 已将 **Zoe (chat)** 交还给机器人。",
        ]
        assert wanted == posts[1:]
        assert "请求人工" in posts[0]

    async def test_nothing_is_said_ahead_of_what_came_before(self, world: World) -> None:
        """The instance that took it has told nobody yet; the words and the end come in by another one."""
        asked = await world.humans.ask_for(await world.turn(), None)
        taken = await world.rows.take(asked, operator=ANN.id, name=ANN.name, now_ms=world.clock())
        assert taken is not None
        other = world.another()

        await other.say(taken, ANN, "您好", key="1")
        await other.hand_back(taken, ANN, None)

        assert ["asked", "begun", "said 您好", "ended"] == await world.acts()

    async def test_what_groups_say_to_a_human_is_known_before_anything_comes_in(self, world: World) -> None:
        """A gateway that starts anew has to learn it first: without a mention it would heed none of that. A conversation that
        only waits is the human's where the bot is silent meanwhile."""
        mine = world.route(chat_type="group")
        await world.humans.begin(await world.turn(mine), ANN, over=False)
        for room in ("r2", "quiet"):
            await world.humans.ask_for(await world.turn(world.route(chat_type="group", room=room)), None)
        fresh = world.another()
        assert not fresh.covers(mine.event)  # type: ignore[arg-type]

        await fresh.learn()

        heard = [fresh.covers(world.route(chat_type="group", room=room).event) for room in ("r1", "r2", "quiet", "r9")]  # type: ignore[arg-type]
        assert [True, False, True, False] == heard

    async def test_quotas_hold_while_the_agent_still_answers(self, world: World) -> None:
        """Whoever asks for a human has not thereby all the answers that they like; what a human alone is told is no answer."""
        await world.humans.begin(await world.turn(world.route(room="r1")), ANN, over=False)
        for room in ("r2", "quiet"):
            await world.humans.ask_for(await world.turn(world.route(room=room)), None)
        await world.humans.learn()

        freed = [world.humans.has(world.route(room=room).event) for room in ("r1", "r2", "quiet", "r9")]  # type: ignore[arg-type]
        assert [True, False, True, False] == freed

    async def test_while_the_database_is_away_the_last_look_counts(self, world: World) -> None:
        """People are answered, and who has a human keeps them."""
        mine = await world.humans.begin(await world.turn(), ANN, over=False)

        class Away(TakeoverRows):
            async def at(self, places: object) -> None:
                raise StoreBusy("away", retry_after_s=1)

        humans = world.another(Away(world.database))
        await humans.look()

        found = await humans.at(world.route())
        assert found is not None
        assert mine.id == found.id
        assert await humans.at(world.route(room="r2")) is None

    async def test_it_follows_until_it_is_ended(self, world: World) -> None:
        """Another instance's act is heard without being asked for."""
        following = asyncio.create_task(world.humans.follow())
        try:
            await world.another().begin(await world.turn(), ANN, over=False)
            async with asyncio.timeout(5):
                while Place("chat", "r1", "zoe") not in world.halted[1:]:
                    await asyncio.sleep(0.01)  # nothing outside of it hears
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


class TestDesk:
    """The staff's room."""

    async def test_the_first_who_answers_has_it_and_is_heard_outside(self, world: World) -> None:
        """Others are not, and are told so once; they can take it. What is said behind the end goes nowhere."""
        await world.humans.ask(
            world.route(), Wish(by="person", note="late"), turn_id=await world.turn(), person_id=None
        )
        (post,) = await world.posts()
        await world.desk_says("Hello")
        for _ in range(2):
            await world.desk_says("she is angry", by="second")
        await world.desk_says("!take", by="second")
        await world.desk_says("／接手 ", by="op")
        await world.desk_says("bye", by="op")
        root = await world.first_post()
        await world.desk_says("!back all 好", by="op")
        await world.desk_says("too late", by="op", thread=root)
        posts = await world.posts()

        assert "**Zoe (chat)** 请求人工（发送了 /human）。\n\n> late\n\n" in post
        assert ["begun", "said Hello", "begun", "begun", "said bye", "ended"] == await world.acts()
        assert 1 == posts.count(told("desk_other_has_it", "zh", name="op"))
        assert posts[-1] == told("desk_over", "zh")

    async def test_what_is_too_long_to_be_passed_on_is_told(self, world: World) -> None:
        """A summary that nobody keeps must not look as if it were kept: the conversation stays with whoever has it."""
        await world.humans.ask(world.route(), Wish(by="person"), turn_id=await world.turn(), person_id=None)
        await world.posts()
        await world.desk_says("Hello")
        long = "!back " + "完" * (SUMMARY_CHARS + 1)
        await world.desk_says(long)
        posts = await world.posts()
        await world.desk_says("!back short")

        assert told("desk_not_passed_on", "zh", chars=len(long), most=SUMMARY_CHARS) in posts
        assert ["begun", "said Hello", "ended"] == await world.acts()

    async def test_in_a_group_each_is_told_by_name(self, world: World) -> None:
        """By that of who wrote it, not of who wrote before; an agent's request comes with what was said to it."""
        group = world.route("my refund 退款", chat_type="group")
        of, _ = await world.humans.ask(
            group, Wish(by="agent", note="angry"), turn_id=await world.turn(group), person_id=None
        )
        bob = world.route(chat_type="group", sender=Sender(user="bob", tenant="t", account="bob", name="Bob"))
        event = await world.queues.event(await world.turn(bob))
        assert event is not None
        await world.humans.heard(of, bob, event, "mine too", person_id=None)
        posts = await world.posts()

        assert "> angry\n\n> my refund 退款" in posts[0]
        assert "**Bob (chat, r1)**：mine too" == posts[1]

    async def test_a_room_that_got_another_id_stays_the_staffs(self, world: World) -> None:
        """The settings name the former one: what is posted goes to the new one, and what is answered there is heard."""
        world.moved["staff"] = "staff2"
        await world.humans.ask(world.route(), Wish(by="person"), turn_id=await world.turn(), person_id=None)
        (due,) = await world.queues.due(now_ms=world.clock() + 1, limit=1)
        await world.queues.sent(due, message_id="p1", now_ms=world.clock())
        await world.desk_says("Hello", thread="p1", room="staff2")

        assert "staff2" == msgspec.msgpack.decode(due.address)["room"]
        assert ["begun", "said Hello"] == await world.acts()

    async def test_of_who_is_erased_meanwhile_staff_hear_that_it_is_over(self, world: World) -> None:
        """What they write on is no message to the bot of their room."""
        await world.humans.ask(world.route(), Wish(by="person"), turn_id=await world.turn(), person_id=None)
        await world.posts()
        root = await world.first_post()
        await world.desk_says("Hello")
        await world.posts()
        assert 1 == await world.rows.erase((), {("chat", "zoe")}, now_ms=world.clock())
        for _ in range(2):
            await world.desk_says("are you there?", thread=root)

        assert [told("desk_over", "zh")] == await world.posts()

    async def test_others_are_not_staff(self, world: World) -> None:
        """Who is not on the room's list, a program, what answers nothing, and other rooms: messages like any other."""
        await world.humans.ask(world.route(), Wish(by="person"), turn_id=await world.turn(), person_id=None)
        await world.posts()
        with pytest.raises(LookupError):
            await world.desk_says("hi", by="guest")
        with pytest.raises(LookupError):
            await world.desk_says("hi", thread="another message")
        event = world.route().event
        assert isinstance(event, MessageEvent)
        bot = Sender(user="op", tenant="t", account="op", is_bot=True)
        for other in (
            event,
            msgspec.structs.replace(event, room="staff"),
            msgspec.structs.replace(event, room="staff", sender=bot),
        ):
            assert not await world.humans.at_desk(other)

    async def test_an_answer_waits_for_the_receipt_of_what_it_answers(self, world: World) -> None:
        """People may be faster than our record of what the platform has; not for ever."""
        await world.humans.ask(world.route(), Wish(by="person"), turn_id=await world.turn(), person_id=None)
        (due,) = await world.queues.due(now_ms=world.clock() + 1, limit=1)
        event = world.route("Hi").event
        assert isinstance(event, MessageEvent)
        answer = msgspec.structs.replace(
            event, room="staff", thread="p1", sender=Sender(user="op", tenant="t", account="op")
        )
        asking = asyncio.create_task(world.humans.at_desk(answer))
        await asyncio.sleep(0)
        await world.queues.sent(due, message_id="p1", now_ms=world.clock())

        assert await asking
        world.clock.now += YOUNG_MS + 1
        assert not await world.humans.at_desk(msgspec.structs.replace(answer, thread="p2"))

    @pytest.mark.parametrize("world", ["ids", "names"], indirect=True)
    async def test_the_room_is_told_no_more_than_it_may(self, world: World) -> None:
        """Neither what was said nor, by the stricter setting, who said it."""
        of, _ = await world.humans.ask(
            world.route(),
            Wish(by="agent", note="secret"),
            turn_id=await world.turn(world.route("secret")),
            person_id=None,
        )
        event = await world.queues.event(await world.turn())
        assert event is not None
        await world.humans.heard(of, world.route(), event, "secret", person_id=None)
        await world.desk.said(of, 7, "secret")
        posts = await world.posts()

        names = "names" == settings_of(of, world.configuration).takeover.desk_shows
        assert 2 == len(posts)
        assert "secret" not in "".join(posts)
        assert names is ("Zoe" in posts[0])
        assert names is not ("zoe" in posts[0])

    async def test_a_platform_without_threads_gets_replies(self, world: World) -> None:
        """The later posts answer the first one; one that is gone gets none."""
        world.adapters["chat"] = Said()
        of, _ = await world.humans.ask(world.route(), Wish(by="person"), turn_id=await world.turn(), person_id=None)
        await world.posts()
        await world.desk.said(of, 7, "hello")
        (due,) = await world.queues.due(now_ms=world.clock() + 1, limit=1)
        address = msgspec.msgpack.decode(due.address)
        world.adapters.clear()
        await world.desk.said(of, 8, "hello")

        assert (None, True) == (address["thread"], address["reply_to"].startswith("p0"))
        assert 2 == len(await world.posted(of.id))


class TestMailbox:
    """What waits on the chat page."""

    async def test_what_was_said_is_fetched_in_order(self, world: World) -> None:
        """Begun with the take-over that is under way; what is still in its lane holds up what is behind it."""
        zoe = Sender(user="zoe", tenant="t", account="zoe")

        async def fetch(after: str | None) -> tuple[list[str], str]:
            told_ = await world.mailbox.said_to("page", zoe, room="r1", chat_type="private", after=after)
            return [one.text for one in told_.said], told_.last

        assert ([], "0") == await fetch(None)
        mine = await world.humans.begin(await world.turn(world.route(channel="page")), ANN, over=False)
        await world.humans.say(mine, ANN, "您好", key="1")

        assert ([], str(mine.id)) == await fetch(None)
        assert ([], str(mine.id)) == await fetch(str(mine.id))
        other = await world.mailbox.said_to("page", zoe, room="r1", chat_type="group", after="0")
        assert () == other.said
        await world.humans.hand_back(mine, ANN, None)
        assert int((await fetch(None))[1]) > mine.id

    async def test_what_ended_without_a_word_holds_up_nothing(self, world: World) -> None:
        """Given up, or purged when its time was over: what is said behind it is fetched all the same."""
        zoe = Sender(user="zoe", tenant="t", account="zoe")
        mine = await world.humans.begin(await world.turn(world.route(channel="page")), ANN, over=False)
        lost = await world.humans.say(mine, ANN, "lost 丢了", key="1")
        for claim in await world.queues.claim(5):
            ids = [event.id for event in await world.queues.waiting(claim.lane)]
            await world.queues.start(ids, turn_id=ids[0], lane=claim.lane, fence=claim.fence)
            await world.queues.finish(ids, Outcome(state="dead"), lane=claim.lane, fence=claim.fence)
            assert await world.queues.release(claim)

        async def last() -> str:
            told_ = await world.mailbox.said_to("page", zoe, room="r1", chat_type="private", after=str(mine.id))
            return told_.last

        assert str(lost) == await last()
        await world.humans.say(mine, ANN, "still here", key="2")
        assert str(lost) == await last()

    async def test_what_is_just_coming_is_waited_for(self, world: World) -> None:
        """It is noted for the page before it stands in its lane: whoever fetches in that moment must not pass it by. What a crash
        has cut off there is passed by after a while."""
        zoe = Sender(user="zoe", tenant="t", account="zoe")
        mine = await world.humans.begin(await world.turn(world.route(channel="page")), ANN, over=False)
        for claim in await world.queues.claim(5):
            ids = [event.id for event in await world.queues.waiting(claim.lane)]
            await world.queues.start(ids, turn_id=ids[0], lane=claim.lane, fence=claim.fence)
            await world.queues.finish(ids, Outcome(state="dead"), lane=claim.lane, fence=claim.fence)
        coming = world.ids.next()
        await world.rows.posted(
            Post(turn_id=coming, takeover_id=mine.id, channel="page", room="r1", message_id=NO_POST)
        )

        async def last() -> str:
            told_ = await world.mailbox.said_to("page", zoe, room="r1", chat_type="private", after=str(mine.id))
            return told_.last

        before = await last()
        world.clock.now += ON_ITS_WAY_MS + 60_000
        assert (True, str(coming)) == (int(before) < coming, await last())
