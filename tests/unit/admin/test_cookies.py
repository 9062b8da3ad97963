"""How safe the line to a browser is, and which cookies that allows."""

from __future__ import annotations

import pytest
from aiohttp import web

from gateway.admin.console.cookies import CookieName, Line, Way, drop, name_of, put, read, way_of

PUBLIC = "https://clew.example"


def line(
    host: str, *, proxied: bool = False, proto: str = "", vouched: bool = False, public: str | None = None
) -> Line:
    return Line(host=host, proxied=proxied, vouched=vouched, forwarded_proto=proto, public_url=public)


@pytest.mark.parametrize(
    ("way", "came"),
    [
        # On one machine, without https
        ("local", line("127.0.0.1:8080")),
        ("local", line("localhost")),
        ("local", line("[::1]:8080")),
        ("local", line("localhost:8080", public=PUBLIC)),
        # From elsewhere without https, or by a name that a page elsewhere has pointed here (DNS rebinding)
        ("open", line("clew.example")),
        ("open", line("192.0.2.1:8080")),
        ("open", line("127.0.0.1.evil.example")),
        ("open", line("")),
        ("open", line("[::1")),
        ("open", line("clew.example", public="http://clew.example")),
        # https that the settings or a trusted proxy vouch for
        ("secure", line("clew.example", public=PUBLIC)),
        ("secure", line("127.0.0.1:8080", proxied=True, public=PUBLIC)),
        ("secure", line("inner:8080", proxied=True, vouched=True, proto="https")),
        ("secure", line("inner:8080", proxied=True, vouched=True, proto="http, HTTPS")),
        ("open", line("inner:8080", proxied=True, vouched=True, proto="http", public=PUBLIC)),
        ("open", line("127.0.0.1", proxied=True, vouched=True, proto="https, http")),
        # What nobody vouches for
        ("open", line("127.0.0.1:8080", proxied=True)),
        ("open", line("clew.example", proxied=True, proto="https")),
        ("open", line("other.example", public=PUBLIC)),
    ],
)
def test_how_safe_a_line_is(way: Way, came: Line) -> None:
    assert way == way_of(came)


@pytest.mark.parametrize("cookie", ["session", "device", "oidc"])
def test_a_secure_lines_cookies_come_from_this_host_only(cookie: CookieName) -> None:
    """`__Host-`: over https, for the whole host, for no other; none is readable by a script, and none but the provider's comes
    along from another site's link."""
    response = web.Response()
    put(response, cookie, "value", way="secure", max_age=60)
    (made,) = response.cookies.values()

    assert f"__Host-clew-{cookie}" == made.key
    assert ("/", True, True, "60") == (made["path"], made["secure"], made["httponly"], str(made["max-age"]))
    assert ("Lax" if cookie == "oidc" else "Strict") == made["samesite"]
    assert "" == made["domain"]


def test_a_local_lines_cookie_is_no_secure_ones() -> None:
    """What was set without https counts for nothing with it: a neighbour could have set it. On an open line none does."""
    local, secure = {name_of("session", "local"): "a"}, {name_of("session", "secure"): "b"}

    assert ["a", "", "", "b"] == [read(jar, "session", way) for jar in (local, secure) for way in ("local", "secure")]
    assert "" == read(local | secure, "session", "open")
    response = web.Response()
    drop(response, "session", way="local")
    assert "0" == str(response.cookies["clew_session"]["max-age"])
