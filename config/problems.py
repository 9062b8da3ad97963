"""What is wrong with a settings file, said so that an admin can mend it: where, which value, why, and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path as FilePath

Path = tuple[str | int, ...]
"""The way to one value: keys as text, places in lists as numbers from 0."""

Fault = tuple[Path, str, str]
"""Where, the problem and the remedy: what a check finds before line and value are looked up."""

_BARE = re.compile(r"[\w-]+")
_STEP = re.compile(r'(?P<bare>[\w-]+)|"(?P<quoted>(?:[^"\\]|\\.)*)"', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing to mend. `line` counts from 1, and is 0 where no file says it: then `file` names the console's revision. `path`
    and `value` are empty where there is none; secrets stand as `***`."""

    file: str
    line: int
    path: str
    value: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else f"{self.file}:"
        place = f"{place} {self.path}" if self.path else place.removesuffix(":")
        return f"{place}: {self.value}: {self.said}" if self.value else f"{place}: {self.said}"

    @property
    def said(self) -> str:
        """The problem and its remedy, without the place."""
        return f"{self.problem}; {self.remedy}"


class InvalidSettings(Exception):
    """The settings can't be used. `problems` holds all that was found, in the order of the file, at least one;
    `secret_files` the files that were to be read, whose change may mend it."""

    def __init__(self, problems: Iterable[Problem], *, secret_files: Iterable[FilePath] = ()) -> None:
        self.secret_files = tuple(secret_files)
        self.problems = tuple(dict.fromkeys(sorted(problems, key=lambda problem: (problem.file, problem.line))))
        super().__init__("\n".join(map(str, self.problems)))


def path_text(path: Path) -> str:
    """Return a path as people write it: `channels.web.rooms."a.b".trigger[0]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            quoted = step.replace("\\", r"\\").replace('"', r"\"")
            text += ("." if text else "") + (step if _BARE.fullmatch(step) else f'"{quoted}"')
    return text


def path_of(text: str) -> tuple[str, ...]:
    """Return the path that `path_text` writes so; places in lists can't be named. Raises ValueError, saying what is wrong."""
    steps: list[str] = []
    at = 0
    while at < len(text):
        if steps and text[at] != ".":
            raise ValueError("is no path: keys stand apart by dots, in double quotes where they hold more than letters")
        found = _STEP.match(text, at + bool(steps))
        if found is None:
            raise ValueError("is no path: write keys by name, lists whole, others in double quotes")
        steps.append(found["bare"] or re.sub(r"\\(.)", r"\1", found["quoted"], flags=re.DOTALL))
        at = found.end()
    return tuple(steps)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` was probably meant to be; None if nothing is near."""
    spelled = {name.replace("_", "-"): name for name in known}
    near = difflib.get_close_matches(word.lower().replace("_", "-"), spelled, n=1)
    return spelled[near[0]] if near else None
