"""What all databases do alike with a row's values before they store them. Pure."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from memory.base import Identity, Ledger, Message, NewMessage, Quoted, Step
from memory.derived import Due
from memory.errors import StoreUnavailable
from memory.key import decode_part, encode_part

Struct = TypeVar("Struct", bound=msgspec.Struct)

logger = logging.getLogger(__name__)

TITLE_CHARS = 30

_decode_ledger = msgspec.json.Decoder(Ledger).decode

_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Return `text` with NUL and lone surrogates replaced by U+FFFD: PostgreSQL refuses the one, UTF-8 the others."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _SURROGATE.sub("\ufffd", text)
    return text.replace("\x00", "\ufffd")


def storable_or_none(text: str | None) -> str | None:
    """`storable`, letting None through."""
    return None if text is None else storable(text)


def storable_struct(struct: Struct) -> Struct:
    """Return the struct with each of its texts `storable`."""
    texts = {
        field: storable(value) for field, value in msgspec.structs.asdict(struct).items() if isinstance(value, str)
    }
    return msgspec.structs.replace(struct, **texts)


def stored_message(
    item: NewMessage, *, id_: int, scope_id: int, session_id: str, turn_id: int, now_ms: int
) -> tuple[Message, str]:
    """Return the new message as it is stored and read back, and its key's first column (encoded, as databases hold it)."""
    user, channel, conversation, chat_type, agent = item.key.columns()
    quote = item.quote
    stored = Message(
        id=id_,
        scope_id=scope_id,
        session_id=session_id,
        turn_id=turn_id,
        event_id=item.event_id,
        role=item.role,
        text=storable(item.text),
        user=item.key.user,
        channel=channel,
        conversation=conversation,
        chat_type=chat_type,
        agent=agent,
        speaker_name=storable(item.speaker_name),
        person_id=item.person_id,
        tokens=item.tokens,
        low_value=item.low_value,
        created_ms=now_ms,
        platform_message_id=storable_or_none(item.platform_message_id),
        reply_to=storable_or_none(item.reply_to),
        quote=quote and Quoted(name=storable(quote.name), text=storable(quote.text), by_bot=quote.by_bot),
        thinking=storable_or_none(item.thinking),
        thinking_s=None if item.thinking_s is None else round(item.thinking_s, 3),
        steps=tuple(Step(name=storable(step.name), detail=storable(step.detail), ms=step.ms) for step in item.steps),
        looked_up_ms=item.looked_up_ms,
    )
    return stored, user


def read_ledger(turn_id: int, body: bytes) -> Ledger:
    """Return the turn's ledger; raises `StoreUnavailable`."""
    try:
        return _decode_ledger(body)
    except msgspec.DecodeError as exc:
        reason = "it is damaged, or a release wrote it in another form; nothing was learned of the turn"
        raise StoreUnavailable(f"the ledger of turn {turn_id} can't be read: {reason}") from exc


def read_ledgers(
    rows: Iterable[tuple[int, int, bytes]],
) -> tuple[tuple[tuple[int, int], Ledger | None], ...]:
    """Return ledgers (made, turn, body), each behind its mark; None: it can't be read."""

    def read(body: bytes) -> Ledger | None:
        try:
            return _decode_ledger(body)
        except msgspec.DecodeError:
            return None

    return tuple(((made, turn_id), read(body)) for made, turn_id, body in rows)


def readable(rows: Iterable[tuple[int, bytes, int]]) -> tuple[list[Due], list[int]]:
    """Return the due turns (turn, ledger, tries) that can be read, and the others' ids, which are logged."""
    due: list[Due] = []
    unreadable: list[int] = []
    for turn_id, body, tries in rows:
        try:
            due.append(Due(ledger=read_ledger(turn_id, body), tries=tries))
        except StoreUnavailable:
            logger.exception("a turn is not learned from", extra={"turn": turn_id})
            unreadable.append(turn_id)
    return due, unreadable


def title_of(text: str) -> str:
    """Return a conversation's title: the first `TITLE_CHARS` characters of what was said first, on one line (A38)."""
    line = " ".join(text[: TITLE_CHARS * 8].split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


def decoded_user(column: str) -> str:
    """Return the account that a key's first column names."""
    return decode_part(column, name="user") if "%" in column else column


def identity_columns(identity: Identity) -> tuple[str, str, str]:
    """Return the identity's three columns, encoded as a key's parts so that no two accounts meet; only the tenant may be
    empty. Raises `memory.key.InvalidKey`."""
    return (
        encode_part(identity.kind, name="kind"),
        encode_part(identity.tenant, name="tenant") if identity.tenant else "",
        encode_part(identity.account, name="account"),
    )


def identity_of(kind: str, tenant: str, account: str) -> Identity:
    """Return the identity of these columns."""
    return Identity(kind=decode_part(kind), tenant=decode_part(tenant) if tenant else "", account=decode_part(account))
