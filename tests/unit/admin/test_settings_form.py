"""Between a section's model and a page's form: what is shown, and what was changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from config.forms import Field as Setting
from config.forms import form_of
from config.loader import load
from config.meanings import named
from config.overlay import Overlay
from gateway.admin.acts.settings import Edit
from gateway.admin.console.settings_form import Reader, edits, groups, maps, name_of, origin_told, shown, values
from gateway.admin.console.settings_words import WORDS
from gateway.admin.console.words import translator
from gateway.admin.operations import FieldProblem

FILE = """
agents: {default: {api_key: "${KEY}", parameters: {seed: 5}, temperature: 0.5, system: 短}, other: {}}
defaults: {busy: queue}
channels:
  hook:
    kind: webhook
    secrets: ["${HOOK}"]
    observe: true
    prefix: [hey, 喂]
    allow: {people: null, members: []}
    rooms: {R: {agent: default}}
"""
ENVIRON = {"KEY": "k", "HOOK": "whsec_" + "A" * 32}


@pytest.fixture
def channel(tmp_path: Path) -> Setting:
    return form(tmp_path, "channels", "hook")


def form(folder: Path, *path: str, kind: str | None = None) -> Setting:
    file = folder / "clew.yaml"
    file.write_text(FILE, "utf-8")
    tree: dict[str, Any] = {"channels": {"hook": {"collect_max": 5, "secrets": ["vault:a", "vault:b"]}}}
    vault = dict.fromkeys("ab", ENVIRON["HOOK"])
    return form_of(load(file, ENVIRON, Overlay(number=3, tree=tree), vault=vault), path, kind=kind)


def reader(folder: Path, language: Any = "en") -> Reader:
    said = translator({key: dict(words.items()) for key, words in WORDS.items()}, language)
    return Reader(
        t=said,
        named=lambda name: named(name, language),
        meaning=lambda one: one.description,
        agents=("default", "other"),
        file=str(folder / "clew.yaml"),
    )


def setting(model: Setting, name: str) -> Setting:
    return next(one for group in groups(model) for one in group.settings if name_of(one, model) == name)


def said(edit: Edit) -> tuple[str, str, Any]:
    return edit.path, edit.act, edit.value


def test_what_is_written_stands_in_its_field(channel: Setting, tmp_path: Path) -> None:
    """Texts, choices, lists by line, none as a lone dash; what is not written shows what applies."""

    def value(name: str) -> tuple[str, str]:
        field = shown(setting(channel, name), channel, reader(tmp_path))
        return field.value, field.default

    assert ("5", "") == value("v.collect_max")
    assert ("true", "") == value("v.observe")
    assert ("hey\n喂", "") == value("v.prefix")
    assert ("*", "") == value("v.allow.people")
    assert ("-", "") == value("v.allow.members")
    assert ("", "queue") == value("v.busy")
    assert ("", "8") == value("v.memory.window.turns")
    assert ("", "") == value("v.secrets")


def test_a_form_sent_as_it_was_changes_nothing(channel: Setting, tmp_path: Path) -> None:
    """For all settings of a channel and of an agent."""
    for model in (channel, form(tmp_path, "agents", "default"), form(tmp_path, "learning")):
        fields = [shown(one, model, reader(tmp_path)) for group in groups(model) for one in group.settings]

        assert ([], []) == edits(model, {field.name: field.value for field in fields})


@pytest.mark.parametrize(
    ("name", "text", "edit"),
    [
        ("busy", "interrupt", ("channels.hook.busy", "set", "interrupt")),
        ("collect_max", "7", ("channels.hook.collect_max", "set", 7)),
        ("collect_max", "many", ("channels.hook.collect_max", "set", "many")),
        ("collect_max", "", ("channels.hook.collect_max", "reset", None)),
        ("observe", "", ("channels.hook.observe", "remove", None)),
        ("observe", "false", ("channels.hook.observe", "set", False)),
        ("prefix", " a \n\n b", ("channels.hook.prefix", "set", ["a", "b"])),
        ("trigger", "-", ("channels.hook.trigger", "set", [])),
        ("fallback", "-", ("channels.hook.fallback", "set", None)),
        ("allow.people", "u1", ("channels.hook.allow.people", "set", ["u1"])),
        ("allow.people", "-", ("channels.hook.allow.people", "set", [])),
        ("allow.members", "*", ("channels.hook.allow.members", "set", None)),
        ("allow.people", "", ("channels.hook.allow.people", "remove", None)),
        ("memory.session.idle_s", "60.5", ("channels.hook.memory.session.idle_s", "set", 60.5)),
        ("memory.session.idle_s", "60", ("channels.hook.memory.session.idle_s", "set", 60)),
        ("memory.session.idle_s", "long", ("channels.hook.memory.session.idle_s", "set", "long")),
        ("secrets", "new", ("channels.hook.secrets", "set", ["new", "vault:a"])),
        ("secrets", "-", ("channels.hook.secrets", "remove", None)),
    ],
)
def test_what_was_changed_becomes_an_edit(channel: Setting, name: str, text: str, edit: tuple[str, str, Any]) -> None:
    """Empty takes the word back, or out where the file says it; a lone dash is none; a new secret keeps the one before."""
    found, wrong = edits(channel, {f"v.{name}": text})

    assert ([edit], []) == ([said(one) for one in found], wrong)


def test_secrets_stay_unless_another_is_entered(tmp_path: Path) -> None:
    """And leave no trace in the form."""
    model = form(tmp_path, "agents", "default")
    field = shown(setting(model, "v.api_key"), model, reader(tmp_path))

    assert ("secret", "") == (field.kind, field.value)
    assert "Set, as ${KEY}" in field.help
    assert [] == edits(model, {"v.api_key": ""})[0]
    assert [("agents.default.api_key", "set", "sk")] == [said(one) for one in edits(model, {"v.api_key": "sk"})[0]]
    assert [("agents.default.api_key", "remove", None)] == [said(one) for one in edits(model, {"v.api_key": "-"})[0]]


def test_free_values_are_json(tmp_path: Path) -> None:
    """What is none is told by its field."""
    model = form(tmp_path, "agents", "default")
    text = shown(setting(model, "v.parameters"), model, reader(tmp_path)).value
    found, wrong = edits(model, {"v.parameters": "{oops"})

    assert '{\n "seed": 5\n}' == text
    assert [] == found
    assert [("agents.default.parameters", "{oops", "is no JSON")] == [
        (one.path, one.value, one.problem) for one in wrong
    ]
    assert [("agents.default.parameters", "set", {"top": 1})] == [
        said(one) for one in edits(model, {"v.parameters": '{"top": 1}'})[0]
    ]


def test_agents_are_chosen_by_name(channel: Setting, tmp_path: Path) -> None:
    """Where a setting names one; nothing is guessed elsewhere."""

    def choices(name: str) -> list[str]:
        return [one.value for one in shown(setting(channel, name), channel, reader(tmp_path)).choices]

    assert ["", "default", "other"] == choices("v.agent")
    assert ["", "-", "default", "other"] == choices("v.fallback")
    assert ["", "auto", "none", "default", "other"] == choices("v.memory.model")
    assert ["", "collect", "queue", "interrupt"] == choices("v.busy")


@pytest.mark.parametrize(
    ("name", "english", "chinese"),
    [
        ("v.collect_max", "revision 3 (channel)", "修订 3（渠道）"),
        ("v.observe", "clew.yaml:8 (channel)", "clew.yaml:8 (渠道)"),
        ("v.busy", "clew.yaml:3 (defaults)", "clew.yaml:3 (默认值)"),
        ("v.language", "built-in", "内置默认值"),
        ("v.trigger", "built-in of the channel's kind", "该渠道类型的内置默认值"),
        ("v.secrets", "revision 3 (channel), over clew.yaml:7", "修订 3（渠道），优先于 clew.yaml:7"),
    ],
)
def test_whose_word_it_is_is_told_in_both_languages(
    channel: Setting, tmp_path: Path, name: str, english: str, chinese: str
) -> None:
    """The file by its name, without the way to it."""
    origin = setting(channel, name).origin

    assert english == origin_told(origin, reader(tmp_path))
    assert chinese == origin_told(origin, reader(tmp_path, "zh"))


def test_problems_stand_at_their_fields(channel: Setting, tmp_path: Path) -> None:
    """A place in a list is its list's; what was entered stays."""
    problem = FieldProblem(path="channels.hook.prefix[1]", value="", problem="is empty", remedy="write something")
    field = shown(
        setting(channel, "v.prefix"), channel, reader(tmp_path), sent={"v.prefix": "x\n"}, problems=(problem,)
    )

    assert ("is empty: write something", "x\n") == (field.error, field.value)


@pytest.mark.parametrize(
    ("language", "labels"),
    [
        ("en", ["collect max", "session · idle", "person · messages · day"]),
        ("zh", ["合并上限", "会话 · 空闲时限", "个人 · 消息数 · 每日"]),
    ],
)
def test_settings_are_called_by_name_in_the_reader_s_language(
    channel: Setting, tmp_path: Path, language: Any, labels: list[str]
) -> None:
    """Below its group's heading, so that no two are called alike; the unit stands behind the field."""
    names = ("v.collect_max", "v.memory.session.idle_s", "v.quota.person.messages.day")

    assert labels == [shown(setting(channel, name), channel, reader(tmp_path, language)).label for name in names]


def test_no_two_settings_of_a_group_are_called_alike(channel: Setting, tmp_path: Path) -> None:
    for group in groups(channel):
        labels = [shown(one, channel, reader(tmp_path)).label for one in group.settings]

        assert len(labels) == len(set(labels)), group.name


def test_only_a_secret_of_the_vault_s_works_on_beside_a_new_one(channel: Setting, tmp_path: Path) -> None:
    """The file's own can't be referred to from a revision, and the form promises nothing else."""
    ours = shown(setting(channel, "v.secrets"), channel, reader(tmp_path)).help
    (tmp_path / "clew.yaml").write_text(FILE, "utf-8")
    model = form_of(load(tmp_path / "clew.yaml", ENVIRON), ("channels", "hook"))
    files = shown(setting(model, "v.secrets"), model, reader(tmp_path)).help

    assert ("the one before works on" in ours, "the one before works on" in files) == (True, False)
    assert ["new"] == edits(model, {"v.secrets": "new"})[0][0].value


def test_rooms_are_pages_of_their_own(channel: Setting) -> None:
    """Not fields of their channel's."""
    assert [("rooms", ("R",))] == [(one.name, one.keys) for one in maps(channel)]
    assert not any("rooms" in name_of(one, channel) for group in groups(channel) for one in group.settings)


def test_something_new_is_one_section(tmp_path: Path) -> None:
    """What was entered for a channel to come, nested as in the settings."""
    model = form(tmp_path, "channels", "new", kind="webhook")
    section, wrong = values(
        model, {"v.secrets": "s", "v.sync_s": "9", "v.jwt.issuer": "me", "v.busy": "", "v.memory.window.turns": "3"}
    )

    assert {"secrets": ["s"], "sync_s": 9, "jwt": {"issuer": "me"}, "memory": {"window": {"turns": 3}}} == section
    assert [] == wrong
