"""How often a platform may be called: the budgets of its scopes, and the line of those who wait for one. Pure; no clock.

`delivery.py` asks before every send, `showing.py` before what may be dropped. Budgets are this process's own, and go on from what
is known of the one that sent before (`sent_before.py`). Within one scope turns are taken by queue, not by message: who has a
hundred to send waits as long for each as who has one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from adapters.base import Rate

JITTER_S = 0.1
"""Seconds by which two calls may come closer together on their way: the platform counts when it gets them, not when they go."""

MARGIN_S = 0.05
"""Seconds by which places in a line lie further apart than they must: whoever comes late by less holds nobody up."""

GONE_S = 60.0
"""Seconds after its time that a place is kept for somebody who does not come back (what it was to send is gone)."""


@dataclass(slots=True, eq=False)
class _Place:
    """A place in a scope's line: not before `at`."""

    at: float
    scope: _Scope
    key: tuple[str, str]


@dataclass(slots=True)
class _Scope:
    calls: deque[float] = field(default_factory=deque)  # the last ones, as many as the largest count asked for
    line: list[_Place] = field(default_factory=list)  # by time
    blocked_until: float = 0.0
    longest_s: float = 0.0
    most: int = 1

    def next_at(self, rate: Rate, *, behind_line: bool) -> float:
        """Return the first moment at which one more call keeps to the rate."""
        waiting = len(self.line) if behind_line else 0
        window_s = rate.per_s + JITTER_S
        free = self.calls[-rate.count] + window_s if len(self.calls) >= rate.count else 0.0
        if waiting >= rate.count:
            free = max(free, self.line[-rate.count].at + window_s + MARGIN_S)
        elif waiting and len(self.calls) >= rate.count - waiting:
            free = max(free, self.calls[waiting - rate.count] + window_s + MARGIN_S)
        # Behind the last in line, whatever the count: nobody is passed.
        return max(free, self.blocked_until, self.line[-1].at if waiting else 0.0)

    def used(self, rate: Rate, *, now: float) -> int:
        return sum(call + rate.per_s + JITTER_S > now for call in self.calls)

    def take(self, rate: Rate, *, now: float) -> None:
        self.longest_s, self.most = max(self.longest_s, rate.per_s), max(self.most, rate.count)
        insort(self.calls, now)
        while len(self.calls) > self.most:
            self.calls.popleft()

    def idle(self, *, now: float) -> bool:
        last = self.calls[-1] if self.calls else 0.0
        return not self.line and self.blocked_until <= now and last + self.longest_s + JITTER_S <= now


class Pacing:
    """The budgets of all channels' scopes. `now` is in seconds from any fixed start, the same for all calls."""

    def __init__(self, *, most: int = 20_000) -> None:
        """At most `most` scopes and `most` places; beyond that what was asked for longest ago is forgotten first."""
        self._most = most
        self._scopes: OrderedDict[tuple[str, str], _Scope] = OrderedDict()
        self._places: OrderedDict[tuple[str, str], _Place] = OrderedDict()
        self._since: dict[
            str, float
        ] = {}  # channels that another has sent before; as many as there are in the settings

    def goes_on(self, channel: str, calls: Iterable[tuple[Sequence[Rate], float]], *, now: float) -> None:
        """Count the calls of whoever sent before, each at its time. What it may have shown besides, half of a budget, nobody
        knows: that much is taken for used until the budget's time is over, and nothing is spared meanwhile."""
        self._since[channel] = now
        for rates, at in calls:
            self._take(channel, rates, now=min(at, now))

    def turn_at(self, channel: str, queue: str, rates: Sequence[Rate], *, now: float) -> float:
        """Return when the queue may make its next call: `now` if at once, and then the call is counted.

        A later time is its place in the line, kept for it; it is to ask again then. The place may have moved meanwhile.
        """
        own = self._blocked((channel, queue))
        place = self._places.get((channel, queue))
        if place is not None and place.at > now:
            return max(place.at, own)
        times = [(self._next_at(channel, rate, place, now=now), rate) for rate in rates]
        at, narrowest = max(times, key=lambda time: time[0], default=(0.0, None))
        self._leave(channel, queue)
        if max(at, own) <= now:
            self._take(channel, rates, now=now)
            return now
        if narrowest is not None and at > now:
            self._join(channel, queue, self._scope(channel, narrowest.scope), at=at)
        self._forget(now=now)
        return max(at, own)

    def spare(self, channel: str, queue: str, rates: Sequence[Rate], *, now: float) -> bool:
        """Whether a call that may as well be dropped can be made now without taking from sends; if so, it is counted.

        Where somebody waits it can't, nor where such calls have had half of the budget (of three: two, so that a sign does not
        keep the first words of an answer waiting; one of one is free)."""
        if self._blocked((channel, queue)) > now:
            return False
        for rate in rates:
            scope = self._scope(channel, rate.scope)
            if (
                now < self._known_at(channel, rate)
                or scope.line
                or scope.blocked_until > now
                or scope.used(rate, now=now) >= (rate.count + 1) // 2
            ):
                return False
        self._take(channel, rates, now=now)
        self._forget(now=now)
        return True

    def block(self, channel: str, scope: str, *, until: float, now: float) -> None:
        """Let nobody call within the scope (a queue's name is one, too) before `until`. Who waits in its line moves back
        with it, in the same order."""
        blocked = self._scope(channel, scope)
        blocked.blocked_until = max(blocked.blocked_until, until)
        late = until - max(blocked.line[0].at, now) if blocked.line else 0.0
        for place in blocked.line:
            place.at += max(late, 0.0)
        self._forget(now=now)

    def _next_at(self, channel: str, rate: Rate, place: _Place | None, *, now: float) -> float:
        scope = self._scope(channel, rate.scope)
        while scope.line and scope.line[0] is not place and scope.line[0].at < now - GONE_S:
            self._leave(*scope.line[0].key)
        behind_line = place is None or place.scope is not scope
        at, known_at = scope.next_at(rate, behind_line=behind_line), self._known_at(channel, rate)
        if at >= known_at:
            return at
        left = msgspec.structs.replace(rate, count=rate.count // 2)
        return min(known_at, scope.next_at(left, behind_line=behind_line)) if left.count else known_at

    def _known_at(self, channel: str, rate: Rate) -> float:
        """Return when all calls that the budget counts are known here."""
        since = self._since.get(channel)
        return 0.0 if since is None else since + rate.per_s + JITTER_S

    def _scope(self, channel: str, name: str) -> _Scope:
        scope = self._scopes.setdefault((channel, name), _Scope())
        self._scopes.move_to_end((channel, name))
        return scope

    def _blocked(self, key: tuple[str, str]) -> float:
        scope = self._scopes.get(key)
        return scope.blocked_until if scope is not None else 0.0

    def _take(self, channel: str, rates: Sequence[Rate], *, now: float) -> None:
        for rate in rates:
            self._scope(channel, rate.scope).take(rate, now=now)

    def _join(self, channel: str, queue: str, scope: _Scope, *, at: float) -> None:
        place = self._places[channel, queue] = _Place(at, scope, (channel, queue))
        scope.line.insert(bisect_left(scope.line, at, key=lambda other: other.at), place)

    def _leave(self, channel: str, queue: str) -> None:
        place = self._places.pop((channel, queue), None)
        if place is not None:
            place.scope.line.remove(place)

    def _forget(self, *, now: float) -> None:
        """Drop scopes at rest, a few at every call; and what is oldest, beyond the bound."""
        for name, scope in [item for item, _ in zip(self._scopes.items(), range(2), strict=False)]:
            if scope.idle(now=now) or len(self._scopes) > self._most:
                self._drop(name, scope)
        if len(self._places) > self._most:
            self._leave(*next(iter(self._places)))

    def _drop(self, name: tuple[str, str], scope: _Scope) -> None:
        del self._scopes[name]
        for place in list(scope.line):
            self._leave(*place.key)
