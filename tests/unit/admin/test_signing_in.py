"""Signing in, over both databases."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from argon2 import PasswordHasher
from pydantic import SecretStr

from config.admin import AdminSettings, OidcSettings
from gateway.admin.acts.access import USERS_PASSWORD, USERS_REMOVE
from gateway.admin.entrance import Entrance
from gateway.admin.oidc_source import ProviderFault
from gateway.admin.passwords import MOST_STRANGERS, Passwords
from gateway.admin.rights import Actor, Grant
from gateway.admin.signing_in import NOTED_PER_MINUTE, Comer, Entered, NotSignedIn
from gateway.errors import StoreBusy
from gateway.hot.process import ProcessRateLimits
from gateway.metrics import Metrics
from tests.emulators.oidc.provider import CLIENT_ID, CLIENT_SECRET, Issuer, issuer
from tests.unit.admin.access_world import PASSWORD, World, number, world
from tests.unit.test_metrics import samples

HERE = Comer(address="192.0.2.1", browser="Firefox")
BACK = "http://127.0.0.1/admin/sign-in/back"


async def entries(access: World) -> list[tuple[Any, ...]]:
    """Return actor, act, outcome and details of all that is in the audit log, the oldest first."""
    async with access.database.reading() as db:
        rows = await db.rows("SELECT actor, operation, outcome, about FROM admin_audit ORDER BY id")
    return [(actor, operation, outcome, msgspec.json.decode(about)) for actor, operation, outcome, about in rows]


async def acting(access: World, entered: Entered) -> Actor:
    session = await access.sessions.current(entered.secret)
    assert session is not None
    return session.actor


async def test_name_and_password_sign_in(access: World) -> None:
    """However the name is typed; the act is in the log, and nothing of the password."""
    owner = await access.user("李雷 Ann", "owner")
    entered = await access.signing_in.by_password(" 李雷 ＡＮＮ", PASSWORD, HERE)

    assert owner == await acting(access, entered)
    about = {"way": "password", "user": int(number(owner)), "address": "192.0.2.1"}
    assert [(owner.id, "sessions.begin", "done", about)] == await entries(access)
    user = await access.users.find(int(number(owner)))
    assert user is not None
    assert access.now_ms == user.signed_in_ms


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("owner", "wrong"),
        ("nobody", PASSWORD),
        ("nobody", ""),
        ("", ""),
        ("owner", PASSWORD + " "),
        ("\ud800", "\ud800"),
    ],
)
async def test_whatever_is_wrong_is_the_same_wrong(access: World, name: str, password: str) -> None:
    """An unknown name, a wrong password, nothing at all: one answer, and one entry that does not say which."""
    await access.user("owner", "owner")
    with pytest.raises(NotSignedIn) as caught:
        await access.signing_in.by_password(name, password, HERE)

    assert ("wrong", 0) == (caught.value.reason, caught.value.wait_s)
    ((actor, _, outcome, about),) = await entries(access)
    assert ("nobody", "refused") == (actor, outcome)
    assert {"way", "user", "address"} == set(about)


class Counting(PasswordHasher):
    """A hasher that knows what it compared with."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.compared: list[str] = []

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        self.compared.append(hash.decode() if isinstance(hash, bytes) else hash)
        return super().verify(hash, password)


async def test_an_unknown_name_costs_the_same_work() -> None:
    """A password is compared whether there is such a user or not, with a hash of the same cost: no oracle for names."""
    hasher = Counting()
    passwords = Passwords(lambda: hasher)
    kept = await passwords.kept(PASSWORD)

    assert [True, False, False] == [
        await passwords.fits(word, stored) for word, stored in ((PASSWORD, kept), ("wrong", kept), (PASSWORD, None))
    ]
    assert 3 == len(hasher.compared)
    assert 1 == len({compared.rpartition("$")[0].rpartition("$")[0] for compared in hasher.compared})


async def test_a_real_hash_is_argon2id() -> None:
    """As RFC 9106 has it for machines that do more than this."""
    kept = await Passwords().kept(PASSWORD)

    assert kept.startswith("$argon2id$v=19$m=65536,t=3,p=4$")


async def test_guessing_has_to_wait_and_the_owner_has_not(access: World) -> None:
    """Brute force: after five wrong ones not even the right one is looked at from there, in another's words for a wait; the owner
    at another address, and in a browser they have used, comes in."""
    owner = await access.user("owner", "owner")
    at_home = Comer(address="198.51.100.7")
    device = (await access.signing_in.by_password("owner", PASSWORD, at_home)).device
    assert device is not None
    for n in range(5):
        with pytest.raises(NotSignedIn, match="wrong"):
            await access.signing_in.by_password("owner", f"guess {n}", HERE)
    with pytest.raises(NotSignedIn, match="wait") as caught:
        await access.signing_in.by_password("owner", PASSWORD, HERE)

    assert 1 == caught.value.wait_s
    assert owner == await acting(access, await access.signing_in.by_password("owner", PASSWORD, at_home))
    same_place = Comer(address=HERE.address, device=device)
    assert owner == await acting(access, await access.signing_in.by_password("owner", PASSWORD, same_place))


@pytest.mark.parametrize("device", ["", ".", "x.y", "\ud800.\ud800"])
async def test_a_browser_that_proves_nothing_is_a_stranger(access: World, device: str) -> None:
    """An invented device has the address's tries, not new ones."""
    await access.user("owner", "owner")
    for n in range(5):
        with pytest.raises(NotSignedIn, match="wrong"):
            await access.signing_in.by_password("owner", "guess", Comer(address=HERE.address, device=f"{n}{device}"))

    with pytest.raises(NotSignedIn, match="wait"):
        await access.signing_in.by_password("owner", "guess", Comer(address=HERE.address, device=f"9{device}"))


async def test_a_browsers_proof_ends_with_the_password(access: World) -> None:
    """And it is no proof for another account."""
    owner = await access.user("owner", "owner")
    await access.user("wen", "viewer")
    device = (await access.signing_in.by_password("wen", PASSWORD, HERE)).device or ""
    for name in ("owner", "wen"):
        if name == "wen":
            wen = await access.users.account("wen")
            assert wen is not None
            await access.do(owner, USERS_PASSWORD, user=str(wen.user_id))
        for _ in range(5):
            with pytest.raises(NotSignedIn, match="wrong"):
                await access.signing_in.by_password(name, "guess", Comer(address="203.0.113.1", device=device))
        with pytest.raises(NotSignedIn, match="wait"):
            await access.signing_in.by_password(name, "guess", Comer(address="203.0.113.1", device=device))


async def test_a_hundred_guesses_at_once_are_five(access: World) -> None:
    """Parallel guessing gains nothing."""
    await access.user("owner", "owner")
    outcomes = await asyncio.gather(
        *(access.signing_in.by_password("owner", f"guess {n}", HERE) for n in range(100)), return_exceptions=True
    )

    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, NotSignedIn)]
    assert (5, 95) == (reasons.count("wrong"), reasons.count("wait"))


async def test_guessing_at_two_instances_is_one_budget(postgres_url: str) -> None:
    """And a restart gives no new one."""
    async with world(postgres_url) as one, world(postgres_url) as other:
        await one.user("owner", "owner")
        for n in range(5):
            with pytest.raises(NotSignedIn, match="wrong"):
                await (one, other)[n % 2].signing_in.by_password("owner", f"guess {n}", HERE)
        for instance in (one, other):
            with pytest.raises(NotSignedIn, match="wait"):
                await instance.signing_in.by_password("owner", PASSWORD, HERE)
    async with world(postgres_url) as restarted:
        with pytest.raises(NotSignedIn, match="wait"):
            await restarted.signing_in.by_password("owner", PASSWORD, HERE)


async def test_a_flood_of_strangers_keeps_no_known_browser_waiting(access: World) -> None:
    """However many addresses knock at once: who has been here before has a line of their own, and of strangers only so many stand
    in line. Nothing is written for those who are sent away."""
    owner = await access.user("owner", "owner")
    device = (await access.signing_in.by_password("owner", PASSWORD, HERE)).device or ""
    known = Comer(address="203.0.113.9", device=device)
    async with access.passwords.turn(known=False):  # somebody's password is being looked at, for long
        knocks = [
            asyncio.create_task(
                access.signing_in.by_password("owner", "guess", Comer(address=f"198.51.{n >> 8}.{n & 255}"))
            )
            for n in range(MOST_STRANGERS + 10)
        ]
        entered = await access.signing_in.by_password("owner", PASSWORD, known)
        sent_away, _ = await asyncio.wait(knocks, timeout=5)
        async with access.database.reading() as db:
            ((counted,),) = await db.rows("SELECT count(*) FROM admin_tries")
        for knock in knocks:
            knock.cancel()
        await asyncio.gather(*knocks, return_exceptions=True)

    assert owner == await acting(access, entered)
    assert [StoreBusy] * 10 == [type(knock.exception()) for knock in sent_away]
    assert 0 == counted


async def test_a_flood_of_failures_does_not_fill_the_log(access: World) -> None:
    """The log can't be emptied: a botnet's guesses are noted up to a bound, and a right password always."""
    await access.user("owner", "owner")
    for n in range(NOTED_PER_MINUTE + 20):
        with pytest.raises(NotSignedIn):
            await access.signing_in.by_password(f"u{n}", "guess", Comer(address=f"198.51.100.{n}"))
    await access.signing_in.by_password("owner", PASSWORD, HERE)

    outcomes = [outcome for _, _, outcome, _ in await entries(access)]
    assert (NOTED_PER_MINUTE, 1) == (outcomes.count("refused"), outcomes.count("done"))


async def test_nothing_secret_is_logged(access: World, caplog: pytest.LogCaptureFixture) -> None:
    """Neither a password nor a name that may be one (typed into the wrong field) nor a session's secret."""
    caplog.set_level(logging.DEBUG)
    await access.user("owner", "owner")
    entered = await access.signing_in.by_password("owner", PASSWORD, HERE)
    for _ in range(7):
        with pytest.raises(NotSignedIn):
            await access.signing_in.by_password("my-password-as-name", "my-guess", HERE)

    told = "\n".join(str(vars(record)) for record in caplog.records if not record.name.startswith("asyncio"))
    assert "sign-in failed" in told
    assert not [word for word in (PASSWORD, "my-password", "my-guess", entered.secret, entered.device) if word in told]


async def test_a_removed_user_does_not_come_in(access: World) -> None:
    owner = await access.user("owner", "owner")
    wen = await access.user("wen", "admin")
    await access.do(owner, USERS_REMOVE, user=number(wen))

    with pytest.raises(NotSignedIn, match="wrong"):
        await access.signing_in.by_password("wen", PASSWORD, HERE)


async def test_leaving_ends_the_session(access: World) -> None:
    """It is noted once, and leaving twice is no fault."""
    owner = await access.user("owner", "owner")
    entered = await access.signing_in.by_password("owner", PASSWORD, HERE)
    await access.signing_in.leave(entered.secret)
    await access.signing_in.leave(entered.secret)

    assert await access.sessions.current(entered.secret) is None
    assert (owner.id, "sessions.leave", "done") == (await entries(access))[-1][:3]
    assert 2 == len(await entries(access))


# Through the identity provider


@pytest.fixture
async def provider(access: World) -> AsyncIterator[Issuer]:
    async with issuer() as running:
        access.now_ms = int(time.time() * 1000)
        access.settings = AdminSettings(
            oidc=OidcSettings(
                issuer=running.url,
                client_id=CLIENT_ID,
                client_secret=SecretStr(CLIENT_SECRET),
                roles={"admins": ("owner",), "客服": ("operator@shop", "viewer"), "shop-admins": ("admin@shop",)},
            )
        )
        yield running


async def come_in(access: World, provider: Issuer) -> Entered:
    begun = await access.signing_in.begin_provider(BACK)
    query = parse_qs(urlsplit(provider.signed_in(begun.url)).query)
    return await access.signing_in.by_provider(
        begun.kept, {name: values[0] for name, values in query.items()}, HERE, back=BACK
    )


async def test_the_provider_says_who_comes_and_the_settings_what_they_may(access: World, provider: Issuer) -> None:
    """The first sign-in makes the user; each renews what the claims give, so that who leaves a group there loses it here."""
    first = await acting(access, await come_in(access, provider))
    provider.who["groups"] = ["客服", "shop-admins", "others"]
    second = await acting(access, await come_in(access, provider))

    assert ("李雷", (Grant(role="owner"),)) == (first.name, first.grants)
    assert (first.id, (Grant(role="viewer"), Grant(role="admin", channel="shop"))) == (second.id, second.grants)
    assert [("provider", "done")] * 2 == [(about["way"], outcome) for _, _, outcome, about in await entries(access)]


async def test_who_has_no_role_there_does_not_come_in(access: World, provider: Issuer) -> None:
    """Neither at first, when nobody is made, nor later, when what they had is taken back."""
    provider.who["groups"] = ["others"]
    with pytest.raises(NotSignedIn, match="no_rights"):
        await come_in(access, provider)
    assert () == await access.users.listed(after=0, limit=10)
    provider.who["groups"] = ["admins"]
    entered = await come_in(access, provider)
    provider.who["groups"] = []
    with pytest.raises(NotSignedIn, match="no_rights"):
        await come_in(access, provider)

    assert () == (await acting(access, entered)).grants
    user = int(number(await acting(access, entered)))
    told = [(about["user"], outcome) for _, _, outcome, about in await entries(access)]
    assert [(None, "refused"), (user, "done"), (user, "refused")] == told


async def test_who_is_called_otherwise_there_is_here(access: World, provider: Issuer) -> None:
    """The provider's word counts at each sign-in; what can't be shown of a name is left out."""
    first = await acting(access, await come_in(access, provider))
    provider.who["preferred_username"] = "李\u202e四\n"
    second = await acting(access, await come_in(access, provider))

    assert (first.id, "李雷", "李四") == (second.id, first.name, second.name)


async def test_a_provider_with_other_settings_is_another(access: World, provider: Issuer) -> None:
    """Settings change under a running gateway; without any there is no such way in."""
    await come_in(access, provider)
    oidc = access.settings.oidc
    assert oidc is not None
    access.settings = AdminSettings(oidc=oidc.model_copy(update={"client_secret": SecretStr("changed")}))
    with pytest.raises(ProviderFault, match="invalid_client"):
        await come_in(access, provider)
    access.settings = AdminSettings()

    with pytest.raises(NotSignedIn, match="off"):
        await access.signing_in.begin_provider(BACK)
    with pytest.raises(NotSignedIn, match="off"):
        await access.signing_in.by_provider("", {}, HERE, back=BACK)


class OutOfMemory(PasswordHasher):
    """A hasher on a machine that has none left."""

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        raise MemoryError


async def test_a_password_that_could_not_be_looked_at_costs_no_try(access: World) -> None:
    """It was no wrong one: afterwards there are as many tries as before."""
    owner = await access.user("owner", "owner")
    entrance = Entrance(
        access.database,
        settings=lambda: access.settings,
        limits=ProcessRateLimits(),
        clock=lambda: access.now_ms,
        passwords=Passwords(lambda: OutOfMemory(time_cost=1, memory_cost=8, parallelism=1)),
    )
    for _ in range(access.settings.sign_in.tries + 1):
        with pytest.raises(MemoryError):
            await entrance.signing_in.by_password("owner", PASSWORD, HERE)

    assert owner == await acting(access, await access.signing_in.by_password("owner", PASSWORD, HERE))


async def test_every_try_is_counted(access: World) -> None:
    """Admitted, refused and asked to wait: by the figures somebody hears of an attack."""
    metrics = Metrics(version="1")
    entrance = Entrance(
        access.database,
        settings=lambda: access.settings,
        limits=ProcessRateLimits(),
        clock=lambda: access.now_ms,
        passwords=access.passwords,
        metrics=metrics,
    )
    await access.user("owner", "owner")
    await entrance.signing_in.by_password("owner", PASSWORD, HERE)
    reasons = []
    for _ in range(access.settings.sign_in.tries + 1):
        with pytest.raises(NotSignedIn) as caught:
            await entrance.signing_in.by_password("owner", "wrong", HERE)
        reasons.append(caught.value.reason)

    seen = samples(metrics)
    assert "wait" == reasons[-1]
    assert (1, reasons.count("wrong"), reasons.count("wait")) == tuple(
        seen["clew_admin_logins_total", outcome] for outcome in ("admitted", "refused", "limited")
    )
