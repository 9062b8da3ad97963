"""A turn's prompt under other settings, beside the one of then."""

from __future__ import annotations

from collections.abc import Callable

from config.loader import Configuration
from gateway.admin.acts.turns import REPLAY, PromptMessageTold, PromptShown, ReplayAsked, ReplayTold
from gateway.admin.operations import Acting, FieldProblem, Handlers, Invalid
from gateway.admin.seen import admit, missing, number
from gateway.admin.service import Admin
from gateway.admin.trace_told import elsewhere
from gateway.errors import BadRequest
from gateway.inbox.base import Inbox
from memory.base import Context, Store


class ReplayActs:
    """Makes prompts again; asks no agent."""

    def __init__(self, *, admin: Admin, store: Store, inbox: Inbox, configuration: Callable[[], Configuration]) -> None:
        self._admin = admin
        self._store = store
        self._inbox = inbox
        self._configuration = configuration

    def handlers(self) -> Handlers:
        return {REPLAY: self.replay}

    async def replay(self, acting: Acting, asked: ReplayAsked) -> ReplayTold:
        what = f"turn {asked.turn}"
        event = await self._inbox.event(number(asked.turn, "turn"))
        if event is None:
            raise missing(what)
        admit(acting, event.channel, what)
        acting.note(turn=asked.turn, settings=asked.settings, changes=len(asked.changes))
        await self._hold_back(acting, event.turn_id)
        under = self._configuration() if asked.settings == "now" else None
        try:
            made = await self._admin.replay(event.turn_id, asked.changes, under=under)
        except BadRequest as fault:
            problem = FieldProblem(
                path="changes", value="", problem=str(fault), remedy="write PATH=VALUE as the settings have it"
            )
            raise Invalid(str(fault), problems=(problem,)) from fault
        if made is None:
            raise missing(f"record of a prompt for {what}: no agent was asked, or its message is gone")
        return ReplayTold(
            turn=asked.turn,
            identical=made.identical,
            then=None if made.then is None else _shown(made.then),
            now=_shown(made.context),
            difference=made.difference,
        )

    async def _hold_back(self, acting: Acting, turn_id: int) -> None:
        """Raise `Refused` where the prompt may hold what was said in a channel that the actor does not hold."""
        ledger = None if acting.may("read") else await self._store.ledger(turn_id)
        if ledger is not None and any(elsewhere(one.section, one.ids, ledger.scope_id) for one in ledger.entries):
            acting.require(None)


def _shown(context: Context) -> PromptShown:
    messages = tuple(PromptMessageTold(role=message.role, text=message.text) for message in context.messages)
    return PromptShown(tokens=context.tokens, system=context.system, messages=messages)
