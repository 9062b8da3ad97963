"""What may be shown of a URL: never its password, and never a query value that is named like one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from pydantic import BaseModel, SecretStr

MASK = "***"

_USERINFO = re.compile(r"(?P<start>^[^/?#]*//[^/?#@]*?:)(?P<password>[^/?#]*)(?=@)")
_QUERY = re.compile(r"(?P<name>[?&][^=&#]*(?:key|token|secret|passw|pwd|sig|credential)[^=&#]*=)[^&#]*", re.IGNORECASE)


def masked(url: str) -> str:
    """Return `url` with its password, and query values named like secrets, replaced by `***`; other text unchanged."""
    url = _USERINFO.sub(lambda found: found["start"] + MASK, url)
    return _QUERY.sub(lambda found: found["name"] + MASK, url)


def secrets_of(settings: BaseModel) -> Iterator[str]:
    """Yield every secret value in the settings, and the passwords inside their URLs: for whoever masks logs."""
    yield from _secrets(settings.model_dump())


def _secrets(value: object) -> Iterator[str]:
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case str():
            if (found := _USERINFO.search(value)) is not None:
                yield from {found["password"], unquote(found["password"])}
        case dict():
            for item in value.values():
                yield from _secrets(item)
        case list() | tuple():
            for item in value:
                yield from _secrets(item)
