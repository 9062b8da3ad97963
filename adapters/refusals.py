"""Tells the admin of requests that a channel refuses: now and then only, because anybody may knock and must not fill the log."""

from __future__ import annotations

import logging
import time

from adapters.problems import Problem

_QUIET_S = 60.0  # between two lines of one channel


class Refusals:
    """The log lines of one channel's refused requests. `event` is their phrase."""

    def __init__(self, channel: str, *, event: str, logger: logging.Logger) -> None:
        self._channel = channel
        self._event = event
        self._logger = logger
        self._quiet_until = 0.0

    def tell(self, problem: Problem) -> None:
        """Log why a request was refused, unless the last line is younger than a minute."""
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + _QUIET_S
            told = {"channel": self._channel, "status": problem.status, "reason": problem.detail}
            self._logger.warning(self._event, extra=told)
