"""Sessions of openai-agents: `python -m tests.bench.peers.openai_agents sqlite FILE | sqlalchemy URL | redis URL`.

Less than ours: items of one session in the order they came, as JSON; no scopes, persons, versions, ledger, summary, facts or
profile, no tokens counted, no check that a turn is stored once, nothing learned. The same: the last 20 can be asked for, so that
it does not read all. Durability: SQLite as Python opens it (sync FULL) in WAL; Redis holds the only copy.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.bench.peers.speaking import LONG, PAGE, Subject, serve


class Sessions:
    """The peer: one object a conversation."""

    def __init__(self, session: Callable[[str], Any]) -> None:
        self._session = session
        self._long = session(LONG)

    async def fill(self, conversation: str, turns: Sequence[tuple[str, str]]) -> None:
        session = self._long if conversation == LONG else self._session(conversation)
        for first in range(0, len(turns), 500):
            await session.add_items([item for turn in turns[first : first + 500] for item in _items(*turn)])

    async def append(self, question: str, reply: str) -> None:
        await self._long.add_items(_items(question, reply))

    async def load(self) -> str:
        return str((await self._long.get_items(limit=PAGE))[-1]["content"])


def _items(question: str, reply: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]


@asynccontextmanager
async def opened(kind: str, where: str) -> AsyncIterator[Subject]:
    if kind == "sqlite":
        from agents import SQLiteSession

        yield Sessions(lambda name: SQLiteSession(name, where))
    elif kind == "sqlalchemy":
        from agents.extensions.memory import SQLAlchemySession
        from sqlalchemy.ext.asyncio import create_async_engine  # type: ignore[import-not-found]

        engine = create_async_engine(where.replace("postgresql://", "postgresql+asyncpg://"))
        await SQLAlchemySession("first", engine=engine, create_tables=True).get_items()
        yield Sessions(lambda name: SQLAlchemySession(name, engine=engine))
        await engine.dispose()
    else:
        from agents.extensions.memory import RedisSession
        from redis.asyncio import Redis

        async with Redis.from_url(where) as client:
            yield Sessions(lambda name: RedisSession(name, redis_client=client))


if __name__ == "__main__":
    serve(opened(*sys.argv[1:]))
