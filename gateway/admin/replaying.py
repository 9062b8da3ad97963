"""A turn's prompt under other settings, beside the one of then."""

from __future__ import annotations

from collections.abc import Callable

from config.loader import Configuration
from gateway.admin.acts.turns import REPLAY, PromptMessageTold, PromptShown, ReplayAsked, ReplayTold
from gateway.admin.operations import Acting, FieldProblem, Handlers, Invalid
from gateway.admin.seen import admit, missing, number
from gateway.admin.service import Admin
from gateway.errors import BadRequest
from gateway.inbox.base import Inbox
from memory.base import Context


class ReplayActs:
    """Makes prompts again; asks no agent."""

    def __init__(self, *, admin: Admin, inbox: Inbox, configuration: Callable[[], Configuration]) -> None:
        self._admin = admin
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


def _shown(context: Context) -> PromptShown:
    messages = tuple(PromptMessageTold(role=message.role, text=message.text) for message in context.messages)
    return PromptShown(tokens=context.tokens, system=context.system, messages=messages)
