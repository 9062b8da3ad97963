"""Which stored messages stand in the window: pure, on counts stored at append, and no slower for a longer history.

Fixed order: fillers and deleted messages go first, then the token budget drops whole turns, oldest first, then the message
cap. What is left is always the newest stretch of the session; the first limit met closes it. Every row gets a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from memory.base import Message, Summary
from memory.tokens import MESSAGE_OVERHEAD

CURRENT_TURN: Final = "current_turn"  # in: the message to answer
KEPT_TURNS: Final = "kept_turns"  # in: one of the newest turns, which the token budget never drops
WINDOW: Final = "window"  # in: inside all limits
LOW_VALUE: Final = "low_value"  # out: a filler that answers no question
DELETED: Final = "deleted"  # out: deleted on the platform, or the reply to a turn that was
TURN_LIMIT: Final = "turn_limit"  # out: older than the newest N turns
TOKEN_BUDGET: Final = "token_budget"  # noqa: S105 - no password; out: the turn did not fit any more
MESSAGE_CAP: Final = "message_cap"  # out: more messages than allowed
LEADING_ASSISTANT: Final = "leading_assistant"  # out: a reply whose question is not in the window
OUT: Final = frozenset({LOW_VALUE, DELETED, TURN_LIMIT, TOKEN_BUDGET, MESSAGE_CAP, LEADING_ASSISTANT})

_WIDEST = 2  # windows that a window may grow to, while older turns are in no summary or not learned from yet
_LEAST = 64  # tokens: a message cut shorter says nothing; its turn is dropped instead


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """`tokens` is what the window should take; `hard` what fits at all (at least the other, or it wins)."""

    turns: int
    keep_turns: int
    messages: int
    tokens: int
    hard: int


class Trimmed(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on every row. `rules` is parallel to the rows; rows before `first` are all out."""

    rules: list[str]
    first: int
    tokens: int  # of the rows that are in, as cut
    cuts: dict[int, int]  # row index -> tokens it may have: too large to go in whole


def uncovered(rows: Sequence[Message], summary: Summary | None) -> set[int]:
    """Return the turns that the summary does not cover; None: there is none."""
    covered_id = summary.last_id if summary else 0
    return {row.turn_id for row in rows if row.id > covered_id and row.role == "user" and not row.low_value}


def reach(turns: int, *, uncovered: int, unlearned: int) -> int:
    """Return how many turns a window of `turns` takes in, so that none is lost that nothing else holds yet."""
    return max(turns, min(_WIDEST * turns, max(uncovered, unlearned + 1)))


def stored_cost(message: Message) -> int:
    """Return what a message costs by its stored count."""
    return message.tokens + MESSAGE_OVERHEAD


def trim(rows: Sequence[Message], limits: Limits, *, cost: Callable[[Message], int] | None = None) -> Trimmed:
    """Choose the window out of `rows`: one session's messages, oldest first, the last ones being the turn to answer.

    A turn is rows of one `turn_id` in a row, and atomic; the last row's is the current one and always in. Turns that only
    hold fillers don't count, and their replies ride with the turn before. What is kept although it does not fit the model
    at all (`hard`) is cut inside. Looks at the rows it keeps and one turn more, however many there are.
    """
    walk = _walk(rows, limits, cost)
    first, tokens = walk.first, walk.tokens
    rules = [walk.closed_by] * first + [WINDOW] * (walk.kept - first) + [KEPT_TURNS] * (walk.current - walk.kept)
    rules += [CURRENT_TURN] * (len(rows) - walk.current)
    for index, rule in walk.dropped.items():
        rules[index] = rule
    while rows[first].role == "assistant" or rules[first] in OUT:
        if rules[first] not in OUT:
            rules[first] = LEADING_ASSISTANT
            tokens -= (cost or stored_cost)(rows[first])
        first += 1
    trimmed = Trimmed(rules=rules, first=first, tokens=tokens, cuts={})
    return trimmed if tokens <= limits.hard else _cut_inside(rows, trimmed, limits.hard, cost or stored_cost)


class _Walk(NamedTuple):
    """How far back the window reaches: rows from `first`, kept turns from `kept`, the current one from `current`."""

    first: int
    kept: int
    current: int
    tokens: int
    closed_by: str  # the rule of all rows before `first`
    dropped: dict[int, str]  # rows the filter took


def _walk(rows: Sequence[Message], limits: Limits, cost: Callable[[Message], int] | None) -> _Walk:
    """Go back turn by turn until a limit is met. Long for a reason: this is the loop that every prompt pays for."""
    max_turns, keep_turns, max_messages = limits.turns, limits.keep_turns, limits.messages
    budget = min(limits.tokens, limits.hard)
    dropped: dict[int, str] = {}
    closed_by: str = LEADING_ASSISTANT
    turns = spent = count = 0  # of what is in, and of the turn at hand
    heard = deleted = False  # whether the turn at hand has a user's message left, or one that was deleted
    tokens = 0  # of what is in
    first = kept = current = index = turn_end = len(rows)
    while index:
        index -= 1
        row = rows[index]
        if turns and row.deleted_ms is not None:
            dropped[index] = DELETED
            deleted = deleted or row.role == "user"
        elif turns and row.low_value:
            dropped[index] = LOW_VALUE
        else:
            spent += cost(row) if cost else row.tokens + MESSAGE_OVERHEAD
            count += 1
            if row.role == "user":
                heard = True
        if index and rows[index - 1].turn_id == row.turn_id:
            continue
        if heard:
            turns += 1
            if turns > max_turns:
                closed_by = TURN_LIMIT
                break
            if turns > keep_turns and spent > budget:
                closed_by = TOKEN_BUDGET
                break
            if count > max_messages and turns > 1:
                closed_by = MESSAGE_CAP
                break
            first, tokens, heard = index, spent, False
            if turns <= keep_turns:
                kept = index
                if turns == 1:
                    current = index
        elif deleted:
            replies = [i for i in range(index, turn_end) if i not in dropped]
            dropped.update(dict.fromkeys(replies, DELETED))
            spent -= sum(map(cost or stored_cost, (rows[i] for i in replies)))
            count -= len(replies)
        deleted = False
        turn_end = index
    return _Walk(first, kept, current, tokens, closed_by, dropped)


def _cut_inside(rows: Sequence[Message], trimmed: Trimmed, hard: int, cost: Callable[[Message], int]) -> Trimmed:
    """Make what trimming may not drop fit all the same: the largest messages are cut down to one level, those of the
    current turn last of all. Where that level says nothing any more, the oldest turn (or message of the current turn) goes."""
    rules = list(trimmed.rules)
    costs = {i: cost(rows[i]) for i in range(trimmed.first, len(rows)) if rules[i] not in OUT}
    current = [i for i in costs if rules[i] == CURRENT_TURN]
    older = [i for i in costs if rules[i] != CURRENT_TURN]
    while len(current) > 1 and _too_thin(costs, current, hard):
        # The window stays one stretch: nothing older stands where a message of the current turn had no room.
        rules[current.pop(0)] = TOKEN_BUDGET
        rules[trimmed.first : current[0]] = [
            TOKEN_BUDGET if rule not in OUT else rule for rule in rules[trimmed.first : current[0]]
        ]
        older.clear()
    cuts = _level(costs, current, hard)
    room = hard - _total(costs, current, cuts)
    while older and _too_thin(costs, older, room):
        turn_id = rows[older[0]].turn_id
        while older and (rows[older[0]].turn_id == turn_id or rows[older[0]].role == "assistant"):
            rules[older.pop(0)] = TOKEN_BUDGET
    cuts |= _level(costs, older, room)
    return Trimmed(rules=rules, first=(older + current)[0], tokens=_total(costs, older + current, cuts), cuts=cuts)


def _too_thin(costs: dict[int, int], members: list[int], room: int) -> bool:
    return room < min(_LEAST * len(members), sum(costs[i] for i in members))


def _level(costs: dict[int, int], members: list[int], room: int) -> dict[int, int]:
    """Return what each message that is too large may have, so that all together have `room`."""
    for position, tokens in enumerate(sorted(costs[i] for i in members)):
        level = room // (len(members) - position)
        if tokens > level:
            return {i: level for i in members if costs[i] > level}
        room -= tokens
    return {}


def _total(costs: dict[int, int], members: list[int], cuts: dict[int, int]) -> int:
    return sum(cuts.get(i, costs[i]) for i in members)
