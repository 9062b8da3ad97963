"""What only one instance may do at a time: fetch a bot's updates, send a channel's replies, delete what is old.

Whoever comes first does it, for as long as it lives; then another does. On a database for one process there is nobody else.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Protocol, TypeVar

from gateway.conditions import Condition
from gateway.errors import StoreBusy

logger = logging.getLogger(__name__)


DEPARTED = 100
"""So many instances that have gone are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What an instance tells the others of itself, for people to read."""

    release: str
    host: str = socket.gethostname()
    process: int = field(default_factory=os.getpid)

    @property
    def where(self) -> str:
        """Host and process."""
        return f"{self.host}/{self.process}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A gateway that runs on the database. `id` is new at each start, `number` the one in its ids; None: not told, as by an
    earlier release. `settings` is the revision in force there, `host` where it runs (`About.where`), `left_s` what its sign of
    life is still good for, `leases` what it holds, by name, `condition` how it said that it is."""

    id: int
    number: int | None
    release: str | None
    settings: str | None
    host: str | None
    joined_ms: int
    left_s: float
    leases: tuple[str, ...]
    here: bool
    condition: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Departed:
    """A gateway that ran on the database. `lost`: the others gave it up for dead; else it left by itself."""

    id: int
    number: int | None
    release: str | None
    host: str | None
    joined_ms: int
    left_ms: int
    lost: bool


class Held(Protocol):
    """A lease while it is ours."""

    @property
    def fence(self) -> int:
        """Grows with each holder."""
        ...

    def valid(self) -> bool:
        """Whether nobody else can have it yet, by this machine's clock. Pure: what the lease guards may be done in the same
        step of the event loop, and not later."""
        ...


Work = Callable[[Held], Awaitable[None]]
Done = TypeVar("Done")


class Leases(Protocol):
    """Names of the form `KIND:WHAT`, each held by one instance at a time."""

    async def hold(
        self, name: str, work: Work, *, slots: int = 1, elsewhere: Callable[[], None] = lambda: None
    ) -> NoReturn:
        """Run `work` whenever the lease is ours, until cancelled; cancel it when the lease is lost or given up.

        So many `slots` may be held at once, by different instances where there are so many, for work that one more does no harm
        to: who is cut off from the others keeps its own for a while. `elsewhere` is called when others
        have them all. Work that returns gives its lease up, for others to take, and is tried again after a rest; what it raises
        is raised here. Work that is cancelled is waited for. A lease that is lost may have another holder before that.
        """
        ...

    async def give_up(self, kinds: Collection[str]) -> None:
        """Give up what is held of these kinds, for others to take at once, and take none any more: this gateway stops. Where no
        other lives, all stays as it is: somebody must do it to the end."""
        ...

    async def instances(self) -> Sequence[Instance]:
        """Return the instances that live, the eldest first. Raises `StoreBusy`."""
        ...

    async def departed(self, *, since_ms: int) -> Sequence[Departed]:
        """Return those that have gone since then, the latest first; of `DEPARTED` at most is anything known. Raises
        `StoreBusy`."""
        ...

    @property
    def live(self) -> int:
        """How many instances live, as far as known; asks nobody."""
        ...

    @property
    def skew_s(self) -> float:
        """The seconds by which this machine's clock is ahead of the database's, as far as known."""
        ...

    def tell(self, settings: str) -> None:
        """Let others know, soon, which revision of the settings is in force here."""
        ...

    def describe(self, condition: Callable[[], Condition]) -> None:
        """Let others know with each sign of life how this instance is. `condition` is asked for that each time, answers at
        once and raises nothing; what it says of lease and clock is known better here."""
        ...


def shared_clock(leases: Leases, clock_ms: Callable[[], int]) -> Callable[[], int]:
    """Return a clock that tells what the database's does, as far as is known: milliseconds since 1970. For what instances compare
    with each other's, as the end of who learns from a scope."""
    return lambda: clock_ms() - round(leases.skew_s * 1000)


async def given_up(leases: Leases, kinds: Collection[str], *, within_s: float) -> None:
    """Give up what is held of these kinds, in that time at most: else others have it when this instance has left."""
    try:
        async with asyncio.timeout(within_s):
            await leases.give_up(kinds)
    except TimeoutError:
        logger.warning("leases not given up in time", extra={"seconds": within_s})


class _Over(Exception):
    """What was to be done once has been."""


async def one_at_a_time(leases: Leases, name: str, act: Callable[[], Awaitable[Done]], *, wait_s: float) -> Done:
    """Do something while nobody else does, on any instance. Done again from its beginning where the lease was lost meanwhile.
    Raises `StoreBusy` where others were at it for `wait_s`, or the database was away."""
    results: list[Done] = []
    loop = asyncio.get_running_loop()

    async def work(_held: Held) -> None:
        waiting.reschedule(None)
        try:
            results.append(await act())
        finally:
            waiting.reschedule(loop.time() + wait_s)
        raise _Over

    try:
        async with asyncio.timeout(wait_s) as waiting:
            await leases.hold(name, work)
    except _Over:
        return results[-1]
    except TimeoutError:
        if not waiting.expired():
            raise
        raise StoreBusy("somebody else is at it, or the database is away", retry_after_s=wait_s) from None


async def once(leases: Leases, job: str, run: Callable[[], Awaitable[None]]) -> None:
    """Run a lasting job on one instance at a time."""
    await leases.hold(f"job:{job}", lambda _held: run())


@dataclass(frozen=True, slots=True)
class _Ours:
    fence: int

    def valid(self) -> bool:
        return True


class ProcessLeases:
    """Implements `Leases` where one process has the database: each is held at once, for good."""

    def __init__(self, about: About, *, number: int | None, rest_s: float, clock_ms: Callable[[], int]) -> None:
        self._about = about
        self._number = number
        self._rest_s = rest_s
        self._joined_ms = clock_ms()
        self._settings: str | None = None
        self._condition: Callable[[], Condition] = Condition
        self._fences = itertools.count(1)
        self._free: dict[str, asyncio.Semaphore] = {}
        self._held: set[str] = set()

    async def hold(
        self, name: str, work: Work, *, slots: int = 1, elsewhere: Callable[[], None] = lambda: None
    ) -> NoReturn:
        free = self._free.setdefault(name, asyncio.Semaphore(slots))  # as many as there are names in the settings
        while True:
            if free.locked():
                elsewhere()
            async with free:
                self._held.add(name)
                try:
                    await work(_Ours(next(self._fences)))
                finally:
                    self._held.discard(name)
            await asyncio.sleep(self._rest_s)

    async def give_up(self, kinds: Collection[str]) -> None:
        """Nobody is there to take them."""

    async def instances(self) -> Sequence[Instance]:
        return [
            Instance(
                id=1,
                number=self._number,
                release=self._about.release,
                settings=self._settings,
                host=self._about.where,
                joined_ms=self._joined_ms,
                left_s=float("inf"),
                leases=tuple(sorted(self._held)),
                here=True,
                condition=self._condition(),
            )
        ]

    async def departed(self, *, since_ms: int) -> Sequence[Departed]:
        return ()

    @property
    def live(self) -> int:
        return 1

    @property
    def skew_s(self) -> float:
        return 0.0

    def tell(self, settings: str) -> None:
        self._settings = settings

    def describe(self, condition: Callable[[], Condition]) -> None:
        self._condition = condition
