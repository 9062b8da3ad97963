"""Is a request from Slack: signature v0 over the raw bytes, within five minutes of now. Pure.

Bolt parses before it verifies, and answers malformed headers with a 500; here everything that is not right is a 401.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from adapters.problems import Problem

SKEW_S = 300
"""Seconds a timestamp may lie in the past or in the future (Slack's own rule against replays)."""


def timestamp_of(stamps: Sequence[str], *, now_s: float) -> str:
    """Return the one value of `X-Slack-Request-Timestamp`. Raises a 401 `Problem` for any other number of them, for what is no
    time, and for a time too far from `now_s`."""
    if len(stamps) != 1 or not (stamps[0].isascii() and stamps[0].isdigit() and len(stamps[0]) <= 12):
        raise _unauthorised("X-Slack-Request-Timestamp is missing or no time in seconds")
    if abs(now_s - int(stamps[0])) > SKEW_S:
        raise _unauthorised("X-Slack-Request-Timestamp is more than five minutes from now; check this machine's clock")
    return stamps[0]


def verify(raw: bytes, *, stamp: str, signatures: Sequence[str], secrets: Sequence[bytes]) -> None:
    """Return if one of the secrets signed `raw` at `stamp`. Raises a 401 `Problem`."""
    if len(signatures) != 1 or not signatures[0].isascii():
        raise _unauthorised("X-Slack-Signature is missing or malformed")
    given = signatures[0].encode()
    # All secrets are tried, so that the time taken does not tell which one fits.
    fits = [hmac.compare_digest(given, sign(raw, stamp=stamp, secret=secret).encode()) for secret in secrets]
    if not any(fits):
        raise _unauthorised("X-Slack-Signature is not by a signing secret of this channel")


def sign(raw: bytes, *, stamp: str, secret: bytes) -> str:
    """Return the signature v0 of a body: HMAC-SHA256 over `v0:`, the timestamp, `:` and the bytes as they are sent."""
    return "v0=" + hmac.new(secret, b"v0:" + stamp.encode() + b":" + raw, hashlib.sha256).hexdigest()


def _unauthorised(detail: str) -> Problem:
    return Problem(401, "unauthorised", detail)
