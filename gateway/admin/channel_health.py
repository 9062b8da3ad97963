"""Each channel's health: whether it runs, its last signs of life, how far it lags, what fails."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from adapters.base import Reports
from adapters.errors import AdapterFault
from gateway.admin.acts.health import HEALTH, ChannelTold, HealthAsked, HealthTold
from gateway.admin.operations import Acting, Handlers
from gateway.admin.seen import missing, visible
from gateway.inbox.looking import ChannelLoad, Looking, Tallies
from gateway.live import Live
from gateway.metrics import Metrics

DAY_MS = 86_400_000
_FAILED = frozenset({"failed", "dead"})
_ENDED = _FAILED | {"answered"}
"""Of messages that asked for an answer: talk that asks for none would hide that all others fail."""


class HealthActs:
    """Looks at channels. A platform is asked only where the actor wants it, within `probe_s` seconds."""

    def __init__(
        self, *, looking: Looking, live: Live, metrics: Metrics, clock: Callable[[], int], probe_s: float
    ) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._looking = looking
        self._live = live
        self._metrics = metrics
        self._clock = clock
        self._probe_s = probe_s

    def handlers(self) -> Handlers:
        return {HEALTH: self.health}

    async def health(self, acting: Acting, asked: HealthAsked) -> HealthTold:
        channels = visible(acting, asked.channel)
        running = self._live.channels()
        if asked.channel is not None and asked.channel not in running:
            raise missing(f"channel {asked.channel!r}")
        names = sorted(name for name in running if channels is None or name in channels)
        now = self._clock()
        loads = await self._looking.load(names)
        counted = await self._looking.tallies(since_ms=now - DAY_MS, channels=names)
        asking = [name for name in names if asked.probe and acting.may("handle", name)]
        probed = dict(zip(asking, await asyncio.gather(*map(self._probed, asking)), strict=True))
        told = tuple(
            self._told(load, counted, problem=running[load.channel], probed=probed.get(load.channel, ""), now_ms=now)
            for load in loads
        )
        return HealthTold(channels=told, counted_from_ms=counted.from_ms)

    async def _probed(self, name: str) -> str:
        try:
            async with asyncio.timeout(self._probe_s):
                with self._live.lent(name) as adapter:
                    if adapter is None:
                        return "it does not run"
                    await adapter.probe()
        except TimeoutError:
            return f"no answer within {self._probe_s:g} s"
        except AdapterFault as fault:
            return str(fault)
        return "ok"

    def _told(
        self, load: ChannelLoad, counted: Tallies, *, problem: str | None, probed: str, now_ms: int
    ) -> ChannelTold:
        name, adapter = load.channel, self._live.made(load.channel)
        reported = adapter.problem if adapter is not None and isinstance(adapter, Reports) else None
        warning = adapter.warning if adapter is not None and isinstance(adapter, Reports) else None
        states: Counter[str] = Counter()
        for tally in counted.tallies:
            if tally.channel == name:
                states[tally.state] += tally.count
        settings = self._live.configuration.settings.channels.get(name)
        return ChannelTold(
            channel=name,
            kind="" if settings is None else settings.kind,
            up=problem is None and reported is None,
            problem=problem or reported,
            warning=warning,
            probed=probed,
            last_event_ms=load.last_event_ms,
            last_delivery_ms=load.last_delivery_ms,
            waiting=load.waiting,
            lag_s=_age_s(load.oldest_waiting_ms, now_ms),
            outbox_waiting=load.outbox_waiting,
            outbox_lag_s=_age_s(load.outbox_oldest_ms, now_ms),
            ended=sum(count for state, count in states.items() if state in _ENDED),
            failed=sum(count for state, count in states.items() if state in _FAILED),
            unknown_sends=round(self._metrics.value("clew_sends_total", channel=name, outcome="unknown")),
            limited=round(self._metrics.value("clew_rate_limit_wait_seconds_count", of="channel", who=name)),
            limited_s=self._metrics.value("clew_rate_limit_wait_seconds_sum", of="channel", who=name),
            left_behind=round(self._metrics.value("clew_updates_left_behind_total", channel=name)),
            failed_starts=round(self._metrics.value("clew_channel_starts_total", channel=name, outcome="failed")),
        )


def _age_s(since_ms: int | None, now_ms: int) -> float:
    return 0.0 if since_ms is None else max(0.0, (now_ms - since_ms) / 1000)
