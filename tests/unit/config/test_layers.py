"""Which settings apply where, which line says so, and the document a turn can be replayed under."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.channels.base import RoomSettings
from config.effective import Layer, resolve
from config.loader import from_document
from config.problems import InvalidSettings
from tests.unit.config.conftest import Load

LAYERED = """\
memory: {window: {turns: 2, messages: 4}}
agents: {default: {}, b: {}, c: {}}
defaults:
  agent: b
  memory: {window: {turns: 3}}
  prefix: ["!d", "!e"]
channels:
  console: {kind: console}
  web:
    kind: webhook
    secrets: ["${W}"]
    prefix: ["!w"]
    memory: {window: {tokens: 700}}
    rooms:
      "1":
        agent: ${AGENT:-c}
        memory: {window: {turns: 5}}
        threads:
          "9": {fallback: b, prefix: []}
      "2": {memory: {window: {turns: 6}}}
"""
ENVIRON = {"W": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}


@pytest.mark.parametrize(
    ("place", "agent", "turns", "messages", "tokens", "prefix"),
    [
        (("console", "x", None), "b", 3, 4, 6000, ("!d", "!e")),
        (("web", None, None), "b", 3, 4, 700, ("!w",)),
        (("web", "unknown", "9"), "b", 3, 4, 700, ("!w",)),
        (("web", "1", None), "c", 5, 4, 700, ("!w",)),
        (("web", "1", "unknown"), "c", 5, 4, 700, ("!w",)),
        (("web", "1", "9"), "c", 5, 4, 700, ()),
        (("web", "2", "9"), "b", 6, 4, 700, ("!w",)),
    ],
)
def test_the_most_specific_layer_wins_value_by_value(
    load_text: Load,
    place: tuple[str, str | None, str | None],
    agent: str,
    turns: int,
    messages: int,
    tokens: int,
    prefix: tuple[str, ...],
) -> None:
    """Sections merge key by key, lists are replaced whole, and a thread belongs to its own room only (AstrBot#4195)."""
    room = load_text(LAYERED, ENVIRON).effective(*place)
    window = room.memory.window

    assert (agent, turns, messages, tokens, prefix) == (
        room.agent,
        window.turns,
        window.messages,
        window.tokens,
        room.prefix,
    )


def test_a_channel_kinds_own_default_lies_below_the_admins(load_text: Load) -> None:
    """Webhook and console answer everything unless anybody says otherwise; `defaults` is somebody."""
    text = "channels: {c: {kind: console, rooms: {r: {observe: true}}}, w: {kind: webhook, secrets: ['${W}']}}\n"
    silent, said = load_text(text, ENVIRON), load_text(text + "defaults: {trigger: [mention]}", ENVIRON)

    assert [("always",)] * 3 == [silent.effective(*place).trigger for place in (("c",), ("c", "r"), ("w", "q"))]
    assert [("mention",)] * 3 == [said.effective(*place).trigger for place in (("c",), ("c", "r"), ("w", "q"))]


def test_null_in_a_narrow_place_takes_a_value_away(load_text: Load) -> None:
    """An explicit null is a value like any other."""
    configuration = load_text(
        """
        agents: {default: {}, b: {}}
        defaults: {fallback: b, allow: {people: [x]}}
        channels: {c: {kind: console, rooms: {r: {fallback: null, allow: {people: ~}}}}}
        """
    )

    assert ("b", ("x",)) == (configuration.effective("c").fallback, configuration.effective("c").allow.people)
    assert (None, None) == (configuration.effective("c", "r").fallback, configuration.effective("c", "r").allow.people)


def test_a_channel_that_is_not_there_has_no_settings(load_text: Load) -> None:
    """No fallback to anybody else's."""
    with pytest.raises(KeyError):
        load_text(LAYERED, ENVIRON).effective("webx", None, None)


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "observe": st.booleans(),
                "prefix": st.lists(st.text(min_size=1), max_size=2).map(tuple),
                "memory": st.fixed_dictionaries(
                    {},
                    optional={
                        "window": st.fixed_dictionaries(
                            {}, optional={"turns": st.integers(1, 9), "tokens": st.just(500)}
                        ),
                        "recall_tokens": st.integers(0, 9),
                    },
                ),
            },
        ),
        max_size=5,
    )
)
def test_resolving_is_the_same_as_asking_each_layer_from_the_top(found: list[dict[str, object]]) -> None:
    """For every value: the last layer that says it, else the built-in one; and no layer is changed by it."""
    before = json.dumps(found)
    room = resolve(tuple(Layer("room", (), values) for values in found)).model_dump()

    assert before == json.dumps(found)
    for path in (("observe",), ("prefix",), ("memory", "window", "turns"), ("memory", "window", "tokens"), ("agent",)):
        said = [value for values in found if (value := _at(values, path)) is not None]
        assert (said or [_at(RoomSettings().model_dump(), path)])[-1] == _at(room, path)


def _at(values: object, path: tuple[str, ...]) -> object:
    for step in path:
        values = values.get(step) if isinstance(values, dict) else None
    return values


def test_every_value_knows_its_line_layer_and_variable(load_text: Load) -> None:
    """The effective value is visible with its origin (AstrBot#4195)."""
    configuration = load_text(LAYERED, ENVIRON)
    found = {path: str(origin).rpartition("/")[2] for path, origin in configuration.origins("web", "1", "9").items()}

    assert {
        "agent": "my.yaml:16 (room, from $AGENT)",
        "fallback": "my.yaml:19 (thread)",
        "prefix": "my.yaml:19 (thread)",
        "trigger": "built-in of the channel's kind",
        "busy": "built-in",
        "memory.window.turns": "my.yaml:17 (room)",
        "memory.window.messages": "my.yaml:1 (memory)",
        "memory.window.tokens": "my.yaml:13 (channel)",
    }.items() <= found.items()
    assert found.keys() == {
        ".".join(path) for path, _ in _leaves(configuration.effective("web", "1", "9").model_dump(), ())
    }


def _leaves(values: dict[str, object], path: tuple[str, ...]) -> list[tuple[tuple[str, ...], object]]:
    found: list[tuple[tuple[str, ...], object]] = []
    for key, value in values.items():
        found += _leaves(value, (*path, key)) if isinstance(value, dict) else [((*path, key), value)]
    return found


def test_a_document_gives_the_same_configuration_back(load_text: Load) -> None:
    """Replay under a stored revision sees what the turn saw, place by place, without any secret."""
    configuration = load_text(LAYERED, ENVIRON)
    again = from_document(configuration.document)

    assert configuration.revision == again.revision
    assert configuration.document == again.document
    assert configuration.settings.agents == again.settings.agents
    for place in (("console",), ("web",), ("web", "1"), ("web", "1", "9"), ("web", "2"), ("web", "?")):
        assert configuration.effective(*place) == again.effective(*place)
    assert ENVIRON["W"] not in configuration.document
    assert '"secrets":["${W}"]' in configuration.document


def test_a_document_says_everything_so_that_later_defaults_change_nothing(load_text: Load) -> None:
    """Every place holds every value, built-in ones included."""
    document = json.loads(load_text(LAYERED, ENVIRON).document)
    thread = document["channels"]["web"]["rooms"]["1"]["threads"]["9"]

    assert set(RoomSettings.model_fields) == set(thread)
    assert thread["memory"]["window"].keys() == document["defaults"]["memory"]["window"].keys()


def test_a_document_of_another_release_is_refused_in_words() -> None:
    """Not with a trace."""
    with pytest.raises(InvalidSettings, match="it was stored by another release"):
        from_document('{"nonsense": 1}')


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (("turns: 5", "turns: 7"), False),
        (("agent: b", "agent: c"), False),
        (("{turns: 6}", "{turns: 6, messages: 4}"), True),
        (("agents: {default: {}", "# a remark\nserver: {port: 9}\nagents: {default: {}"), True),
        (("${W}", "${V}"), False),
    ],
)
def test_the_revision_follows_what_applies(load_text: Load, change: tuple[str, str], same: bool) -> None:
    """It changes with any effective value and with a secret's reference; not with lines, layers or the server section."""
    environ = ENVIRON | {"V": ENVIRON["W"]}
    before = load_text(LAYERED, environ).revision

    assert same is (before == load_text(LAYERED.replace(*change), environ).revision)


def test_the_revision_does_not_know_the_secret(load_text: Load) -> None:
    """A new value behind the same reference is the same revision."""
    other = {"W": "whsec_" + "QUFB" * 10}

    assert load_text(LAYERED, ENVIRON).revision == load_text(LAYERED, other).revision


def test_looking_up_a_place_does_not_depend_on_how_many_there_are(load_text: Load) -> None:
    """A look-up merges nothing: it is the same object each time, for the first room and for the last of 2,000."""
    rooms = "\n".join(f"      r{n}: {{memory: {{window: {{turns: {n % 6 + 3}}}}}}}" for n in range(2000))
    configuration = load_text(f"channels:\n  c:\n    kind: console\n    rooms:\n{rooms}\n")

    assert configuration.effective("c", "r7", "t") is configuration.effective("c", "r7")
    assert configuration.effective("c", "r1999").memory.window.turns == 4


ROOMS = """
agents: {default: {}, b: {}, c: {}}
channels:
  web:
    kind: console
    rooms:
      "-100": {agent: b, threads: {t: {agent: c}}}
      "群": {agent: c}
"""


def test_a_moved_room_keeps_its_settings(load_text: Load) -> None:
    """What is written under a room's former id applies to the id that it has now, threads and origins too."""
    before = load_text(ROOMS)
    after = before.moved([("web", "-100", "-1001"), ("gone", "x", "y")])

    assert "default" == before.effective("web", "-1001").agent
    assert ("b", "c") == (after.effective("web", "-1001").agent, after.effective("web", "-1001", "t").agent)
    assert before.origins("web", "-100", "t") == after.origins("web", "-1001", "t")
    assert before.effective("web") == after.effective("web")
    assert (before.revision, before.document) == (after.revision, after.document)


def test_the_present_ids_own_entry_wins(load_text: Load) -> None:
    """An admin who writes an entry under the present id has said it anew; until all of the old room's messages are through
    it applies to those, too."""
    both = load_text(ROOMS).moved([("web", "-100", "群")])
    renamed = load_text(ROOMS.replace("-100", "-1001")).moved([("web", "-100", "-1001")])

    assert ("b", "c") == (both.effective("web", "-100").agent, both.effective("web", "群").agent)
    assert "b" == renamed.effective("web", "-100").agent == renamed.effective("web", "-1001").agent


def test_of_several_former_ids_the_latest_counts(load_text: Load) -> None:
    moved = load_text(ROOMS).moved([("web", "-100", "-1002"), ("web", "群", "-1002")])

    assert "c" == moved.effective("web", "-1002").agent
    assert "default" == moved.moved([]).effective("web", "-1002").agent
