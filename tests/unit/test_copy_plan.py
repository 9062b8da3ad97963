"""What is copied where, from two catalogues; and how far a copy is, for people."""

from __future__ import annotations

import io

import pytest

from gateway.copying.counting import Count
from gateway.copying.plan import Column, Table, Unplanned, plan
from gateway.copying.progress import Progress


def table(name: str, *columns: Column, **more: object) -> Table:
    return Table(name=name, columns=columns, key=("id",), **more)  # type: ignore[arg-type]


HERE = Column(name="id", type="INTEGER", required=True)
THERE = Column(name="id", type="bigint", required=True)


def test_a_table_of_both_is_copied_behind_those_it_refers_to() -> None:
    """Its own rows, too: such a column is written when all stand."""
    refers = frozenset({("z", "z"), ("up", "a")})
    here = [table(name, HERE, Column(name="up", type="INTEGER")) for name in ("a", "z")]
    there = [
        table("a", THERE, Column(name="up", type="bigint"), refers=refers),
        table("z", THERE, Column(name="up", type="bigint", numbered=True), guarded=True),
    ]
    steps = plan(here, there)

    assert ["z", "a"] == [step.table for step in steps]
    assert [(), ("up",)] == [step.later for step in steps]
    assert (("up",), True, ("id", "up"), ("bigint", "bigint")) == (
        steps[0].numbered, steps[0].guarded, steps[0].columns, steps[0].types,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("here", "there", "said"),
    [
        ([table("a", HERE)], [], "table 'a' stands on SQLite only: copy it: give both databases"),
        ([], [table("a", THERE)], "table 'a' stands on PostgreSQL only: copy it"),
        ([table("a", HERE)], [table("a", THERE, Column(name="b", type="text"))], "column 'b' of 'a' stands on PostgreSQL"),
        ([table("a", HERE, Column(name="b", type="TEXT"))], [table("a", THERE)], "column 'b' of 'a' stands on SQLite only"),
        ([table("a", HERE)], [table("a", Column(name="id", type="uuid"))], "column 'id' of 'a' is INTEGER on SQLite and uuid"),
        (
            [table("a", Column(name="id", type="TEXT"))],
            [table("a", Column(name="id", type="text", required=True))],
            "is TEXT on SQLite and text not null on PostgreSQL: make both alike, or say in gateway/copying/plan.py how",
        ),
    ],
)  # fmt: skip
def test_what_nobody_has_said_a_word_about_is_a_fault(here: list[Table], there: list[Table], said: str) -> None:
    """It names the column and says what to do: nobody who adds one can forget it."""
    with pytest.raises(Unplanned) as fault:
        plan(here, there)

    assert 1 == len(fault.value.faults)
    assert said in fault.value.faults[0]
    assert "gateway/copying/plan.py" in fault.value.faults[0]


def test_what_is_generated_or_left_out_is_nobody_s_fault() -> None:
    """A column that the database makes, a table that is named with its reason."""
    made = Column(name="last_hour", type="bigint", generated=True)
    steps = plan([table("a", HERE), table("queue_run", HERE)], [table("a", THERE, made), table("hot_shelf", THERE)])

    assert [("a", ("id",))] == [(step.table, step.columns) for step in steps]


def test_counts_do_not_depend_on_the_order() -> None:
    """The same rows are the same count, in whatever order and in however many parts; another byte, or a row twice, is not."""
    rows = [
        [1, "你好", b"\0", None, [1, 2], True, 0.5],
        [2, "x", b"", None, [], False, None],
        [3, "", b"", 1, [], True, 1.0],
    ]
    whole = Count().more(rows)

    assert whole == Count().more(rows[2:]).more(rows[:2])
    assert whole != Count().more([rows[0], rows[1], [3, "y", *rows[2][2:]]])
    assert whole.digest != Count().more([*rows, rows[0]]).digest
    assert (3, True) == (whole.rows, 0 <= whole.digest < 2**128)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_in_a_terminal_is_one_line_written_over() -> None:
    """Drawn as often as anybody can see, and ended by a new line."""
    out, now = Terminal(), 0.0
    progress = Progress(2000, out, clock=lambda: now)
    for now in (0.05, 0.5, 0.55, 1.0):
        progress.at(round(now * 1000), "copying messages")
    progress.end(2000, "copying")

    drawn = out.getvalue().split("\r")[1:]
    assert 3 == len(drawn)
    assert drawn[0].startswith("[########                      ]  25%  500 of 2,000  1,000/s  copying messages")
    assert drawn[-1].startswith("[##############################] 100%  2,000 of 2,000")
    assert drawn[-1].endswith("\n")


def test_progress_elsewhere_is_a_line_each_five_seconds() -> None:
    """As a log or a service's journal wants it: whole lines."""
    times = iter((0.0, 1.0, 4.9, 5.0, 6.0, 10.1, 10.2))
    out = io.StringIO()
    progress = Progress(0, out, clock=lambda: next(times))
    for _ in range(5):
        progress.at(1, "copying")
    progress.end(1, "copying")

    assert ["100%  1 of 1  0/s  copying"] * 3 == out.getvalue().splitlines()
