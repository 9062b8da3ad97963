"""Every requirement and every report about memory is named by a test, or stands in memory/README.md with the reason why not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.links import ROOT

PAGE = ROOT / "memory" / "README.md"
TABLE = PAGE.read_text("utf-8").partition("## What is asked and no test names")[2].partition("\n## ")[0]
LINES = [row.strip("| ").split(" | ") for row in TABLE.splitlines() if row.startswith("| ") and "---" not in row][1:]

LAST = {"A": 45, "B": 60, "C": 27, "D": 20, "E": 29}
IDS = [f"{letter}{number:02}" for letter, last in LAST.items() for number in range(1, last + 1)]
IDS += [f"F{number}" for number in range(1, 16)]
REPORTS = (
    """
langgraph#8300 | langgraphjs#2721 | AIOS#551 | hermes-agent#64340 | openclaw#85389
openclaw-memory-graphiti#25 graphiti#1319 graphiti#1517 | MemOS#1681 | mem0#1674 | mem0#5867 | MemOS#881 | graphiti#1728
graphiti#963 | agent-memory-server#110 | attune-ai#666 | langmem#111 | langmem#126 | langmem#77 | langmem#101 | langgraph#6302
letta#3242 | letta#935 | smart-second-brain#435 | pi#1585 | memobase#48 memobase#157 | spring-ai#5940 | spring-ai#6340
langchain4j#1326 | langchain4j#3133 | langchain4j#2617 | openai-agents-python#1709 | n8n#34166 | spring-ai#3149 | langchain4j#1966
langchain4j#5250 | mem0#7196 langgraph#8136 | langchainjs#11304 | mem0#7164 agentmemory#344 hindsight#1077 | mem0#4402
mem0#3245 mem0#3040 | agent-memory-server#184 | graphiti#1489 graphiti#1491 graphiti#1130 | LongMemory#186
mem0#4695 mem0#5405 mem0#4614 memobase#76 MemOS#2177 | mem0#5195 mem0#5349 spring-ai#6089 | graphiti#467 graphiti#290 graphiti#186
mem0#5141
openclaw#85240 | hermes-agent#52900 hermes-agent#11430 hermes-agent#28279 | hermes-agent#55866 | nanobot#3744 nanobot#3100
""".replace("\n", " | ")
    .strip(" |")
    .split(" | ")
)
"""One for each row of what was reported of such memories: any of its threads will do."""

_RANGE = re.compile(r"\b([A-E])(\d\d)(?:(?: to |-|–)([A-E])(\d\d))?\b")


@cache
def cited() -> str:
    """What the docstrings of all tests say, without this one's: an order number "A10" in some test's data proves nothing."""
    files = (file for file in sorted((ROOT / "tests").rglob("*.py")) if file != Path(__file__))
    kept = (file for file in files if "bench" not in file.parts)
    return "\n".join(text for file in kept for text in docstrings(ast.parse(file.read_text("utf-8"))))


def docstrings(tree: ast.Module) -> Iterator[str]:
    """The docstrings of a module, its classes and its tests; helpers prove nothing."""
    for node in ast.walk(tree):
        is_test = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        if is_test or isinstance(node, ast.Module | ast.ClassDef):
            yield ast.get_docstring(node) or ""  # type: ignore[arg-type]


@cache
def named() -> set[str]:
    """The ids that tests name, and those that the page gives a reason for."""
    return ids_in(cited()) | ids_in(listed())


def ids_in(text: str) -> set[str]:
    """The ids in a text, ranges spelt out."""
    found = {f"F{number}" for number in re.findall(r"\bF(\d\d?)\b", text)}
    for letter, first, other, last in _RANGE.findall(text):
        upto = int(last) if other == letter else int(first)
        found |= {f"{letter}{number:02}" for number in range(int(first), upto + 1)}
    return found


def is_cited(report: str, text: str) -> bool:
    """Whether a text names a thread, `owner/` before it or not, `PR ` in it or not, or behind another one of the same project."""
    project, _, number = report.partition("#")
    return re.search(rf"\b{re.escape(project)}(?:\s?PR\s?)?[#\d, PR]*#{number}\b", text) is not None


def listed() -> str:
    return "\n".join(row[0] for row in LINES)


@pytest.mark.parametrize("id_", IDS)
def test_a_requirement_is_named_by_a_test_or_has_its_reason(id_: str) -> None:
    assert id_ in named()


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_is_named_by_a_test_or_has_its_reason(report: str) -> None:
    assert any(is_cited(thread, cited()) or is_cited(thread, listed()) for thread in report.split())


def test_every_line_names_something_and_says_why() -> None:
    known = {thread for report in REPORTS for thread in report.split()}
    for names, reason in LINES:
        threads = re.findall(r"[\w-]+#\d+", names)
        assert ids_in(names) or threads, names
        assert ids_in(names) <= set(IDS), names
        assert set(threads) <= known, names
        assert len(reason) > 20, names


def test_ranges_and_threads_are_read_as_they_are_written() -> None:
    assert {"A20", "A21", "A22", "D09", "F1", "F14"} == ids_in("A20 to A22, D09 (F1) F14: U07 and A2 are none")
    assert {"B49", "B50"} == ids_in("B49–B50")
    assert is_cited("mem0#5349", "mem0ai/mem0#5195, #5349")
    assert is_cited("letta#935", "letta-ai/letta PR#935 and PR #935")
    assert not is_cited("mem0#51", "mem0ai/mem0#5141")
    assert set() == ids_in("room A103, order E1201")
    tree = ast.parse(
        '"""A01"""\nclass T:\n  """B01"""\n  def test_x():\n    """C01"""\n    x = "D01"\n  def y():\n    """E01"""'
    )
    assert {"A01", "B01", "C01"} == ids_in(" ".join(docstrings(tree)))
