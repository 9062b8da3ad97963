"""Which changes of settings let something be deleted for good, and how much of it there is now. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Literal

from config.problems import path_text
from config.settings import Settings
from gateway.admin.acts.settings import Deleted
from gateway.admin.operations import FieldProblem, Invalid
from gateway.admin.planning import Plan, Steps
from gateway.inbox.base import Inbox
from gateway.retention import kept_from_ms
from memory.browsing import Browsing

MOST = 10_000
"""Messages that are counted: whether it is more changes nothing for who decides."""

What = Literal["messages", "queue", "ledgers", "usage"]


class Unconfirmed(Invalid):
    """Something would be deleted for good, and nobody has said that this is meant."""


class Deleting:
    """Tells what plans let be deleted. `clock` gives milliseconds since 1970."""

    def __init__(self, *, browsing: Browsing, inbox: Inbox, clock: Callable[[], int]) -> None:
        self._browsing = browsing
        self._inbox = inbox
        self._clock = clock

    async def of(self, plan: Plan) -> tuple[Deleted, ...]:
        """Return what goes by a plan. Raises `memory.errors.MemoryFault` and `gateway.errors.StoreBusy`."""
        now = self._clock()
        return tuple(
            [
                await self._told(path, what, kept_from_ms(days, now_ms=now))
                for path, what, days in shortened(plan.old.settings, plan.new.settings, plan.touched)
            ]
        )

    async def _told(self, path: Steps, what: What, before_ms: int) -> Deleted:
        told = Deleted(path=path_text(path), what=what, before_ms=before_ms)
        match what:
            case "messages":
                older = await self._browsing.older(before_ms=before_ms, limit=MOST)
                return Deleted(
                    path=told.path, what=what, before_ms=before_ms, count=older.count, oldest_ms=older.oldest_ms
                )
            case "queue":
                oldest = await self._inbox.oldest_finished_ms()
                return Deleted(path=told.path, what=what, before_ms=before_ms, oldest_ms=oldest)
            case _:
                return told


def shortened(old: Settings, new: Settings, touched: Sequence[Steps]) -> Iterator[tuple[Steps, What, float]]:
    """Yield what is kept for less time by a change of these settings: the setting, what it keeps, for how many days from then on.
    What the file says anew is the file's, and nobody is asked about it. Pure."""
    for path, what in _KEEPING.items():
        days = _days(new, what)
        if days < _days(old, what) and any(_about(path, one) for one in touched):
            yield path, what, days


def confirmed(deletes: Sequence[Deleted], *, delete: bool) -> None:
    """Raise `Unconfirmed`, naming each setting, where something goes for good and it was not said that this is meant."""
    if not deletes or delete:
        return
    problem, remedy = (
        "deletes for good what is older",
        "look at what goes (`dry_run`), and say `delete` if that is meant",
    )
    problems = tuple(
        FieldProblem(path=path, value="", problem=problem, remedy=remedy)
        for path in dict.fromkeys(one.path for one in deletes)
    )
    raise Unconfirmed(f"{problems[0].path}: {problem}; {remedy}", problems=problems)


_KEEPING: dict[Steps, What] = {
    ("retention", "message_days"): "messages",
    ("retention", "queue_days"): "queue",
    ("retention", "ledger_days"): "ledgers",
    ("usage", "days"): "usage",
}
"""The audit log's days are the file's alone; ids of messages outlast every repeat in any case."""


def _days(settings: Settings, what: What) -> float:
    kept = settings.retention
    match what:
        case "messages":
            return inf if kept.message_days is None else kept.message_days
        case "queue":
            return max(kept.queue_days, kept.dedupe_days)  # a row stays as long as the ids by which it is known
        case "ledgers":
            return kept.ledger_days
        case _:
            return settings.usage.days


def _about(path: Steps, touched: Steps) -> bool:
    """Whether a change there may be one here: of the same setting, of its section as a whole, or of the ids' days."""
    return path[: len(touched)] == touched or (path[-1] == "queue_days" and touched == ("retention", "dedupe_days"))
