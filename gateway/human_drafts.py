"""The model that drafts a summary for whoever hands a conversation back: memory's own, where there is one, on its account."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from config.channels.base import RoomSettings
from gateway.admin.takeovers import Takeover
from gateway.live import Live
from gateway.metrics import Metrics
from gateway.routing import Route
from gateway.small_model import AgentModel, model_name
from gateway.usage.enforcing import Quotas
from gateway.usage.spending import Spending
from memory.base import Ledger, Store
from memory.humans import HumanTalk

LATE = 20
"""Messages among which a turn with a ledger is looked for."""


class Drafts:
    """Finds it."""

    def __init__(
        self,
        *,
        store: Store,
        talk: HumanTalk,
        live: Live,
        metrics: Metrics,
        quotas: Quotas,
        spending: Spending,
        model_s: Callable[[], float],
    ) -> None:
        """`model_s` gives the seconds that it may take."""
        self._store = store
        self._talk = talk
        self._live = live
        self._metrics = metrics
        self._quotas = quotas
        self._spending = spending
        self._model_s = model_s

    async def model(self, of: Takeover, route: Route, room: RoomSettings) -> AgentModel | None:
        """Return the model; None: rules alone here, its quota is used up, or no late turn of the conversation has a ledger: what
        is spent is noted by one. Raises `memory.errors.StoreUnavailable`."""
        name = model_name(room, route.agent, self._live.agents())
        ledger = None if name is None else await self._ledger(of, route, room)
        if name is None or ledger is None or await self._quotas.agent_used_up(name):
            return None
        spent = partial(self._spending.remembered, ledger=ledger, agent=name)
        return AgentModel(name, live=self._live, metrics=self._metrics, timeout_s=self._model_s(), spent=spent)

    async def _ledger(self, of: Takeover, route: Route, room: RoomSettings) -> Ledger | None:
        """Return that of the last turn that has one: a command has none."""
        rows = await self._talk.recent(route.memory_scope(), agent_change=room.agent_change, most=LATE)
        for turn_id in dict.fromkeys((of.turn_id, *(row.turn_id for row in reversed(rows)))):
            if (ledger := await self._store.ledger(turn_id)) is not None:
                return ledger
        return None
