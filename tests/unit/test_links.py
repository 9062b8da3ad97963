"""Messages' addresses as platforms copy them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack import links as slack
from adapters.telegram import links as telegram


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("https://acme.slack.com/archives/C024BE91L/p1355517523000008", ("C024BE91L", "1355517523.000008")),
        (
            " https://acme.slack.com/archives/D1/p1355517523000008?thread_ts=1355517520.0001&cid=D1 ",
            ("D1", "1355517523.000008"),
        ),
        ("https://acme.enterprise.slack.com/archives/G1/p1355517523000008/", ("G1", "1355517523.000008")),
        ("https://slack.com.evil.example/archives/C1/p1355517523000008", None),
        ("javascript://acme.slack.com/archives/C1/p1355517523000008", None),
        ("https://acme.slack.com/archives/C1", None),
        ("https://acme.slack.com/archives/C1/p135551752300000", None),
        ("https://[/archives", None),
        ("", None),
    ],
)
def test_slacks_links(link: str, expected: tuple[str, str] | None) -> None:
    """Room and ts; what only looks like one is none."""
    assert expected == slack.located(link)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("https://t.me/c/1234567890/42", ("-1001234567890", "42")),
        ("https://t.me/c/1234567890/7/42?single", ("-1001234567890", "42")),
        ("https://telegram.me/c/1/2/", ("-1001", "2")),
        ("https://t.me/somegroup/42", None),
        ("https://t.me.evil.example/c/1/2", None),
        ("https://t.me/c/1/２", None),
        ("https://[", None),
    ],
)
def test_telegrams_links(link: str, expected: tuple[str, str] | None) -> None:
    """Chat and message of supergroups, in topics too."""
    assert expected == telegram.located(link)


@given(st.text(max_size=200))
def test_anything_may_be_asked(text: str) -> None:
    """Nothing breaks what reads an address."""
    for located in (slack.located, telegram.located):
        located(text)
        located(f"https://{text}")
