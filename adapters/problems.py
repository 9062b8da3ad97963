"""What an HTTP caller is told when something is wrong: RFC 9457 problem details, as values.

Adapters raise a `Problem`; the server turns it into the response. Nothing here names a value the caller keeps secret.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from adapters.errors import AdapterFault, Conflict, Overloaded, UnknownTurn

CONTENT_TYPE = "application/problem+json"


class Problem(AdapterFault):
    """An answer that says what is wrong and what to do.

    `code` is for programs and stays; `detail` is for people and may change; `field` names the offending field of the
    body, as a path (`message.text`); `headers` go out with the response, `more` are further members of the document.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.field = field
        self.headers = dict(headers or {})
        self.more = dict(more or {})

    def body(self) -> bytes:
        """Return the JSON document. `type` is `about:blank`, so `title` is the status's own phrase (RFC 9457, 4.2.1)."""
        members: dict[str, object] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail.encode(
                errors="replace"
            ).decode(),  # it may quote a path or a header, which may be anything
            "code": self.code,
        }
        if self.field is not None:
            members["field"] = self.field
        return msgspec.json.encode(members | self.more)


def as_problem(fault: AdapterFault) -> Problem:
    """Return what a caller is told of `fault`; anything it can do nothing about is a 500 without details."""
    match fault:
        case Problem():
            return fault
        case Conflict():
            detail = "this message id came before with another body; give every message its own id"
            return Problem(409, "conflict", detail, field="message.id")
        case UnknownTurn():
            return Problem(404, "unknown_turn", "no such turn for this token")
        case Overloaded(retry_after_s=wait_s):
            return unavailable(
                "the gateway can't take this now; send the same request again later", retry_after_s=wait_s
            )
        case _:
            return Problem(500, "internal", "something went wrong in the gateway; its log tells more")


def unavailable(detail: str, *, retry_after_s: float) -> Problem:
    """Return a 503 that asks to come again after `retry_after_s`, rounded up to whole seconds."""
    seconds = max(1, math.ceil(retry_after_s))
    return Problem(503, "unavailable", detail, headers={"Retry-After": str(seconds)})
