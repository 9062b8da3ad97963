"""What an embedder is given of a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory.errors import ModelFailed

# A model's memory grows with the text, to a gigabyte for 100,000 characters; and what a text is about stands at its start.
MAX_CHARS = 2_000
_UNREADABLE = re.compile("[\x00\ud800-\udfff]")


def embeddable(texts: Sequence[str], *, name: str) -> list[str]:
    """Return each text as an embedder can take it: cut at `MAX_CHARS`, NUL and lone surrogates as U+FFFD. Raises
    `ModelFailed` for a blank text: models place it somewhere among those that mean something."""
    cut = [_UNREADABLE.sub("\ufffd", text[:MAX_CHARS]) for text in texts]
    blank = [number for number, text in enumerate(cut) if not text.strip()]
    if blank:
        raise ModelFailed(f"embedder {name!r} was given blank texts (numbers {blank[:5]!r}): leave them out")
    return cut
