"""On PostgreSQL: our store, the sessions of openai-agents, a history of LangChain, LangGraph's checkpointer."""

from __future__ import annotations

from collections.abc import AsyncIterator

from tests.bench.peers.beside import Peer, durable, tables
from tests.bench.servers import counting_postgres
from tests.bench.tables import Table


async def measure(quick: bool) -> AsyncIterator[Table]:
    with counting_postgres(durable=True) as server:

        def database(name: str) -> str:
            return durable(server, name)

        peers = (
            Peer(name="clew", module="ours", kind="postgres", where=database),
            Peer(name="openai-agents SQLAlchemySession", module="openai_agents", kind="sqlalchemy", where=database),
            Peer(
                name="langchain PostgresChatMessageHistory",
                module="langchain_histories",
                kind="postgres",
                where=database,
            ),
            Peer(name="langgraph, AsyncPostgresSaver", module="langgraph_savers", kind="postgres", where=database),
        )
        notes = (
            "Every commit is on the disk when it returns, for all of them. Log bytes hold a page's first change after a "
            "checkpoint as a whole, and what the server itself notes.",
            "Ours loads four parts in one statement; the peers load messages, and all but openai-agents all of them.",
        )
        async for table in tables("a turn on PostgreSQL", peers, quick=quick, server=server, notes=notes):
            yield table
