"""LangGraph with a checkpointer: `python -m tests.bench.peers.langgraph_savers postgres URL | sqlite FILE`.

A graph of one node that appends the reply: what a bot built with it runs. Less than ours: no scopes, persons, versions of single
messages, ledger, summary, facts or profile, nothing learned. More: the whole state is kept after each step, so that a run can be
taken up again anywhere, branched and looked at: three checkpoints a turn, each with all messages; and a graph is run, which ours
has no counterpart for here. Loading brings all messages: a state cannot be asked for its end. The conversation is brought to its
length in one step here; spoken turn by turn it would have left a copy of all messages a step, which no disk holds at 100,000.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.bench.peers.speaking import LONG, PAGE, Subject, serve


class Graph:
    """The peer: one thread a conversation."""

    def __init__(self, saver: Any) -> None:
        from langchain_core.messages import AIMessage, HumanMessage
        from langgraph.graph import START, MessagesState, StateGraph  # type: ignore[import-not-found]

        self._question, self._reply = HumanMessage, AIMessage
        self._said: list[Any] = []
        graph = StateGraph(MessagesState)
        graph.add_node("answer", lambda _: {"messages": self._said})
        graph.add_edge(START, "answer")
        self._graph = graph.compile(checkpointer=saver)

    async def fill(self, conversation: str, turns: Sequence[tuple[str, str]]) -> None:
        *before, (question, reply) = turns
        said = [message for q, r in before for message in (self._question(q), self._reply(r))]
        self._said = [self._reply(reply)]
        await self._graph.ainvoke({"messages": [*said, self._question(question)]}, _of(conversation))

    async def append(self, question: str, reply: str) -> None:
        self._said = [self._reply(reply)]
        await self._graph.ainvoke({"messages": [self._question(question)]}, _of(LONG))

    async def load(self) -> str:
        state = await self._graph.aget_state(_of(LONG))
        return str(state.values["messages"][-PAGE:][-1].content)


def _of(conversation: str) -> Any:
    return {"configurable": {"thread_id": conversation}}


@asynccontextmanager
async def opened(kind: str, where: str) -> AsyncIterator[Subject]:
    if kind == "postgres":
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # type: ignore[import-not-found]

        async with AsyncPostgresSaver.from_conn_string(where) as saver:
            await saver.setup()
            yield Graph(saver)
    else:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # type: ignore[import-not-found]

        async with AsyncSqliteSaver.from_conn_string(where) as saver:
            await saver.setup()
            yield Graph(saver)


if __name__ == "__main__":
    serve(opened(*sys.argv[1:]))
