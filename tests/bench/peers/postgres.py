"""On PostgreSQL: our store, the sessions of openai-agents, a history of LangChain, LangGraph's checkpointer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg

from tests.bench.peers.beside import Peer, tables
from tests.bench.tables import Table
from tests.services import running_postgres


async def measure(quick: bool) -> AsyncIterator[Table]:
    with running_postgres() as server:

        def database(name: str) -> str:
            with psycopg.connect(server.url("postgres", admin=True), autocommit=True) as admin:
                admin.execute(f"CREATE DATABASE {name} OWNER clew".encode())
                admin.execute(f"ALTER DATABASE {name} SET synchronous_commit = on".encode())
            return server.url(name)

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
