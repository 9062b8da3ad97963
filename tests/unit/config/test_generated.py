"""The schema for editors and the tables of every knob are what the models say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from config.fields import Shape, settings_shape
from config.generated import FOLDER, readme_text, schema, schema_text, write_generated


def test_the_committed_files_are_up_to_date() -> None:
    """After a change of settings: python -m gateway schema --write."""
    readme = (FOLDER / "README.md").read_text("utf-8")

    assert schema_text() == (FOLDER / "schema.json").read_text("utf-8")
    assert readme_text(readme) == readme


def test_every_setting_is_in_the_tables() -> None:
    """No knob without a line, and no line without a meaning."""
    readme = (FOLDER / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (.+?) \| (.+?) \| (.*) \|$", readme, re.MULTILINE)
    listed = {path.rpartition(".")[2] for path, *_ in rows}

    assert listed >= _names(settings_shape()) - {"agents", "channels", "defaults", "rooms", "threads"}
    assert not [path for path, *_, meaning in rows if not meaning.strip()]


def _names(shape: Shape) -> set[str]:
    """Return the names of all values."""
    found: set[str] = set()
    for name, field in (*shape.fields.items(), *shape.variants.items()):
        found |= {name} if field.kind in ("value", "list") else _names(field)
    return found | (_names(shape.item) if shape.item is not None else set())


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


@pytest.mark.parametrize(
    "text",
    [
        (FOLDER / "default.yaml").read_text("utf-8"),
        *re.findall(r"```yaml\n(.*?)```", (FOLDER / "README.md").read_text("utf-8"), re.DOTALL),
        "server: {port: '${P}', trusted_proxies: ['${A:-}']}\nx-common: {anything: 1}",
        "defaults: {agent: '${A}', observe: '${O:-false}', trigger: ['${T}'], memory: {window: {turns: '${N}'}}}",
        "agents: {a: {temperature: '${T}', kind: '${K}', api_key: 'file:x', parameters: {seed: 1}}}",
        "channels: {w: {kind: webhook, secrets: ['${S}'], rooms: {'1': {threads: {'2': {language: zh}}}}}}",
    ],
)
def test_the_schema_takes_what_the_loader_takes(validator: jsonschema.Draft202012Validator, text: str) -> None:
    """References may stand where a number, a truth value, a choice or a name is wanted."""
    assert [] == [error.message for error in validator.iter_errors(yaml.safe_load(text))]


@pytest.mark.parametrize(
    "text",
    [
        "serverr: {}",
        "server: {port: words}",
        "defaults: {trigger: [shout]}",
        "agents: {Big Name: {}}",
        "channels: {c: {kind: fax}}",
        "channels: {c: {kind: console, secrets: []}}",
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(validator: jsonschema.Draft202012Validator, text: str) -> None:
    """An editor underlines it while it is written."""
    assert list(validator.iter_errors(yaml.safe_load(text)))


def test_writing_makes_both_files_and_tells_which_changed(tmp_path: Path) -> None:
    """A second writing changes nothing."""
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- generated: begin -->old<!-- generated: end -->\nafter\n", "utf-8")

    assert [tmp_path / "schema.json", readme] == write_generated(tmp_path)
    assert [] == write_generated(tmp_path)
    assert schema() == json.loads((tmp_path / "schema.json").read_text("utf-8"))
    assert readme.read_text("utf-8").startswith("before\n<!-- generated: begin -->\n\n### The gateway\n")
    assert readme.read_text("utf-8").endswith("<!-- generated: end -->\nafter\n")


def test_a_readme_without_its_markers_is_not_overwritten() -> None:
    """Told instead."""
    with pytest.raises(ValueError, match="the markers"):
        readme_text("# Settings\n")
