"""Channels in an admin's hands: added, tested by the real route, removed; all without a restart."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal

from adapters.base import Adapter, Address, Reports
from adapters.errors import AdapterFault
from config.forms import kinds
from config.loader import Configuration
from config.problems import path_text
from gateway.admin.acts.channels import (
    ADD,
    PREPARE,
    PROBE,
    REMOVE,
    AddAsked,
    PrepareAsked,
    Prepared,
    ProbeAsked,
    ProbeTold,
    RemoveAsked,
)
from gateway.admin.acts.settings import ChangeTold, Edit
from gateway.admin.keeping import left_behind
from gateway.admin.operations import Acting, Handlers, Invalid, Missing
from gateway.admin.own_settings import admitting
from gateway.admin.planning import Plan, Planner
from gateway.admin.revisions import Revisions
from gateway.admin.settings import SettingsActs
from gateway.admin.vault import Vault
from gateway.inbox.base import Announcement, Inbox, Outbox
from gateway.inbox.looking import Looking, Sent
from gateway.live import Live
from gateway.rooms import target_of
from memory.ids import Ids

WAIT_S: Final = 15.0
"""Seconds that a probe, and then the receipt of a test message, is waited for."""

TEST_WORDS = {
    "en": "This is a test message. An admin wants to know whether it arrives; nothing needs to be done.",
    "zh": "这是一条测试消息，用来确认能否送达，无需任何操作。",
}


Manifest = Callable[[Configuration, str, str, str | None], dict[str, object] | None]
"""Makes the manifest of a channel's app: settings, name, kind and mode; None: the kind's platform knows no such thing."""


class ChannelActs:
    """The acts on channels, for one gateway."""

    def __init__(
        self,
        *,
        live: Live,
        settings: SettingsActs,
        planner: Planner,
        vault: Vault,
        revisions: Revisions,
        inbox: Inbox,
        outbox: Outbox,
        looking: Looking,
        ids: Ids,
        manifest: Manifest,
        clock: Callable[[], int],
        wait_s: float = WAIT_S,
    ) -> None:
        self._manifest = manifest
        self._live = live
        self._settings = settings
        self._planner = planner
        self._vault = vault
        self._revisions = revisions
        self._inbox = inbox
        self._outbox = outbox
        self._looking = looking
        self._ids = ids
        self._clock = clock
        self._wait_s = wait_s

    def handlers(self) -> Handlers:
        """Return what carries each operation out."""
        return {ADD: self.add, REMOVE: self.remove, PREPARE: self.prepare, PROBE: self.probe}

    async def add(self, acting: Acting, asked: AddAsked) -> ChangeTold:
        """Add a channel that is not there yet."""
        if asked.channel in self._live.configuration.settings.channels:
            raise _taken(asked.channel)
        _known(asked.kind)
        value = {"kind": asked.kind, **asked.settings}
        plan = await self._planned(acting, Edit(path=path_text(("channels", asked.channel)), value=value), asked)
        if asked.channel in plan.old.settings.channels:  # another instance has just added it
            raise _taken(asked.channel)
        return await self._settings.carry_out(acting, plan, reason=asked.reason, dry_run=asked.dry_run)

    async def remove(self, acting: Acting, asked: RemoveAsked) -> ChangeTold:
        """Remove a channel; its connection ends. Of its secrets those stay that a revision refers to, as else nobody could go
        back to it; unless they are to go, too."""
        if asked.channel not in self._live.configuration.settings.channels:
            raise Missing(f"channel {asked.channel!r} is not configured")
        plan = await self._planned(acting, Edit(path=path_text(("channels", asked.channel)), act="remove"), asked)
        dropped = await left_behind(
            asked.channel, plan, vault=self._vault, revisions=self._revisions, kept=not asked.secrets
        )
        return await self._settings.carry_out(acting, plan, reason=asked.reason, dry_run=asked.dry_run, dropped=dropped)

    async def prepare(self, acting: Acting, asked: PrepareAsked) -> Prepared:
        """Return what a platform has to be told."""
        _known(asked.kind)
        configuration = self._live.configuration
        public_url = configuration.settings.server.public_url
        made = self._manifest(configuration, asked.channel, asked.kind, asked.mode)
        return Prepared(
            address=None if public_url is None else f"{public_url.rstrip('/')}/channels/{asked.channel}",
            manifest=None if made is None else json.dumps(made, ensure_ascii=False, indent=2),
        )

    async def probe(self, acting: Acting, asked: ProbeAsked) -> ProbeTold:
        """Test a channel; raises nothing for what is found wrong with it."""
        made = self._live.made(asked.channel)
        if made is None:
            raise Missing(f"channel {asked.channel!r} is not configured")
        acting.note(channel=asked.channel, room=asked.room)
        began = time.monotonic()
        problem = await self._problem(asked.channel)
        took_ms = round((time.monotonic() - began) * 1000)
        sent: Literal["no", "collected", "waiting", "sent", "unknown", "dead"] = "no"
        message = error = None
        if asked.room is not None and made.capabilities.collected:
            sent = "collected"
        elif asked.room is not None:
            sent, message, error = await self._sent(made, asked, asked.room)
        (load,) = await self._looking.load([asked.channel])
        return ProbeTold(
            connected=problem is None,
            problem=problem,
            warning=made.warning if isinstance(made, Reports) else None,
            took_ms=took_ms,
            sent=sent,
            message=message,
            error=error,
            last_event_ms=load.last_event_ms,
        )

    async def _planned(self, acting: Acting, edit: Edit, asked: AddAsked | RemoveAsked) -> Plan:
        return await self._planner.edited([edit], expected=asked.expected, admit=admitting(acting))

    async def _problem(self, name: str) -> str | None:
        if (why := self._live.refused(name)) is not None:
            return f"its newest settings could not be started ({why}); it runs on by those it had"
        with suppress(TimeoutError):  # one that was only just added is about to start
            async with asyncio.timeout(self._wait_s):
                await self._live.tried(name)
        with self._live.lent(name) as adapter:
            if adapter is None:
                return self._live.channels().get(name) or "it does not run now"
            try:
                async with asyncio.timeout(self._wait_s):
                    await adapter.probe()
            except TimeoutError:
                return f"its platform gave no answer within {self._wait_s:g} s"
            except AdapterFault as fault:
                return str(fault)
            return adapter.problem if isinstance(adapter, Reports) else None

    async def _sent(
        self, made: Adapter, asked: ProbeAsked, room: str
    ) -> tuple[Literal["waiting", "sent", "unknown", "dead"], str | None, str | None]:
        target = target_of(Address(channel=asked.channel, room=room, thread=asked.thread))
        turn_id = self._ids.next()
        await self._outbox.announce(
            Announcement(
                turn_id=turn_id,
                channel=asked.channel,
                names=[f"test:{turn_id}"],
                queue=target.queue,
                address=target.address,
                chunks=made.chunks(TEST_WORDS[asked.language])[:1],
                now_ms=self._clock(),
            )
        )
        found = await self._settled(turn_id)
        if found is None:
            return "waiting", None, None
        state = found.chunk.state
        settled = state if state in ("sent", "unknown", "dead") else "waiting"
        return settled, found.chunk.message_id, found.chunk.error

    async def _settled(self, turn_id: int) -> Sent | None:
        """Return the message as soon as its end is known, or as it stands when the time is over."""
        found: Sent | None = None
        number = 0
        try:
            async with asyncio.timeout(self._wait_s):
                while found is None or found.chunk.state in ("waiting", "sending"):
                    number = await self._inbox.changed(number)
                    found = next(iter(await self._looking.chunks([turn_id])), None)
        except TimeoutError:
            pass
        return found


def _known(kind: str) -> None:
    if kind not in kinds():
        raise Invalid(f"kind: {kind!r} is no kind of channel; use {', '.join(kinds())}")


def _taken(channel: str) -> Invalid:
    return Invalid(f"channel: there is one named {channel!r}; choose another name, or change that one")
