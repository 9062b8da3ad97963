"""Templates and files of the console, read once, at the first visit: whoever never opens it pays nothing."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.admin.console import charts, figures

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("templates")
_STATIC = Path(__file__).parents[1] / "static"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file the pages load. Its URL holds the hash of its content, so that a browser may keep it for ever."""

    name: str
    body: bytes
    media: str
    digest: str

    @property
    def url(self) -> str:
        return f"/admin/static/{self.digest}/{self.name}"


@dataclass(frozen=True, slots=True)
class Shelf:
    """What pages are made of."""

    templates: Environment
    assets: Mapping[str, Asset]


class Shelves:
    """Reads the shelf once, however many ask for it at the same time."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._shelf: Shelf | None = None

    async def shelf(self) -> Shelf:
        """Return templates (all of them compiled) and assets."""
        async with self._lock:
            if self._shelf is None:
                self._shelf = await asyncio.to_thread(_read)  # half a second that nobody's answer should wait for
            return self._shelf


@cache
def _read() -> Shelf:
    assets = {}
    for path in _STATIC.iterdir():
        body = path.read_bytes()
        digest = hashlib.sha256(body).hexdigest()[:16]
        assets[path.name] = Asset(name=path.name, body=body, media=_TYPES[path.suffix], digest=digest)
    return Shelf(_environment(assets), assets)


def _environment(assets: Mapping[str, Asset]) -> Environment:
    from jinja2 import (
        Environment,
        FileSystemLoader,
        StrictUndefined,
        TemplateSyntaxError,
    )  # who never opens the console does not load it

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
    )
    environment.filters |= {"clock": figures.clock, "iso": figures.iso, "number": figures.number, "ago": figures.ago}
    environment.globals |= {"lines": charts.lines, "bars": charts.bars, "asset": lambda name: assets[name].url}
    for name in environment.list_templates():
        with suppress(TemplateSyntaxError):  # one page's mistake is that page's
            environment.get_template(name)
    return environment
