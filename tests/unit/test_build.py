"""What a build is called (`gateway/build.py`)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.build import READ, ROOT, release


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for name, text in {"gateway/app.py": "x = 1\n", "gateway/schema/0001.sql": "-- 表\n", "memory/text.py": ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def of(root: Path) -> str:
    return release("1.2", root=root, packages=("gateway", "memory"))


def test_the_same_sources_are_one_build_wherever_and_whenever_they_were_put(sources: Path, tmp_path: Path) -> None:
    before = of(sources)
    os.utime(sources / "gateway" / "app.py", (0, 0))
    (sources / "gateway" / "__pycache__").mkdir()
    (sources / "gateway" / "__pycache__" / "app.cpython-313.pyc").write_bytes(b"\0")
    (sources / "gateway" / "clew.yaml").write_text("channels: {}\n", encoding="utf-8")
    moved = tmp_path.with_name(f"{tmp_path.name}-moved")
    sources.rename(moved)

    assert before == of(moved)
    assert before.startswith("1.2+")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gateway/app.py", "x = 2\n"),
        ("gateway/schema/0001.sql", "-- 表。\n"),
        ("memory/new.py", ""),
        ("memory/text.py", None),
    ],
    ids=["changed", "changed SQL", "new", "gone"],
)
def test_other_sources_are_another_build(sources: Path, name: str, text: str | None) -> None:
    before = of(sources)
    if text is None:
        (sources / name).unlink()
    else:
        (sources / name).write_text(text, encoding="utf-8")

    assert before != of(sources)


def test_what_goes_from_one_file_into_the_next_is_another_build(sources: Path) -> None:
    (sources / "gateway" / "b.py").write_text("y = 2\n", encoding="utf-8")
    before = of(sources)
    (sources / "gateway" / "app.py").write_text("x = 1\ny = 2\n", encoding="utf-8")
    (sources / "gateway" / "b.py").write_text("", encoding="utf-8")

    assert before != of(sources)


def test_each_kind_of_file_that_the_gateway_reads_is_ours() -> None:
    """A kind that nobody has any more is no kind; one that came (a template in another language) has to be thought of."""
    kinds = {
        file.suffix
        for package in ("adapters", "config", "gateway", "memory")
        for file in (ROOT / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }

    assert {".md", ".png", ".svg", ".txt", ".yaml", ""} >= kinds - READ
    assert kinds >= READ
