"""What can be seen of the gateways that run on one database, as data. Done in `gateway/admin/instances.py`."""

from __future__ import annotations

import msgspec

from gateway.admin.operations import Operation


class HeldTold(msgspec.Struct, frozen=True, kw_only=True):
    """What only one instance does at a time, or two. `kind`: `receive` (it fetches a channel's events, or holds a connection for
    them), `send` (it sends a channel's replies), `job` (it cleans up, counts, …) or `erase` (it erases somebody). `what`: the
    channel or the job; "" of an erasure."""

    kind: str
    what: str


class InstanceTold(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway that runs. `id` is new at each start, `number` the one in its ids; `here`: it is the one that answers.

    `host` is its machine and process, `joined_ms` when it came, milliseconds since 1970. `settings` is the revision in force
    there, by digest; `other_settings` and `other_release`: not those of the one that answers. `seen_s`: seconds since its last
    sign of life; `late`: half of the time is over after which the others give it up for dead and take over. `skew_s`: by how
    much its machine's clock is ahead of the database's. `stopping`: it finishes what it has begun, and goes. `problems` are what
    it says of itself, by part. What is None was not told, as by an earlier release.
    """

    id: str
    number: int | None
    here: bool
    host: str | None
    release: str | None
    joined_ms: int
    settings: str | None
    other_settings: bool
    other_release: bool
    seen_s: float | None
    late: bool
    skew_s: float | None
    stopping: bool
    problems: dict[str, str]
    holds: tuple[HeldTold, ...]


class DepartedTold(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway that ran until `left_ms`. `lost`: the others gave it up for dead; else it left by itself. `back`: the same
    process runs again, as one that was paused."""

    id: str
    number: int | None
    host: str | None
    release: str | None
    joined_ms: int
    left_ms: int
    lost: bool
    back: bool


class InstancesTold(msgspec.Struct, frozen=True, kw_only=True):
    """Those that run, the eldest first, and those that have gone in the last seven days, the latest first (a hundred at most).
    `several`: the database can have more than one. `nobodys` is what an instance should do and none does at the moment."""

    several: bool
    instances: tuple[InstanceTold, ...]
    departed: tuple[DepartedTold, ...]
    nobodys: tuple[HeldTold, ...]


LIST = Operation(
    name="instances.list",
    told="List the gateways that run on the database: release, settings, signs of life, clock, what each holds; and those gone.",
    method="GET",
    path="/instances",
    right="see",
    where="gateway",
    result=InstancesTold,
    audited="no",
)
OPERATIONS: tuple[Operation, ...] = (LIST,)
