"""With Redis: our windows in front of PostgreSQL, the sessions of openai-agents, a history of LangChain."""

from __future__ import annotations

from collections.abc import AsyncIterator

from tests.bench.peers.beside import Peer, durable, tables
from tests.bench.servers import counting_postgres
from tests.bench.tables import Table
from tests.services import running_valkey


async def measure(quick: bool) -> AsyncIterator[Table]:
    with counting_postgres(durable=True) as server, running_valkey() as valkey:

        def both(name: str) -> str:
            return f"{durable(server, name)} {valkey.url}"

        def redis_alone(name: str) -> str:
            return f"{valkey.url.rpartition('/')[0]}/{name[1:].partition('_')[0]}"

        peers = (
            Peer(name="clew, PostgreSQL behind Redis", module="ours", kind="redis", where=both),
            Peer(name="openai-agents RedisSession", module="openai_agents", kind="redis", where=redis_alone),
            Peer(
                name="langchain-redis RedisChatMessageHistory",
                module="langchain_histories",
                kind="redis",
                where=redis_alone,
            ),
        )
        notes = (
            "Ours keeps its truth in PostgreSQL, each append is a commit there, and Redis may forget. The peers' only copy is in "
            "Redis, which writes nothing to disk here: they do less for their messages.",
        )
        async for table in tables("a turn with Redis", peers, quick=quick, server=server, notes=notes):
            yield table
