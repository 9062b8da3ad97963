"""Memory's structs as SQLite's rows and back: a column for each field, by its name. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec

from memory.base import Fact, Message, Observed, ProfileItem, Quoted, Step, Summary
from memory.stores.rows import decoded_user

Struct = TypeVar("Struct", bound=msgspec.Struct)
Row = Iterable[Any]  # as the driver hands it out: the raw edge


class Table(Generic[Struct]):
    """How one struct lies in its table.

    `json` fields, which SQLite has no type for, are text and decoded as the type given; NULL is the field's default. `flag`
    is a bool, kept as 0 or 1. `account` is kept as a key's encoded column and read back plain.
    """

    def __init__(
        self,
        name: str,
        kind: type[Struct],
        *,
        json: dict[str, Any] | None = None,
        flag: str | None = None,
        account: str | None = None,
    ) -> None:
        self._kind = kind
        self._fields = kind.__struct_fields__
        self._get = attrgetter(*self._fields)
        self._json = {field: msgspec.json.Decoder(type_).decode for field, type_ in (json or {}).items()}
        self._flag = flag
        self._account = account
        self.columns = ", ".join(f'"{field}"' for field in self._fields)
        self.insert = f"INSERT INTO {name} ({self.columns}) VALUES ({', '.join(f':{field}' for field in self._fields)})"
        self.put = self.insert.replace("INSERT", "INSERT OR REPLACE", 1)

    def values(self, struct: Struct, **columns: str | None) -> dict[str, Any]:
        """Return the parameters of `insert` and `put`; `columns` replace what the database holds in another form."""
        values = dict(zip(self._fields, self._get(struct), strict=True))
        for field in self._json:
            values[field] = msgspec.json.encode(values[field]).decode() if values[field] else None
        return values | columns

    def structs(self, rows: Iterable[Row]) -> list[Struct]:
        """Return the structs in rows of `columns`, in their order."""
        return [self.struct(row) for row in rows]

    def struct(self, row: Row) -> Struct:
        """Return the struct in a row of `columns`."""
        values = dict(zip(self._fields, row, strict=True))
        for field, decode in self._json.items():
            text = values[field]
            if text is None:
                del values[field]
            else:
                values[field] = decode(text)
        if self._flag is not None:
            values[self._flag] = values[self._flag] == 1
        if self._account is not None:
            values[self._account] = decoded_user(values[self._account])
        return self._kind(**values)


MESSAGES = Table(
    "messages", Message, json={"quote": Quoted, "steps": tuple[Step, ...]}, flag="low_value", account="user"
)
OBSERVED = Table("observed", Observed, account="user")
SUMMARIES = Table("summaries", Summary)
FACTS = Table("facts", Fact, json={"source_ids": tuple[int, ...]})
PROFILE = Table("profile_items", ProfileItem, json={"source_ids": tuple[int, ...]}, flag="pinned")
