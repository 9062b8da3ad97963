"""What the console's small cookies say, and where links and forms may lead."""

from __future__ import annotations

import pytest
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st

from gateway.admin.console.looks import Told, look_of, told_cookie, told_of
from gateway.admin.console.signing import foreign, local_path, same


def test_what_was_told_comes_back() -> None:
    told = Told(key="shell.cancel", values={"name": "客服群 🎉", "id": "7"})

    assert told == told_of({"clew_told": told_cookie(told)})


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=3000), max_size=30))
def test_a_cookie_is_never_longer_than_a_browser_keeps(values: dict[str, str]) -> None:
    value = told_cookie(Told(key="x.y", values=values))

    assert len(value) <= 1500
    kept = told_of({"clew_told": value})
    assert kept is not None
    assert "x.y" == kept.key


@given(st.text())
def test_a_cookie_that_makes_no_sense_is_none(value: str) -> None:
    assert told_of({"clew_told": value}) is None or value
    assert look_of({"clew_theme": value, "clew_language": value}, value).theme in ("system", "light", "dark")


@pytest.mark.parametrize("path", ["/admin", "/admin/turns/5", "/admin?x=1", "/admin/people?q=%E5%AE%A2&next=//x"])
def test_paths_of_the_console_are_followed(path: str) -> None:
    assert path == local_path(path)


@pytest.mark.parametrize(
    "path",
    [
        "", "/", "//evil.example", "/admin//evil.example", "https://evil.example/admin", "/adminx", "/admin/../chat\\x",
        "/admin\\@evil.example", "/admin/\r\nSet-Cookie: a=b", "/admin/客服", "javascript:alert(1)", "/\t/evil.example",
        "/admin/../chat", "/admin/x/..", "/admin/%2e%2E/chat", "/admin/./turns", "/admin/%2F/evil.example",
    ],
)  # fmt: skip
def test_no_link_leads_out_of_the_console(path: str) -> None:
    """An open redirect lends our name to somebody else's sign-in page."""
    assert "/admin" == local_path(path)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, False),
        ({"Sec-Fetch-Site": "none"}, False),
        ({"Sec-Fetch-Site": "same-site"}, True),
        ({"Origin": "http://["}, True),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://gate.example:8080"}, True),
        ({"Origin": "http://gate.example:8080"}, False),
        ({"Origin": "https://clew.example"}, False),
        ({"Origin": "https://evil.example"}, True),
        ({"Origin": "null"}, True),
        ({}, False),
    ],
)
def test_a_form_of_another_origin_is_foreign(headers: dict[str, str], expected: bool) -> None:
    request = make_mocked_request("POST", "/admin/look", headers={"Host": "gate.example:8080", **headers})

    assert expected is foreign(request, public_url="https://clew.example/")


def test_tokens_are_compared_whole() -> None:
    assert same("abc", "abc")
    assert not same("", "abc")
    assert not same("ab\udcff", "abc")
