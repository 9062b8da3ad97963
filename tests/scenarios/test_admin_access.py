"""Who gets into the console and the API of a running gateway, and who does not."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.scenarios.admins import PASSWORD, Admins
from tests.scenarios.stage import stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY = """
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"]}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admins(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Admins]:
    async with stage(tmp_path_factory.mktemp("access"), BODY) as played:
        admins = Admins(played)
        await admins.user("ann", "owner")
        yield admins


async def test_signing_in_gives_a_strict_cookie(admins: Admins) -> None:
    """No script reads it, no other site's page sends it; it is new with every sign-in and worthless after leaving."""
    async with admins.signed_in("ann") as reader:
        first = await reader.sign_in("ann")
        (cookie,) = [
            value for value in re.findall(r"clew_session=[^\n]*", first.headers["Set-Cookie"]) if "clew_session" in value
        ]
        page = await reader.get("/admin")
        await reader.post("/admin/sign-out")
        left = await reader.get("/admin")

    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert 200 == page.status
    assert (303, "/admin/sign-in") == (left.status, left.headers["Location"])
    assert PASSWORD not in page.text
