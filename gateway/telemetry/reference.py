"""The tables of README.md here: every metric, from the registry, and every alert, from its rules file.

Committed, and a test holds them equal; `python -m gateway schema --write` makes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from gateway.metrics import Metrics

FOLDER = Path(__file__).parent
START, END = "<!-- generated: begin -->", "<!-- generated: end -->"


def readme_text(readme: str) -> str:
    """Return `readme` with its generated part made anew. Raises ValueError when the markers are not there."""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"gateway/telemetry/README.md: the markers {START!r} and {END!r} are missing; put them back")
    return f"{before}{START}\n\n{_tables()}\n{END}{after}"


def write_reference(folder: Path = FOLDER) -> list[Path]:
    """Write the README anew; return it if it changed."""
    path = folder / "README.md"
    was = path.read_text("utf-8")
    text = readme_text(was)
    if text == was:
        return []
    path.write_text(text, "utf-8")
    return [path]


def _tables() -> str:
    metrics = "| metric | kind | labels | meaning |\n| --- | --- | --- | --- |\n" + "\n".join(_metrics())
    alerts = "| alert | means | what to do |\n| --- | --- | --- |\n" + "\n".join(_alerts())
    return f"### Metrics\n\n{metrics}\n\n### Alerts\n\n{alerts}\n"


def _metrics() -> Iterator[str]:
    for one in Metrics(version="").described:
        labels = ", ".join(f"`{label}`" for label in one.labels)
        yield f"| `{one.name}` | {one.kind} | {labels} | {one.told} |"


def _alerts() -> Iterator[str]:
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text("utf-8"))
    for group in rules["groups"]:
        for rule in group["rules"]:
            told = rule["annotations"]
            urgent = "**page**" if rule["labels"]["severity"] == "page" else "warn"
            yield f"| `{rule['alert']}` ({urgent}) | {_plain(told['summary'])} | {told['remedy']} |"


def _plain(summary: str) -> str:
    """Return a summary with names for what Prometheus fills in: *channel*, *so many*."""
    summary = re.sub(r"\{\{ \$labels\.(\w+) \}\}", r"*\1*", summary)
    return re.sub(r"\{\{ \$value.*?\}\}", lambda found: "*so long*" if "Duration" in found[0] else "*so many*", summary)
