"""How long somebody waits after wrong passwords. The clock is a number."""

from __future__ import annotations

import pytest

from config.admin import SignInSettings
from gateway.admin.tries import Knock, Tries, network_of

SETTINGS = SignInSettings()
HERE = Knock(account="owner", address="192.0.2.1")


def fail(tries: Tries, knock: Knock, times: int, now_s: float) -> float:
    """Try that often, waiting as told; return the time afterwards."""
    for _ in range(times):
        while (wait_s := tries.begin(knock, SETTINGS, now_s=now_s)) > 0:
            now_s += wait_s
    return now_s


def test_waits_grow_to_their_bound() -> None:
    """Five at once, then 1, 2, 4 seconds, in the end a quarter of an hour: some hundred a day."""
    tries, now_s, waits = Tries(), 0.0, []
    for _ in range(18):
        wait_s = tries.begin(HERE, SETTINGS, now_s=now_s)
        waits.append(wait_s)
        now_s += wait_s
        assert wait_s == 0 or tries.begin(HERE, SETTINGS, now_s=now_s) == 0

    assert [0.0] * 5 + [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900] == waits


def test_many_at_once_are_many() -> None:
    """A try counts before its password is looked at: a hundred at the same moment are five tries."""
    tries = Tries()

    assert 5 == sum(tries.begin(HERE, SETTINGS, now_s=0) == 0 for _ in range(100))


def test_what_is_refused_a_look_makes_nobody_wait_longer() -> None:
    """Who knocks on during a wait does not move its end."""
    tries = Tries()
    fail(tries, HERE, 6, 0)
    waits = [tries.begin(HERE, SETTINGS, now_s=1.5) for _ in range(50)]

    assert {1.5} == set(waits)


def test_the_right_password_ends_the_waits() -> None:
    """From there; for the address as a whole the wrong ones before it stay."""
    tries = Tries()
    now_s = fail(tries, HERE, 9, 0)
    now_s += 100
    assert 0 == tries.begin(HERE, SETTINGS, now_s=now_s)
    tries.take_back(HERE, SETTINGS, right=True)

    assert 5 == sum(tries.begin(HERE, SETTINGS, now_s=now_s) == 0 for _ in range(10))


def test_a_try_that_could_not_be_looked_at_is_none() -> None:
    """A store that was away costs nobody a try."""
    tries = Tries()
    for _ in range(50):
        assert 0 == tries.begin(HERE, SETTINGS, now_s=0)
        tries.take_back(HERE, SETTINGS, right=False)


def test_one_address_does_not_try_all_accounts() -> None:
    """Password spraying: twenty accounts once each, then the address waits, whatever the name."""
    tries = Tries()
    knocks = [Knock(account=f"user{n}", address="192.0.2.1") for n in range(40)]

    assert 20 == sum(tries.begin(knock, SETTINGS, now_s=0) == 0 for knock in knocks)
    assert 0 == tries.begin(Knock(account="user0", address="192.0.2.2"), SETTINGS, now_s=0)


def test_many_addresses_do_not_lock_the_owner_out() -> None:
    """A thousand addresses at one account: it waits half a minute at most, and a browser in which the owner signed in before
    not at all."""
    tries = Tries()
    for n in range(1000):
        tries.begin(Knock(account="owner", address=f"198.51.{n % 250}.{n // 250}"), SETTINGS, now_s=n * 60)
    now_s = 1000 * 60.0 - 59

    assert 0 < tries.begin(HERE, SETTINGS, now_s=now_s) <= SETTINGS.account_wait_s
    assert 0 == tries.begin(Knock(account="owner", address="192.0.2.1", device="d"), SETTINGS, now_s=now_s)
    assert 0 == tries.begin(Knock(account="another", address="192.0.2.1"), SETTINGS, now_s=now_s)


def test_a_known_browser_has_its_own_bound() -> None:
    """Whoever stole its cookie guesses no faster, and only in its name."""
    tries = Tries()
    known = Knock(account="owner", address="192.0.2.1", device="d")

    assert 5 == sum(tries.begin(known, SETTINGS, now_s=0) == 0 for _ in range(10))
    assert 0 == tries.begin(HERE, SETTINGS, now_s=0)


def test_what_was_long_ago_counts_no_more() -> None:
    tries = Tries()
    now_s = fail(tries, HERE, 12, 0)

    assert 5 == sum(tries.begin(HERE, SETTINGS, now_s=now_s + SETTINGS.forget_s) == 0 for _ in range(10))


def test_counts_are_bounded() -> None:
    """However many names and addresses come by."""
    tries = Tries(bound=30)
    for n in range(1000):
        tries.begin(Knock(account=f"a{n}", address=f"2001:db8:{n:x}::1"), SETTINGS, now_s=0)

    assert 30 == len(tries._counts)


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
