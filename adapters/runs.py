"""The text inside one block, as runs that can be cut anywhere and written as Markdown again.

A run is a stretch of text with the emphasis it stands in, a piece of code, or a whole (a link, an image, an escape, a line
break) that is never cut inside. Positions count characters of the visible text; a link or image counts as one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markdown_it.token import Token

from adapters.markdown import References, inline_tokens, tokens

WHOLE = "\ufffc"
_EMPHASIS = {"em_open", "strong_open", "s_open"}
_EMPHASIS_END = {"em_close", "strong_close", "s_close"}
_SPECIAL = re.compile(r"([\\`*_\[\]<>~|&!#])")
_MISREAD = re.compile(r"[\\<>]|&(?=#?\w{1,31};)")
_BLOCK_START = re.compile(r"^(\s*)(?:([#+=:-])|(\d{1,9})([.)]))", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`text` is what a reader sees of it; `marks` the emphasis around it, outermost first; `source` how a whole is
    written, `literal` with its label's characters escaped; `parts` what a link or image falls apart into where it is too
    long."""

    kind: Literal["text", "code", "whole"]
    text: str
    marks: tuple[str, ...] = ()
    source: str = ""
    literal: str = ""
    parts: tuple[Run, ...] = ()

    @property
    def flat(self) -> str:
        """The run as positions count it."""
        return WHOLE if self.parts or (self.kind == "whole" and len(self.text) != 1) else self.text


Runs = tuple[Run, ...]


def read(source: str, references: References | None = None) -> Runs:
    """Return the runs of a block's text."""
    return _of(inline_tokens(source, references))


def _of(row: Sequence[Token], marks: tuple[str, ...] = ()) -> Runs:
    runs: list[Run] = []
    index = 0
    while index < len(row):
        token = row[index]
        if token.type == "link_open":
            end = _link_end(row, index)
            runs.append(_link(token, _of(row[index + 1 : end]), marks))
            index = end
        elif token.type in _EMPHASIS:
            marks = (*marks, token.markup)
        elif token.type in _EMPHASIS_END:
            marks = marks[:-1]
        elif token.type != "text" or token.content:
            runs.append(replace(_single(token), marks=marks))
        index += 1
    return tuple(runs)


def _single(token: Token) -> Run:
    if token.type == "text":
        return Run(kind="text", text=token.content)
    if token.type == "code_inline":
        return Run(kind="code", text=token.content)
    if token.type == "text_special":
        return Run(kind="whole", text=token.content, source=token.markup)
    if token.type == "image":
        return _image(token)
    return Run(kind="whole", text="\n", source="\\\n" if token.type == "hardbreak" else "\n")


def _link(token: Token, label: Runs, marks: tuple[str, ...]) -> Run:
    target, text = str(token.attrs["href"]), "".join(run.text for run in label)
    address = Run(kind="text", text=target)
    if token.markup == "autolink":
        source = text if target.startswith("mailto:") else target
        return Run(kind="whole", text=text, marks=marks, source=f"<{source}>", parts=(replace(address, text=text),))
    parts = (address,) if text.strip() in ("", target) else (*label, Run(kind="text", text=" "), address)
    return _labelled("", label, _target(token, target), parts, marks)


def _image(token: Token) -> Run:
    target, label = str(token.attrs["src"]), _of(token.children or ())
    address = Run(kind="text", text=target)
    parts = (*label, Run(kind="text", text=" "), address) if label else (address,)
    return _labelled("!", label, _target(token, target), parts)


def _labelled(sign: str, label: Runs, target: str, parts: Runs, marks: tuple[str, ...] = ()) -> Run:
    text = "".join(run.text for run in label)
    source, literal = (f"{sign}[{write(label, literal=escaped)}]({target})" for escaped in (False, True))
    return Run(kind="whole", text=text, marks=marks, source=source, literal=literal, parts=parts)


def _target(token: Token, address: str) -> str:
    title = str(token.attrs.get("title", ""))
    escaped = _MISREAD.sub(r"\\\g<0>", address)
    shown = f"<{escaped}>" if not address or re.search(r"[\s()]", address) else escaped
    return shown + (' "' + _MISREAD.sub(r"\\\g<0>", title).replace('"', '\\"') + '"' if title else "")


def _link_end(row: Sequence[Token], start: int) -> int:
    depth = 0
    for index in range(start, len(row)):
        depth += row[index].nesting if row[index].type.startswith("link_") else 0
        if depth == 0:
            return index
    return len(row)


def flat(runs: Runs, *, most: int) -> str:
    """Return the text as positions count it: of what a long paragraph has left, no more runs than `most` characters need."""
    told: list[str] = []
    for run in runs:
        if most <= 0:
            break
        told.append(run.flat)
        most -= len(told[-1])
    return "".join(told)


def cut(runs: Runs, at: int) -> tuple[Runs, Runs]:
    """Return what stands before and after a position, without the white space around it."""
    head: list[Run] = []
    for index, run in enumerate(runs):
        length = len(run.flat)
        if at < length:
            tail = runs[index:]
            if at:
                head.append(replace(run, text=run.text[:at]))
                tail = (replace(run, text=run.text[at:]), *runs[index + 1 :])
            return _trimmed(head, last=True), _trimmed(tail, last=False)
        head.append(run)
        at -= length
    return _trimmed(head, last=True), ()


def _trimmed(runs: Sequence[Run], *, last: bool) -> Runs:
    kept = list(runs)
    edge = -1 if last else 0
    while kept and kept[edge].kind != "code":
        run = kept[edge]
        if run.parts or (run.kind == "whole" and not run.text.isspace()):
            break
        text = run.text.rstrip() if last else run.text.lstrip()
        if text and run.kind == "text":
            kept[edge] = replace(run, text=text)
            break
        del kept[edge]
    return tuple(kept)


def apart(runs: Runs) -> Runs:
    """Return the runs with the first one, a link or image, as its text and then its address."""
    parts = [replace(part, marks=runs[0].marks + part.marks) for part in runs[0].parts]
    return _trimmed([*parts, *runs[1:]], last=False)


def headed(text: str, heading: str) -> str:
    """Return text as a heading: behind "#" to "######", or over a line of "=" or "-"; with an empty `heading` as it is."""
    if not heading.startswith("#"):
        line = heading if "|" in text else heading * 3  # more would make a table's head of it
        return f"{text}\n{line}" if heading else text
    closing = " #" if text.endswith("#") else ""  # else the text's own would be taken for it
    return f"{heading} {text}{closing}".rstrip()


def checked(runs: Runs, heading: str = "") -> str:
    """Write the runs as the text of a block of its own (under `heading` as that), so that they are read again as they are:
    characters are escaped where they must be, emphasis is left out where Markdown can't say it, then code."""
    bare = tuple(replace(run, marks=()) for run in runs)
    for meant, literal in ((runs, False), (runs, True), (bare, True)):
        attempt = write(meant, literal=literal)
        found = tokens(headed(attempt, heading))
        if len(found) == 3 and found[1].children and _shape(_of(found[1].children)) == _shape(meant):
            return attempt
    return write(tuple(replace(run, kind="text") if run.kind == "code" else run for run in bare), literal=True)


def write(runs: Runs, *, literal: bool = False) -> str:
    """Write runs as Markdown, text as it was written or, `literal`, with everything escaped that might mean something."""
    out: list[str] = []
    opened: tuple[str, ...] = ()
    for run in runs:
        shared = 0
        while shared < min(len(opened), len(run.marks)) and opened[shared] == run.marks[shared]:
            shared += 1
        out += [*reversed(opened[shared:]), *run.marks[shared:]]
        opened = run.marks
        out.append(_written(run, literal=literal))
    written = "".join([*out, *reversed(opened)])
    return _BLOCK_START.sub(_guarded, written) if literal else written


def _written(run: Run, *, literal: bool) -> str:
    if run.kind == "whole":
        return run.literal if literal and run.literal else run.source
    if run.kind == "text":
        return _SPECIAL.sub(r"\\\1", run.text) if literal else run.text
    ticks = "`" * (max((len(found) for found in re.findall("`+", run.text)), default=0) + 1)
    padded = run.text[0] in "` " or run.text[-1] == "`" if run.text.strip() else False
    return f"{ticks} {run.text} {ticks}" if padded else f"{ticks}{run.text}{ticks}"


def _guarded(found: re.Match[str]) -> str:
    space, sign, number, stop = found.groups()
    return f"{space}\\{sign}" if sign else f"{space}{number}\\{stop}"


def _shape(runs: Sequence[Run]) -> list[tuple[str, str, list[str]]]:
    """What must come out again: text by what it stands in, neighbours joined. Emphasis in emphasis has no order:
    Markdown reads `***x***` in one way only."""
    shape: list[tuple[str, str, list[str]]] = []
    for run in runs:
        kind = run.source if run.parts else "code" if run.kind == "code" else "text"
        text, marks = run.text, sorted(run.marks)
        if shape and shape[-1][0] == kind == "text" and shape[-1][2] == marks:
            text = shape.pop()[1] + text
        shape.append((kind, text, marks))
    return shape
