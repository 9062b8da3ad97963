"""A Telegram bot through the real process: the real adapter and SDK, a local Telegram, a model that knows only its prompt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.emulators.telegram import rooms
from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.chats import Chat, Topic
from tests.emulators.telegram.emulator import Telegram, telegram
from tests.emulators.telegram.faults import cut, server_error, throttled
from tests.emulators.telegram.messages import Message
from tests.emulators.telegram.people import Person
from tests.scenarios.conftest import stored
from tests.scenarios.platforms import LONG, QUICK, echo
from tests.scenarios.stage import Held, talk
from tests.scenarios.test_scenes import SCENES, model_of
from tests.scenarios.world import Gateway, ModelServer, gateway, model_server, write_config
from tests.unit.emulators.telegram.bot_client import client

PUBLIC = "https://clew.example"
AGENT = "agents: {{default: {{kind: openai, base_url: '{url}', model: stub}}}}\n"
SERVER = f"public_url: '{PUBLIC}'"


@dataclass
class World:
    tg: Telegram
    ann: Person
    bob: Person
    zoe: Person
    model: ModelServer
    gateway: Gateway
    config: Path

    async def says(
        self, who: Person, chat: Chat, text: str, *, answer: str, topic: Topic | None = None
    ) -> tuple[Message, Message]:
        """Let somebody say something and wait for the answer; return both."""
        message = who.says(chat, text, topic=topic)
        return message, await self.answered(chat, answer, after=message)

    async def answered(self, chat: Chat, answer: str, *, after: Message | None = None) -> Message:
        """Return the bot's message that shows `answer`, once it stands there."""
        earlier = after.id if after is not None else 0
        return await chat.wait_for(
            lambda one: one.bot is not None and one.text == answer and one.id > earlier, timeout_s=20
        )

    async def heard(self) -> None:
        """Return once the platform has nothing more to tell."""
        updates = self.tg.bot.updates
        if updates.pushed:
            await self.tg.world.bell.until(lambda: not updates.waiting() or None, timeout_s=20)
        else:
            await updates.polled()

    def afresh(self) -> World:
        """Return the same with people of its own, a model that echoes and nothing asked yet."""
        self.model.script = echo
        self.model.prompts.clear()
        self.model.called.clear()
        ann = self.tg.person("Ann", language_code="en")
        return replace(self, ann=ann, bob=self.tg.person("Bob 鲍勃"), zoe=self.tg.person("Zoe"))


def channel_of(tg: Telegram, bot: Bot, *, mode: str = "polling", more: str = "") -> str:
    secrets = f"token: '{bot.token}', secret_token: s3cret"
    rest = f"limits: {{per_minute: 1000}}, first_use_notice: false, {LONG}{more}"
    return f"{{kind: telegram, mode: {mode}, {secrets}, api_url: '{tg.url}', {rest}}}"


@asynccontextmanager
async def world(
    folder: Path, *, mode: str = "polling", more: str = "", storage: str | None = None, reads_all: bool = True
) -> AsyncIterator[World]:
    async with telegram(reads_all=reads_all) as tg, model_server(echo) as model:
        ann, bob, zoe = tg.person("Ann", language_code="en"), tg.person("Bob 鲍勃"), tg.person("Zoe")
        channels = f"channels:\n  bot: {channel_of(tg, tg.bot, mode=mode, more=more)}\n{QUICK}"
        config = write_config(folder, AGENT.format(url=model.url) + channels, server=SERVER, storage=storage)
        async with gateway(config) as process:
            tg.hosts[PUBLIC] = process.url
            yield World(tg, ann, bob, zoe, model, process, config)


WORLDS = [("polling", "sqlite"), ("webhook", "sqlite"), ("polling", "postgres+redis"), ("webhook", "postgres")]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=WORLDS, ids="-".join)
async def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    (mode, column), folder = request.param, tmp_path_factory.mktemp("telegram")
    with stored(column, request, folder) as storage:
        async with world(folder, mode=mode, more=", show_every_s: 1", storage=storage) as opened:
            opened.tg.flood.enforce()
            yield opened
            assert [] == opened.tg.violations


@pytest.fixture
def there(shared: World) -> World:
    return shared.afresh()


@pytest.mark.parametrize("scene", [scene for scene in SCENES if not scene.startswith("C")])
@pytest.mark.asyncio(loop_scope="module")
async def test_the_scenes_are_understood_in_every_kind_of_chat(scene: str, there: World) -> None:
    """A02, B02, E01: in private, in a forum's topic, in a plain supergroup."""
    there.model.script = lambda prompt: model_of(SCENES[scene], prompt)
    forum = there.tg.supergroup("Forum", there.ann, forum=True)
    topic = rooms.open_topic(forum, "Support", by=there.ann)
    for chat, inside in (
        (there.tg.private(there.ann), None),
        (forum, topic),
        (there.tg.supergroup("Team", there.ann), None),
    ):
        address = "" if chat.type == "private" else "@clew_bot "
        for line in SCENES[scene]:
            await there.says(there.ann, chat, address + line.said, answer=line.answer, topic=inside)

        assert [line.answer for line in SCENES[scene]] == [reply.text for reply in chat.replies()]


@pytest.mark.asyncio(loop_scope="module")
async def test_topics_keep_their_talk_apart_and_three_speakers_are_told_apart(there: World) -> None:
    """What is said in one topic is not in the other's prompt; answers stay in theirs (field-reports 1 A, B)."""
    forum = there.tg.supergroup("Forum", there.ann, there.bob, there.zoe, forum=True)
    plans, jokes = (rooms.open_topic(forum, name, by=there.ann) for name in ("Plans", "Jokes"))
    await there.says(there.ann, forum, "@clew_bot my colour is red", answer="re: my colour is red", topic=plans)
    await there.says(there.bob, forum, "@clew_bot你好，我喜欢蓝色", answer="re: 你好，我喜欢蓝色", topic=plans)
    await there.says(there.zoe, forum, "@clew_bot who likes what?", answer="re: who likes what?", topic=plans)
    in_plans = str(there.model.prompts[-1])
    await there.says(there.zoe, forum, "@clew_bot and here?", answer="re: and here?", topic=jokes)

    assert "[Ann]: my colour is red" in in_plans
    assert "[Bob 鲍勃]: 你好，我喜欢蓝色" in in_plans
    assert "red" not in str(there.model.prompts[-1])
    assert [plans.id] * 3 + [jokes.id] == [reply.body.get("message_thread_id") for reply in forum.replies()]


@pytest.mark.asyncio(loop_scope="module")
async def test_talk_among_people_and_bots_is_not_answered(there: World) -> None:
    """Nor commands for another bot; a reply to the bot is for it."""
    group = there.tg.supergroup("Team", there.ann, there.bob)
    there.ann.says(group, "hi Bob")
    there.bob.says(group, "/help@other_bot")
    there.ann.says(group, "@clew_bot_dev and you?")
    _, reply = await there.says(there.ann, group, "@clew_bot yes?", answer="re: yes?")
    there.bob.says(group, "and then?", reply_to=reply)
    await there.answered(group, "re: and then?")

    assert ["re: yes?", "re: and then?"] == [one.text for one in group.replies()]


@pytest.mark.asyncio(loop_scope="module")
async def test_an_edit_never_brings_a_second_answer(there: World) -> None:
    """It reaches the memory instead; one without a change is none (tdlib/telegram-bot-api#388)."""
    dm = there.tg.private(there.ann)
    message, _ = await there.says(there.ann, dm, "my order is 8821", answer="re: my order is 8821")
    there.ann.edits(message, "my order is 4711")
    rooms.phantom_edit(message)
    await there.heard()
    await there.says(there.ann, dm, "which order?", answer="re: which order?")

    prompt = "\n".join(text for role, text in talk(there.model.prompts[-1]) if role == "user")
    assert "4711" in prompt
    assert "8821" not in prompt
    assert 2 == len(there.model.prompts) == len(dm.replies())


@pytest.mark.asyncio(loop_scope="module")
async def test_a_caption_that_was_taken_out_is_in_no_prompt(there: World) -> None:
    """The old words are not said any more, so they are gone as if the message had been deleted."""
    dm = there.tg.private(there.ann)
    photo = there.ann.sends(dm, "photo", caption="my order is 8821 订单")
    await there.answered(dm, "re: my order is 8821 订单", after=photo)
    there.ann.edits(photo, "")
    await there.heard()
    await there.says(there.ann, dm, "which order?", answer="re: which order?")

    prompt = "\n".join(text for role, text in talk(there.model.prompts[-1]) if role == "user")
    assert "8821" not in prompt
    assert 2 == len(there.model.prompts) == len(dm.replies())


@pytest.mark.asyncio(loop_scope="module")
async def test_a_new_conversation_by_command_in_the_persons_language(there: World) -> None:
    lei = there.tg.person("李雷", language_code="zh-hans")
    dm = there.tg.private(lei)
    await there.says(lei, dm, "8821 是什么？", answer="re: 8821 是什么？")
    lei.says(dm, "/new")
    await dm.until(lambda chat: len(chat.replies()) == 2, timeout_s=20)
    await there.says(lei, dm, "哪一个？", answer="re: 哪一个？")

    assert any("\u4e00" <= character <= "\u9fff" for character in dm.replies()[1].text)
    assert "8821" not in str(there.model.prompts[-1])


@pytest.mark.asyncio(loop_scope="module")
async def test_an_answer_shows_while_it_is_made_and_the_finished_one_takes_its_place(there: World) -> None:
    """In private as a draft and then a message; in a group one message, posted and edited."""
    held = Held()
    there.model.script = held
    dm, group = there.tg.private(there.ann), there.tg.supergroup("Team", there.bob)
    there.ann.says(dm, "hi")
    there.bob.says(group, "@clew_bot hi")
    growing = await there.answered(group, "First words")
    await dm.until(lambda chat: any(draft.text == "First words" for draft in chat.drafts), timeout_s=20)
    held.go_on.set()
    finished = await there.answered(group, "First words, and the rest.")
    await there.answered(dm, "First words, and the rest.")

    assert growing is finished
    assert [1, 1] == [len(chat.replies()) for chat in (dm, group)]


@pytest.mark.parametrize("first", ["old", "new"])
@pytest.mark.asyncio(loop_scope="module")
async def test_a_group_that_becomes_a_supergroup_in_mid_turn_loses_nothing(first: str, there: World) -> None:
    """The answer arrives in the new room, and so does the memory; whichever message of the two comes first
    (TelegramBots/Telegram.Bot#171)."""
    group = there.tg.group("Team", there.ann)
    await there.says(there.ann, group, "@clew_bot my order is 8821", answer="re: my order is 8821")
    held = Held()
    there.model.script = held
    there.ann.says(group, "@clew_bot and?")
    await there.answered(group, "First words")
    supergroup = rooms.migrate(group, by=there.ann, first="old" if first == "old" else "new")
    held.go_on.set()
    await there.answered(supergroup, "First words, and the rest.")
    there.model.script = echo
    await there.says(there.ann, supergroup, "@clew_bot which order?", answer="re: which order?")

    assert "8821" in str(there.model.prompts[-1])
    assert ["First words, and the rest.", "re: which order?"] == [reply.text for reply in supergroup.replies()]


@pytest.mark.asyncio(loop_scope="module")
async def test_who_blocks_the_bot_keeps_nobody_waiting(there: World) -> None:
    """The answer is dead, with its reason; later, unblocked, all is well again."""
    held = Held()
    there.model.script = held
    dm = there.tg.private(there.ann)
    there.ann.says(dm, "hi")
    await there.model.called.wait()
    there.ann.blocks(there.tg.bot)
    held.go_on.set()
    there.model.script = echo
    await there.says(there.bob, there.tg.private(there.bob), "and me?", answer="re: and me?")
    await there.gateway.logged("send given up")  # refused, or not even tried: the platform told first
    there.ann.unblocks(there.tg.bot)
    await there.says(there.ann, dm, "again", answer="re: again")


async def test_lost_answers_are_not_sent_again_and_limits_are_waited_for(tmp_path: Path) -> None:
    """Unknown, and said to be (python-telegram-bot#1045); `retry_after` is kept to the second."""
    async with world(tmp_path, more=", stream: false, typing: false") as there:
        dm = there.tg.private(there.ann)
        there.tg.faults.plan("sendMessage", cut(done=True), throttled(1), server_error(done=True))
        for text in ("one", "two", "three", "four"):
            await there.says(there.ann, dm, text, answer=f"re: {text}")

        assert ["re: one", "re: two", "re: three", "re: four"] == [reply.text for reply in dm.replies()]
        assert [] == there.tg.violations


async def test_readiness_names_what_is_wrong_with_a_channel_and_what_is_hardly_meant(tmp_path: Path) -> None:
    """A bot that is deaf to its name works; one whose webhook somebody took hears nothing. Neither takes others' traffic away."""
    async with (
        world(tmp_path, mode="webhook", more=", look_s: 0.1", reads_all=False) as there,
        client(there.tg) as somebody,
        aiohttp.ClientSession() as session,
    ):

        async def readiness() -> tuple[int, str, str]:
            async with session.get(f"{there.gateway.url}/readyz") as response:
                told = await response.json()
                return response.status, told["checks"]["channel bot"], told["warnings"].get("channel bot", "")

        well = await readiness()
        await somebody.set_webhook("https://other.example/hook")
        looks = len(there.tg.called("getWebhookInfo"))
        await there.tg.wait_called("getWebhookInfo", times=looks + 2)
        robbed = await readiness()

    assert (200, "ok") == well[:2]
    assert "privacy mode is on" in well[2]
    assert 200 == robbed[0]
    assert "another program has set this bot's webhook" in robbed[1]


async def test_two_bots_and_two_agents_stay_apart(storage: str, tmp_path: Path) -> None:
    """One process, two bots, one of them pushed to, both in one group and in private: neither hears, knows or answers for the
    other (A12)."""
    async with telegram(reads_all=True) as tg, model_server(lambda prompt: "?") as model:
        model.scripts = {name: lambda prompt, name=name: f"{name}: {len(talk(prompt))}" for name in ("red", "blue")}
        agents = "".join(
            f"  {name}: {{kind: openai, base_url: '{model.url}', model: {name}}}\n" for name in ("red", "blue")
        )
        bots = {name: tg.add_bot(f"{name}_bot", reads_all=True) for name in ("red", "blue")}
        channels = "".join(
            f"  {name}: {channel_of(tg, bot, mode=mode, more=f', agent: {name}')}\n"
            for (name, bot), mode in zip(bots.items(), ("polling", "webhook"), strict=True)
        )
        settings = f"agents:\n{agents}channels:\n{channels}"
        ann = tg.person("Ann")
        group = tg.supergroup("Team", ann, bots=tuple(bots.values()))
        async with gateway(write_config(tmp_path, settings, server=SERVER, storage=storage)) as process:
            tg.hosts[PUBLIC] = process.url
            for number in (1, 3):
                for name, bot in bots.items():
                    dm = tg.private(ann, bot)
                    ann.says(dm, f"the {name} secret")
                    ann.says(group, f"@{name}_bot the {name} word")
                    for chat in (dm, group):
                        await chat.wait_for(
                            lambda one, bot=bot, answer=f"{name}: {number}": one.bot is bot and one.text == answer,
                            timeout_s=20,
                        )

    for asked, prompt in zip(model.models, model.prompts, strict=True):
        other = "blue" if asked == "red" else "red"
        assert f"the {other}" not in str(prompt)


async def test_a_killed_gateway_loses_no_message_and_answers_none_twice(storage: str, tmp_path: Path) -> None:
    """What Telegram was not told about comes again, what it was told about is taken up."""
    async with world(tmp_path, more=", stream: false", storage=storage) as there:
        held = Held()
        there.model.script = held
        dm = there.tg.private(there.ann)
        there.ann.says(dm, "one")
        await there.model.called.wait()
        await there.gateway.kill()
        there.ann.says(dm, "two")
        there.model.script = echo
        async with gateway(there.config) as again:
            there.tg.hosts[PUBLIC] = again.url
            await dm.wait_for(lambda one: one.bot is not None and "two" in one.text, timeout_s=40)

        told = "\n".join(reply.text for reply in dm.replies())
        assert 1 == told.count("one")
        assert 1 == told.count("two")
