"""Memory's structs as the values of PostgreSQL statements, and the statements' JSON columns as structs again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from memory.base import (
    Corpus,
    Fact,
    Hit,
    Ledger,
    Load,
    Loaded,
    Message,
    NewMessage,
    Observed,
    ProfileItem,
    SessionRule,
    Summary,
)
from memory.coverage import Covering
from memory.ids import Ids
from memory.stores.rows import decoded_user, storable, stored_message, title_of

Values = dict[str, Any]  # a statement's named parameters: the raw edge
Named = tuple[int, str]  # a message within its turn: event and role

_MESSAGES = msgspec.json.Decoder(tuple[Message, ...])
_PARTS: dict[str, msgspec.json.Decoder[Any]] = {
    "window": _MESSAGES,
    "observed": msgspec.json.Decoder(tuple[Observed, ...]),
    "summary": msgspec.json.Decoder(tuple[Covering, ...]),
    "facts": msgspec.json.Decoder(tuple[Fact, ...]),
    "pinned": msgspec.json.Decoder(tuple[ProfileItem, ...]),
    "profile": msgspec.json.Decoder(tuple[ProfileItem, ...]),
    "unlearned": msgspec.json.Decoder(tuple[int, ...]),
    "hits": msgspec.json.Decoder(tuple[Hit, ...]),
    "corpus": msgspec.json.Decoder(tuple[Corpus, ...]),
    "handover": msgspec.json.Decoder(tuple[Summary, ...]),
    "carried": _MESSAGES,
}
_SPOKEN = ("window", "observed", "carried")  # newest first, with the account as a key's column

_encode = msgspec.json.Encoder().encode


def five(columns: tuple[str, str, str, str, str]) -> Values:
    """Return a key's or scope's columns by name."""
    return dict(zip(("user", "channel", "conversation", "chat_type", "agent"), columns, strict=True))


class Draft:
    """A turn's messages on their way into the table: as rows whose session, and perhaps ids, the statement gives."""

    def __init__(self, messages: Sequence[NewMessage], *, ids: Ids, scope_id: int, turn_id: int, now_ms: int) -> None:
        self._names: list[Named] = [(item.event_id, item.role) for item in messages]
        self._rows: dict[Named, Message] = {}
        self._columns: list[Message] = []  # the same rows with the account as the table holds it
        for name, item in zip(self._names, messages, strict=True):
            if name not in self._rows:
                row, user = stored_message(
                    item, id_=ids.next(), scope_id=scope_id, session_id="", turn_id=turn_id, now_ms=now_ms
                )
                self._rows[name] = row
                self._columns.append(row if user == row.user else msgspec.structs.replace(row, user=user))

    def values(self, session: SessionRule, *, fence: int) -> Values:
        """Return the parameters of the statements that append."""
        first, last = self._columns[0], self._columns[-1]
        said = next((row for row in self._columns if row.role == "user"), None)
        return {
            "scope_id": first.scope_id,
            "turn_id": first.turn_id,
            "now_ms": first.created_ms,
            "first_id": first.id,
            "last_id": last.id,
            "title": title_of(said.text) if said else "",
            "title_id": said.id if said else None,
            "messages": _encode([msgspec.structs.asdict(row) for row in self._columns]).decode(),
            "fresh_id": session.fresh_id,
            "idle_ms": session.idle_ms,
            "asked": session.asked,
            "fence": fence,
            "persons": persons_of(self._columns),
        }

    def stored(self, *, session_id: str, lift: int) -> tuple[Message, ...]:
        """Return the rows as they stand in the table, one for each message given."""
        rows = {
            name: msgspec.structs.replace(row, id=row.id + lift, session_id=session_id)
            for name, row in self._rows.items()
        }
        return tuple(rows[name] for name in self._names)


def persons_of(messages: Iterable[Message | NewMessage]) -> list[int]:
    """Return whose messages they are."""
    return list({message.person_id for message in messages if message.person_id is not None})


def load_values(load: Load, *, session_id: str | None = None, before_id: int | None = None) -> Values:
    """Return the parameters of the statements that load."""
    owner = load.owner
    return {
        "scope_id": owner.scope_id,
        "session_id": session_id,
        "before_id": before_id,
        "now_ms": load.now_ms,
        "page": load.page,
        "observed": load.observed,
        "profile": load.profile,
        "person_id": owner.person_id,
        "namespace": owner.namespace,
        "terms": list(load.terms),
        "hits": load.hits,
        "agent": owner.agent,
        "private": owner.chat_type == "private",
        "private_too": owner.chat_type == "private" or owner.private_in_group,
    }


def ledger_values(ledger: Ledger) -> Values:
    """Return the parameters that save a ledger."""
    return {
        "ledger_turn_id": ledger.turn_id,
        "ledger_scope_id": ledger.scope_id,
        "ledger_ms": ledger.now_ms,
        "ledger": _encode(ledger),
    }


def put_value(rows: Sequence[msgspec.Struct]) -> str:
    """Return rows as the parameter of the statements that put them, every text storable."""
    return _encode([_storable(msgspec.structs.asdict(row)) for row in rows]).decode()


def _storable(fields: Values) -> Values:
    return {name: storable(value) if isinstance(value, str) else value for name, value in fields.items()}


def messages_in(column: bytes | None) -> tuple[Message, ...]:
    """Return the messages of a column that holds them newest first, oldest first."""
    return _part("window", column)


def loaded(
    load: Load,
    columns: Mapping[str, bytes | None],
    *,
    session_id: str,
    generation: int | None,
    failed: Sequence[str] = (),
    opened: bool = False,
    appended: tuple[Message, ...] = (),
) -> Loaded:
    """Return what was read; a column that is not what it should be fails alone. `failed`: those that could not be read."""
    broken = list(failed)
    parts: dict[str, Any] = {}
    for name, column in columns.items():
        try:
            parts[name] = _part(name, column)
        except (msgspec.MsgspecError, ValueError):
            parts[name] = ()
            broken.append(name)
    window = parts.pop("window")
    covering: tuple[Covering, ...] = parts.pop("summary")
    if not all(one.sound for one in covering):
        covering = ()
        broken.append("summary")
    handover = parts.pop("handover", ())
    corpus = parts.pop("corpus", ())
    unlearned = parts.pop("unlearned", ())
    return Loaded(
        session_id=session_id,
        session_opened=opened,
        appended=appended,
        window=window[-load.page :] if load.page else (),
        more=len(window) > load.page,
        summary=covering[0].summary if covering else None,
        handover=handover[0] if handover else None,
        corpus=corpus[0] if corpus else Corpus(),
        unlearned=unlearned[0] if unlearned else 0,
        failed=tuple(broken),
        generation=generation,
        **parts,
    )


def _part(name: str, column: bytes | None) -> tuple[Any, ...]:
    if column is None:
        return ()
    rows: tuple[Any, ...] = _PARTS[name].decode(column)
    if name not in _SPOKEN:
        return rows
    if b"%" in column:  # perhaps in an encoded account
        rows = tuple(msgspec.structs.replace(row, user=decoded_user(row.user)) for row in rows)
    return rows[::-1]
