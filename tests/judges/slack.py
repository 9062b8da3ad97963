"""Slack as others understand it: npm's `emulate`, an implementation that knows nothing of ours.

What it can't do, so that nobody looks for it here: Socket Mode, slash commands, `app_mention`, statuses, limits, redelivery.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from adapters.slack.manifest import SCOPES
from tests.judges.install import HERE, emulate
from tests.judges.processes import process
from tests.services import free_port

BOT, BOT_TOKEN, SIGNING_SECRET = "UBOT", "xoxb-clew", "judge-s3cr3t"
PEOPLE = ("alice", "bob")

SEED = {
    "signing_secret": SIGNING_SECRET,
    "strict_scopes": True,  # the bot may do what our manifest asks for, and nothing else
    "users": [{"name": name, "real_name": f"{name.title()} 爱丽丝"} for name in PEOPLE],
    "channels": [{"name": "bots"}],
    "oauth_apps": [
        {
            "client_id": "1.2", "client_secret": "x", "app_id": "A1", "name": "Clew", "bot_name": "clew", "bot_id": "BBOT",
            "bot_user_id": BOT, "redirect_uris": ["http://localhost/x"],
        }
    ],
    "tokens": [
        {
            "token": BOT_TOKEN, "type": "bot", "user_id": BOT, "bot_id": "BBOT", "bot_user_id": BOT, "app_id": "A1",
            "scopes": list(SCOPES),
        },
        *({"token": f"xoxp-{name}", "type": "user", "user": name} for name in PEOPLE),
    ],
}  # fmt: skip


@dataclass(slots=True, kw_only=True)
class SlackJudge:
    """A running workspace. `people` and `rooms` are ids by name."""

    url: str
    session: aiohttp.ClientSession
    people: dict[str, str]
    rooms: dict[str, str]

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/"

    async def call(self, method: str, *, by: str = "alice", **arguments: Any) -> dict[str, Any]:
        """Let a person call the Web API; AssertionError if it says no."""
        headers = {"Authorization": f"Bearer xoxp-{by}"}
        async with self.session.post(f"{self.api_url}{method}", json=arguments, headers=headers) as answer:
            told: dict[str, Any] = await answer.json()
        assert told["ok"], (method, arguments, told)
        return told

    async def hears(self, url: str) -> None:
        """Send all events to `url` from now on."""
        async with self.session.put(f"{self.url}/events", data=url) as answer:
            assert 200 == answer.status

    async def deliveries(self) -> list[int | None]:
        """Return the statuses with which events were acknowledged, oldest first; None: not at all."""
        async with self.session.get(f"{self.url}/events") as answer:
            return [delivery["status_code"] for delivery in await answer.json()]


@asynccontextmanager
async def slack_judge(folder: Path) -> AsyncIterator[SlackJudge]:
    """Run the judge, with Alice, Bob and the app in #bots."""
    node, package = emulate()
    port = free_port()
    env = {"PACKAGE": str(package), "SEED": json.dumps(SEED), "PORT": str(port), "INNER": str(free_port())}
    async with (
        process(node, HERE / "emulate" / "harness.mjs", folder=folder, env=env, ready="ready"),
        aiohttp.ClientSession() as session,
    ):
        judge = SlackJudge(url=f"http://127.0.0.1:{port}", session=session, people={}, rooms={})
        judge.people = {one["name"]: one["id"] for one in (await judge.call("users.list"))["members"]}
        judge.rooms = {one["name"]: one["id"] for one in (await judge.call("conversations.list"))["channels"]}
        await judge.call("conversations.invite", channel=judge.rooms["bots"], users=BOT)
        yield judge
