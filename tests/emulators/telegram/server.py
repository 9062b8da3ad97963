"""The HTTP front: `/bot<token>/METHOD` with parameters in the query, a form, multipart or JSON, and the files' address."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from tests.emulators.telegram import methods
from tests.emulators.telegram.bots import Bot
from tests.emulators.telegram.errors import ApiError, bad_request
from tests.emulators.telegram.faults import Fault, Faults
from tests.emulators.telegram.flood import Flood
from tests.emulators.telegram.spec import Upload, checked, method_name
from tests.emulators.telegram.world import Call, World

_MAX_BODY = 50 * 1024 * 1024


class Server:
    """Answers the calls of all bots of a world."""

    def __init__(self, world: World, faults: Faults, flood: Flood) -> None:
        self._world = world
        self._faults = faults
        self._flood = flood

    def app(self) -> web.Application:
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_route("*", "/bot{token}/{method}", self._called)
        app.router.add_get("/file/bot{token}/files/{file}", self._file)
        app.router.add_route("*", "/{path:.*}", _nothing)
        return app

    async def execute(self, bot: Bot, method: str, raw: Mapping[str, Any]) -> Any:
        """Run a call that came as the answer to a webhook: recorded as others are, its error answered to nobody."""
        try:
            return await self._done(bot, method_name(method), raw, Fault(done=True))
        except ApiError:
            return None

    async def _called(self, request: web.Request) -> web.StreamResponse:
        await self._world.clock.sleep(self._world.way_s())
        answer = await self._call(request)
        await self._world.clock.sleep(self._world.way_s())
        return answer

    async def _call(self, request: web.Request) -> web.StreamResponse:
        try:
            bot = self._bot(request.match_info["token"])
            method = method_name(request.match_info["method"])
            params = await _params(request)
            fault = self._faults.take(method, chat=str(params.get("chat_id")))
            result = await self._done(bot, method, params, fault)
        except ApiError as error:
            return web.json_response(error.body(), status=error.code)
        if fault.done and fault.delay_s:
            await self._world.clock.sleep(fault.delay_s)
        return await self._broken(request, fault) or web.json_response({"ok": True, "result": result})

    async def _done(self, bot: Bot, method: str, raw: Mapping[str, Any], fault: Fault) -> Any:
        """Do the call as far as the fault allows, and record it."""
        now = self._world.clock.now()
        params, status, result, problem = dict(raw), 200, None, None
        lost = fault.cut or fault.lost or fault.drips_s > 0 or fault.html is not None
        try:
            self._flood.admit(bot, method, params.get("chat_id"), now=now)
            if fault.error is not None and "retry_after" in fault.error.parameters:
                until = now + fault.error.parameters["retry_after"]
                self._flood.hold(bot, method, params.get("chat_id"), until=until)
            if fault.done:
                params = checked(method, raw)
                result = await methods.run(self._world, bot, method, params)
            elif fault.delay_s:
                await self._world.clock.sleep(fault.delay_s)
            if fault.error is not None:
                raise fault.error
        except ApiError as error:
            status, problem = error.code, error.description
            raise
        finally:
            self._world.calls.append(
                Call(at=now, bot=bot.username, method=method, params=params, status=status, result=result, error=problem,
                     lost=lost)
            )  # fmt: skip
            self._world.bell.ring()
        return result

    async def _file(self, request: web.Request) -> web.StreamResponse:
        content = self._world.files.get(request.match_info["file"])
        if request.match_info["token"] not in self._world.bots or content is None:
            return web.json_response(ApiError(404, "Not Found").body(), status=404)
        return web.Response(body=content)

    def _bot(self, token: str) -> Bot:
        if not re.fullmatch(r"\d+:[A-Za-z0-9_-]+", token):
            raise ApiError(404, "Not Found")
        if token not in self._world.bots:
            raise ApiError(401, "Unauthorized")
        return self._world.bots[token]

    async def _broken(self, request: web.Request, fault: Fault) -> web.StreamResponse | None:
        """Return what is answered instead of the truth; None: nothing."""
        if fault.lost:
            await asyncio.Event().wait()  # until the caller gives up, or the server closes
        if fault.drips_s:
            return await self._dripped(request, fault.drips_s)
        if fault.cut:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if fault.html is not None:
            return web.Response(status=fault.html, text=fault.page, content_type="text/html")
        return None

    async def _dripped(self, request: web.Request, every_s: float) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        while request.transport is not None and not request.transport.is_closing():
            await answer.write(b" ")
            await self._world.clock.sleep(every_s)
        return answer


async def _nothing(request: web.Request) -> web.Response:
    return web.json_response(ApiError(404, "Not Found").body(), status=404)


async def _params(request: web.Request) -> dict[str, Any]:
    """Return the parameters from wherever they stand, files read."""
    params: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        try:
            body = json.loads(await request.read() or b"{}")
        except ValueError:
            raise bad_request("can't parse JSON object") from None
        if not isinstance(body, dict):
            raise bad_request("object expected as JSON request body")
        return params | body
    for name, value in (await request.post()).items():
        if isinstance(value, web.FileField):
            params[name] = Upload(value.filename, value.file.read())
        else:
            params[name] = value
    return params
