"""Whose address is believed when proxies stand in between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.proxies import UNKNOWN, client_ip, networks

TRUSTED = networks(["10.0.0.0/8", "::1", "127.0.0.1", " 192.168.1.7 "])


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("203.0.113.9", [], "203.0.113.9"),
        ("203.0.113.9", ["127.0.0.1"], "203.0.113.9"),  # not our proxy: its header is the caller's invention
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["127.0.0.1, 203.0.113.9"], "203.0.113.9"),  # the left part is the caller's invention
        ("10.0.0.1", ["203.0.113.9, 10.0.0.2", "10.0.0.3"], "203.0.113.9"),
        ("10.0.0.1", ["10.0.0.2, 10.0.0.3"], "10.0.0.2"),
        ("10.0.0.1", ["203.0.113.9:4711"], "203.0.113.9"),
        ("::1", ["[2001:db8::7]:4711"], "2001:db8::7"),
        ("::1", ["fe80::1%eth0"], "fe80::1"),
        ("::ffff:10.0.0.1", ["::ffff:203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["203.0.113.9, unknown"], UNKNOWN),
        ("10.0.0.1", [""], UNKNOWN),
        ("10.0.0.1", ["127.1"], UNKNOWN),
        ("192.168.1.7", ["203.0.113.9"], "203.0.113.9"),
        ("", [], UNKNOWN),
        (None, ["127.0.0.1"], UNKNOWN),
    ],
)
def test_the_nearest_hop_that_is_no_trusted_proxy_is_the_caller(
    peer: str | None, forwarded: list[str], expected: str
) -> None:
    """Read from the right, only as far as trusted proxies vouch."""
    assert expected == client_ip(peer, forwarded, trusted=TRUSTED)


@given(st.lists(st.text(max_size=40), max_size=4))
def test_nothing_left_of_an_untrusted_hop_counts(invented: list[str]) -> None:
    """Whatever a caller writes into the header, our proxy appends their real address."""
    header = ",".join([*invented, "203.0.113.9"])

    assert "203.0.113.9" == client_ip("10.0.0.1", [header], trusted=TRUSTED)


def test_an_entry_that_is_no_network_is_named() -> None:
    """A typo in the settings is told at the start."""
    with pytest.raises(ValueError, match="nginx"):
        networks(["nginx"])
