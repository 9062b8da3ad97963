"""What becomes of the address of a link: the platform writes it in its own way, or drops the link without a word. Pure.

After TDLib's `LinkManager::check_link`.
"""

from __future__ import annotations

import re

_WEB = re.compile(
    r"(?:(?P<scheme>https?)://)?(?P<user>[^/?#@\s]*@)?(?P<host>\[[0-9a-f:.]+\]|[^/?#@:\[\]\s]+)(?P<port>:\d+)?(?P<rest>[/?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
_APP = re.compile(r"(?:tg|ton|tonsite):(?://)?[A-Za-z0-9_-]+(?:[/?#].*)?", re.IGNORECASE | re.DOTALL)


def checked_link(url: str) -> str:
    """Return the address as the platform keeps it, "" for what it does not take: other schemes than the web's and its own, and
    hosts without a dot (`http://localhost`)."""
    url = url.strip()
    if _APP.fullmatch(url):
        return url
    web = _WEB.fullmatch(url)
    if web is None or ("." not in web["host"] and not web["host"].startswith("[")):
        return ""
    place = f"{web['user'] or ''}{web['host'].lower()}{web['port'] or ''}"
    rest = web["rest"] or ""
    return f"{(web['scheme'] or 'http').lower()}://{place}{'' if rest.startswith('/') else '/'}{rest}"
