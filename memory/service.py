"""The memory facade: what the gateway calls. It hides stores, scopes' ids, summaries and counts (A04 to A07).

A turn is `load_and_append`, then the agent, then `append`. The append is the law and raises; whatever of the load fails costs
that part of that prompt and is named in the ledger, never the answer (A27 to A31).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from memory.base import AgentChange, Call, Ledger, Load, Loaded, Message, Owner, SessionRule
from memory.choosing import UNKNOWN, Near, Query, asked, chosen
from memory.derived import FullStore
from memory.errors import ScopeMoved, StoreUnavailable
from memory.ids import now_ms, session_id
from memory.key import ConversationKey, Scope
from memory.names import Names
from memory.policy import Policy
from memory.reading import filled, question_pending
from memory.replay import Explanation, Replay, explained, replayed
from memory.tokens import MESSAGE_OVERHEAD, Tokenizers, estimate, needs_o200k
from memory.turn import (
    Incoming,
    Prepared,
    Reply,
    TurnRequest,
    again,
    asker_of,
    closed,
    inputs_of,
    load_of,
    owner_of,
    prepared_of,
    reply_row,
    said_row,
)

if TYPE_CHECKING:
    from memory.meaning import Meaning

logger = logging.getLogger(__name__)

_PERSONAL = ("pinned", "profile", "recalled", "meaning")

KEEP_OBSERVED = 200
"""Background messages kept for a scope: the most that a room may show, so that replays find what was shown."""


class Memory:
    """Memory of all scopes on one store. Safe for many turns at once; the caller runs one turn of a scope at a time: `names`
    tells which names are of one scope.

    Whatever names a scope may be its first sight, so `agent_change` (the room's setting) is asked for wherever one may be
    opened. An edit and a deletion open none.
    """

    def __init__(
        self,
        store: FullStore,
        *,
        tokenizers: Tokenizers,
        clock: Callable[[], int] = now_ms,
        due: Callable[[], None] = lambda: None,
        meaning: Meaning | None = None,
    ) -> None:
        """`clock` gives milliseconds since 1970, UTC. `due` hears that a turn is there to be learned from. `meaning` None: recall
        is by words alone."""
        self._store = store
        self._due = due
        self._meaning = meaning
        self._tokenizers = tokenizers
        self._clock = clock
        self.names = Names(store, clock=clock)

    async def load_and_append(self, turn: TurnRequest) -> Prepared:
        """Store what was said and return the prompt that answers it. Repeating it for the same turn stores nothing twice.

        Raises `memory.errors.MemoryFault` when the messages can't be stored; nothing was answered then. `ScopeMoved` among
        them says that the turn belongs to another lane: ask `names` again.
        """
        started = time.perf_counter()
        now = self._clock()
        scope_id = await self._scope_id(turn.scope, agent_change=turn.agent_change)
        owner = owner_of(turn, scope_id)
        pending = await question_pending(self._store, owner, turn, now_ms=now)
        texts = [said.text for said in turn.messages]
        query = asked(texts, owner.person_id, now_ms=now)
        try:
            loaded = await self._store.append_and_load(
                scope_id,
                [said_row(said, turn.policy, pending=pending) for said in turn.messages],
                load_of(owner, turn.policy, now_ms=now, terms=tuple(query)),
                turn_id=turn.turn_id,
                session=SessionRule(fresh_id=session_id(), idle_ms=turn.policy.idle_ms, asked=turn.asked_session),
                fence=turn.fence,
            )
        except ScopeMoved:
            self.names.forget()
            raise
        loaded = await filled(self._store, owner, loaded, turn.policy)
        loaded = await self._chosen(owner, loaded, turn, query, texts, now_ms=now)
        tokenizer = self._tokenizers.pick(turn.policy.tokenizer, turn.policy.model)
        prepared = prepared_of(turn, inputs_of(turn, owner, loaded, now_ms=now, tokenizer=tokenizer))
        _log_load(owner, loaded, prepared.ledger, seconds=time.perf_counter() - started)
        if loaded.appended[0].created_ms == now:
            return prepared
        return msgspec.structs.replace(prepared, stored_reply=await self._stored_reply(owner, turn.turn_id))

    async def load(self, scope: Scope, *, person_id: int | None, policy: Policy, agent_change: AgentChange) -> Loaded:
        """Return what memory holds for a scope now, without a turn. All parts failing is logged and gives an empty one."""
        now = self._clock()
        try:
            scope_id = await self._scope_id(scope, agent_change=agent_change)
            owner = Owner(
                scope_id=scope_id,
                person_id=person_id,
                namespace=policy.namespace,
                chat_type=scope.chat_type,
                private_in_group=policy.private_in_group,
            )
            return await filled(self._store, owner, await self._store.load(load_of(owner, policy, now_ms=now)), policy)
        except StoreUnavailable:
            logger.exception("memory could not be read", extra={"scope": str(scope)})
            return Loaded(failed=("window", "observed", "summary", "facts", "pinned", "profile", "recalled", "carried"))

    def shortened(self, prepared: Prepared) -> Prepared:
        """Return the turn with a prompt of half the length, after the model refused this one as too long; the ledger says so."""
        inputs = prepared.inputs
        frame = msgspec.structs.replace(inputs.frame, limit_tokens=max(1, prepared.context.tokens // 2))
        notes = (*inputs.notes, "context refused: trimmed harder once")
        return again(prepared, msgspec.structs.replace(inputs, frame=frame, notes=notes))

    async def handed_over(self, prepared: Prepared, *, policy: Policy, revision: str) -> Prepared:
        """Return the turn with the prompt of another agent (a fallback), by its policy under the settings of `revision`; the
        ledger says so. What is known of the person is what that agent may know: its namespace's."""
        inputs = prepared.inputs
        frame = msgspec.structs.replace(
            inputs.frame, model=policy.model, reports_lookups=policy.reports_lookups, limit_tokens=None
        )
        changed = msgspec.structs.replace(
            inputs,
            policy=policy,
            revision=revision,
            frame=frame,
            loaded=await self._known_to(prepared, policy),
            tokenizer=self._tokenizers.pick(policy.tokenizer, policy.model),
            notes=(*inputs.notes, f"answered by {policy.agent}"),
        )
        return again(prepared, changed)

    async def _known_to(self, prepared: Prepared, policy: Policy) -> Loaded:
        """Return what was loaded, with the profile that the policy's agent may read."""
        inputs, loaded = prepared.inputs, prepared.inputs.loaded
        rights = ("namespace", "private_in_group")
        if all(getattr(policy, right) == getattr(inputs.policy, right) for right in rights):
            return loaded
        turn = msgspec.structs.replace(prepared.turn, policy=policy)
        owner = owner_of(turn, inputs.scope_id)
        texts = [said.text for said in turn.messages]
        query = asked(texts, owner.person_id, now_ms=inputs.now_ms)
        wish = Load(owner=owner, now_ms=inputs.now_ms, page=1, terms=tuple(query))
        try:
            read = await self._store.load(wish, session_id=loaded.session_id)
            read = msgspec.structs.replace(read, window=loaded.window, appended=loaded.appended)
            other = await self._chosen(owner, read, turn, query, texts, now_ms=inputs.now_ms)
        except StoreUnavailable:
            logger.exception("profile could not be read", extra={"turn": inputs.turn_id})
            other = Loaded(failed=_PERSONAL)
        failed = (part for part in other.failed if part in _PERSONAL)
        kept = (part for part in loaded.failed if part not in _PERSONAL)
        return msgspec.structs.replace(
            loaded,
            pinned=other.pinned,
            profile=other.profile,
            recalled=other.recalled,
            claims=other.claims,
            failed=(*kept, *failed),
        )

    async def _chosen(
        self, owner: Owner, loaded: Loaded, turn: TurnRequest, query: Query, texts: Sequence[str], *, now_ms: int
    ) -> Loaded:
        near: Near | None = UNKNOWN
        if self._meaning is not None:
            near = await self._meaning.near(owner, "\n".join(texts), loaded.corpus, asker=asker_of(turn))
        if near is None:
            loaded = msgspec.structs.replace(loaded, failed=(*loaded.failed, "meaning"))
        return await chosen(self._store.derived, owner, loaded, turn.policy, query, near or UNKNOWN, now_ms=now_ms)

    async def append(self, prepared: Prepared, reply: Reply, *, fence: int, notes: Sequence[str] = ()) -> Message:
        """Store the reply and the turn's ledger, in one transaction, and return the reply as stored.

        Repeatable: the first one stored stands. Raises `memory.errors.MemoryFault`.
        """
        turn = prepared.turn
        (message,) = await self._store.append(
            prepared.ledger.scope_id,
            [reply_row(turn, reply)],
            turn_id=turn.turn_id,
            session=SessionRule(fresh_id=session_id(), idle_ms=turn.policy.idle_ms),
            now_ms=self._clock(),
            fence=fence,
            ledger=closed(prepared.ledger, reply.usage, notes, reply.calls),
        )
        self._due()
        self._calibrate(prepared, reply.usage.get("prompt", 0))
        return message

    async def record(
        self,
        prepared: Prepared,
        *,
        usage: dict[str, int] | None = None,
        notes: Sequence[str] = (),
        calls: Sequence[Call] = (),
    ) -> None:
        """Store the ledger of a turn that got no reply. A store that is away is logged only; raises `Fenced`, `PersonErased`
        and `UnknownScope`."""
        try:
            ledger = closed(prepared.ledger, usage or {}, notes, calls)
            await self._store.save_ledger(ledger, fence=prepared.turn.fence)
            self._due()
        except StoreUnavailable:
            logger.exception("ledger not stored", extra={"turn": prepared.turn.turn_id})

    async def observe(self, scope: Scope, said: Incoming, *, agent_change: AgentChange) -> None:
        """Keep group talk that nobody asked to answer, as background."""
        await self._store.observe(
            await self._scope_id(scope, agent_change=agent_change),
            said.key,
            event_id=said.event_id,
            text=said.text,
            speaker_name=said.speaker_name,
            tokens=estimate(said.text),
            now_ms=self._clock(),
            keep=KEEP_OBSERVED,
            platform_message_id=said.platform_message_id,
            person_id=said.person_id,
        )

    async def edit(self, scope: Scope, platform_message_id: str, *, by: ConversationKey, text: str) -> bool:
        """Give a message a new text; `by` wrote it. False: no such message. Never a filler from then on: somebody cared to mend
        it."""
        scope_id = await self._store.scope_in_place(scope)
        found = scope_id is not None and await self._store.edit(
            scope_id,
            platform_message_id,
            by=by,
            text=text,
            tokens=estimate(text),
            low_value=False,
            now_ms=self._clock(),
        )
        if found:
            self._due()
        return found

    async def delete(self, scope: Scope, platform_message_id: str, *, by: ConversationKey) -> bool:
        """Take a message's text out of memory, in every version; `by` wrote it. False: no such message."""
        scope_id = await self._store.scope_in_place(scope)
        found = scope_id is not None and await self._store.delete(
            scope_id, platform_message_id, by=by, now_ms=self._clock()
        )
        if found:
            self._due()
        return found

    async def end_session(self, scope: Scope, *, agent_change: AgentChange) -> bool:
        """End the scope's session (`/new`); it is kept. False: none was active."""
        scope_id = await self._scope_id(scope, agent_change=agent_change)
        return await self._store.end_session(scope_id, now_ms=self._clock())

    async def ledger(self, turn_id: int) -> Ledger | None:
        """Return a turn's ledger: with its revision, agent and frame (place) the turn's settings can be found again."""
        return await self._store.ledger(turn_id)

    async def explain(self, turn_id: int, policy: Policy | None) -> Explanation | None:
        """Return what the model saw in a turn, with texts fetched now. `policy` is the one it was made by; None where its
        settings are not known any more: then there is no system block to show. None: no ledger is kept."""
        ledger = await self._store.ledger(turn_id)
        if ledger is None:
            return None
        return await explained(self._store, ledger, policy, tokenizer=await self._tokenizers.named(ledger.tokenizer))

    async def replay(self, turn_id: int, policy: Policy, *, was: Policy | None = None) -> Replay | None:
        """Make a turn's prompt again by `policy`, from the rows it was made from; `was` is the policy of then, for a
        comparison line by line. None: no ledger is kept."""
        ledger = await self._store.ledger(turn_id)
        if ledger is None:
            return None
        same_counting = was is None or (was.tokenizer, was.model) == (policy.tokenizer, policy.model)
        tokenizer = await self._tokenizers.named(ledger.tokenizer)
        other = tokenizer if same_counting else self._tokenizers.pick(policy.tokenizer, policy.model)
        return await replayed(self._store, ledger, policy, was, tokenizer=other, tokenizer_then=tokenizer)

    async def _scope_id(self, scope: Scope, *, agent_change: AgentChange) -> int:
        return (await self.names.find(scope, agent_change=agent_change)).id

    async def _stored_reply(self, owner: Owner, turn_id: int) -> str | None:
        rows = await self._store.turn_messages(owner, turn_id)
        # What a human said in the agent's stead stands in the same turn.
        return next((row.text for row in rows if row.role == "assistant" and not row.speaker_name), None)

    def _calibrate(self, prepared: Prepared, reported: int) -> None:
        policy = prepared.inputs.policy
        if reported and not needs_o200k(policy.tokenizer, policy.model):
            texts = (prepared.context.system, *(message.text for message in prepared.context.messages))
            estimated = sum(estimate(text) + MESSAGE_OVERHEAD for text in texts)
            self._tokenizers.calibration.observe(policy.model, estimated=estimated, reported=reported)


def _log_load(owner: Owner, loaded: Loaded, ledger: Ledger, *, seconds: float) -> None:
    """A26's line; a part that failed is an error that somebody should look at (A27)."""
    values = {
        "turn": ledger.turn_id,
        "scope": owner.scope_id,
        "person": owner.person_id,
        "summary": loaded.summary is not None,
        "messages": len(loaded.window),
        "ms": round(seconds * 1000, 2),
    }
    logger.debug("memory loaded", extra=values)
    if loaded.failed:
        logger.error("parts of memory could not be read", extra={**values, "failed": list(loaded.failed)})
