"""Who may use the chat page: this machine without a token, whoever knows it with one, and never a foreign page."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.console.access import Visit, cookie_value, foreign, guesser, refusal, same

TOKEN = "opensesame-芝麻"


def visit(**changes: Any) -> Visit:
    plain = {
        "remote": "127.0.0.1",
        "host": "127.0.0.1:8080",
        "origin": None,
        "site": None,
        "proxied": False,
        "bearer": None,
        "cookie": None,
    }
    return Visit(**(plain | changes))


@pytest.mark.parametrize(
    ("remote", "host"),
    [
        ("127.0.0.1", "localhost:8080"),
        ("127.0.0.1", "LOCALHOST"),
        ("127.8.9.1", "127.0.0.1:8080"),
        ("::1", "[::1]:8080"),
        ("::ffff:127.0.0.1", "localhost:8080"),
        ("127.0.0.1", "clew.home.example:8080"),
    ],
)
def test_this_machine_is_welcome(remote: str, host: str) -> None:
    """Without a token, this machine's addresses under its own names, and the public URL's, are let in."""
    came = visit(remote=remote, host=host)

    assert refusal(came, token=None, public_url="http://clew.home.example:8080", writes=True) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"remote": "192.168.1.7"},
        {"remote": "unknown"},
        {"remote": None},
        {"remote": "fe80::1%eth0"},
        {"host": "attacker.example:8080"},  # DNS rebinding: a foreign name that points here
        {"host": "localhost.attacker.example"},
        {"host": "127.0.0.1.attacker.example"},
        {"host": "[::1"},
        {"host": None},
        {"host": ""},
        {"proxied": True},  # a proxy on this machine makes everybody look local
    ],
)
def test_everybody_else_is_not(changes: dict[str, Any]) -> None:
    """Other machines, rebound names and callers behind a proxy are refused, to read and to write."""
    for writes in (False, True):
        assert refusal(visit(**changes), token=None, public_url=None, writes=writes) == "not_local"


def test_a_token_is_asked_of_everybody() -> None:
    """With a token set, being local is not enough: a proxy on this machine would let everybody in."""
    assert refusal(visit(), token=TOKEN, public_url=None, writes=False) == "token_needed"


@pytest.mark.parametrize("shown", ["", "opensesame", TOKEN + " ", "\udc80", cookie_value("another token")])
def test_a_wrong_token_is_refused(shown: str) -> None:
    """Neither as bearer nor as cookie; and odd characters are no error."""
    for changes in ({"bearer": shown}, {"cookie": shown}):
        assert refusal(visit(**changes), token=TOKEN, public_url=None, writes=False) == "token_needed"


def test_who_knows_the_token_is_welcome_from_anywhere() -> None:
    """The token as bearer, or the cookie made from it; the cookie is not the token itself."""
    far = {"remote": "203.0.113.9", "host": "chat.example", "proxied": True}

    for credential in ({"bearer": TOKEN}, {"cookie": cookie_value(TOKEN)}):
        assert refusal(visit(**far, **credential), token=TOKEN, public_url=None, writes=True) is None
    assert refusal(visit(**far, cookie=TOKEN), token=TOKEN, public_url=None, writes=True) == "token_needed"
    assert TOKEN not in cookie_value(TOKEN)


@pytest.mark.parametrize(
    ("changes", "is_foreign"),
    [
        ({}, False),
        ({"origin": "http://127.0.0.1:8080", "site": "same-origin"}, False),
        ({"origin": "https://chat.example"}, False),
        ({"site": "none"}, False),
        ({"origin": "http://127.0.0.1:9090"}, True),  # another program's page on this machine
        ({"origin": "null"}, True),
        ({"origin": ""}, True),
        ({"origin": "http://[bad"}, True),
        ({"origin": "https://attacker.example"}, True),
        ({"site": "cross-site"}, True),
        ({"site": "same-site"}, True),
        ({"host": None, "origin": "null"}, True),
    ],
)
def test_a_foreign_page_can_not_speak(changes: dict[str, Any], is_foreign: bool) -> None:
    """What another origin's page sends is seen by Origin or Sec-Fetch-Site; it may not write, even from this machine."""
    assert foreign(visit(**changes), public_url="https://chat.example") is is_foreign


def test_a_foreign_page_is_refused_only_where_something_is_said() -> None:
    """A link to the page from elsewhere works; a form or script from elsewhere does not."""
    came = visit(site="cross-site")

    assert refusal(came, token=None, public_url=None, writes=False) is None
    assert refusal(came, token=None, public_url=None, writes=True) == "foreign_page"


def test_secrets_are_compared_as_bytes() -> None:
    """Texts outside ASCII can be tokens."""
    assert same("令牌", "令牌")
    assert not same("令牌", "令牌 ")


def test_guesses_are_counted_by_whoever_can_be_told_apart() -> None:
    """By address; of IPv6 by network, as one subscriber has 2^64 addresses; mapped addresses are what they map."""
    assert guesser("203.0.113.9") == guesser("::ffff:203.0.113.9") != guesser("203.0.113.10")
    assert guesser("2001:db8:1:2::1") == guesser("2001:db8:1:2:ffff::9%eth0") != guesser("2001:db8:1:3::1")
    assert guesser(None) == guesser("unknown") == guesser("")
