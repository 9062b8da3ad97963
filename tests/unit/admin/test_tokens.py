"""API tokens, over both databases."""

from __future__ import annotations

import pytest

from gateway.admin.acts.access import USERS_ADD, USERS_GRANT, USERS_LIST, USERS_PASSWORD, USERS_REMOVE, USERS_REVOKE
from gateway.admin.acts.credentials import SESSIONS_LIST, TOKENS_CREATE, TOKENS_LIST, TOKENS_REVOKE, TokenMade
from gateway.admin.operations import Invalid, Missing, Refused
from gateway.admin.rights import Actor, Grant, local
from gateway.admin.tokens import MOST
from tests.unit.admin.access_world import PASSWORD, World, number

DAY_MS = 86_400_000


async def made(access: World, actor: Actor, **fields: object) -> TokenMade:
    token: TokenMade = await access.do(actor, TOKENS_CREATE, name="ci 持续", **fields)
    return token


async def test_a_token_acts_with_its_own_rights(access: World) -> None:
    """It may what it was made for, under its own id: the audit log tells its acts from its user's."""
    owner = await access.user("owner", "owner")
    token = await made(access, owner, grants=[{"role": "viewer", "channel": "shop"}])
    actor = await access.acting(token.secret)

    assert token.secret.startswith("clew_")
    assert (
        Actor(id=f"token:{token.id}", name="ci 持续", grants=(Grant(role="viewer", channel="shop"),), door="api")
        == actor
    )
    assert access.now_ms + 90 * DAY_MS == token.ends_ms


async def test_a_token_is_shown_once(access: World) -> None:
    """Neither the table nor a list nor the audit log holds it."""
    owner = await access.user("owner", "owner")
    token = await made(access, owner)
    listed = await access.do(owner, TOKENS_LIST)
    async with access.database.reading() as db:
        rows = [tuple(row) for table in ("tokens", "audit") for row in await db.rows(f"SELECT * FROM admin_{table}")]

    assert token.secret not in repr(rows)
    assert token.secret not in repr(listed)
    assert [(token.id, None)] == [(one.id, one.used_ms) for one in listed.tokens]


@pytest.mark.parametrize("shown", ["", "clew_", "clew_x", "nothing", "clew_' OR 1=1 --", "clew_\ud800"])
async def test_what_is_no_token_is_nobody(access: World, shown: str) -> None:
    """Whatever a header holds."""
    await made(access, await access.user("owner", "owner"))

    assert await access.tokens.actor(shown) is None


async def test_nobody_makes_a_token_wider_than_themselves(access: World) -> None:
    """Privilege escalation: neither a stronger role nor another channel nor the whole gateway."""
    wen = await access.user("wen", "operator", "shop")
    for grant in ({"role": "admin", "channel": "shop"}, {"role": "viewer", "channel": "help"}, {"role": "viewer"}):
        with pytest.raises(Refused, match="can't hold"):
            await made(access, wen, grants=[grant])

    assert wen.grants == (await made(access, wen)).grants


async def test_a_token_shrinks_with_its_user(access: World) -> None:
    """What the user loses the token loses, at once; what the user gains it does not."""
    owner, wen = await access.user("owner", "owner"), await access.user("wen", "admin")
    token = await made(access, wen)
    await access.do(owner, USERS_GRANT, user=number(wen), role="viewer", channel="shop")
    await access.do(owner, USERS_REVOKE, user=number(wen))
    narrow = await access.acting(token.secret)
    await access.do(owner, USERS_GRANT, user=number(wen), role="owner")
    wide = await access.acting(token.secret)
    await access.do(owner, USERS_REMOVE, user=number(wen))

    assert (Grant(role="viewer", channel="shop"),) == narrow.grants
    assert (Grant(role="admin"),) == wide.grants
    assert await access.tokens.actor(token.secret) is None


async def test_a_token_ends(access: World) -> None:
    """By its time, and by being revoked: at once, and for good."""
    owner = await access.user("owner", "owner")
    first, second = await made(access, owner, days=1), await made(access, owner, days=2)
    assert 1 == (await access.do(owner, TOKENS_REVOKE, token=second.id)).tokens
    assert await access.tokens.actor(second.secret) is None
    assert await access.tokens.actor(first.secret) is not None
    access.now_ms += DAY_MS

    assert await access.tokens.actor(first.secret) is None
    assert () == (await access.do(owner, TOKENS_LIST)).tokens
    with pytest.raises(Missing):
        await access.do(owner, TOKENS_REVOKE, token=second.id)


async def test_the_last_use_is_known_to_the_hour(access: World) -> None:
    """A token nobody uses can be found; a busy one does not write with every request."""
    owner = await access.user("owner", "owner")
    token, start = await made(access, owner), access.now_ms
    seen = []
    for _ in range(3):
        await access.acting(token.secret)
        seen.append((await access.do(owner, TOKENS_LIST)).tokens[0].used_ms)
        access.now_ms += 1_900_000

    assert [start, start, start + 3_800_000] == seen


async def test_a_token_made_with_a_token_is_its_child(access: World) -> None:
    """No wider, no longer, and gone with it: revoking what leaked ends what was made with it too."""
    owner = await access.user("owner", "owner")
    parent = await made(access, owner, grants=[{"role": "admin", "channel": "shop"}], days=1)
    acting = await access.acting(parent.secret)
    with pytest.raises(Refused):
        await made(access, acting, grants=[{"role": "owner"}])
    child = await made(access, acting, days=300)
    grandchild = await made(access, await access.acting(child.secret))
    assert parent.ends_ms == child.ends_ms == grandchild.ends_ms
    assert 3 == (await access.do(owner, TOKENS_REVOKE, token=parent.id)).tokens

    assert [None, None] == [await access.tokens.actor(one.secret) for one in (child, grandchild)]
    with pytest.raises(Refused, match="just ended"):
        await made(access, acting)


async def test_a_token_does_not_reach_what_else_its_user_has(access: World) -> None:
    """A narrow token that leaks neither sees nor ends its user's other tokens and sessions, nor sets the password."""
    owner = await access.user("owner", "owner")
    other, narrow = await made(access, owner), await made(access, owner, grants=[{"role": "admin"}])
    acting = await access.acting(narrow.secret)
    child = await made(access, acting)
    await access.sessions.begin(int(number(owner)), address="", browser="")

    assert [narrow.id, child.id] == [one.id for one in (await access.do(acting, TOKENS_LIST)).tokens]
    assert () == (await access.do(acting, SESSIONS_LIST)).sessions
    with pytest.raises(Missing):
        await access.do(acting, TOKENS_REVOKE, token=other.id)
    with pytest.raises(Refused):
        await access.do(acting, SESSIONS_LIST, user=number(owner))
    with pytest.raises(Refused):
        await access.do(acting, USERS_PASSWORD, user=number(owner), password="quite another one", current=PASSWORD)
    await access.do(acting, TOKENS_REVOKE, token=child.id)


async def test_others_tokens_are_the_owners_business(access: World) -> None:
    """IDOR: an admin neither sees nor revokes another's token; an owner does both, in pages."""
    owner, wen, admin = [
        await access.user(name, role) for name, role in (("o", "owner"), ("w", "viewer"), ("a", "admin"))
    ]
    token = await made(access, wen)
    assert () == (await access.do(admin, TOKENS_LIST)).tokens
    with pytest.raises(Refused):
        await access.do(admin, TOKENS_LIST, everybodys=True)
    with pytest.raises(Missing):
        await access.do(admin, TOKENS_REVOKE, token=token.id)
    page = await access.do(owner, TOKENS_LIST, everybodys=True, limit=1)

    assert [(token.id, number(wen))] == [(one.id, one.user) for one in page.tokens]
    assert () == (await access.do(owner, TOKENS_LIST, everybodys=True, limit=1, after=page.next)).tokens
    await access.do(owner, TOKENS_REVOKE, token=token.id)
    assert await access.tokens.actor(token.secret) is None


async def test_whoever_runs_the_gateway_makes_tokens(access: World) -> None:
    """They are no user's, and may all that they were made for until revoked."""
    token = await made(access, local(), grants=[{"role": "owner"}])
    acting = await access.acting(token.secret)
    await access.do(acting, USERS_ADD, name="wen")

    assert [(token.id, None)] == [(one.id, one.user) for one in (await access.do(local(), TOKENS_LIST)).tokens]
    assert 1 == len((await access.do(acting, USERS_LIST)).users)
    await access.do(local(), TOKENS_REVOKE, token=token.id)
    assert await access.tokens.actor(token.secret) is None


async def test_tokens_are_bounded(access: World) -> None:
    """A user has so many and not one more, until one has ended."""
    wen = await access.user("wen", "viewer")
    for _ in range(MOST):
        last = await access.tokens.make(
            "t", user_id=int(number(wen)), parent=None, grants=wen.grants, ends_ms=access.now_ms + 1
        )
    with pytest.raises(Invalid, match="revoke one"):
        await made(access, wen)
    await access.do(wen, TOKENS_REVOKE, token=str(last.id))
    await made(access, wen)
