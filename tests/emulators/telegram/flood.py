"""Flood control: how often a bot may call, per private chat, per group and overall, and what it costs to ignore that.

Off until a test sets a limit. The platform publishes the numbers but not the algorithm; this is a sliding window that forgives
`leeway_s`, because client and server do not see a call at the same moment.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.errors import too_many


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `count` calls in any `per_s` seconds."""

    count: int
    per_s: float


PRIVATE = Limit(3, 3.0)  # about one a second, short bursts borne
GROUP = Limit(20, 60.0)  # messages, edits, drafts and actions together
OVERALL = Limit(30, 1.0)

Violate = Callable[[str, str, str], None]


@dataclass(eq=False, kw_only=True)
class Flood:
    """`retry_after_s`: how long a bot is sent away; None: until the window has room again."""

    violate: Violate
    private: Limit | None = None
    group: Limit | None = None
    overall: Limit | None = None
    retry_after_s: int | None = None
    leeway_s: float = 0.1
    _seen: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))
    _held: dict[str, float] = field(default_factory=dict)

    def enforce(self) -> None:
        """Switch on all three limits as the platform states them."""
        self.private, self.group, self.overall = PRIVATE, GROUP, OVERALL

    def admit(self, bot: Bot, method: str, chat_id: object, *, now: float) -> None:
        """Count a call; raises 429, and records the violation, where it comes too soon."""
        scope = scope_of(bot, method, chat_id)
        counts = chat_id is not None and counted(method)
        for place in (scope, bot.username) if counts else (scope,):
            left = self._held.get(place, 0.0) - now
            if left > self.leeway_s:
                self.violate("retry_after", place, f"{method} came {left:.2f} s too early")
                raise too_many(max(1, math.ceil(left)))
        if not counts:
            return
        private = not str(chat_id).startswith(("-", "@"))
        for place, limit in ((scope, self.private if private else self.group), (bot.username, self.overall)):
            if limit is not None:
                self._count(place, limit, method, now)

    def hold(self, bot: Bot, method: str, chat_id: object, *, until: float) -> None:
        """From now on nothing more is taken in this scope; who comes earlier violates."""
        self._held[scope_of(bot, method, chat_id)] = until

    def _count(self, scope: str, limit: Limit, method: str, now: float) -> None:
        seen = self._seen[scope]
        while seen and seen[0] <= now - limit.per_s + self.leeway_s:
            seen.popleft()
        if len(seen) >= limit.count:
            wait = self.retry_after_s or max(1, math.ceil(seen[0] + limit.per_s - now))
            self._held[scope] = now + wait
            self.violate("limit", scope, f"{method}: more than {limit.count} in {limit.per_s:g} s")
            raise too_many(wait)
        seen.append(now)


def counted(method: str) -> bool:
    """Tell whether the method counts: all that shows something in a chat does, edits, drafts and actions too."""
    return method.startswith(("send", "edit", "forward", "copy")) or method == "setMessageReaction"


def scope_of(bot: Bot, method: str, chat_id: object) -> str:
    return f"{bot.username}/{method if chat_id is None else chat_id}"
