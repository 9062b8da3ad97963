"""What all databases do alike with rows: pure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.base import Identity
from memory.key import encode_part
from memory.stores.rows import TITLE_CHARS, decoded_user, identity_columns, storable, title_of

anything = st.text(st.characters(), max_size=200)  # lone surrogates included


@given(anything)
def test_what_is_storable_is_utf8_without_nul_and_stays_so(text: str) -> None:
    """Only what cannot be stored changes, each character for one."""
    stored = storable(text)

    assert b"\x00" not in stored.encode()
    assert stored == storable(stored)
    assert len(text) == len(stored)
    assert all(old == new or new == "\ufffd" for old, new in zip(text, stored, strict=True))


@given(anything)
def test_a_title_is_one_short_line(text: str) -> None:
    title = title_of(text)

    assert TITLE_CHARS >= len(title)
    assert 1 >= len(title.splitlines())


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("  hello\n world ", "hello world"),
        ("\n\t ", ""),
        ("这是一个三十个字以内的标题", "这是一个三十个字以内的标题"),
        ("字" * 40, "字" * 29 + "…"),
        ("x" * 30, "x" * 30),
    ],
)
def test_titles(text: str, title: str) -> None:
    assert title == title_of(text)


@given(st.text(min_size=1))
def test_an_account_comes_back_from_its_column(account: str) -> None:
    assert account == decoded_user(encode_part(account))


@given(st.tuples(*[st.text(min_size=1)] * 3), st.tuples(*[st.text(min_size=1)] * 3))
def test_two_identities_never_meet(one: tuple[str, str, str], two: tuple[str, str, str]) -> None:
    """Different parts, different columns."""
    first, second = (
        identity_columns(Identity(kind=kind, tenant=tenant, account=account)) for kind, tenant, account in (one, two)
    )

    assert (one == two) == (first == second)
