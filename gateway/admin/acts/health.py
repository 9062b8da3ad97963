"""What can be seen of channels, as data. Done in `gateway/admin/channel_health.py`."""

from __future__ import annotations

import msgspec

from gateway.admin.acts.kinds import Channel
from gateway.admin.operations import Operation


class HealthAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`probe`: ask the platforms, too, whether the channels work, of those that the actor may handle."""

    channel: Channel | None = None
    probe: bool = False


class ChannelTold(msgspec.Struct, frozen=True, kw_only=True):
    """A channel's health.

    `up`: it runs, and knows of no problem; `problem` says why not, `warning` what is hardly meant so. `probed`: "" where the
    platform was not asked, "ok", or what it said. Times are None where there is none; `last_delivery_ms` also where it is not
    among the newest messages. The rate of errors is of the last 24 hours: of `ended` messages that asked for an answer, `failed`
    ones got none. What follows is counted by this instance since its start.
    """

    channel: str
    kind: str
    up: bool
    problem: str | None
    warning: str | None
    probed: str
    last_event_ms: int | None
    last_delivery_ms: int | None
    waiting: int
    lag_s: float  # age of the oldest message without a reply; 0: none waits
    outbox_waiting: int
    outbox_lag_s: float
    ended: int
    failed: int
    unknown_sends: int
    limited: int  # waits that the platform asked for
    limited_s: float  # all of them together
    left_behind: int  # what the platform told and could not be stored
    failed_starts: int


class HealthTold(msgspec.Struct, frozen=True, kw_only=True):
    """The channels by name. `counted_from_ms`: messages are counted from then on, where that is less than 24 hours."""

    channels: tuple[ChannelTold, ...]
    counted_from_ms: int | None


HEALTH = Operation(
    name="channels.health",
    told="Show each channel's health: connected or why not, last signs of life, lag, errors, waits that were asked for.",
    method="GET",
    path="/channel-health",
    right="see",
    where="any",
    request=HealthAsked,
    result=HealthTold,
    audited="no",
)
OPERATIONS: tuple[Operation, ...] = (HEALTH,)
