"""Logs: one line per event on standard error, JSON for machines or plain text for a terminal. Times are UTC.

Two nets under the rule that neither secrets nor what people wrote is logged: known secrets are masked in every line, and
fields that carry content are left out above DEBUG. Other people's libraries are heard from WARNING on, because some of
them write whole requests at lower levels.
"""

from __future__ import annotations

import logging
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import CodeType, TracebackType
from typing import Literal, TextIO

import msgspec

Level = Literal["debug", "info", "warning", "error"]

PACKAGES = ("gateway", "adapters", "memory", "config")
CONTENT = frozenset({"text", "content", "prompt", "reply", "quote", "body", "chunk"})
MIN_SECRET = 6  # masking shorter ones would blacken ordinary words
MAX_FRAMES, MAX_CAUSES, MAX_REASON = 12, 4, 300

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_about: ContextVar[dict[str, object] | None] = ContextVar("about", default=None)


@contextmanager
def about(**ids: object) -> Iterator[None]:
    """Put ids (turn, channel, lane, agent, …) on every line logged inside, in this task and those it starts."""
    token = _about.set({**(_about.get() or {}), **ids})
    try:
        yield
    finally:
        _about.reset(token)


class SecretMask:
    """Replaces known secrets by `***`, also as they look inside JSON."""

    def __init__(self, secrets: Iterable[str] = (), *, bound: int = 1000) -> None:
        """Of the secrets that are no longer in use, as many are masked as leave room below `bound`."""
        self._bound = bound
        self._known: dict[str, None] = {}  # those told last are last
        self.know(secrets)

    def know(self, secrets: Iterable[str]) -> None:
        """Mask these from now on. Those of before stay masked: a turn under way may still use them, and they are still
        worth something to whoever reads them. Called at each change of the settings."""
        current = {secret: None for secret in secrets if len(secret) >= MIN_SECRET}
        before = [secret for secret in self._known if secret not in current]
        kept = before[max(0, len(before) + len(current) - self._bound) :]
        self._known = dict.fromkeys(kept) | current
        shapes = {*self._known} | {msgspec.json.encode(secret)[1:-1].decode() for secret in self._known}
        longest_first = sorted(shapes, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if shapes else None

    def apply(self, line: str) -> str:
        return self._pattern.sub("***", line) if self._pattern is not None else line


class LineFormatter(logging.Formatter):
    """Formats a record as one line: time, level, logger, event, ids, and an error's types, places and reasons."""

    def __init__(self, *, json: bool, mask: SecretMask) -> None:
        super().__init__()
        self._json = json
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        extra = {**(_about.get() or {}), **_extra(record)}
        if record.exc_info and record.exc_info[1] is not None:
            extra["error"] = describe(record.exc_info[1])
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        level, event = record.levelname.lower(), record.getMessage()
        if self._json:
            own = {"time": time, "level": level, "logger": record.name, "event": event}
            fields = {name: msgspec.Raw(_encode(value)) for name, value in (own | extra | own).items()}
            line = msgspec.json.encode(fields).decode()
        else:
            rest = "".join(f" {name}={_encode(value).decode()}" for name, value in extra.items())
            line = _CONTROLS.sub(" ", f"{time} {level:7} {record.name}: {_writable(event)}{rest}")
        return self._mask.apply(line)


def configure(
    level: Level, *, json: bool | None = None, secrets: Iterable[str] = (), stream: TextIO | None = None
) -> SecretMask:
    """Send all logs to `stream` (standard error) from `level` on; returns the mask, for secrets that come later.

    `json` None: JSON unless the stream is a terminal. May be called again; the last call counts.
    """
    target = sys.stderr if stream is None else stream
    mask = SecretMask(secrets)
    handler = _Handler(target)
    handler.setFormatter(LineFormatter(json=not target.isatty() if json is None else json, mask=mask))
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old, _Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    threshold = logging.getLevelNamesMapping()[level.upper()]
    root.setLevel(max(threshold, logging.WARNING))
    for package in PACKAGES:
        logging.getLogger(package).setLevel(threshold)
    logging.captureWarnings(True)
    return mask


class _Handler(logging.StreamHandler[TextIO]):
    """Ours, so that configuring twice does not log twice."""


def describe(error: BaseException) -> str:
    """Return the error and its causes: types, the first line of each reason, and where it was raised, innermost last.

    Neither source lines nor further lines of a reason: libraries quote values there (a rejected field, a row).
    """
    parts: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(parts) < MAX_CAUSES:
        reason = str(cause).strip().partition("\n")[0][:MAX_REASON]
        places = " > ".join(_places(cause.__traceback__))
        parts.append(f"{type(cause).__qualname__}: {reason}" + (f" [{places}]" if places else ""))
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return " <- ".join(parts)


def _places(trace: TracebackType | None) -> Iterable[str]:
    """Return the innermost places of a traceback. Not by `traceback`, which looks up columns and source lines: under overload,
    when each request is refused with a line in the log, that took three quarters of the process's time."""
    steps: deque[tuple[CodeType, int]] = deque(maxlen=MAX_FRAMES)
    while trace is not None:
        steps.append((trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    return (f"{code.co_filename}:{line} {code.co_name}" for code, line in steps)


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {
        name: value
        for name, value in vars(record).items()
        if name not in _STANDARD and (record.levelno <= logging.DEBUG or name not in CONTENT)
    }


def _encode(value: object) -> bytes:
    try:
        return msgspec.json.encode(value, enc_hook=str)
    except (TypeError, ValueError, RecursionError):  # a log line is never worth an error
        return msgspec.json.encode(_writable(repr(value)))


def _writable(text: str) -> str:
    """Escape lone surrogates, which no stream can take."""
    return text.encode("utf-8", "backslashreplace").decode()
