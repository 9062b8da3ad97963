"""A turn as the gateway hands it in, as it stands once its prompt is made, and the rows and reads that it becomes. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memory.base import (
    AgentChange,
    Call,
    Context,
    Frame,
    Ledger,
    Load,
    Loaded,
    Message,
    NewMessage,
    Owner,
    Quoted,
    Step,
)
from memory.context import Inputs, assemble
from memory.fillers import is_low_value
from memory.key import ConversationKey, Scope
from memory.models import Asker
from memory.policy import Policy
from memory.tokens import Tokenizer, estimate

_SPARE = 24  # messages read beyond two a turn, so that a few fillers cost no second read


class Incoming(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that somebody said, as it came in."""

    key: ConversationKey
    event_id: int
    text: str
    speaker_name: str = ""
    person_id: int | None = None
    platform_message_id: str | None = None
    reply_to: str | None = None
    quote: Quoted | None = None


class TurnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A turn to answer: what one speaker said, oldest first, at least one message."""

    turn_id: int
    scope: Scope
    messages: tuple[Incoming, ...]
    policy: Policy
    fence: int
    agent_change: AgentChange = "fresh"
    revision: str = ""
    language: str = "en"
    asked_session: str | None = None


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that is stored and whose prompt is made. `stored_reply` is set when a run before a crash had its answer
    stored already: deliver that and ask nobody."""

    turn: TurnRequest
    inputs: Inputs
    context: Context
    ledger: Ledger
    stored_reply: str | None = None

    @property
    def session_id(self) -> str:
        """The session the turn belongs to (B34)."""
        return self.inputs.loaded.session_id


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent answered. `usage` as reported ("prompt", "completion"), empty when not."""

    text: str
    usage: dict[str, int] = {}
    calls: tuple[Call, ...] = ()
    steps: tuple[Step, ...] = ()
    thinking: str | None = None
    thinking_s: float | None = None
    looked_up_ms: int | None = None


def owner_of(turn: TurnRequest, scope_id: int) -> Owner:
    """Return whose memory the turn may read: its speaker's."""
    said = turn.messages[0]
    return Owner(
        scope_id=scope_id,
        person_id=said.person_id,
        namespace=turn.policy.namespace,
        chat_type=said.key.chat_type,
        private_in_group=turn.policy.private_in_group,
        agent=said.key.columns()[4],
    )


def asker_of(turn: TurnRequest) -> Asker:
    """Return for whom memory asks an embedder in this turn: its speaker."""
    said = turn.messages[0]
    _, channel, conversation, chat_type, _ = said.key.columns()
    return Asker(
        turn_id=turn.turn_id,
        person_id=said.person_id,
        channel=channel,
        conversation=conversation,
        chat_type=chat_type,
    )


def page_size(policy: Policy) -> int:
    """Return how many messages one read takes."""
    return min(policy.candidates, 2 * policy.turns + _SPARE)


def load_of(owner: Owner, policy: Policy, *, now_ms: int, terms: tuple[int, ...] = ()) -> Load:
    """Return the first read of a prompt; `terms` are the question's."""
    return Load(owner=owner, now_ms=now_ms, page=page_size(policy), observed=policy.observed_messages, terms=terms)


def is_full(window: Sequence[Message], policy: Policy) -> bool:
    """Say whether reading on could add nothing: enough turns that were heard, or more messages than the cap."""
    heard = [row for row in window if row.role == "user" and not row.low_value and row.deleted_ms is None]
    turns = len({row.turn_id for row in heard})
    return turns >= policy.turns or len(heard) > policy.messages


def said_row(said: Incoming, policy: Policy, *, pending: bool) -> NewMessage:
    """Return the row of what was said; `pending`: the reply before it asked something."""
    return NewMessage(
        key=said.key,
        event_id=said.event_id,
        role="user",
        text=said.text,
        speaker_name=said.speaker_name,
        person_id=said.person_id,
        tokens=estimate(said.text),
        low_value=is_low_value(said.text, pending_question=pending, extra=policy.fillers),
        platform_message_id=said.platform_message_id,
        reply_to=said.reply_to,
        quote=said.quote,
    )


def reply_row(turn: TurnRequest, reply: Reply) -> NewMessage:
    """Return the row of the reply, under the key of what it answers."""
    head = turn.messages[0]
    return NewMessage(
        key=head.key,
        event_id=head.event_id,
        role="assistant",
        text=reply.text,
        person_id=head.person_id,
        tokens=estimate(reply.text),
        reply_to=head.platform_message_id,
        thinking=reply.thinking,
        thinking_s=reply.thinking_s,
        steps=reply.steps,
        looked_up_ms=reply.looked_up_ms,
    )


def prepared_of(turn: TurnRequest, inputs: Inputs) -> Prepared:
    """Make the prompt."""
    context, ledger = assemble(inputs)
    return Prepared(turn=turn, inputs=inputs, context=context, ledger=ledger)


def again(prepared: Prepared, inputs: Inputs) -> Prepared:
    """Make the prompt again from other inputs."""
    context, ledger = assemble(inputs)
    return msgspec.structs.replace(prepared, inputs=inputs, context=context, ledger=ledger)


def closed(ledger: Ledger, usage: dict[str, int], notes: Sequence[str], calls: Sequence[Call] = ()) -> Ledger:
    """Return the ledger with what came of the turn."""
    return msgspec.structs.replace(ledger, usage=usage, notes=(*ledger.notes, *notes), calls=tuple(calls))


def inputs_of(turn: TurnRequest, owner: Owner, loaded: Loaded, *, now_ms: int, tokenizer: Tokenizer) -> Inputs:
    """Return what the turn's prompt is made from."""
    policy = turn.policy
    _, channel, conversation, chat_type, _ = turn.messages[0].key.columns()
    frame = Frame(
        model=policy.model,
        channel=channel,
        conversation=conversation,
        chat_type=chat_type,
        language=turn.language,
        reports_lookups=policy.reports_lookups,
        carried_scope_id=next((row.scope_id for row in (*loaded.carried, loaded.handover) if row), None),
        summarised=policy.summarised,
        unlearned=loaded.unlearned,
    )
    return Inputs(
        turn_id=turn.turn_id,
        scope_id=owner.scope_id,
        person_id=owner.person_id,
        revision=turn.revision,
        now_ms=now_ms,
        policy=policy,
        frame=frame,
        loaded=loaded,
        tokenizer=tokenizer,
    )
