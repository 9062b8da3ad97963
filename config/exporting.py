"""The settings file and what the console says over it as one YAML text, to be kept or to start another gateway with.

References stay references. A secret that stands in the file itself does not come along: a variable of the environment takes
its place, which has to be set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path as FilePath

import yaml

from config.fields import Shape, settings_shape
from config.loader import tree_of
from config.masking import masked
from config.overlay import IN_REVISION, Overlay
from config.problems import Path
from config.references import bare_reference
from config.yaml_lines import Items, Node, Scalar

_STRING, _SEQUENCE, _MAPPING = (f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map"))
_NOTHING = yaml.MappingNode(_MAPPING, [], flow_style=True)
_RESOLVER = yaml.resolver.Resolver()
_LONG = 100


def exported(path: str | FilePath, overlay: Overlay | None, *, kinds: Mapping[str, str]) -> str:
    """Return the YAML. `kinds` tells each channel's kind. Raises `InvalidSettings` when the file can't be read."""
    node = _emitted(tree_of(path, overlay), settings_shape(), (), kinds)
    text: str = yaml.serialize(node, allow_unicode=True, width=10_000, Dumper=yaml.SafeDumper)
    return text


def _emitted(node: Node, shape: Shape | None, path: Path, kinds: Mapping[str, str]) -> yaml.Node:
    if isinstance(node, Scalar):
        return _scalar(node, shape, path) if node.text or not node.plain else _NOTHING
    if isinstance(node, Items):
        items = [_emitted(item, shape and shape.item, (*path, n), kinds) for n, item in enumerate(node.items)]
        return yaml.SequenceNode(_SEQUENCE, items, flow_style=all(isinstance(item, yaml.ScalarNode) for item in items))
    if shape is not None and shape.variants:
        shape = shape.variant(kinds.get(str(path[-1])))
    pairs = [
        (_text(key), _emitted(item, shape and shape.child(key), (*path, key), kinds))
        for key, item in node.entries.items()
        if path or not key.startswith("x-")
    ]
    return yaml.MappingNode(_MAPPING, pairs, flow_style=not pairs)


def _scalar(node: Scalar, shape: Shape | None, path: Path) -> yaml.ScalarNode:
    text = node.text
    if shape is not None and _secret(node, shape):
        return _text("${" + _variable(path) + "}")
    if node.plain:
        tag = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]  # PyYAML's
        return yaml.ScalarNode(tag, text)
    return _text(text)


def _secret(node: Scalar, shape: Shape) -> bool:
    """Whether the text itself holds a secret."""
    if node.line != IN_REVISION and bare_reference(node.text):
        return False
    if shape.secret:
        return not node.text.startswith(("vault:", "file:"))
    return shape.url and masked(node.text) != node.text


def _variable(path: Path) -> str:
    return re.sub(r"\W", "_", "_".join(("CLEW", *map(str, path)))).upper()


def _text(text: str) -> yaml.ScalarNode:
    plain = len(text) < _LONG and re.fullmatch(r"[a-z][a-z0-9_-]*", text) and text not in _WORDS
    return yaml.ScalarNode(_STRING, text, style=None if plain else "|" if "\n" in text else '"')


_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
