"""What is counted, in Prometheus' words."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.inbox.base import Stats
from gateway.metrics import Metrics


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Every sample, by name and label values in the order of the labels' names."""
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(version="1.2.3")


def test_times_of_a_turn(metrics: Metrics) -> None:
    """First token, reply and delivery are histograms by channel (and agent), in seconds."""
    metrics.first_token(0.2, channel="acme", agent="a")
    metrics.replied(1.5, channel="acme", agent="a")
    metrics.replied(2.5, channel="acme", agent="a")
    metrics.delivered(2.0, channel="acme")

    seen = samples(metrics)
    assert 0.0 == seen["clew_first_token_seconds_bucket", "a", "acme", "0.1"]
    assert 1.0 == seen["clew_first_token_seconds_bucket", "a", "acme", "0.25"]
    assert (2.0, 4.0) == (
        seen["clew_replied_seconds_count", "a", "acme"],
        seen["clew_replied_seconds_sum", "a", "acme"],
    )
    assert 2.0 == seen["clew_delivered_seconds_sum", "acme"]


def test_counts(metrics: Metrics) -> None:
    """Turns by outcome and rule, agent errors by code, tokens, failures, deletions, waits, sends."""
    metrics.turn_ended(channel="acme", agent="a", outcome="ignored", rule="not_addressed")
    metrics.agent_failed(agent="a", code="agent_timeout")
    metrics.tokens(agent="a", prompt=100, completion=7)
    metrics.memory_tokens(agent="a", prompt=20, completion=3)
    metrics.memory_part_failed("summary")
    metrics.deleted("ledger", 12)
    metrics.rate_limited(0.5, of="channel", who="a")
    metrics.rate_limited(7, of="agent", who="a")
    metrics.send_ended(channel="acme", outcome="unknown")
    metrics.update_left_behind(channel="acme")
    metrics.request_refused(channel="acme", code="unauthorised")

    seen = samples(metrics)
    assert 1 == seen["clew_turns_total", "a", "acme", "ignored", "not_addressed"]
    assert 1 == seen["clew_agent_errors_total", "a", "agent_timeout"]
    assert (100, 7) == (seen["clew_tokens_total", "a", "prompt"], seen["clew_tokens_total", "a", "completion"])
    assert 20 == seen["clew_tokens_total", "a", "memory_prompt"]
    assert 1 == seen["clew_memory_part_failures_total", "summary"]
    assert 1 == seen["clew_updates_left_behind_total", "acme"]
    assert 1 == seen["clew_requests_refused_total", "acme", "unauthorised"]
    assert 12 == seen["clew_retention_deleted_total", "ledger"]
    assert (1, 0.5) == (
        seen["clew_rate_limit_wait_seconds_count", "channel", "a"],
        seen["clew_rate_limit_wait_seconds_sum", "channel", "a"],
    )
    assert 1 == seen["clew_sends_total", "acme", "unknown"]


def test_the_queue(metrics: Metrics) -> None:
    """The queue's numbers are those of the last sample; ages are in seconds, 0 when nothing waits, never below."""
    metrics.sample(
        Stats(
            waiting=3,
            running=2,
            oldest_waiting_ms=1_000,
            outbox_waiting=4,
            outbox_oldest_ms=9_000,
            dead=1,
            oldest_unanswered_ms=500,
        ),
        now_ms=3_500,
    )
    seen = samples(metrics)
    assert 3.0 == seen["clew_unanswered_oldest_seconds",]
    assert (3, 2, 2.5) == (seen["clew_inbox_waiting",], seen["clew_inbox_running",], seen["clew_inbox_oldest_seconds",])
    assert (4, 0.0, 1) == (seen["clew_outbox_waiting",], seen["clew_outbox_oldest_seconds",], seen["clew_dead",])

    metrics.sample(
        Stats(waiting=0, running=0, oldest_waiting_ms=None, outbox_waiting=0, outbox_oldest_ms=None, dead=0),
        now_ms=3_500,
    )
    assert 0.0 == samples(metrics)["clew_inbox_oldest_seconds",]


def test_a_stall_is_told_for_a_minute(metrics: Metrics) -> None:
    """The longest one, so that Prometheus sees it, whenever it looks; then it is forgotten."""
    told = []
    for at_s, late_s in ((0, 0.01), (2, 4.5), (4, 0.02), (61.9, 0.5), (62.1, 0.03), (500, 0.0)):
        metrics.loop_late(late_s, now_s=at_s)
        told.append(samples(metrics)["clew_loop_stall_seconds",])

    assert [0.01, 4.5, 4.5, 4.5, 0.5, 0.0] == told


def test_what_admins_watch(metrics: Metrics) -> None:
    """Money, quotas, take-overs, sign-ins, audit entries, spans and probes are counted apart."""
    metrics.cost(0.25, agent="a", currency="USD")
    metrics.quota_met(channel="acme", per="person", unit="tokens", limit="hard")
    metrics.login("refused")
    metrics.audit_failed()
    metrics.spans_ended("dropped", 3)
    metrics.probe_ended(channel="acme", outcome="answered", seconds=0.5)
    metrics.probe_ended(channel="acme", outcome="late", seconds=30.0)
    metrics.takeovers({("acme", "waiting"): 2, ("other", "taken"): 1})
    metrics.takeovers({("acme", "taken"): 2})

    seen = samples(metrics)
    assert 0.25 == seen["clew_cost_total", "a", "USD"]
    assert 1 == seen["clew_quota_hits_total", "acme", "hard", "person", "tokens"]
    assert 1 == seen["clew_admin_logins_total", "refused"]
    assert 1 == seen["clew_audit_write_failures_total",]
    assert 3 == seen["clew_spans_total", "dropped"]
    assert (1, 1) == (seen["clew_probes_total", "acme", "answered"], seen["clew_probes_total", "acme", "late"])
    assert (1, 0.5) == (seen["clew_probe_seconds_count", "acme"], seen["clew_probe_seconds_sum", "acme"])
    assert {("clew_takeovers", "acme", "taken"): 2} == {key: n for key, n in seen.items() if key[0] == "clew_takeovers"}


def test_what_runs_now(metrics: Metrics) -> None:
    """Channels that are gone, and settings of before, leave no figure behind; settings grow older."""
    metrics.sample_live({"acme": True, "removed": False}, now_ms=1_000)
    assert 0.0 == samples(metrics)["clew_settings_age_seconds",]
    metrics.settings_applied("r1", now_ms=1_000)
    metrics.settings_applied("r2", now_ms=4_000)
    metrics.sample_live({"acme": False}, now_ms=10_000)

    seen = samples(metrics)
    assert (0, 0) == (seen["clew_sends_total", "acme", "dead"], seen["clew_updates_left_behind_total", "acme"])
    assert [("clew_channel_up", "acme")] == [key for key in seen if key[0] == "clew_channel_up"]
    assert (0, 6.0) == (seen["clew_channel_up", "acme"], seen["clew_settings_age_seconds",])
    assert [("clew_settings", "r2")] == [key for key in seen if key[0] == "clew_settings"]


def test_build_and_process(metrics: Metrics) -> None:
    """The version and the process's own memory are there."""
    seen = samples(metrics)

    assert [name for name in seen if name[0] == "clew_build_info" and "1.2.3" in name]
    assert seen["process_resident_memory_bytes",] > 1_000_000


def test_two_gateways_in_one_process() -> None:
    """There are no globals: each has figures of its own."""
    one, other = Metrics(version="1"), Metrics(version="1")

    one.memory_part_failed("facts")

    assert ("clew_memory_part_failures_total", "facts") not in samples(other)
