"""What the rules promise of a prompt, worked out over plain lists: from DESIGN 4 and the docstrings, not from the code."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory.policy import Policy


@dataclass
class Said:
    """A message as the model holds it."""

    id: int
    turn: int
    role: str
    text: str
    session: int
    filler: bool = False
    deleted: bool = False
    name: str | None = None  # the platform's id


@dataclass
class Room:
    """What one scope holds."""

    rows: list[Said] = field(default_factory=list)
    observed: list[Said] = field(default_factory=list)
    session: int = 0
    active: bool = False
    last_ms: int = 0
    carried: list[Said] | None = None  # None: not opened yet


def answered_only(rows: list[Said]) -> list[Said]:
    """Return the rows without deleted ones and without replies to turns of which nothing else is left."""
    live = {row.turn for row in rows if row.role == "user" and not row.deleted}
    dead = {row.turn for row in rows if row.role == "user" and row.deleted} - live
    return [row for row in rows if not row.deleted and row.turn not in dead]


def window(room: Room, turn: int, policy: Policy) -> list[Said]:
    """Return what the rules keep of the session: the longest newest stretch of whole turns within N turns and the cap."""
    rows = [row for row in room.rows if row.session == room.session and row.turn != turn]
    now = [row for row in room.rows if row.turn == turn]
    heard = {row.turn for row in rows if row.role == "user" and not row.deleted and not row.filler}
    dead = {row.turn for row in rows if row.role == "user" and row.deleted} - heard
    kept = [row for row in rows if not (row.deleted or row.filler or (row.role == "assistant" and row.turn in dead))]
    for start in range(len(kept)):
        stretch = kept[start:]
        begins = stretch[0].role == "user" and (start == 0 or kept[start - 1].turn != stretch[0].turn)
        turns = {row.turn for row in stretch if row.role == "user"}
        if begins and len(turns) + 1 <= policy.turns and len(stretch) + len(now) <= policy.messages:
            return stretch + now
    return now


def carried(before: Room | None) -> list[Said]:
    """Return what opens another agent's scope: the end of the talk with the one before, unless that was ended."""
    if before is None or not before.active:
        return []
    return [row for row in before.rows if row.session == before.session][-20:]
