"""One workspace for two judges: what a person does in it and what stands in it, at `emulate` and at our own emulator alike.

The channel in it is the real adapter behind the real server, before a fake gateway. Ann, Bob and the app are in `room`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from adapters.slack.adapter import SlackAdapter
from config.channels.slack import SlackSettings
from config.settings import ServerSettings
from gateway.hot.process import ProcessShelf
from tests.fakes import FakeIntake
from tests.judges.slack import BOT, BOT_TOKEN, SIGNING_SECRET, SlackJudge, slack_judge
from tests.serving import serving
from tests.unit.slack.world import World, world


class Ground(Protocol):
    """What the contract needs of a workspace."""

    intake: FakeIntake
    adapter: SlackAdapter
    bot: str
    ann: str
    room: str

    async def says(self, text: str, *, room: str | None = None, thread: str | None = None) -> str:
        """Let Ann say something; return its `ts` once all events are delivered. So do the others."""
        ...

    async def edits(self, ts: str, text: str) -> None: ...

    async def deletes(self, ts: str) -> None: ...

    async def private(self) -> str:
        """Return the room of Ann and the app alone."""
        ...

    async def stands(self, thread: str) -> list[tuple[str, str, str]]:
        """Return what stands in a thread, oldest first: who wrote it, its text, its Markdown block's text."""
        ...


class Foreign:
    """`emulate`."""

    def __init__(self, judge: SlackJudge, intake: FakeIntake, adapter: SlackAdapter) -> None:
        self.judge, self.intake, self.adapter = judge, intake, adapter
        self.bot, self.ann, self.room = BOT, judge.people["alice"], judge.rooms["bots"]

    async def says(self, text: str, *, room: str | None = None, thread: str | None = None) -> str:
        arguments = {"channel": room or self.room, "text": text, **({"thread_ts": thread} if thread else {})}
        return str((await self.judge.call("chat.postMessage", **arguments))["ts"])

    async def edits(self, ts: str, text: str) -> None:
        await self.judge.call("chat.update", channel=self.room, ts=ts, text=text)

    async def deletes(self, ts: str) -> None:
        await self.judge.call("chat.delete", channel=self.room, ts=ts)

    async def private(self) -> str:
        return str((await self.judge.call("conversations.open", users=BOT))["channel"]["id"])

    async def stands(self, thread: str) -> list[tuple[str, str, str]]:
        told = await self.judge.call("conversations.replies", channel=self.room, ts=thread)
        return [(one["user"], one["text"], _markdown(one.get("blocks", []))) for one in told["messages"]]


class Ours:
    """tests/emulators/slack."""

    def __init__(self, there: World) -> None:
        self._there, self.intake, self.adapter = there, there.intake, there.adapter
        self.bot, self.ann, self.room = there.bot.id, there.ann.id, there.general.id

    async def says(self, text: str, *, room: str | None = None, thread: str | None = None) -> str:
        channel = self._there.here.channels[room] if room else self._there.general
        ts = await self._there.ann.says(channel, text, thread=thread, wire=True)
        await self._there.platform.settled()
        return ts

    async def edits(self, ts: str, text: str) -> None:
        await self._there.ann.edits(self._there.general, ts, text)
        await self._there.platform.settled()

    async def deletes(self, ts: str) -> None:
        await self._there.ann.deletes(self._there.general, ts)
        await self._there.platform.settled()

    async def private(self) -> str:
        return self._there.here.dm(self._there.ann, self._there.bot).id

    async def stands(self, thread: str) -> list[tuple[str, str, str]]:
        messages = self._there.general.messages(thread)
        return [(one.author.id, one.text, _markdown(one.blocks)) for one in messages]


@asynccontextmanager
async def foreign(folder: Path) -> AsyncIterator[Foreign]:
    async with slack_judge(folder) as judge:
        chosen = {"bot_token": BOT_TOKEN, "signing_secrets": [SIGNING_SECRET], "api_url": judge.api_url, "timeout_s": 5}
        settings = SlackSettings.model_validate(chosen)
        adapter, intake = SlackAdapter("acme", settings=settings, shelf=ProcessShelf()), FakeIntake()
        async with serving(intake, {"acme": adapter}, settings=ServerSettings(port=0, stop_s=0.2)) as url:
            await judge.hears(f"{url}/channels/acme")
            yield Foreign(judge, intake, adapter)


@asynccontextmanager
async def ours(folder: Path) -> AsyncIterator[Ours]:
    async with world() as there:
        yield Ours(there)


def _markdown(blocks: list[dict[str, Any]]) -> str:
    return "".join(block["text"] for block in blocks if block["type"] == "markdown")
