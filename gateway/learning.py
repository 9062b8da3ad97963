"""Learns from turns after their replies: off the answer path, durably, in turn order for each scope.

The queue is the store's (`memory.derived.Derived`); here are the tasks that work it off, their times, and what a turn is
learned by: the settings of its place as they are now. A scope is one task's at a time, here and on every other instance.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from config.channels.base import RoomSettings
from config.settings import LearningSettings
from gateway.live import Live
from gateway.metrics import Metrics
from gateway.policy import place_of_ledger
from gateway.small_model import AgentModel, model_name
from gateway.traces import OFF, Traces
from gateway.usage.enforcing import Quotas
from gateway.usage.spending import Spending
from memory.base import Ledger
from memory.derived import Derived, Due
from memory.errors import ModelFailed, StoreUnavailable
from memory.ids import Ids
from memory.models import SmallModel

logger = logging.getLogger(__name__)

MAX_WAIT_S = 600.0
RESTS = 9
"""Times as long as a look at the queue took until the next one. It costs the database more the more conversations wait (51 ms at
5,000), and each reply would ask for one: while a model is away that would be all the database does."""
MAX_REST_S = 10.0


def _prepare() -> None:
    """Import what turns are learned by. To compile its expressions takes longer than the rest of a start, so it waits for the
    first turn, and the event loop does not wait for it."""
    import memory.learning
    import memory.summary  # noqa: F401


class Learner:
    """Works off the turns that are due. `owner` is this process's name among those on the same store."""

    def __init__(
        self,
        derived: Derived,
        *,
        live: Live,
        metrics: Metrics,
        quotas: Quotas,
        spending: Spending,
        ids: Ids,
        owner: str,
        poll_s: float,
        clock: Callable[[], int],
        learned: Callable[[], None] = lambda: None,
        traces: Traces = OFF,
    ) -> None:
        """`poll_s`: how often the store is asked for what others left, when nothing here tells of it. `learned` hears that
        something was stored."""
        self._derived = derived
        self._live = live
        self._metrics = metrics
        self._quotas = quotas
        self._spending = spending
        self._ids = ids
        self._owner = owner
        self._poll_s = poll_s
        self._clock = clock
        self._noted = learned
        self._traces = traces
        self._wake = asyncio.Event()
        self._running = 0
        self._failing: set[str] = (
            set()
        )  # agents whose model failed at every try: asked once a turn until it answers again

    def wake(self) -> None:
        """Look at the queue: a reply was stored, or a message changed."""
        self._wake.set()

    async def run(self) -> None:
        """Work for as long as the gateway runs. Looking at the queue takes a tenth of the time at most."""
        clock = asyncio.get_running_loop().time
        async with asyncio.TaskGroup() as tasks:
            while True:
                began = clock()
                self._wake.clear()
                try:
                    wait_s = await self._begin(tasks)
                except StoreUnavailable:
                    logger.warning("learning put off: the store is away", exc_info=True)
                    wait_s = self._poll_s
                except Exception:
                    # A ledger of another release, perhaps. Answers do without what is not learned, so the gateway lives on.
                    logger.exception("what is due to be learned can't be read")
                    wait_s = MAX_WAIT_S
                await asyncio.sleep(min(RESTS * (clock() - began), MAX_REST_S))
                try:
                    async with asyncio.timeout(wait_s):
                        await self._wake.wait()
                except TimeoutError:
                    pass

    async def _begin(self, tasks: asyncio.TaskGroup) -> float:
        """Start what is due, as far as there are tasks; return after how many seconds to look again."""
        settings = self._settings
        free = settings.tasks - self._running
        if free > 0:
            now = self._clock()
            for due in await self._derived.claim(
                owner=self._owner, now_ms=now, lease_ms=int(settings.lease_s * 1000), limit=free
            ):
                self._running += 1
                tasks.create_task(self._work(due), name="learning")
        if self._running >= settings.tasks:
            return MAX_WAIT_S  # the first that ends wakes
        next_ms = await self._derived.next_due()
        if next_ms is None:
            return MAX_WAIT_S if self._running else self._poll_s * 60
        return min(max((next_ms - self._clock()) / 1000, self._poll_s), MAX_WAIT_S)

    async def _work(self, due: Due) -> None:
        """Learn from one turn, then summarise its session if that is due, then give the scope back."""
        ledger, scope_id = due.ledger, due.ledger.scope_id
        try:
            with self._traces.span("learn", turn=ledger.turn_id, scope=scope_id):
                await self._learn(due)
        except StoreUnavailable:
            logger.warning("learning put off: the store is away", exc_info=True)
            await asyncio.sleep(self._poll_s)  # nothing tells when it is back, and the model costs at every try
        except Exception:
            # One turn that nobody can learn from must not hold back those behind it, nor end the rest.
            logger.exception("learning failed", extra={"turn": ledger.turn_id, "scope": scope_id})
            await self._failed(due)
        finally:
            self._running -= 1
            await self._release(scope_id)
            self._wake.set()

    async def _learn(self, due: Due) -> None:
        ledger = due.ledger
        # Well before the lease ends: whoever takes over then must find nobody at work.
        async with asyncio.timeout(self._settings.lease_s * 0.8):
            await asyncio.to_thread(_prepare)
            room = place_of_ledger(ledger, self._live.configuration)
            model = await self._model(ledger, room)
            if await self._learned(due, room, model) and model is not None and room.memory.summary.enabled:
                await self._summarised(ledger, room, model)

    async def _learned(self, due: Due, room: RoomSettings, model: AgentModel | None) -> bool:
        """Return whether the turn is done with. The tries of a model that is away are one turn's, not each one's: they would
        hold up those behind it for longer than people take to write them."""
        from memory.learning import Learning, learn

        ledger, facts = due.ledger, room.memory.facts
        learning = Learning(
            namespace=self._namespace(ledger),
            facts_ttl_ms=int(facts.ttl_s * 1000),
            emails=facts.emails,
            enabled=facts.enabled and ledger.agent in self._live.configuration.settings.agents,
        )
        name = "" if model is None else model.name
        last_try = due.tries + 1 >= self._settings.tries or name in self._failing
        try:
            outcome = await learn(self._derived, ledger, learning, model, last_try=last_try)
        except ModelFailed as failed:
            logger.warning("memory's model failed", extra={"turn": ledger.turn_id, "reason": str(failed)})
            await self._put_off(due)
            return False
        if outcome.model == "failed":
            self._failing.add(name)
        elif outcome.model == "answered":
            self._failing.discard(name)
        self._metrics.learning_ended(work="turn", outcome="done" if outcome.settled else "stale")
        if outcome.settled:
            self._noted()
        return outcome.settled

    async def _summarised(self, ledger: Ledger, room: RoomSettings, model: SmallModel) -> None:
        from memory.summary import Summarising, summarise

        memory = room.memory
        rules = Summarising(
            start_turns=memory.summary.start_turns,
            start_tokens=memory.summary.start_tokens,
            max_chars=memory.summary.max_chars,
            keep_turns=memory.window.turns,
            language=ledger.frame.language,
            group=ledger.frame.chat_type == "group",
        )
        try:
            stored = await summarise(
                self._derived,
                ledger.scope_id,
                ledger.session_id,
                rules,
                model,
                ids=self._ids,
                owner=self._owner,
                clock=self._clock,
            )
        except ModelFailed as failed:
            # Nothing was changed; the next reply makes it due again.
            logger.warning("no summary was made", extra={"scope": ledger.scope_id, "reason": str(failed)})
            self._metrics.learning_ended(work="summary", outcome="failed")
        else:
            for _ in range(stored):
                self._metrics.learning_ended(work="summary", outcome="done")

    async def _failed(self, due: Due) -> None:
        if due.tries + 1 < self._settings.tries:
            await self._put_off(due)
            return
        from memory.learning import give_up

        try:
            await give_up(self._derived, due.ledger)
        except Exception:
            logger.exception("learning could not be given up", extra={"turn": due.ledger.turn_id})
            await self._put_off(due)
        else:
            self._metrics.learning_ended(work="turn", outcome="failed")

    async def _put_off(self, due: Due) -> None:
        settings = self._settings
        wait_s = min(settings.wait_s * 2 ** min(due.tries, 30), MAX_WAIT_S)
        try:
            await self._derived.put_off(due.ledger.turn_id, due_ms=self._clock() + int(wait_s * 1000))
        except Exception:
            logger.warning("learning could not be put off", exc_info=True)  # its lease ends, and it comes again
        self._metrics.learning_ended(work="turn", outcome="put_off")

    async def _release(self, scope_id: int) -> None:
        try:
            await self._derived.release(scope_id, owner=self._owner)
        except Exception:  # its lease ends
            logger.warning("a scope could not be given back", exc_info=True, extra={"scope": scope_id})

    async def _model(self, ledger: Ledger, room: RoomSettings) -> AgentModel | None:
        """Return the model to ask. None: none, or its quota is used up; then rules alone learn."""
        name = model_name(room, ledger.agent, self._live.agents())
        if name is None or await self._quotas.agent_used_up(name):
            return None
        return AgentModel(
            name,
            live=self._live,
            metrics=self._metrics,
            timeout_s=self._settings.model_s,
            spent=partial(self._spending.remembered, ledger=ledger, agent=name),
        )

    def _namespace(self, ledger: Ledger) -> str:
        agent = self._live.configuration.settings.agents.get(ledger.agent)
        return "" if agent is None else agent.profile_namespace

    @property
    def _settings(self) -> LearningSettings:
        return self._live.configuration.settings.learning
