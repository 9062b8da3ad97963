"""On SQLite: our store, the sessions of openai-agents, LangGraph's checkpointer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.peers.beside import Peer, tables
from tests.bench.tables import Table


async def measure(quick: bool) -> AsyncIterator[Table]:
    with TemporaryDirectory(prefix="clew-bench-") as folder:

        def file(name: str) -> str:
            return str(Path(folder) / f"{name}.db")

        peers = (
            Peer(name="clew, sync FULL", module="ours", kind="sqlite", where=file),
            Peer(name="clew, sync NORMAL", module="ours", kind="normal", where=file),
            Peer(name="openai-agents SQLiteSession", module="openai_agents", kind="sqlite", where=file),
            Peer(name="langgraph, AsyncSqliteSaver", module="langgraph_savers", kind="sqlite", where=file),
        )
        notes = ("SQLiteSession and the checkpointer sync as FULL does; ours loads four parts, they load messages.",)
        async for table in tables("a turn on SQLite", peers, quick=quick, notes=notes):
            yield table
