"""Somebody who reads the console's pages and sends their forms, without a browser."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from gateway.admin.operations import Handlers
from gateway.admin.rights import Actor
from tests.admin_pages import CSRF, NOW_MS, FakeDoorkeeper, console


@dataclass
class Pages:
    """What one reader gets."""

    session: aiohttp.ClientSession
    url: str
    language: str = "en"

    async def get(self, path: str, *, status: int = 200) -> str:
        headers = {"Accept-Language": self.language}
        async with self.session.get(f"{self.url}/admin{path}", headers=headers) as response:
            text = await response.text()
            assert status == response.status, (path, response.status, text[:2000])
            return text

    async def post(
        self, path: str, form: Mapping[str, str] | Sequence[tuple[str, str]] = (), *, status: int = 303
    ) -> str:
        """Send a form; return where it leads, or the page."""
        fields = [*(form.items() if isinstance(form, Mapping) else form), ("csrf", CSRF)]
        headers = {"Accept-Language": self.language, "Origin": self.url}
        async with self.session.post(
            f"{self.url}/admin{path}", data=fields, headers=headers, allow_redirects=False
        ) as response:
            text = await response.text()
            assert status == response.status, (path, response.status, text[:2000])
            return response.headers["Location"].removeprefix("/admin") if status == 303 else text


@asynccontextmanager
async def reading(
    *handlers: Handlers, by: Actor, language: str = "en", clock: Callable[[], int] = lambda: NOW_MS
) -> AsyncIterator[Pages]:
    """Serve the console over these acts to somebody who is signed in; it is as late as `clock` says."""
    async with (
        console(*handlers, doorkeeper=FakeDoorkeeper(by), clock=clock) as url,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session,
    ):
        yield Pages(session, url, language)


def hidden(page: str, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found is not None, name
    return found[1]
