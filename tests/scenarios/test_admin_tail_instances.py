"""The live tail where two instances share one database: what happens on one is seen on the other, by who may see it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.admin.acts.access import USERS_GRANT, USERS_REMOVE
from gateway.admin.rights import Actor, Role
from memory.ids import now_ms
from tests.scenarios.stage import echo
from tests.scenarios.world import Gateway, Hook, gateway, model_server, write_config
from tests.unit.admin.access_world import World, number, world

BODY = """
agents: {default: {kind: openai, model: m-1, base_url: MODEL, api_key: sk-1}}
channels:
  hook: {kind: webhook, secrets: ["${HOOK}"], limits: {per_minute: 1000}}
  other: {kind: webhook, secrets: ["${HOOK}"]}
"""


@dataclass
class Two:
    """Two gateways on one database, and who may do what there."""

    one: Gateway
    other: Gateway
    session: aiohttp.ClientSession
    access: World
    owner: Actor

    async def user(self, name: str, role: Role, channel: str | None = None) -> Actor:
        return await self.access.user(name, role, channel)

    async def session_of(self, who: Actor) -> dict[str, str]:
        """Return the headers of somebody who is signed in at the console."""
        secret = await self.access.sessions.begin(int(number(who)), address="", browser="")
        return {"Cookie": f"clew_session={secret}"}

    async def token_of(self, who: Actor) -> dict[str, str]:
        user, ends_ms = int(number(who)), now_ms() + 600_000
        made = await self.access.tokens.make("tail", user_id=user, parent=None, grants=who.grants, ends_ms=ends_ms)
        return {"Authorization": f"Bearer {made.secret}"}

    @asynccontextmanager
    async def following(
        self, headers: dict[str, str], *, path: str = "/api/v1/tail"
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """Follow what happens, at the other instance."""
        timeout = aiohttp.ClientTimeout(total=60)
        async with self.session.get(f"{self.other.url}{path}", headers=headers, timeout=timeout) as response:
            assert (200, "text/event-stream") == (response.status, response.content_type), await response.text()
            assert b": follows\n" == await response.content.readline()
            yield response.content

    async def say(self, text: str, channel: str = "hook") -> dict[str, Any]:
        """Say something at the one instance."""
        return await Hook(self.session, self.one, channel).say(text, name="Zoe")


@asynccontextmanager
async def two(folder: Path, url: str) -> AsyncIterator[Two]:
    async with model_server(echo) as model, aiohttp.ClientSession() as session:
        config = write_config(folder, BODY.replace("MODEL", model.url), storage=url)
        async with gateway(config) as one, gateway(config) as other, world(url) as access:
            access.now_ms = now_ms()
            yield Two(one, other, session, access, await access.user("owner", "owner"))


async def seen(lines: aiohttp.StreamReader, turn: str, state: str) -> dict[str, Any]:
    """Return what is told of a turn as soon as it is in that state."""
    async with asyncio.timeout(20):
        while True:
            line = (await lines.readline()).decode()
            assert line, "the stream has ended"
            if line.startswith("data: "):
                data: dict[str, Any] = json.loads(line.removeprefix("data: "))
                if "line" in data and (turn, state) == (data["line"]["turn"], data["line"]["state"]):
                    return data


async def ends(lines: aiohttp.StreamReader) -> None:
    async with asyncio.timeout(4):  # two seconds, on a busy machine
        while await lines.readline():
            pass


async def test_what_happens_at_one_instance_is_seen_at_the_other(tmp_path: Path, postgres_url: str) -> None:
    """As it comes and as it ends, with the reply; of channels that one may not see nothing, of those that one may not read no
    word."""
    async with two(tmp_path, postgres_url) as there:
        operator, viewer = await there.user("op", "operator", "hook"), await there.user("vic", "viewer")
        async with (
            there.following(await there.token_of(operator)) as reads,
            there.following(await there.token_of(viewer)) as sees,
        ):
            hidden = await there.say("not for hook", "other")
            turn = await there.say("尾巴 tail")
            read, blind = (
                await seen(reads, turn["turn"], "answered"),
                await seen(sees, turn["turn"], "answered"),
            )
            told = await seen(sees, (await there.say("again", "other"))["turn"], "answered")

    assert ("尾巴 tail", "Zoe", "re: 尾巴 tail") == (read["text"], read["name"], read["reply"])
    assert ("", "", "", "hook") == (blind["text"], blind["name"], blind["reply"], blind["line"]["channel"])
    assert "other" == told["line"]["channel"]
    assert hidden["turn"] not in str(read)


@pytest.mark.parametrize("door", ["token", "session"])
async def test_rights_that_were_narrowed_at_one_end_what_is_followed_at_the_other(
    door: str, tmp_path: Path, postgres_url: str
) -> None:
    """Within two seconds; who comes again sees what they may see by then. Who lost everything comes in no more."""
    async with two(tmp_path, postgres_url) as there:
        wen = await there.user("wen", "operator")
        headers = await (there.token_of(wen) if door == "token" else there.session_of(wen))
        path = "/api/v1/tail" if door == "token" else "/admin/live/events"
        async with there.following(headers, path=path) as follows:
            await there.access.do(there.owner, USERS_GRANT, user=number(wen), role="viewer")
            await ends(follows)
        async with there.following(headers, path=path) as follows:
            turn = await there.say("Geheimnis 秘密")
            text = ""
            async with asyncio.timeout(20):
                while turn["turn"] not in text:
                    text += (await follows.readline()).decode()
            await there.access.do(there.owner, USERS_REMOVE, user=number(wen))
            await ends(follows)
        async with there.session.get(f"{there.other.url}{path}", headers=headers, allow_redirects=False) as response:
            status = response.status

    assert "Geheimnis" not in text
    assert status in (303, 401)
