"""The table of what each channel can do, in adapters/README.md, against the tests it names."""

from __future__ import annotations

import re

import pytest

from tests.links import ROOT

PAGE = ROOT / "adapters" / "README.md"
TABLE = PAGE.read_text("utf-8").partition("## What each channel can do")[2].partition("\n## ")[0]
ROWS = [row.strip("| ").split(" | ") for row in TABLE.splitlines() if row.startswith("| ") and "---" not in row]
CELLS = [(row[0], kind, cell) for row in ROWS[1:] for kind, cell in zip(ROWS[0], row[1:], strict=True)]


def test_every_channel_kind_has_its_column() -> None:
    folders = {path.parent.name for path in PAGE.parent.glob("*/adapter.py")}

    assert folders == set(ROWS[0])


@pytest.mark.parametrize(("what", "kind", "cell"), CELLS)
def test_every_yes_has_its_test_and_every_no_its_reason(what: str, kind: str, cell: str) -> None:
    """The test stands in the file that the link leads to."""
    link = re.fullmatch(r"\[[^\]]+\]\((\S+)#(test_\w+)\)", cell)
    if link is None:
        assert re.match(r"no: \w", cell), f"{what}, {kind}: {cell!r} neither leads to a test nor says why not"
    else:
        assert f"def {link[2]}(" in (PAGE.parent / link[1]).read_text("utf-8")
