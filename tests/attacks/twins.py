"""One gateway with pairs of tenants whose ids are all equal: two webhook endpoints whose people, rooms and messages have the same
ids, two workspaces with the same people, channels and times, two bots in one private chat. And somebody whose id is a pattern,
beside somebody whom it would match.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.emulators.slack.clock import SteppedClock
from tests.emulators.slack.server import Slack, slack
from tests.emulators.telegram.emulator import telegram
from tests.scenarios.platforms import Room, SlackSide, TelegramRoom, TelegramSide, shows
from tests.scenarios.remembered import learned
from tests.scenarios.stage import Stage, echo, stage
from tests.scenarios.world import in_folder

PAIRS = (("hook-a", "hook-b"), ("slack-a", "slack-b"), ("tg-a", "tg-b"))
LIKED = {
    "hook-a": "Quittengelee", "hook-b": "琥珀色河马", "slack-a": "Seegurkensalat", "slack-b": "翡翠长颈鹿",
    "tg-a": "Mirabellensaft", "tg-b": "紫藤茶",
}  # fmt: skip
"""What is said and learned on each channel, and nowhere else."""

PATTERN_LIKED = "Holunder"
SENDER, ROOM = "U0SAME", "C0SAME"
PATTERNS = (
    "%",
    "_",
    "*",
    "\\",
    "%%",
    "U0SAM_",
    "U0%",
    "u0same",
    "U*",
    "％",
    "＿",
    "＊",
    "Ｕ0ＳＡＭＥ",
    "' OR '1'='1",
    "\\%",
    ".*",
)
"""Patterns that `SENDER` would match in one dialect or another, and its twins."""

BODY = """
agents:
  red: {kind: openai, base_url: "MODEL", model: red, profile_namespace: red}
  blue: {kind: openai, base_url: "MODEL", model: blue, profile_namespace: blue}
defaults: {agent: red, limits: {per_minute: 100000}, memory: {model: none}}
channels:
  hook-a: {kind: webhook, secrets: ["${HOOK}"]}
  hook-b: {kind: webhook, secrets: ["${HOOK}"]}
"""


@dataclass
class Twins:
    stage: Stage
    rooms: dict[str, Room]
    storage: str

    async def says(self, channel: str, text: str) -> str:
        """Say something as the one account that every channel has, and return what it was answered."""
        if channel.startswith("hook"):
            turn = await self.stage.hook(channel).say(
                text, sender=SENDER, name="Ann", conversation=ROOM, message_id=f"m-{len(text)}-{text[:200]}"
            )
            return str(turn["reply"]["text"])
        room = self.rooms[channel]
        before = len(room.replies())
        await room.says(text)
        await room.until(lambda replies: len(replies) > before and replies[-1] != "")
        if not text.startswith("/"):
            await shows(room, f"re: {text}")
        return room.replies()[-1]

    async def prompt(self, channel: str, text: str) -> str:
        """Say something, and return every word that the model was shown for it."""
        self.stage.model.prompts.clear()
        await self.says(channel, text)
        return "\n".join(message["content"] for prompt in self.stage.model.prompts for message in prompt)

    async def learned(self) -> None:
        await learned(self.storage)


def others(channel: str) -> set[str]:
    """What nobody may be told who may see this channel alone."""
    liked = {word for name, word in LIKED.items() if name != channel}
    return liked if channel == "hook-a" else liked | {PATTERN_LIKED}


def told(words: set[str], text: str) -> set[str]:
    return {word for word in words if word in text}


@asynccontextmanager
async def twins(folder: Path, storage: str | None) -> AsyncIterator[Twins]:
    """Run it, and let each channel's account say what it likes. `storage` None: in the folder."""
    async with (
        slack(clock=SteppedClock()) as one,
        slack(clock=SteppedClock()) as two,
        telegram() as tg,
    ):
        sides = {"slack-a": _workspace("slack-a", one, None), "slack-b": _workspace("slack-b", two, "T0OTHER")}
        assert sides["slack-a"].here.id != sides["slack-b"].here.id
        bots = {
            name: TelegramSide(name, tg, tg.add_bot(f"{name[-1]}_twin_bot"), webhook=False) for name in ("tg-a", "tg-b")
        }
        channels = "".join(f"  {name}: {{{side.settings()}}}\n" for name, side in sides.items())
        channels += f"  tg-a: {{{bots['tg-a'].settings()}}}\n  tg-b: {{{bots['tg-b'].settings()}, agent: blue}}\n"
        async with stage(folder, BODY + channels, storage=storage, script=echo) as running:
            for side in sides.values():
                side.reach(running.gateway.url)
            rooms: dict[str, Room] = {name: side.private() for name, side in sides.items()}
            ann = tg.person("Ann")
            for name, bot in bots.items():
                rooms[name] = TelegramRoom(tg.private(ann, bot.bot), bot.bot, {"Ann": ann})
            there = Twins(running, rooms, storage or in_folder(folder))
            for channel, liked in LIKED.items():
                await there.says(channel, f"I like {liked}.")
            await running.hook("hook-a").say(f"I like {PATTERN_LIKED}.", sender="%", name="Percy", conversation="%")
            await there.learned()
            yield there


def _workspace(name: str, platform: Slack, team: str | None) -> SlackSide:
    """Return a side in the platform's first workspace, whose ids are the same on every platform but for its own."""
    here, app = platform.workspace("same"), platform.app("same")
    if team is not None:
        del platform.workspaces[here.id]
        here.id = team
        platform.workspaces[team] = here
    return SlackSide(name, platform, here, app, here.install(app))
