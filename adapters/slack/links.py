"""A message's address as Slack copies it ("Copy link"), read. Pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_PATH = re.compile(r"/archives/(?P<room>[A-Z0-9]{2,32})/p(?P<seconds>\d{10})(?P<rest>\d{6})/?", re.ASCII)


def located(link: str) -> tuple[str, str] | None:
    """Return (room, ts) of `https://acme.slack.com/archives/C024/p1700000000123456`; None: it is no such address."""
    try:
        parts = urlsplit(link.strip())
    except ValueError:
        return None
    host, found = parts.hostname or "", _PATH.fullmatch(parts.path)
    if parts.scheme not in ("https", "http") or not host.endswith(".slack.com") or found is None:
        return None
    return found["room"], f"{found['seconds']}.{found['rest']}"
