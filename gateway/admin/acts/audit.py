"""Acts about the audit log: read it, take it along. Nobody changes it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gateway.admin.access import Users
from gateway.admin.acts.kinds import Channel, Limit, Number
from gateway.admin.audit import Asked, Audit, Entry
from gateway.admin.operations import Acting, AuditOutcome, Handlers, Operation, Stream

Moment = Annotated[int, msgspec.Meta(ge=0, description="Milliseconds since 1970.")]
ActorId = Annotated[
    str, msgspec.Meta(min_length=1, max_length=40, description="`user:N`, `token:N`, `local` or `nobody`.")
]
OperationName = Annotated[
    str, msgspec.Meta(min_length=1, max_length=60, description="`users.add`, or a part: `users`.")
]


class AuditAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries: what is left out does not matter. The newest come first."""

    actor: ActorId | None = None
    operation: OperationName | None = None
    outcome: AuditOutcome | None = None
    channel: Channel | None = None
    from_ms: Moment | None = None
    until_ms: Moment | None = None
    limit: Limit = 50
    after: Number | None = None


class ExportAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries: what is left out does not matter."""

    actor: ActorId | None = None
    operation: OperationName | None = None
    outcome: AuditOutcome | None = None
    channel: Channel | None = None
    from_ms: Moment | None = None
    until_ms: Moment | None = None


class AuditPage(msgspec.Struct, frozen=True, kw_only=True):
    """Entries, and what the users among their actors are called now."""

    entries: tuple[Entry, ...]
    names: dict[str, str]
    next: str | None


AUDIT_LIST = Operation(
    name="audit.list",
    told="Read the audit log, the newest first; with the right for some channels, what was done there.",
    method="GET",
    path="/audit",
    right="audit",
    where="any",
    request=AuditAsked,
    result=AuditPage,
    audited="no",
)
AUDIT_EXPORT = Operation(
    name="audit.export",
    told="Take the audit log along, the oldest first: one JSON object a line.",
    method="GET",
    path="/audit/export",
    right="audit",
    where="any",
    request=ExportAsked,
    result="application/x-ndjson",
)

OPERATIONS: tuple[Operation, ...] = (AUDIT_LIST, AUDIT_EXPORT)


class AuditActs:
    """Carries these acts out."""

    def __init__(self, *, audit: Audit, users: Users) -> None:
        self._audit = audit
        self._users = users

    def handlers(self) -> Handlers:
        """Return what does each act."""
        return {AUDIT_LIST: self.page, AUDIT_EXPORT: self.export}

    async def page(self, acting: Acting, asked: AuditAsked) -> AuditPage:
        before = None if asked.after is None else int(asked.after)
        found = await self._audit.page(_asked(acting, asked), before=before, limit=asked.limit)
        numbers = {int(entry.actor.removeprefix("user:")) for entry in found if entry.actor.startswith("user:")}
        names = await self._users.names(numbers)
        return AuditPage(
            entries=tuple(found),
            names={f"user:{number}": name for number, name in names.items()},
            next=found[-1].id if len(found) == asked.limit else None,
        )

    async def export(self, acting: Acting, asked: ExportAsked) -> Stream:
        return Stream(
            self._audit.lines(_asked(acting, asked)), media="application/x-ndjson", filename="clew-audit.jsonl"
        )


def _asked(acting: Acting, asked: AuditAsked | ExportAsked) -> Asked:
    return Asked(
        actor=asked.actor,
        operation=asked.operation,
        outcome=asked.outcome,
        channel=asked.channel,
        channels=acting.channels(),
        from_ms=asked.from_ms,
        until_ms=asked.until_ms,
    )
