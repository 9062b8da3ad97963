"""Where a block may be cut, and what it falls apart into when no part of it fits.

A block's `length` counts places: characters of its visible text, of its code, or the rows of a table. `cut` takes any of them;
`best` chooses the one a reader would: after a sentence, a line, a word; never inside what is seen as one character.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace

import regex

from adapters.blocks import Block, Code, Prose, Table
from adapters.runs import Run, apart, cut, flat, read, write

_CLOSING = "\"'”’」』）】》)\\]"
_SENTENCES = re.compile(rf"[.!?…][{_CLOSING}*_]*\s+|[。！？；…]+[{_CLOSING}]*\s*|\n\s*")
_WORDS = re.compile(rf"\s+|[，、：；。！？][{_CLOSING}]*\s*")
_GAPS = re.compile(r"\n(?=[ \t]*\n)")
_LINES = re.compile(r"\n")
_SPACES = re.compile(r"(?<=\S)[ \t]+")
_CHARACTERS = regex.compile(r"\X")
_NEVER_FIRST = "，。、！？；：）】」』”’》"  # no Chinese or Japanese line begins with these
_LOOK_AHEAD = 64  # more than any emoji has code points; what is longer than that is cut within
_UNSEEN_INFO = 40  # a longer info string is no language's name and is not repeated on every part


def length(block: Block, *, most: int) -> int:
    """Return how many places the block has; 0 or 1 can't be cut. If `most` or more, it may be told as any of these."""
    if isinstance(block, Prose):
        return len(flat(block.runs, most=most))
    if isinstance(block, Code):
        return len(block.content)
    return len(block.rows) if isinstance(block, Table) else 0


def parted(block: Block) -> Block:
    """Return the block ready to be cut: prose with its runs, code without blank lines before it."""
    if isinstance(block, Prose) and not block.runs:
        return replace(block, runs=read(block.source))
    return replace(block, content=block.content.lstrip("\n")) if isinstance(block, Code) else block


def cut_at(block: Block, at: int) -> tuple[Block, Block | None]:
    """Return the parts before and after a place; None: nothing is left. What begins in the block begins in the first."""
    if isinstance(block, Prose):
        return _prose_at(block, at)
    if isinstance(block, Code):
        return _code_at(block, at)
    if isinstance(block, Table) and at < len(block.rows):
        return replace(block, rows=block.rows[:at]), replace(block, rows=block.rows[at:], fresh=0)
    return block, None


def _prose_at(block: Prose, at: int) -> tuple[Prose, Prose | None]:
    head, rest = cut(block.runs, at)
    first = replace(block, source=write(head), runs=head)
    return first, replace(block, source="", runs=rest, fresh=0) if rest else None


def _code_at(block: Code, at: int) -> tuple[Code, Code | None]:
    """Whole blank lines go at a cut, and nothing else: white space means something in code."""
    info = block.info if len(block.info) <= _UNSEEN_INFO else ""
    before, after = block.content[:at], block.content[at:]
    if before.endswith("\n") or after.startswith("\n"):
        before, after = before.rstrip("\n"), after.lstrip("\n")
    first = replace(block, content=before, info=info)
    return first, replace(block, content=after, info=info, fresh=0) if after.strip() else None


def visible(block: Block) -> bool:
    """Whether there is anything to see of the block."""
    return not isinstance(block, Code) or bool(block.content.strip())


def best(block: Block, at: int, *, fine: bool = True) -> int:
    """Return the best place at or before `at`: after the last sentence (line, word) in its second half or, `fine`, in its
    last three quarters, or after the last whole character. 0: there is none."""
    if isinstance(block, Table):
        return at
    most = at + _LOOK_AHEAD + 1
    text = flat(block.runs, most=most) if isinstance(block, Prose) else block.content if isinstance(block, Code) else ""
    if at >= len(text):
        return len(text)
    ends = [found.end() for found in _CHARACTERS.finditer(text, 0, at + _LOOK_AHEAD)]
    whole = set(ends)
    nice = (_GAPS, _LINES) if isinstance(block, Code) else (_SENTENCES, _WORDS)
    fallback = [(level, at // 4) for level in (*nice, _SPACES)] if fine else []
    for level, start in [*((level, at // 2) for level in nice), *fallback]:
        found = [hit.end() for hit in level.finditer(text, start, at + 1) if hit.end() <= at and hit.end() in whole]
        if found and text[: found[-1]].strip():
            return found[-1]
    if not fine:
        return 0
    index = bisect_right(ends, at) - 1
    while index > 0 and text[ends[index]] in _NEVER_FIRST:
        index -= 1
    return ends[index] if index >= 0 else 0


def weaker(block: Block) -> list[Block]:
    """Return what the block falls apart into where not even its first part fits; none if it can't be taken apart."""
    if isinstance(block, Table):
        rows = (" | ".join(filter(None, cells)) for cells in (block.head, *block.rows))
        texts: list[Block] = [Prose(path=block.path, source=row) for row in rows if row]
        return [replace(texts[0], fresh=block.fresh), *texts[1:]] if texts else []
    if isinstance(block, Prose) and block.runs and block.runs[0].parts:
        return [replace(block, source="", runs=apart(block.runs))]
    if block.path:
        return [replace(block, path=(), fresh=0)]
    if isinstance(block, Code):
        return [Prose(source="", runs=(Run(kind="text", text=" ".join(block.content.split())),))]
    if isinstance(block, Prose) and (block.heading or any(run.marks for run in block.runs)):
        plain = tuple(replace(run, marks=()) for run in block.runs)
        return [replace(block, source="", heading="", runs=plain)]
    return []
