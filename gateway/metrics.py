"""What is counted and timed, for Prometheus. Own registry, no globals; labels are names from the settings or from the
code (channel, agent, rule), never ids, so that their number is bounded. `python -m gateway schema --write` writes their table."""

from __future__ import annotations

import platform
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

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
from memory.base import TableSize
from memory.derived import Backlog
from memory.ids import made_ms

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)

STALL_WINDOW_S = 60.0
"""For so long a stall is told: longer than between two looks of Prometheus."""

LOST_S = 600.0
"""For so long a lost instance is told."""

ProbeOutcome = Literal["answered", "failed", "late"]
LoginOutcome = Literal["admitted", "refused", "limited"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """One metric as it is documented. `name` is what Prometheus stores, without a histogram's or summary's endings."""

    name: str
    kind: Literal["counter", "gauge", "histogram", "summary", "info"]
    labels: tuple[str, ...]
    told: str


class Metrics:
    """The gateway's figures. All times are seconds since the message was accepted, unless a method says otherwise."""

    def __init__(self, *, version: str) -> None:
        self.registry = CollectorRegistry()
        self.described: list[Described] = []
        ProcessCollector(registry=self.registry)
        self._info("clew_build", "Version of this gateway.", version=version, python=platform.python_version())
        self._of_turns()
        self._of_memory()
        self._of_platforms()
        self._of_the_moment()
        self._of_admins()

    def _of_turns(self) -> None:
        self._first_token = self._histogram(
            "clew_first_token_seconds", "Accepted to the first text.", "channel", "agent"
        )
        self._replied = self._histogram(
            "clew_replied_seconds", "Accepted to the reply in the outbox.", "channel", "agent"
        )
        self._delivered = self._histogram("clew_delivered_seconds", "Accepted to the last receipt.", "channel")
        self._turns = self._counter(
            "clew_turns",
            "Turns that came to their end, messages answered together as one: outcome answered, observed, ignored, applied,"
            " failed or dead, by which rule.",
            "channel",
            "agent",
            "outcome",
            "rule",
        )
        self._agent_errors = self._counter(
            "clew_agent_errors", "Calls of an agent without a usable answer.", "agent", "code"
        )
        self._tokens = self._counter(
            "clew_tokens",
            "Tokens of models, estimated where a service reports none: kind prompt or completion of answers, memory_prompt or"
            " memory_completion of all else.",
            "agent",
            "kind",
        )
        self._cost = self._counter("clew_cost", "Money spent, by the price table.", "agent", "currency")
        self._quotas = self._counter(
            "clew_quota_hits",
            "Messages that met a quota: per person, room, channel or agent; unit messages, tokens or money; limit soft"
            " (went on) or hard (refused).",
            "channel",
            "per",
            "unit",
            "limit",
        )
        self._unpriced = self._counter("clew_unpriced_calls", "Calls of models that have no price.", "agent")
        self._uncounted = self._counter(
            "clew_usage_dropped", "Messages and calls not counted, as the database was away for too long."
        )

    def _of_memory(self) -> None:
        self._memory_failures = self._counter(
            "clew_memory_part_failures", "Parts of a prompt that could not be read.", "part"
        )
        self._learning = self._counter(
            "clew_learning",
            "Work of memory after replies: work turn, summary or vectors; outcome done, put_off, stale or failed.",
            "work",
            "outcome",
        )
        self._deleted = self._counter("clew_retention_deleted", "Rows deleted because their time was over.", "kind")
        # By the instance that has the retention job, and only there.
        self._table_rows = self._gauge(
            "clew_table_rows", "Rows of a table of the database, as it estimates them.", "table"
        )
        self._table_dead = self._gauge(
            "clew_table_dead_rows",
            "Rows that are deleted or outdated, and not cleaned up by the database yet.",
            "table",
        )
        self._table_bytes = self._gauge("clew_table_bytes", "Bytes of a table with its indexes.", "table")
        self._oldest_finished = self._gauge(
            "clew_oldest_finished_seconds",
            "Age of the oldest row of the queue that has come to its end: `retention.queue_days` at most, where clean-ups work.",
        )
        self._to_learn = self._gauge("clew_learning_waiting", "Turns that are still to be learned from.")
        self._to_learn_oldest = self._gauge("clew_learning_oldest_seconds", "Age of the oldest of these.")

    def _of_platforms(self) -> None:
        self._limited = self._summary(
            "clew_rate_limit_wait_seconds",
            "Waits that a service or platform asked for: of an agent or of a channel.",
            "of",
            "who",
        )
        self._shows = self._counter(
            "clew_shows",
            "Calls that show a reply while it is made: shown, signed, removed (where a state may come late), dropped or failed.",
            "channel",
            "outcome",
        )
        self._starts = self._counter(
            "clew_channel_starts", "Starts of channels: started or failed.", "channel", "outcome"
        )
        self._sends = self._counter(
            "clew_sends",
            "Sends: sent, unknown (nobody saw its end) or dead for good; retried, throttled, held and moved ones come again.",
            "channel",
            "outcome",
        )
        self._left_behind = self._counter(
            "clew_updates_left_behind", "What platforms told that was given up, as storing it failed.", "channel"
        )
        self._refused = self._counter(
            "clew_requests_refused",
            "Requests that a channel did not take in, by the code that the caller was told (unauthorised: a wrong secret).",
            "channel",
            "code",
        )
        self._probes = self._counter(
            "clew_probes", "Messages of the gateway's own probe: answered, failed, or late.", "channel", "outcome"
        )
        self._probed = self._histogram(
            "clew_probe_seconds", "Accepted to delivered, of the gateway's own probe.", "channel"
        )

    def _of_the_moment(self) -> None:
        # Of the queue, and of take-overs, each instance tells the database's figures.
        self._waiting = self._gauge("clew_inbox_waiting", "Messages not begun.")
        self._running = self._gauge("clew_inbox_running", "Messages being answered.")
        self._oldest = self._gauge("clew_inbox_oldest_seconds", "Age of the oldest message not begun; 0: none.")
        self._unanswered = self._gauge(
            "clew_unanswered_oldest_seconds", "Age of the oldest message without a reply in the outbox; 0: none."
        )
        self._outbox_waiting = self._gauge("clew_outbox_waiting", "Chunks not sent.")
        self._outbox_oldest = self._gauge("clew_outbox_oldest_seconds", "Age of the oldest chunk not sent; 0: none.")
        self._stall = self._gauge(
            "clew_loop_stall_seconds",
            "By how much a renewal of leases came late, at most in the last minute: work that does not let others work. Beyond"
            " `queue.lease_s` others take this instance's turns over.",
        )
        self._lateness: deque[tuple[float, float]] = deque()
        self._dead = self._gauge("clew_dead", "Messages given up, waiting for an admin.")
        self._up = self._gauge("clew_channel_up", "1: the channel runs and sees no problem; 0: it does not.", "channel")
        self._receiving = self._gauge(
            "clew_channel_receiving",
            "1: this instance fetches the channel's events, or holds a connection for them; 0: another does, or none.",
            "channel",
        )
        self._sending = self._gauge(
            "clew_channel_sending",
            "1: this instance sends the channel's replies, as one alone may; 0: another does, or none.",
            "channel",
        )
        self._instances = self._gauge("clew_instances", "Gateways that run on the database.")
        self._lost = self._gauge(
            "clew_instances_lost",
            "Gateways that were given up for dead in the last ten minutes, and whose work others took over.",
        )
        self._skew = self._gauge(
            "clew_clock_skew_seconds", "By how much this machine's clock is ahead of the database's."
        )
        self._passed_over = self._counter(
            "clew_shared_passed_over",
            "Times that Redis or PostgreSQL did not answer with what instances share, and was left alone for five seconds.",
            "of",
        )
        for place in ("redis", "postgresql"):
            self._passed_over.labels(place)  # see `sample_live`
        self._settings = self._gauge("clew_settings", "1, for the settings in force here, by revision.", "revision")
        self._applied = self._gauge("clew_settings_age_seconds", "How long the settings in force have been so.")
        self._applied_ms: int | None = None
        self._takeovers = self._gauge(
            "clew_takeovers",
            "Conversations in which the bot is paused: waiting for an operator, or taken.",
            "channel",
            "state",
        )

    def _of_admins(self) -> None:
        self._logins = self._counter(
            "clew_admin_logins",
            "Attempts of admins to sign in: admitted, refused or limited (asked to wait).",
            "outcome",
        )
        self._audit_failures = self._counter(
            "clew_audit_write_failures", "Acts of admins whose audit entry could not be written."
        )
        self._letters = self._counter(
            "clew_dead_letters_dealt",
            "Dead letters and unknown sends that admins dealt with: send, answer (again), by_hand or discard.",
            "channel",
            "done",
        )
        self._spans = self._counter(
            "clew_spans", "Trace spans: exported, failed (refused or not taken) or dropped (too many).", "outcome"
        )
        for outcome in ("exported", "failed", "dropped"):
            self._spans.labels(outcome)  # see `sample_live`

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
        """Count what an answer took."""
        self._tokens.labels(agent, "prompt").inc(prompt)
        self._tokens.labels(agent, "completion").inc(completion)

    def memory_tokens(self, *, agent: str, prompt: int, completion: int) -> None:
        """Count what memory took (extraction, summaries, vectors), apart from answers."""
        self._tokens.labels(agent, "memory_prompt").inc(prompt)
        self._tokens.labels(agent, "memory_completion").inc(completion)

    def cost(self, amount: float, *, agent: str, currency: str) -> None:
        """Count money, in units of the price table's currency (`USD`, `CNY`)."""
        self._cost.labels(agent, currency).inc(amount)

    def unpriced(self, *, agent: str) -> None:
        """Count a call of which nobody knows what it cost."""
        self._unpriced.labels(agent).inc()

    def usage_dropped(self, entries: int) -> None:
        """Count what could not be counted for quotas and cost."""
        self._uncounted.inc(entries)

    def quota_met(
        self,
        *,
        channel: str,
        per: Literal["person", "room", "channel", "agent"],
        unit: Literal["messages", "tokens", "money"],
        limit: Literal["soft", "hard"],
    ) -> None:
        """Count a message that met a quota: a soft one lets it go on, a hard one refuses it."""
        self._quotas.labels(channel, per, unit, limit).inc()

    def learning_ended(self, *, work: str, outcome: str) -> None:
        """Count work after a reply: `turn`, `summary` or `vectors` (a batch of them); done, put_off (comes again), stale (comes
        again at once) or failed."""
        self._learning.labels(work, outcome).inc()

    def memory_part_failed(self, part: str) -> None:
        self._memory_failures.labels(part).inc()

    def deleted(self, kind: str, rows: int) -> None:
        """Count what the retention job deleted (inbox, outbox, ledger, dedupe)."""
        self._deleted.labels(kind).inc(rows)

    def tables(self, sizes: Sequence[TableSize], *, oldest_finished_ms: int | None, now_ms: int) -> None:
        """Take over how big the database's tables are; what is not named is none any more."""
        for gauge in (self._table_rows, self._table_dead, self._table_bytes):
            gauge.clear()
        for size in sizes:
            self._table_rows.labels(size.name).set(size.rows)
            if size.dead is not None:
                self._table_dead.labels(size.name).set(size.dead)
            if size.bytes is not None:
                self._table_bytes.labels(size.name).set(size.bytes)
        self._oldest_finished.set(_age_s(oldest_finished_ms, now_ms))

    def to_learn(self, backlog: Backlog, *, now_ms: int) -> None:
        """Take over how much is still to be learned from."""
        self._to_learn.set(backlog.turns)
        self._to_learn_oldest.set(_age_s(None if backlog.oldest is None else made_ms(backlog.oldest), now_ms))

    def rate_limited(self, seconds: float, *, of: Literal["agent", "channel"], who: str) -> None:
        """Time a wait that was asked for; `who` is the agent's or the channel's name: one may be called as the other."""
        self._limited.labels(of, who).observe(seconds)

    def passed_over(self, place: str) -> None:
        """Count that a place of hot state, redis or postgresql, is left alone for a while."""
        self._passed_over.labels(place).inc()

    def send_ended(self, *, channel: str, outcome: str) -> None:
        """Count how a send went: sent, unknown, dead; retried and throttled ones come again."""
        self._sends.labels(channel, outcome).inc()

    def show_ended(self, *, channel: str, outcome: str) -> None:
        """Count a call that shows a reply while it is made: shown, signed, removed, dropped (no budget to spare), failed."""
        self._shows.labels(channel, outcome).inc()

    def channel_started(self, *, channel: str, outcome: str) -> None:
        """Count a channel's start: `started`, or `failed` (then or later)."""
        self._starts.labels(channel, outcome).inc()

    def update_left_behind(self, *, channel: str) -> None:
        """Count what a platform told and was given up, as storing it failed again and again; the log says why."""
        self._left_behind.labels(channel).inc()

    def request_refused(self, *, channel: str, code: str) -> None:
        """Count a request to a channel that was not taken in: nothing of it is stored, so no message tells of it."""
        self._refused.labels(channel, code).inc()

    def probe_ended(self, *, channel: str, outcome: ProbeOutcome, seconds: float) -> None:
        """Count a probe of the whole way, and time it (accepted to delivered) if it was answered."""
        self._probes.labels(channel, outcome).inc()
        if outcome == "answered":
            self._probed.labels(channel).observe(seconds)

    def login(self, outcome: LoginOutcome) -> None:
        """Count an admin's attempt to sign in, by whatever way; `limited`: there were too many, nothing was looked at."""
        self._logins.labels(outcome).inc()

    def audit_failed(self) -> None:
        """Count an act whose audit entry could not be written."""
        self._audit_failures.inc()

    def letter_dealt(self, channel: str, done: str) -> None:
        """Count a dead letter that an admin dealt with, by how."""
        self._letters.labels(channel, done).inc()

    def spans_ended(self, outcome: Literal["exported", "failed", "dropped"], count: int) -> None:
        """Count trace spans by what became of them. From any thread."""
        self._spans.labels(outcome).inc(count)

    def loop_late(self, seconds: float, *, now_s: float) -> None:
        """Take over by how much a timer came late; `now_s` is of any clock that goes evenly."""
        self._lateness.append((now_s, seconds))
        while self._lateness[0][0] < now_s - STALL_WINDOW_S:
            self._lateness.popleft()
        self._stall.set(max(late for _, late in self._lateness))

    def settings_applied(self, revision: str, *, now_ms: int) -> None:
        """These settings are in force from now on."""
        self._settings.clear()
        self._settings.labels(revision).set(1)
        self._applied_ms = now_ms

    def takeovers(self, counts: Mapping[tuple[str, Literal["waiting", "taken"]], int]) -> None:
        """Take over how many conversations are paused, by (channel, state); what is not named is none."""
        self._takeovers.clear()
        for (channel, state), count in counts.items():
            self._takeovers.labels(channel, state).set(count)

    def sample_live(self, up: Mapping[str, bool], *, now_ms: int) -> None:
        """Take over which channels there are and which of them work, and how old the settings are, before all is rendered."""
        self._applied.set(_age_s(self._applied_ms, now_ms))
        self._up.clear()
        for channel, works in up.items():
            self._up.labels(channel).set(works)
            # There before it counts: of a counter that begins with its first event, PromQL's `increase` does not see that one.
            self._left_behind.labels(channel)
            for outcome in ("sent", "unknown", "dead"):
                self._sends.labels(channel, outcome)

    def sample_instances(
        self, receiving: Mapping[str, bool], sending: Mapping[str, bool], *, live: int, skew_s: float
    ) -> None:
        """Take over which of the channels that only some instances receive, or one sends, this one does, and how it stands beside
        the others."""
        for gauge, held in ((self._receiving, receiving), (self._sending, sending)):
            gauge.clear()
            for channel, here in held.items():
                gauge.labels(channel).set(here)
        self._instances.set(live)
        self._skew.set(skew_s)

    def sample_lost(self, count: int) -> None:
        """Take over how many instances were lost within `LOST_S`."""
        self._lost.set(count)

    def sample(self, stats: Stats, *, now_ms: int) -> None:
        """Take over the queue's numbers, before they are rendered. An age is 0 when nothing waits."""
        self._waiting.set(stats.waiting)
        self._running.set(stats.running)
        self._oldest.set(_age_s(stats.oldest_waiting_ms, now_ms))
        self._unanswered.set(_age_s(stats.oldest_unanswered_ms, now_ms))
        self._outbox_waiting.set(stats.outbox_waiting)
        self._outbox_oldest.set(_age_s(stats.outbox_oldest_ms, now_ms))
        self._dead.set(stats.dead)

    def value(self, name: str, **labels: str) -> float:
        """Return a sample as it is rendered (`clew_sends_total`); 0: nothing was counted."""
        return self.registry.get_sample_value(name, labels) or 0.0

    def render(self) -> bytes:
        """Return everything in Prometheus' text format (`prometheus_client.CONTENT_TYPE_LATEST`)."""
        return generate_latest(self.registry)

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        self.described.append(Described(name=f"{name}_total", kind="counter", labels=labels, told=told))
        return Counter(name, told, labels, registry=self.registry)

    def _gauge(self, name: str, told: str, *labels: str) -> Gauge:
        self.described.append(Described(name=name, kind="gauge", labels=labels, told=told))
        return Gauge(name, told, labels, registry=self.registry)

    def _histogram(self, name: str, told: str, *labels: str) -> Histogram:
        self.described.append(Described(name=name, kind="histogram", labels=labels, told=told))
        return Histogram(name, told, labels, buckets=SECONDS, registry=self.registry)

    def _summary(self, name: str, told: str, *labels: str) -> Summary:
        self.described.append(Described(name=name, kind="summary", labels=labels, told=told))
        return Summary(name, told, labels, registry=self.registry)

    def _info(self, name: str, told: str, **labels: str) -> None:
        self.described.append(Described(name=f"{name}_info", kind="info", labels=tuple(labels), told=told))
        Info(name, told, registry=self.registry).info(labels)


def _age_s(since_ms: int | None, now_ms: int) -> float:
    return 0.0 if since_ms is None else max(0.0, (now_ms - since_ms) / 1000)
