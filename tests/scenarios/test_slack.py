"""A Slack workspace through the real process: the real adapter and SDK, a local Slack, a model that knows only its prompt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio

from tests.emulators.slack.apps import App, Bot
from tests.emulators.slack.channels import Channel, Message
from tests.emulators.slack.faults import cut_after, throttled
from tests.emulators.slack.members import Member
from tests.emulators.slack.server import Slack, slack
from tests.scenarios.conftest import stored
from tests.scenarios.platforms import LONG, QUICK, echo
from tests.scenarios.stage import Held, talk
from tests.scenarios.test_scenes import SCENES, model_of
from tests.scenarios.world import Gateway, ModelServer, gateway, model_server, write_config

AGENT = "agents: {{default: {{kind: openai, base_url: '{url}', model: stub}}}}\n"


@dataclass
class World:
    platform: Slack
    app: App
    bot: Bot
    ann: Member
    bob: Member
    zoe: Member
    model: ModelServer
    gateway: Gateway
    config: Path

    async def says(self, who: Member, place: Channel, text: str, *, thread: str | None = None, answer: str) -> str:
        """Let somebody say something and wait for the answer; return the message's ts."""
        ts = await who.says(place, text, thread=thread)
        await self.answered(place, answer, after=ts)
        return ts

    async def answered(self, place: Channel, answer: str, *, after: str) -> Message:
        """Return the bot's message that shows `answer`, once it stands there."""

        def found(messages: list[Message]) -> Message | None:
            ours = [one for one in messages if one.author is self.bot.user and one.ts > after]
            return next((one for one in ours if one.shown == answer), None)

        message = await place.wait_for(found, 20)
        assert message is not None
        return message

    def afresh(self) -> World:
        """Return the same with people of its own, a model that echoes and nothing asked yet."""
        here = self.bot.workspace
        ann, bob, zoe = here.person("Ann"), here.person("Bob 鲍勃", lang="zh"), here.person("Zoe")
        self.model.script = echo
        self.model.prompts.clear()
        return replace(self, ann=ann, bob=bob, zoe=zoe)

    def replies(self, place: Channel) -> list[str]:
        return [message.shown for message in place.messages() if message.author is self.bot.user]


def channel_of(app: App, bot: Bot, *, mode: str = "http", more: str = "") -> str:
    secrets = f"bot_token: {bot.token}, app_token: {app.app_token}, signing_secrets: [{app.signing_secret}]"
    rest = f"limits: {{per_minute: 1000}}, first_use_notice: false, {LONG}{more}"
    return f"{{kind: slack, mode: {mode}, {secrets}, api_url: '{app.slack.api_url}', {rest}}}"


@asynccontextmanager
async def world(
    folder: Path, *, mode: str = "http", more: str = "", storage: str | None = None
) -> AsyncIterator[World]:
    async with slack() as platform, model_server(echo) as model:
        here = platform.workspace("Acme")
        app = platform.app(socket_mode=mode == "socket")
        bot = here.install(app)
        ann, bob, zoe = here.person("Ann"), here.person("Bob 鲍勃", lang="zh"), here.person("Zoe")
        channels = f"channels:\n  acme: {channel_of(app, bot, mode=mode, more=more)}\n{QUICK}"
        config = write_config(folder, AGENT.format(url=model.url) + channels, storage=storage)
        async with gateway(config) as process:
            app.events_url = f"{process.url}/channels/acme"
            yield World(platform, app, bot, ann, bob, zoe, model, process, config)


WORLDS = [("http", "sqlite"), ("socket", "sqlite"), ("http", "postgres+redis"), ("socket", "postgres")]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=WORLDS, ids="-".join)
async def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    (mode, column), folder = request.param, tmp_path_factory.mktemp("slack")
    with stored(column, request, folder) as storage:
        async with world(folder, mode=mode, more=", show_every_s: 1", storage=storage) as opened:
            yield opened


@pytest.fixture
def there(shared: World) -> World:
    return shared.afresh()


@pytest.mark.parametrize("scene", [scene for scene in SCENES if not scene.startswith("C")])
@pytest.mark.asyncio(loop_scope="module")
async def test_the_scenes_are_understood_in_every_kind_of_conversation(scene: str, there: World) -> None:
    """A02, B02, E01: in a direct message, in a channel's thread, in a group's direct messages."""
    there.model.script = lambda prompt: model_of(SCENES[scene], prompt)
    here = there.bot.workspace
    general = here.channel("general", members=[there.ann, there.bot])
    for place in (here.dm(there.ann, there.bot), general, here.dm(there.ann, there.bob, there.bot)):
        root: str | None = None
        for line in SCENES[scene]:
            address = "" if place.kind == "im" else f"{there.bot.mention} "
            ts = await there.says(there.ann, place, address + line.said, thread=root, answer=line.answer)
            root = root or (None if place.kind == "im" else ts)

        assert [line.answer for line in SCENES[scene]] == there.replies(place)


@pytest.mark.asyncio(loop_scope="module")
async def test_three_speakers_of_a_thread_are_told_apart(there: World) -> None:
    """The first mention opens the thread; what others say there is theirs, by name (field-reports 1 B)."""
    general = there.bot.workspace.channel("general", members=[there.ann, there.bob, there.zoe, there.bot])
    root = await there.ann.says(general, f"{there.bot.mention} my colour is red")
    await general.wait_for(lambda messages: len(there.replies(general)) == 1, 20)
    await there.bob.says(general, f"{there.bot.mention} 我喜欢蓝色", thread=root)
    await general.wait_for(lambda messages: len(there.replies(general)) == 2, 20)
    await there.zoe.says(general, f"{there.bot.mention} what did {there.ann.mention} say?", thread=root)
    await general.wait_for(lambda messages: len(there.replies(general)) == 3, 20)

    prompt = "\n".join(text for _, text in talk(there.model.prompts[-1]))
    assert "[Ann]: my colour is red" in prompt
    assert "[Bob 鲍勃]: 我喜欢蓝色" in prompt
    assert "[Zoe]: what did @Ann say?" in prompt
    assert {root} == {message.thread_ts for message in general.messages()}


@pytest.mark.asyncio(loop_scope="module")
async def test_a_mention_is_answered_once_whatever_comes_twice(there: World) -> None:
    """Both events, each delivered twice (slackapi/bolt-python#941, openclaw/openclaw#22242)."""
    general = there.bot.workspace.channel("general", members=[there.ann, there.bot])
    there.app.twice = 4
    for number in range(2):
        await there.says(there.ann, general, f"{there.bot.mention} {number}", answer=f"re: {number}")
    await there.platform.settled()

    assert 2 == len(there.replies(general))
    assert 2 == len(there.model.prompts)
    assert all(delivery.acked for delivery in there.app.deliveries)


@pytest.mark.asyncio(loop_scope="module")
async def test_talk_among_people_and_bots_is_not_answered(there: World) -> None:
    general = there.bot.workspace.channel("general", members=[there.ann, there.bob, there.bot])
    other = there.bot.workspace.bot("Jira")
    general.let_in(other)
    await there.ann.says(general, f"hi {there.bob.mention}")
    await other.says(general, f"{there.bot.mention} ticket opened")
    await there.says(there.ann, general, f"{there.bot.mention} and you?", answer="re: and you?")

    assert ["re: and you?"] == there.replies(general)
    assert 1 == len(there.model.prompts)


@pytest.mark.asyncio(loop_scope="module")
async def test_edits_and_deletions_never_bring_a_second_answer(there: World) -> None:
    """They reach the memory instead (openclaw/openclaw#28834)."""
    private = there.bot.workspace.dm(there.ann, there.bot)
    first = await there.says(there.ann, private, "my order is 8821", answer="re: my order is 8821")
    second = await there.says(there.ann, private, "and a secret", answer="re: and a secret")
    await there.ann.edits(private, first, "my order is 4711")
    await there.ann.deletes(private, second)
    await there.platform.settled()
    await there.says(there.ann, private, "which order?", answer="re: which order?")

    prompt = "\n".join(text for role, text in talk(there.model.prompts[-1]) if role == "user")
    assert "4711" in prompt
    assert "8821" not in prompt
    assert "and a secret" not in prompt
    assert 3 == len(there.model.prompts) == len(there.replies(private))


@pytest.mark.asyncio(loop_scope="module")
async def test_who_an_edit_mentions_is_remembered_by_name(there: World) -> None:
    """As in a message that was said so at once: after its answer, and while it waits for one."""
    private = there.bot.workspace.dm(there.ann, there.bot)
    first = await there.says(there.ann, private, "my boss is new", answer="re: my boss is new")
    await there.ann.edits(private, first, f"my boss is {there.bob.mention}")
    await there.platform.settled()
    held = Held()
    there.model.script = held
    second = await there.ann.says(private, "wait")
    await there.answered(private, held.first, after=second)
    third = await there.ann.says(private, "and who is it?")
    await there.ann.edits(private, third, f"and is it {there.zoe.mention}?")
    await there.platform.settled()
    there.model.script = echo
    held.go_on.set()
    await there.answered(private, "re: and is it @Zoe?", after=third)

    prompt = str(there.model.prompts[-1])
    assert "my boss is @Bob 鲍勃" in prompt
    assert there.bob.id not in prompt
    assert there.zoe.id not in prompt


@pytest.mark.parametrize(
    ("storage", "stream"), [("sqlite", "true"), ("sqlite", "false"), ("postgres", "true")], indirect=["storage"]
)
async def test_a_lost_receipt_is_looked_up_and_a_limit_is_waited_for(stream: str, storage: str, tmp_path: Path) -> None:
    """Sent and never answered: found by its metadata, not sent again. Asked to wait: sent later."""
    async with world(tmp_path, more=f", stream: {stream}", storage=storage) as there:
        await lose_and_limit(there)


async def lose_and_limit(there: World) -> None:
    private = there.bot.workspace.dm(there.ann, there.bot)
    there.bot.workspace.will("chat.postMessage", cut_after(), throttled(1))
    await there.says(there.ann, private, "one", answer="re: one")
    await there.says(there.ann, private, "two", answer="re: two")
    await there.says(there.ann, private, "three", answer="re: three")

    assert ["re: one", "re: two", "re: three"] == there.replies(private)
    assert not [broken for broken in there.bot.workspace.violations if broken.rule == "Retry-After"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_new_conversation_by_slash_command(there: World) -> None:
    private = there.bot.workspace.dm(there.ann, there.bot)
    await there.says(there.ann, private, "remember 8821", answer="re: remember 8821")
    delivery = await there.ann.runs(there.app, private, "/new")
    await private.wait_for(lambda messages: len(there.replies(private)) == 2, 20)
    await there.says(there.ann, private, "which?", answer="re: which?")

    assert delivery.acked
    assert "8821" not in str(there.model.prompts[-1])


@pytest.mark.asyncio(loop_scope="module")
async def test_what_a_command_tells_one_person_is_seen_by_nobody_else(there: World) -> None:
    """By slash command or in words, in a channel or its thread; that a new conversation begins concerns everybody."""
    general = there.bot.workspace.channel("general", members=[there.ann, there.bob, there.bot])
    root = await there.says(there.ann, general, f"{there.bot.mention} remember 8821", answer="re: remember 8821")
    await there.bob.says(general, f"{there.bot.mention} /memory", thread=root)
    await general.wait_for(lambda messages: len(general.ephemerals) == 1, 20)
    await there.bob.runs(there.app, general, "/memory")
    await general.wait_for(lambda messages: len(general.ephemerals) == 2, 20)
    await there.bob.runs(there.app, general, "/new")
    await general.wait_for(lambda messages: len(there.replies(general)) == 2, 20)

    told = [(who, message.thread_ts) for who, message in general.ephemerals]
    assert [(there.bob.id, root), (there.bob.id, None)] == told
    assert "the last 2 messages" in general.ephemerals[0][1].shown
    assert ["re: remember 8821", "A new conversation begins here."] == there.replies(general)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_answer_shows_while_it_is_made_and_the_finished_one_takes_its_place(there: World) -> None:
    """One message, posted and edited; a status in the thread until then."""
    held = Held()
    there.model.script = held
    general = there.bot.workspace.channel("general", members=[there.ann, there.bot])
    ts = await there.ann.says(general, f"{there.bot.mention} hi")
    growing = await there.answered(general, "First words", after=ts)
    held.go_on.set()
    finished = await there.answered(general, "First words, and the rest.", after=ts)

    assert growing is finished
    assert 1 == len(there.replies(general))
    assert there.bot.workspace.called("assistant.threads.setStatus")


@pytest.mark.asyncio(loop_scope="module")
async def test_an_answer_that_stood_there_before_others_spoke_quotes_nobody(there: World) -> None:
    """It is finished in its place, above what they said."""
    held = Held()
    there.model.script = held
    general = there.bot.workspace.channel("general", members=[there.ann, there.bob, there.bot])
    ts = await there.ann.says(general, f"{there.bot.mention} hi")
    growing = await there.answered(general, "First words", after=ts)
    await there.bob.says(general, "我也想知道", thread=ts)
    await there.platform.settled()
    held.go_on.set()

    assert growing is await there.answered(general, "First words, and the rest.", after=ts)


async def test_two_workspaces_and_two_agents_stay_apart(storage: str, tmp_path: Path) -> None:
    """One process, two apps in two workspaces, each with its agent: neither hears, knows or answers for the other (A12)."""
    async with slack() as platform, model_server(lambda prompt: "?") as model:
        model.scripts = {name: lambda prompt, name=name: f"{name}: {len(talk(prompt))}" for name in ("red", "blue")}
        agents = "".join(
            f"  {name}: {{kind: openai, base_url: '{model.url}', model: {name}}}\n" for name in ("red", "blue")
        )
        sides = []
        for name in ("red", "blue"):
            here = platform.workspace(name)
            app = platform.app(name)
            bot, ann = here.install(app), here.person("Ann")
            sides.append((name, app, bot, ann, here.dm(ann, bot)))
        channels = "".join(
            f"  {name}: {channel_of(app, bot, more=f', agent: {name}')}\n" for name, app, bot, _, _ in sides
        )
        config = write_config(tmp_path, f"agents:\n{agents}channels:\n{channels}", storage=storage)
        async with gateway(config) as process:
            for name, app, *_ in sides:
                app.events_url = f"{process.url}/channels/{name}"
            for number in (1, 3):
                for name, _, bot, ann, place in sides:
                    await ann.says(place, f"the {name} secret")
                    await place.wait_for(
                        lambda messages, bot=bot, answer=f"{name}: {number}": any(
                            one.shown == answer and one.author is bot.user for one in messages
                        ),
                        20,
                    )

    for asked, prompt in zip(model.models, model.prompts, strict=True):
        other = "blue" if asked == "red" else "red"
        assert f"the {other} secret" not in str(prompt)


async def test_a_killed_gateway_loses_no_message_and_answers_none_twice(storage: str, tmp_path: Path) -> None:
    """What Slack was not told about comes again, what it was told about is taken up."""
    async with world(tmp_path, storage=storage) as there:
        held = Held()
        there.model.script = held
        private = there.bot.workspace.dm(there.ann, there.bot)
        await there.says(there.ann, private, "/help", answer=(await help_text(there, private)))
        await there.ann.says(private, "one")
        await there.model.called.wait()
        await there.gateway.kill()
        there.platform.pusher.retry_after_s = (0.0, 1.0, 5.0)
        await there.ann.says(private, "two")
        await there.platform.pusher.resting()
        there.model.script = echo
        async with gateway(there.config) as again:
            there.app.events_url = f"{again.url}/channels/acme"
            await private.wait_for(lambda messages: any("two" in text for text in there.replies(private)), 40)
            await there.platform.settled(30)

        told = "\n".join(there.replies(private)[1:])
        assert 1 == told.count("one")
        assert 1 == told.count("two")


async def help_text(there: World, private: Channel) -> str:
    """What /help answers, as it stands there."""
    await there.ann.says(private, "/help")
    await private.wait_for(lambda messages: bool(there.replies(private)), 20)
    return there.replies(private)[0]
