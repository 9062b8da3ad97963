"""Talk that is not for the bot, on each platform: kept as background where the room wants that, and said by whom."""

from __future__ import annotations

from pathlib import Path

from tests.scenarios import test_slack, test_telegram


async def test_what_a_slack_channel_says_to_itself_is_background(tmp_path: Path) -> None:
    """Attributed by the names people see, in a section of its own; nobody is answered."""
    async with test_slack.world(tmp_path, more=", observe: true, reply_in_thread: false") as there:
        general = there.bot.workspace.channel("general", members=[there.ann, there.bob, there.bot])
        await there.bob.says(general, "let us meet at nine 九点见")
        await there.says(there.ann, general, f"{there.bot.mention} when?", answer="re: when?")

        assert ["re: when?"] == there.replies(general)
        assert "[Bob 鲍勃]: let us meet at nine 九点见" in there.model.prompts[-1][0]["content"]


async def test_what_a_telegram_group_says_to_itself_is_background(tmp_path: Path) -> None:
    """The same, for a bot whose privacy mode is off."""
    async with test_telegram.world(tmp_path, more=", observe: true") as there:
        group = there.tg.supergroup("Team", there.ann, there.bob)
        there.bob.says(group, "let us meet at nine 九点见")
        await there.says(there.ann, group, f"@{there.tg.bot.username} when?", answer="re: when?")

        assert ["re: when?"] == [message.text for message in group.messages() if message.bot is not None]
        assert "[Bob 鲍勃]: let us meet at nine 九点见" in there.model.prompts[-1][0]["content"]
