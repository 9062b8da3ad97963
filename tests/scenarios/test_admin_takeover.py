"""Humans in the bot's stead, through the real process on local platforms: asked for, answering from a room of the staff's or
through the admins' doors, and handing back; nobody's word is lost, whatever dies in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import aiohttp
import pytest

from gateway.human_notices import told
from tests.emulators.slack.channels import Channel
from tests.emulators.telegram import rooms
from tests.emulators.telegram.chats import Chat
from tests.emulators.telegram.errors import forbidden
from tests.emulators.telegram.faults import Fault
from tests.residues import in_sqlite, left_of
from tests.scenarios.platforms import Room, SlackSide, TelegramSide, World, asks, echo, shows, world
from tests.scenarios.stage import Held
from tests.scenarios.world import HandOver, Refusal, command, in_folder
from tests.scenarios.world import rows as stored

BOTH = ("slack-http", "telegram-polling")
SETTINGS = ", takeover: {desk: '%s', words: ['angry lawyer']%s}"


class Desk(Protocol):
    """The staff's room as a member of it sees it."""

    async def until(self, text: str) -> str:
        """Wait for a post that holds the text; return it whole."""
        ...

    async def answers(self, text: str, *, by: str = "Op 安", to: str) -> None:
        """Answer the thread of the post that holds `to`."""
        ...

    def posts(self) -> list[str]: ...


@dataclass
class SlackDesk:
    side: SlackSide
    channel: Channel
    staff: dict[str, Any]

    def _ours(self) -> list[Any]:
        return [one for one in self.channel.messages() if one.author is self.side.bot.user]

    def posts(self) -> list[str]:
        return [one.shown for one in self._ours()]

    async def until(self, text: str) -> str:
        await self.channel.wait_for(lambda _: any(text in post for post in self.posts()), 20)
        return next(post for post in self.posts() if text in post)

    async def answers(self, text: str, *, by: str = "Op 安", to: str) -> None:
        await self.until(to)
        post = next(one for one in self._ours() if to in one.shown)
        await self.staff[by].says(self.channel, text, thread=post.thread_ts or post.ts)


@dataclass
class TelegramDesk:
    side: TelegramSide
    chat: Chat
    staff: dict[str, Any]

    def _ours(self) -> list[Any]:
        return [one for one in self.chat.replies() if one.bot is self.side.bot]

    def posts(self) -> list[str]:
        return [one.text for one in self._ours()]

    async def until(self, text: str) -> str:
        await self.chat.until(lambda _: any(text in post for post in self.posts()), timeout_s=20)
        return next(post for post in self.posts() if text in post)

    async def answers(self, text: str, *, by: str = "Op 安", to: str) -> None:
        await self.until(to)
        post = next(one for one in self._ours() if to in one.text)
        self.staff[by].says(self.chat, text, reply_to=post)


@dataclass
class Staffed:
    """A world with staff, and the door of whoever owns the machine."""

    world: World
    desks: dict[str, Desk]
    session: aiohttp.ClientSession

    async def act(self, method: str, path: str, **values: Any) -> Any:
        """Do something as whoever owns the machine; return what came of it."""
        status, body = await self.tried(method, path, **values)
        assert status < 300, (method, path, status, body)
        return body

    async def tried(self, method: str, path: str, **values: Any) -> tuple[int, Any]:
        door = json.loads(await asyncio.to_thread((self.world.folder / "clew.db.door").read_text))
        headers = {"Authorization": f"Bearer {door['token']}"}
        sent = {"params": values} if method == "GET" else {"json": values}
        async with self.session.request(method, f"{door['url']}/api/v1{path}", headers=headers, **sent) as response:
            return response.status, json.loads(await response.text())

    async def live(self) -> list[dict[str, Any]]:
        return (await self.act("GET", "/takeovers"))["takeovers"]  # type: ignore[no-any-return]

    async def until(self, wanted: Callable[[], Awaitable[bool]]) -> None:
        """Wait for something that only the doors tell."""
        async with asyncio.timeout(20):
            while not await wanted():  # nothing outside of the gateway hears of its rows
                await asyncio.sleep(0.05)


@asynccontextmanager
async def staffed(
    folder: Path,
    *,
    more: str = "",
    ways: tuple[str, ...] = BOTH,
    at: Mapping[str, str] | None = None,
    plain: bool = False,
    storage: str | None = None,
) -> AsyncIterator[Staffed]:
    """`at`: the way in whose platform the staff sit, for ways whose staff sit on another one. `plain`: in a group that may
    become a supergroup."""
    desks: dict[str, Desk] = {}

    def prepare(there: World) -> None:
        text = there.config.read_text("utf-8")
        for way in ways:
            if way.startswith("slack"):
                side = there.slack(way)
                staff = {name: side.here.person(name) for name in ("Op 安", "Second")}
                channel = side.here.channel("desk", members=[*staff.values(), side.bot])
                desks[way] = SlackDesk(side, channel, staff)
                text = text.replace(f"DESK-{way}", f"{way}/{channel.id}")
            else:
                told_by = there.telegram(way)
                people = {name: there.tg.person(name) for name in ("Op 安", "Second")}
                room = there.tg.group if plain else there.tg.supergroup
                chat = room("desk", *people.values(), bots=(told_by.bot,))
                desks[way] = TelegramDesk(told_by, chat, people)
                text = text.replace(f"DESK-{way}", f"{way}/{chat.id}")
        there.config.write_text(text, "utf-8")

    own = {way: SETTINGS % (f"DESK-{(at or {}).get(way, way)}", more) for way in ways}
    async with (
        world(
            folder, ways=ways, more=own, prepare=prepare, body="queue: {poll_s: 0.2, lease_s: 1}\n", storage=storage
        ) as there,
        aiohttp.ClientSession() as session,
    ):
        yield Staffed(there, desks, session)


def room_of(there: Staffed, way: str, kind: str, *people: str) -> Room:
    side = there.world.sides[way]
    return side.private(*people[:1] or ("Zoe",)) if kind == "private" else side.group("help", *(people or ("Zoe",)))


@pytest.mark.parametrize("kind", ["private", "group"])
@pytest.mark.parametrize("way", BOTH)
async def test_staff_answer_from_a_room_of_theirs(way: str, kind: str, tmp_path: Path) -> None:
    """Asked for by the person; the first who answers has it. What they write goes to the person by name, what the person writes
    comes to the thread, and to no agent. Handed back, the agent knows what the human said and left it, and nothing of what
    staff wrote among themselves."""
    async with staffed(tmp_path, ways=(way,)) as there:
        there.world.play(echo)
        room, desk = room_of(there, way, kind), there.desks[way]
        await asks(room, "where is 5512?")
        await room.says("/human it is late")
        await shows(room, told("asked", "en"))
        post = await desk.until("asks for a human")
        await desk.answers("Hello, this is about 订单 5512?", to="asks for a human")
        await shows(
            room,
            told("begun", "en", name="Op 安"),
            told("said", "en", name="Op 安", text="Hello, this is about 订单 5512?"),
        )
        await room.says("对, yes it is 😀", to_bot=False)
        await desk.until("对, yes it is 😀")
        await desk.answers("she sounds angry, colleagues", by="Second", to="asks for a human")
        await desk.until(told("desk_other_has_it", "en", name="Op 安").split(":")[0])
        await desk.answers("Refunded.", to="asks for a human")
        await shows(room, told("said", "en", name="Op 安", text="Refunded."))
        await desk.answers("!back order 5512 was refunded 已退款", to="asks for a human")
        await shows(room, told("handed_back", "en", name="Op 安"))
        await asks(room, "and the other one?")

        assert "it is late" in post
        assert 2 == len(there.world.model.prompts)
        prompt = "\n".join(message["content"] for message in there.world.model.prompts[-1])
        at = [
            prompt.index(text)
            for text in ("where is 5512?", "对, yes it is 😀", "Refunded.", "order 5512 was", "and the other")
        ]
        assert sorted(at) == at
        assert "Written by Op 安, a human colleague" in prompt
        assert "she sounds angry" not in prompt + "".join(room.replies())
        assert [] == await there.live()


@pytest.mark.parametrize("way", BOTH)
async def test_nobodys_word_is_lost_when_the_gateway_dies(way: str, tmp_path: Path) -> None:
    """Killed and started again, the human still has the conversation; what the person wrote meanwhile comes to them in order, and
    what the human wrote arrives once."""
    async with staffed(tmp_path, ways=(way,)) as there:
        there.world.play(echo)
        room, desk = room_of(there, way, "private"), there.desks[way]
        await asks(room, "first")
        await room.says("/human")
        await desk.answers("one 一", to="asks for a human")
        await shows(room, told("said", "en", name="Op 安", text="one 一"))
        await there.world.gateway.kill()
        await there.world.again()
        for text in ("second", "third"):
            await room.says(text)
        await desk.until("third")
        (taken,) = await there.live()
        status, refused = await there.tried("POST", f"/takeovers/{taken['takeover']}/messages", text="from elsewhere")
        read = await there.act("GET", f"/takeovers/{taken['takeover']}/messages")
        await there.world.gateway.kill()
        await there.world.again()
        await desk.answers("two", to="asks for a human")
        await shows(room, told("said", "en", name="Op 安", text="two"))

        assert ("active", "Op 安", False) == (taken["state"], taken["operator"], taken["mine"])
        assert (409, True) == (status, "Op 安 has this conversation" in refused["detail"])
        said = [
            ("person", "first"),
            ("agent", "re: first"),
            ("person", "/human"),
            ("human", "one 一"),
            ("person", "second"),
            ("person", "third"),
        ]
        assert said == [(message["by"], message["text"]) for message in read["messages"]]
        assert 1 == len(there.world.model.prompts)
        told_by = [text for text in room.replies() if text.startswith("Op 安 (human)")]
        assert [told("said", "en", name="Op 安", text=text) for text in ("one 一", "two")] == told_by


async def test_what_a_group_writes_while_the_gateway_is_down_comes_to_the_human(tmp_path: Path) -> None:
    """A human has the conversation, so nobody calls the bot: what waited at the platform for the gateway's return is for them all
    the same, each under the name of who wrote it."""
    way = "telegram-polling"
    async with staffed(tmp_path, ways=(way,)) as there:
        there.world.play(echo)
        room, desk = room_of(there, way, "group", "Zoe", "Bob"), there.desks[way]
        await room.says("/human")
        await desk.answers("Hello 大家", to="asks for a human")
        await shows(room, told("said", "en", name="Op 安", text="Hello 大家"))
        await there.world.gateway.kill()
        await room.says("still there? 在吗", to_bot=False)
        await room.says("I wait, too", by="Bob", to_bot=False)
        await there.world.again()
        posts = [await desk.until("still there? 在吗"), await desk.until("I wait, too")]

        assert [True, True] == [post.startswith(name) for post, name in zip(posts, ("Zoe", "Bob"), strict=True)]
        assert [] == there.world.model.prompts


async def test_who_asks_first_of_all_for_a_human_is_remembered(tmp_path: Path) -> None:
    """Nothing was said before: handed back, the agent knows what they wanted, what the human said and what was left for it."""
    way = "slack-http"
    async with staffed(tmp_path, ways=(way,)) as there:
        there.world.play(echo)
        room, desk = room_of(there, way, "private"), there.desks[way]
        await room.says("/human my order 5512 is late")
        await desk.answers("It arrives on Monday 周一", to="asks for a human")
        await shows(room, told("said", "en", name="Op 安", text="It arrives on Monday 周一"))
        await desk.answers("!back told her: Monday", to="asks for a human")
        await shows(room, told("handed_back", "en", name="Op 安"))
        await asks(room, "which day?")

        (asked,) = there.world.model.prompts
        prompt = "\n".join(message["content"] for message in asked)
        at = [
            prompt.index(text) for text in ("my order 5512 is late", "on Monday 周一", "told her: Monday", "which day?")
        ]
        assert sorted(at) == at


async def test_words_that_did_not_arrive_are_a_letter_under_their_writers_name(tmp_path: Path) -> None:
    """Answered by hand, the person sees the new words and not the old ones; nothing of it is said to be the person's own."""
    way = "telegram-polling"
    async with staffed(tmp_path, ways=(way,)) as there:
        there.world.play(echo)
        room = room_of(there, way, "private")
        await asks(room, "where is 5512?")
        taken = await there.act("POST", "/takeovers", turn=await newest_turn(there))
        await shows(room, told("begun", "en", name="local"))
        blocked = Fault(error=forbidden("bot was blocked by the user"))
        there.world.tg.faults.plan("sendMessage", blocked, chat=room.chat.id)  # type: ignore[attr-defined]
        await there.act("POST", f"/takeovers/{taken['takeover']}/messages", text="first words 旧")

        async def waits() -> bool:
            return bool((await there.act("GET", "/dead-letters"))["letters"])

        await there.until(waits)
        (letter,) = (await there.act("GET", "/dead-letters"))["letters"]
        path = f"/dead-letters/{letter['turn']}"
        shown = await there.act("GET", path)
        await there.act("POST", f"{path}/answer", text="other words 新", name="Olga")
        await shows(room, told("said", "en", name="Olga", text="other words 新"))
        read = await there.act("GET", f"/takeovers/{taken['takeover']}/messages")

        assert [("local", "first words 旧")] == [(one["name"], one["text"]) for one in shown["said"]]
        assert not any("first words" in reply for reply in room.replies())
        assert [("person", "where is 5512?"), ("human", "first words 旧"), ("human", "other words 新")] == [
            (message["by"], message["text"]) for message in read["messages"] if message["by"] != "agent"
        ]


async def test_what_runs_is_cut_short_and_says_so(tmp_path: Path) -> None:
    """An operator who comes while the agent is talking silences it; what was shown so far stays, marked. The operator's words
    come behind it."""
    way = "slack-http"
    async with staffed(tmp_path, ways=(way,)) as there:
        held = Held()
        there.world.play(held)
        room = room_of(there, way, "private")
        await room.says("tell me all")
        await there.world.model.called.wait()
        await room.until(lambda replies: any("First words" in reply for reply in replies))
        turn = await newest_turn(there)
        taken = await there.act("POST", "/takeovers", turn=turn)
        again = await there.act("POST", "/takeovers", turn=turn)
        said = await there.act("POST", f"/takeovers/{taken['takeover']}/messages", text="I am **here**", message="m1")
        repeated = await there.act(
            "POST", f"/takeovers/{taken['takeover']}/messages", text="I am **here**", message="m1"
        )
        other, _ = await there.tried("POST", f"/takeovers/{taken['takeover']}/messages", text="I am here", message="m1")
        mark = told("taken_over_mark", "en")
        await room.until(lambda replies: 3 == len(replies))
        held.go_on.set()
        ended = await there.act("POST", f"/takeovers/{taken['takeover']}/end")
        await shows(room, told("handed_back", "en", name="local"))

        assert taken == again
        assert (said, 409) == (repeated, other)
        assert ("ended", "handed_back") == (ended["state"], ended["how"])
        assert [
            f"First words\n\n{mark}",
            told("begun", "en", name="local"),
            told("said", "en", name="local", text="I am **here**"),
            told("handed_back", "en", name="local"),
        ] == room.replies()


async def test_a_request_that_nobody_takes_comes_to_its_end(tmp_path: Path) -> None:
    """By the words that a rule names; the agent answers meanwhile. The person is told when it is over, and so is who has waited
    for an operator that went away; the bot answers again. All in the person's language, and once."""
    way = "telegram-polling"
    async with staffed(tmp_path, ways=(way,), more=", wait_s: 0.5, timeout_s: 0.5") as there:
        there.world.play(echo)
        room, desk = room_of(there, way, "private"), there.desks[way]
        await room.says("我要找 Angry Lawyer 来")
        await shows(room, f"re: 我要找 Angry Lawyer 来\n\n{told('asked', 'zh')}", told("not_taken", "zh", prefix=""))
        await desk.until("is no longer waiting")
        await room.says("/人工")
        await room.until(lambda replies: told("asked", "zh") in replies)
        await desk.answers("在的", to="with /human")
        await shows(
            room, told("said", "zh", name="Op 安", text="在的"), told("timed_out", "zh", name="Op 安", prefix="")
        )
        await asks(room, "还在吗")
        ended = (await there.act("GET", "/takeovers", state="ended"))["takeovers"]

        assert ["timed_out", "not_taken"] == [one["how"] for one in ended]
        assert ["person", "words"] == [one["asked_by"] for one in ended]
        assert 1 == room.replies().count(told("timed_out", "zh", name="Op 安", prefix=""))
        assert 1 == room.replies().count(told("not_taken", "zh", prefix=""))


async def test_the_bot_is_silent_where_that_is_set(tmp_path: Path) -> None:
    """From the request on: what is written waits for the human, who finds all of it. Other conversations go on."""
    way = "slack-http"
    async with staffed(tmp_path, ways=(way,), more=", while_waiting: silent") as there:
        there.world.play(echo)
        room, other = room_of(there, way, "private"), room_of(there, way, "private", "Bob")
        await room.says("get me an angry lawyer")
        await shows(room, told("asked_silent", "en"))
        await room.says("are you there?")
        await there.desks[way].until("are you there?")
        await asks(other, "and I?")
        (asked,) = await there.live()
        taken = await there.act("POST", "/takeovers", takeover=asked["takeover"])
        read = await there.act("GET", f"/takeovers/{taken['takeover']}/messages")
        turn = await newest_turn(there, saying="are you there?")

        assert [told("asked_silent", "en")] == room.replies()[:1]
        assert ["get me an angry lawyer", "are you there?"] == [one["text"] for one in read["messages"]]
        assert ["and I?"] == [prompt[-1]["content"] for prompt in there.world.model.prompts]
        state = stored(in_folder(tmp_path), "SELECT state, outcome FROM inbox_events WHERE id = ?", int(turn))
        assert [("observed", "waiting_for_human")] == [(one, json.loads(outcome)["rule"]) for one, outcome in state]


async def test_an_agent_may_ask_for_a_human(tmp_path: Path) -> None:
    """By a tool, where the room lets it: the person is told, the staff learn its reason, and it goes on until one comes. What it
    asks for again is asked for already."""
    way = "telegram-polling"
    async with staffed(tmp_path, ways=(way,), more=", agent_may_ask: true") as there:
        there.world.play(lambda prompt: HandOver("wants 退款 of 5512"))
        room, desk = room_of(there, way, "private"), there.desks[way]
        await room.says("money back!")
        hands_over = told("agent_hands_over", "en")
        await shows(room, f"{hands_over}\n\n{told('asked', 'en')}")
        post = await desk.until("the agent wants help")
        await room.says("and now?")
        await shows(room, hands_over)
        await desk.answers("!back", to="the agent wants help")
        await shows(room, told("dismissed", "en"))

        assert "wants 退款 of 5512" in post
        assert "money back!" in post


async def test_failures_in_a_row_ask_for_a_human(tmp_path: Path) -> None:
    """The second one does; an answer in between begins the count anew. Angry messages in a row do, too."""
    way = "slack-http"
    more = ", after_failures: 2, after_complaints: 2"
    async with staffed(tmp_path, ways=(way,), more=more) as there:
        room = room_of(there, way, "private")
        failed = "The service that answers here refused this request. An administrator has to look at it."
        for script, text in (
            (lambda _: Refusal(401), failed),
            (lambda _: "fine", "fine"),
            (lambda _: Refusal(401), failed),
        ):
            there.world.play(script)
            seen = len(room.replies())
            await room.says("1")
            await room.until(lambda replies, seen=seen: len(replies) > seen)  # type: ignore[misc]
            assert text == room.replies()[-1]
        await room.says("2")
        await shows(room, f"{failed}\n\n{told('asked', 'en')}")
        there.world.play(echo)
        angry = room_of(there, way, "private", "Bob")
        await asks(angry, "this is useless")
        await angry.says("你们太差了!!!")
        await shows(angry, f"re: 你们太差了!!!\n\n{told('asked', 'zh')}")

        assert ["complaints", "failures"] == [one["asked_by"] for one in await there.live()]


async def test_who_is_erased_is_erased_from_what_staff_were_told(tmp_path: Path) -> None:
    """Their words, why the agent wanted help, what the human answered and left: all of it goes, with the take-over's place; that
    there was one stays, as numbers."""
    way = "telegram-polling"
    async with staffed(tmp_path, ways=(way,), more=", agent_may_ask: true") as there:
        there.world.play(lambda prompt: HandOver("wants Quittengelee"))
        room, desk = room_of(there, way, "private"), there.desks[way]
        await room.says("琥珀色河马 please")
        await desk.answers("Stachelbeere it is", to="wants Quittengelee")
        await shows(room, told("said", "zh", name="Op 安", text="Stachelbeere it is"))
        await desk.answers("!back Glühwürmchen", to="wants Quittengelee")
        await shows(room, told("handed_back", "zh", name="Op 安"))
        await room.says("Pfefferminztee")
        await desk.until("Pfefferminztee")
        words = ["Quittengelee", "琥珀色河马", "Stachelbeere", "Glühwürmchen", "Pfefferminztee"]
        database = tmp_path / "clew.db"
        before = left_of(words, in_sqlite(database))
        listed = json.loads((await command("people", "list", "--json", "--config", str(there.world.config)))[1])
        (person,) = [one["person"] for one in listed if any(i["kind"] == "telegram" for i in one["identities"])]

        code, out, err = await command("people", "erase", person, "--json", "--config", str(there.world.config))

        assert (0, words) == (code, before), err
        assert 2 == json.loads(out)["erased"]["takeovers"]
        assert [] == left_of(words, in_sqlite(database))
        assert [("", "", "erased"), ("", "", "handed_back")] == stored(
            in_folder(tmp_path), 'SELECT conversation, "user", how FROM takeovers ORDER BY how'
        )


async def test_a_take_over_moves_with_its_room(tmp_path: Path) -> None:
    """A group that becomes a supergroup while a human has it: what is said there comes to them without a mention, and what they
    say arrives there. Another group goes on with the bot."""
    way = "telegram-polling"
    async with staffed(tmp_path, ways=(way,)) as there:
        there.world.play(echo)
        tg, bot, desk = there.world.tg, there.world.telegram(way).bot, there.desks[way]
        zoe = tg.person("Zoe")
        group, elsewhere = (tg.group(title, zoe, bots=(bot,)) for title in ("help", "other"))
        zoe.says(group, f"@{bot.username} /human")
        await desk.answers("Hello 大家", to="asks for a human")
        await group.until(lambda chat: any("Hello 大家" in one.text for one in chat.replies()), timeout_s=20)
        supergroup = rooms.migrate(group, by=zoe)
        zoe.says(supergroup, "are you still there? 在吗")
        await desk.until("are you still there? 在吗")
        await desk.answers("Yes", to="asks for a human")
        said = told("said", "en", name="Op 安", text="Yes")
        await supergroup.until(lambda chat: said in [one.text for one in chat.replies()], timeout_s=20)
        zoe.says(elsewhere, "nobody asked you")
        zoe.says(elsewhere, f"@{bot.username} hi")
        await elsewhere.until(lambda chat: [one.text for one in chat.replies()] == ["re: hi"], timeout_s=20)
        (live,) = await there.live()

        assert str(supergroup.id) == live["room"]
        assert 1 == len(there.world.model.prompts)


async def test_the_staffs_room_may_become_another_one(tmp_path: Path) -> None:
    """The settings name its former id: what the person writes comes to the present one, and what staff answer there to them."""
    way = "telegram-polling"
    async with staffed(tmp_path, ways=(way,), plain=True) as there:
        there.world.play(echo)
        room, desk = room_of(there, way, "private"), there.desks[way]
        assert isinstance(desk, TelegramDesk)
        await asks(room, "hello")
        await room.says("/human")
        await desk.answers("one 一", to="asks for a human")
        await shows(room, told("said", "en", name="Op 安", text="one 一"))
        desk.chat = rooms.migrate(desk.chat, by=desk.staff["Op 安"])
        await room.says("are you still there? 在吗")
        await desk.until("are you still there? 在吗")
        await desk.answers("two", to="are you still there? 在吗")
        await shows(room, told("said", "en", name="Op 安", text="two"))
        await desk.answers("!back", to="are you still there? 在吗")
        await shows(room, told("handed_back", "en", name="Op 安"))

        assert 1 == len(there.world.model.prompts)


async def newest_turn(there: Staffed, *, saying: str | None = None) -> str:
    """Return the number of the last message, or of the last that says this."""
    like = f"%{saying}%" if saying else "%"
    query = "SELECT id FROM inbox_events WHERE kind = 'message' AND CAST(body AS TEXT) LIKE ? ORDER BY id DESC LIMIT 1"
    ((turn,),) = stored(in_folder(there.world.folder), query, like)
    return str(turn)
