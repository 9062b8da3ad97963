"""One's own account: rights, password, where one is signed in, and API tokens."""

from __future__ import annotations

from aiohttp import web

from gateway.admin.acts import access, credentials
from gateway.admin.console.account_words import WORDS
from gateway.admin.console.asked import asked, error_of, problems_of
from gateway.admin.console.fields import Choice, Field
from gateway.admin.console.part import NavEntry, Part, get, post
from gateway.admin.console.signing import SIGN_IN
from gateway.admin.console.visit import Visit
from gateway.admin.grants import covers
from gateway.admin.operations import FieldProblem, Invalid
from gateway.admin.rights import ROLES, Grant

ACCOUNT, TOKENS = "/admin/account", "/admin/tokens"


async def account(visit: Visit) -> web.StreamResponse:
    """Show who one is."""
    return await _account(visit)


async def _account(visit: Visit, *, status: int = 200, problems: tuple[FieldProblem, ...] = ()) -> web.Response:
    me: access.Me = await visit.perform(access.ME)
    told: credentials.SessionsTold = await visit.perform(credentials.SESSIONS_LIST, asked(credentials.SESSIONS_LIST))
    fields = (
        Field(
            name="current",
            label=visit.t("account.password.current"),
            kind="secret",
            required=True,
            error=error_of(problems, "current"),
            attributes={"autocomplete": "current-password"},
        ),
        Field(
            name="password",
            label=visit.t("account.password.new"),
            kind="secret",
            required=True,
            help=visit.t("account.password.help"),
            error=error_of(problems, "password"),
            attributes={"autocomplete": "new-password", "minlength": "12"},
        ),
    )
    return visit.render(
        "account/account.html", status=status, problems=problems, me=me, sessions=told.sessions, fields=fields
    )


async def password(visit: Visit) -> web.StreamResponse:
    """Change one's own password. Every session ends with the old one, this one too."""
    try:
        request = asked(
            access.USERS_PASSWORD,
            user=visit.actor.id.removeprefix("user:"),
            current=visit.form.get("current"),
            password=visit.form.get("password"),
        )
        await visit.perform(access.USERS_PASSWORD, request)
    except Invalid as fault:
        return await _account(visit, status=422, problems=problems_of(fault))
    return visit.see_other(SIGN_IN, told="account.password.changed")


async def end_session(visit: Visit) -> web.StreamResponse:
    """Sign out somewhere else."""
    request = asked(credentials.SESSIONS_END, session=visit.form.get("session"))
    await visit.perform(credentials.SESSIONS_END, request)
    return visit.see_other(ACCOUNT, told="account.session.ended")


async def tokens(visit: Visit) -> web.StreamResponse:
    """Show one's own tokens; to an owner who asks for them, everybody's."""
    return await _tokens(visit)


async def _tokens(visit: Visit, *, status: int = 200, problems: tuple[FieldProblem, ...] = ()) -> web.Response:
    everybodys = visit.query.get("of") == "everybody" and visit.may("access")
    request = asked(credentials.TOKENS_LIST, everybodys=everybodys or None, after=visit.query.get("after"))
    page: credentials.TokensPage = await visit.perform(credentials.TOKENS_LIST, request)
    of = "of=everybody&" if everybodys else ""
    return visit.render(
        "account/tokens.html",
        status=status,
        tokens=page.tokens,
        more=f"{TOKENS}?{of}after={page.next}" if page.next else None,
        everybodys=everybodys,
        may_see_all=visit.may("access"),
        problems=problems,
        fields=(
            Field(
                name="name",
                label=visit.t("account.token.name"),
                value=visit.form.get("name", ""),
                help=visit.t("account.token.name.help"),
                required=True,
                attributes={"autocomplete": "off", "maxlength": "100"},
            ),
            Field(
                name="grant",
                label=visit.t("account.token.grant"),
                kind="choice",
                value=visit.form.get("grant", ""),
                choices=_grants(visit),
                help=visit.t("account.token.grant.help"),
            ),
            Field(
                name="days",
                label=visit.t("account.token.days"),
                kind="number",
                value=visit.form.get("days", str(credentials.DEFAULT_DAYS)),
                attributes={"min": "1", "max": str(credentials.MOST_DAYS), "step": "1"},
            ),
        ),
    )


def _grants(visit: Visit) -> tuple[Choice, ...]:
    """Return what a token may be given: each role that the reader holds for a place, and those below it."""
    held = visit.actor.grants
    choices = [Choice("", visit.t("account.token.grant.all"))]
    for channel in dict.fromkeys(grant.channel for grant in held):
        for role in ROLES:
            if covers(held, Grant(role=role, channel=channel)):
                told = visit.t(f"shell.role.{role}")
                where = visit.t("account.everywhere") if channel is None else channel
                choices.append(Choice(f"{role}@{channel or ''}", f"{told} · {where}"))
    return tuple(choices)


async def make_token(visit: Visit) -> web.StreamResponse:
    """Make a token and show it, once."""
    role, _, channel = visit.form.get("grant", "").partition("@")
    grants = [{"role": role} | ({"channel": channel} if channel else {})] if role else None
    try:
        request = asked(
            credentials.TOKENS_CREATE, name=visit.form.get("name"), grants=grants, days=visit.form.get("days")
        )
        made: credentials.TokenMade = await visit.perform(credentials.TOKENS_CREATE, request)
    except Invalid as fault:
        return await _tokens(visit, status=422, problems=problems_of(fault))
    return visit.render("account/token.html", name=visit.form.get("name", ""), made=made)


async def revoke_token(visit: Visit) -> web.StreamResponse:
    """End a token."""
    request = asked(credentials.TOKENS_REVOKE, token=visit.form.get("token"))
    await visit.perform(credentials.TOKENS_REVOKE, request)
    return visit.see_other(TOKENS, told="account.token.revoked")


PART = Part(
    name="account",
    words=WORDS,
    pages=(
        get("/account", account),
        post("/account/password", password),
        post("/account/end-session", end_session),
        get("/tokens", tokens),
        post("/tokens", make_token),
        post("/tokens/revoke", revoke_token),
    ),
    nav=(
        NavEntry(group="access", word="account.title", path=ACCOUNT, right=None),
        NavEntry(group="access", word="account.tokens", path=TOKENS, right="see"),
    ),
)
