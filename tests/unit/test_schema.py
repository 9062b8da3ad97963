"""The numbering of schema changes, and which releases may work on whose: pure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateway.admin.schema import ADMINS
from gateway.inbox.schema import QUEUES
from memory.errors import SchemaTooNew
from memory.schema import Migration, Schema, pending, read_migrations, statements
from memory.stores.migrate import MEMORY

ROOT = Path(__file__).parents[2]
BY_POSITION = re.compile(r"INSERT (?:OR \w+ )?INTO [a-z_]+(?: AS \w+)?\s+(?:VALUES|SELECT)")
SCHEMAS = {"memory": MEMORY, "queue": QUEUES, "admin": ADMINS}
SILENT = {"memory": 13, "queue": 7, "admin": 7}
"""How many steps of each were released before they said whom they work with."""


def schema(folder: Path) -> Schema:
    return Schema(
        name="test", folder=folder, base=("CREATE TABLE IF NOT EXISTS test_schema (version INTEGER PRIMARY KEY)",)
    )


def write(folder: Path, **scripts: str) -> None:
    for name, sql in scripts.items():
        (folder / f"{name.lstrip('_')}.sql").write_text(sql, encoding="utf-8")


def test_changes_are_numbered_without_gaps(tmp_path: Path) -> None:
    """A missing number is told by name, before anything is applied."""
    with pytest.raises(ValueError, match="holds no migrations"):
        read_migrations(tmp_path)
    write(tmp_path, _0001_first="A;", _0003_third="C;")
    with pytest.raises(ValueError, match=r"0003_third\.sql.*expected 0002_"):
        read_migrations(tmp_path)
    (tmp_path / "0003_third.sql").rename(tmp_path / "0002_Second name.sql")
    with pytest.raises(ValueError, match="0002_Second name"):
        read_migrations(tmp_path)


def test_a_change_says_in_its_first_lines_whom_it_works_with_and_how_it_is_run(tmp_path: Path) -> None:
    """The first line is for machines; a remark further down is none."""
    apart = "-- works with: 2\n-- outside a transaction\nCREATE INDEX CONCURRENTLY i ON a (b);\n"
    late = "-- A remark.\n-- works with: 1\n-- outside a transaction\nB;\n"
    write(tmp_path, _0001_first="A;", _0002_late=late, _0003_apart=apart, _0004_both="-- works with: 3\nD;\n")

    assert [
        Migration(version=1, name="first", sql="A;"),
        Migration(version=2, name="late", sql=late),
        Migration(version=3, name="apart", sql=apart, works_with=2, apart=True),
        Migration(version=4, name="both", sql="-- works with: 3\nD;\n", works_with=3),
    ] == list(read_migrations(tmp_path))


def test_a_change_that_works_with_nobody_is_a_slip(tmp_path: Path) -> None:
    """The release that brings it knows at least its own number."""
    write(tmp_path, _0001_first="-- works with: 2\nA;")

    with pytest.raises(ValueError, match="works with 2"):
        read_migrations(tmp_path)


def test_only_what_is_missing_is_pending(tmp_path: Path) -> None:
    """What is applied is not run again; beyond what is known, an older release refuses what nobody allowed it."""
    write(tmp_path, _0001_first="A;", _0002_second="B;")
    known = read_migrations(tmp_path)

    assert known == pending(schema(tmp_path), known, applied=0)
    assert known[1:] == pending(schema(tmp_path), known, applied=1)
    assert () == pending(schema(tmp_path), known, applied=2)
    with pytest.raises(SchemaTooNew, match="the test schema has version 3, this release knows 2; start the newer"):
        pending(schema(tmp_path), known, applied=3)


def test_a_newer_schema_is_worked_on_as_far_as_it_says_so(tmp_path: Path) -> None:
    """Machines are upgraded one by one: a release starts beside the next, not beside the one after that."""
    write(tmp_path, _0001_first="A;", _0002_second="B;")
    known = read_migrations(tmp_path)

    for oldest in (1, 2):
        assert () == pending(schema(tmp_path), known, applied=4, oldest=oldest)
    with pytest.raises(SchemaTooNew, match="at least 3 is needed"):
        pending(schema(tmp_path), known, applied=4, oldest=3)


def test_statements_end_with_a_semicolon_at_the_end_of_a_line() -> None:
    assert ["CREATE TABLE a (b)", "-- a remark; and more\nDROP TABLE a"] == statements(
        "CREATE TABLE a (b); \n-- a remark; and more\nDROP TABLE a;"
    )


@pytest.mark.parametrize("name", SCHEMAS)
def test_both_databases_have_the_same_versions(name: str) -> None:
    """A schema change is made for both or for none."""
    sqlite, postgres = (read_migrations(SCHEMAS[name].folder / database) for database in ("sqlite", "postgres"))

    assert [step.version for step in sqlite] == [step.version for step in postgres]


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_every_new_change_says_whom_it_works_with(name: str, database: str) -> None:
    """Its first line is `-- works with: N`, the version of the release before; see "Upgrading" in `gateway/README.md`."""
    assert [] == [
        step.name
        for step in read_migrations(SCHEMAS[name].folder / database)[SILENT[name] :]
        if step.works_with is None
    ]


def test_every_insert_names_its_columns() -> None:
    """By position it would fail on the next release's schema, which has a column more."""
    sources = [path for package in ("gateway", "memory") for path in (ROOT / package).rglob("*.py")]

    assert [] == [
        (path.name, found[0]) for path in sources for found in BY_POSITION.finditer(path.read_text(encoding="utf-8"))
    ]
