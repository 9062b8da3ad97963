"""What is counted and timed, for Prometheus. Own registry, no globals; labels are names from the settings or from the
code (channel, agent, rule), never ids, so that their number is bounded."""

from __future__ import annotations

import platform

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    Summary,
    generate_latest,
)

from gateway.inbox.base import Stats

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)


class Metrics:
    """The gateway's figures. All times are seconds since the message was accepted, unless a method says otherwise."""

    def __init__(self, *, version: str) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        build = Info("clew_build", "Version of this gateway.", registry=registry)
        build.info({"version": version, "python": platform.python_version()})

        of_turn = ["channel", "agent"]
        self._first_token = Histogram(
            "clew_first_token_seconds", "Accepted to the first text.", of_turn, buckets=SECONDS, registry=registry
        )
        self._replied = Histogram(
            "clew_replied_seconds", "Accepted to the reply in the outbox.", of_turn, buckets=SECONDS, registry=registry
        )
        self._delivered = Histogram(
            "clew_delivered_seconds", "Accepted to the last receipt.", ["channel"], buckets=SECONDS, registry=registry
        )
        self._turns = Counter(
            "clew_turns", "Turns that ended.", ["channel", "agent", "outcome", "rule"], registry=registry
        )
        self._agent_errors = Counter("clew_agent_errors", "Failed calls.", ["agent", "code"], registry=registry)
        self._tokens = Counter("clew_tokens", "Tokens, as services report them.", ["agent", "kind"], registry=registry)
        self._memory_failures = Counter(
            "clew_memory_part_failures", "Parts of a prompt that could not be read.", ["part"], registry=registry
        )
        self._learning = Counter(
            "clew_learning", "Work of memory after replies, by how it ended.", ["work", "outcome"], registry=registry
        )
        self._deleted = Counter(
            "clew_retention_deleted", "Rows deleted because their time was over.", ["kind"], registry=registry
        )
        self._limited = Summary(
            "clew_rate_limit_wait_seconds", "Waits that a service or platform asked for.", ["who"], registry=registry
        )
        self._waiting = Gauge("clew_inbox_waiting", "Events not started.", registry=registry)
        self._running = Gauge("clew_inbox_running", "Events being answered.", registry=registry)
        self._oldest = Gauge("clew_inbox_oldest_seconds", "Age of the oldest event not started.", registry=registry)
        self._outbox_waiting = Gauge("clew_outbox_waiting", "Chunks not sent.", registry=registry)
        self._outbox_oldest = Gauge(
            "clew_outbox_oldest_seconds", "Age of the oldest chunk not sent.", registry=registry
        )
        self._dead = Gauge("clew_dead", "Events and chunks given up, waiting for an admin.", registry=registry)
        self._shows = Counter(
            "clew_shows", "Calls that show a reply while it is made, by how.", ["channel", "outcome"], registry=registry
        )
        self._starts = Counter(
            "clew_channel_starts", "Starts of channels, by how they ended.", ["channel", "outcome"], registry=registry
        )
        self._sends = Counter("clew_sends", "Sends that ended, by how.", ["channel", "outcome"], registry=registry)

        self._left_behind = Counter(
            "clew_updates_left_behind",
            "What platforms told that was given up, as storing it failed.",
            ["channel"],
            registry=registry,
        )

    def first_token(self, seconds: float, *, channel: str, agent: str) -> None:
        self._first_token.labels(channel, agent).observe(seconds)

    def replied(self, seconds: float, *, channel: str, agent: str) -> None:
        """The reply stands in the outbox."""
        self._replied.labels(channel, agent).observe(seconds)

    def delivered(self, seconds: float, *, channel: str) -> None:
        """The reply's last chunk has its receipt."""
        self._delivered.labels(channel).observe(seconds)

    def turn_ended(self, *, channel: str, agent: str, outcome: str, rule: str) -> None:
        """Count a terminal state; `rule` is the admission's or the failure's, "" if there is none."""
        self._turns.labels(channel, agent, outcome, rule).inc()

    def agent_failed(self, *, agent: str, code: str) -> None:
        """Count a call that gave no usable answer, by `AgentFault.code`."""
        self._agent_errors.labels(agent, code).inc()

    def tokens(self, *, agent: str, prompt: int, completion: int) -> None:
        self._tokens.labels(agent, "prompt").inc(prompt)
        self._tokens.labels(agent, "completion").inc(completion)

    def memory_tokens(self, *, agent: str, prompt: int, completion: int) -> None:
        """Count what extraction and summaries cost, apart from answers."""
        self._tokens.labels(agent, "memory_prompt").inc(prompt)
        self._tokens.labels(agent, "memory_completion").inc(completion)

    def learning_ended(self, *, work: str, outcome: str) -> None:
        """Count work after a reply: `turn`, `summary` or `vectors` (a batch of them); done, put_off (comes again), stale (comes
        again at once) or failed."""
        self._learning.labels(work, outcome).inc()

    def memory_part_failed(self, part: str) -> None:
        self._memory_failures.labels(part).inc()

    def deleted(self, kind: str, rows: int) -> None:
        """Count what the retention job deleted (inbox, outbox, ledger, dedupe)."""
        self._deleted.labels(kind).inc(rows)

    def rate_limited(self, seconds: float, *, who: str) -> None:
        """Time a wait that was asked for; `who` is an agent's or a channel's name."""
        self._limited.labels(who).observe(seconds)

    def send_ended(self, *, channel: str, outcome: str) -> None:
        """Count how a send went: sent, unknown, dead; retried and throttled ones come again."""
        self._sends.labels(channel, outcome).inc()

    def show_ended(self, *, channel: str, outcome: str) -> None:
        """Count a call that shows a reply while it is made: shown, signed, dropped (no budget to spare), failed."""
        self._shows.labels(channel, outcome).inc()

    def channel_started(self, *, channel: str, outcome: str) -> None:
        """Count a channel's start: `started`, or `failed` (then or later)."""
        self._starts.labels(channel, outcome).inc()

    def update_left_behind(self, *, channel: str) -> None:
        """Count what a platform told and was given up, as storing it failed again and again; the log says why."""
        self._left_behind.labels(channel).inc()

    def sample(self, stats: Stats, *, now_ms: int) -> None:
        """Take over the queue's numbers, before they are rendered. An age is 0 when nothing waits."""
        self._waiting.set(stats.waiting)
        self._running.set(stats.running)
        self._oldest.set(_age_s(stats.oldest_waiting_ms, now_ms))
        self._outbox_waiting.set(stats.outbox_waiting)
        self._outbox_oldest.set(_age_s(stats.outbox_oldest_ms, now_ms))
        self._dead.set(stats.dead)

    def render(self) -> bytes:
        """Return everything in Prometheus' text format (`prometheus_client.CONTENT_TYPE_LATEST`)."""
        return generate_latest(self.registry)


def _age_s(since_ms: int | None, now_ms: int) -> float:
    return 0.0 if since_ms is None else max(0.0, (now_ms - since_ms) / 1000)
