"""A channel of Clew's in a local Telegram: the real adapter, behind the real server, before a fake gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from adapters.base import Address, InboundEvent, MessageEvent, TurnView
from adapters.telegram.adapter import TelegramAdapter
from config.channels.telegram import TelegramSettings
from config.settings import ServerSettings
from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.chats import Chat, Topic
from tests.emulators.telegram.clock import Clock
from tests.emulators.telegram.emulator import Telegram, telegram
from tests.emulators.telegram.people import Person
from tests.fakes import FakeIntake
from tests.serving import serving

MENU = {"new": {"en": "Start anew", "zh": "开始新的对话"}, "help": {"en": "What you can write", "zh": "可以使用的命令"}}
PUBLIC = "https://clew.example"
SECRET = "a-secret_Token"


class FailingIntake(FakeIntake):
    """Fails as the test says: `failures` gives what the next calls raise, one each; a message whose text is in `poison` fails
    whenever it comes."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[Exception] = []
        self.poison: set[str] = set()

    async def accept(self, event: InboundEvent, *, fingerprint: str | None = None) -> TurnView:
        if self.failures:
            raise self.failures.pop(0)
        if isinstance(event, MessageEvent) and event.text in self.poison:
            async with self._accepted:
                self._accepted.notify_all()
            raise ValueError(event.text)
        return await super().accept(event, fingerprint=fingerprint)

    async def until(self, look: Callable[[], bool]) -> None:
        """Return once it is so; looked at whenever something was accepted or poison came."""
        async with self._accepted:
            await self._accepted.wait_for(look)


@dataclass
class World:
    tg: Telegram
    intake: FailingIntake
    adapter: TelegramAdapter
    ann: Person
    bob: Person
    dm: Chat
    url: str  # of the channel
    left: list[str]  # the channel, once for each update that was left behind

    async def heard(self, count: int) -> list[MessageEvent]:
        """Return the messages, oldest first, once there are so many."""
        async with asyncio.timeout(10):
            await self.intake.holding(count)
        return self.intake.messages

    @property
    def texts(self) -> list[str]:
        return [event.text for event in self.intake.messages]

    def to(self, chat: Chat | None = None, *, topic: Topic | None = None, **more: Any) -> Address:
        """The address of a chat."""
        thread = str(topic.id) if topic is not None else None
        return Address(channel="acme", room=str((chat or self.dm).id), thread=thread, **more)


def adapter(
    tg: Telegram, bot: Bot | None = None, *, name: str = "acme", left: list[str] | None = None, **settings: Any
) -> TelegramAdapter:
    """A channel of a bot; it waits for little, so that what goes wrong shows soon. `left` gets its name for each update that
    was left behind."""
    gone = [] if left is None else left
    chosen = {
        "kind": "telegram", "token": (bot or tg.bot).token, "api_url": tg.url, "secret_token": SECRET,
        "timeout_s": 5, "poll_s": 5, "reconnect_s": 0.05, **settings,
    }  # fmt: skip
    return TelegramAdapter(
        name,
        settings=TelegramSettings.model_validate(chosen),
        public_url=PUBLIC,
        menu=MENU,
        left_behind=lambda: gone.append(name),
    )


@asynccontextmanager
async def world(
    *, clock: Clock | None = None, bot: dict[str, Any] | None = None, **settings: Any
) -> AsyncIterator[World]:
    """A channel `acme` that runs, and Ann with her private chat."""
    async with telegram(clock=clock, **(bot or {})) as tg:
        ann, bob = tg.person("Ann", language_code="zh-hans"), tg.person("Bob", language_code="en")
        left: list[str] = []
        intake, ourselves = FailingIntake(), adapter(tg, left=left, **settings)
        server = ServerSettings(port=0, stop_s=0.2)
        async with serving(intake, {"acme": ourselves}, settings=server) as url:
            tg.hosts[PUBLIC] = url
            yield World(tg, intake, ourselves, ann, bob, tg.private(ann), f"{url}/channels/acme", left)
