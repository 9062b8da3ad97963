"""What can go wrong at the edge.

AdapterFault
├── Conflict        the same message id came with another body
├── UnknownTurn     no such turn for this caller
├── Overloaded      can't be stored now; carries retry_after_s
└── SendFailed
    ├── Refused     the platform says no for good (gone, forbidden, malformed): dead letter
    ├── Throttled   the platform asks to wait; carries retry_after_s, which binds the address that asked
    ├── Unreachable not sent for sure; try again
    └── Unknown     may have arrived; never sent again blindly
"""

from __future__ import annotations


class AdapterFault(Exception):
    """Root of the edge's errors."""


class Conflict(AdapterFault):
    """The same message id of the same sender came with another body."""


class UnknownTurn(AdapterFault):
    """No such turn for this caller: wrong id, channel or token, told apart by nobody."""


class Overloaded(AdapterFault):
    """The event could not be stored now; the sender should come again."""

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class SendFailed(AdapterFault):
    """A chunk did not get its receipt."""


class Refused(SendFailed):
    """The platform refused for good."""


class Throttled(SendFailed):
    """The platform asks to wait."""

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unreachable(SendFailed):
    """The chunk was not sent."""


class Unknown(SendFailed):
    """The chunk may have arrived."""
