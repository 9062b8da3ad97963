"""One gateway's take-overs over real queues and a real store, for tests of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.base import Adapter, Address, Capabilities, MessageEvent, Sender
from config.loader import Configuration, load
from gateway.admin.database import Database
from gateway.admin.sqlite import SqliteDatabase
from gateway.admin.takeovers import Place, TakeoverRows
from gateway.desk import Desk
from gateway.human_lane import HumanLane
from gateway.humans import Humans, Operator
from gateway.inbox.base import NewEvent
from gateway.inbox.sqlite import SqliteInbox
from gateway.mailbox import Mailbox
from gateway.routing import Route, decode, encode, route
from memory.ids import Ids, now_ms
from memory.names import Names
from memory.stores.sqlite import SqliteStore

ANN, BOB = Operator("user:1", "Ann 安"), Operator("user:2", "Bob")
SETTINGS = """
agents: {default: {kind: demo}}
channels:
  page: {kind: console}
  hook: {kind: webhook, secrets: ["whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="]}
  chat:
    kind: telegram
    token: "1:a"
    takeover: {desk: "chat/staff", desk_shows: SHOWS, wait_s: 100, timeout_s: 200}
    rooms:
      staff: {language: zh, allow: {people: [op, second]}}
      quiet: {takeover: {while_waiting: silent}}
"""


class Said:
    """A channel that sends nothing: what is due stands in the outbox."""

    def __init__(self, **can: bool) -> None:
        self.capabilities = Capabilities(**can)

    def chunks(self, text: str) -> list[str]:
        return [text]


class Clock:
    def __init__(self) -> None:
        self.now = now_ms()

    def __call__(self) -> int:
        return self.now


class World:
    """One gateway's take-overs."""

    def __init__(
        self, configuration: Configuration, store: SqliteStore, queues: SqliteInbox, database: Database
    ) -> None:
        self.database, self.store = database, store
        self.configuration = configuration
        self.queues, self.rows = queues, TakeoverRows(database)
        self.ids, self.clock = Ids(1), Clock()
        self.halted: list[Place] = []
        self.counts: list[Mapping[tuple[str, str], int]] = []
        self.adapters: dict[str, Any] = {
            "chat": Said(threads=True), "page": Said(collected=True, fetches=True), "hook": Said(collected=True)
        }  # fmt: skip
        self.names = Names(store, clock=self.clock)
        self.moved: dict[str, str] = {}
        self.desk = Desk(
            rows=self.rows,
            outbox=queues,
            ids=self.ids,
            configuration=lambda: self.configuration,
            made=self.made,
            current=self.current,
            clock=self.clock,
        )
        self.mailbox = Mailbox(rows=self.rows, inbox=queues, outbox=queues, clock=self.clock)
        self.humans = self.another()

    def another(self, rows: TakeoverRows | None = None) -> Humans:
        lane = HumanLane(
            inbox=self.queues, names=self.names, ids=self.ids, configuration=lambda: self.configuration, rows=self.rows,
            made=self.made, clock=self.clock,
        )  # fmt: skip
        return Humans(
            rows=rows or self.rows, desk=self.desk, lane=lane, inbox=self.queues, ids=self.ids,
            configuration=lambda: self.configuration, reaches=lambda name: name != "hook", halt=self.halted.extend,
            paused=self.counts.append, clock=self.clock, retry_s=0.01,
        )  # fmt: skip

    def current(self, address: Address) -> Address:
        return msgspec.structs.replace(address, room=self.moved.get(address.room, address.room))

    def made(self, name: str) -> Adapter | None:
        return self.adapters.get(name)

    def route(self, text: str = "where is 5512? 订单", *, channel: str = "chat", **changes: object) -> Route:
        event = MessageEvent(
            channel=channel, room="r1", chat_type="private", sender=Sender(user="zoe", tenant="t", account="zoe", name="Zoe*"),
            dedupe_ids=(f"d{self.ids.next()}",), message_id="m1", text=text, language="en",
        )  # fmt: skip
        return route(msgspec.structs.replace(event, **changes), configuration=self.configuration, chosen_agent=None)

    async def turn(self, routed: Route | None = None) -> int:
        """Let somebody say something; return its turn."""
        routed = routed or self.route()
        new = NewEvent(
            id=self.ids.next(), channel=routed.event.channel, kind="message", speaker="zoe", body=encode(routed), token="t",
            fingerprint=None, now_ms=self.clock(),
        )  # fmt: skip
        await self.queues.accept(new, lane="lane", dedupe_ids=routed.event.dedupe_ids)
        return new.id

    async def posts(self) -> list[str]:
        """What is on its way to the staff's room; it arrives."""
        found = []
        while due := await self.queues.due(now_ms=self.clock() + 1, limit=1):
            await self.queues.sent(due[0], message_id=f"p{len(found)} {due[0].turn_id}", now_ms=self.clock())
            found.append(due[0].text)
        return found

    async def acts(self, routed: Route | None = None) -> list[str]:
        """What goes to the person through the lane, oldest first."""
        scope = (routed or self.route()).memory_scope()
        lane = str((await self.names.find(scope, agent_change="fresh")).root)
        return [
            f"{r.human.act} {r.event.text}".strip()
            for e in await self.queues.waiting(lane)
            if (r := decode(e.body)).human
        ]  # type: ignore[union-attr]

    async def first_post(self) -> str:
        """The platform's id of the first post about the live take-over."""
        turns = await self.posted((await self.rows.live())[0].id)
        return min(await self.queues.posted(turns))[1]

    async def posted(self, takeover_id: int) -> list[int]:
        """The turns of what was posted about it, oldest first."""
        sql = "SELECT turn_id FROM takeover_posts WHERE takeover_id = :id ORDER BY turn_id"
        async with self.database.reading() as db:
            return [int(row[0]) for row in await db.rows(sql, id=takeover_id)]

    async def desk_says(self, text: str, *, by: str = "op", thread: str | None = None, room: str = "staff") -> None:
        post = thread or await self.first_post()
        event = self.route(text).event
        message = msgspec.structs.replace(
            event, room=room, chat_type="group", thread=post, sender=Sender(user=by, tenant="t", account=by, name=by)
        )
        assert isinstance(message, MessageEvent)
        if not await self.humans.at_desk(message):
            raise LookupError(text)
        turn_id = await self.turn()
        event_row = await self.queues.event(turn_id)
        assert event_row is not None
        await self.humans.desk_said(event_row, message)


@pytest.fixture(params=["words"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    (tmp_path / "clew.yaml").write_text(SETTINGS.replace("SHOWS", request.param), "utf-8")
    path, turn = tmp_path / "clew.db", asyncio.Lock()
    async with AsyncExitStack() as opened:
        store = await opened.enter_async_context(SqliteStore(path, ids=Ids(2), write_turn=turn, timeout_s=5))
        queues = await opened.enter_async_context(
            SqliteInbox(path, write_turn=turn, timeout_s=5, lease_s=15, poll_s=0.05, accept_max=100)
        )
        database = await opened.enter_async_context(SqliteDatabase(path, write_turn=turn, timeout_s=5))
        yield World(load(tmp_path / "clew.yaml", {}), store, queues, database)
