"""What may be shown of a URL: never its password, and never a query value that is named like one. Pure."""

from __future__ import annotations

import re

MASK = "***"

_USERINFO = re.compile(r"(?P<start>^[^/?#]*//[^/?#@]*?:)(?P<password>[^/?#]*)(?=@)")
_QUERY = re.compile(r"(?P<name>[?&][^=&#]*(?:key|token|secret|passw|pwd|sig|credential)[^=&#]*=)[^&#]*", re.IGNORECASE)


def masked(url: str) -> str:
    """Return `url` with its password, and query values named like secrets, replaced by `***`; other text unchanged."""
    url = _USERINFO.sub(lambda found: found["start"] + MASK, url)
    return _QUERY.sub(lambda found: found["name"] + MASK, url)
