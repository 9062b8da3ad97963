"""Changes to what the console says over the settings file, one setting at a time. Pure: an overlay in, another one out.

`set` makes a setting be a value, whatever the file says there, as a whole if it is a section. `reset` takes the console's word
back, so that the file's counts again. `remove` makes it be as if nobody had written it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from config.fields import Shape
from config.overlay import WHOLE, Said, plain, whole
from config.problems import Path

VAULT: Final = "vault:"

_Tree = dict[str, Said]


def with_set(tree: Mapping[str, Said], path: tuple[str, ...], value: Said) -> _Tree:
    """Return the overlay with a setting in it. `path` has a step at least."""
    key, *rest = path
    made = dict(tree)
    below = tree.get(key, {})
    if not rest:
        made[key] = {WHOLE: value} if value is None or isinstance(value, dict) else value
    elif whole(below):
        made[key] = {WHOLE: _in_literal(plain(below), tuple(rest), value)}
    else:
        assert isinstance(below, dict)  # noqa: S101  # what is not whole is one
        made[key] = with_set(below, tuple(rest), value)
    return made


def with_reset(tree: Mapping[str, Said], path: tuple[str, ...]) -> _Tree:
    """Return the overlay without a word about a setting and what is below it; sections that it leaves empty go, too."""
    return _without(tree, path, mark=False)


def with_removal(tree: Mapping[str, Said], path: tuple[str, ...], *, in_file: bool) -> _Tree:
    """Return the overlay by which nobody has written the setting; `in_file` tells whether the file does."""
    return _without(tree, path, mark=in_file)


def settings_said(tree: Mapping[str, Said], path: Path = ()) -> Iterator[tuple[Path, Said]]:
    """Yield each setting that an overlay speaks of, and what it says: None takes it out; of a whole section each of its own
    settings, null as None within it."""
    for key, said in tree.items():
        here = (*path, key)
        if isinstance(said, dict) and not whole(said):
            yield from settings_said(said, here)
        elif isinstance(value := plain(said), dict) and value:
            yield from _leaves(value, here)
        else:
            yield here, said if isinstance(said, dict) else value


def without_secrets(
    value: Said, shape: Shape | None, path: tuple[str, ...], *, taken: Callable[[str], bool]
) -> tuple[Said, dict[str, str]]:
    """Return a value with each secret in it replaced by its reference, and the secrets by the names that these refer to. Names
    follow from the path; one that is `taken` (by a reference that stays) is not given to another secret."""
    secrets: dict[str, str] = {}

    def moved(value: Said, shape: Shape | None, path: tuple[str, ...]) -> Said:
        if shape is None:
            return value
        if isinstance(value, dict):
            section = shape.variant(value.get("kind"))
            return {key: moved(item, section.child(key), (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [moved(item, shape.item, (*path, str(n))) for n, item in enumerate(value)]
        if not shape.secret or not _literal(value):
            return value
        name = ".".join(path)
        while taken(name) or name in secrets:
            name += "x"
        secrets[name] = str(value)
        return VAULT + name

    return moved(value, shape, path), secrets


def references(value: Said) -> Iterator[str]:
    """Yield the names of the vault's secrets that a value refers to, wherever they stand in it."""
    match value:
        case str() if value.startswith(VAULT):
            yield value.removeprefix(VAULT)
        case dict():
            for item in value.values():
                yield from references(item)
        case list():
            for item in value:
                yield from references(item)


def _literal(value: Said) -> bool:
    """Whether a secret's value is the secret itself. What looks like another reference is left for the loader to refuse."""
    if isinstance(value, str):
        return bool(value) and not value.startswith((VAULT, "file:", "${"))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _in_literal(base: Said, path: tuple[str, ...], value: Said) -> Said:
    made = dict(base) if isinstance(base, dict) else {}
    key, *rest = path
    made[key] = _in_literal(made.get(key), tuple(rest), value) if rest else value
    return made


def _without(tree: Mapping[str, Said], path: tuple[str, ...], *, mark: bool) -> _Tree:
    key, *rest = path
    made = dict(tree)
    below = made.pop(key, {})
    if not rest:
        if mark:
            made[key] = None
    elif isinstance(below, dict) and not whole(below):
        left = _without(below, tuple(rest), mark=mark)
        if left:
            made[key] = left
    elif isinstance(value := plain(below), dict):
        made[key] = {WHOLE: _less(value, tuple(rest))}
    elif key in tree:
        made[key] = below  # a single value, or nothing: nothing is below it
    return made


def _less(value: _Tree, path: tuple[str, ...]) -> _Tree:
    key, *rest = path
    made = dict(value)
    below = made.get(key)
    if not rest:
        made.pop(key, None)
    elif isinstance(below, dict):
        made[key] = _less(below, tuple(rest))
    return made


def _leaves(value: _Tree, path: Path) -> Iterator[tuple[Path, Said]]:
    for key, item in value.items():
        if isinstance(item, dict) and item:
            yield from _leaves(item, (*path, key))
        else:
            yield (*path, key), {WHOLE: item} if item is None or item == {} else item
