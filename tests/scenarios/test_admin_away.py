"""People are answered while everything that is the admins' is broken: their tables are gone under a running gateway."""

from __future__ import annotations

from pathlib import Path

from tests.scenarios.admins import PASSWORD, Admins
from tests.scenarios.stage import echo, stage

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: one, retries: 0}}
memory: {model: none}
queue: {poll_s: 0.2}
database: {timeout_s: 2}
defaults: {limits: {per_minute: 100000}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"]}
"""


async def test_people_are_answered_without_the_admins_tables(tmp_path: Path) -> None:
    """Messages are answered, in new conversations and in old ones; the admins' doors say 503 or that nobody is known, and the
    gateway ends in good order."""
    async with stage(tmp_path, BODY, script=echo) as running:
        admins = Admins(running)
        token = await admins.token("owner")
        await admins.user("owner")
        await running.hook().say("before", conversation="old")
        tables = [name for (name,) in running.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        own = [name for name in tables if name.startswith(("admin_", "takeover", "usage_", "settings_", "secrets"))]
        assert len(own) > 8, tables
        for name in own:
            running.sql(f"ALTER TABLE {name} RENAME TO lost_{name}")

        answers = [
            (await running.hook().say(text, conversation=place))["reply"]["text"]
            for text, place in (("一", "old"), ("two", "new"))
        ]
        told = await admins.ask(token, "GET", "/me")
        async with running.session.post(
            f"{running.gateway.url}/admin/sign-in", data={"name": "owner", "password": PASSWORD}, allow_redirects=False
        ) as response:
            page = response.status
        async with running.session.get(f"{running.gateway.url}/readyz") as response:
            ready = response.status
        code = await running.gateway.stop()

    assert ["re: 一", "re: two"] == answers
    assert (503, 503, 200, 0) == (told.status, page, ready, code)
