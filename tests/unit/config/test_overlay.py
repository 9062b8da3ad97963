"""What the console says over the settings file is read as if somebody had typed it there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.loader import Configuration, load
from config.overlay import FILE_ONLY, WHOLE, Overlay
from config.problems import InvalidSettings

FILE = """
agents:
  shop: {system: 商店}
  other: {}
memory: {window: {turns: 4}}
defaults: {agent: shop}
channels:
  web: {kind: console}
  hook:
    kind: webhook
    secrets: ["${SECRET}"]
    allow: {people: [u1]}
    rooms:
      C1: {agent: other, threads: {"1.2": {observe: true}}}
"""
SECRET = "whsec_" + "A" * 32
ENVIRON = {"SECRET": SECRET}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "my.yaml"
    file.write_text(FILE, "utf-8")
    return file


def over(file: Path, tree: dict[str, Any], **vault: str) -> Configuration:
    return load(file, ENVIRON, Overlay(number=7, tree=tree), vault=vault)


def problems(file: Path, tree: dict[str, Any], **vault: str) -> list[str]:
    with pytest.raises(InvalidSettings) as caught:
        over(file, tree, **vault)
    return [str(problem).replace(str(file), "FILE") for problem in caught.value.problems]


# Patches of settings that fit the file, and what they make of its tree by hand.
NAMES = st.sampled_from(["C1", "C2", "订单 群", "😀", "a.b"])
ROOM: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "agent": st.sampled_from(["shop", "other", None]),
        "observe": st.sampled_from([True, False, None]),
        "prefix": st.lists(
            st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1).filter(lambda t: "$" not in t)
        ),
        "allow": st.one_of(st.none(), st.fixed_dictionaries({"people": st.sampled_from([["u2"], [], None])})),
        "memory": st.fixed_dictionaries({"window": st.fixed_dictionaries({"turns": st.integers(2, 8)})}),
    },
)
TREES = st.fixed_dictionaries(
    {},
    optional={
        "memory": st.fixed_dictionaries({"session": st.fixed_dictionaries({"idle_s": st.floats(1, 9e9)})}),
        "defaults": ROOM.map(lambda room: {key: value for key, value in room.items() if key != "agent"}),
        "channels": st.fixed_dictionaries(
            {},
            optional={
                "web": st.one_of(st.none(), ROOM),
                "hook": ROOM.flatmap(
                    lambda hook: st.dictionaries(NAMES, st.one_of(st.none(), ROOM)).map(
                        lambda rooms: hook | {"rooms": rooms}
                    )
                ),
            },
        ),
    },
)


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396, as it stands there."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


@given(tree=TREES)
def test_an_overlay_is_what_typing_it_into_the_file_is(
    tree: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Merging key by key, taking out and replacing give the same settings and the same revision as a file that says so."""
    folder = tmp_path_factory.mktemp("typed")
    base = {
        "agents": {"shop": {"system": "商店"}, "other": {}},
        "memory": {"window": {"turns": 4}},
        "defaults": {"agent": "shop"},
        "channels": {
            "web": {"kind": "console"},
            "hook": {
                "kind": "webhook",
                "secrets": ["${SECRET}"],
                "allow": {"people": ["u1"]},
                "rooms": {"C1": {"agent": "other", "threads": {"1.2": {"observe": True}}}},
            },
        },
    }
    (folder / "base.yaml").write_text(FILE, "utf-8")
    (folder / "typed.yaml").write_text(json.dumps(merged(base, tree), ensure_ascii=False), "utf-8")

    typed = load(folder / "typed.yaml", ENVIRON)
    laid = load(folder / "base.yaml", ENVIRON, Overlay(number=1, tree=tree))

    assert typed.settings == laid.settings
    assert typed.revision == laid.revision
    assert typed.document == laid.document


def test_a_whole_value_stands_in_the_place_of_all_below(file: Path) -> None:
    """A section marked whole is not merged, and null can be said."""
    tree = {
        "channels": {
            "hook": {"allow": {"people": {WHOLE: None}}, "rooms": {"C1": {WHOLE: {"observe": True}}}},
            "web": {WHOLE: {"kind": "webhook", "secrets": ["vault:hook"]}},
        }
    }

    settings = over(file, tree, hook=SECRET).settings.channels

    assert settings["hook"].allow.people is None
    assert "people" in settings["hook"].allow.model_fields_set
    assert {"observe": True} == settings["hook"].rooms["C1"].model_dump(exclude_unset=True)
    assert "webhook" == settings["web"].kind


def test_every_value_tells_that_a_revision_says_it_and_what_it_overrules(file: Path) -> None:
    """`show` names the revision, and the file's line under it: the revision wins."""
    tree = {"channels": {"hook": {"rooms": {"C1": {"agent": "shop", "busy": "queue"}, "C2": {"observe": True}}}}}
    configuration = over(file, tree)

    told = {
        path: str(origin).replace(str(file), "FILE") for path, origin in configuration.origins("hook", "C1").items()
    }

    assert "revision 7 (room, over FILE:14)" == told["agent"]
    assert "revision 7 (room)" == told["busy"]
    assert "FILE:5 (memory)" == told["memory.window.turns"]
    assert "revision 7 (room)" == str(configuration.origins("hook", "C2")["observe"])


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        (
            {"channels": {"hook": {"agnet": "x"}}},
            "revision 7: channels.hook.agnet: ***: is no setting here; did you mean agent?",
        ),
        (
            {"memory": {"window": {"turns": 0}}},
            "revision 7: memory.window.turns: '0': is less than 1; use 1 or more",
        ),
        (
            {"channels": {"hook": {"agent": "gone"}}},
            "revision 7: channels.hook.agent: 'gone': is no configured agent; use shop or other",
        ),
        ({"server": {"port": 1}}, "revision 7: server: can be set in the settings file only; write it there"),
        ({"retention": None}, "revision 7: retention: can be set in the settings file only; write it there"),
        (
            {"retention": {"audit_days": 30}},
            "revision 7: retention.audit_days: can be set in the settings file only; write it there",
        ),
        (
            {"channels": {"hook": {"secrets": ["vault:none"]}}},
            "revision 7: channels.hook.secrets[0]: ***: there is no secret 'none' that can be read;"
            " store it under this name, with its key in place",
        ),
        (
            {"agents": {"shop": {"system": "key: ${SECRET}"}}},
            "revision 7: agents.shop.system: 'key: ${SECRET}': refers to the environment, which is the machine's;"
            " store the secret here, or write the reference into the file; $${ stands for a plain ${",
        ),
        (
            {"channels": {"hook": {"secrets": ["file:/etc/passwd"]}}},
            "revision 7: channels.hook.secrets[0]: ***: refers to a file of the machine;"
            " store the secret here, or write this into the file",
        ),
    ],
)
def test_what_is_wrong_is_laid_to_the_revision(file: Path, tree: dict[str, Any], problem: str) -> None:
    """Each problem names the revision, the setting, its value and the remedy; no reference leads to the machine's own."""
    assert [problem] == problems(file, tree)


def test_what_only_the_file_can_be_blamed_for_names_its_line(file: Path) -> None:
    """A file that does not go with the revision any more is told by its own line."""
    file.write_text(FILE.replace("  other: {}\n", ""), "utf-8")

    assert ["FILE:13 channels.hook.rooms.C1.agent: 'other': is no configured agent; use shop"] == problems(
        file, {"channels": {"hook": {"observe": True}}}
    )


def test_a_tree_too_deep_is_refused(file: Path) -> None:
    """The file's own bounds hold for what is laid over it."""
    deep: Any = 1
    for _ in range(60):
        deep = {WHOLE: deep} if isinstance(deep, int) else [deep]

    assert ["revision 7: is nested more than 40 levels deep; settings need far fewer"] == problems(
        file, {"memory": deep}
    )


def test_a_dollar_brace_can_be_said(file: Path) -> None:
    """`$${` is a plain `${`, as in the file."""
    assert "a ${b}" == over(file, {"agents": {"shop": {"system": "a $${b}"}}}).settings.agents["shop"].system


def test_the_vault_is_opened_for_the_file_too(file: Path) -> None:
    """`vault:NAME` in the file reads a secret, and stands in its place in the document."""
    file.write_text(FILE.replace('"${SECRET}"', '"vault:hook-key"'), "utf-8")

    configuration = load(file, ENVIRON, vault={"hook-key": SECRET})

    secrets = configuration.settings.channels["hook"].secrets  # type: ignore[union-attr]
    assert SECRET == secrets[0].get_secret_value()
    assert "vault:hook-key" in configuration.document
    assert () == configuration.warnings


def test_before_the_vault_is_open_the_rest_is_known(file: Path) -> None:
    """What tells where the database is can be read before the secrets in it; what they stand for is not judged."""
    file.write_text(FILE.replace('"${SECRET}"', '"vault:hook-key"'), "utf-8")

    assert "webhook" == load(file, ENVIRON).settings.channels["hook"].kind


def test_what_only_the_file_may_say_is_all_there() -> None:
    """The sections that decide where revisions are kept, and who may write them, are no revision's."""
    assert {"server", "storage", "redis", "database", "queue", "telemetry", "admin", "retention.audit_days"} == {
        ".".join(path) for path in FILE_ONLY
    }
