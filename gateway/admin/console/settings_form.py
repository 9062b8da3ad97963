"""Between a section's form model and a page's form: fields to show, and what was sent as edits. Pure.

An empty field means that nothing is written at this place, so that what stands above counts; a lone `-` means none: no value, an
empty list (a lone `*` no list at all), no secret. A secret is never shown; left empty it stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.forms import Field as Setting
from config.overlay import file_only
from config.problems import path_of
from gateway.admin.acts.settings import Edit
from gateway.admin.console.fields import Choice, Field
from gateway.admin.console.words import Translate
from gateway.admin.operations import FieldProblem

NONE = "-"
UNSET = "*"
"""Stands in a list's field where null is not the same as an empty list."""
PREFIX = "v."
_SECRETS = 2
_WHOLE = re.compile(r"-?[0-9]{1,18}")
"""Secrets of a list that count at once: a new one, and the one before."""

_LONGEST = 32
"""Characters of a value that are told beside its field: a phone shows no more in a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """For whom forms are filled in: `t` says words in their language, `named` what a setting is called, `meaning` what it means;
    `agents` are the names to choose from, `file` is the settings file, which origins name."""

    t: Translate
    named: Callable[[str], str]
    meaning: Callable[[Setting], str]
    agents: tuple[str, ...]
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The settings under one heading. `name` is "" for those of the section itself; `touched`: somebody wrote one of them."""

    name: str
    settings: tuple[Setting, ...]
    touched: bool


def groups(form: Setting, *, only: frozenset[str] | None = None) -> tuple[Group, ...]:
    """Return a form's settings by heading, without maps of sections; `only`: no others than these of the first level."""
    own: list[Setting] = []
    below: list[Group] = []
    for setting in form.fields:
        if (only is not None and setting.name not in only) or file_only(path_of(setting.path)):
            continue
        if setting.kind == "section":
            inner = tuple(_single(setting))
            below.append(Group(name=setting.name, settings=inner, touched=setting.written))
        elif not (setting.kind == "map" and setting.item == "section"):
            own.append(setting)
    first = (Group(name="", settings=tuple(own), touched=True),) if own else ()
    return first + tuple(group for group in below if group.settings)


def maps(form: Setting) -> tuple[Setting, ...]:
    """Return what of a form holds sections by name: rooms, threads."""
    return tuple(setting for setting in form.fields if setting.kind == "map" and setting.item == "section")


def name_of(setting: Setting, form: Setting) -> str:
    """Return the name of a setting's field: its path below the form's."""
    return PREFIX + setting.path.removeprefix(form.path).removeprefix(".")


def shown(
    setting: Setting,
    form: Setting,
    reader: Reader,
    *,
    sent: Mapping[str, str] | None = None,
    problems: tuple[FieldProblem, ...] = (),
) -> Field:
    """Return a setting as a field; `sent`: what the reader had entered."""
    name, t = name_of(setting, form), reader.t
    kind, choices = _kind(setting, reader)
    error = error_at(setting, problems)
    steps = setting.path.removeprefix(form.path).removeprefix(".").split(".")
    label = " · ".join(reader.named(step) for step in steps[1:] or steps)  # the first is its group's heading
    if setting.unit == "seconds":
        label = label.removesuffix(" s")  # the unit stands behind the field
    inherited = "" if setting.written or setting.kind == "secret" else _text(setting, setting.effective, t)
    return Field(
        name=name,
        label=label,
        kind=kind,
        value=_value(setting, t) if sent is None else sent.get(name, ""),
        help=" ".join(part for part in (reader.meaning(setting), _hint(setting, t)) if part),
        unit=t(f"settings.unit.{setting.unit}") if setting.unit else "",
        default=inherited,
        origin=origin_told(setting.origin, reader) if setting.written or inherited else "",
        error=error,
        checked=True,
        choices=choices,
        required=False,
        attributes={"autocomplete": "off"} | _limits(setting),
    )


def error_at(setting: Setting, problems: tuple[FieldProblem, ...]) -> str:
    """Return what is wrong with a setting, a list's with its items; "": nothing."""
    return "; ".join(
        f"{one.problem}: {one.remedy}" if one.remedy else one.problem
        for one in problems
        if _ITEM.sub("", one.path) == setting.path
    )


_ITEM = re.compile(r"\[\d+\]$")


def edits(form: Setting, sent: Mapping[str, str]) -> tuple[list[Edit], list[FieldProblem]]:
    """Return what was changed in a form, and what can't be read."""
    found: list[Edit] = []
    wrong: list[FieldProblem] = []
    for group in groups(form):
        for setting in group.settings:
            name = name_of(setting, form)
            if name not in sent:
                continue
            try:
                edit = _edit(setting, sent[name].strip())
            except ValueError as exc:
                told = FieldProblem(path=setting.path, value=sent[name][:60], problem=str(exc), remedy="")
                wrong.append(told)
            else:
                found += [edit] if edit is not None else []
    return found, wrong


def values(form: Setting, sent: Mapping[str, str]) -> tuple[dict[str, Any], list[FieldProblem]]:
    """Return what a form for something new says, as one section, and what can't be read."""
    found, wrong = edits(form, sent)
    section: dict[str, Any] = {}
    for edit in found:
        if edit.act != "set":
            continue
        place, *steps = section, *edit.path.removeprefix(form.path).removeprefix(".").split(".")
        for step in steps[:-1]:
            place = place.setdefault(step, {})
        place[steps[-1]] = edit.value
    return section, wrong


def _single(form: Setting) -> Iterator[Setting]:
    for setting in form.fields:
        if setting.kind == "section":
            yield from _single(setting)
        elif not (setting.kind == "map" and setting.item == "section"):
            yield setting


def origin_told(origin: str, reader: Reader) -> str:
    """Return by whose word a value is what it is, in the reader's language; the file by its name only."""
    t = reader.t
    if (found := _REVISION.fullmatch(origin)) is not None:
        told = t("settings.origin.revision", number=found["number"], layer=t(f"settings.layer.{found['layer']}"))
        over = f"{Path(reader.file).name}:{found['line']}" if found["line"] else ""
        return t("settings.origin.over", told=told, over=over) if over else told
    if (found := _LINE.fullmatch(origin.removeprefix(reader.file))) is not None:
        layer = t(f"settings.layer.{found['layer']}")
        return f"{Path(reader.file).name}:{found['line']} ({layer}{found['rest']})"
    return t("settings.origin.built_in" if origin == "built-in" else "settings.origin.kind")


_REVISION = re.compile(r"revision (?P<number>\d+) \((?P<layer>\w+)(?:, over .*:(?P<line>\d+))?\)")
_LINE = re.compile(r":(?P<line>\d+) \((?P<layer>\w+)(?P<rest>.*)\)")


def _kind(setting: Setting, reader: Reader) -> tuple[Any, tuple[Choice, ...]]:
    t = reader.t
    if (named := _agents(setting, reader)) is not None:
        return "choice", (
            Choice("", _inherit(setting, t)),
            *(Choice(name, t("settings.nothing") if name == NONE else None) for name in named),
        )
    match setting.kind:
        case "truth":
            return "choice", (
                Choice("", _inherit(setting, t)),
                Choice("true", t("settings.yes")),
                Choice("false", t("settings.no")),
            )
        case "choice":
            return "choice", (Choice("", _inherit(setting, t)), *(Choice(choice) for choice in setting.choices))
        case "list":
            return ("secret" if setting.item == "secret" else "lines"), ()
        case "secret":
            return "secret", ()
        case "map":
            return "area", ()
        case "text":
            return ("area" if len(str(setting.effective or "")) > 100 else "text"), ()
        case _:
            return "text", ()


def _agents(setting: Setting, reader: Reader) -> tuple[str, ...] | None:
    """Return what a setting that names an agent can be; None: it names none."""
    match setting.path.rsplit(".", 2)[-2:]:
        case [*_, "agent"]:
            return reader.agents
        case [*_, "fallback"]:
            return (NONE, *reader.agents)
        case ["memory", "model"]:
            return ("auto", "none", *reader.agents)
    return None


def _inherit(setting: Setting, t: Translate) -> str:
    if setting.written or setting.effective is None:
        return t("settings.unwritten")
    return t("settings.unwritten.is", value=_text(setting, setting.effective, t))


def _text(setting: Setting, value: Any, t: Translate) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return t("settings.yes") if value else t("settings.no")
    if isinstance(value, list):
        return ", ".join(map(str, value)) or t("settings.nothing")
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _value(setting: Setting, t: Translate) -> str:
    """Return what stands in the field."""
    if not setting.written or setting.kind == "secret" or setting.item == "secret":
        return ""
    value = setting.value
    match value:
        case None:
            return UNSET if setting.kind == "list" else NONE
        case []:
            return NONE
        case bool():
            return "true" if value else "false"
        case list():
            return "\n".join(map(str, value))
        case dict():
            return json.dumps(value, ensure_ascii=False, indent=1)
        case float():
            return f"{value:.15g}"
        case _:
            return str(value)


def _hint(setting: Setting, t: Translate) -> str:
    if setting.kind == "secret" or setting.item == "secret":
        if not setting.written:
            return t("settings.hint.secret")
        works_on = setting.kind == "list" and any(map(_in_vault, setting.value or ()))
        key = "settings.hint.secret_list" if works_on else "settings.hint.secret_set"
        return t(key, value=_references(setting))
    if setting.kind == "list":
        choices = ", ".join(setting.choices)
        if choices:
            return t("settings.hint.choices", choices=choices)
        return t("settings.hint.list_or_unset" if setting.optional else "settings.hint.list")
    if setting.kind == "map":
        return t("settings.hint.map")
    return t("settings.hint.none") if setting.optional and setting.name != "fallback" else ""


def _references(setting: Setting) -> str:
    return ", ".join(setting.value) if isinstance(setting.value, list) else str(setting.value)


def _limits(setting: Setting) -> dict[str, str]:
    return {"inputmode": "decimal"} if setting.kind in ("whole", "number") else {}


def _edit(setting: Setting, text: str) -> Edit | None:
    """Return what a field's text changes; None: nothing. Raises ValueError for what can't be read."""
    if setting.kind == "secret" or setting.item == "secret":
        return _secret_edit(setting, text)
    if not text:
        if not setting.written:
            return None
        return Edit(path=setting.path, act="reset" if setting.origin.startswith("revision ") else "remove")
    value = _read(setting, text)
    if setting.written and value == setting.value:
        return None
    return Edit(path=setting.path, value=value)


def _secret_edit(setting: Setting, text: str) -> Edit | None:
    if not text:
        return None
    if text == NONE:
        return Edit(path=setting.path, act="remove") if setting.written else None
    if setting.kind == "secret":
        return Edit(path=setting.path, value=text)
    kept = [one for one in setting.value or () if _in_vault(one)]  # the file's own can't be referred to from here
    return Edit(path=setting.path, value=[text, *kept][:_SECRETS])


def _in_vault(reference: str) -> bool:
    return reference.startswith("vault:")


def _read(setting: Setting, text: str) -> Any:
    if text == UNSET and setting.optional and setting.kind == "list":
        return None
    if text == NONE and (setting.optional or setting.kind == "list"):
        return [] if setting.kind == "list" else None
    match setting.kind:
        case "truth":
            return text == "true"
        case "whole":
            return int(text) if _WHOLE.fullmatch(text) else text
        case "number":
            return _number(text)
        case "list":
            return [line.strip() for line in text.splitlines() if line.strip()]
        case "map":
            try:
                value = json.loads(text)
            except ValueError:
                raise ValueError("is no JSON") from None
            return value
        case _:
            return text.replace("\r\n", "\n")


def _number(text: str) -> Any:
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
