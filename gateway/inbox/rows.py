"""Between rows and structs, for every database; and what is handed to one to write. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Literal, get_args

import msgspec

from gateway.inbox.base import Chunk, Event, HaltReason, NewEvent, Outcome
from gateway.inbox.dead import Letter
from gateway.inbox.looking import COUNTED, Tallies, Tally

# Spelled alike in queries and in the indexes' conditions: only then does a planner see that the index fits.
WAITING = "state IN ('accepted', 'running')"
FINAL = "state IN ('answered', 'observed', 'ignored', 'applied', 'failed', 'dead')"
OLDEST_FINISHED = f"SELECT id FROM inbox_events WHERE {FINAL} ORDER BY id LIMIT 1"
REPLIED = "('replied', 'answered', 'failed', 'dead')"
LIVE = "state IN ('waiting', 'sending')"  # chunks

BEGUN_AGAIN = "halt = CASE halt WHEN 'stopped' THEN halt END"
"""What a message keeps of why its turn was to end early when that begins again."""

RECENT_MS = 900_000
"""Milliseconds before what is asked for within which `Outbox.recent` looks for turns."""

UNSAID = "EXISTS (SELECT 1 FROM outbox_chunks c WHERE c.turn_id = a.turn_id AND c.part = 0 AND c.state = 'dead')"
"""That nothing came of announcement `a`."""

OLD_ANNOUNCED = f"""DELETE FROM outbox_chunks WHERE id IN (SELECT c.id FROM outbox_announced a
  JOIN outbox_chunks c ON c.turn_id = a.turn_id WHERE a.turn_id < {{}} AND NOT c.{LIVE} LIMIT {{}})"""
"""Chunks of announcements before an id, so many of them."""

EVENT_COLUMNS = (
    "id, turn_id, lane, channel, kind, speaker, body, token, fingerprint,"
    " state, outcome, attempts, accepted_ms, session, shown, subject, halt, excused"
)
CHUNK_COLUMNS = (
    "id, turn_id, channel, queue, address, part, parts, text, state, attempts, due_ms, message_id, error, shown"
)

_FINAL_STATES = frozenset({"answered", "observed", "ignored", "applied", "failed", "dead"})
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_outcome = msgspec.json.Decoder(Outcome)


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """How a send went: `waiting` is "again, not before `due_ms`"."""

    chunk: Chunk
    state: Literal["waiting", "sent", "unknown", "dead"]
    due_ms: int = 0
    now_ms: int | None = None
    message_id: str | None = None
    error: str | None = None
    counted: bool = True  # whether the attempt counts


def stored_event(new: NewEvent, *, lane: str) -> Event:
    """Return `new` as it stands in the table after its acceptance."""
    return Event(
        id=new.id,
        turn_id=new.id,
        lane=lane,
        channel=new.channel,
        kind=new.kind,
        speaker=new.speaker,
        body=new.body,
        token=new.token,
        fingerprint=new.fingerprint,
        state="accepted" if new.outcome is None else new.outcome.state,
        outcome=new.outcome,
        attempts=0,
        accepted_ms=new.now_ms,
        subject=None if new.subject is None else digest_of(new.channel, new.subject),
    )


def revivable(event: Event, new: NewEvent) -> bool:
    """Whether `new`, if it is a sibling of the stored `event`, takes its place."""
    if not new.waits or not new.revives or event.attempts or event.fingerprint != new.fingerprint:
        return False
    if event.kind == "control" and event.state == "accepted":
        return True
    return event.state in ("ignored", "observed") and event.outcome is not None and event.outcome.rule in new.revives


def revived(event: Event, new: NewEvent, *, lane: str) -> Event:
    """Return the stored `event` with `new` in its place."""
    return msgspec.structs.replace(
        stored_event(new, lane=lane),
        id=event.id,
        turn_id=event.id,
        token=event.token,
        accepted_ms=event.accepted_ms,
    )


def event_row(event: Event) -> tuple[Any, ...]:
    """Return the values of EVENT_COLUMNS."""
    return (
        event.id,
        event.turn_id,
        event.lane,
        event.channel,
        event.kind,
        event.speaker.encode("utf-8", "surrogatepass"),
        event.body,
        event.token,
        event.fingerprint,
        event.state,
        outcome_text(event.outcome),
        event.attempts,
        event.accepted_ms,
        event.session,
        event.shown,
        event.subject,
        event.halt,
        event.excused,
    )


def event_of(row: Sequence[Any]) -> Event:
    """Return the event whose EVENT_COLUMNS are `row`."""
    state, outcome = row[9], row[10]
    return Event(
        id=row[0],
        turn_id=row[1],
        lane=row[2],
        channel=row[3],
        kind=row[4],
        speaker=row[5].decode("utf-8", "surrogatepass"),
        body=row[6],
        token=row[7],
        fingerprint=row[8],
        state=state,
        outcome=_outcome.decode(outcome) if outcome else Outcome(state=state) if state in _FINAL_STATES else None,
        attempts=row[11],
        accepted_ms=row[12],
        session=row[13],
        shown=row[14],
        subject=row[15],
        halt=row[16],
        excused=row[17],
    )


def chunk_of(row: Sequence[Any]) -> Chunk:
    """Return the chunk whose CHUNK_COLUMNS are `row`."""
    return Chunk(
        id=row[0],
        turn_id=row[1],
        channel=row[2],
        queue=row[3],
        address=row[4],
        index=row[5],
        of=row[6],
        text=row[7],
        state=row[8],
        attempts=row[9],
        due_ms=row[10],
        message_id=row[11],
        error=row[12],
        shown=row[13],
    )


def letter_of(turn_id: int, events: Sequence[Sequence[Any]], chunks: Sequence[Sequence[Any]]) -> Letter | None:
    """Return the turn's letter; None: it waits for no admin, or was erased. Rows are EVENT_COLUMNS with dealt_ms, reopened and
    notice_of, and CHUNK_COLUMNS with dealt_ms."""
    found = tuple(map(event_of, events))
    if any(not event.speaker or event.state in ("accepted", "running", "replied") for event in found):
        return None
    dead = any(row[9] == "dead" and row[-3] is None for row in events)
    unknown = any(row[8] == "unknown" and row[5] >= 0 and row[-1] is None for row in chunks)
    if not dead and not (unknown and any(event.state in ("answered", "failed") for event in found)):
        return None
    notices = [row[-1] for row in events if row[-1] is not None]
    return Letter(
        turn_id=turn_id,
        kind="dead" if dead else "unknown",
        events=found,
        chunks=tuple(map(chunk_of, chunks)),
        seen=max(row[-2] for row in events),
        notice_of=_outcome.decode(notices[0]) if notices else None,
    )


def tallied(rows: Sequence[Sequence[Any]], *, channels: Sequence[str] | None) -> Tallies:
    """Return the counts of these channels. Rows, of all that was passed: channel, hour, state, rule, count, the first time."""
    count, oldest = sum(row[4] for row in rows), min((row[5] for row in rows), default=None)
    tallies = tuple(
        Tally(channel=row[0], hour_ms=row[1], state=row[2], rule=str(row[3]), count=row[4])
        for row in rows
        if channels is None or row[0] in channels
    )
    return Tallies(tallies=tallies, from_ms=oldest if count == COUNTED else None)


def taken(head: Chunk) -> Chunk:
    """Return a queue's head as its new owner gets it. One that is `sending` was left so by an owner that is gone."""
    if head.state == "sending":
        return msgspec.structs.replace(head, state="unknown")
    return msgspec.structs.replace(head, state="sending", attempts=head.attempts + 1)


def outcome_text(outcome: Outcome | None) -> str | None:
    """Return the outcome as it is kept (JSON), None for none."""
    if outcome is None:
        return None
    fields = {name: storable(value) for name, value in msgspec.structs.asdict(outcome).items() if value is not None}
    return msgspec.json.encode(fields).decode()


def without_reason(outcome: str) -> str | None:
    """Return a kept outcome without the words of whoever refused, which may name the person; None: it has none."""
    found = _outcome.decode(outcome)
    return None if found.reason is None else outcome_text(msgspec.structs.replace(found, reason=None))


def undeliverable(error: str) -> Outcome:
    """Return how a turn ends whose reply could not be delivered; `error` is the adapter's word."""
    return Outcome(state="dead", code="undeliverable", reason=error)


def rule_marks(rule: str) -> tuple[str, str]:
    """Return what stands in a stored route or outcome that has the rule, and in an outcome that has it as its code. Nobody's text
    can hold either: a quotation mark inside a text is escaped."""
    name = msgspec.json.encode(rule).decode()
    return f'"rule":{name}', f'"code":{name}'


def room_mark(room: str) -> bytes:
    """Return what stands in a stored route whose event or address is in the room; see `rule_marks`."""
    return b'"room":' + msgspec.json.encode(storable(room))


def outcome_of(text: str | None) -> Outcome | None:
    """Return the outcome that is kept as `text`."""
    return None if text is None else _outcome.decode(text)


def lighter(reason: HaltReason) -> list[str]:
    """Return the reasons that this one outweighs."""
    reasons: tuple[str, ...] = get_args(HaltReason)
    return list(reasons[: reasons.index(reason)])


def storable(text: str) -> str:
    """Return `text` with NUL and lone surrogates as U+FFFD: databases and platforms refuse them."""
    return _UNSTORABLE.sub("\ufffd", text)


def dedupe_digests(channel: str, dedupe_ids: Sequence[str]) -> list[bytes]:
    """Return 16 bytes for each dedupe id of a channel, in order, once: of one size whatever a platform or attacker sends."""
    return list(dict.fromkeys(digest_of(channel, dedupe_id) for dedupe_id in dedupe_ids))


def digest_of(channel: str, name: str) -> bytes:
    """Return 16 bytes for a name that counts within a channel."""
    return blake2b(f"{channel}\x00{name}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
