"""The operators' table of failures, and what chaos breaks: the one speaks of all that the other does."""

from __future__ import annotations

import re

from tests.chaos.plan import deck
from tests.scenarios.world import ROOT


def _rehearsed() -> set[str]:
    """Return the names in the table's last column."""
    text = (ROOT / "gateway" / "README.md").read_text("utf-8")
    rows = re.findall(
        r"^\|.*\|(.*?)\|$", text.partition("\n## When something fails\n")[2].partition("\n## ")[0], re.MULTILINE
    )
    return {name for cell in rows for name in re.findall(r"`(.*?)`", cell)}


def test_each_kind_of_trouble_has_its_row_and_each_row_its_trouble() -> None:
    """An operator finds what a drill does, and what is said to be rehearsed is."""
    assert set(deck(5)) == _rehearsed()
