"""A collector of traces on loopback: what is POSTed to /v1/traces, decoded by OpenTelemetry's own messages."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.loopback import on_loopback


@dataclass(frozen=True)
class Seen:
    """One span as it arrived."""

    name: str
    trace: str
    span: str
    parent: str
    kind: int
    about: Mapping[str, Any]
    links: tuple[tuple[str, str], ...]
    start_ns: int
    end_ns: int
    failed: bool


@dataclass
class Collector:
    """What has arrived. `status` other than 200 refuses; `held` set to an event lets callers wait for it."""

    url: str = ""
    status: int = 200
    held: asyncio.Event | None = None
    calls: int = 0
    raw: list[bytes] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    service: dict[str, Any] = field(default_factory=dict)
    spans: list[Seen] = field(default_factory=list)
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    async def export(self, request: web.Request) -> web.Response:
        body = await request.read()
        body = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
        self.calls += 1
        self._more.set()
        if self.held is not None:
            await self.held.wait()
        if self.status == 200:
            self.raw.append(body)
            self.headers.append(dict(request.headers))
            self._take(ExportTraceServiceRequest.FromString(body))
            self._more.set()
        return web.Response(status=self.status)

    def _take(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            self.service = _values(resource.resource.attributes)
            for scope in resource.scope_spans:
                self.spans += [
                    Seen(
                        name=span.name,
                        trace=span.trace_id.hex(),
                        span=span.span_id.hex(),
                        parent=span.parent_span_id.hex(),
                        kind=span.kind,
                        about=_values(span.attributes),
                        links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
                        start_ns=span.start_time_unix_nano,
                        end_ns=span.end_time_unix_nano,
                        failed=span.status.code == 2,
                    )
                    for span in scope.spans
                ]

    async def seen(self, *names: str, turn: str) -> dict[str, Seen]:
        """Wait until the turn's trace holds a span of each name; return them, the last of each."""
        async with asyncio.timeout(30):
            while True:
                traces = {span.trace for span in self.spans if span.about.get("clew.turn") == turn}
                found = {span.name: span for span in self.spans if span.trace in traces}
                if found.keys() >= set(names):
                    return found
                self._more.clear()
                await self._more.wait()

    async def called(self, calls: int) -> None:
        """Wait until it has been called so often, whatever it answered."""
        async with asyncio.timeout(30):
            while self.calls < calls:
                self._more.clear()
                await self._more.wait()


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@asynccontextmanager
async def collector() -> AsyncIterator[Collector]:
    """Run a collector on loopback."""
    made = Collector()
    app = web.Application()
    app.router.add_post("/v1/traces", made.export)
    async with on_loopback(app, shutdown_timeout=0.1) as url:
        made.url = f"{url}/v1/traces"
        yield made
