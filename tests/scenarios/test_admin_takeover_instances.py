"""Take-overs where two instances share one database: what one begins the other heeds, and what is due is done once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp

from gateway.admin.rights import Grant
from gateway.admin.tokens import Tokens
from gateway.human_notices import told
from memory.ids import now_ms
from tests.contracts.admin_database import open_admin_database
from tests.scenarios.stage import Held
from tests.scenarios.world import Gateway, gateway, model_server, rows, write_config

BODY = """
agents: {default: {kind: openai, base_url: "MODEL", model: one}}
channels:
  chat: {kind: console, rooms: {soon: {takeover: {wait_s: 1, timeout_s: 1}}}}
"""


class Two:
    """Two gateways, and whoever speaks to them."""

    def __init__(self, session: aiohttp.ClientSession, token: str) -> None:
        self._session = session
        self._token = token

    async def say(self, at: Gateway, text: str, *, room: str = "r") -> dict[str, Any]:
        """Say something on the chat page; return its turn."""
        message = {"id": f"{room} {text}", "text": text}
        body = {"room": room, "chat_type": "private", "person": {"id": "zoe"}, "message": message, "language": "en"}
        async with self._session.post(f"{at.url}/channels/chat", json=body) as response:
            assert response.status in (200, 202), await response.text()
            return await response.json()  # type: ignore[no-any-return]

    async def ended(self, at: Gateway, turn: dict[str, Any]) -> dict[str, Any]:
        url = f"{at.url}/channels/chat/turns/{turn['turn']}?token={turn['token']}"
        async with asyncio.timeout(20):
            while True:
                async with self._session.get(url) as response:
                    view: dict[str, Any] = await response.json()
                if view["status"] not in ("accepted", "running"):
                    return view
                await asyncio.sleep(0.05)  # the other instance has its stream

    async def act(self, at: Gateway, method: str, path: str, **body: Any) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._token}"}
        sent = {"json": body} if method == "POST" else {}
        async with self._session.request(method, f"{at.url}/api/v1{path}", headers=headers, **sent) as response:
            return response.status, await response.json()

    async def fetched(self, at: Gateway, *, room: str = "r") -> list[str]:
        query = f"room={room}&person=zoe&chat_type=private&after=0"
        async with self._session.get(f"{at.url}/chat/said?{query}") as response:
            return [one["text"] for one in (await response.json())["said"]]


async def test_two_instances_keep_to_one_take_over(
    tmp_path: Path, postgres_url: str, session: aiohttp.ClientSession
) -> None:
    """A turn that runs on one is cut short by who takes over on the other; of two who take the same conversation at once one has
    it, and the other is told who; what the human says by either is in order. A request that is due ends once."""
    held = Held()
    async with model_server(held) as model:
        config = write_config(tmp_path, BODY.replace("MODEL", model.url), storage=postgres_url)
        async with gateway(config) as one, gateway(config) as other:
            async with open_admin_database(postgres_url) as database:
                made = [
                    await Tokens(database, clock=now_ms).make(
                        name, user_id=None, parent=None, grants=[Grant(role="operator")], ends_ms=now_ms() + 600_000
                    )
                    for name in ("Ann", "Bob")
                ]
            ann, bob = (Two(session, token.secret) for token in made)
            turn = await ann.say(one, "tell me")
            await model.called.wait()
            begun = await asyncio.gather(
                ann.act(other, "POST", "/takeovers", turn=turn["turn"]),
                bob.act(one, "POST", "/takeovers", turn=turn["turn"]),
            )
            cut = await ann.ended(one, turn)
            (winner, loser) = (ann, bob) if begun[0][0] == 200 else (bob, ann)
            id_ = next(told_ for status, told_ in begun if status == 200)["takeover"]
            for n, at in enumerate((one, other, one, other)):
                assert 200 == (await winner.act(at, "POST", f"/takeovers/{id_}/messages", text=f"{n} 在"))[0]
            refused = await loser.act(other, "POST", f"/takeovers/{id_}/messages", text="me")
            kept = await ann.ended(other, await ann.say(other, "I see"))
            soon = await ann.say(one, "/human", room="soon")
            assert told("asked", "en") == (await ann.ended(one, soon))["reply"]["text"]
            async with asyncio.timeout(20):
                while not (over := await ann.fetched(other, room="soon")):
                    await asyncio.sleep(0.1)  # nothing outside of the gateways hears of it
            said = await ann.fetched(one)
            log = [*one.log, *other.log]

    name = "Ann" if winner is ann else "Bob"
    assert [200, 409] == sorted(status for status, _ in begun)
    assert f"First words\n\n{told('taken_over_mark', 'en')}" == cut["reply"]["text"]
    assert ("observed", "taken_over") == (kept["status"], kept["rule"])
    assert 409 == refused[0]
    assert f"{name} has this conversation" in refused[1]["detail"]
    words = [told("begun", "en", name=name), *(told("said", "en", name=name, text=f"{n} 在") for n in range(4))]
    assert words == said
    assert [told("not_taken", "en", prefix="")] == over
    assert [("active", 1), ("ended", 1)] == rows(
        postgres_url, "SELECT state, count(*) FROM takeovers GROUP BY state ORDER BY state"
    )
    assert not [line for line in log if '"level":"error"' in line]
