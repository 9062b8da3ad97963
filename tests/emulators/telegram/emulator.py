"""A local Telegram: `async with telegram() as tg`, point a bot at `tg.url`, and let people talk to it.

One server holds any number of bots, people and chats. `tg.bot` is the first bot; more come with `tg.add_bot`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.chats import Chat, Member
from tests.emulators.telegram.clock import Clock, LoopClock
from tests.emulators.telegram.faults import Faults
from tests.emulators.telegram.flood import Flood
from tests.emulators.telegram.people import Person
from tests.emulators.telegram.pusher import Pusher
from tests.emulators.telegram.server import Server
from tests.emulators.telegram.world import Call, Violation, World
from tests.loopback import on_loopback


class Telegram:
    """The platform as a test holds it: who is there, what happens, what was called, what goes wrong."""

    def __init__(self, world: World, pushers: asyncio.TaskGroup, hosts: dict[str, str]) -> None:
        self.world = world
        self.clock = world.clock
        self.faults = Faults()
        self.flood = Flood(violate=self._violate)
        self.hosts = hosts
        self.url = ""
        self.server = Server(world, self.faults, self.flood)
        self.bot: Bot
        self._pushers = pushers
        self._tasks: list[asyncio.Task[None]] = []

    # Who is there

    def add_bot(self, username: str, **changes: Any) -> Bot:
        """Register a bot. `changes`: `token`, `name`, `reads_all` (privacy mode off), `topics` (in private chats), `guest`,
        `talks_to_bots`."""
        bot = self.world.add_bot(username, **changes)
        pusher = Pusher(
            bot.webhook, bot.updates, clock=self.clock, bell=self.world.bell, hosts=self.hosts,
            execute=lambda method, params: self.server.execute(bot, method, params),
        )  # fmt: skip
        self._tasks.append(self._pushers.create_task(pusher.run(), name=f"pusher of {username}"))
        return bot

    def person(self, name: str, **changes: Any) -> Person:
        """Register an account. `changes`: `language_code`, `username`, `last_name`, `id`."""
        return self.world.add_person(name, **changes)

    def private(self, person: Person, bot: Bot | None = None) -> Chat:
        """Return the person's chat with the bot; the person has pressed Start before."""
        return self.world.private(person, bot or self.bot)

    def group(self, title: str, *people: Person, bots: tuple[Bot, ...] | None = None) -> Chat:
        """Return a new basic group, the first person its owner. `bots` (the first bot unless given) are members already."""
        return self._room("group", title, people, bots)

    def supergroup(
        self,
        title: str,
        *people: Person,
        bots: tuple[Bot, ...] | None = None,
        forum: bool = False,
        username: str | None = None,
    ) -> Chat:
        """Return a new supergroup; `forum`: with topics."""
        chat = self._room("supergroup", title, people, bots)
        chat.forum, chat.username = forum, username
        return chat

    def channel(self, title: str, *, linked: Chat | None = None, bots: tuple[Bot, ...] | None = None) -> Chat:
        """Return a new channel, the bots its admins; `linked` is the discussion group its posts are forwarded to."""
        chat = self._room("channel", title, (), bots)
        chat.linked = linked
        for member in chat.bots():
            member.status = "administrator"
        return chat

    def _room(self, kind: Any, title: str, people: tuple[Person, ...], bots: tuple[Bot, ...] | None) -> Chat:
        chat = Chat(world=self.world, id=self.world.room_id(kind), type=kind, title=title)
        self.world.add_room(chat, *people)
        for bot in (self.bot,) if bots is None else bots:
            chat.members[bot.id] = Member(user=bot.user(), bot=bot, reads_all=bot.reads_all)
        return chat

    # What happens

    def inject(
        self,
        update: dict[str, Any],
        *,
        bot: Bot | None = None,
        update_id: int | None = None,
        queue: object = "injected",
    ) -> int:
        """Add this very update, whatever it is (recorded, malformed, of an unknown kind), and return its id; its own
        `update_id` is replaced by the next one or the given one. Updates of one `queue` are pushed in order."""
        return (bot or self.bot).updates.put_raw(update, queue=queue, update_id=update_id)

    # What was called

    @property
    def calls(self) -> list[Call]:
        """Every call of every bot, oldest first, by the time it was answered."""
        return self.world.calls

    def called(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    async def wait_called(self, method: str, *, times: int = 1, timeout_s: float = 10.0) -> list[Call]:
        """Return the calls of a method once there are `times` of them. Raises `TimeoutError` after real seconds."""
        return await self.world.bell.until(
            lambda: calls if len(calls := self.called(method)) >= times else None, timeout_s=timeout_s
        )

    @property
    def violations(self) -> list[Violation]:
        """What a well-behaved client would not have done."""
        return self.world.violations

    def _violate(self, rule: str, scope: str, detail: str) -> None:
        self.world.violations.append(Violation(at=self.clock.now(), rule=rule, scope=scope, detail=detail))

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


@asynccontextmanager
async def telegram(
    *, clock: Clock | None = None, hosts: dict[str, str] | None = None, port: int = 0, **bot: Any
) -> AsyncIterator[Telegram]:
    """Run the platform on loopback. `bot`: settings of the first bot (`add_bot`), called `clew_bot` unless named. `hosts`
    says where public URLs of webhooks really are: `{"https://bot.example": "http://127.0.0.1:8080"}`."""
    async with asyncio.TaskGroup() as pushers:
        tg = Telegram(World(clock=clock or LoopClock()), pushers, hosts if hosts is not None else {})
        app, how = tg.server.app(), {"handler_cancellation": True, "shutdown_timeout": 0.1, "access_log": None}
        async with on_loopback(app, port=port, **how) as tg.url:
            tg.bot = tg.add_bot(bot.pop("username", "clew_bot"), **bot)
            try:
                yield tg
            finally:
                tg.close()
