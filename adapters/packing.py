"""How much of a reply goes into one message: whole blocks where that leaves no piece half empty, else a part of one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from adapters.blocks import Block, Code, Prose, Table, depth, settled, written
from adapters.cuts import best, cut_at, length, parted, weaker

Measure = Callable[[str], int]

_PLACES = 4
"""So many times the limit is looked at of a block that is cut: what is seen is hardly ever measured as less than a fourth."""


def packed(row: list[Block], limit: int, measure: Measure) -> tuple[list[Block], list[Block]]:
    """Return the blocks of the next piece, none if something had to be taken apart first, and what is left."""
    count, size = _fitting(row, limit, measure)
    if count == len(row):
        return row, []
    if stop := _boundary(row, count, size, limit):
        return row[:stop], row[stop:]
    if part := _part(row[:count], row[count], limit, measure):
        head, rest = part
        return [*row[:count], head], [*([rest] if rest else []), *row[count + 1 :]]
    if count:
        return row[:count], row[count:]
    if simpler := weaker(parted(row[0])):
        return [], [*simpler, *row[1:]]
    head, rest = _forced(row[0], limit, measure)
    return [head], [*([rest] if rest else []), *row[1:]]


def _fitting(row: list[Block], limit: int, measure: Measure) -> tuple[int, int]:
    """Return how many whole blocks fit in a piece, and their size."""
    first = row[0]
    if isinstance(first, Prose) and first.runs:  # what an earlier piece left over
        if _surely_longer(first, limit, measure):
            return 0, 0
        row[0] = settled(first)
    weights = [0]
    for block in row:
        weight = weights[-1] + _weight(block, most=_PLACES * limit)
        if weight > _PLACES * limit:
            break
        weights.append(weight)
    return _longest(weights, lambda count: measure(written(row[:count])), limit)


def _surely_longer(block: Prose, limit: int, measure: Measure) -> bool:
    """Whether the block is too long for a piece, as far as its beginning tells. Where that is wrong, all of it is a part."""
    count, first = length(block, most=2 * limit + 1), limit // 8
    if first < count <= 2 * limit:
        return measure(written([cut_at(block, first)[0]])) * count > 2 * limit * first
    return count > 2 * limit


def _part(before: list[Block], block: Block, limit: int, measure: Measure) -> tuple[Block, Block | None] | None:
    """Return as much of the block as fits behind `before`, and the rest; None if no good part does."""
    block = parted(block)
    if isinstance(block, Table) and 2 * measure(written([replace(block, rows=())])) > limit:
        return None  # too little room would be left beside its head
    at, _ = _longest(_places(block, limit), lambda place: measure(written([*before, cut_at(block, place)[0]])), limit)
    while at := best(block, at, fine=not before):
        head, rest = cut_at(block, at)
        head = settled(head)
        size = measure(written([*before, head]))
        if size <= limit:
            return head, rest
        at = min(at - 1, at * limit // size)
    return None


def _forced(block: Block, limit: int, measure: Measure) -> tuple[Block, Block | None]:
    """Return what fits even if that cuts what is seen as one character (hundreds of marks on one letter)."""
    block = parted(block)
    if len(places := _places(block, limit)) <= 2:
        return settled(block), None
    at, _ = _longest(places, lambda place: measure(written([cut_at(block, place)[0]])), limit)
    head, rest = cut_at(block, max(at, 1))
    return settled(head), rest


def _boundary(row: Sequence[Block], count: int, size: int, limit: int) -> int:
    """Return after which of the `count` blocks that fit the piece best ends, 0 if all good ends leave it half empty."""
    weights = list(accumulate(_weight(block, most=_PLACES * limit) for block in row[:count]))
    ends = [
        (-rank, stop)
        for stop in range(1, count + 1)
        if 2 * size * weights[stop - 1] >= limit * weights[-1] and (rank := _rank(row[stop - 1], row[stop])) is not None
    ]
    return max(ends)[1] if ends else 0


def _rank(before: Block, after: Block) -> int | None:
    """Return how deep a boundary lies, 0 above a heading; None where the two belong together."""
    if isinstance(before, Prose) and (before.heading or before.source.endswith((":", "："))):
        return None
    levels = depth(before, after)
    return 0 if levels == 0 and isinstance(after, Prose) and after.heading else 1 + levels


def _weight(block: Block, *, most: int) -> int:
    """About how long a block is, written; of one longer than `most`, that it is."""
    if isinstance(block, Prose):
        return 2 + len(block.source)
    if isinstance(block, Code):
        return 8 + len(block.content)
    return 2 + _rows(block, most=most)[-1] if isinstance(block, Table) else 4


def _rows(table: Table, *, most: int) -> list[int]:
    """Return about how long the table's rows are up to each, as far as they are looked at."""
    lengths = [0]
    for cells in table.rows:
        lengths.append(lengths[-1] + 1 + sum(3 + len(cell) for cell in cells))
        if lengths[-1] > most:
            break
    return lengths


def _places(block: Block, limit: int) -> Sequence[int]:
    """Return about how long the block is, written, up to each of its places."""
    if isinstance(block, Table):
        return _rows(block, most=_PLACES * limit)
    return range(length(block, most=_PLACES * limit) + 1)


def _longest(weights: Sequence[int], measured: Callable[[int], int], limit: int) -> tuple[int, int]:
    """Return a count whose measure keeps to the limit, the largest or one that fills nearly all of it, and its measure.

    `weights` grow about as the measure does (one more than there are counts, from 0): with them the search takes some
    four calls, and never more than twice those of a bisection.
    """
    low, low_size, high, high_size = 0, 0, len(weights), 0
    # Little is measured first: where it is dense with marks, an eighth may be more than fits, and says how much does.
    guess, calls = bisect_right(weights, limit // 8) - 1, 0
    while high - low > 1:
        guess = min(max(guess, low + 1), high - 1)
        size = measured(guess)
        if size > limit:
            high, high_size = guess, size
        else:
            low, low_size = guess, size
            if 64 * size > 63 * limit:
                break
        calls += 1
        last = weights[min(high, len(weights) - 1)]
        share = (limit - low_size) / (high_size - low_size) if high_size else limit / max(low_size, 1)
        span = last - weights[low] if high_size else weights[low]
        start = weights[low] if high_size else 0
        if calls % 3 == 0:  # it does not grow evenly
            guess = (low + high) // 2 if high_size else bisect_right(weights, 2 * span) - 1
        else:
            guess = bisect_right(weights, start + span * share) - 1
    return low, low_size
