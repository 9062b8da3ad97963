"""The one error of the API: what the platform answers instead of a result."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """`parameters` is the answer's `ResponseParameters`: `retry_after`, `migrate_to_chat_id`."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        return body | {"parameters": self.parameters} if self.parameters else body


def bad_request(text: str, **parameters: int) -> ApiError:
    """Return the 400 as the server words it: the first letter is small unless the second is a capital or `_`."""
    if not (len(text) > 1 and (text[1] == "_" or text[1].isupper())):
        text = text[:1].lower() + text[1:]
    return ApiError(400, f"Bad Request: {text}", **parameters)


def forbidden(text: str) -> ApiError:
    return ApiError(403, f"Forbidden: {text}")


def conflict(text: str) -> ApiError:
    return ApiError(409, f"Conflict: {text}")


def too_many(retry_after_s: int) -> ApiError:
    return ApiError(429, f"Too Many Requests: retry after {retry_after_s}", retry_after=retry_after_s)
