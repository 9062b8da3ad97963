"""Forms of the settings, made from the models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from config.fields import settings_shape
from config.forms import Field, flat, form_of, kinds, sections
from config.loader import Configuration, load
from config.overlay import FILE_ONLY, Overlay

FILE = """
agents: {default: {api_key: "${KEY}", parameters: {seed: 5}}}
defaults: {busy: queue}
memory: {window: {turns: 4}}
channels:
  web:
    kind: console
    token: literal-secret
    rooms: {R: {observe: true, threads: {"1.5": {busy: interrupt}}}}
"""


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    file = tmp_path / "my.yaml"
    file.write_text(FILE, "utf-8")
    tree: dict[str, Any] = {"channels": {"web": {"rooms": {"R": {"memory": {"window": {"turns": 3}}}}}}}
    return load(file, {"KEY": "k"}, Overlay(number=2, tree=tree))


def fields(configuration: Configuration, *path: str, kind: str | None = None) -> dict[str, Field]:
    return {field.path: field for field in flat(form_of(configuration, path, kind=kind))}


def test_a_room_shows_what_applies_and_by_whose_word(configuration: Configuration) -> None:
    """Written here or inherited, by the console, the file or nobody: each setting tells."""
    found = fields(configuration, "channels", "web", "rooms", "R")
    turns, busy, observe, trigger = (
        found[f"channels.web.rooms.R.{name}"] for name in ("memory.window.turns", "busy", "observe", "trigger")
    )

    assert (True, 3, 3, "revision 2 (room)") == (turns.written, turns.value, turns.effective, turns.origin)
    assert (False, None, "queue", f"{configuration.file}:3 (defaults)") == (
        busy.written,
        busy.value,
        busy.effective,
        busy.origin,
    )
    assert (True, True) == (observe.written, observe.value)
    assert (["always"], "built-in of the channel's kind") == (trigger.effective, trigger.origin)


def test_types_bounds_and_meanings_come_from_the_models(configuration: Configuration) -> None:
    """What can be chosen, how large it may be, in which unit, and what it means."""
    found = fields(configuration, "channels", "web", "rooms", "R")
    window = found["channels.web.rooms.R.memory.window.turns"]
    scope = found["channels.web.rooms.R.scope"]
    idle = found["channels.web.rooms.R.memory.session.idle_s"]
    people = found["channels.web.rooms.R.allow.people"]

    assert ("whole", 1, 100, "turns", 8) == (
        window.kind,
        window.minimum,
        window.maximum,
        window.unit,
        window.default,
    )
    assert "Turns of the window" in window.description
    assert ("choice", ("conversation", "room", "speaker")) == (scope.kind, scope.choices)
    assert ("number", 0, True, "seconds") == (idle.kind, idle.minimum, idle.above, idle.unit)
    assert ("list", "text", True) == (people.kind, people.item, people.optional)


def test_a_thread_and_places_nobody_configured_inherit(configuration: Configuration) -> None:
    """A thread says its own; a room that is not there yet shows what it would be."""
    thread = fields(configuration, "channels", "web", "rooms", "R", "threads", "1.5")
    room = fields(configuration, "channels", "web", "rooms", "neu 新")

    assert "interrupt" == thread['channels.web.rooms.R.threads."1.5".busy'].value
    assert 3 == thread['channels.web.rooms.R.threads."1.5".memory.window.turns'].effective
    assert 4 == room['channels.web.rooms."neu 新".memory.window.turns'].effective


def test_no_form_shows_a_secret(configuration: Configuration) -> None:
    """References are shown, literals masked, in what is written and in what applies."""
    token = fields(configuration, "channels", "web")["channels.web.token"]
    key = fields(configuration, "agents", "default")["agents.default.api_key"]

    assert ("secret", True, "***", "***") == (token.kind, token.written, token.value, token.effective)
    assert ("${KEY}", "${KEY}") == (key.value, key.effective)
    assert "literal-secret" not in repr(form_of(configuration, ()))


def test_maps_tell_their_keys(configuration: Configuration) -> None:
    """Channels, rooms and agents by name; free values as one."""
    assert ("web",) == form_of(configuration, ("channels",)).keys
    assert ("R",) == form_of(configuration, ("channels", "web", "rooms")).keys
    parameters = fields(configuration, "agents", "default")["agents.default.parameters"]
    assert ("map", "free", {"seed": 5}) == (parameters.kind, parameters.item, parameters.value)


def test_a_channel_to_come_has_the_form_of_its_kind(configuration: Configuration) -> None:
    """Empty, with what has to be said."""
    for kind in kinds():
        found = fields(configuration, "channels", "new", kind=kind)

        assert (kind,) == found["channels.new.kind"].choices
        assert not any(field.written for field in found.values())
    assert fields(configuration, "channels", "new", kind="slack")["channels.new.bot_token"].required


@pytest.mark.parametrize(
    ("path", "kind"),
    [(("nothing",), None), (("channels", "new"), None), (("channels", "new"), "irc"), (("server", "port", "x"), None)],
)
def test_where_no_setting_can_be_there_is_no_form(
    configuration: Configuration, path: tuple[str, ...], kind: str | None
) -> None:
    """An unknown name, and a channel of no kind or an unknown one."""
    with pytest.raises(KeyError):
        form_of(configuration, path, kind=kind)


def test_every_section_but_the_files_own_can_be_changed() -> None:
    """One list of sections: the models'."""
    assert settings_shape().fields.keys() - {own for own, *below in FILE_ONLY if not below} == set(sections())
