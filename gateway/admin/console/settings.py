"""Pages of settings: what is in force, forms with a trial, history, comparison, the way back, the export."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import quote

import msgspec
from aiohttp import web

from config.forms import Field as Setting
from config.meanings import meaning, named
from config.problems import path_of, path_text
from gateway.admin.acts import settings as acts
from gateway.admin.console.asked import asked, number, problems_of
from gateway.admin.console.fields import Field
from gateway.admin.console.part import NavEntry, Part, get, post
from gateway.admin.console.settings_form import PREFIX, Reader, edits, error_at, groups, maps, name_of, shown
from gateway.admin.console.settings_words import WORDS
from gateway.admin.console.visit import Visit
from gateway.admin.deleting import MOST, Unconfirmed
from gateway.admin.operations import Disagrees, FieldProblem, Invalid

SETTINGS = "/admin/settings"
FORM = f"{SETTINGS}/form"
_KNOWN = tuple(key.removeprefix("settings.section.") for key in WORDS if key.startswith("settings.section."))
"""Sections that have words, in the order in which they are shown: what one looks for most comes first."""


async def overview(visit: Visit) -> web.StreamResponse:
    """Show what is in force, and the ways to all that can be set."""
    status: acts.StatusTold = await visit.perform(acts.STATUS)
    history = await visit.perform(acts.HISTORY, asked(acts.HISTORY, limit=5))
    names = sorted(
        (name for name in status.sections if name != "channels"), key=lambda name: (*_KNOWN, name).index(name)
    )
    sections = [(section_told(visit, name), form_url((name,))) for name in names]
    return visit.render(
        "settings/overview.html",
        state=status,
        history=history.revisions,
        sections=sections,
        channels=[(name, form_url(("channels", name)), kind) for name, kind in status.channels.items()],
    )


async def form(visit: Visit) -> web.StreamResponse:
    """Show a section as a form; with `entry`, the section of that name in it."""
    steps = _steps(visit)
    entry = visit.query.get("entry", "").strip()
    if entry:
        return visit.see_other(form_url((*steps, entry)))
    return await _form(visit, steps)


async def change(visit: Visit) -> web.StreamResponse:
    """Change what a form says, or show what that would change."""
    steps = _steps(visit)
    state: acts.StatusTold = await visit.perform(acts.STATUS)
    if visit.form.get("shown", state.digest) != state.digest:  # what was not touched would take others' changes back
        return await _late(visit, steps)
    model: Setting = await visit.perform(acts.DESCRIBE, acts.FormAsked(path=path_text(steps)))
    found, wrong = edits(model, sent(visit))
    dry_run = visit.form.get("do") != "save"
    if wrong:
        return await _form(visit, steps, status=422, problems=tuple(wrong), detail=visit.t("settings.again"))
    if not found:
        if dry_run:
            return await _tried(visit, steps, None)
        return visit.see_other(form_url(steps), told="settings.unchanged")
    return await carried_out(
        visit,
        steps,
        acts.ChangeAsked(
            changes=tuple(found),
            reason=visit.form.get("reason", "").strip()[:500],
            expected=number("expected", visit.form.get("expected", "0")),
            dry_run=dry_run,
        ),
    )


async def confirmed(visit: Visit, request: acts.ChangeAsked) -> acts.ChangeAsked:
    """Return the change as one that may delete, where its reader has seen what goes by just this change, and said so."""
    seen = visit.form.get("delete", "")
    if request.dry_run or not seen:
        return request
    told: acts.ChangeTold = await visit.perform(acts.CHANGE, msgspec.structs.replace(request, dry_run=True))
    return msgspec.structs.replace(request, delete=seen == told.digest)


async def check(visit: Visit) -> web.StreamResponse:
    """Say what is wrong with a form while it is filled in, at each of its fields."""
    model: Setting = await visit.perform(acts.DESCRIBE, acts.FormAsked(path=path_text(_steps(visit))))
    found, wrong = edits(model, sent(visit))
    if found:
        told: acts.Checked = await visit.perform(acts.CHECK, acts.CheckAsked(changes=tuple(found[: acts.MANY])))
        wrong += told.problems
    settings = [one for group in groups(model) for one in group.settings]
    return checked(visit, model, settings, tuple(wrong))


def checked(
    visit: Visit, model: Setting, settings: Sequence[Setting], problems: tuple[FieldProblem, ...]
) -> web.Response:
    """Return what is wrong, for the places that a form of these settings has for it."""
    fields = [
        Field(name=name_of(one, model), label="", error=error_at(one, problems), checked=True) for one in settings
    ]
    elsewhere = [one for one in problems if not any(error_at(setting, (one,)) for setting in settings)]
    return visit.piece("settings/checked.html", fields=fields, elsewhere=elsewhere)


def sent(visit: Visit) -> dict[str, str]:
    """Return the settings among a form's fields."""
    return {name: value for name, value in visit.form.items() if name.startswith(PREFIX)}


async def carried_out(visit: Visit, steps: tuple[str, ...], request: acts.ChangeAsked) -> web.StreamResponse:
    """Carry a change out, and go back to the form at `steps`; show it again where that can't be."""
    try:
        told: acts.ChangeTold = await visit.perform(acts.CHANGE, await confirmed(visit, request))
    except Unconfirmed:
        told = await visit.perform(acts.CHANGE, msgspec.structs.replace(request, dry_run=True))
        return await _form(visit, steps, status=422, detail=visit.t("settings.deletes.confirm"), told=told, tried=True)
    except Invalid as fault:
        return await _form(visit, steps, status=422, problems=problems_of(fault))
    except Disagrees:
        return await _late(visit, steps)
    if request.dry_run:
        return await _tried(visit, steps, told)
    return saved(visit, form_url(steps), told, expected=request.expected)


def saved(visit: Visit, path: str, told: acts.ChangeTold, *, expected: int | None) -> web.StreamResponse:
    """Go on to a page that says what became of a change that was decided on revision `expected`."""
    if told.number == expected:
        return visit.see_other(path, told="settings.unchanged")
    key = "settings.saved.stayed" if told.stayed else "settings.saved" if told.in_force else "settings.saved.later"
    return visit.see_other(path, told=key, number=told.number, channels=", ".join(told.stayed))


async def remove(visit: Visit) -> web.StreamResponse:
    """Remove a section that has a name: a room, a thread, an agent."""
    steps = _steps(visit)
    above = steps[:-2] if steps[-2:-1] in (("rooms",), ("threads",)) else steps[:-1]
    edit = acts.Edit(path=path_text(steps), act="remove")
    expected = number("expected", visit.form.get("expected", "0"))
    try:
        told = await visit.perform(acts.CHANGE, acts.ChangeAsked(changes=(edit,), expected=expected))
    except Invalid as fault:
        return await _form(visit, steps, status=422, problems=problems_of(fault))
    return saved(visit, form_url(above), told, expected=expected)


async def _late(visit: Visit, steps: tuple[str, ...]) -> web.StreamResponse:
    """Show the form again, with all that it would change by now: whatever its reader left as it was shown, too."""
    model: Setting = await visit.perform(acts.DESCRIBE, acts.FormAsked(path=path_text(steps)))
    found, _ = edits(model, sent(visit))
    told: acts.ChangeTold | None = None
    if found:
        with suppress(Invalid):  # said when it is sent again
            told = await visit.perform(acts.CHANGE, acts.ChangeAsked(changes=tuple(found), dry_run=True))
    return await _form(visit, steps, status=409, detail=visit.t("settings.late"), told=told, tried=True)


async def _tried(visit: Visit, steps: tuple[str, ...], told: acts.ChangeTold | None) -> web.StreamResponse:
    if visit.partial:
        return visit.piece("settings/tried.html", outcome=told, most=MOST)
    return await _form(visit, steps, told=told, tried=True)


async def _form(
    visit: Visit,
    steps: tuple[str, ...],
    *,
    status: int = 200,
    problems: tuple[FieldProblem, ...] = (),
    detail: str = "",
    told: acts.ChangeTold | None = None,
    tried: bool = False,
) -> web.Response:
    state: acts.StatusTold = await visit.perform(acts.STATUS)
    model: Setting = await visit.perform(acts.DESCRIBE, acts.FormAsked(path=path_text(steps)))
    entered = dict(visit.form) if visit.request.method == "POST" else None
    if visit.partial:
        return visit.piece("settings/problems.html", problems=problems, detail=detail)
    reader = reader_of(visit, state)
    return visit.render(
        "settings/form.html",
        status=status,
        steps=steps,
        title=title(visit, steps),
        crumbs=crumbs(visit, steps),
        state=state,
        model=model,
        action=form_url(steps),
        check=f"{SETTINGS}/check?path={quote(path_text(steps), safe='')}",
        may_change=visit.may("configure", steps[1] if steps[0] == "channels" and len(steps) > 1 else None),
        groups=[
            (
                group_told(visit, group.name),
                group,
                [shown(one, model, reader, sent=entered, problems=problems) for one in group.settings],
            )
            for group in groups(model)
        ],
        maps=[
            (one, reader.meaning(one), [(key, form_url((*path_of(one.path), key))) for key in one.keys])
            for one in ((model,) if model.kind == "map" else maps(model))
        ],
        named=steps[-2:-1] in (("rooms",), ("threads",), ("agents",), ("models",)),
        reason=Field(
            name="reason",
            label=visit.t("settings.reason"),
            value=visit.form.get("reason", ""),
            attributes={"maxlength": "500", "autocomplete": "off"},
        ),
        problems=problems,
        detail=detail,
        outcome=told,
        tried=tried,
        most=MOST,
    )


async def history(visit: Visit) -> web.StreamResponse:
    """Show all changes."""
    page: acts.History = await visit.perform(acts.HISTORY, asked(acts.HISTORY, after=visit.query.get("after")))
    more = f"{SETTINGS}/history?after={page.next}" if page.next else None
    return visit.render("settings/history.html", history=page.revisions, more=more)


async def revision(visit: Visit) -> web.StreamResponse:
    """Show one revision: what it says, what it changed, and what going back to it would change."""
    wanted = number("number", visit.fields["number"])
    told = await visit.perform(acts.REVISION, acts.RevisionAsked(number=wanted))
    changed = await visit.perform(acts.COMPARE, acts.CompareAsked(old=wanted - 1, new=wanted))
    state: acts.StatusTold = await visit.perform(acts.STATUS)
    back: acts.ChangeTold | None = None
    refused: tuple[FieldProblem, ...] = ()
    if visit.may("configure") and wanted != state.newest:
        try:
            back = await visit.perform(acts.ROLL_BACK, acts.RollBackAsked(number=wanted, dry_run=True))
        except Invalid as fault:
            refused = problems_of(fault)
    return visit.render(
        "settings/revision.html",
        one=told,
        changed=changed.changes,
        back=back,
        newest=state.newest,
        refused=refused,
        most=MOST,
    )


async def roll_back(visit: Visit) -> web.StreamResponse:
    """Let a revision count again."""
    request = acts.RollBackAsked(
        number=number("number", visit.fields["number"]),
        reason=visit.form.get("reason", "").strip()[:500],
        expected=number("expected", visit.form.get("expected", "0")),
        delete="delete" in visit.form,
    )
    told = await visit.perform(acts.ROLL_BACK, request)
    return saved(visit, SETTINGS, told, expected=request.expected)


async def compare(visit: Visit) -> web.StreamResponse:
    """Show what two revisions say differently."""
    status: acts.StatusTold = await visit.perform(acts.STATUS)
    old, new = visit.query.get("old", str(max(status.newest - 1, 0))), visit.query.get("new", str(status.newest))
    told = await visit.perform(acts.COMPARE, asked(acts.COMPARE, old=old, new=new))
    fields = [
        Field(
            name=name,
            label=visit.t(f"settings.compare.{name}"),
            kind="number",
            value=value,
            attributes={"min": "0", "max": str(status.newest), "step": "1"},
        )
        for name, value in (("old", old), ("new", new))
    ]
    return visit.render("settings/compare.html", outcome=told, fields=fields)


async def export(visit: Visit) -> web.StreamResponse:
    """Download file and revision as one text."""
    return await visit.stream(await visit.perform(acts.EXPORT))


def form_url(steps: tuple[str, ...]) -> str:
    """Return where the form of a section is."""
    return f"{FORM}?path={quote(path_text(steps), safe='')}"


def group_told(visit: Visit, name: str) -> str:
    """Return a heading in a form."""
    key = f"settings.group.{name or 'own'}"
    return visit.t(key) if key in WORDS else named(name, visit.look.language)


def section_told(visit: Visit, name: str) -> str:
    """Return what a top-level section is about."""
    return visit.t(f"settings.section.{name}") if name in _KNOWN else visit.t("settings.section.other", name=name)


def title(visit: Visit, steps: tuple[str, ...]) -> str:
    """Return a section's heading: its own name, or what it is about."""
    return (
        section_told(visit, steps[0])
        if len(steps) == 1
        else steps[-1].replace("_", " ")
        if len(steps) % 2
        else steps[-1]
    )


def crumbs(visit: Visit, steps: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the pages above a section's."""
    found = [(visit.t("settings.title"), SETTINGS)]
    for n in range(1, len(steps)):
        if steps[n - 1] in ("rooms", "threads") and n % 2 == 1:
            continue  # a list that its channel's page shows already
        found.append((section_told(visit, steps[0]) if n == 1 else steps[n - 1], form_url(steps[:n])))
    return found


def reader_of(visit: Visit, state: acts.StatusTold) -> Reader:
    """Return for whom forms are filled in."""
    language = visit.look.language
    return Reader(
        t=visit.t,
        named=lambda name: named(name, language),
        meaning=lambda one: meaning(one.description, language),
        agents=state.agents,
        file=state.file,
    )


def _steps(visit: Visit) -> tuple[str, ...]:
    try:
        steps = path_of(visit.query.get("path", ""))
    except ValueError as exc:
        raise Invalid(f"path: {exc}") from None
    if not steps:
        raise Invalid("path: is missing; name a section, such as channels.web")
    return steps


PART = Part(
    name="settings",
    words=WORDS,
    pages=(
        get("/settings", overview),
        get("/settings/form", form),
        post("/settings/form", change),
        post("/settings/check", check),
        post("/settings/remove", remove),
        get("/settings/history", history),
        get(r"/settings/revisions/{number:\d{1,9}}", revision),
        post(r"/settings/revisions/{number:\d{1,9}}", roll_back),
        get("/settings/compare", compare),
        get("/settings/export", export),
    ),
    nav=(NavEntry(group="configure", word="settings.title", path=SETTINGS, right="see"),),
)
