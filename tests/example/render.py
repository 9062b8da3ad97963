"""What becomes of a reply: Markdown in, pieces out, each as long as the platform takes. Pure."""

from __future__ import annotations

from adapters.text import plain, split

LIMIT = 4_000
"""Characters of one message."""


def chunks(markdown: str) -> list[str]:
    """Split a reply, measured as it will be sent."""
    return split(markdown, limit=LIMIT, measure=lambda piece: len(message(piece)))


def message(piece: str) -> str:
    """Return a piece as the platform shows it; this one knows no markup."""
    return plain(piece)
