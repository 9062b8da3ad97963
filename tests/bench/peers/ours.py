"""Our stores, driven as the peers are: `python -m tests.bench.peers.ours sqlite FILE | normal FILE | postgres URL | redis URLS`.

More than any peer: a load brings the window, the summary's look-up, the person's facts, pinned items and profile, all in one
statement; an append checks the lane's fence, keeps the session, and refuses what is stored already. `sqlite` syncs each commit to
disk (FULL), `normal` leaves that to checkpoints. Not in it: the prompt, the ledger, recall.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from memory.base import Load, NewMessage, Owner, SessionRule, Store
from memory.ids import Ids
from memory.key import ConversationKey, scope_of
from memory.stores.postgres import PostgresStore
from memory.stores.redis import RedisCache
from memory.stores.sqlite import SqliteStore
from tests.bench.peers.speaking import LONG, PAGE, Subject, serve

NOW = 1_790_000_000_000


class Ours:
    """A store of ours; each conversation is a private one of somebody's."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._numbers = iter(range(1, 10**12))
        self._scopes: dict[str, int] = {}
        self._wish = Load(
            owner=Owner(scope_id=0, person_id=7, namespace="shared", chat_type="private"),
            now_ms=NOW,
            page=PAGE,
            profile=3,
        )

    async def fill(self, conversation: str, turns: Sequence[tuple[str, str]]) -> None:
        for first in range(0, len(turns), 100):
            said = [
                one for turn in turns[first : first + 100] for one in _said(conversation, next(self._numbers), *turn)
            ]
            await self._append(conversation, said)

    async def append(self, question: str, reply: str) -> None:
        await self._append(LONG, _said(LONG, next(self._numbers), question, reply))

    async def load(self) -> str:
        return (await self._store.load(self._wish)).window[-1].text

    async def _append(self, conversation: str, said: Sequence[NewMessage]) -> None:
        scope_id = self._scopes.get(conversation)
        if scope_id is None:
            found = await self._store.open_scope(
                scope_of(_key(conversation), mode="conversation"), now_ms=NOW, agent_change="fresh"
            )
            scope_id = self._scopes[conversation] = found.id
            if conversation == LONG:
                owner = Owner(scope_id=scope_id, person_id=7, namespace="shared", chat_type="private")
                self._wish = Load(owner=owner, now_ms=NOW, page=PAGE, profile=3)
        rule = SessionRule(fresh_id=f"s-{scope_id:032}", idle_ms=7_200_000)
        await self._store.append(scope_id, said, turn_id=next(self._numbers), session=rule, now_ms=NOW, fence=1)


def _key(conversation: str) -> ConversationKey:
    return ConversationKey(user=conversation, channel="web", room="r", thread=None, chat_type="private", agent="helper")


def _said(conversation: str, number: int, question: str, reply: str) -> tuple[NewMessage, NewMessage]:
    key = _key(conversation)
    return (
        NewMessage(key=key, event_id=number, role="user", text=question, speaker_name="Ann", person_id=7, tokens=16),
        NewMessage(key=key, event_id=number, role="assistant", text=reply, tokens=19),
    )


@asynccontextmanager
async def opened(kind: str, where: str) -> AsyncIterator[Subject]:
    if kind in ("sqlite", "normal"):
        async with SqliteStore(
            Path(where), ids=Ids(1), write_turn=asyncio.Lock(), timeout_s=30,
            synchronous="FULL" if kind == "sqlite" else "NORMAL",
        ) as store:  # fmt: skip
            yield Ours(store)
    else:
        url, _, redis = where.partition(" ")
        async with PostgresStore(url, ids=Ids(1), pool_size=4, timeout_s=30) as postgres:
            if kind == "postgres":
                yield Ours(postgres)
                return
            async with RedisCache(postgres, redis, ttl_s=3600, timeout_s=5) as cache:
                yield Ours(cache)


if __name__ == "__main__":
    serve(opened(*sys.argv[1:]))
