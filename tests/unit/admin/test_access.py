"""Users and what each may do, over both databases."""

from __future__ import annotations

import asyncio

import pytest

from gateway.admin.acts.access import (
    ME,
    USERS_ADD,
    USERS_GRANT,
    USERS_LIST,
    USERS_PASSWORD,
    USERS_REMOVE,
    USERS_RESTORE,
    USERS_REVOKE,
    USERS_SHOW,
)
from gateway.admin.grants import MOST
from gateway.admin.operations import Disagrees, Invalid, Missing, Refused
from gateway.admin.rights import Grant, local
from tests.unit.admin.access_world import PASSWORD, World, number


async def test_without_an_owner_there_is_none(access: World) -> None:
    """A channel's owner is no owner of the gateway; the first real one counts until their grant ends."""
    assert not await access.users.has_owner()
    await access.user("wen", "owner", "shop")
    assert not await access.users.has_owner()
    await access.user("李雷", "owner")
    assert await access.users.has_owner()


async def test_a_user_is_told_as_made(access: World) -> None:
    """A name of any script and its grants come back; a password that was not given is made, and shown once."""
    owner = await access.user("owner", "owner")
    grants = [{"role": "viewer"}, {"role": "operator", "channel": "shop"}, {"role": "viewer", "channel": "shop"}]
    made = await access.do(owner, USERS_ADD, name="李雷 🦊", grants=grants)
    page = await access.do(owner, USERS_LIST)

    found = page.users[1]
    assert made.user == found.id
    assert len(made.password) >= 20
    assert ("李雷 🦊", "password", None) == (found.name, found.signs_in, found.signed_in_ms)
    assert [("viewer", None, "hand"), ("operator", "shop", "hand")] == [
        (one.role, one.channel, one.source) for one in found.grants
    ]
    account = await access.users.account("李雷 🦊")
    assert account is not None
    assert await access.passwords.fits(made.password, account.kept)


async def test_one_user_is_told_alone(access: World) -> None:
    """As the list tells of them, to a channel's owner what they may do there; of nobody there is nothing."""
    owner, mine = await access.user("owner", "owner"), await access.user("mine", "owner", "shop")
    told = await access.do(owner, USERS_SHOW, user=number(mine))

    assert ("mine", "shop") == (told.name, told.grants[0].channel)
    assert () == (await access.do(mine, USERS_SHOW, user=number(owner))).grants
    with pytest.raises(Missing):
        await access.do(owner, USERS_SHOW, user="999")


async def test_pages_of_users_meet_without_a_gap(access: World) -> None:
    """Every user stands on one page, and the last one says that there is no more."""
    owner = await access.user("owner", "owner")
    for n in range(4):
        await access.user(f"u{n}")
    names, after = [], None
    while True:
        page = await access.do(owner, USERS_LIST, limit=2, after=after)
        names += [user.name for user in page.users]
        if (after := page.next) is None:
            break

    assert ["owner", "u0", "u1", "u2", "u3"] == names


@pytest.mark.parametrize("name", ["Anna", "anna", "Ａｎｎａ", "ANNA"])
async def test_names_that_read_alike_are_one(access: World, name: str) -> None:
    """Nobody gets a name that another could be taken for by typing."""
    owner = await access.user("owner", "owner")
    await access.user("anna")

    with pytest.raises(Invalid, match="is taken") as caught:
        await access.do(owner, USERS_ADD, name=name)
    assert "name" == caught.value.problems[0].path


@pytest.mark.parametrize("name", [" ann", "a\x00b", "a\u202eb", "\u3000", "\ud800", "x\ny"])
async def test_a_name_that_can_not_be_read_is_refused(access: World, name: str) -> None:
    """Controls, marks that turn the text round, spaces around it: a name of the audit log must not deceive its reader."""
    owner = await access.user("owner", "owner")

    with pytest.raises(Invalid):
        await access.do(owner, USERS_ADD, name=name)


@pytest.mark.parametrize("password", ["short", "aaaaaaaaaaaaaaaaaaaa", "owner2-owner2", "x" * 10_000])
async def test_a_weak_password_is_refused_and_not_quoted(access: World, password: str) -> None:
    """Too short, too long, all the same, or the name: the answer says what to do, and never the password."""
    owner = await access.user("owner", "owner")

    with pytest.raises(Invalid) as caught:
        await access.do(owner, USERS_ADD, name="owner2-own", password=password)
    assert password not in str(caught.value)
    assert "***" == caught.value.problems[0].value


async def test_a_role_takes_the_place_of_the_one_before(access: World) -> None:
    """A place has one role by hand; revoking it leaves the other places alone."""
    owner, wen = await access.user("owner", "owner"), await access.user("wen", "viewer")
    await access.do(owner, USERS_GRANT, user=number(wen), role="operator", channel="shop")
    await access.do(owner, USERS_GRANT, user=number(wen), role="admin", channel="shop")
    await access.do(owner, USERS_REVOKE, user=number(wen))

    user = await access.users.find(int(number(wen)))
    assert user is not None
    assert [Grant(role="admin", channel="shop")] == [held.grant for held in user.grants]
    with pytest.raises(Missing, match="all channels"):
        await access.do(owner, USERS_REVOKE, user=number(wen))


async def test_only_owners_see_to_users(access: World) -> None:
    """Privilege escalation: an admin lists, makes, removes and raises nobody, not even themselves."""
    admin, wen = await access.user("admin", "admin"), await access.user("wen")
    tries = [
        (USERS_LIST, {}),
        (USERS_ADD, {"name": "new"}),
        (USERS_REMOVE, {"user": number(wen)}),
        (USERS_GRANT, {"user": number(admin), "role": "owner"}),
        (USERS_REVOKE, {"user": number(wen)}),
        (USERS_PASSWORD, {"user": number(wen), "password": "another one than before"}),
    ]

    for operation, fields in tries:
        with pytest.raises(Refused):
            await access.do(admin, operation, **fields)


async def test_a_channels_owner_stays_in_the_channel(access: World) -> None:
    """Who owns one channel gives and takes roles there, and nowhere else; others' grants elsewhere are not shown to them."""
    await access.user("owner", "owner")
    mine, wen = await access.user("mine", "owner", "shop"), await access.user("wen", "viewer", "help")
    await access.do(mine, USERS_GRANT, user=number(wen), role="owner", channel="shop")

    shown = (await access.do(mine, USERS_LIST)).users
    assert [[], [("owner", "shop")], [("owner", "shop")]] == [
        [(one.role, one.channel) for one in user.grants] for user in shown
    ]
    for operation, fields in [
        (USERS_GRANT, {"user": number(mine), "role": "viewer"}),
        (USERS_GRANT, {"user": number(mine), "role": "owner", "channel": "help"}),
        (USERS_REVOKE, {"user": number(wen), "channel": "help"}),
        (USERS_ADD, {"name": "new", "grants": [{"role": "viewer", "channel": "shop"}]}),
        (USERS_REMOVE, {"user": number(wen)}),
        (USERS_PASSWORD, {"user": number(wen)}),
    ]:
        with pytest.raises(Refused):
            await access.do(mine, operation, **fields)


async def test_the_last_owner_stays(access: World) -> None:
    """Neither removing nor lowering nor revoking leaves the gateway without an owner; with another one each works."""
    owner = await access.user("owner", "owner")
    for operation, fields in [
        (USERS_REMOVE, {}),
        (USERS_REVOKE, {}),
        (USERS_GRANT, {"role": "viewer"}),
    ]:
        with pytest.raises(Disagrees, match="last owner"):
            await access.do(owner, operation, user=number(owner), **fields)
    await access.user("second", "owner")
    await access.do(owner, USERS_GRANT, user=number(owner), role="viewer")

    user = await access.users.find(int(number(owner)))
    assert user is not None
    assert [Grant(role="viewer")] == [held.grant for held in user.grants]


async def test_two_owners_do_not_remove_each_other_at_once(access: World) -> None:
    """Decisions about who is left are made one after the other, on every instance: one of the two stays."""
    one, two = await access.user("one", "owner"), await access.user("two", "owner")
    outcomes = await asyncio.gather(
        access.do(one, USERS_REMOVE, user=number(two)),
        access.do(two, USERS_REMOVE, user=number(one)),
        return_exceptions=True,
    )

    assert 1 == sum(isinstance(outcome, Disagrees) for outcome in outcomes)
    assert await access.users.has_owner()


async def test_without_an_owner_others_can_be_seen_to(access: World) -> None:
    """Whoever runs the gateway prepares users before there is an owner."""
    wen = await access.user("wen", "viewer")
    await access.do(local(), USERS_GRANT, user=number(wen), role="admin")
    await access.do(local(), USERS_REVOKE, user=number(wen))

    assert not await access.users.has_owner()


async def test_a_removed_user_is_gone_at_once(access: World) -> None:
    """Sessions, tokens, rights and password end; the name is free again, and the audit log still knows whom it means."""
    owner, wen = await access.user("owner", "owner"), await access.user("wen", "admin")
    session = await access.sessions.begin(int(number(wen)), address="192.0.2.1", browser="Firefox")
    token = await access.tokens.make(
        "ci", user_id=int(number(wen)), parent=None, grants=wen.grants, ends_ms=access.now_ms + 1000
    )
    await access.do(owner, USERS_REMOVE, user=number(wen))

    assert await access.sessions.current(session) is None
    assert await access.tokens.actor(token.secret) is None
    assert await access.users.account("wen") is None
    assert {int(number(wen)): "wen"} == await access.users.names([int(number(wen))])
    with pytest.raises(Missing):
        await access.do(owner, USERS_REMOVE, user=number(wen))
    with pytest.raises(Missing):
        await access.do(owner, USERS_GRANT, user=number(wen), role="viewer")
    assert number(wen) != number(await access.user("wen"))


async def test_ones_own_password_needs_the_current_one(access: World) -> None:
    """Who finds a browser signed in can't keep its owner out, not even an owner's; sessions end with the old password."""
    wen = await access.user("wen", "owner")
    session = await access.sessions.begin(int(number(wen)), address="", browser="")
    for current, written in ((None, number(wen)), ("wrong", number(wen)), (None, f"00{number(wen)}")):
        with pytest.raises(Invalid, match="current"):
            await access.do(wen, USERS_PASSWORD, user=written, password="quite another 密码", current=current)
    made = await access.do(wen, USERS_PASSWORD, user=number(wen), password="quite another 密码", current=PASSWORD)

    account = await access.users.account("wen")
    assert account is not None
    assert await access.passwords.fits("quite another 密码", account.kept)
    assert made.password is None
    assert await access.sessions.current(session) is None


async def test_a_session_guesses_its_password_no_faster(access: World) -> None:
    """Who finds a browser signed in has five tries, and then waits; not even the right one is looked at meanwhile."""
    wen = await access.user("wen", "viewer")
    told = []
    for current in [f"guess {n}" for n in range(5)] + [PASSWORD]:
        with pytest.raises(Invalid) as caught:
            await access.do(wen, USERS_PASSWORD, user=number(wen), password="quite another 密码", current=current)
        told.append(str(caught.value))
    access.now_ms += 1000
    await access.do(wen, USERS_PASSWORD, user=number(wen), password="quite another 密码", current=PASSWORD)

    assert [True] * 5 + [False] == ["is not your password" in one for one in told]
    assert "too often" in told[-1]


async def test_an_owner_gives_somebody_another_password(access: World) -> None:
    """For who has lost theirs; one is made if none is given. Of nobody there is none."""
    owner, wen = await access.user("owner", "owner"), await access.user("wen")
    made = await access.do(owner, USERS_PASSWORD, user=number(wen))

    account = await access.users.account("wen")
    assert account is not None
    assert await access.passwords.fits(made.password, account.kept)
    with pytest.raises(Missing):
        await access.do(owner, USERS_PASSWORD, user="999")


async def test_grants_are_bounded(access: World) -> None:
    """A user holds so many grants and not one more."""
    owner, wen = await access.user("owner", "owner"), await access.user("wen")
    for n in range(MOST):
        await access.users.grant(int(number(wen)), Grant(role="viewer", channel=f"c{n}"))

    with pytest.raises(Invalid, match="revoke one"):
        await access.do(owner, USERS_GRANT, user=number(wen), role="viewer")


async def test_everybody_is_told_who_they_are(access: World) -> None:
    """Who asks, and what they may."""
    wen = await access.user("wen", "viewer", "shop")
    told = await access.do(wen, ME)

    assert (wen.id, "wen", wen.grants, True) == (told.id, told.name, told.grants, told.password)
    assert not (await access.do(local(), ME)).password


async def test_claims_make_and_renew_a_user(access: World) -> None:
    """The first sign-in makes the user, each one renews what claims give and leaves what an owner gave by hand; without a
    renewal it ends."""
    owner = await access.user("wen", "owner")
    ends = access.now_ms + 1000
    both = [Grant(role="viewer"), Grant(role="admin", channel="shop"), Grant(role="operator", channel="shop")]
    user_id = await access.users.claimed("https://id", "s1", name="wen", grants=both, ends_ms=ends)
    assert user_id is not None
    await access.do(owner, USERS_GRANT, user=str(user_id), role="operator")
    again = await access.users.claimed("https://id", "s1", name="wen", grants=[Grant(role="viewer")], ends_ms=ends)

    assert user_id == again
    user = await access.users.find(user_id)
    assert user is not None
    assert {("viewer", "claims", ends), ("operator", "hand", None)} == {
        (held.grant.role, held.source, held.ends_ms) for held in user.grants
    }
    access.now_ms += 1000
    later = await access.users.find(user_id)
    assert later is not None
    assert ["hand"] == [held.source for held in later.grants]
    assert owner.id != f"user:{user_id}"  # the provider's name is nobody's password


async def test_a_removed_user_of_the_provider_can_be_restored(access: World) -> None:
    """With the claims of their next sign-in; of others nobody is restored."""
    owner, wen = await access.user("owner", "owner"), await access.user("wen")
    viewer, ends = [Grant(role="viewer")], access.now_ms + 1
    user_id = await access.users.claimed("https://id", "s1", name="eve", grants=viewer, ends_ms=ends)
    await access.do(owner, USERS_REMOVE, user=str(user_id))
    await access.do(owner, USERS_REMOVE, user=number(wen))
    assert await access.users.claimed("https://id", "s1", name="eve", grants=viewer, ends_ms=ends) is None
    await access.do(owner, USERS_RESTORE, user=str(user_id))

    assert user_id == await access.users.claimed("https://id", "s1", name="eve", grants=viewer, ends_ms=ends)
    for other in (number(wen), str(user_id), "999"):
        with pytest.raises(Missing):
            await access.do(owner, USERS_RESTORE, user=other)


async def test_claims_without_a_grant_make_nobody(access: World) -> None:
    """Whoever the provider knows but no claim lets in leaves no row; and who was removed here stays out."""
    owner = await access.user("owner", "owner")
    nobody = await access.users.claimed("https://id", "s1", name="wen", grants=[], ends_ms=0)
    viewer = [Grant(role="viewer")]
    user_id = await access.users.claimed("https://id", "s2", name="", grants=viewer, ends_ms=access.now_ms + 1)
    await access.do(owner, USERS_REMOVE, user=str(user_id))
    back = await access.users.claimed("https://id", "s2", name="", grants=viewer, ends_ms=access.now_ms + 1)

    assert [None, None] == [nobody, back]
    assert ["owner"] == [user.name for user in await access.users.listed(after=0, limit=10)]


async def test_a_user_of_the_provider_has_no_password(access: World) -> None:
    """Not even an owner opens a second way in."""
    owner = await access.user("owner", "owner")
    user_id = await access.users.claimed(
        "https://id", "s1", name="wen", grants=[Grant(role="viewer")], ends_ms=access.now_ms + 1
    )

    with pytest.raises(Missing, match="can't have a password"):
        await access.do(owner, USERS_PASSWORD, user=str(user_id), password="quite another one")
