"""A person's data as one document: whole, with sources, and never held as a whole."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from memory import exporting
from memory.ids import Ids
from memory.stores.sqlite import SqliteStore
from tests.contracts.persons import a_life, somebody
from tests.contracts.store import key, opened, put, said


async def document(store: SqliteStore, person_id: int) -> dict[str, list[dict[str, object]]]:
    person = await store.persons.find(person_id)
    assert person is not None
    told: dict[str, list[dict[str, object]]] = json.loads(
        b"".join([piece async for piece in exporting.export(store.persons, person)])
    )
    return told


async def test_it_is_whole_and_names_sources(tmp_path: Path) -> None:
    """Identities, messages and the replies to them, items, facts and summaries; nobody else's words. B46, E06."""
    async with SqliteStore(tmp_path / "c.db", ids=Ids(1), write_turn=asyncio.Lock(), timeout_s=5) as store:
        me, _ = await a_life(store)

        told = await document(store, me)

        assert [{"kind": "web", "tenant": "T1", "account": "Zwölf:ender"}] == told["identities"]
        assert ["user", "assistant", "user", "assistant", "user"] == [row["role"] for row in told["messages"]]
        first = told["messages"][0]
        assert (
            "my jam is Quittengelee 琥珀色河马",
            "web",
            "r1",
            None,
            "private",
            "Zwölf:ender",
            "Hieronymus",
        ) == tuple(first[name] for name in ("text", "channel", "room", "thread", "chat_type", "account", "name"))
        assert str(first["said_at"]).endswith("+00:00")
        ids = {row["id"] for row in told["messages"]}
        for kind in ("profile", "facts"):
            assert ["active"] == [row["status"] for row in told[kind]]
            assert {id_ for row in told[kind] for id_ in row["sources"]} <= ids  # type: ignore[attr-defined]
        assert ["likes Quittengelee"] == [row["text"] for row in told["summaries"]]
        assert "quote" not in json.dumps(told)


async def test_a_long_history_comes_in_pieces(tmp_path: Path) -> None:
    """Each with a page of rows at most; somebody of whom nothing is stored has an empty document."""
    async with SqliteStore(tmp_path / "c.db", ids=Ids(1), write_turn=asyncio.Lock(), timeout_s=5) as store:
        me, scope = await somebody(store, "u1"), await opened(store)
        many = exporting.PAGE + 3
        await put(
            store, scope.id, *[said(f"m{n}", n, key=key(thread="t/1"), person_id=me) for n in range(many)], turn_id=1
        )
        person = await store.persons.find(me)
        assert person is not None

        pieces = [piece async for piece in exporting.export(store.persons, person)]
        told = json.loads(b"".join(pieces))

        assert [f"m{n}" for n in range(many)] == [row["text"] for row in told["messages"]]
        assert {"t/1"} == {row["thread"] for row in told["messages"]}
        assert max(map(len, pieces)) < 0.999 * sum(map(len, pieces))
        assert 2 == len([piece for piece in pieces if b'"text":"m' in piece])
        nobody = await document(store, await somebody(store, "u2"))
        assert ([], [], [], []) == tuple(nobody[kind] for kind in ("messages", "profile", "facts", "summaries"))
