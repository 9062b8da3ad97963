"""What can be done about channels, as data: prepare, add, test, remove; without a restart.

Done in `gateway/admin/channels.py`.
"""

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
    """What was said in the channel stays. So do its secrets that a revision refers to, for the way back; with `secrets` they go,
    and whoever goes back has to enter them again first."""

    channel: Channel
    secrets: bool = False
    reason: Reason = ""
    expected: Number | None = None
    dry_run: bool = False


class PrepareAsked(msgspec.Struct, frozen=True, kw_only=True):
    """`channel`: as it is, or will be, called. `mode`: how its events are to come in, where the kind knows more than one way."""

    kind: Annotated[str, msgspec.Meta(max_length=40)]
    channel: Channel
    mode: Annotated[str, msgspec.Meta(max_length=40)] | None = None


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """`address`: where the platform posts events, if it is not asked for them; null: nobody knows where it reaches this gateway.
    `manifest`: what the platform makes its app from, as JSON; null: it knows no such thing."""

    address: str | None
    manifest: str | None


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
PREPARE = Operation(
    name="channels.prepare",
    told="Show what a platform has to be told of a channel, also before it is added: the address for events, its app's manifest.",
    method="GET",
    path="/channel-kinds/{kind}",
    right="configure",
    where="gateway",
    request=PrepareAsked,
    result=Prepared,
    audited="no",
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
OPERATIONS: tuple[Operation, ...] = (ADD, REMOVE, PREPARE, PROBE)
