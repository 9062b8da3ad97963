"""Chat message histories of LangChain: `python -m tests.bench.peers.langchain_histories postgres URL | redis URL`.

Less than ours: messages of one session as JSON; no scopes, persons, versions, ledger, summary, facts or profile, no check that a
turn is stored once, nothing learned. More: each load brings *all* messages, as objects, since a history cannot be asked for its
end; who wants 20 throws the rest away. The Redis one keeps a search index over the words, and needs a server with search and JSON
modules (`CLEW_SEARCHING_REDIS=redis://…` names one; Valkey and plain Redis refuse); past 10,000 messages it returns the oldest.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.bench.peers.speaking import LONG, PAGE, Subject, serve


class Histories:
    """The peer: one object a conversation."""

    def __init__(self, history: Callable[[str], Any]) -> None:
        from langchain_core.messages import AIMessage, HumanMessage

        self._question, self._reply = HumanMessage, AIMessage
        self._history = history
        self._long = history(LONG)

    async def fill(self, conversation: str, turns: Sequence[tuple[str, str]]) -> None:
        history = self._long if conversation == LONG else self._history(conversation)
        for first in range(0, len(turns), 500):
            await history.aadd_messages([one for turn in turns[first : first + 500] for one in self._messages(*turn)])

    async def append(self, question: str, reply: str) -> None:
        await self._long.aadd_messages(self._messages(question, reply))

    async def load(self) -> str:
        return str((await self._long.aget_messages())[-PAGE:][-1].content)

    def _messages(self, question: str, reply: str) -> list[Any]:
        return [self._question(question), self._reply(reply)]


@asynccontextmanager
async def opened(kind: str, where: str) -> AsyncIterator[Subject]:
    if kind == "postgres":
        import psycopg
        from langchain_postgres import PostgresChatMessageHistory  # type: ignore[import-not-found]

        async with await psycopg.AsyncConnection.connect(where) as db:
            await PostgresChatMessageHistory.acreate_tables(db, "history")
            yield Histories(
                lambda name: PostgresChatMessageHistory(
                    "history", str(uuid.uuid5(uuid.NAMESPACE_OID, name)), async_connection=db
                )
            )
    else:
        from langchain_redis import RedisChatMessageHistory  # type: ignore[import-not-found]

        url = os.environ.get("CLEW_SEARCHING_REDIS", where)
        yield Histories(lambda name: RedisChatMessageHistory(name, redis_url=f"{url}?protocol=2"))


if __name__ == "__main__":
    serve(opened(*sys.argv[1:]))
