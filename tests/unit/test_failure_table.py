"""The table of failures in gateway/README.md: what it says that an operator sees is what there is to see."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from gateway.metrics import STALL_WINDOW_S, Metrics
from gateway.telemetry.reference import FOLDER

ROOT = Path(__file__).parents[2]
RULES = {
    rule["alert"]: rule
    for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
}
METRICS = {one.name for one in Metrics(version="1").described}
SOURCE = "\n".join(path.read_text("utf-8") for name in ("gateway", "memory") for path in (ROOT / name).rglob("*.py"))


def seen() -> list[tuple[str, str]]:
    """What is in backquotes in the column of what one sees, with what fails."""
    table = (ROOT / "gateway" / "README.md").read_text("utf-8").partition("\n## When something fails\n")[2]
    rows = [
        re.split(r" ?\| ?", line)[1:-1] for line in table.partition("\n## ")[0].splitlines() if line.startswith("|")
    ]
    return [(row[0], said) for row in rows[2:] for said in re.findall(r"`([^`]+)`", row[2])]


@pytest.mark.parametrize(("what", "said"), [pytest.param(*pair, id=f"{pair[1]}") for pair in sorted(set(seen()))])
def test_what_an_operator_is_told_to_see_is_there(what: str, said: str) -> None:
    """An alert, a metric, a setting of the telemetry, or the words of a line in the log."""
    if said.startswith("Clew"):
        assert said in RULES, what
    elif said.startswith("clew_"):
        assert said in METRICS, what
    elif not said.startswith("/"):
        assert all(piece in SOURCE for piece in said.strip("… ").split("…")), (what, said)


def test_a_stall_rings_before_it_is_forgotten() -> None:
    """A process that was paused once tells of it for a minute: an alert that waits for longer would never ring."""
    assert STALL_WINDOW_S == 60
    assert "for" not in RULES["ClewLoopStalls"]
