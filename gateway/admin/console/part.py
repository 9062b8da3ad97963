"""What a part of the console is made of: its pages, its entries in the navigation, its words. Data only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from aiohttp import web

from gateway.admin.console.words import LANGUAGES, Catalogue
from gateway.admin.rights import Right

if TYPE_CHECKING:
    from gateway.admin.console.visit import Visit

PageHandler = Callable[["Visit"], Awaitable[web.StreamResponse]]
Group = Literal["see", "people", "configure", "access"]

GROUPS: tuple[Group, ...] = ("see", "people", "configure", "access")
"""The navigation's groups, in order; their headings are the words `nav.see`, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page, form or event stream. `path` stands below `/admin` in aiohttp's notation (`/turns/{turn}`); the paths of GET
    pages without fields are what the tests walk through. `public`: open to who has not signed in."""

    method: Literal["GET", "POST"]
    path: str
    handler: PageHandler
    public: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NavEntry:
    """A place in the navigation, shown to who holds `right` for at least one channel (None: to everybody; `gateway`: only to
    who holds it for the whole gateway). `word` is a key of the catalogue (beside it stands `word.told`: in a sentence, what is
    done there), `path` the whole path (`/admin/turns`)."""

    group: Group
    word: str
    path: str
    right: Right | None
    gateway: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the console. Its words' keys begin with its name and a dot, so that no two parts meet."""

    name: str
    words: Catalogue
    pages: tuple[Page, ...] = ()
    nav: tuple[NavEntry, ...] = ()


def get(path: str, handler: PageHandler, *, public: bool = False) -> Page:
    """A page to look at."""
    return Page(method="GET", path=path, handler=handler, public=public)


def post(path: str, handler: PageHandler, *, public: bool = False) -> Page:
    """A form that changes something: checked against forgery before the handler runs."""
    return Page(method="POST", path=path, handler=handler, public=public)


def words_of(parts: tuple[Part, ...]) -> Mapping[str, Mapping[str, str]]:
    """Return all words. Raises ValueError for a key that does not begin with its part's name."""
    words: dict[str, Mapping[str, str]] = {}
    for part in parts:
        for key, said in part.words.items():
            if not key.startswith(f"{part.name}."):
                raise ValueError(f"word {key!r} of part {part.name!r}: begin the key with {part.name + '.'!r}")
            words[key] = {language: said[language] for language in LANGUAGES}
    return words
