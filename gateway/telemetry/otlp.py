"""Traces for an OpenTelemetry collector: OTLP over HTTP, from a thread of its own with a bounded queue.

The one file that knows OpenTelemetry; imported only where `telemetry.traces_url` is set (it costs 0.3 s). A collector that is
slow or away costs spans, which are counted, and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

from config.telemetry import TelemetrySettings
from gateway.traces import Outcome, Span, Step, Value, root_id, trace_id

QUEUE, BATCH, EVERY_S = 4096, 512, 1.0
"""Spans held at most, sent in one call, and the seconds between two calls."""

KINDS = {"accept": trace.SpanKind.SERVER, "ask": trace.SpanKind.CLIENT, "send": trace.SpanKind.CLIENT}


@asynccontextmanager
async def exporting(
    url: str, *, settings: TelemetrySettings, instance: str, version: str, ended: Callable[[Outcome, int], None]
) -> AsyncIterator[OtlpTraces]:
    """Give what sends spans to the collector at `url`; on the way out, what is held is sent, within `timeout_s` for each call.
    `ended` is told, from any thread, how many spans came to which end."""
    headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
    exporter = _Counting(OTLPSpanExporter(endpoint=url, headers=headers, timeout=settings.timeout_s), ended)
    ids = _TurnIds()
    provider = TracerProvider(
        sampler=TraceIdRatioBased(settings.sample),
        resource=Resource.create(
            {"service.name": settings.service_name, "service.instance.id": instance, "service.version": version}
        ),
        id_generator=ids,
        shutdown_on_exit=False,
    )
    provider.add_span_processor(_Bounded(exporter, ended))
    exporters_log = logging.getLogger(OTLPSpanExporter.__module__)
    exporters_log.addFilter(exporter.new_to_the_log)
    try:
        yield OtlpTraces(provider.get_tracer("clew", version), ids)
    finally:
        await _end(provider, exporter, within_s=settings.timeout_s)
        exporters_log.removeFilter(exporter.new_to_the_log)


async def _end(provider: TracerProvider, exporter: _Counting, *, within_s: float) -> None:
    """Send what is held. A collector that is away gets one call's time for all of it, not for each batch."""
    exporter.ending = True
    ending = asyncio.ensure_future(asyncio.to_thread(provider.shutdown))  # it waits for the exporter's thread
    _, pending = await asyncio.wait({ending}, timeout=within_s)
    if pending:
        exporter.shutdown()
    await ending


class OtlpTraces:
    """See `gateway.traces.Traces`."""

    def __init__(self, tracer: trace.Tracer, ids: _TurnIds) -> None:
        self._tracer = tracer
        self._ids = ids

    def span(
        self, step: Step, *, turn: int | None = None, joined: Sequence[int] = (), **about: Value | None
    ) -> AbstractContextManager[Span]:
        return self._span(step, turn, joined, about)

    @contextmanager
    def _span(
        self, step: Step, turn: int | None, joined: Sequence[int], about: dict[str, Value | None]
    ) -> Iterator[Span]:
        within = None if turn is None else _below(turn)
        links = [trace.Link(_root(event)) for event in joined if event != turn]
        span = self._tracer.start_span(step, within, kind=_kind(step), links=links)
        told = _Told(span)
        told.note(**about) if turn is None else told.note(turn=turn, **about)
        token = context.attach(trace.set_span_in_context(span, within))
        try:
            yield told
        except BaseException as exc:
            span.set_status(trace.StatusCode.ERROR)
            span.set_attribute("error.type", type(exc).__qualname__)
            raise
        finally:
            context.detach(token)
            span.end()

    def accepted(self, turn: int, *, since_ns: int, first: bool, **about: Value | None) -> None:
        within = context.Context() if first else _below(turn)
        with self._ids.of(turn if first else None):
            span = self._tracer.start_span("accept", within, kind=_kind("accept"), start_time=since_ns)
        _Told(span).note(turn=turn, **about)
        span.end()


class _Told:
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def note(self, **about: Value | None) -> None:
        for name, value in about.items():
            if value is not None:
                # Ids have 64 bits: many collectors' JSON would round them.
                told = str(value) if name in ("turn", "chunk", "scope") else value
                self._span.set_attribute(f"clew.{name}", told)


class _TurnIds(IdGenerator):
    """Random ids, but for the span that stands for a turn's acceptance: that one's come from the turn."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()
        self._turn: int | None = None

    @contextmanager
    def of(self, turn: int | None) -> Iterator[None]:
        """The span started inside, with nothing awaited, is this turn's; None: any."""
        self._turn = turn
        try:
            yield
        finally:
            self._turn = None

    def generate_trace_id(self) -> int:
        return self._random.generate_trace_id() if self._turn is None else trace_id(self._turn)

    def generate_span_id(self) -> int:
        return self._random.generate_span_id() if self._turn is None else root_id(self._turn)


class _Counting(SpanExporter):
    """Tells what became of spans: of a collector that is away, the log once until it is back. While it ends, the first call that
    fails is the last."""

    def __init__(self, exporter: SpanExporter, ended: Callable[[Outcome, int], None]) -> None:
        self._exporter = exporter
        self._ended = ended
        self.taken = 0
        self.ending = False
        self._closed = False
        self._logged: set[str] = set()  # the exporter's own messages, a handful of constants

    def new_to_the_log(self, record: logging.LogRecord) -> bool:
        """Whether the exporter has not said this since its last success."""
        new = record.msg not in self._logged
        self._logged.add(record.msg)
        return new

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        done = SpanExportResult.FAILURE if self._closed else self._exporter.export(spans)
        if done is SpanExportResult.SUCCESS:
            self._logged.clear()
        self._ended("exported" if done is SpanExportResult.SUCCESS else "failed", len(spans))
        self._closed = self._closed or (self.ending and done is not SpanExportResult.SUCCESS)
        self.taken += len(spans)
        return done

    def shutdown(self) -> None:
        if not self._closed:
            self._exporter.shutdown()
        self._closed = True


class _Bounded(SpanProcessor):
    """Takes no span that would push another one out: there it could not be told how many are lost."""

    def __init__(self, exporter: _Counting, ended: Callable[[Outcome, int], None]) -> None:
        self._batches = BatchSpanProcessor(
            exporter, max_queue_size=QUEUE + BATCH, max_export_batch_size=BATCH, schedule_delay_millis=EVERY_S * 1000
        )
        self._exporter = exporter
        self._ended = ended
        self._given = 0
        self._lock = threading.Lock()

    def on_end(self, span: ReadableSpan) -> None:
        with self._lock:
            full = self._given - self._exporter.taken >= QUEUE
            self._given += not full
        if full:
            self._ended("dropped", 1)
        else:
            self._batches.on_end(span)

    def shutdown(self) -> None:
        self._batches.shutdown()  # type: ignore[no-untyped-call]


def _kind(step: str) -> trace.SpanKind:
    return KINDS.get(step, trace.SpanKind.INTERNAL)


def _root(turn: int) -> trace.SpanContext:
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    return trace.SpanContext(trace_id(turn), root_id(turn), is_remote=True, trace_flags=flags)


def _below(turn: int) -> context.Context:
    return trace.set_span_in_context(trace.NonRecordingSpan(_root(turn)), context.Context())
