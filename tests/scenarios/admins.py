"""Admins of a running gateway: what whoever owns the machine can do, tokens of every role, and a browser's session without a
browser."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
import msgspec

from config.admin import AdminSettings
from gateway.admin.binding import in_query, path_fields, request_of
from gateway.admin.entrance import Entrance
from gateway.admin.operations import Operation, Service
from gateway.admin.rights import ROLES, Role, local
from gateway.hot.process import ProcessRateLimits
from memory.ids import now_ms
from tests.contracts.admin_database import open_admin_database
from tests.scenarios.stage import Stage

PASSWORD = "correct horse battery staple"


@dataclass
class Answer:
    """What came back. `body` is what the JSON says, or None."""

    status: int
    headers: dict[str, str]
    text: str
    body: Any


@dataclass
class Admins:
    """Speaks to `/api/v1` of a gateway."""

    stage: Stage
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"{self.stage.gateway.url}/api/v1"

    async def local(self, method: str, path: str, **values: Any) -> Any:
        """Do something as whoever owns the machine, by the door of the SQLite file; it must succeed. On PostgreSQL there is no
        door: what is about access is done in the database, as `admin first-owner` does it there."""
        if self.stage.storage is not None and self.stage.storage.startswith("postgresql"):
            return await _in_database(self.stage.storage, method, path, values)
        door = json.loads(await asyncio.to_thread(Path(f"{self.stage.database}.door").read_text))
        headers = {"Authorization": f"Bearer {door['token']}"}
        async with self.stage.session.request(
            method, f"{door['url']}/api/v1{path}", json=values, headers=headers
        ) as response:
            text = await response.text()
            assert response.status < 300, (method, path, response.status, text)
            return json.loads(text) if text else None

    async def token(self, role: Role, channel: str | None = None) -> str:
        """Return an API token of this role, for one channel or (None) for all."""
        name = f"{role}@{channel or 'all'}"
        if name not in self.tokens:
            grant = {"role": role} | ({} if channel is None else {"channel": channel})
            self.tokens[name] = (await self.local("POST", "/tokens", name=name, grants=[grant]))["secret"]
        return self.tokens[name]

    async def every_role(self) -> dict[Role, str]:
        return {role: await self.token(role) for role in ROLES}

    async def ask(self, token: str | None, method: str, path: str, body: Any = None, *, origin: str = "") -> Answer:
        """Ask the REST door with a token (None: with none), from a page of `origin`; a stream is not read."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= {"Origin": origin} if origin else {}
        sent = {} if body is None else {"json": body}
        url = f"{self.url}{path}"
        async with self.stage.session.request(method, url, headers=headers, **sent) as response:
            endless = response.content_type == "text/event-stream"
            text = "" if endless else await response.text(errors="replace")
            json_ = response.content_type in ("application/json", "application/problem+json")
            return Answer(response.status, dict(response.headers), text, json.loads(text) if json_ and text else None)

    async def call(self, token: str | None, operation: Operation, values: Mapping[str, Any]) -> Answer:
        """Ask for an operation."""
        return await self.ask(token, *asked(operation, values))

    async def user(self, name: str, role: Role = "owner", channel: str | None = None) -> str:
        """Make somebody who signs in by PASSWORD; return their number."""
        grant = {"role": role} | ({} if channel is None else {"channel": channel})
        made: dict[str, str] = await self.local("POST", "/users", name=name, grants=[grant], password=PASSWORD)
        return made["user"]

    @asynccontextmanager
    async def signed_in(self, name: str) -> AsyncIterator[Reader]:
        """A session of the console, as a browser without scripts would hold it."""
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            reader = Reader(session, self.stage.gateway.url)
            await reader.sign_in(name)
            yield reader


def asked(operation: Operation, values: Mapping[str, Any]) -> tuple[str, str, Any]:
    """Return method, path with its query, and body (None: it has none) of a request."""
    rest = dict(values)
    path = operation.path.format(**{name: quote(str(rest.pop(name)), safe="") for name in path_fields(operation)})
    if not in_query(operation):
        return operation.method, path, rest
    pairs = [(key, one) for key, value in rest.items() for one in (value if isinstance(value, list) else [value])]
    query = urlencode([(key, one if isinstance(one, str) else json.dumps(one)) for key, one in pairs])
    return operation.method, f"{path}?{query}" if query else path, None


async def _in_database(url: str, method: str, path: str, values: Mapping[str, Any]) -> Any:
    """Do something about access as whoever may read the database's URL."""
    async with open_admin_database(url) as database:
        entrance = Entrance(database, settings=AdminSettings, limits=ProcessRateLimits(), clock=now_ms)
        service = Service(*entrance.handlers(), audit=entrance.audit)
        for operation in service.operations:
            found = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", operation.path), path)
            if found and operation.method == method:
                request = request_of(operation, values, path=found.groupdict(), strict=True)
                return msgspec.to_builtins(await service.perform(local(), operation, request))
    raise AssertionError(f"{method} {path} is not about access")


@dataclass
class Reader:
    """Somebody who reads pages and sends their forms."""

    session: aiohttp.ClientSession
    url: str
    csrf: str = ""

    async def get(self, path: str, **headers: str) -> Answer:
        return await self._send("GET", path, headers)

    async def post(
        self, path: str, *, csrf: str | None = None, headers: dict[str, str] | None = None, **form: str
    ) -> Answer:
        """Send a form of the page that was read last; `csrf` replaces its token."""
        fields = form | {"csrf": self.csrf if csrf is None else csrf}
        return await self._send(
            "POST", path, headers or {}, data={name: value for name, value in fields.items() if value}
        )

    async def _send(self, method: str, path: str, headers: dict[str, str], **more: Any) -> Answer:
        async with self.session.request(
            method, f"{self.url}{path}", headers=headers, allow_redirects=False, **more
        ) as response:
            endless = response.content_type == "text/event-stream"
            text = "" if endless else await response.text(errors="replace")
            found = re.search(r'name="csrf" value="([^"]+)"', text)
            self.csrf = found[1] if found else self.csrf
            return Answer(response.status, dict(response.headers), text, None)

    async def sign_in(self, name: str, password: str = PASSWORD) -> Answer:
        await self.get("/admin/sign-in")
        answer = await self.post("/admin/sign-in", name=name, password=password)
        assert 303 == answer.status, answer.text
        await self.get("/admin")
        return answer
