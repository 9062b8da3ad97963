"""A message's address as Telegram copies it ("Copy message link"), read. Pure.

Only supergroups have such addresses; those of public ones name the group instead of its id, which only the platform can tell.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_PATH = re.compile(r"/c/(?P<chat>\d{1,16})(?:/\d{1,16})?/(?P<message>\d{1,16})/?", re.ASCII)


def located(link: str) -> tuple[str, str] | None:
    """Return (chat, message id) of `https://t.me/c/1234567890/42`, or, in a topic, `…/7/42`; None: it is no such address."""
    try:
        parts = urlsplit(link.strip())
    except ValueError:
        return None
    found = _PATH.fullmatch(parts.path)
    if parts.scheme not in ("https", "http") or parts.hostname not in ("t.me", "telegram.me") or found is None:
        return None
    return f"-100{found['chat']}", found["message"]
