"""What people see while the agent answers: the sign that it does, and the text as far as it has come.

Never in the way of the answer: a call that fails or finds no budget is dropped, and the next one shows all there is by then. What
is whole is not shown: the reply itself comes next.
The message that shows the text is kept on the turn, so that the next attempt after a crash goes on with it, and the finished
reply takes its place, unless an edit of it may come late.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from adapters.base import Adapter, Address, Call, Paced, Rate, Reconciles, Shows
from adapters.errors import Refused, SendFailed, Throttled, Unreachable
from gateway.asking import Draft
from gateway.errors import StoreBusy
from gateway.inbox.base import Inbox, Outbox
from gateway.lanes import Running
from gateway.pacing import Pacing
from gateway.senders import ALONE, Shares
from gateway.sending import Channels
from gateway.waits import happens

logger = logging.getLogger(__name__)

AT_ONCE_S = 0.1
"""Seconds behind the first words within which an answer may become whole: then one call says it all, where showing it first would
take two, and of some platforms' budgets the second is the scarcer one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """Shows turns; one for all lanes.

    `show_s` is the time of one call; `counted` hears (channel, outcome) of each: shown, signed, removed, dropped (no budget, or
    what was said earlier is still on its way), failed; `limited` (channel, scope, seconds) of every wait that was asked for.
    """

    inbox: Inbox
    outbox: Outbox
    channels: Channels
    pacing: Pacing
    show_s: float
    shares: Shares = ALONE
    counted: Callable[[str, str], None] = lambda channel, outcome: None
    limited: Callable[[str, str, float], None] = lambda channel, scope, seconds: None

    @asynccontextmanager
    async def turn(self, turn: Running, address: Address, *, queue: str, moved: bool = False) -> AsyncIterator[Shown]:
        """Give what shows the turn; it shows nothing before `follow`. On the way out the sign is taken away. `moved`: the room
        has another id than when the turn was accepted, so an earlier attempt's message is left where it is; its number can be
        another message's here."""
        shown = Shown(self, turn, address, queue=queue, moved=moved)
        try:
            if turn.attempts and not moved:
                await shown.recall()
            yield shown
        except asyncio.CancelledError:
            shown.cancel()
            raise
        finally:
            await shown.end()
            await shown.sign_off()


class Shown:
    """One turn while it is answered."""

    def __init__(self, means: Showing, turn: Running, address: Address, *, queue: str, moved: bool) -> None:
        self._means = means
        self._turn = turn
        self._address = address
        self._queue = queue
        earlier = (event.shown for event in turn.events if event.shown is not None and not moved)
        self._message_id = next(earlier, None)
        self._kept = self._message_id
        self._signed = False
        self._lost = False  # a first message may stand there whose id is not known
        self._late = False  # a state of the text may arrive after whatever follows it
        self._over = asyncio.Event()
        self._draft: Draft | None = None
        self._task: asyncio.Task[None] | None = None
        self._signing: asyncio.Task[None] | None = None

    def follow(self, draft: Draft) -> None:
        """Show the draft from now on, as it grows."""
        adapter = self._means.channels.made(self._address.channel)
        if adapter is not None and isinstance(adapter, Shows):
            self._draft = draft
            run = self._run(draft, adapter)
            self._task = asyncio.create_task(run, name=f"show {self._turn.turn_id}")

    async def recall(self) -> None:
        """Find the message that shows the turn where its id was lost, with an attempt before this one or with the platform's
        answer: the reply is to take that message's place, not to stand below it."""
        if self._message_id is not None:
            return
        with self._means.channels.lent(self._address.channel) as adapter:
            if adapter is None or not isinstance(adapter, Reconciles) or not _shows_text(adapter):
                return
            try:
                async with asyncio.timeout(self._means.show_s):
                    self._message_id = await adapter.find_shown(self._address, turn=str(self._turn.turn_id))
            except Exception as exc:
                self._failed("sign", exc)

    async def end(self) -> str | None:
        """Show no more; return the id of the message that the finished reply replaces, None if there is none.

        Waits for a state of the text that is under way, as it must not come after what replaces it; for no sign. Where one may
        come later all the same, the reply is to stand in a message of its own, and this one to go (`clear`)."""
        self._over.set()
        if self._signing is not None:
            self._signing.cancel()
        if self._draft is not None:
            self._draft.changed.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        if self._lost:
            self._lost = False
            await self.recall()
        return None if self._late else self._message_id

    async def clear(self) -> None:
        """Take the message away whose place the reply does not take, which is stored by now. What can't be taken away stays."""
        if self._late and (message := self._message_id) is not None:
            self._message_id = None
            await self._call("remove", lambda adapter: adapter.remove(self._address, message), outcome="removed")

    def cancel(self) -> None:
        """Show no more, and leave what is under way."""
        self._lost = False
        if self._task is not None:
            self._task.cancel()

    async def sign_off(self) -> None:
        """Take the sign away, if there is one."""
        if self._signed:
            await self._call("sign", lambda adapter: adapter.sign(self._address, on=False), outcome="signed")

    async def _run(self, draft: Draft, adapter: Shows) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                self._signing = tasks.create_task(self._sign(every_s=adapter.sign_every_s))
                if adapter.show_every_s is not None:
                    tasks.create_task(self._show(draft, every_s=adapter.show_every_s, lasts_s=adapter.shown_s))
        except* Exception as faults:
            # Most often the lane is lost; whatever it is, the answer goes on, or ends for reasons of its own.
            logger.warning("showing broke off", exc_info=faults, extra={"turn": self._turn.turn_id})

    async def _sign(self, *, every_s: float) -> None:
        """Show the sign until there is text to see."""
        while self._message_id is None:
            try:
                if await self._call("sign", lambda adapter: adapter.sign(self._address, on=True), outcome="signed"):
                    self._signed = True
            except asyncio.CancelledError:
                self._signed = True  # it may be
                raise
            if await happens(self._over, within_s=every_s):
                return

    async def _show(self, draft: Draft, *, every_s: float, lasts_s: float | None) -> None:
        """Show the text whenever it has grown, at most once in `every_s`; also when it has not, before it is seen no more."""
        last, first = "", True
        while True:
            fades = last and self._message_id is None
            try:
                async with asyncio.timeout(lasts_s / 2 if fades and lasts_s else None):
                    await draft.changed.wait()
            except TimeoutError:
                last = ""
            if self._over.is_set() or (first and await happens(self._over, within_s=AT_ONCE_S)):
                return
            first = False
            draft.changed.clear()
            text = draft.text
            if draft.done is None and text.strip() and text != last:
                if await self._text(text):
                    last = text
                if await happens(self._over, within_s=every_s):
                    return
                if draft.text != last:
                    draft.changed.set()  # also for what was dropped

    async def _text(self, text: str) -> bool:
        ids: list[str | None] = []

        async def show(adapter: Shows) -> None:
            turn = str(self._turn.turn_id)
            ids.append(await adapter.show(self._address, text, turn=turn, shown=self._message_id))

        if self._message_id is None and not await self._its_turn():
            self._means.counted(self._address.channel, "dropped")
            return False
        call: Call = "send" if self._message_id is None else "edit"
        shown = await self._call(call, show, outcome="shown")
        if ids and ids[0] is not None:
            self._message_id = ids[0]
        await self._keep()
        return shown

    async def _its_turn(self) -> bool:
        """Whether a new message may stand in the room now: not before, or between, the parts of replies made earlier."""
        try:
            return await self._means.outbox.clear(self._queue)
        except StoreBusy:
            return False

    async def _keep(self) -> None:
        """Keep the message on the turn. Raises `LeaseLost`."""
        if self._message_id is None or self._message_id == self._kept:
            return
        ids, claim = [event.id for event in self._turn.events], self._turn.claim
        try:
            await self._means.inbox.show(ids, self._message_id, lane=claim.lane, fence=claim.fence)
        except StoreBusy:
            logger.warning("shown message not kept yet", exc_info=True, extra={"turn": self._turn.turn_id})
        else:
            self._kept = self._message_id

    async def _call(self, call: Call, act: Callable[[Shows], Awaitable[None]], *, outcome: str) -> bool:
        """Make a call if there is budget to spare; whether it went well. What can't be mended ends the showing."""
        channel, now = self._address.channel, asyncio.get_running_loop().time()
        with self._means.channels.lent(channel) as adapter:
            if adapter is None or not isinstance(adapter, Shows):
                return False
            try:
                # In one step with the call: whoever wakes late must not write over what another instance has shown since.
                mine, rates = self._means.inbox.mine(self._turn.claim), self._rates(adapter, call)
                if not mine or rates is None or not self._means.pacing.spare(channel, self._queue, rates, now=now):
                    self._means.counted(channel, "dropped")
                    return False
                async with asyncio.timeout(self._means.show_s):
                    await act(adapter)
            except Exception as exc:
                self._failed(call, exc)
                return False
        self._means.counted(channel, outcome)
        return True

    def _rates(self, adapter: Adapter, call: Call) -> tuple[Rate, ...] | None:
        if not isinstance(adapter, Paced):
            return ()
        return self._means.shares.to_show(self._address.channel, adapter.rates(self._address, call))

    def _failed(self, call: Call, exc: Exception) -> None:
        channel, now = self._address.channel, asyncio.get_running_loop().time()
        self._means.counted(channel, "failed")
        extra = {"turn": self._turn.turn_id, "channel": channel, "call": call, "reason": str(exc)}
        self._late |= call == "edit" and not isinstance(exc, Refused | Throttled | Unreachable)
        match exc:
            case Throttled():
                scope = exc.scope or self._queue
                self._means.pacing.block(channel, scope, until=now + exc.retry_after_s, now=now)
                self._means.limited(channel, scope, exc.retry_after_s)
                logger.info("platform asks to wait", extra=extra)
            case Unreachable():
                logger.info("not shown", extra=extra)
            case SendFailed() | TimeoutError() if call in ("sign", "remove") or (
                call == "edit" and not isinstance(exc, Refused)
            ):
                logger.info("not shown", extra=extra)
            case SendFailed() | TimeoutError():
                # Refused for good; or a first message whose id is not known: a second one must not follow it.
                logger.info("showing ends", extra=extra)
                self._lost = call == "send" and not isinstance(exc, Refused)
                self._over.set()
            case _:
                logger.error("showing broke off", exc_info=exc, extra=extra)
                self._lost = call == "send"
                self._over.set()


def _shows_text(adapter: object) -> bool:
    return isinstance(adapter, Shows) and adapter.show_every_s is not None
