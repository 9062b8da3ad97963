"""`parse_mode`: text and entities out of markup, or the platform's own complaint about it.

TDLib's test tables are the measure. Legacy Markdown is refused here: nothing should send it any more.
"""

from __future__ import annotations

from tests.emulators.telegram import html, markdown
from tests.emulators.telegram.entities import Entity
from tests.emulators.telegram.errors import bad_request


def parsed(text: str, parse_mode: str) -> tuple[str, list[Entity]]:
    """Return the text without its markup and the entities. Raises 400 `can't parse entities: …`."""
    if parse_mode.lower() == "markdownv2":
        return markdown.parsed(text)
    if parse_mode.lower() == "html":
        return html.parsed(text)
    raise bad_request("unsupported parse_mode")
