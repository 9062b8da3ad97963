"""The lanes of a queue that one process owns: which wait, which are held, and until when. In memory; no I/O, no clock.

Rebuilt from the rows at start. As large as what waits, which the inbox bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gateway.inbox.base import Claim


@dataclass(frozen=True, slots=True)
class _Hold:
    fence: int
    until: float


@dataclass(slots=True)
class LocalLanes:
    """Times are seconds from any fixed start, given by the caller."""

    lease_s: float
    fence: int  # the last one given
    unstarted: set[int] = field(default_factory=set)
    _waiting: dict[str, set[int]] = field(default_factory=dict)
    _ready: dict[str, None] = field(default_factory=dict)  # lanes nobody holds, longest waiting first
    _held: dict[str, _Hold] = field(default_factory=dict)  # in order of renewal, so of lapse

    def arrived(self, event_id: int, *, lane: str, started: bool = False) -> None:
        """A message waits in the lane."""
        self._waiting.setdefault(lane, set()).add(event_id)
        if not started:
            self.unstarted.add(event_id)
        if lane not in self._held:
            self._ready[lane] = None

    def started(self, event_ids: Iterable[int]) -> None:
        """These messages have begun; they still wait for their end."""
        self.unstarted.difference_update(event_ids)

    def ended(self, event_ids: Iterable[int], *, lane: str) -> None:
        """These messages wait no more."""
        event_ids = tuple(event_ids)
        self.unstarted.difference_update(event_ids)
        waiting = self._waiting.get(lane)
        if waiting is not None:
            waiting.difference_update(event_ids)
            if not waiting:
                del self._waiting[lane]

    def claim(self, n: int, *, now: float) -> list[Claim]:
        """Hold up to `n` lanes in which something waits."""
        self._lapse(now)
        claims: list[Claim] = []
        while self._ready and len(claims) < n:
            lane = next(iter(self._ready))
            del self._ready[lane]
            if lane in self._waiting:
                self.fence += 1
                self._held[lane] = _Hold(self.fence, now + self.lease_s)
                claims.append(Claim(lane=lane, fence=self.fence))
        return claims

    def renew(self, claims: Sequence[Claim], *, now: float) -> list[Claim]:
        """Hold these for another lease, late or not; return those that nobody has claimed meanwhile."""
        kept = [claim for claim in claims if self.holds(claim.lane, claim.fence)]
        for claim in kept:
            del self._held[claim.lane]
            self._held[claim.lane] = _Hold(claim.fence, now + self.lease_s)
        return kept

    def holds(self, lane: str, fence: int) -> bool:
        """Whether the lane is held under this fence."""
        hold = self._held.get(lane)
        return hold is not None and hold.fence == fence

    def release(self, claim: Claim, *, hand_over: bool) -> bool:
        """Give the lane up; False if something waits in it and it is not to be handed over."""
        if not self.holds(claim.lane, claim.fence):
            return True
        if claim.lane not in self._waiting:
            del self._held[claim.lane]
            return True
        if hand_over:
            del self._held[claim.lane]
            self._ready[claim.lane] = None
        return hand_over

    def _lapse(self, now: float) -> None:
        while self._held:
            lane, hold = next(iter(self._held.items()))
            if hold.until > now:
                return
            del self._held[lane]
            self._ready[lane] = None
