"""Sessions of the console, over both databases."""

from __future__ import annotations

import pytest

from gateway.admin.acts.access import USERS_GRANT, USERS_REVOKE
from gateway.admin.acts.credentials import SESSIONS_END, SESSIONS_LIST
from gateway.admin.operations import Missing, Refused
from gateway.admin.rights import Actor, Grant, local
from gateway.admin.sessions import MOST, csrf_of
from tests.unit.admin.access_world import World, number


async def begun(access: World, actor: Actor, address: str = "192.0.2.1") -> str:
    return await access.sessions.begin(int(number(actor)), address=address, browser="Firefox 狐")


async def test_a_session_is_its_user(access: World) -> None:
    """Who shows what the browser was given acts as the user, with the rights of that moment: what is given or taken
    meanwhile counts with the next request."""
    owner, wen = await access.user("owner", "owner"), await access.user("wen", "viewer", "shop")
    secret = await begun(access, wen)
    first = await access.sessions.current(secret)
    await access.do(owner, USERS_GRANT, user=number(wen), role="admin")
    raised = await access.sessions.current(secret)
    await access.do(owner, USERS_REVOKE, user=number(wen))
    await access.do(owner, USERS_REVOKE, user=number(wen), channel="shop")
    left = await access.sessions.current(secret)

    assert first is not None
    assert raised is not None
    assert left is not None
    assert wen == first.actor
    assert (Grant(role="admin"),) == raised.actor.grants
    assert () == left.actor.grants


@pytest.mark.parametrize("shown", ["", "x", "\ud800", "' OR 1=1 --", "0" * 10_000])
async def test_what_is_no_session_is_nobody(access: World, shown: str) -> None:
    """Whatever a cookie holds."""
    await begun(access, await access.user("owner", "owner"))

    assert await access.sessions.current(shown) is None


async def test_neither_secret_nor_forgery_token_is_stored(access: World) -> None:
    """Who reads the table signs in nowhere: it holds a digest, and the token of forms is made from what it lacks."""
    secret = await begun(access, await access.user("owner", "owner"))
    async with access.database.reading() as db:
        rows = await db.rows("SELECT * FROM admin_sessions")

    stored = repr([tuple(row) for row in rows])
    assert secret not in stored
    assert csrf_of(secret) not in stored
    assert csrf_of(secret) != csrf_of(secret + "x")


async def test_every_sign_in_is_a_session_of_its_own(access: World) -> None:
    """Session fixation: what a browser brought along is never what it is known by afterwards."""
    owner = await access.user("owner", "owner")

    assert await begun(access, owner) != await begun(access, owner)


async def test_a_session_that_rests_ends(access: World) -> None:
    """Each request begins its rest anew; after the settings' time without one it is over."""
    secret = await begun(access, await access.user("owner", "owner"))
    idle_ms = int(access.settings.session_idle_s * 1000)
    for _ in range(3):
        access.now_ms += idle_ms - 1
        assert await access.sessions.current(secret) is not None
    access.now_ms += idle_ms

    assert await access.sessions.current(secret) is None


async def test_a_session_ends_however_busy_it_is(access: World) -> None:
    """After the settings' absolute time one signs in again."""
    secret = await begun(access, await access.user("owner", "owner"))
    until = access.now_ms + int(access.settings.session_s * 1000)
    while access.now_ms + 1_800_000 < until:
        access.now_ms += 1_800_000
        assert await access.sessions.current(secret) is not None
    access.now_ms = until

    assert await access.sessions.current(secret) is None


async def test_old_sessions_go(access: World) -> None:
    """A user's oldest session gives way to one too many, and what is over leaves no row."""
    owner = await access.user("owner", "owner")
    first, *others = [await begun(access, owner) for _ in range(MOST + 1)]
    assert await access.sessions.current(first) is None
    assert all([await access.sessions.current(secret) is not None for secret in others])
    access.now_ms += int(access.settings.session_s * 1000)
    await begun(access, owner)

    async with access.database.reading() as db:
        assert [(1,)] == [tuple(row) for row in await db.rows("SELECT count(*) FROM admin_sessions")]


async def test_one_sees_and_ends_ones_own(access: World) -> None:
    """Where one is signed in, the newest first; the one that is ended is over at once."""
    wen = await access.user("wen", "viewer")
    secrets = [await begun(access, wen, address) for address in ("192.0.2.1", "2001:db8::1")]
    told = (await access.do(wen, SESSIONS_LIST)).sessions
    await access.do(wen, SESSIONS_END, session=told[1].id)

    assert [("2001:db8::1", "Firefox 狐"), ("192.0.2.1", "Firefox 狐")] == [(one.address, one.browser) for one in told]
    assert [False, True] == [await access.sessions.current(secret) is not None for secret in secrets]


async def test_others_sessions_are_the_owners_business(access: World) -> None:
    """IDOR: an admin neither sees nor ends another's session, and is not told whether there is one of that number."""
    owner, wen, admin = [
        await access.user(name, role) for name, role in (("o", "owner"), ("w", "viewer"), ("a", "admin"))
    ]
    secret = await begun(access, wen)
    (sitting,) = await access.sessions.listed(int(number(wen)))
    with pytest.raises(Refused):
        await access.do(admin, SESSIONS_LIST, user=number(wen))
    with pytest.raises(Missing) as theirs:
        await access.do(admin, SESSIONS_END, session=str(sitting.id))
    with pytest.raises(Missing) as nobodys:
        await access.do(admin, SESSIONS_END, session="999")
    assert str(theirs.value).replace(str(sitting.id), "N") == str(nobodys.value).replace("999", "N")
    assert await access.sessions.current(secret) is not None
    assert 1 == len((await access.do(owner, SESSIONS_LIST, user=number(wen))).sessions)
    await access.do(owner, SESSIONS_END, session=str(sitting.id))

    assert await access.sessions.current(secret) is None


async def test_who_is_no_user_is_signed_in_nowhere(access: World) -> None:
    """Whoever runs the gateway has no sessions of their own."""
    assert () == (await access.do(local(), SESSIONS_LIST)).sessions
