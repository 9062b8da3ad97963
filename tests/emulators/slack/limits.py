"""Slack's rate limits: methods by their tier per workspace and app, posts per channel. Broken rules are noted, or refused.

Tiers are "20+ a minute" and so on; the emulator takes the number for the limit, in any sixty seconds.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Literal

A_MINUTE = {1: 1, 2: 20, 3: 50, 4: 100, 5: 600}


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule of the platform that a client broke."""

    rule: str
    method: str
    channel: str | None
    at: float


@dataclass(slots=True, kw_only=True, eq=False)
class Limits:
    """The limits of one workspace. `watch`: a call too many is served and noted; `enforce`: it is refused with 429 and noted.

    `tolerance_s` is taken off each window, for clients whose calls come a little unevenly over the wire.
    """

    mode: Literal["off", "watch", "enforce"] = "watch"
    posts_per_s: float = 1.0
    burst: int = 4  # posts a channel takes at once before it is held to the rate
    tolerance_s: float = 0.0
    violations: list[Violation] = field(default_factory=list)
    _calls: dict[tuple[str, str], deque[float]] = field(default_factory=lambda: defaultdict(deque))
    _posts: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)  # tokens left, at

    def check(self, method: str, *, app: str, tier: int | None, post_to: str | None, now: float) -> float | None:
        """Take the call into account. Return the seconds to wait if it is to be refused, else None.

        `tier` None: the method has none; `post_to` is the channel a new message goes to.
        """
        if self.mode == "off":
            return None
        wait = self._by_channel((app, post_to), now) if post_to is not None else self._by_tier((app, method), tier, now)
        if wait is None:
            return None
        rule = f"tier {tier}" if post_to is None else f"{self.posts_per_s:g} posts a second in a channel"
        self.violations.append(Violation(rule=rule, method=method, channel=post_to, at=now))
        return wait if self.mode == "enforce" else None

    def came_too_early(self, method: str, *, channel: str | None, now: float) -> None:
        """Note a call within the time it was told to wait."""
        self.violations.append(Violation(rule="Retry-After", method=method, channel=channel, at=now))

    def _by_tier(self, key: tuple[str, str], tier: int | None, now: float) -> float | None:
        if tier is None:
            return None
        window = 60.0 - self.tolerance_s
        calls = self._calls[key]
        while calls and calls[0] <= now - window:
            calls.popleft()
        if len(calls) >= A_MINUTE[tier]:
            return calls[0] + window - now
        calls.append(now)
        return None

    def _by_channel(self, key: tuple[str, str], now: float) -> float | None:
        left, at = self._posts.get(key, (float(self.burst), now))
        left = min(float(self.burst), left + (now - at + self.tolerance_s) * self.posts_per_s)
        if left < 1.0 - 1e-6:
            self._posts[key] = (left, now)
            return (1.0 - left) / self.posts_per_s
        self._posts[key] = (left - 1.0, now)
        return None
