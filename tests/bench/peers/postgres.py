"""On PostgreSQL: our store, the sessions of openai-agents, a history of LangChain, LangGraph's checkpointer."""

from __future__ import annotations

from collections.abc import AsyncIterator

from tests.bench.peers.beside import Peer, durable, tables
from tests.bench.tables import Table
from tests.services import running_postgres


async def measure(quick: bool) -> AsyncIterator[Table]:
    with running_postgres() as server:

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
        async for table in tables("a turn on PostgreSQL", peers, quick=quick, server=server):
            yield table
