"""What humans write in an agent's stead: stored as replies under their names, so that the agent later knows who said it; and
what they read and leave when they take a conversation over and hand it back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from memory.base import HANDED_BACK, AgentChange, Load, Message, NewMessage, Owner, SessionRule, Step, Store
from memory.errors import ModelFailed, ScopeMoved, StoreUnavailable
from memory.ids import session_id
from memory.key import ConversationKey, Scope
from memory.models import SmallModel
from memory.names import Names
from memory.tokens import estimate

if TYPE_CHECKING:  # it brings what numbers of persons look like, half a second of expressions
    from memory.summary import Summarising

READ = 60
"""Messages that a draft of a summary looks at."""


class HumanReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a human wrote in the agent's stead, to what `key`'s user said last, in the turn `turn_id`. `event_id` makes it
    repeatable. `for_agent`: the agent alone is to see it."""

    key: ConversationKey
    turn_id: int
    event_id: int
    text: str
    name: str
    person_id: int | None = None
    for_agent: bool = False


class HumanTalk:
    """Beside `memory.service.Memory`, on the same store. Whatever names a scope may be its first sight, so `agent_change` (the
    room's setting) is asked for."""

    def __init__(self, store: Store, *, names: Names, clock: Callable[[], int]) -> None:
        """`clock` gives milliseconds since 1970, UTC."""
        self._store = store
        self._names = names
        self._clock = clock

    async def append(
        self, scope: Scope, said: HumanReply, *, idle_ms: int, fence: int, agent_change: AgentChange
    ) -> Message:
        """Store the reply: from then on it is in the window. Repeatable: the first one stored stands. Raises
        `memory.errors.MemoryFault`; `ScopeMoved` among them says that it belongs to another lane."""
        named = await self._names.find(scope, agent_change=agent_change)
        try:
            (message,) = await self._store.append(
                named.id,
                [row_of(said)],
                turn_id=said.turn_id,
                session=SessionRule(fresh_id=session_id(), idle_ms=idle_ms),
                now_ms=self._clock(),
                fence=fence,
            )
        except ScopeMoved:
            self._names.forget()
            raise
        return message

    async def recent(self, scope: Scope, *, agent_change: AgentChange, most: int) -> tuple[Message, ...]:
        """Return the last messages of the scope's running session, oldest first. Raises `StoreUnavailable`."""
        loaded = await self._store.load(await self._wish(scope, agent_change, most))
        if "window" in loaded.failed:
            raise StoreUnavailable("the conversation can't be read now; try again")
        return loaded.window

    async def steps(self, scope: Scope, turn_id: int, *, agent_change: AgentChange) -> tuple[Step, ...]:
        """Return the steps of the agent's stored reply in a turn; none where it has no reply. Raises `StoreUnavailable`."""
        rows = await self._store.turn_messages(await self._owner(scope, agent_change), turn_id)
        return next((row.steps for row in rows if row.role == "assistant" and not row.speaker_name), ())

    async def failed(self, turn_id: int) -> bool:
        """Whether an agent was asked in a turn and gave no answer, as far as that is on record. Raises `StoreUnavailable`."""
        ledger = await self._store.ledger(turn_id)
        return ledger is not None and bool(ledger.calls) and bool(ledger.calls[-1].code)

    async def draft_summary(
        self, scope: Scope, model: SmallModel, rules: Summarising, *, agent_change: AgentChange
    ) -> str:
        """Return what the model makes of the running session: its last `READ` messages, and what was summarised before. A draft
        for a human. Raises `StoreUnavailable`, and `ModelFailed`, also where nothing was said."""
        from memory.summary import condensed

        loaded = await self._store.load(await self._wish(scope, agent_change, READ))
        if not loaded.window:
            raise ModelFailed("nothing was said in this session that could be summarised")
        return await condensed(loaded.summary, loaded.window, rules, model)

    async def _wish(self, scope: Scope, agent_change: AgentChange, most: int) -> Load:
        return Load(owner=await self._owner(scope, agent_change), now_ms=self._clock(), page=most)

    async def _owner(self, scope: Scope, agent_change: AgentChange) -> Owner:
        named = await self._names.find(scope, agent_change=agent_change)
        return Owner(scope_id=named.id, person_id=None, namespace="", chat_type=scope.chat_type)


def row_of(said: HumanReply) -> NewMessage:
    """Return the reply as it is stored. Pure."""
    return NewMessage(
        key=said.key,
        event_id=said.event_id,
        role="assistant",
        text=said.text,
        speaker_name=said.name,
        person_id=said.person_id,
        tokens=estimate(said.text),
        steps=(Step(name=HANDED_BACK),) if said.for_agent else (),
    )
