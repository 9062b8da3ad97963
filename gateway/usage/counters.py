"""What those who have quotas have used up, at hand: read once from the rows, then counted along.

A check costs no look at the database. Where several instances count, what is older than `fresh_s` is read again, so they agree
within that and the time that entries take to be written. A bounded map: whoever falls out of it is read anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from math import inf

from gateway.usage.entries import Entry
from gateway.usage.rows import Amounts, Subject, amounts, subjects
from gateway.usage.windows import SPANS, Span, Starts, starts

BOUND = 20_000


@dataclass(slots=True)
class _Count:
    """One subject's. `begun` says which minute, day and month `used` speaks of; `held`: messages let in, not stored yet."""

    begun: Starts
    read_s: float
    used: dict[Span, Amounts] = field(default_factory=lambda: dict.fromkeys(SPANS, Amounts()))
    held: int = 0

    def roll(self, at: Starts) -> None:
        """Begin anew what is over; what was counted for a later time than `at` stays."""
        for span, before, now in zip(SPANS, self.begun, at, strict=True):
            if before < now:
                self.used[span] = Amounts()
        self.begun = max(self.begun, at)


class Counters:
    """Counts in this process. Nothing here waits."""

    def __init__(self, *, fresh_s: float | None, bound: int = BOUND) -> None:
        """`fresh_s` None: nobody else counts."""
        self._fresh_s = fresh_s
        self._bound = bound
        self._counts: OrderedDict[Subject, _Count] = OrderedDict()

    def stale(self, found: Iterable[Subject], *, now_s: float) -> list[Subject]:
        """Return which of the subjects are to be read, first or again; `now_s` in seconds, from any fixed start."""
        return [subject for subject in found if self._stale(self._counts.get(subject), now_s)]

    def _stale(self, count: _Count | None, now_s: float) -> bool:
        if count is None:
            return True
        return self._fresh_s is not None and now_s - count.read_s >= self._fresh_s

    def put(
        self,
        subject: Subject,
        read: Mapping[Span, Amounts],
        waiting: Iterable[Entry],
        *,
        at_ms: int,
        zone: tzinfo,
        now_s: float,
    ) -> None:
        """Take what was read as the subject's at `at_ms`; `waiting` are the entries not in it, as they are not written yet."""
        at, before = starts(at_ms, zone), self._counts.get(subject)
        used = dict.fromkeys(SPANS, Amounts()) | dict(read)
        count = _Count(at, now_s, used, before.held if before is not None else 0)
        self._counts[subject] = count
        self._counts.move_to_end(subject)
        while len(self._counts) > self._bound:
            self._counts.popitem(last=False)
        for entry in waiting:
            if subject in subjects(entry):
                _add(count, starts(entry.at_ms, zone), amounts(entry))

    def used(self, subject: Subject, at: Starts) -> dict[Span, Amounts]:
        """Return what the subject has used up in the times of `at`, held messages among them; nothing, where it was not read."""
        count = self._counts.get(subject)
        if count is None:
            return dict.fromkeys(SPANS, Amounts())
        self._counts.move_to_end(subject)
        count.roll(at)
        held = Amounts(messages=count.held)
        return {span: used.plus(held) for span, used in count.used.items()}

    def hold(self, found: Iterable[Subject], messages: int) -> None:
        """Count messages that are let in and not stored yet; negative: they are stored, or were none."""
        for subject in found:
            count = self._counts.get(subject)
            if count is not None:
                count.held = max(0, count.held + messages)

    def add(self, entry: Entry, zone: tzinfo, *, times: int = 1) -> None:
        """Count an entry for all that are at hand; `times` -1: it had been counted before."""
        at: Starts | None = None
        for subject in subjects(entry):
            count = self._counts.get(subject)
            if count is not None:
                at = at or starts(entry.at_ms, zone)
                of = amounts(entry)
                _add(count, at, Amounts(of.messages * times, of.tokens * times, of.money * times))

    def counted_before(self, entry: Entry, zone: tzinfo) -> None:
        """An entry that was counted here stood in the rows already. Where others count, what was read may hold it or not: it is
        read again, and until then too much is counted, not too little."""
        if self._fresh_s is None:
            self.add(entry, zone, times=-1)
            return
        for subject in subjects(entry):
            count = self._counts.get(subject)
            if count is not None:
                count.read_s = -inf

    def clear(self) -> None:
        """Read everybody anew."""
        self._counts.clear()

    def forget(self, subject: Subject) -> None:
        """Read the subject anew when it is next asked for."""
        self._counts.pop(subject, None)


def _add(count: _Count, at: Starts, added: Amounts) -> None:
    count.roll(at)
    for span, begun, then in zip(SPANS, count.begun, at, strict=True):
        if begun == then:  # else it is over already
            count.used[span] = count.used[span].plus(added)
