"""What a room is told once, although platforms refuse it, and although the bot comes and goes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from adapters.base import MessageEvent, PresenceEvent, Sender
from config.loader import load
from gateway.inbox.base import ANNOUNCE_TRIES
from gateway.presence import JOINED_WAIT_MS, Presence
from gateway.rooms import Rooms
from gateway.routing import route
from memory.ids import Ids
from memory.names import Names
from tests.contracts.columns import COLUMNS
from tests.contracts.queues import Queues, open_queues
from tests.unit.test_delivery import Platform

SENDER = Sender(user="ann", tenant="t", account="ann", name="Ann")
NOW_MS = 4_000_000_000_000


class House:
    """One room of one channel, and what is on its way there."""

    def __init__(self, queues: Queues, names: Names, folder: Path) -> None:
        (folder / "my.yaml").write_text(
            "agents: {default: {kind: demo}}\nchannels: {web: {kind: console, first_use_notice: true}}\n", "utf-8"
        )
        self._configuration = load(folder / "my.yaml", {})
        self._settings = self._configuration.effective("web", "群", None)
        self.queues = queues
        self._platform = Platform()
        self._presence = Presence(
            outbox=queues, names=names, ids=Ids(3), made=lambda _: self._platform, ended=self._ended
        )
        self.rooms = Rooms(names=names, outbox=queues, changed=lambda: None)

    async def _ended(self, turn_id: int) -> None:
        """What is given up here answers nobody."""

    async def answering(self, room: str = "群") -> None:
        event = MessageEvent(
            channel="web", room=room, chat_type="group", sender=SENDER, dedupe_ids=(), message_id="m", text="hi"
        )
        routed = route(event, configuration=self._configuration, chosen_agent=None)
        await self._presence.answering(routed, routed.address, self._settings)

    async def came(self, room: str = "群", *, present: bool) -> None:
        event = PresenceEvent(
            channel="web", room=room, chat_type="group", sender=SENDER, dedupe_ids=(), present=present
        )
        if present:
            routed = route(event, configuration=self._configuration, chosen_agent=None)
            await self._presence.joined(event, routed, self._settings)
        else:
            await self._presence.left(event)

    async def going_out(self, *, refused: bool = False) -> int:
        """Let what is due arrive, or be refused; return how much that was."""
        count = 0
        while chunks := await self.queues.due(now_ms=NOW_MS, limit=9):
            for chunk in chunks:
                count += 1
                if refused:
                    await self.queues.dead(chunk, error="refused", now_ms=NOW_MS)
                else:
                    await self.queues.sent(chunk, message_id="m", now_ms=NOW_MS)
        return count


@pytest.fixture
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    async with AsyncExitStack() as stack:
        queues = await stack.enter_async_context(open_queues(f"sqlite:///{tmp_path / 'queues.db'}"))
        store = await stack.enter_async_context(COLUMNS["sqlite"](request).open())
        yield House(queues, Names(store, clock=lambda: 1), tmp_path)


async def test_a_notice_that_was_refused_is_said_ahead_of_a_later_answer(house: House) -> None:
    await house.came(present=True)
    refused = await house.going_out(refused=True)
    told = []
    for _ in range(3):
        await house.answering()
        told.append(await house.going_out())

    assert 1 == refused
    assert [1, 0, 0] == told


async def test_a_room_that_always_refuses_is_not_told_for_ever(house: House) -> None:
    refused = 0
    for _ in range(ANNOUNCE_TRIES + 4):
        await house.answering()
        refused += await house.going_out(refused=True)

    assert ANNOUNCE_TRIES == refused


async def test_a_bot_that_comes_back_says_it_no_second_time(house: House) -> None:
    """Unless it was taken out before it could say it."""
    await house.came(present=True)
    await house.came(present=False)
    await house.came(present=True)
    told = await house.going_out()
    await house.came(present=False)
    await house.came(present=True)
    await house.answering()

    assert 1 == told
    assert 0 == await house.going_out()


@pytest.mark.parametrize("told_before", [True, False])
async def test_a_room_that_moved_is_told_once_although_the_bot_came_into_it_before_that_was_known(
    house: House, told_before: bool
) -> None:
    """Telegram says first that the bot is in the new group, and then whose new id that is (tdlib/telegram-bot-api#266). Who was
    told nothing before is told now."""
    if told_before:
        await house.answering()
    told = [await house.going_out()]
    await house.came("超级群", present=True)
    await house.rooms.move("web", "群", "超级群")
    await house.rooms.move("web", "群", "超级群")
    await house.answering("超级群")
    told.append(await house.going_out())
    await house.came("超级群", present=True)

    assert ([1, 0] if told_before else [0, 1]) == told
    assert 0 == await house.going_out()


async def test_a_room_whose_move_comes_at_once_has_not_been_told_by_then(house: House) -> None:
    """The notice gives the platform a moment to say so."""
    await house.came(present=True)
    due_ms = await house.queues.next_due_ms()

    assert due_ms is not None
    assert [] == await house.queues.due(now_ms=due_ms - JOINED_WAIT_MS, limit=9)
    assert 1 == len(await house.queues.due(now_ms=due_ms, limit=9))
