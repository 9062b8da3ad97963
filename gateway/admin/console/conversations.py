"""Conversations: listed, searched by words, and read as people saw them."""

from __future__ import annotations

from urllib.parse import urlencode

from aiohttp import web

from gateway.admin.acts import conversations as acts
from gateway.admin.console.asked import asked, problems_of
from gateway.admin.console.conversations_words import WORDS
from gateway.admin.console.fields import Field
from gateway.admin.console.part import NavEntry, Part, get
from gateway.admin.console.visit import Visit
from gateway.admin.operations import FieldProblem, Invalid

CONVERSATIONS = "/admin/conversations"
MESSAGES = "/admin/messages"
ROLES = {
    "user": "plain", "assistant": "good", "human": "good", "note": "plain", "overheard": "plain", "gateway": "plain",
    "unheard": "plain",
}  # fmt: skip
CHUNKS = {"sent": "good", "unknown": "warn", "dead": "bad"}
_FILTERS = ("channel", "room", "person")


async def listing(visit: Visit) -> web.StreamResponse:
    """Show conversations, the one last spoken in first."""
    wanted = visit.wanted(*_FILTERS)
    page, status, problems = acts.ConversationsPage(conversations=(), next=None), 200, tuple[FieldProblem, ...]()
    try:
        page = await visit.perform(acts.LIST, asked(acts.LIST, **wanted, after=visit.query.get("after")))
    except Invalid as fault:
        status, problems = 422, problems_of(fault)
    return visit.render(
        "conversations/list.html",
        status=status,
        problems=problems,
        conversations=page.conversations,
        reads=lambda one: visit.may("read", one.channel),
        searches=visit.offers(acts.SEARCH),
        filtered=bool(wanted) or "after" in visit.query,
        more=f"{CONVERSATIONS}?{urlencode(wanted | {'after': page.next})}" if page.next else None,
        fields=_filters(visit, wanted),
        words=_words(visit, ""),
    )


async def search(visit: Visit) -> web.StreamResponse:
    """Show messages that hold all the words."""
    wanted, words = visit.wanted(*_FILTERS), visit.query.get("words", "").strip()
    page, status, problems = None, 200, tuple[FieldProblem, ...]()
    if words:
        try:
            after = visit.query.get("after")
            page = await visit.perform(acts.SEARCH, asked(acts.SEARCH, **wanted, words=words, after=after))
        except Invalid as fault:
            status, problems = 422, problems_of(fault)
    further = None if page is None or page.next is None else urlencode(wanted | {"words": words, "after": page.next})
    return visit.render(
        "conversations/search.html",
        status=status,
        problems=problems,
        page=page,
        further=f"{MESSAGES}?{further}" if further else "",
        fields=(_words(visit, words), *_filters(visit, wanted)),
    )


async def show(visit: Visit) -> web.StreamResponse:
    """Show a conversation as people saw it."""
    number = visit.fields["conversation"]
    edges = {name: visit.query.get(name) for name in ("before", "behind")}
    page: acts.ConversationPage = await visit.perform(acts.SHOW, asked(acts.SHOW, conversation=number, **edges))
    lines = [line for line in page.lines if line.role not in ("gateway", "unheard")] or list(page.lines)
    at = f"{CONVERSATIONS}/{number}"
    return visit.render(
        "conversations/show.html",
        conversation=page.conversation,
        lines=page.lines,
        cut=page.cut,
        roles=ROLES,
        chunk_moods=CHUNKS,
        older=f"{at}?before={lines[0].line}" if page.before and lines else "",
        newer=f"{at}?behind={lines[-1].line}" if page.behind and lines else "",
    )


def _words(visit: Visit, value: str) -> Field:
    return Field(name="words", label=visit.t("conversations.words"), kind="search", value=value)


def _filters(visit: Visit, wanted: dict[str, str]) -> tuple[Field, ...]:
    return tuple(
        Field(name=name, label=visit.t(f"conversations.{name}"), value=wanted.get(name, "")) for name in _FILTERS
    )


PART = Part(
    name="conversations",
    words=WORDS,
    pages=(
        get("/conversations", listing),
        get("/conversations/{conversation:[0-9]{1,19}}", show),
        get("/messages", search),
    ),
    nav=(NavEntry(group="see", word="conversations.title", path=CONVERSATIONS, right="see"),),
)
