"""Pages on which channels are added, tested and removed, without a restart."""

from __future__ import annotations

from aiohttp import web

from config.channels.base import RoomSettings
from config.forms import Field as Setting
from config.problems import path_text
from gateway.admin.acts import channels as acts
from gateway.admin.acts import settings
from gateway.admin.console.asked import asked, problems_of
from gateway.admin.console.connect_words import WORDS
from gateway.admin.console.fields import Choice, Field
from gateway.admin.console.part import NavEntry, Part, get, post
from gateway.admin.console.settings import checked, form_url, reader_of, sent
from gateway.admin.console.settings_form import Group, groups, shown, values
from gateway.admin.console.visit import Visit
from gateway.admin.operations import FieldProblem, Invalid

CONNECT = "/admin/connect"
_STAND_IN = "NEW"
"""What a channel to come is called in its form: no channel's name."""
_UNNAMED = "a-channel-to-come"
_ALWAYS = frozenset({"agent"})
"""Layered settings that somebody who adds a channel wants to see."""


async def listing(visit: Visit) -> web.StreamResponse:
    """Show the channels, and what can be added."""
    state: settings.StatusTold = await visit.perform(settings.STATUS)
    return visit.render(
        "connect/list.html",
        channels=[
            (name, kind, form_url(("channels", name)), visit.may("configure", name))
            for name, kind in state.channels.items()
        ],
        kinds=state.kinds if visit.may("configure") else (),
        newest=state.newest,
    )


async def prepare(visit: Visit) -> web.StreamResponse:
    """Show what a platform has to be told of a channel: before it is added, for its secrets come from there."""
    kind, name = visit.query.get("kind", ""), visit.query.get("name", "").strip()
    model = await _model(visit, kind)
    modes = next((one.choices for one in model.fields if one.name == "mode"), ())
    mode = visit.query.get("mode", "") or next(iter(modes), "")
    told: acts.Prepared | None = None
    problem = ""
    try:
        if name:
            told = await visit.perform(acts.PREPARE, asked(acts.PREPARE, kind=kind, channel=name, mode=mode))
    except Invalid as fault:
        problem = str(fault)
    fields = [_name(visit, name)]
    if modes:
        choices = tuple(Choice(one) for one in modes)
        fields.append(Field(name="mode", label=visit.t("connect.mode"), kind="choice", value=mode, choices=choices))
    return visit.render(
        "connect/prepare.html",
        status=422 if problem else 200,
        kind=kind,
        fields=fields,
        outcome=told,
        problem=problem,
        new=f"{CONNECT}/new?kind={kind}",
    )


async def new(visit: Visit) -> web.StreamResponse:
    """Show the form of a channel to come."""
    return await _new(visit, visit.query.get("kind", ""))


async def add(visit: Visit) -> web.StreamResponse:
    """Add a channel, or show what that would change."""
    kind = visit.query.get("kind", "")
    model = await _model(visit, kind)
    section, wrong = values(model, sent(visit))
    section.pop("kind", None)
    dry_run = visit.form.get("do") != "save"
    if wrong:
        return await _new(visit, kind, status=422, problems=tuple(wrong), detail=visit.t("settings.again"))
    name = visit.form.get("name", "").strip()
    try:
        request = asked(acts.ADD, channel=name, kind=kind, settings=section, dry_run=dry_run)
        told: settings.ChangeTold = await visit.perform(acts.ADD, request)
    except Invalid as fault:
        problems = tuple(_placed(one, name) for one in problems_of(fault))
        return await _new(visit, kind, status=422, problems=problems)
    if not dry_run:
        return visit.see_other(f"{CONNECT}/channels/{name}", told="connect.added")
    if visit.partial:
        return visit.piece("settings/tried.html", outcome=told)
    return await _new(visit, kind, told=told)


async def check(visit: Visit) -> web.StreamResponse:
    """Say what is wrong with a channel to come while its form is filled in."""
    kind = visit.query.get("kind", "")
    model = await _model(visit, kind)
    section, wrong = values(model, sent(visit))
    name = visit.form.get("name", "").strip() or _UNNAMED
    edit = settings.Edit(path=path_text(("channels", name)), value=section | {"kind": kind})
    told: settings.Checked = await visit.perform(settings.CHECK, settings.CheckAsked(changes=(edit,)))
    first, more = _sorted(model)
    return checked(visit, model, [*first, *more], tuple(_placed(one, name) for one in (*wrong, *told.problems)))


async def remove(visit: Visit) -> web.StreamResponse:
    """Remove a channel."""
    request = asked(
        acts.REMOVE,
        channel=visit.fields["channel"],
        secrets=visit.form.get("secrets") == "on",
        expected=visit.form.get("expected"),
    )
    await visit.perform(acts.REMOVE, request)
    return visit.see_other(CONNECT, told="connect.removed")


async def test(visit: Visit) -> web.StreamResponse:
    """Show the form of a test."""
    return await _test(visit, None)


async def tested(visit: Visit) -> web.StreamResponse:
    """Test a channel."""
    to = {name: visit.form.get(name, "").strip() for name in ("room", "thread", "language")}
    return await _test(visit, await visit.perform(acts.PROBE, asked(acts.PROBE, channel=visit.fields["channel"], **to)))


async def _test(visit: Visit, told: acts.ProbeTold | None) -> web.Response:
    name = visit.fields["channel"]
    await visit.perform(settings.SHOW, asked(settings.SHOW, channel=name))  # whoever may not know of it sees none
    languages = (Choice("en", "English"), Choice("zh", "中文"))
    fields = (
        Field(
            name="room",
            label=visit.t("connect.room"),
            value=visit.form.get("room", ""),
            help=visit.t("connect.room.help"),
            attributes={"maxlength": "300", "autocomplete": "off"},
        ),
        Field(
            name="thread",
            label=visit.t("connect.thread"),
            value=visit.form.get("thread", ""),
            attributes={"maxlength": "300", "autocomplete": "off"},
        ),
        Field(
            name="language",
            label=visit.t("connect.language"),
            kind="choice",
            value=visit.form.get("language", visit.look.language),
            choices=languages,
        ),
    )
    return visit.render(
        "connect/test.html", name=name, fields=fields, outcome=told, settings=form_url(("channels", name))
    )


async def _model(visit: Visit, kind: str) -> Setting:
    model: Setting = await visit.perform(
        settings.DESCRIBE, settings.FormAsked(path=f"channels.{_STAND_IN}", kind=kind or None)
    )
    return model


async def _new(
    visit: Visit,
    kind: str,
    *,
    status: int = 200,
    problems: tuple[FieldProblem, ...] = (),
    detail: str = "",
    told: settings.ChangeTold | None = None,
) -> web.Response:
    model = await _model(visit, kind)
    if visit.partial:
        return visit.piece("settings/problems.html", problems=problems, detail=detail)
    entered = dict(visit.form) if visit.request.method == "POST" else None
    first, more = _sorted(model)
    reader = reader_of(visit, await visit.perform(settings.STATUS))

    def fields(found: list[Setting]) -> list[Field]:
        return [shown(one, model, reader, sent=entered, problems=problems) for one in found]

    return visit.render(
        "connect/new.html",
        status=status,
        kind=kind,
        action=f"{CONNECT}/new?kind={kind}",
        check=f"{CONNECT}/check?kind={kind}",
        name=_name(visit, visit.form.get("name", "")),
        prepare=f"{CONNECT}/prepare?kind={kind}" if kind != "console" else "",
        first=fields(first),
        more=fields(more),
        problems=problems,
        detail=detail,
        outcome=told,
    )


def _name(visit: Visit, value: str) -> Field:
    return Field(
        name="name",
        label=visit.t("connect.name"),
        value=value,
        help=visit.t("connect.name.help"),
        required=True,
        attributes={"pattern": "[a-z0-9\\-]+", "maxlength": "63", "autocomplete": "off"},
    )


def _sorted(model: Setting) -> tuple[list[Setting], list[Setting]]:
    """Return what is asked for at once, and the kind's other settings: not what every place may say, but the agent."""
    own: tuple[Group, ...] = groups(
        model,
        only=frozenset(
            one.name for one in model.fields if one.name not in RoomSettings.model_fields or one.name in _ALWAYS
        ),
    )
    found = [setting for group in own for setting in group.settings if setting.name != "kind"]
    first = [one for one in found if _asked_first(one)]
    return first, [one for one in found if one not in first]


def _asked_first(setting: Setting) -> bool:
    if setting.path != f"channels.{_STAND_IN}.{setting.name}":
        return False  # of a section that may be left out as a whole
    return setting.required or "secret" in (setting.kind, setting.item) or setting.name in ("mode", *_ALWAYS)


def _placed(problem: FieldProblem, name: str) -> FieldProblem:
    """Return a problem as one of the form's: there the channel has no name yet."""
    path = problem.path.replace(path_text(("channels", name)), f"channels.{_STAND_IN}", 1)
    return FieldProblem(path=path, value=problem.value, problem=problem.problem, remedy=problem.remedy)


PART = Part(
    name="connect",
    words=WORDS,
    pages=(
        get("/connect", listing),
        get("/connect/prepare", prepare),
        get("/connect/new", new),
        post("/connect/new", add),
        post("/connect/check", check),
        get(r"/connect/channels/{channel:[a-z0-9-]+}", test),
        post(r"/connect/channels/{channel:[a-z0-9-]+}", tested),
        post(r"/connect/channels/{channel:[a-z0-9-]+}/remove", remove),
    ),
    nav=(NavEntry(group="configure", word="connect.title", path=CONNECT, right="configure"),),
)
