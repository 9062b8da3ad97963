"""Dead letters and unknown sends: what the person did or did not see, and what to do about it, one by one or many at once."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from gateway.admin.acts import dead_letters as acts
from gateway.admin.console.asked import asked, problems_of
from gateway.admin.console.fields import Choice, Field
from gateway.admin.console.letters_words import WORDS
from gateway.admin.console.part import NavEntry, Part, get, post
from gateway.admin.console.visit import Visit
from gateway.admin.operations import FieldProblem, Invalid, Operation

LETTERS = "/admin/dead-letters"
_FIELDS = ("channel", "kind", "code")
_MOODS = {"dead": "bad", "unknown": "warn"}
_PIECES = {"sent": "good", "unknown": "warn", "dead": "bad"}


async def listing(visit: Visit) -> web.StreamResponse:
    """Show letters, the newest first."""
    return await _listed(visit)


async def _listed(
    visit: Visit,
    *,
    status: int = 200,
    problems: tuple[FieldProblem, ...] = (),
    results: tuple[acts.OneOfMany, ...] = (),
    others: bool = False,
) -> web.Response:
    wanted = visit.wanted(*_FIELDS, of=visit.form or visit.query)
    page: acts.LettersPage = await visit.perform(acts.LIST, asked(acts.LIST, **wanted, after=visit.query.get("after")))
    return visit.render(
        "letters/list.html",
        status=status,
        problems=problems,
        letters=page.letters,
        results=results,
        others=others,
        wanted=wanted,
        moods=_MOODS,
        filtered=bool(wanted),
        more=f"{LETTERS}?{urlencode(wanted | {'after': page.next})}" if page.next else None,
        fields=(
            Field(
                name="kind",
                label=visit.t("letters.kind"),
                kind="choice",
                value=wanted.get("kind", ""),
                choices=(
                    Choice("", visit.t("letters.any")),
                    *(Choice(kind, visit.t(f"letters.kind.{kind}")) for kind in _MOODS),
                ),
            ),
            Field(name="channel", label=visit.t("letters.channel"), value=wanted.get("channel", "")),
            Field(
                name="code",
                label=visit.t("letters.code"),
                value=wanted.get("code", ""),
                help=visit.t("letters.code.help"),
            ),
        ),
        answer=_words_field(visit, required=False, attributes={"form": "letters"}),
    )


async def many(visit: Visit) -> web.StreamResponse:
    """Deal with those that were ticked, or with all that the filter names, and tell what became of each."""
    turns, every = visit.form.getall("turn", []), visit.form.get("all") == "on"
    wanted = visit.wanted(*_FIELDS, of=visit.form)
    back = f"{LETTERS}?{urlencode(wanted)}" if wanted else LETTERS
    if not turns and not every:
        return visit.see_other(back, told="letters.none_ticked")
    given: dict[str, Any] = {"act": visit.form.get("act"), "text": visit.form.get("text")}
    given |= {**wanted, "limit": acts.MANY} if every else {"turns": turns}
    try:
        request = asked(acts.MANY_AT_ONCE, **given, may_repeat=visit.form.get("may_repeat") == "on")
        dealt: acts.ManyDealt = await visit.perform(acts.MANY_AT_ONCE, request)
    except Invalid as fault:
        return await _listed(visit, status=422, problems=problems_of(fault))
    if not dealt.more and all(one.done for one in dealt.results):
        return visit.see_other(back, told="letters.all_dealt", count=len(dealt.results))
    return await _listed(visit, results=dealt.results, others=dealt.more)


async def show(visit: Visit) -> web.StreamResponse:
    """Show one letter with its words."""
    return await _shown(visit)


async def _shown(visit: Visit, *, status: int = 200, problems: tuple[FieldProblem, ...] = ()) -> web.Response:
    turn = visit.fields["turn"]
    told: acts.LetterTold = await visit.perform(acts.SHOW, asked(acts.SHOW, turn=turn))
    return visit.render(
        "letters/letter.html",
        status=status,
        problems=problems,
        letter=told.letter,
        said=told.said,
        pieces=told.pieces,
        moods=_MOODS,
        pieces_moods=_PIECES,
        reads=visit.may("read", told.letter.channel),
        trace=f"/admin/turns/{turn}" if visit.leads_to("/admin/turns") else "",
        fields=(
            _words_field(visit, required=True),
            Field(
                name="name",
                label=visit.t("letters.name"),
                value=visit.form.get("name", visit.actor.name),
                help=visit.t("letters.name.help"),
                attributes={"autocomplete": "off"},
            ),
        ),
    )


async def retry(visit: Visit) -> web.StreamResponse:
    """Send it again, or have it answered again."""
    return await _dealt(visit, acts.RETRY, how=visit.form.get("how"), may_repeat=visit.form.get("may_repeat") == "on")


async def discard(visit: Visit) -> web.StreamResponse:
    """Set it aside."""
    return await _dealt(visit, acts.DISCARD)


async def answer(visit: Visit) -> web.StreamResponse:
    """Answer it by hand."""
    return await _dealt(visit, acts.ANSWER, text=visit.form.get("text"), name=visit.form.get("name"))


async def _dealt(visit: Visit, operation: Operation, **given: Any) -> web.StreamResponse:
    try:
        request = asked(operation, turn=visit.fields["turn"], seen=visit.form.get("seen"), **given)
        dealt: acts.LetterDealt = await visit.perform(operation, request)
    except Invalid as fault:
        return await _shown(visit, status=422, problems=problems_of(fault))
    return visit.see_other(LETTERS, told=f"letters.done.{dealt.done}")


def _words_field(visit: Visit, *, required: bool, attributes: dict[str, str] | None = None) -> Field:
    return Field(
        name="text",
        label=visit.t("letters.words"),
        kind="area",
        value=visit.form.get("text", ""),
        help=visit.t("letters.words.help"),
        required=required,
        attributes=attributes or {},
    )


PART = Part(
    name="letters",
    words=WORDS,
    pages=(
        get("/dead-letters", listing),
        post("/dead-letters", many),
        get("/dead-letters/{turn:[0-9]{1,19}}", show),
        post("/dead-letters/{turn:[0-9]{1,19}}/retry", retry),
        post("/dead-letters/{turn:[0-9]{1,19}}/discard", discard),
        post("/dead-letters/{turn:[0-9]{1,19}}/answer", answer),
    ),
    nav=(NavEntry(group="see", word="letters.title", path=LETTERS, right="handle"),),
)
