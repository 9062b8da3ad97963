"""Which addresses would get a secret that was not entered for them: refused, as whoever may set addresses is not to read secrets
by that. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from config.fields import Shape, settings_shape
from config.loader import Configuration
from config.problems import path_text
from config.written import leaves, written
from gateway.admin.operations import FieldProblem

Steps = tuple[str, ...]


def exposed(
    trusted: Sequence[Configuration], new: Configuration, *, entered: Collection[str]
) -> Iterator[FieldProblem]:
    """Yield each address that would get a secret which was not given for it: whoever may set addresses is not to read by that
    what secrets are. An address's own default is trusted, and so are pairs that are in force, or the file's. `entered`: secrets
    that were given for their addresses, now or in the revision that is gone back to."""
    said = written(new)
    known = [(_sent_to(one), written(one)) for one in trusted]
    given = {f"vault:{name}" for name in entered}
    for path, value in _sent_to(new).items():
        shape = _at(path, said)
        if shape is None or not shape.url or shape.info is None:
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


def _sent_to(configuration: Configuration) -> dict[Steps, object]:
    """Return the settings of the sections that send their secrets to an address, which no room has."""
    senders, rooms = {"agents", "channels", "embedder"}, {"channels": {"__all__": {"rooms"}}}
    return dict(leaves(configuration.settings.model_dump(mode="python", include=senders, exclude=rooms)))


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
