"""A group on a local Telegram through the real process: what it is told once, what is shown as a reply, who is nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.base import Capabilities
from config.channels.base import RoomSettings
from gateway.notices import notice
from gateway.presence import first_use_text
from tests.emulators.telegram import rooms
from tests.emulators.telegram.emulator import telegram
from tests.scenarios.platforms import echo
from tests.scenarios.stage import Held
from tests.scenarios.test_telegram import AGENT, World
from tests.scenarios.world import gateway, model_server, write_config

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENGLISH, CHINESE = (first_use_text(RoomSettings(), language, Capabilities()) for language in ("en", "zh"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(shared_storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder: Path = tmp_path_factory.mktemp("groups")
    async with telegram(reads_all=True) as tg, model_server(echo) as model:
        more = "show_every_s: 1, limits: {per_minute: 1000}"
        channel = f"{{kind: telegram, token: '{tg.bot.token}', api_url: '{tg.url}', {more}}}"
        config = write_config(
            folder, AGENT.format(url=model.url) + f"channels:\n  bot: {channel}\n", storage=shared_storage
        )
        ann, bob, zoe = tg.person("Ann"), tg.person("Bob 鲍勃"), tg.person("Zoe")
        async with gateway(config) as process:
            yield World(tg, ann, bob, zoe, model, process, config)


@pytest.fixture
def there(shared: World) -> World:
    return shared.afresh()


@pytest.mark.parametrize(
    ("language", "text"), [("zh-hans", CHINESE), ("en", ENGLISH), (None, f"{ENGLISH}\n\n{CHINESE}")]
)
async def test_a_group_is_told_when_the_bot_comes(there: World, language: str | None, text: str) -> None:
    """In the language of who brought it, if the platform tells; and not again at the first answer."""
    lei = there.tg.person("李雷", language_code=language)
    group = there.tg.supergroup("Team", lei, bots=())
    rooms.add(group, there.tg.bot, by=lei)
    await there.answered(group, text)
    await there.says(lei, group, "@clew_bot hi", answer="re: hi")

    assert [text, "re: hi"] == [one.text for one in group.replies()]


@pytest.mark.parametrize("joining", [True, False])
async def test_a_group_that_moved_is_not_told_again(there: World, joining: bool) -> None:
    """It is the same people, even if the bot hears first that it is in a new room (tdlib/telegram-bot-api#266); in private
    nobody is told."""
    anew = notice(
        "new", "en"
    )  # an answer that is not shown before it is finished, so that none of it waits to move along
    group = there.tg.group("Team", there.ann)
    await there.says(there.ann, group, "/new@clew_bot", answer=anew)
    supergroup = rooms.migrate(group, by=there.ann, joining=(there.tg.bot,) if joining else ())
    await there.says(there.ann, supergroup, "@clew_bot two", answer="re: two")
    dm = there.tg.private(there.ann)
    await there.says(there.ann, dm, "three", answer="re: three")

    assert [ENGLISH, anew] == [one.text for one in group.replies()]
    assert ["re: two"] == [one.text for one in supergroup.replies()]
    assert ["re: three"] == [one.text for one in dm.replies()]


async def test_an_answer_is_shown_as_a_reply_when_others_spoke_since(there: World) -> None:
    """By the platform's own means; not where the question stands right above it."""
    group = there.tg.supergroup("Team", there.ann, there.bob, there.zoe)
    await there.says(there.ann, group, "@clew_bot plain", answer="re: plain")
    held = Held()
    there.model.script = held
    there.model.called.clear()
    there.zoe.says(group, "@clew_bot a long story")
    await there.model.called.wait()
    question = there.ann.says(group, "@clew_bot and mine?")
    last = there.bob.says(group, "我也在等")
    dm = there.tg.private(there.zoe)
    there.zoe.says(dm, "/help")
    await dm.until(lambda chat: len(chat.replies()) == 1, timeout_s=20)  # so what came before has been heard
    there.model.script = echo
    held.go_on.set()
    answer = await there.answered(group, "re: and mine?", after=last)
    plain = await there.answered(group, "re: plain")

    assert question.id == answer.body["reply_to_message"]["message_id"]
    assert "reply_to_message" not in plain.body


async def test_an_anonymous_admin_changes_nothing_for_the_group(there: World) -> None:
    """The account stands for all of them (tdlib/telegram-bot-api#667)."""
    group = there.tg.supergroup("Team", there.ann)
    await there.says(there.ann, group, "@clew_bot my order is 8821", answer="re: my order is 8821")
    there.ann.says(group, "/new@clew_bot", as_=group)
    await there.answered(group, notice("unknown_sender", "en"))
    await there.says(there.ann, group, "@clew_bot which order?", answer="re: which order?")

    assert "8821" in str(there.model.prompts[-1])
