"""From what an admin wants changed to what that changes: the overlay that would be, whether it may be, and its consequences.

Plans change nothing. What is refused here is refused in a dry run, in a change and in a way back alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from config.editing import references, settings_said, with_removal, with_reset, with_set, without_secrets
from config.fields import Shape, settings_shape
from config.loader import Configuration, tree_of
from config.masking import masked
from config.overlay import WHOLE, Overlay, Said, file_only, whole
from config.problems import InvalidSettings, path_of, path_text
from config.written import Difference, differences
from config.yaml_lines import MAX_DEPTH, Table
from gateway.admin.acts.settings import Edit
from gateway.admin.addresses import exposed
from gateway.admin.loading import Loader
from gateway.admin.operations import Disagrees, FieldProblem, Invalid
from gateway.admin.revisions import MAX_BYTES, Revisions
from gateway.admin.vault import Vault

Steps = tuple[str, ...]
Admit = Callable[[Mapping[Steps, tuple[Said, Said]]], None]
"""Given what a change touches, and what was and is said of it; of what the file says and it takes out or brings back, nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A change that could be made. `secrets` go into the vault with it; `old` is what counts now, `new` what would, `file` what
    the file says alone. `touched`: about what the overlay says something else, `differences`: what changes by that."""

    expected: int
    tree: Mapping[str, Said]
    secrets: Mapping[str, str]
    old: Configuration
    new: Configuration
    file: Configuration
    touched: Sequence[Steps]
    differences: Sequence[Difference]


class Planner:
    """Makes plans over the newest revision."""

    def __init__(
        self, *, loader: Loader, revisions: Revisions, vault: Vault, configuration: Callable[[], Configuration]
    ) -> None:
        self._loader = loader
        self._revisions = revisions
        self._vault = vault
        self._configuration = configuration

    async def edited(self, edits: Sequence[Edit], *, expected: int | None, admit: Admit) -> Plan:
        """Plan single changes. `admit` refuses what the actor may not touch, before anything else is said of it. Raises what
        that does, `Invalid`, naming each field at fault, and `Disagrees`."""
        base, file = await self._base(expected), await self._file()
        tree, secrets = applied(base.tree, edits, file=file)
        return await self._plan(base, tree, file, secrets, admit, trusted=secrets)

    async def laid(self, overlay: Overlay, *, expected: int | None, admit: Admit) -> Plan:
        """Plan that an older overlay counts again. Raises as `edited`."""
        base, file = await self._base(expected), await self._file()
        made = await self._revisions.revision(overlay.number)
        kept = await self._vault.names(until_ms=made.ms) if made is not None else frozenset[str]()
        return await self._plan(base, overlay.tree, file, {}, admit, trusted=kept)

    async def _file(self) -> Table:
        try:
            return await asyncio.to_thread(tree_of, self._loader.path)
        except InvalidSettings as invalid:
            raise refused(invalid) from None

    async def _base(self, expected: int | None) -> Overlay:
        base = await self._revisions.newest() or Overlay(number=0, tree={})
        if expected is not None and expected != base.number:
            raise Disagrees(
                f"revision {base.number} is the newest, not {expected}; look at what is new, and decide again"
            )
        return base

    async def _plan(
        self,
        base: Overlay,
        tree: Mapping[str, Said],
        file: Table,
        secrets: Mapping[str, str],
        admit: Admit,
        *,
        trusted: Collection[str],
    ) -> Plan:
        """`trusted` are secrets that were entered for the addresses that they would be sent to."""
        touched = overlay_paths(base.tree, tree)
        admit(dict.fromkeys(uncovered(file, base.tree, tree), (NOTHING, NOTHING)) | touched)
        if len(msgspec.json.encode(tree)) > MAX_BYTES:
            raise Invalid(f"the console may say {MAX_BYTES:,} bytes at most; write some of it into the settings file")
        try:
            new = await self._loader.tried(tree, number=base.number + 1, secrets=secrets)
            alone = await self._loader.tried({}, number=0)
        except InvalidSettings as invalid:
            raise refused(invalid) from None
        old = await self._old(base)
        # In a thread: of many rooms it takes longer than an event loop should stand still.
        misled, found = await asyncio.to_thread(
            lambda: (list(exposed((old, alone), new, entered=trusted)), differences(old, new))
        )
        if misled:
            raise Invalid(f"{misled[0].path}: {misled[0].problem}; {misled[0].remedy}", problems=tuple(misled))
        return Plan(
            expected=base.number,
            tree=tree,
            secrets=secrets,
            old=old,
            new=new,
            file=alone,
            touched=tuple(touched),
            differences=found,
        )

    async def _old(self, base: Overlay) -> Configuration:
        running = self._configuration()
        if (running.overlay or Overlay(number=0, tree={})).number == base.number:
            return running
        try:
            return await self._loader.tried(base.tree, number=base.number)
        except InvalidSettings:
            return running  # the newest is not in force: its problem is what the change mends


def applied(
    tree: Mapping[str, Said], edits: Sequence[Edit], *, file: Table
) -> tuple[Mapping[str, Said], dict[str, str]]:
    """Return the overlay with the edits made, in their order, and the secrets that were in them. `file` is what the file says.
    Raises `Invalid`."""
    secrets: dict[str, str] = {}
    for edit in edits:
        steps = _steps(edit)
        _shallow(edit)
        match edit.act:
            case "set":
                taken = set(references(dict(with_reset(tree, steps)))) | set(references(edit.value))
                shape = _shape(steps, tree)
                said, moved = without_secrets(edit.value, shape, steps, taken=taken.__contains__)
                _no_passwords(said, shape, steps)
                tree = with_set(tree, steps, said)
                secrets |= moved
            case "reset":
                tree = with_reset(tree, steps)
            case _:
                tree = with_removal(tree, steps, in_file=_says(file, steps))
    return tree, secrets


def channels_touched(paths: Iterable[Steps]) -> Iterator[str | None]:
    """Yield the channel whose own each path is; None: it is the gateway's. A channel as a whole, and what says who its people
    are, proves it, or says where its words go, is the gateway's, too."""
    for steps in paths:
        own = len(steps) > 2 and steps[0] == "channels" and not _trusted(steps)
        yield steps[1] if own else None


def refused(invalid: InvalidSettings) -> Invalid:
    """Return a loader's problems as a service's."""
    problems = tuple(
        FieldProblem(
            path=problem.path or problem.file,
            value=problem.value,
            problem=problem.problem + (f" ({problem.file}:{problem.line})" if problem.line else ""),
            remedy=problem.remedy,
        )
        for problem in invalid.problems
    )
    return Invalid("; ".join(f"{one.path}: {one.problem}; {one.remedy}" for one in problems[:3]), problems=problems)


def _steps(edit: Edit) -> Steps:
    try:
        steps = path_of(edit.path)
    except ValueError as exc:
        raise _invalid(edit.path, str(exc), 'such as channels.acme.rooms."C07.1".busy') from None
    if file_only(steps):
        raise _invalid(edit.path, "can be set in the settings file only", "write it there")
    if WHOLE in steps or steps[0].startswith("x-"):
        raise _invalid(edit.path, "is no setting", "name one that settings.describe shows")
    return steps


def _shallow(edit: Edit) -> None:
    """What is nested deeper than settings can be is not walked through at all."""
    level: list[object] = [edit.value]
    for _ in range(MAX_DEPTH):
        level = [one for each in level for one in _within(each)]
    if level:
        raise _invalid(edit.path, f"is nested more than {MAX_DEPTH} levels deep", "settings need far fewer")


def _within(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _invalid(path: str, problem: str, remedy: str) -> Invalid:
    told = FieldProblem(path=path, value="", problem=problem, remedy=remedy)
    return Invalid(f"{path}: {problem}; {remedy}", problems=(told,))


def _shape(steps: Steps, tree: Mapping[str, Said]) -> Shape | None:
    shape: Shape | None = settings_shape()
    for step in steps:
        shape = shape.variant(None).child(step) if shape is not None else None
    return shape


def _no_passwords(value: Said, shape: Shape | None, steps: Steps) -> None:
    """An address with a password in it would stand open in every revision."""
    if shape is None:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            _no_passwords(item, shape.variant(value.get("kind")).child(key), (*steps, key))
    elif shape.url and isinstance(value, str) and masked(value) != value:
        raise _invalid(path_text(steps), "holds a password", "write it into the settings file, as ${NAME}")


def _says(table: Table, steps: Steps) -> bool:
    node: object = table
    for step in steps:
        if not isinstance(node, Table) or step not in node.entries:
            return False
        node = node.entries[step]
    return True


def _trusted(steps: Steps) -> bool:
    shape = settings_shape().fields["channels"].item
    field = shape.variant(None).child(steps[2]) if shape is not None else None
    told = steps[2] in _WHO or (field is not None and field.url)
    return told or "quota" in (steps[2], *steps[4:5], *steps[6:7])  # of the channel, a room, a thread: others pay


_WHO = ("kind", "tenant", "jwt", "secrets", "signing_secrets", "secret_token")
"""Who holds what proves events speaks as anybody: of a tenant that channels share, of any of the platform's workspaces, and by a
linked account as that person everywhere."""


def uncovered(file: Table, old: Mapping[str, Said], new: Mapping[str, Said]) -> Iterator[Steps]:
    """Yield the settings of the file that count under one overlay only: the other takes them out, or stands in their place, by
    what it says of a section above them as well."""
    for path in _said_by(file):
        if _covers(old, path) != _covers(new, path):
            yield path


def _said_by(table: Table, path: Steps = ()) -> Iterator[Steps]:
    for key, node in table.entries.items():
        if isinstance(node, Table) and node.entries:
            yield from _said_by(node, (*path, key))
        else:
            yield (*path, key)


def _covers(tree: Mapping[str, Said], path: Steps) -> bool:
    said: Said = dict(tree)
    for step in path:
        if not isinstance(said, dict) or step not in said:
            return False
        said = said[step]
        if whole(said):
            return True
    return False


def overlay_paths(old: Mapping[str, Said], new: Mapping[str, Said]) -> dict[Steps, tuple[Said, Said]]:
    """Return the settings about which two overlays say something else, with what each says; `...` stands for nothing said."""
    was, now = (dict(settings_said(tree)) for tree in _unlike(old, new))
    return {
        tuple(map(str, path)): (was.get(path, NOTHING), now.get(path, NOTHING))
        for path in sorted(was.keys() | now.keys(), key=str)
        if was.get(path, NOTHING) != now.get(path, NOTHING)
    }


def _unlike(old: Mapping[str, Said], new: Mapping[str, Said]) -> tuple[dict[str, Said], dict[str, Said]]:
    """Return two overlays without what is the same in both: of thousands of rooms, the few that differ."""
    was: dict[str, Said] = {}
    now: dict[str, Said] = {}
    for key in old.keys() | new.keys():
        one, other = old.get(key, NOTHING), new.get(key, NOTHING)
        if one == other:
            continue
        if isinstance(one, dict) and isinstance(other, dict) and not (whole(one) or whole(other)):
            one, other = _unlike(one if key in old else {}, other if key in new else {})
        was |= {key: one} if key in old else {}
        now |= {key: other} if key in new else {}
    return was, now


NOTHING: Said = {"": ""}
"""What no overlay says: an empty key is no setting's name."""
