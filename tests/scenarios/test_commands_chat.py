"""Commands written in chat, in both languages, and the limits that people meet."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gateway.notices import Language, notice
from tests.scenarios.stage import Stage, echo, said, stage, users

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: stub}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}}
  choice: {kind: webhook, secrets: ["${HOOK}"], agents: [default]}
  english: {kind: webhook, secrets: ["${HOOK}"], language: en}
  usual: {kind: webhook, secrets: ["${HOOK}"]}
  short: {kind: webhook, secrets: ["${HOOK}"], limits: {message_chars: 20}}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with stage(tmp_path_factory.mktemp("commands"), BODY) as running:
        yield running


@pytest.mark.parametrize(
    ("channel", "text", "language", "agents"),
    [
        ("hook", "/help", "en", ""),
        ("hook", "  ／HELP ", "en", ""),
        ("hook", "/帮助", "zh", ""),
        ("choice", "/help", "en", "default"),
        ("choice", "／帮助", "zh", "default"),
        ("english", "/帮助", "en", ""),
    ],
)
async def test_help(channel: str, text: str, language: Language, agents: str, world: Stage) -> None:
    """The list in the person's language, or the channel's if it has one; the model is not asked."""
    world.play(echo)

    turn = await world.hook(channel).say(text, conversation="help")

    line = notice("help_agent", language, agents=agents, prefix="") if agents else ""
    human = notice("help_human", language, prefix="")
    assert notice("help", language, human_line=human, agent_line=line, prefix="") == turn["reply"]["text"]
    assert [] == world.model.prompts


@pytest.mark.parametrize(("command", "language"), [("/new", "en"), ("/新对话", "zh"), ("/新会话", "zh")])
async def test_new_begins_a_new_conversation(command: str, language: Language, world: Stage) -> None:
    """What was said before is not used again, nor is the command; the session is another, and a client's wish for the
    old one does not bring it back (openclaw#148766)."""
    world.play(echo)
    hook = world.hook()
    before = await hook.say("my old secret 旧的", conversation=command)

    told = await hook.say(command, conversation=command)
    after = await hook.say("anything before?", conversation=command, session=before["session"])
    again = await hook.say("and now?", conversation=command)

    assert notice("new", language) == told["reply"]["text"]
    assert before["session"] != after["session"] == again["session"]
    assert [["anything before?"], ["anything before?", "and now?"]] == [users(p) for p in world.model.prompts[1:]]
    assert 1 == len(
        world.rows("SELECT 1 FROM messages WHERE text = 'my old secret 旧的' AND session_id = ?", before["session"])
    )


async def test_new_may_carry_the_first_message(world: Stage) -> None:
    """What stands behind /new is the new conversation's first message, and is answered."""
    world.play(echo)
    hook = world.hook()
    await hook.say("the old one", conversation="new with text")

    turn = await hook.say("/new 推荐一本书 a book, please", conversation="new with text")

    assert "re: 推荐一本书 a book, please" == turn["reply"]["text"]
    assert ["推荐一本书 a book, please"] == users(world.model.prompts[-1])


async def test_a_command_acts_where_memory_is(world: Stage) -> None:
    """/new in one thread of a room leaves the other thread's conversation alone (nanobot#1482)."""
    world.play(echo)
    hook = world.hook()
    for thread in ("t1", "t2"):
        await hook.say(f"said in {thread}", conversation="room", thread=thread, chat_type="group")

    await hook.say("/new", conversation="room", thread="t1", chat_type="group")
    for thread in ("t1", "t2"):
        await hook.say("what was said?", conversation="room", thread=thread, chat_type="group")

    one, two = (users(prompt) for prompt in world.model.prompts[-2:])
    assert ["[u1]: what was said?"] == one
    assert ["[u1]: said in t2", "[u1]: what was said?"] == two


@pytest.mark.parametrize(("command", "language"), [("/memory", "en"), ("/记忆", "zh")])
async def test_memory_tells_what_of_the_talk_is_in_use(command: str, language: Language, world: Stage) -> None:
    """How many messages, of both sides; none at first, and none after /new. In a group nobody is shown what others said."""
    world.play(lambda prompt: "a fine tea 好茶")
    hook = world.hook()

    async def told() -> str:
        turn = await hook.say(command, sender="ada", name="Ada", conversation=command, chat_type="group")
        return str(turn["reply"]["text"]).splitlines()[-1]

    empty = await told()
    for sender, text in (("ada", "is there any tea 茶"), ("bob", "what tea is it")):
        await hook.say(text, sender=sender, conversation=command, chat_type="group")
    filled = await told()
    await hook.say("/new", sender="bob", conversation=command, chat_type="group")

    assert notice("memory_empty", language) == empty == await told()
    assert notice("memory_window", language, count=4) == filled


@pytest.mark.parametrize("text", ["/etc/hosts is empty", "/", "/neww", "/新", "//new", "a /new b", "/^a.*$/"])
async def test_what_only_looks_like_a_command_is_talk(text: str, world: Stage) -> None:
    """Paths, patterns and misspellings go to the agent, word for word."""
    world.play(echo)

    turn = await world.hook().say(text, conversation=f"talk {text}")

    assert f"re: {text}" == turn["reply"]["text"]
    assert text == said(world.model.prompts[0])


@pytest.mark.parametrize(("word", "language"), [("long ", "en"), ("长", "zh")])
async def test_a_message_that_is_too_long(word: str, language: Language, world: Stage) -> None:
    """A notice that says how long and how long it may be; it is not remembered; one of just that length is answered."""
    world.play(echo)
    hook = world.hook("short")
    long = (word * 21)[:21]

    refused = await hook.say(long, conversation=language)
    taken = await hook.say(long[:19] + "!", conversation=language)

    assert ("failed", "too_long") == (refused["status"], refused["error"]["code"])
    assert notice("too_long", language, chars=21, limit=20) == refused["error"]["message"]
    assert f"re: {long[:19]}!" == taken["reply"]["text"]
    assert [f"{long[:19]}!"] == users(world.model.prompts[-1])


async def test_twenty_a_minute(world: Stage) -> None:
    """The default limit: twenty are answered, the next gets one notice, what follows is ignored by rule; whoever else
    talks, there or in another channel, is not touched (AstrBot, rate_limit_check)."""
    world.play(echo)
    hook = world.hook("usual")
    turns = [await hook.say(f"message {number}", sender="flood", conversation="flood") for number in range(24)]
    other = await hook.say("hello, may I?", sender="calm", conversation="flood")
    elsewhere = await world.hook("hook").say("hello, and here?", sender="flood", conversation="flood")

    assert ["answered"] * 20 + ["failed"] + ["ignored"] * 3 == [turn["status"] for turn in turns]
    assert {"code": "rate_limited", "message": notice("rate_limited", "en", limit=20)} == turns[20]["error"]
    assert {"rate_limited"} == {turn["rule"] for turn in turns[21:]}
    assert ["answered"] * 2 == [other["status"], elsewhere["status"]]
