"""One who looks at a running gateway by REST, with a token of their own, on whatever database."""

from __future__ import annotations

import json
import secrets
from typing import Any

import aiohttp

from gateway.admin.rights import Role
from gateway.admin.sessions import digest_of
from tests.scenarios.stage import Stage


class Eyes:
    """One who looks, by REST, with a token of their own."""

    def __init__(self, stage: Stage, role: Role, channel: str | None = None) -> None:
        grant = {"role": role} | ({} if channel is None else {"channel": channel})
        self._stage = stage
        self._secret = f"clew_{secrets.token_urlsafe(32)}"
        # Past the doors: on a server's database there is none that needs no admin yet.
        values = f"'{digest_of(self._secret)}', 'eyes', '{json.dumps([grant])}', 1, 4102444800000"
        stage.sql(f"INSERT INTO admin_tokens (digest, name, grants, created_ms, ends_ms) VALUES ({values})")

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._secret}"}

    async def ask(self, method: str, path: str, *, json: Any = None, **query: str) -> tuple[int, str]:
        url = f"{self._stage.gateway.url}/api/v1{path}"
        async with self._stage.session.request(method, url, headers=self.headers, json=json, params=query) as response:
            return response.status, await response.text()

    async def get(self, path: str, **query: str) -> Any:
        status, text = await self.ask("GET", path, **query)
        assert 200 == status, (path, query, text)
        return json.loads(text)

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        status, text = await self.ask("POST", path, json=body)
        assert 200 == status, (path, text)
        return json.loads(text)

    def tail(self, **query: str) -> Any:
        url = f"{self._stage.gateway.url}/api/v1/tail"
        return self._stage.session.get(url, headers=self.headers, params=query, timeout=aiohttp.ClientTimeout(60))
