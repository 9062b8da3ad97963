"""What can go wrong at the edge.

AdapterFault
├── Conflict        the same message id came with another body
├── UnknownTurn     no such turn for this caller
├── Overloaded      can't be stored now; carries retry_after_s
└── SendFailed
    ├── Refused     the platform says no for good (gone, forbidden, malformed): dead letter
    ├── Moved       the room has another id now; carries new_room
    ├── Throttled   the platform asks to wait; carries retry_after_s and the scope (a `Rate`'s) that must wait
    ├── Unreachable not sent for sure, or an edit; try again
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


class Moved(SendFailed):
    """The room was given another id by the platform; nothing was sent."""

    def __init__(self, message: str, *, new_room: str) -> None:
        super().__init__(message)
        self.new_room = new_room


class Throttled(SendFailed):
    """The platform asks to wait. `scope` is the `Rate.scope` it asked for; None: the address that was sent to."""

    def __init__(self, message: str, *, retry_after_s: float, scope: str | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.scope = scope


class Unreachable(SendFailed):
    """The chunk was not sent; or it was to change a message, which may be done again."""


class Unknown(SendFailed):
    """The chunk may have arrived, as a new message; the call may even be on its way, and arrive behind what is called later."""
