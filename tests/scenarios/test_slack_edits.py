"""Edits and deletions in channels, where a message may have begun a thread, through the real process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.emulators.slack.apps import Bot
from tests.emulators.slack.channels import Channel
from tests.emulators.slack.members import Member
from tests.emulators.slack.server import Slack, slack
from tests.scenarios.conftest import stored
from tests.scenarios.platforms import QUICK
from tests.scenarios.test_slack import AGENT, channel_of
from tests.scenarios.world import ModelServer, gateway, model_server, write_config


@dataclass
class World:
    platform: Slack
    bot: Bot
    ann: Member
    bob: Member
    general: Channel
    model: ModelServer

    async def asked(self, who: Member, text: str, *, thread: str | None = None) -> str:
        """Let somebody mention the bot, and wait for the answer; return the message's ts."""
        count = len(self.replies())
        ts = await who.says(self.general, f"{self.bot.mention} {text}", thread=thread)
        await self.general.wait_for(lambda messages: len(self.replies()) > count, 20)
        return ts

    def replies(self) -> list[str]:
        return [message.shown for message in self.general.messages() if message.author is self.bot.user]


COLUMNS = ["sqlite", "postgres"]


@asynccontextmanager
async def world(column: str, request: pytest.FixtureRequest, folder: Path, *, in_thread: str) -> AsyncIterator[World]:
    with stored(column, request, folder) as storage:
        async with slack() as platform, model_server(lambda prompt: "ok") as model:
            here, app = platform.workspace("Acme"), platform.app()
            bot, ann, bob = here.install(app), here.person("Ann"), here.person("Bob")
            general = here.channel("general", members=[ann, bob, bot])
            channel = channel_of(app, bot, more=f", observe: true, stream: false, reply_in_thread: {in_thread}")
            agents = AGENT.format(url=model.url)
            config = write_config(folder, f"{agents}channels:\n  acme: {channel}\n{QUICK}", storage=storage)
            async with gateway(config) as process:
                app.events_url = f"{process.url}/channels/acme"
                yield World(platform, bot, ann, bob, general, model)


@pytest.mark.parametrize("column", COLUMNS)
async def test_a_deleted_message_is_forgotten_though_it_began_a_thread(
    column: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Talk that nobody asked to answer, and that others have answered since: what is left of it is a tombstone."""
    async with world(column, request, tmp_path, in_thread="false") as there:
        first = await there.ann.says(there.general, "the old pin is 8821")
        second = await there.ann.says(there.general, "the door is 17")
        await there.bob.says(there.general, "is it?", thread=first)
        await there.bob.says(there.general, "which?", thread=second)
        await there.platform.settled()
        await there.ann.deletes(there.general, first)
        await there.ann.edits(there.general, second, "the door is 18")
        await there.platform.settled()
        await there.asked(there.bob, "what was said?")

        prompt = str(there.model.prompts[-1])
        assert "8821" not in prompt
        assert "door is 17" not in prompt
        assert "door is 18" in prompt


@pytest.mark.parametrize("column", COLUMNS)
async def test_a_message_edited_to_name_us_or_not_is_deleted_where_it_was_said(
    column: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """What it says now does not tell whether it was a question when it was said. And an edit is none (PostHog/posthog#59517)."""
    async with world(column, request, tmp_path, in_thread="true") as there:
        root = await there.asked(there.ann, "my pin is 4711")
        await there.ann.edits(there.general, root, "my pin is 4712")
        await there.platform.settled()
        await there.ann.deletes(there.general, root)
        await there.platform.settled()
        await there.asked(there.bob, "which pin?", thread=root)

        assert "my pin" not in str(there.model.prompts[-1])
        again = await there.asked(there.ann, "the door is 17")
        await there.ann.edits(there.general, again, f"{there.bot.mention} the door is 18")
        await there.platform.settled()
        assert 3 == len(there.model.prompts) == len(there.replies())
