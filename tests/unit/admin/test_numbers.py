"""Numbers as texts: what an id is now, what it will be, and what no database holds."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import msgspec.inspect
import pytest

from gateway.admin.console.parts import PARTS
from gateway.admin.table import OPERATIONS
from memory.ids import Ids

NOW, LATER, LAST = (
    str(Ids(1023, clock=lambda at=at: at).next()) for at in (1_780_000_000_000, 2_200_000_000_000, 3_840_000_000_000)
)
"""Of 2026, of 2039 (a digit longer, as from July 2031 on), and of 2091, two years before they end."""


def _patterns(found: object) -> Iterator[str]:
    if isinstance(found, msgspec.inspect.StrType) and found.pattern is not None and "[0-9]" in found.pattern:
        yield found.pattern
    if isinstance(found, msgspec.inspect.Metadata):
        yield from _patterns(found.type)
    for one in getattr(found, "types", ()):
        yield from _patterns(one)
    if isinstance(found, msgspec.inspect.ListType | msgspec.inspect.VarTupleType):
        yield from _patterns(found.item_type)


ASKED = {
    (operation.name, field.name, pattern)
    for operation in OPERATIONS
    for field in msgspec.inspect.type_info(operation.request).fields  # type: ignore[attr-defined]  # all are structs
    for pattern in _patterns(field.type)
    if not re.search("[a-z]", pattern.casefold())
}
PATHS = {
    (page.path, of) for part in PARTS for page in part.pages for of in re.findall(r":(\[0-9\]\{[0-9,]+\})\}", page.path)
}


@pytest.mark.parametrize(("operation", "field", "pattern"), sorted(ASKED))
def test_a_request_takes_ids_of_every_year(operation: str, field: str, pattern: str) -> None:
    """Ids grow with time, by a digit in 2031; what is more than 63 bits hold is told as wrong, and reaches no database."""
    pieces = pattern.count("0-9")
    for number in (NOW, LATER, LAST):
        text = "-".join([number] * pieces) if "-[" in pattern else number
        assert re.fullmatch(pattern, text), (operation, field, text)
    assert not re.fullmatch(pattern, str(2**63 + 10**17))


@pytest.mark.parametrize(("path", "pattern"), sorted(PATHS))
def test_a_page_is_found_by_ids_of_every_year(path: str, pattern: str) -> None:
    """Else it would be gone one day."""
    assert all(re.fullmatch(pattern, number) for number in (NOW, LATER, LAST)), path


def test_both_kinds_are_there() -> None:
    """The rest would pass by looking at nothing."""
    assert len(ASKED) > 20
    assert len(PATHS) > 5
