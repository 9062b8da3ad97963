"""The dashboard, the alert rules and their README: every figure they name is one that the gateway gives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from gateway.metrics import Metrics
from gateway.telemetry.reference import FOLDER, readme_text, write_reference
from gateway.usage.quotas import MEASURES
from gateway.usage.rows import KINDS
from gateway.usage.windows import SPANS

ENDINGS = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}
GIVEN = {
    f"{one.name}{ending}": {*one.labels, "instance"} | ({"le"} if ending == "_bucket" else set())
    for one in Metrics(version="1").described
    for ending in ENDINGS.get(one.kind, ("",))
}
PROCESS = {"process_resident_memory_bytes"}  # prometheus_client's own


def rules() -> list[dict[str, Any]]:
    read = yaml.safe_load((FOLDER / "alerts.yaml").read_text())
    return [rule for group in read["groups"] for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text())
    return read


def queries() -> Iterator[tuple[str, str]]:
    """Every query, with what it belongs to."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m")


def selected(node: Any) -> Iterator[Any]:
    """Every metric that a query reads, with its matchers."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    elif isinstance(node, promql_parser.MatrixSelector):
        yield node.vector_selector
    for name in ("expr", "lhs", "rhs", "param"):
        inner = getattr(node, name, None)
        if inner is not None:
            yield from selected(inner)
    for inner in getattr(node, "args", None) or ():
        yield from selected(inner)


@pytest.mark.parametrize(("where", "query"), [pytest.param(*pair, id=pair[0]) for pair in queries()])
def test_every_query_reads_what_is_given(where: str, query: str) -> None:
    """It is PromQL, its metrics exist, and so do the labels it picks by and groups by."""
    read = list(selected(promql_parser.parse(query)))

    assert read, where
    for one in read:
        assert one.name in GIVEN.keys() | PROCESS, one.name
        asked = {matcher.name for matcher in one.matchers.matchers}
        assert asked <= GIVEN.get(one.name, {"instance"}), (one.name, asked)
    labels = set().union(*(GIVEN.get(one.name, {"instance"}) for one in read))
    grouped = {label.strip() for found in re.findall(r"(?:by|on) \(([^)]*)\)", query) for label in found.split(",")}
    assert grouped <= labels, (where, grouped - labels)


def test_each_alert_says_what_it_means_and_what_to_do() -> None:
    """A runbook line each, and only labels that its query keeps (NousResearch/hermes-agent#22899, openclaw/openclaw#21722:
    both were delays that nobody was told of)."""
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names))
    for rule in rules():
        assert (
            {"alert", "expr", "labels", "annotations"}
            <= rule.keys()
            <= {"alert", "expr", "for", "labels", "annotations"}
        )
        assert {"summary", "remedy"} == rule["annotations"].keys(), rule["alert"]
        assert rule["labels"]["severity"] in ("page", "warn")
        filled = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        grouped = {one.strip() for found in re.findall(r"by \(([^)]*)\)", rule["expr"]) for one in found.split(",")}
        assert filled <= grouped, rule["alert"]


def test_the_dashboard_lies_in_a_grid() -> None:
    """No two panels on one another, each with a title, a description and a unit; ids are its own."""
    panels = dashboard()["panels"]
    cells = [
        (panel["gridPos"]["x"] + dx, panel["gridPos"]["y"] + dy)
        for panel in panels
        for dx in range(panel["gridPos"]["w"])
        for dy in range(panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert all(x < 24 for x, _ in cells)
    assert len(panels) == len({panel["id"] for panel in panels})
    drawn = [panel for panel in panels if panel["type"] != "row"]
    assert all(panel["title"] and panel["description"] and panel["fieldConfig"]["defaults"]["unit"] for panel in drawn)


def test_every_metric_is_on_the_dashboard() -> None:
    """One that nobody looks at is measured for nothing; those that the issue names are among them."""
    shown = {
        one.name
        for panel in dashboard()["panels"]
        for target in panel.get("targets", [])
        for one in selected(promql_parser.parse(target["expr"].replace("$__rate_interval", "5m")))
    }
    for described in Metrics(version="1").described:
        endings = ENDINGS.get(described.kind, ("",))
        assert shown & {f"{described.name}{ending}" for ending in endings}, described.name


def test_no_label_grows_with_people() -> None:
    """Each is a name out of the settings, or one of a few words of the code's; never a person, room, message or turn. Whoever
    adds a label says here what bounds it."""
    of_settings = {"channel", "agent", "who", "currency", "revision"}  # one revision at a time; of `who` see `of`
    of_code = {
        "outcome",
        "rule",
        "code",
        "kind",
        "limit",
        "per",
        "unit",
        "part",
        "work",
        "state",
        "done",
        "of",
        "table",
    }
    of_the_process = {"version", "python"}

    used = {label for one in Metrics(version="1").described for label in one.labels}
    assert used <= of_settings | of_code | of_the_process


def test_what_the_issue_names_has_an_alert() -> None:
    """Where somebody must act on it: tokens and money are bounded by quotas, so these have one."""
    rung = " ".join(rule["expr"] for rule in rules())
    for metric in (
        "clew_first_token_seconds_bucket",
        "clew_delivered_seconds_bucket",
        "clew_unanswered_oldest_seconds",
        'clew_sends_total{outcome="unknown"}',
        "clew_turns_total",
        "clew_updates_left_behind_total",
        "clew_requests_refused_total",
        "clew_memory_part_failures_total",
        "clew_takeovers",
        "clew_channel_up",
        "clew_settings",
        "clew_quota_hits_total",
        "clew_usage_dropped_total",
        "clew_admin_logins_total",
        "clew_audit_write_failures_total",
        "clew_probes_total",
    ):
        assert metric in rung, metric


def test_the_first_event_rings() -> None:
    """An alert that rings at one reads a counter that stood at 0 before: `increase` does not see the event with which a series
    begins."""
    metrics = Metrics(version="1")
    metrics.sample_live({"acme": True}, now_ms=0)
    there = {
        (sample.name, tuple(sorted(sample.labels.items())))
        for family in metrics.registry.collect()
        for sample in family.samples
    }

    ringing = [rule for rule in rules() if re.search(r"increase\(.*> 0$", rule["expr"])]
    assert {"ClewSendsDead", "ClewUpdatesLeftBehind", "ClewUsageLost", "ClewAuditFails"} <= {
        rule["alert"] for rule in ringing
    }
    for rule in ringing:
        for one in selected(promql_parser.parse(rule["expr"])):
            equal = promql_parser.MatchOp.Equal
            wanted = {matcher.name: matcher.value for matcher in one.matchers.matchers if equal == matcher.op}
            found = [labels for name, labels in there if name == one.name and wanted.items() <= dict(labels).items()]
            assert found, rule["alert"]


def test_what_is_refused_by_the_admins_own_limits_pages_nobody() -> None:
    """Who has used up a quota gets a notice, and so does who stops an answer: no fault of the gateway's, or of the agent's."""
    (rule,) = (rule for rule in rules() if rule["alert"] == "ClewTurnsFail")
    patterns = set(re.findall(r'rule!~"([^"]+)"', rule["expr"]))
    (pattern,) = patterns
    asked = list(selected(promql_parser.parse(rule["expr"])))

    refused = [f"quota_{kind}_{measure}_{span}" for kind in KINDS for measure in MEASURES for span in SPANS]
    assert 2 == len(asked) == rule["expr"].count("rule!~")
    assert all(re.fullmatch(pattern, one) for one in (*refused, "rate_limited", "too_long", "stopped"))
    assert not any(re.fullmatch(pattern, one) for one in ("agent_timeout", "gave_up", "mention", "private", ""))


def test_what_each_instance_tells_of_the_whole_is_not_summed() -> None:
    """The queue's figures, and the take-overs', are the database's: two instances would show all of it twice."""
    for where, query in queries():
        told_by_each = r"clew_(?:inbox|outbox|unanswered)_\w+|clew_dead\b(?!_)|clew_takeovers\b"
        assert not re.search(rf"(?:sum|count)(?: by \([^)]*\))? ?\((?:{told_by_each})", query), where


def test_the_committed_readme_is_up_to_date() -> None:
    """`python -m gateway schema --write` was run."""
    readme = (FOLDER / "README.md").read_text()

    assert readme == readme_text(readme)
    for one in Metrics(version="1").described:
        assert f"| `{one.name}` | {one.kind} |" in readme


def test_it_is_written_once(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("before <!-- generated: begin --> old <!-- generated: end --> after")

    assert [tmp_path / "README.md"] == write_reference(tmp_path)
    assert [] == write_reference(tmp_path)
    with pytest.raises(ValueError, match="markers"):
        readme_text("nothing")
