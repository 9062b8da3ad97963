"""What can be done about channels, as data: add, test, remove, without a restart. Done in `gateway/admin/channels.py`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from gateway.admin.acts.kinds import Channel
from gateway.admin.acts.settings import ChangeTold, Number, Reason
from gateway.admin.operations import Operation


class AddAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`settings`: what the channel says besides its kind; secrets go into the vault."""

    channel: Channel
    kind: Annotated[str, msgspec.Meta(max_length=40)]
    settings: dict[str, Any] = {}
    reason: Reason = ""
    expected: Number | None = None
    dry_run: bool = False


class RemoveAsked(msgspec.Struct, frozen=True, kw_only=True):
    """What was said in the channel stays; its secrets in the vault stay, too, until they are taken out."""

    channel: Channel
    reason: Reason = ""
    expected: Number | None = None
    dry_run: bool = False


class ProbeAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`room`: where a test message is to go, through the outbox as any reply does; left out: none is sent."""

    channel: Channel
    room: Annotated[str, msgspec.Meta(min_length=1, max_length=300)] | None = None
    thread: Annotated[str, msgspec.Meta(min_length=1, max_length=300)] | None = None
    language: Literal["en", "zh"] = "en"


class ProbeTold(msgspec.Struct, frozen=True, kw_only=True):
    """`connected`: it runs and its platform takes its credentials; `problem` says why not, `warning` what it does without.
    `sent`: the test message was delivered, may have been (`unknown`), was refused (`dead`), is on its way (`waiting`), or none
    was asked for (`no`), or none can be sent because callers fetch their replies (`collected`); `message` is its id on the
    platform, `error` why not. `last_event_ms` is when the last event came in; null: none yet."""

    connected: bool
    problem: str | None
    warning: str | None
    took_ms: int
    sent: Literal["no", "collected", "waiting", "sent", "unknown", "dead"]
    message: str | None
    error: str | None
    last_event_ms: int | None


ADD = Operation(
    name="channels.add",
    told="Add a channel; it runs without a restart.",
    method="POST",
    path="/channels",
    right="configure",
    where="gateway",
    request=AddAsked,
    result=ChangeTold,
)
REMOVE = Operation(
    name="channels.remove",
    told="Remove a channel; what was said in it stays.",
    method="DELETE",
    path="/channels/{channel}",
    right="configure",
    where="gateway",
    request=RemoveAsked,
    result=ChangeTold,
)
PROBE = Operation(
    name="channels.probe",
    told="Test a channel: its credentials, and a message through the real route to a room that you name.",
    method="POST",
    path="/channels/{channel}/probes",
    right="configure",
    where="channel",
    request=ProbeAsked,
    result=ProbeTold,
)
OPERATIONS: tuple[Operation, ...] = (ADD, REMOVE, PROBE)
