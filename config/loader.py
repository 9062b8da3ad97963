"""A settings file to a `Configuration`: read, lay the console's revision over it, replace references, validate, check, and lay
the layers over each other.

All problems are found at once and named by line. Nothing here is done per message but one look-up, `effective`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from config.channels.base import RoomSettings
from config.checks import check
from config.document import digest, document_of
from config.effective import Origin, Place, Sources, layers, origins, places, resolve
from config.marks import Mark, Reading
from config.masking import MASK
from config.overlay import IN_REVISION, Overlay, laid_over, overstepping
from config.problems import InvalidSettings, Path, Problem, path_text
from config.settings import Settings
from config.validation import validate
from config.yaml_lines import Node, Table, Unreadable, read_yaml

MAX_FILE_BYTES = 4_194_304

OVERRIDES = {
    "CLEW_HOST": ("server", "host"),
    "CLEW_PORT": ("server", "port"),
    "CLEW_SECRET_KEY": ("admin", "secret_key"),
}
"""Environment variables that win over the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Settings that may be used, as one immutable whole.

    `revision` is a short digest of `document`: of what applies where, whatever layer says it, secrets by their references
    only. `document` is canonical JSON; `from_document` makes of it a configuration with the same revision. The `server`
    and `admin` sections are in neither, because no answer depends on them and instances differ in them. `overlay` is what the
    console says over the file; None: nothing. `warnings` are for `check`.
    """

    settings: Settings
    revision: str
    document: str
    file: str
    overlay: Overlay | None = None
    warnings: tuple[Problem, ...] = ()
    secret_files: tuple[FilePath, ...] = ()
    sources: Sources
    _places: Mapping[Place, RoomSettings]
    _other_ids: Mapping[tuple[str, str], str]  # (channel, room): the id that its entry stands under

    def effective(self, channel: str, room: str | None = None, thread: str | None = None) -> RoomSettings:
        """Return the settings of a place; a room or thread that nobody configured has those above it.

        Raises KeyError for a channel that is not configured.
        """
        if room is not None:
            room = self._other_ids.get((channel, room), room)
        found = self._places.get((channel, room, thread)) or self._places.get((channel, room, None))
        return found or self._places[channel, None, None]

    def origins(self, channel: str, room: str | None = None, thread: str | None = None) -> dict[str, Origin]:
        """Return where each of `effective`'s values comes from, by dotted path (`memory.window.turns`)."""
        if room is not None:
            room = self._other_ids.get((channel, room), room)
        return origins(layers(self.settings, (channel, room, thread)), self.sources)

    def moved(self, rooms: Iterable[tuple[str, str, str]]) -> Configuration:
        """Return the same settings for rooms that have another id now: (channel, former id, present id), the latest last.

        What is written under one of a room's ids applies to all of them; the present one's own entry first, then the one
        under the latest former id. Settings, revision and document stay what they are.
        """
        others: dict[tuple[str, str], str] = {}
        for channel, former, present in rooms:
            configured = self.settings.channels[channel].rooms if channel in self.settings.channels else {}
            if present not in configured and former in configured:
                others[channel, present] = former
            elif present in configured and former not in configured:
                others[channel, former] = present
        return replace(self, _other_ids=others)


def load(
    path: str | FilePath,
    environ: Mapping[str, str],
    overlay: Overlay | None = None,
    *,
    vault: Mapping[str, str] | None = None,
) -> Configuration:
    """Read the settings file at `path`, and what the console says over it. `vault` holds the secrets that `vault:NAME` stands
    for; None: they are not to be had yet, and neither known nor checked in what is returned.

    Raises `InvalidSettings` with all that is wrong.
    """
    path = FilePath(path)
    reading = Reading(file=str(path), folder=path.parent, environ=environ, revision=str(overlay or ""), vault=vault)
    root, overruled = _read(path, overlay, reading)
    data = reading.read(root)
    _override(data, reading)
    named = data.get("agents")
    agents = list(named if isinstance(named, dict) else Settings().agents)
    settings = validate(data, reading)
    if settings is not None:
        _check(settings, agents, reading)
    if reading.problems or settings is None:
        raise InvalidSettings(reading.problems, secret_files=reading.secret_files)
    number = overlay.number if overlay is not None else 0
    sources = Sources(file=str(path), marks=reading.marks, revision=number, overruled=overruled)
    return _configuration(settings, sources, secret_files=tuple(reading.secret_files), overlay=overlay)


def tree_of(path: str | FilePath, overlay: Overlay | None = None) -> Table:
    """Return what file and overlay say, as written, references and all. Raises `InvalidSettings` where that can't be read."""
    path = FilePath(path)
    reading = Reading(file=str(path), folder=path.parent, environ={}, revision=str(overlay or ""))
    root, _ = _read(path, overlay, reading)
    if reading.problems:
        raise InvalidSettings(reading.problems)
    return root


def _read(path: FilePath, overlay: Overlay | None, reading: Reading) -> tuple[Table, Mapping[Path, int]]:
    root = _tree(_text(path, reading), reading)
    return (root, {}) if overlay is None else _overlaid(root, overlay, reading)


def from_document(document: str) -> Configuration:
    """Return the configuration that `document` was taken from, without its secrets. Raises `InvalidSettings`."""
    try:
        settings = Settings.model_validate_json(document)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        raise InvalidSettings(
            [_file_problem("revision", 1, f"{first['loc']}: {first['msg']}", _OTHER_RELEASE)]
        ) from None
    return _configuration(settings, Sources(file=f"revision {digest(document)}", marks={}), document=document)


_OTHER_RELEASE = "it was stored by another release"


def _configuration(
    settings: Settings,
    sources: Sources,
    *,
    document: str | None = None,
    secret_files: tuple[FilePath, ...] = (),
    overlay: Overlay | None = None,
) -> Configuration:
    resolved = {place: resolve(layers(settings, place)) for place in places(settings)}
    if document is None:
        document = document_of(settings, resolved, sources.marks)
    warnings = tuple(
        Problem(
            file=sources.file if mark.line else str(overlay),
            line=mark.line,
            path=path_text(path),
            value=MASK,
            problem="a secret stands in the file itself",
            remedy="refer to it: ${NAME} or file:PATH",
        )
        for path, mark in sources.marks.items()
        if mark.literal_secret
    )
    return Configuration(
        settings=settings,
        revision=digest(document),
        document=document,
        file=sources.file,
        overlay=overlay,
        warnings=warnings,
        secret_files=secret_files,
        _places=resolved,
        sources=sources,
        _other_ids={},
    )


def _text(path: FilePath, reading: Reading) -> str:
    """Return the file's text; a byte order mark is passed over."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as exc:
        remedy = "give the path of a YAML file; config/default.yaml is one to start from"
        raise InvalidSettings([_file_problem(reading.file, 1, f"can't be read ({exc.strerror})", remedy)]) from None
    if len(raw) > MAX_FILE_BYTES:
        raise InvalidSettings(
            [_file_problem(reading.file, 1, f"is larger than {MAX_FILE_BYTES:,} bytes", "shorten it")]
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        raise InvalidSettings([_file_problem(reading.file, line, "is not UTF-8", "save it as UTF-8 text")]) from None


def _tree(text: str, reading: Reading) -> Table:
    """Return the file's mapping, and report the flaws met on the way."""
    try:
        root, flaws = read_yaml(text)
    except Unreadable as exc:
        raise InvalidSettings([_file_problem(reading.file, exc.line, exc.problem, exc.remedy)]) from None
    for flaw in flaws:
        reading.problems.append(_file_problem(reading.file, flaw.line, flaw.problem, flaw.remedy, path=flaw.where))
    if not isinstance(root, Table):
        problem = "is empty" if _is_nothing(root) else "is not a list of settings"
        reading.problems.append(_file_problem(reading.file, 1, problem, "start from config/default.yaml"))
        raise InvalidSettings(reading.problems)
    return root


def _overlaid(root: Table, overlay: Overlay, reading: Reading) -> tuple[Table, Mapping[Path, int]]:
    """Return the tree with the overlay in it, and report what the console may not say."""
    for path in overstepping(overlay.tree):
        problem, remedy = "can be set in the settings file only", "write it there"
        reading.problems.append(_file_problem(str(overlay), IN_REVISION, problem, remedy, path=path_text(path)))
    try:
        return laid_over(root, overlay.tree)
    except Unreadable as exc:
        raise InvalidSettings([_file_problem(str(overlay), IN_REVISION, exc.problem, exc.remedy)]) from None


def _is_nothing(root: Node | None) -> bool:
    return root is None or getattr(root, "text", None) == ""


def _file_problem(file: str, line: int, problem: str, remedy: str, *, path: str = "") -> Problem:
    return Problem(file=file, line=line, path=path, value="", problem=problem, remedy=remedy)


def _override(data: dict[str, Any], reading: Reading) -> None:
    """Let the environment's few direct settings win over the file."""
    for name, (section, field) in OVERRIDES.items():
        value = reading.environ.get(name)
        if not value:
            continue
        if not isinstance(data.setdefault(section, {}), dict):
            continue
        data[section][field] = value
        line = reading.line((section, field))
        reading.marks[section, field] = Mark(line=line, shown=f"${name}", names=(name,))


def _check(settings: Settings, agents: list[str], reading: Reading) -> None:
    """Add what the checks find, but for what only follows from a problem already known."""
    known = (*reading.faulty, *reading.unopened)

    def faulty(path: Path) -> bool:
        return any(path[: len(other)] == other[: len(path)] for other in known)

    for path, problem, remedy in check(settings, agents=agents, written=reading.marks.__contains__, faulty=faulty):
        if not faulty(path):
            reading.report(path, problem, remedy)
