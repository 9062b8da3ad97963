"""From what an admin wants changed to what that changes: the overlay that would be, whether it may be, and its consequences.

Plans change nothing. What is refused here is refused in a dry run, in a change and in a way back alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from config.editing import references, settings_said, with_removal, with_reset, with_set, without_secrets
from config.fields import Shape, settings_shape
from config.loader import Configuration, tree_of
from config.masking import masked
from config.overlay import WHOLE, Overlay, Said, file_only
from config.problems import InvalidSettings, path_of, path_text
from config.written import Difference, differences, leaves, written
from config.yaml_lines import Table
from gateway.admin.acts.settings import Edit
from gateway.admin.loading import Loader
from gateway.admin.operations import Disagrees, FieldProblem, Invalid
from gateway.admin.revisions import MAX_BYTES, Revisions

Steps = tuple[str, ...]
Admit = Callable[[Mapping[Steps, tuple[Said, Said]]], None]
"""Given what a change touches, and what was and is said of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A change that could be made. `secrets` go into the vault with it; `old` is what counts now, `new` what would. `touched`:
    about what the overlay says something else, `differences`: what changes by that."""

    expected: int
    tree: Mapping[str, Said]
    secrets: Mapping[str, str]
    old: Configuration
    new: Configuration
    touched: Sequence[Steps]
    differences: Sequence[Difference]


class Planner:
    """Makes plans over the newest revision."""

    def __init__(self, *, loader: Loader, revisions: Revisions, configuration: Callable[[], Configuration]) -> None:
        self._loader = loader
        self._revisions = revisions
        self._configuration = configuration

    async def edited(self, edits: Sequence[Edit], *, expected: int | None, admit: Admit) -> Plan:
        """Plan single changes. `admit` refuses what the actor may not touch, before anything else is said of it. Raises what
        that does, `Invalid`, naming each field at fault, and `Disagrees`."""
        base = await self._base(expected)
        tree, secrets = applied(base.tree, edits, file=lambda: tree_of(self._loader.path))
        return await self._plan(base, tree, secrets, admit)

    async def laid(self, overlay: Overlay, *, expected: int | None, admit: Admit) -> Plan:
        """Plan that an older overlay counts again. Raises as `edited`."""
        return await self._plan(await self._base(expected), overlay.tree, {}, admit)

    async def _base(self, expected: int | None) -> Overlay:
        base = await self._revisions.newest() or Overlay(number=0, tree={})
        if expected is not None and expected != base.number:
            raise Disagrees(
                f"revision {base.number} is the newest, not {expected}; look at what is new, and decide again"
            )
        return base

    async def _plan(self, base: Overlay, tree: Mapping[str, Said], secrets: Mapping[str, str], admit: Admit) -> Plan:
        touched = overlay_paths(base.tree, tree)
        admit(touched)
        if len(repr(tree)) > MAX_BYTES:
            raise Invalid(f"the console may say {MAX_BYTES:,} bytes at most; write some of it into the settings file")
        try:
            new = await self._loader.tried(tree, number=base.number + 1, secrets=secrets)
            file = await self._loader.tried({}, number=0)
        except InvalidSettings as invalid:
            raise refused(invalid) from None
        old = await self._old(base)
        exposed = list(_exposed((old, file), new, secrets))
        if exposed:
            raise Invalid(f"{exposed[0].path}: {exposed[0].problem}; {exposed[0].remedy}", problems=tuple(exposed))
        found = differences(old, new)
        return Plan(
            expected=base.number,
            tree=tree,
            secrets=secrets,
            old=old,
            new=new,
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
    tree: Mapping[str, Said], edits: Sequence[Edit], *, file: Callable[[], Table]
) -> tuple[Mapping[str, Said], dict[str, str]]:
    """Return the overlay with the edits made, in their order, and the secrets that were in them. `file` gives what the file
    says. Raises `Invalid`."""
    secrets: dict[str, str] = {}
    for edit in edits:
        steps = _steps(edit)
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
                tree = with_removal(tree, steps, in_file=_says(file(), steps))
    return tree, secrets


def channels_touched(paths: Iterable[Steps]) -> Iterator[str | None]:
    """Yield the channel whose own each path is; None: it is the gateway's. A channel as a whole, and what says who its people
    are and where its words go, is the gateway's, too."""
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
    told = steps[2] in ("kind", "tenant", "jwt") or (field is not None and field.url)
    return told or "quota" in (steps[2], *steps[4:5], *steps[6:7])  # of the channel, a room, a thread: others pay


def _exposed(
    trusted: Sequence[Configuration], new: Configuration, secrets: Mapping[str, str]
) -> Iterator[FieldProblem]:
    """Yield each address that would get a secret which was not given for it: whoever may set addresses is not to read by that
    what secrets are. An address's own default is trusted, and so are pairs that are in force, or the file's."""
    said = written(new)
    known = [(dict(leaves(one.settings.model_dump(mode="python"))), written(one)) for one in trusted]
    given = {f"vault:{name}" for name in secrets}
    for path, value in leaves(new.settings.model_dump(mode="python")):
        shape = _at(path, said)
        if shape is None or not shape.url or shape.info is None or path[0] not in _SENDERS:
            continue
        if value is None or value == shape.info.default:
            continue
        pairs = [_beside(path, before) for was, before in known if was.get(path) == value]
        held = {name: refs for name, refs in _beside(path, said).items() if not given.issuperset(refs)}
        if moved := [name for name, refs in held.items() if not any(pair.get(name) == refs for pair in pairs)]:
            yield FieldProblem(
                path=path_text(path),
                value="",
                problem=f"would get {' and '.join(moved)}, which was not entered for this address",
                remedy="enter the secret again in the same change, or write both into the settings file",
            )


_SENDERS = ("agents", "channels", "embedder")
"""Sections that send their secrets to an address."""


def _at(path: Steps, said: Mapping[str, object]) -> Shape | None:
    shape, here = settings_shape(), said
    for step in path:
        below = here.get(step) if isinstance(here, Mapping) else None
        found = shape.child(step)
        if found is None:
            return None
        here = below if isinstance(below, Mapping) else {}
        shape = found.variant(here.get("kind")) if found.variants else found
    return shape


def _beside(path: Steps, said: Mapping[str, object]) -> dict[str, list[str]]:
    """Return the secrets that stand in the same section as an address: what is written of each."""
    section: object = said
    for step in path[:-1]:
        section = section.get(step) if isinstance(section, Mapping) else None
    found: dict[str, list[str]] = {}
    for name, value in section.items() if isinstance(section, Mapping) else ():
        shape = _at((*path[:-1], name), said)
        if shape is not None and value and (shape.secret or (shape.item is not None and shape.item.secret)):
            found[name] = [value] if isinstance(value, str) else [str(item) for item in value]
    return found


def overlay_paths(old: Mapping[str, Said], new: Mapping[str, Said]) -> dict[Steps, tuple[Said, Said]]:
    """Return the settings about which two overlays say something else, with what each says; `...` stands for nothing said."""
    was, now = dict(settings_said(old)), dict(settings_said(new))
    return {
        tuple(map(str, path)): (was.get(path, NOTHING), now.get(path, NOTHING))
        for path in sorted(was.keys() | now.keys(), key=str)
        if was.get(path, NOTHING) != now.get(path, NOTHING)
    }


NOTHING: Said = {"": ""}
"""What no overlay says: an empty key is no setting's name."""
