"""Which channels one may look at, and what comes back in a cursor."""

from __future__ import annotations

import pytest

from gateway.admin.acts.turns import LIST, REPLAY
from gateway.admin.operations import Acting, Invalid, Missing, Refused
from gateway.admin.seen import admit, cursor, mark, number, visible
from tests.unit.admin.acting import OWNER, actor


def test_what_is_looked_at_without_a_channel() -> None:
    """Everything, or what one holds the right for."""
    assert None is visible(Acting(actor=OWNER, operation=LIST), None)
    some = Acting(actor=actor(("viewer", "b"), ("operator", "a")), operation=LIST)
    assert ("a", "b") == visible(some, None)
    assert ("a",) == visible(Acting(actor=some.actor, operation=REPLAY), None)
    assert ("b",) == visible(some, "b")
    with pytest.raises(Refused):
        visible(some, "c")


def test_what_one_may_not_know_of_is_missing() -> None:
    """Where one may know of it and not do this, one is refused."""
    acting = Acting(actor=actor(("viewer", "b"), ("operator", "a")), operation=REPLAY)
    admit(acting, "a", "turn 1")
    with pytest.raises(Refused):
        admit(acting, "b", "turn 1")
    with pytest.raises(Missing) as hidden:
        admit(acting, "c", "turn 1")
    assert "c" not in str(hidden.value).split()


def test_cursors_come_back() -> None:
    """As many numbers as they had; anything else is the caller's mistake, and names the field."""
    assert (1, 2, 3) == mark(cursor(1, 2, 3), 3)
    assert None is mark(None, 1)
    for wrong in ("", "1.2", "x", "-1", "1.2.3.4", "１.2.3", "99999999999999999999.1.1", f"{1 << 63}.1.1"):
        with pytest.raises(Invalid) as refused:
            mark(wrong, 3)
        assert ["after"] == [problem.path for problem in refused.value.problems]


def test_numbers_that_no_database_holds() -> None:
    """There is no such thing."""
    assert 7 == number("7", "turn")
    with pytest.raises(Missing):
        number(str(1 << 63), "turn")
