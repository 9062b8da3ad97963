"""Moments, spans and numbers as pages show them. Pure. The browser's script turns moments into the reader's own zone."""

from __future__ import annotations

from datetime import UTC, datetime

from gateway.admin.console.words import Translate

_SPANS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


def iso(ms: int) -> str:
    """Return milliseconds since 1970 as a machine reads them: `2026-11-30T12:54:01Z`."""
    return _moment(ms).strftime("%Y-%m-%dT%H:%M:%SZ")


def clock(ms: int) -> str:
    """Return them as a person does, without a script: `2026-11-30 12:54 UTC`."""
    return _moment(ms).strftime("%Y-%m-%d %H:%M UTC")


def ago(span_ms: float, t: Translate) -> str:
    """Return a span in its largest unit, rounded down: `3 min`; under a second: `0 s`."""
    for size, unit in _SPANS:
        if span_ms >= size:
            return t(f"shell.span.{unit}", count=int(span_ms // size))
    return t("shell.span.s", count=0)


def number(value: float) -> str:
    """Return a number with thin groups of three: `12,345`, `0.25`; at most two decimals."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.2f}"
    return f"{int(value):,}"


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, tz=UTC)
