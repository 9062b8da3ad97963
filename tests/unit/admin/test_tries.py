"""How long somebody waits after wrong passwords, over both databases. The clock is a number."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from config.admin import SignInSettings
from gateway.admin.database import Database
from gateway.admin.tries import Count, Knock, Tries, limits_of, network_of, waits
from tests.contracts.admin_database import open_admin_database

SETTINGS = SignInSettings()
HERE = Knock(account="owner", address="192.0.2.1")
START_MS = 1_764_000_000_000


@pytest.fixture
async def database(admin_url: str) -> AsyncIterator[Database]:
    async with open_admin_database(admin_url) as opened:
        yield opened


@pytest.fixture
def tries(database: Database) -> Tries:
    return Tries(database)


async def fail(tries: Tries, knock: Knock, times: int, now_s: float, settings: SignInSettings = SETTINGS) -> float:
    """Try that often, waiting as told; return the time afterwards."""
    for _ in range(times):
        while (wait_s := await begin(tries, knock, now_s, settings)) > 0:
            now_s += wait_s
    return now_s


async def begin(tries: Tries, knock: Knock, now_s: float, settings: SignInSettings = SETTINGS) -> float:
    return await tries.begin(knock, settings, now_ms=START_MS + int(now_s * 1000))


async def looked_at(tries: Tries, knocks: list[Knock], now_s: float = 0, settings: SignInSettings = SETTINGS) -> int:
    """How many of these, all at once, are looked at."""
    return (await asyncio.gather(*(begin(tries, knock, now_s, settings) for knock in knocks))).count(0)


async def test_waits_grow_to_their_bound(tries: Tries) -> None:
    """Five at once, then 1, 2, 4 seconds, in the end a quarter of an hour: some hundred a day."""
    now_s, told = 0.0, []
    for _ in range(18):
        wait_s = await begin(tries, HERE, now_s)
        told.append(wait_s)
        now_s += wait_s
        assert wait_s == 0 or await begin(tries, HERE, now_s) == 0

    assert [0.0] * 5 + [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900] == told


async def test_many_at_once_are_many(tries: Tries) -> None:
    """A try counts before its password is looked at: thirty at the same moment are five tries."""
    assert 5 == await looked_at(tries, [HERE] * 30)


async def test_instances_count_together(admin_url: str) -> None:
    """Guessing at one instance and another gains nothing, however the guesses meet; nor does waiting for a restart."""
    async with open_admin_database(admin_url) as database:
        one = Tries(database)
        if admin_url.startswith("postgresql"):
            async with open_admin_database(admin_url) as beside:
                looked = await asyncio.gather(*(looked_at(each, [HERE] * 10) for each in (one, Tries(beside))))
        else:
            looked = [await looked_at(one, [HERE] * 10)]
    async with open_admin_database(admin_url) as restarted:
        after = await begin(Tries(restarted), HERE, 0.25)

    assert 5 == sum(looked)
    assert 0.75 == after


async def test_what_is_refused_a_look_makes_nobody_wait_longer(tries: Tries) -> None:
    """Who knocks on during a wait does not move its end; who only asks how long it is moves nothing."""
    await fail(tries, HERE, 6, 0)
    asked = {await tries.wait_s(HERE, SETTINGS, now_ms=START_MS + 1500) for _ in range(3)}
    told = {await begin(tries, HERE, 1.5) for _ in range(5)}

    assert ({1.5}, {1.5}) == (asked, told)


async def test_the_right_password_ends_the_waits(tries: Tries) -> None:
    """From there; for the address as a whole the wrong ones before it stay."""
    now_s = await fail(tries, HERE, 9, 0) + 100
    assert 0 == await begin(tries, HERE, now_s)
    await tries.take_back(HERE, SETTINGS, right=True)

    assert 5 == await looked_at(tries, [HERE] * 10, now_s)
    others = [Knock(account=f"user{n}", address=HERE.address) for n in range(20)]
    assert 20 - 9 - 5 == await looked_at(tries, others, now_s)


async def test_a_try_that_could_not_be_looked_at_is_none(tries: Tries) -> None:
    """A store that was away costs nobody a try."""
    for _ in range(12):
        assert 0 == await begin(tries, HERE, 0)
        await tries.take_back(HERE, SETTINGS, right=False)


async def test_one_address_does_not_try_all_accounts(tries: Tries) -> None:
    """Password spraying: twenty accounts once each, then the address waits, whatever the name."""
    knocks = [Knock(account=f"user{n}", address="192.0.2.1") for n in range(30)]

    assert 20 == await looked_at(tries, knocks)
    assert 0 == await begin(tries, Knock(account="user0", address="192.0.2.2"), 0)


async def test_many_addresses_do_not_lock_the_owner_out(tries: Tries) -> None:
    """Fifty addresses at one account: it waits half a minute at most, and a browser in which the owner signed in before not at
    all."""
    settings = SignInSettings(account_tries=3)
    for n in range(50):
        await begin(tries, Knock(account="owner", address=f"198.51.100.{n}"), n * 60, settings)
    now_s = 50 * 60.0 - 59

    assert 0 < await begin(tries, HERE, now_s, settings) <= settings.account_wait_s
    assert 0 == await begin(tries, Knock(account="owner", address="192.0.2.1", device="d"), now_s, settings)
    assert 0 == await begin(tries, Knock(account="another", address="192.0.2.1"), now_s, settings)


async def test_a_known_browser_has_its_own_bound(tries: Tries) -> None:
    """Whoever stole its cookie guesses no faster, and only in its name."""
    known = Knock(account="owner", address="192.0.2.1", device="d")

    assert 5 == await looked_at(tries, [known] * 10)
    assert 0 == await begin(tries, HERE, 0)


async def test_what_was_long_ago_counts_no_more(tries: Tries, database: Database) -> None:
    """And is not kept either."""
    now_s = await fail(tries, HERE, 12, 0) + SETTINGS.forget_s
    stranger = Knock(account="another", address="203.0.113.1")
    await begin(tries, stranger, now_s)
    async with database.reading() as db:
        kept = {row[0] for row in await db.rows("SELECT digest FROM admin_tries")}

    assert {limit.digest for limit in limits_of(stranger, SETTINGS)} == kept
    assert 5 == await looked_at(tries, [HERE] * 10, now_s)


async def test_a_clock_that_was_wrong_locks_nobody_out(tries: Tries) -> None:
    """Counted by an instance that thought it was next year: that counts no more, and goes."""
    await fail(tries, HERE, 6, 365 * 86_400)

    assert 0 == await begin(tries, HERE, 0)
    assert [0, 0, 0, 0, 1] == [await begin(tries, HERE, 0) for _ in range(5)]


async def test_counts_are_bounded(database: Database) -> None:
    """However many names and addresses come by, the oldest go."""
    tries = Tries(database, bound=9)
    for n in range(10):
        await begin(tries, Knock(account=f"a{n}", address=f"2001:db8:{n:x}::1"), n)
    async with database.reading() as db:
        kept = {row[0] for row in await db.rows("SELECT digest FROM admin_tries")}

    newest = [Knock(account=f"a{n}", address=f"2001:db8:{n:x}::1") for n in range(7, 10)]
    assert {limit.digest for knock in newest for limit in limits_of(knock, SETTINGS)} == kept


async def test_no_name_is_kept(tries: Tries, database: Database) -> None:
    """What is typed as a name may be a password, and an address is a person's."""
    await begin(tries, Knock(account="my 密码 pass", address="192.0.2.77", device="mark"), 0)
    await begin(tries, Knock(account="my 密码 pass\ud800", address="192.0.2.77"), 0)
    async with database.reading() as db:
        stored = repr([tuple(row) for row in await db.rows("SELECT * FROM admin_tries")])

    assert not [word for word in ("密码", "pass", "192.0.2", "mark") if word in stored]


def test_the_longest_wait_counts() -> None:
    """Of several limits; without counts nobody waits."""
    limits = limits_of(HERE, SETTINGS)
    counts = dict(zip((limit.digest for limit in limits), (Count(4, 0), Count(21, 0), Count(30, 0)), strict=True))

    assert 0 == waits(limits, {}, SETTINGS, now_ms=0)
    assert 2 == waits(limits, counts, SETTINGS, now_ms=0)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
        ("", "unknown"),
    ],
)
def test_an_address_counts_as_one_subscriber(address: str, network: str) -> None:
    assert network == network_of(address)
