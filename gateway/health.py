"""Whether this instance should get traffic: the store takes writes, the agents can be reached, the queue moves."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from adapters.base import Paced, Reports
from gateway.conditions import Condition
from gateway.errors import AgentFault, StoreBusy
from gateway.http import Readiness
from gateway.inbox.base import Inbox
from gateway.instances import unheld
from gateway.instances import warnings as of_instances
from gateway.leases import Instance, Leases
from gateway.live import Live, MadeAgent
from memory.base import Store
from memory.errors import StoreUnavailable
from memory.ids import now_ms

logger = logging.getLogger(__name__)

PROBE_S = 30.0
"""Seconds an agent's answer to a probe counts: readiness is asked every few seconds, a model's service should not be."""

PROBE_AGAIN_S = 5.0
"""Seconds after which one that was down is looked at again: it should get its traffic back soon."""


PASSED_OVER_S = 60.0
"""Seconds that a place of hot state which did not answer is spoken of: it is asked again only when somebody wants something."""


class PassedOver:
    """Remembers which places of what instances share did not answer lately."""

    def __init__(self, count: Callable[[str], None], *, clock_s: Callable[[], float] = time.monotonic) -> None:
        """`count` hears of each, too."""
        self._count = count
        self._clock_s = clock_s
        self._at: dict[str, float] = {}  # as many as there are places: two

    def __call__(self, place: str) -> None:
        """Hear that a place is left alone for a while."""
        self._count(place)
        self._at[place] = self._clock_s()

    @property
    def problem(self) -> str | None:
        """What to say of it; None: all have answered."""
        late = [place for place, at in self._at.items() if self._clock_s() - at < PASSED_OVER_S]
        return f"no answer within the last minute from: {', '.join(late)}; the next best place serves" if late else None


class Health:
    """Answers `/readyz`. An agent that is down makes the instance not ready only if it is the last one that works."""

    def __init__(
        self,
        *,
        store: Store,
        inbox: Inbox,
        live: Live,
        leases: Leases | None = None,
        timeout_s: float,
        embedder: Callable[[], str | None] = lambda: None,
        settings: Callable[[], str | None] = lambda: None,
        store_warning: str | None = None,
        probe: Callable[[], str | None] = lambda: None,
        shared: Callable[[], str | None] = lambda: None,
        clean_up: Callable[[], str | None] = lambda: None,
        unheld_s: float = 10.0,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`leases` know the other instances (None: nobody asks for them). `embedder` tells why recall is by words alone,
        `store_warning` what guards the store less than it might, `probe` why the gateway's own last message got no answer,
        `shared` what of hot state does not answer, `clean_up` why what is old stays; nobody is kept away for any of that. What
        nobody receives or sends is told after `unheld_s` seconds: a lease passes on in less."""
        self._warnings = {
            "store": lambda: store_warning,
            "embedder": embedder,
            "settings": settings,
            "probe": probe,
            "shared": shared,
            "clean-up": clean_up,
        }
        self._unheld_s = unheld_s
        self._clock_s = clock_s
        self._unheld: dict[str, float] = {}  # since when, by name; as many as there are channels, twice
        self._store = store
        self._inbox = inbox
        self._live = live
        self._leases = leases
        self._timeout_s = timeout_s
        self._probed: dict[str, tuple[float, MadeAgent, str]] = {}
        self._probing = asyncio.Lock()
        self.stopping = False

    async def check(self) -> Readiness:
        """Look at every part, all at once and each within `timeout_s`; an agent has its `connect_s` besides."""
        store, (queue, lag_s), found, (instances, others) = await asyncio.gather(
            self._store_state(), self._queue_state(), self._agents(), self._instances()
        )
        checks = {"store": store, "queue": queue}
        agents = {f"agent {name}": state for name, state in found.items()}
        channels, warnings = self._channels()
        warnings |= others | self._told()
        down = all(state != "ok" for state in agents.values())
        ready = not self.stopping and not down and checks["store"] == checks["queue"] == "ok"
        stopping = {"gateway": "stopping"} if self.stopping else {}
        parts = checks | agents | channels | stopping
        return Readiness(ready=ready, checks=parts, warnings=warnings, lag_s=lag_s, instances=instances)

    def condition(self) -> Condition:
        """Return what the other instances are told. Asks nobody: of agents, what the last look found."""
        channels, warnings = self._channels()
        agents = {f"agent {name}": state for name, (_, _, state) in self._probed.items()}
        down = {part: state for part, state in (agents | channels).items() if state != "ok"}
        return Condition(stopping=self.stopping, problems=down | self._told() | warnings)

    def wanted(self) -> frozenset[str]:
        """Return the names of the leases that an instance should hold for the channels. Asks nobody."""
        paced = (name for name in self._live.channels() if isinstance(self._live.made(name), Paced))
        return frozenset({f"channel:{name}" for name in self.receiving()} | {f"send:{name}" for name in paced})

    def _told(self) -> dict[str, str]:
        return {part: problem for part, ask in self._warnings.items() if (problem := ask()) is not None}

    def channels_up(self) -> dict[str, bool]:
        """Return every channel's name and whether it runs and sees no problem. Asks nobody."""
        return {part.removeprefix("channel "): state == "ok" for part, state in self._channels()[0].items()}

    def receiving(self) -> dict[str, bool]:
        """Return the channels that only some instances receive, and whether this one does. Asks nobody."""
        return self._live.receiving()

    def _channels(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return how each channel is, and what it warns of."""
        states: dict[str, str] = {}
        warnings: dict[str, str] = {}
        for name, failure in self._live.channels().items():
            adapter, part = self._live.adapter(name), f"channel {name}"
            states[part] = failure or "ok"
            if adapter is not None and isinstance(adapter, Reports):
                states[part] = adapter.problem or "ok"
                if adapter.warning is not None:
                    warnings[part] = adapter.warning
        return states, warnings

    async def _store_state(self) -> str:
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._store.ping()
        except (StoreUnavailable, TimeoutError) as fault:
            return str(fault) or "no answer in time"
        return "ok"

    async def _queue_state(self) -> tuple[str, float | None]:
        """Return how the queue is, and the age of what waits longest."""
        try:
            oldest = (await self._inbox.stats()).oldest_waiting_ms
        except StoreBusy as fault:
            return str(fault), None
        return "ok", None if oldest is None else max(0, now_ms() - oldest) / 1000

    async def _instances(self) -> tuple[int | None, dict[str, str]]:
        """Return how many gateways run, and what is to be said of them; None: nobody can be asked now."""
        if self._leases is None:
            return None, {}
        try:
            instances = await self._leases.instances()
        except StoreBusy:
            return None, {}
        told = of_instances(instances, skew_s=self._leases.skew_s)
        if nobodys := self._nobodys(instances):
            told["leases"] = (
                f"no instance holds {', '.join(sorted(nobodys))}; its log says why, or that of the last one"
            )
        return len(instances), told

    def _nobodys(self, instances: Sequence[Instance]) -> list[str]:
        now = self._clock_s()
        self._unheld = {name: self._unheld.get(name, now) for name in unheld(self.wanted(), instances)}
        return [name for name, since in self._unheld.items() if now - since >= self._unheld_s]

    async def _agents(self) -> dict[str, str]:
        agents = self._live.agents()
        async with self._probing:
            states = await asyncio.gather(*(self._agent(name, made) for name, made in agents.items()))
            self._probed = {name: self._probed[name] for name in agents if name in self._probed}
        return dict(zip(agents, states, strict=True))

    async def _agent(self, name: str, made: MadeAgent) -> str:
        until, probed, state = self._probed.get(name, (0.0, None, ""))
        if probed is made and time.monotonic() < until:
            return state
        try:
            async with asyncio.timeout(self._timeout_s + made.settings.connect_s):
                await made.agent.probe()
            state = "ok"
        except (AgentFault, TimeoutError) as fault:
            state = str(fault) or "no answer in time"
        except Exception as exc:
            # A fault of the agent's own code takes neither the other answers nor the gateway with it.
            logger.exception("probe broke off", extra={"agent": name})
            state = f"the probe broke off ({type(exc).__name__}); the log tells more"
        self._probed[name] = (time.monotonic() + (PROBE_S if state == "ok" else PROBE_AGAIN_S), made, state)
        return state
