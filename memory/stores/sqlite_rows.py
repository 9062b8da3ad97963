"""Memory's structs as SQLite's rows and back: a column for each field, by its name. Pure.

A row is read as one JSON text, made by SQLite and decoded by msgspec straight into the struct: for a window of twenty
messages that takes half the time of fetching 27 columns a row and building the struct from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec

from memory.base import Fact, Message, Observed, ProfileItem, Summary
from memory.people import Overheard
from memory.stores.rows import decoded_user

Struct = TypeVar("Struct", bound=msgspec.Struct)


class Table(Generic[Struct]):
    """How one struct lies in its table.

    `json` names the fields kept as JSON text, each with what NULL stands for, in SQL; `more` are columns that the struct
    does not have. `select` is the expression that `structs` reads. `put` replaces a row of the same id by another of the same
    `owner` only, a column.
    """

    def __init__(
        self,
        name: str,
        kind: type[Struct],
        *,
        json: Mapping[str, str] | None = None,
        more: tuple[str, ...] = (),
        owner: str = "scope_id",
    ) -> None:
        fields = kind.__struct_fields__
        columns = ", ".join(f'"{column}"' for column in (*fields, *more))
        self._json = json or {}
        self._get = attrgetter(*fields)
        self._more = len(more)
        self._place = {column: place for place, column in enumerate((*fields, *more))}
        self._decode = msgspec.json.Decoder(kind, strict=False).decode  # SQLite's booleans are 0 and 1
        self.select = f"json_array({', '.join(map(self._expression, fields))})"
        if not kind.__struct_config__.array_like:
            pairs = [f"'{field}', {self._expression(field)}" for field in fields]
            self.select = f"json_object({', '.join(pairs)})"
        self.insert = f"INSERT INTO {name} ({columns}) VALUES (?{', ?' * (len(self._place) - 1)})"
        replaced = ", ".join(f'"{column}" = excluded."{column}"' for column in self._place if column != "id")
        self.put = f"{self.insert} ON CONFLICT (id) DO UPDATE SET {replaced} WHERE {name}.{owner} = excluded.{owner}"

    def _expression(self, field: str) -> str:
        if field in self._json:
            return f'iif("{field}" IS NULL, {self._json[field]}, json("{field}"))'
        return f'"{field}"'

    def values(self, struct: Struct, **columns: str | int | None) -> list[Any]:
        """Return the parameters of `insert` and `put`; `columns` are those that differ from the struct's fields."""
        values = [*self._get(struct), *[None] * self._more]
        for field in self._json:
            value = values[self._place[field]]
            values[self._place[field]] = msgspec.json.encode(value).decode() if value else None
        for column, value in columns.items():
            values[self._place[column]] = value
        return values

    def structs(self, rows: Iterable[tuple[str]]) -> list[Struct]:
        """Return the structs in rows of `select`, in their order."""
        return [self._decode(row) for (row,) in rows]


def read_messages(rows: Iterable[tuple[str]]) -> list[Message]:
    """Return the messages in rows of `MESSAGES.select`, in their order."""
    return [_plain(row) for row in MESSAGES.structs(rows)]


def read_observed(rows: Iterable[tuple[str]]) -> list[Observed]:
    """Return what rows of `OBSERVED.select` hold, in their order."""
    return [_plain(row) for row in OBSERVED.structs(rows)]


Spoken = TypeVar("Spoken", Message, Observed)


def _plain(row: Spoken) -> Spoken:
    return msgspec.structs.replace(row, user=decoded_user(row.user)) if "%" in row.user else row


MESSAGES = Table("messages", Message, json={"quote": "NULL", "steps": "json_array()"})
OBSERVED = Table(
    "observed", Observed, more=("channel", "conversation", "chat_type", "agent", "platform_message_id", "person_id")
)
OVERHEARD = Table("observed", Overheard)
SUMMARIES = Table("summaries", Summary)
FACTS = Table("facts", Fact, json={"source_ids": "json_array()"}, owner="person_id")
PROFILE = Table("profile_items", ProfileItem, json={"source_ids": "json_array()"}, owner="person_id")
