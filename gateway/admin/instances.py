"""The gateways that run on one database, as each says of itself: what an operator looks at on the day one of three hangs."""

from __future__ import annotations

from collections.abc import Callable, Collection

from gateway.admin.acts.instances import LIST, DepartedTold, HeldTold, InstancesTold, InstanceTold
from gateway.admin.operations import Acting, Empty, Handlers
from gateway.instances import unheld
from gateway.leases import Departed, Instance, Leases

DAYS_MS = 7 * 86_400_000
_KINDS = {"channel": "receive", "send": "send", "job": "job"}
"""The kinds of leases that are told by name; any other is somebody's erasure, and nobody is named."""


class InstanceActs:
    """Looks at instances. `wanted` gives the names of leases that somebody should hold, `clock` milliseconds since 1970;
    `several`: the database can have more than one."""

    def __init__(
        self, leases: Leases, *, wanted: Callable[[], Collection[str]], several: bool, clock: Callable[[], int]
    ) -> None:
        self._leases = leases
        self._wanted = wanted
        self._several = several
        self._clock = clock

    def handlers(self) -> Handlers:
        return {LIST: self.listed}

    async def listed(self, acting: Acting, _: Empty) -> InstancesTold:
        instances = await self._leases.instances()
        departed = await self._leases.departed(since_ms=self._clock() - DAYS_MS)
        here = next((one for one in instances if one.here), None)
        hosts = {one.host for one in instances}
        return InstancesTold(
            several=self._several,
            instances=tuple(told(one, here=here) for one in instances),
            departed=tuple(_departed(one, hosts) for one in departed),
            nobodys=tuple(held(name) for name in sorted(unheld(self._wanted(), instances))),
        )


def told(one: Instance, *, here: Instance | None) -> InstanceTold:
    """Return what is said of an instance beside the one that answers. Pure."""
    condition = one.condition
    return InstanceTold(
        id=str(one.id),
        number=one.number,
        here=one.here,
        host=one.host,
        release=one.release,
        joined_ms=one.joined_ms,
        settings=one.settings,
        other_settings=here is not None and None not in (one.settings, here.settings) and one.settings != here.settings,
        other_release=here is not None and one.release is not None and one.release != here.release,
        seen_s=None if condition is None or not condition.lease_s else max(0.0, condition.lease_s - one.left_s),
        late=condition is not None and one.left_s < condition.lease_s / 2,
        skew_s=None if condition is None else condition.skew_s,
        stopping=condition is not None and condition.stopping,
        problems={} if condition is None else condition.problems,
        holds=tuple(sorted({held(name) for name in one.leases}, key=lambda each: (each.kind, each.what))),
    )


def held(name: str) -> HeldTold:
    """Return a lease as it is told: of one of several slots, without which. Pure."""
    kind, _, what = name.partition(":")
    if kind not in _KINDS:
        return HeldTold(kind="erase", what="")
    return HeldTold(kind=_KINDS[kind], what=what.partition("/")[0])


def _departed(one: Departed, hosts: Collection[str | None]) -> DepartedTold:
    return DepartedTold(
        id=str(one.id),
        number=one.number,
        host=one.host,
        release=one.release,
        joined_ms=one.joined_ms,
        left_ms=one.left_ms,
        lost=one.lost,
        back=one.host is not None and one.host in hosts,
    )
