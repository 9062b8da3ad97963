"""Reads beyond a turn's one: a look back where small talk might be an answer, and older pages where a window is not full."""

from __future__ import annotations

import logging

import msgspec

from memory.base import Load, Loaded, Owner, Store
from memory.errors import UNREADABLE
from memory.fillers import asks_question, is_low_value
from memory.policy import Policy
from memory.turn import Incoming, TurnRequest, is_full, page_size

logger = logging.getLogger(__name__)

_LOOK_BACK = 10  # messages among which the last reply is looked for


async def question_pending(store: Store, owner: Owner, turn: TurnRequest, *, now_ms: int) -> bool:
    """Say whether a filler in the turn would answer something: the reply before it, or the very message it replies to.
    Looked up only where one is said: most messages are none. In doubt yes: a filler kept too many loses nothing."""
    extra = turn.policy.fillers
    fillers = [said for said in turn.messages if is_low_value(said.text, pending_question=False, extra=extra)]
    if not fillers:
        return False
    if any(_answers_one(said) for said in fillers):
        return True
    try:
        loaded = await store.load(Load(owner=owner, now_ms=now_ms, page=_LOOK_BACK))
    except UNREADABLE:
        return True
    replies = [row for row in loaded.window if row.role == "assistant"]
    return "window" in loaded.failed or bool(replies and asks_question(replies[-1].text))


def _answers_one(said: Incoming) -> bool:
    """Say whether a message replies to a certain other one that may have asked something."""
    if said.quote is not None and said.quote.by_bot:
        return asks_question(said.quote.text)
    return said.quote is not None or said.reply_to is not None


async def filled(store: Store, owner: Owner, loaded: Loaded, policy: Policy) -> Loaded:
    """Read older pages while fillers leave the window unfilled, within the candidates allowed. A page that cannot be read
    is logged and named in `failed`; what was there stays."""
    window, more = loaded.window, loaded.more
    while more and window and len(window) < policy.candidates and not is_full(window, policy):
        limit = min(policy.candidates - len(window), page_size(policy))
        try:
            page = await store.older(owner, session_id=loaded.session_id, before_id=window[0].id, limit=limit)
        except UNREADABLE:
            logger.exception("older messages could not be read", extra={"scope": owner.scope_id})
            return msgspec.structs.replace(loaded, window=window, failed=(*loaded.failed, "window"))
        window, more = page + window, len(page) == limit
    return loaded if window is loaded.window else msgspec.structs.replace(loaded, window=window, more=more)
