"""What is shown of the running gateway, to who starts it and to who asks over HTTP."""

from __future__ import annotations

import logging

from adapters.problems import unavailable
from config.settings import Settings
from gateway.errors import StoreBusy
from gateway.health import Health
from gateway.http import HttpChannel
from gateway.inbox.base import Inbox
from gateway.leases import Leases
from gateway.live import Live
from gateway.metrics import LOST_S, Metrics
from gateway.senders import Senders
from memory.ids import now_ms

logger = logging.getLogger(__name__)


def ready_line(settings: Settings, *, port: int, live: Live) -> str:
    """Return the line that says where the gateway is and what answers by default."""
    agents = live.agents()
    answering = agents.get(settings.defaults.agent) or next(iter(agents.values()))
    return f"Clew is ready: {address(settings.server.host, port)}/ (agent: {answering.kind})"


def address(host: str, port: int) -> str:
    """Return the URL under which this machine reaches what listens on `host`."""
    shown = "127.0.0.1" if host in ("0.0.0.0", "::", "") else f"[{host}]" if ":" in host else host  # noqa: S104
    return f"http://{shown}:{port}"


async def look_once(health: Health) -> None:
    """Look at every part after the start: what is wrong is said before the first person meets it, and what an agent loads
    late is loaded by then."""
    readiness = await health.check()
    for part, state in readiness.checks.items():
        if state != "ok":
            logger.warning("not in order", extra={"part": part, "reason": state})


async def rendered(metrics: Metrics, inbox: Inbox, health: Health, leases: Leases, senders: Senders) -> bytes:
    """Return the metrics' text with the queue's numbers of this moment (of the last one, if it can't be asked now)."""
    metrics.sample_live(health.channels_up(), now_ms=now_ms())
    metrics.sample_instances(health.receiving(), senders.sending(), live=leases.live, skew_s=leases.skew_s)
    try:
        metrics.sample(await inbox.stats(), now_ms=now_ms())
        gone = await leases.departed(since_ms=now_ms() - round(LOST_S * 1000))
        metrics.sample_lost(sum(one.lost for one in gone))
    except StoreBusy:
        logger.warning("queue not sampled", exc_info=True)
    return metrics.render()


def http_channel(live: Live, name: str) -> HttpChannel | None:
    """Return the channel's adapter if it takes HTTP requests. Raises `Problem` (503) while it does not run."""
    made = live.made(name)
    if made is None or not isinstance(made, HttpChannel):
        return None
    if live.adapter(name) is None:
        detail = f"channel {name!r} does not run now; it is started again by itself, and /readyz tells why it stopped"
        raise unavailable(detail, retry_after_s=live.back_s(name) or 0)
    return made
