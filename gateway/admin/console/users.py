"""Users: who there is, what each may do, and where they are signed in."""

from __future__ import annotations

from aiohttp import web

from gateway.admin.acts import access, credentials, health
from gateway.admin.console.asked import asked, error_of, problems_of
from gateway.admin.console.fields import Choice, Field
from gateway.admin.console.part import NavEntry, Part, get, post
from gateway.admin.console.users_words import WORDS
from gateway.admin.console.visit import Visit
from gateway.admin.operations import FieldProblem, Invalid
from gateway.admin.rights import ROLES

USERS = "/admin/users"


async def listing(visit: Visit) -> web.StreamResponse:
    """Show the users."""
    return await _listed(visit)


async def _listed(visit: Visit, *, status: int = 200, problems: tuple[FieldProblem, ...] = ()) -> web.Response:
    page = await visit.perform(access.USERS_LIST, asked(access.USERS_LIST, after=visit.query.get("after")))
    return visit.render(
        "users/list.html",
        status=status,
        users=page.users,
        more=f"{USERS}?after={page.next}" if page.next else None,
        may_add=visit.may("access"),
        problems=problems,
        number=Field(
            name="user",
            label=visit.t("users.number"),
            value=visit.form.get("user", ""),
            required=True,
            error=error_of(problems, "user"),
            attributes={"inputmode": "numeric", "autocomplete": "off"},
        ),
        fields=(
            Field(
                name="name",
                label=visit.t("users.name"),
                value=visit.form.get("name", ""),
                required=True,
                error=error_of(problems, "name"),
                attributes={"autocomplete": "off"},
            ),
            *await _grant_fields(visit),
            Field(
                name="password",
                label=visit.t("users.password"),
                kind="secret",
                help=visit.t("users.password.help"),
                error=error_of(problems, "password"),
                attributes={"autocomplete": "new-password"},
            ),
        ),
    )


async def add(visit: Visit) -> web.StreamResponse:
    """Make a user, and show the password that was made for them, once."""
    name = visit.form.get("name", "")
    try:
        request = asked(access.USERS_ADD, name=name, password=visit.form.get("password"), grants=[_grant(visit)])
        made = await visit.perform(access.USERS_ADD, request)
    except Invalid as fault:
        return await _listed(visit, status=422, problems=problems_of(fault))
    if made.password is None:
        return visit.see_other(f"{USERS}/{made.user}", told="users.added")
    return visit.render("users/password.html", user=made.user, name=name, password=made.password)


async def restore(visit: Visit) -> web.StreamResponse:
    """Let a removed user of the identity provider sign in again."""
    try:
        await visit.perform(access.USERS_RESTORE, asked(access.USERS_RESTORE, user=visit.form.get("user", "")))
    except Invalid as fault:
        return await _listed(visit, status=422, problems=problems_of(fault))
    return visit.see_other(USERS, told="users.restored")


async def show(visit: Visit) -> web.StreamResponse:
    """Show one user."""
    return await _shown(visit)


async def _shown(visit: Visit, *, status: int = 200, problems: tuple[FieldProblem, ...] = ()) -> web.Response:
    user = await visit.perform(access.USERS_SHOW, asked(access.USERS_SHOW, user=visit.fields["user"]))
    whole = visit.may("access")
    return visit.render(
        "users/user.html",
        status=status,
        user=user,
        whole=whole,
        own=visit.actor.id == f"user:{user.id}",
        problems=problems,
        acts=f"/admin/audit?actor=user:{user.id}" if visit.leads_to("/admin/audit") else "",
        sessions=await _sessions(visit, user.id) if whole else (),
        fields=await _grant_fields(visit),
        password=Field(
            name="password",
            label=visit.t("users.password.new"),
            kind="secret",
            help=visit.t("users.password.help"),
            attributes={"autocomplete": "new-password"},
        ),
    )


async def _sessions(visit: Visit, user: str) -> tuple[credentials.SessionTold, ...]:
    told: credentials.SessionsTold = await visit.perform(
        credentials.SESSIONS_LIST, asked(credentials.SESSIONS_LIST, user=user)
    )
    return told.sessions


async def grant(visit: Visit) -> web.StreamResponse:
    """Give a role."""
    request = asked(access.USERS_GRANT, user=visit.fields["user"], **_grant(visit))
    await visit.perform(access.USERS_GRANT, request)
    return visit.see_other(_path(visit), told="users.granted")


async def revoke(visit: Visit) -> web.StreamResponse:
    """Take a role away."""
    request = asked(access.USERS_REVOKE, user=visit.fields["user"], channel=visit.form.get("channel"))
    await visit.perform(access.USERS_REVOKE, request)
    return visit.see_other(_path(visit), told="users.revoked")


async def password(visit: Visit) -> web.StreamResponse:
    """Give somebody another password."""
    request = asked(access.USERS_PASSWORD, user=visit.fields["user"], password=visit.form.get("password"))
    try:
        made = await visit.perform(access.USERS_PASSWORD, request)
    except Invalid as fault:
        return await _shown(visit, status=422, problems=problems_of(fault))
    if made.password is None:
        return visit.see_other(_path(visit), told="users.password.set")
    user = await visit.perform(access.USERS_SHOW, asked(access.USERS_SHOW, user=made.user))
    return visit.render("users/password.html", user=made.user, name=user.name, password=made.password)


async def end_session(visit: Visit) -> web.StreamResponse:
    """Sign somebody out somewhere."""
    request = asked(credentials.SESSIONS_END, session=visit.form.get("session"))
    await visit.perform(credentials.SESSIONS_END, request)
    return visit.see_other(_path(visit), told="users.session.ended")


async def remove(visit: Visit) -> web.StreamResponse:
    """Remove a user."""
    await visit.perform(access.USERS_REMOVE, asked(access.USERS_REMOVE, user=visit.fields["user"]))
    return visit.see_other(USERS, told="users.removed")


def _path(visit: Visit) -> str:
    return f"{USERS}/{visit.fields['user']}"


def _grant(visit: Visit) -> dict[str, str]:
    """Return the grant that the form asks for, as in JSON."""
    fields = {"role": visit.form.get("role", ""), "channel": visit.form.get("channel", "")}
    return {name: value for name, value in fields.items() if value}


async def _grant_fields(visit: Visit) -> tuple[Field, ...]:
    """Return the fields of a grant: roles, and the channels that the reader may give them for."""
    told = (await visit.perform(health.HEALTH, health.HealthAsked())).channels if visit.offers(health.HEALTH) else ()
    names = [one.channel for one in told if visit.may("access", one.channel)]
    everywhere = (Choice("", visit.t("users.everywhere")),) if visit.may("access") else ()
    return (
        Field(
            name="role",
            label=visit.t("users.role"),
            kind="choice",
            value=visit.form.get("role", "viewer"),
            choices=tuple(Choice(role, visit.t(f"shell.role.{role}")) for role in ROLES),
            help=visit.t("users.role.help"),
        ),
        Field(
            name="channel",
            label=visit.t("users.channel"),
            kind="choice",
            value=visit.form.get("channel", ""),
            choices=(*everywhere, *(Choice(name) for name in names)),
        ),
    )


PART = Part(
    name="users",
    words=WORDS,
    pages=(
        get("/users", listing),
        post("/users", add),
        post("/users/restore", restore),
        get("/users/{user:[0-9]{1,19}}", show),
        post("/users/{user:[0-9]{1,19}}/grant", grant),
        post("/users/{user:[0-9]{1,19}}/revoke", revoke),
        post("/users/{user:[0-9]{1,19}}/password", password),
        post("/users/{user:[0-9]{1,19}}/end-session", end_session),
        post("/users/{user:[0-9]{1,19}}/remove", remove),
    ),
    nav=(NavEntry(group="access", word="users.title", path=USERS, right="access"),),
)
