"""Values that stand elsewhere: `${NAME}`, `${NAME:-default}`, `file:PATH` and `vault:NAME`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MAX_SECRET_BYTES = 65_536

# `$${` is a literal `${`; a `${` that the second branch can't read is reported, never passed on.
_REFERENCE = re.compile(r"\$\$\{|\$\{(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-[^{}]*)?\})?")


class BadReference(ValueError):
    """A reference that leads nowhere. `problem` and `remedy` are for the admin; neither holds a secret."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem, self.remedy = problem, remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """A text with its references replaced. `names` are the variables it names; `bare` means: nothing but references."""

    text: str
    names: tuple[str, ...]
    bare: bool


def expand(text: str, environ: Mapping[str, str]) -> Expanded:
    """Replace every reference in `text`. A variable that is set but empty counts as not set, as in `${NAME:-default}` of a
    shell. What a variable holds is not looked at again. Raises `BadReference`."""
    names: list[str] = []

    def value(found: re.Match[str]) -> str:
        if found[0] == "$${":
            return "${"
        name, default = found["name"], found["default"]
        if name is None:
            raise BadReference(
                "holds a reference that can't be read", "write ${NAME}, ${NAME:-default}, or $${ for a plain ${"
            )
        names.append(name)
        if environ.get(name):
            return environ[name]
        if default is None:
            raise BadReference(f"the environment variable {name} is not set", f"set it, or write ${{{name}:-default}}")
        return default.removeprefix(":-")

    expanded = _REFERENCE.sub(value, text)
    return Expanded(text=expanded, names=tuple(names), bare=bool(names) and not _REFERENCE.sub("", text))


def only_text(text: str) -> str:
    """Return what a text of the console's says: `$${` for a plain `${`, and no reference. Raises `BadReference`."""
    if any(found[0] != "$${" for found in _REFERENCE.finditer(text)):
        raise BadReference(
            "refers to the environment, which is the machine's",
            "store the secret here, or write the reference into the file; $${ stands for a plain ${",
        )
    return text.replace("$${", "${")


def open_vault(name: str, vault: Mapping[str, str]) -> str:
    """Return a secret that is kept in the database. Raises `BadReference`."""
    if name not in vault:
        raise BadReference(
            f"there is no secret {name!r} that can be read", "store it under this name, with its key in place"
        )
    return vault[name]


def bare_reference(text: str) -> bool:
    """Whether a text is nothing but references, none of which brings a default."""
    found = list(_REFERENCE.finditer(text))
    alone = bool(found) and not _REFERENCE.sub("", text)
    return alone and all(one["name"] and one["default"] in (None, ":-") for one in found)


def without_default(text: str) -> str:
    """Return a secret's reference as it may be shown: a default written into it is a secret too."""
    return _REFERENCE.sub(
        lambda found: f"${{{found['name']}:-***}}" if found["default"] not in (None, ":-") else found[0], text
    )


def read_secret(path: Path) -> str:
    """Return a file's text without its one trailing newline. Raises `BadReference` if there is nothing to read."""
    remedy = "give the path of a readable text file"
    try:
        if not path.is_file():
            raise BadReference(f"there is no file {str(path)!r}", remedy)
        with path.open("rb") as file:
            raw = file.read(MAX_SECRET_BYTES + 1)
    except OSError as exc:
        raise BadReference(f"the file {str(path)!r} can't be read ({exc.strerror})", remedy) from None
    if len(raw) > MAX_SECRET_BYTES:
        raise BadReference(f"the file {str(path)!r} is larger than {MAX_SECRET_BYTES:,} bytes", remedy)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise BadReference(f"the file {str(path)!r} is not UTF-8 text", remedy) from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise BadReference(f"the file {str(path)!r} is empty", "write the secret into it")
    return text
