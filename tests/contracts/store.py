"""What every store must keep: the contract of `memory.base.Store`, as classes that `test_store.py` runs on every database."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memory.base import Load, Loaded, Message, NewMessage, Owner, ScopeRow, SessionRule, Store
from memory.errors import Fenced, UnknownScope
from memory.ids import Ids
from memory.key import ConversationKey, scope_of
from tests.contracts.columns import Column

NOW = 1_790_000_000_000
HOUR = 3_600_000


def key(**parts: Any) -> ConversationKey:
    """Return a private key of user `u1`; `parts` replace."""
    defaults: dict[str, Any] = {
        "user": "u1",
        "channel": "web",
        "room": "r1",
        "thread": None,
        "chat_type": "private",
        "agent": "helper",
    }
    return ConversationKey(**(defaults | parts))


def said(text: str, event_id: int, **fields: Any) -> NewMessage:
    """Return a user's message; `fields` replace."""
    return NewMessage(**({"key": key(), "event_id": event_id, "role": "user", "text": text} | fields))


def rule(name: str = "s-1", **fields: Any) -> SessionRule:
    return SessionRule(**({"fresh_id": name, "idle_ms": 2 * HOUR} | fields))


def owner(scope_id: int, **fields: Any) -> Owner:
    defaults: dict[str, Any] = {"person_id": None, "namespace": "shared", "chat_type": "private"}
    return Owner(scope_id=scope_id, **(defaults | fields))


def wish(scope_id: int, *, now_ms: int = NOW, page: int = 40, observed: int = 0, profile: int = 50, **fields: Any) -> Load:
    return Load(owner=owner(scope_id, **fields), now_ms=now_ms, page=page, observed=observed, profile=profile)


async def opened(store: Store, *, mode: str = "conversation", **parts: Any) -> ScopeRow:
    return await store.open_scope(scope_of(key(**parts), mode=mode), now_ms=NOW, agent_change="fresh")  # type: ignore[arg-type]


async def put(
    store: Store,
    scope_id: int,
    *messages: NewMessage,
    turn_id: int,
    session: SessionRule | None = None,
    now_ms: int = NOW,
    fence: int = 1,
    **fields: Any,
) -> tuple[Message, ...]:
    return await store.append(
        scope_id, messages, turn_id=turn_id, session=session or rule(), now_ms=now_ms, fence=fence, **fields
    )


def texts(rows: tuple[Message, ...]) -> list[str]:
    return [row.text for row in rows]


async def window(store: Store, scope_id: int, **fields: Any) -> list[str]:
    return texts((await store.load(wish(scope_id, **fields))).window)


class AppendContract:
    """Append-only rows with growing ids, repeatable, fenced."""

    async def test_stores_and_returns_what_was_said(self, store: Store) -> None:
        """An append returns the rows as stored, in order (A12 to A18)."""
        scope = await opened(store)

        first, second = await put(store, scope.id, said("你好", 1), said("second", 2), turn_id=10)

        assert ("你好", "second") == (first.text, second.text)
        assert first.id < second.id
        assert ["你好", "second"] == await window(store, scope.id)
