"""What waits for a bot: kept 24 hours, numbered with jumps, until somebody confirms it. A poller reads it, or the pusher.

What the platform filters by `allowed_updates` it filters when the thing happens, not when it is fetched.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.emulators.telegram.clock import Bell, Clock, within
from tests.emulators.telegram.errors import conflict
from tests.emulators.telegram.spec import UPDATE_KINDS

KEPT_S = 24 * 3600.0
RESTART_S = 7 * 24 * 3600.0
BY_DEFAULT = UPDATE_KINDS - {"chat_member", "message_reaction", "message_reaction_count"}
_FUTURE = 10  # an offset that far above the newest id confirms nothing: the numbering began anew
_OTHER_POLLER = "terminated by other getUpdates request; make sure that only one bot instance is running"
_WEBHOOK_ACTIVE = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"


@dataclass(frozen=True, eq=False)
class Update:
    """One update. The pusher sends those of one `queue` strictly one after another."""

    id: int
    body: dict[str, Any]
    queue: Hashable
    born: float


class Updates:
    """The updates of one bot."""

    def __init__(self, clock: Clock, bell: Bell, *, seed: int = 7) -> None:
        self.allowed = BY_DEFAULT
        self.pushed = False  # a webhook is set
        self.forgotten: list[Update] = []  # expired or dropped: what nobody ever got
        self._clock = clock
        self._bell = bell
        self._random = random.Random(seed)
        self._waiting: dict[Update, None] = {}  # in the order they came
        self._last_id = self._random.randrange(100_000_000, 900_000_000)
        self._last_at = clock.now()
        self._poll: object | None = None
        self._ended: dict[object, str] = {}

    def allow(self, kinds: Sequence[str] | None) -> None:
        """Set which kinds come from now on. None leaves it as it is; an empty list means the default set."""
        if kinds is not None:
            self.allowed = frozenset(kinds) & UPDATE_KINDS or BY_DEFAULT

    def put(self, kind: str, body: Any, *, queue: Hashable) -> int | None:
        """Add an update and return its id; None: the bot has not asked for this kind."""
        if kind not in self.allowed:
            return None
        return self.put_raw({kind: body}, queue=queue)

    def put_raw(self, body: dict[str, Any], *, queue: Hashable, update_id: int | None = None) -> int:
        """Add exactly this, whatever it is, under the next id (or the given one)."""
        now = self._clock.now()
        if update_id is None:
            update_id = self._last_id + 1
            if now - self._last_at > RESTART_S:
                update_id = self._random.randrange(100_000_000, 900_000_000)
        self._last_id, self._last_at = update_id, now
        body = {"update_id": update_id} | {name: value for name, value in body.items() if name != "update_id"}
        self._waiting[Update(update_id, copy.deepcopy(body), queue, now)] = None
        self._bell.ring()
        return update_id

    def jump(self, by: int) -> None:
        """Leave a gap in the ids."""
        self._last_id += by

    def waiting(self) -> list[Update]:
        """Return what is still to be delivered, oldest first; what is older than 24 hours is gone."""
        too_old = self._clock.now() - KEPT_S
        self._forget([update for update in self._waiting if update.born < too_old])
        return list(self._waiting)

    def done(self, update: Update) -> None:
        """The update has arrived."""
        self._waiting.pop(update, None)
        self._bell.ring()

    def holds(self, update: Update) -> bool:
        """Tell whether the update is still to be delivered."""
        return update in self._waiting and update.born >= self._clock.now() - KEPT_S

    def drop(self) -> None:
        """`drop_pending_updates`: what waits is lost."""
        self._forget(list(self._waiting))

    def end_poll(self, why: str) -> None:
        """Answer the poll that waits, if one does, with a conflict."""
        if self._poll is not None:
            self._ended[self._poll] = why
            self._bell.ring()

    async def polled(self, *, timeout_s: float = 10.0) -> None:
        """Return once a poll waits for something to happen. Raises `TimeoutError` after real seconds."""
        await self._bell.until(lambda: self._poll is not None, timeout_s=timeout_s)

    async def poll(self, *, offset: int, limit: int, timeout_s: float) -> list[dict[str, Any]]:
        """`getUpdates`: confirm what is below `offset`, then return what is there as soon as something is."""
        if self.pushed:
            raise conflict(_WEBHOOK_ACTIVE)
        self.end_poll(_OTHER_POLLER)
        mine = self._poll = object()
        self._bell.ring()
        try:
            await within(self._clock, timeout_s, self._bell.until(lambda: mine in self._ended or self._read(offset)))
        except TimeoutError:
            pass
        finally:
            if self._poll is mine:
                self._poll = None
            why = self._ended.pop(mine, None)
        if why is not None:
            raise conflict(why)
        return [update.body for update in self._read(offset)[:limit]]

    def _read(self, offset: int) -> list[Update]:
        if offset < 0:
            self._forget(self.waiting()[:offset])
        elif offset <= self._last_id + _FUTURE:
            for update in [update for update in self._waiting if update.id < offset]:
                del self._waiting[update]
        return self.waiting()

    def _forget(self, updates: list[Update]) -> None:
        self.forgotten += updates
        for update in updates:
            del self._waiting[update]
