"""One update after the other, from either transport: read, stored, and what becomes of it if that fails.

It is confirmed when `take` returns: stored, nothing for us, or left behind (`parking`). What it raises keeps it unconfirmed.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path

from adapters.base import Intake
from adapters.errors import AdapterFault, Overloaded
from adapters.telegram.parking import Parking, Verdict
from adapters.telegram.parse import Identity, Ignored, parse
from adapters.telegram.reading import Fields

logger = logging.getLogger(__name__)

_AGAIN_S = 5.0

STUCK = (
    "updates fail one after the other, in a way nobody foresaw; none is given up while none gets through: see the log"
)


class NotTaken(AdapterFault):
    """The update has to come again. `held`: it has failed so often that it would be left behind if others got through."""

    def __init__(self, message: str, *, held: bool) -> None:
        super().__init__(message)
        self.held = held


class Receiver:
    """Takes a channel's updates. `me` is who the bot is; `left_behind` is called for each that is given up."""

    def __init__(self, name: str, *, intake: Intake, me: Identity, left_behind: Callable[[], None]) -> None:
        self._me = me
        self._name = name
        self._intake = intake
        self._left_behind = left_behind
        self._parking = Parking()

    def known_as(self, me: Identity) -> None:
        """Read what comes from now on as said to a bot of this name."""
        self._me = me

    @property
    def problem(self) -> str | None:
        """Why nothing that comes in is stored; None: it is."""
        return STUCK if self._parking.stuck else None

    async def take(self, update: Fields) -> None:
        """Store what an update says. Raises `Overloaded` when it can't be stored now, `NotTaken` when that failed in a way
        nobody foresaw."""
        given = update.get("update_id")
        number = given if isinstance(given, int) else -1
        try:
            event = parse(update, channel=self._name, me=self._me)
            if isinstance(event, Ignored):
                self._ignored(event, number)
                return
            await self._intake.accept(event)
        except Overloaded:
            raise
        except OSError as exc:  # the machine's, and no fault of the update's
            raise Overloaded(f"can't be stored ({type(exc).__name__})", retry_after_s=_AGAIN_S) from exc
        except Exception as exc:
            self._failed(exc, number)
        else:
            self._parking.stored(number)

    def _ignored(self, event: Ignored, number: int) -> None:
        level = logging.WARNING if event.rule == "malformed" else logging.DEBUG
        logger.log(level, "update ignored", extra={"channel": self._name, "update": number, "rule": event.rule})

    def _failed(self, exc: Exception, number: int) -> None:
        verdict = self._parking.failed(number)
        # Not the error's own words nor its traceback: what somebody said may stand there.
        told = {"channel": self._name, "update": number, "error": type(exc).__name__, "at": _place(exc)}
        if verdict == "leave":
            logger.error("update left behind", extra=told)
            self._left_behind()
            return
        logger.warning(_TOLD[verdict], extra=told)
        raise NotTaken(f"update {number} was not stored ({type(exc).__name__})", held=verdict == "hold") from None


_TOLD: dict[Verdict, str] = {"again": "update failed; it comes again", "hold": "update failed and is held"}


def _place(exc: Exception) -> str:
    """Return where an error came from: the last calls, the innermost at the end."""
    frames = traceback.extract_tb(exc.__traceback__)[-4:]
    return " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
