"""Changes to the overlay, one setting at a time, and what is told of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.editing import references, settings_said, with_removal, with_reset, with_set, without_secrets
from config.exporting import exported
from config.fields import settings_shape
from config.loader import Configuration, load, tree_of
from config.overlay import WHOLE, Overlay, laid_over
from config.problems import InvalidSettings, path_of, path_text
from config.written import differences, written
from config.yaml_lines import Items, Node, Scalar, Table

KEYS = st.sampled_from(["a", "b", "订单", "x.y", 'q"\\'])
PATHS = st.lists(KEYS, min_size=1, max_size=4).map(tuple)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=3), st.lists(st.integers(0, 9)))
VALUES = st.recursive(LEAVES, lambda below: st.dictionaries(KEYS, below, max_size=3), max_leaves=6)
FILES = st.dictionaries(KEYS, VALUES, max_size=3)
EDITS = st.lists(
    st.tuples(st.sampled_from(["set", "reset", "remove"]), PATHS, VALUES),
    max_size=6,
)


def node(value: Any) -> Node:
    if isinstance(value, dict):
        entries = {key: node(item) for key, item in value.items()}
        return Table(1, entries, dict.fromkeys(entries, 1), 1, 1)
    if isinstance(value, list):
        return Items(1, tuple(map(node, value)), 1, 1)
    return Scalar(1, "null" if value is None else str(value), plain=not isinstance(value, str))


def bare(said: Node) -> Any:
    """Return what a tree says, without lines."""
    if isinstance(said, Table):
        return {key: bare(item) for key, item in said.entries.items()}
    if isinstance(said, Items):
        return [bare(item) for item in said.items]
    return (said.text.lower() if said.plain else said.text, said.plain)


def told(file: dict[str, Any], tree: dict[str, Any]) -> Any:
    root = node(file)
    assert isinstance(root, Table)
    return bare(laid_over(root, tree)[0])


def at(tree: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if not isinstance(tree, dict) or step not in tree:
            return "(nothing)"
        tree = tree[step]
    return tree


def edited(file: dict[str, Any], edits: list[tuple[str, tuple[str, ...], Any]]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for act, path, value in edits:
        if act == "set":
            tree = with_set(tree, path, value)
        elif act == "reset":
            tree = with_reset(tree, path)
        else:
            tree = with_removal(tree, path, in_file=at(file, path) != "(nothing)")
    return tree


@given(file=FILES, edits=EDITS, path=PATHS, value=VALUES)
def test_what_is_set_is_what_counts(file: Any, edits: Any, path: tuple[str, ...], value: Any) -> None:
    """Whatever file and console said before, a setting that is set is exactly that, sections whole, and null is null."""
    tree = with_set(edited(file, edits), path, value)

    assert bare(node(value)) == at(told(file, tree), path)


@given(file=FILES, edits=EDITS, path=PATHS)
def test_what_is_removed_is_not_there(file: Any, edits: Any, path: tuple[str, ...]) -> None:
    """As if nobody had written it."""
    tree = with_removal(edited(file, edits), path, in_file=at(file, path) != "(nothing)")

    assert "(nothing)" == at(told(file, tree), path)


@given(file=FILES, path=PATHS, value=VALUES)
def test_a_word_taken_back_leaves_the_file(file: Any, path: tuple[str, ...], value: Any) -> None:
    """Set and reset is nothing said, and so is removed and reset; empty sections don't stay behind."""
    assert {} == with_reset(with_set({}, path, value), path)
    assert {} == with_reset(with_removal({}, path, in_file=True), path)
    assert {} == with_removal({}, path, in_file=False)


@given(file=FILES, edits=EDITS, path=PATHS, value=VALUES)
def test_a_change_alters_nothing_that_was_there(file: Any, edits: Any, path: tuple[str, ...], value: Any) -> None:
    """An overlay in, another one out: revisions of before stay as they were."""
    tree = edited(file, edits)
    before = json.dumps(tree)
    with_set(tree, path, value)
    with_reset(tree, path)
    with_removal(tree, path, in_file=True)

    assert before == json.dumps(tree)


@given(path=st.lists(st.text(min_size=1), min_size=1).map(tuple))
def test_a_path_can_be_read_back(path: tuple[str, ...]) -> None:
    """For all of Unicode, dots and quotes included."""
    assert path == path_of(path_text(path))


@pytest.mark.parametrize("text", ["a..b", ".a", "a.", "a[0]", 'a."b', "a b", 'a"b"', "#"])
def test_what_is_no_path_is_refused(text: str) -> None:
    """And it is said how to write one."""
    with pytest.raises(ValueError, match="is no path: "):
        path_of(text)


def test_secrets_leave_their_references() -> None:
    """Literals are moved out under names that follow from the path; references, and what only looks like one, stay."""
    shape = settings_shape().fields["channels"].item
    value = {
        "kind": "slack",
        "bot_token": "xoxb-1",
        "app_token": "${NAME}",
        "signing_secrets": ["vault:channels.a.signing_secrets.0", "new", 5, ""],
        "status_text": "xoxb-no secret",
        "typo": "unknown",
    }
    taken = set(references(value)).__contains__
    said, secrets = without_secrets(value, shape, ("channels", "a"), taken=taken)

    assert (
        value
        | {
            "bot_token": "vault:channels.a.bot_token",
            "signing_secrets": [
                "vault:channels.a.signing_secrets.0",
                "vault:channels.a.signing_secrets.1",
                "vault:channels.a.signing_secrets.2",
                "",
            ],
        }
        == said
    )
    assert {
        "channels.a.bot_token": "xoxb-1",
        "channels.a.signing_secrets.1": "new",
        "channels.a.signing_secrets.2": "5",
    } == secrets


def test_a_name_that_is_still_referred_to_goes_to_no_other_secret() -> None:
    """The new secret put before the old one does not take its name."""
    shape = settings_shape().fields["channels"].item
    value = ["new", "vault:channels.a.secrets.0"]
    said, secrets = without_secrets(
        value,
        shape and shape.variant("webhook").child("secrets"),
        ("channels", "a", "secrets"),
        taken=set(references(value)).__contains__,
    )

    assert ["vault:channels.a.secrets.0x", "vault:channels.a.secrets.0"] == said
    assert {"channels.a.secrets.0x": "new"} == secrets


def test_an_overlay_is_told_setting_by_setting() -> None:
    """What is taken out, what is null, whole sections, empty ones, lists."""
    tree: dict[str, Any] = {
        "a": None,
        "b": {WHOLE: None},
        "c": {WHOLE: {"d": 1, "e": {}, "f": None, "g": {"h": [2]}}},
        "i": {"j": [3], "k": {WHOLE: {}}},
    }

    assert {
        ("a",): None,
        ("b",): {WHOLE: None},
        ("c", "d"): 1,
        ("c", "e"): {WHOLE: {}},
        ("c", "f"): {WHOLE: None},
        ("c", "g", "h"): [2],
        ("i", "j"): [3],
        ("i", "k"): {WHOLE: {}},
    } == dict(settings_said(tree))


FILE = """
x-common: &common {observe: true}
storage: ${DB:-sqlite:///a.db}
redis: redis://:geheim@localhost/0
agents:
  default:
    api_key: ${KEY:-}
    base_url: "${URL:-}"
    system: |
      Zwei Zeilen
        两行 # kein Kommentar
    parameters: {seed: 5, user: "5", logit: true}
memory: {window: {turns: 4}, fillers: []}
defaults: {<<: *common, busy: queue}
channels:
  web: {kind: console, token: s3cret-literal, rooms: {"1.50": {}, "007": {agent: default}, "*": {prefix: ["!", "on"]}}}
  hook:
    kind: webhook
    secrets: ["${SECRET}", "vault:hook"]
"""
ENVIRON = {"SECRET": "whsec_" + "A" * 32}
VAULT = {"hook": "whsec_" + "B" * 32}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "my.yaml"
    file.write_text(FILE, "utf-8")
    return file


def laid(file: Path, tree: dict[str, Any]) -> Configuration:
    return load(file, ENVIRON, Overlay(number=1, tree=tree), vault=VAULT)


TREE: dict[str, Any] = {
    "memory": {"window": {"turns": 5}, "fillers": ["嗯", "ok #1", "- x", "a\nb\n", " lead", "null"]},
    "channels": {
        "web": {"rooms": {"007": None, "新 群": {"observe": False, "fallback": {WHOLE: None}}}},
        "hook": {"secrets": ["vault:hook"]},
    },
}


def test_an_export_says_the_same(file: Path, tmp_path: Path) -> None:
    """Loaded again it is the same settings and the same revision, references included; literal secrets are asked for."""
    configuration = laid(file, TREE)
    text = exported(file, configuration.overlay, kinds={"web": "console", "hook": "webhook"})
    (tmp_path / "again.yaml").write_text(text, "utf-8")
    asked = {"CLEW_CHANNELS_WEB_TOKEN": "s3cret-literal", "CLEW_REDIS": "redis://:geheim@localhost/0"}

    again = load(tmp_path / "again.yaml", ENVIRON | asked, vault=VAULT)

    assert configuration.settings == again.settings
    assert "geheim" not in text
    assert "s3cret" not in text
    assert "storage: ${DB:-sqlite:///a.db}" in text
    assert "vault:hook" in text
    assert "api_key: ${KEY:-}" in text
    assert "x-common" not in text


def test_a_file_that_cant_be_read_has_no_export(file: Path) -> None:
    """The problem is the loader's; of one that can be read the tree is whole, anchors resolved."""
    assert isinstance(defaults := tree_of(file).entries["defaults"], Table)
    assert {"observe", "busy"} == defaults.entries.keys()
    file.write_text("a: 1\na: 2\n", "utf-8")

    with pytest.raises(InvalidSettings, match="is here twice"):
        tree_of(file)


def test_differences_are_told_by_path(file: Path) -> None:
    """Written values only, secrets by reference; a secret with another value under the same reference is told as one."""
    old, new = laid(file, {}), laid(file, TREE)
    other = load(file, ENVIRON, Overlay(number=2, tree=TREE), vault={"hook": "whsec_" + "C" * 32})

    assert [
        ("channels.hook.secrets", '["${SECRET}", "vault:hook"]', '["vault:hook"]'),
        ("channels.web.rooms.007.agent", '"default"', None),
        ('channels.web.rooms."新 群".fallback', None, "null"),
        ('channels.web.rooms."新 群".observe', None, "false"),
        ("memory.fillers", "[]", json.dumps(TREE["memory"]["fillers"], ensure_ascii=False)),
        ("memory.window.turns", "4", "5"),
    ] == [(path_text(one.path), one.was, one.now) for one in differences(old, new)]
    assert [("channels.hook.secrets", '["vault:hook"]', '["vault:hook"]', True)] == [
        (path_text(one.path), one.was, one.now, one.secret) for one in differences(new, other)
    ]
    assert [] == differences(new, new)


def test_what_is_written_shows_no_secret(file: Path) -> None:
    """Literals are masked, URLs without their passwords, references as they are."""
    told = written(laid(file, {}))

    assert "***" == told["channels"]["web"]["token"]
    assert ["${SECRET}", "vault:hook"] == told["channels"]["hook"]["secrets"]
    assert "redis://:***@localhost/0" == told["redis"]
