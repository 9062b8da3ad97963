"""The memory core without channels and agents, on any of its databases: what the memory benches talk to.

A turn here is what the gateway makes of one: said and stored, answered, and learned from by the rules, or by the small model
that is given.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memory.base import Identity
from memory.derived import FullStore
from memory.ids import Ids
from memory.key import ConversationKey, ScopeMode, scope_of
from memory.learning import Learning, Outcome, learn
from memory.models import SmallModel
from memory.policy import Policy
from memory.service import Memory
from memory.summary import Summarising, summarise
from memory.tokens import Tokenizers
from memory.turn import Incoming, Prepared, Reply, TurnRequest
from tests.contracts.columns import Column, PostgresColumn, RedisColumn, SqliteColumn
from tests.services import running_postgres, running_valkey

START_MS = 1_790_000_000_000
SECOND_MS, HOUR_MS, DAY_MS = 1_000, 3_600_000, 86_400_000
OWNER = "bench"
POLICY = Policy(system="You are a shop's assistant.", model="gpt-5-mini", summarised=True)


class Clock:
    """Time that moves a second with every look, and further when told."""

    def __init__(self) -> None:
        self.now = START_MS

    def __call__(self) -> int:
        self.now += SECOND_MS
        return self.now


class Core:
    """A memory on one open store. Turns, events and platform ids number themselves."""

    def __init__(self, store: FullStore, *, clock: Clock, policy: Policy = POLICY) -> None:
        self.store = store
        self.clock = clock
        self.policy = policy
        self.memory = Memory(store, tokenizers=Tokenizers(), clock=clock)
        self.outcomes: list[Outcome] = []
        self._ids = Ids(3, clock)

    def number(self) -> int:
        """Return an id that no turn has had."""
        return self._ids.next()

    async def person(self, account: str, *, kind: str = "web", tenant: str = "acme") -> int:
        """Return the person with the account."""
        identity = Identity(kind=kind, tenant=tenant, account=account)
        return await self.store.person(identity, now_ms=self.clock())

    async def ask(
        self,
        key: ConversationKey,
        text: str,
        *,
        person: int | None,
        name: str = "",
        mode: ScopeMode = "conversation",
        policy: Policy | None = None,
        language: str = "en",
        **fields: Any,
    ) -> Prepared:
        """Store what was said and return the prompt; `fields` are more of the message's."""
        number = self.number()
        said = {"platform_message_id": f"p{number}"} | fields
        return await self.memory.load_and_append(
            TurnRequest(
                turn_id=number,
                scope=scope_of(key, mode=mode),
                messages=(Incoming(key=key, event_id=number, text=text, speaker_name=name, person_id=person, **said),),
                policy=policy or self.policy,
                fence=1,
                language=language,
            )
        )

    async def answer(self, prepared: Prepared, text: str) -> None:
        """Store the reply; the turn is due to be learned from."""
        await self.memory.append(prepared, Reply(text=text), fence=1)

    async def say(self, key: ConversationKey, text: str, *, reply: str = "Noted.", **fields: Any) -> Prepared:
        """Have a whole turn; `learn` is still to come."""
        prepared = await self.ask(key, text, **fields)
        await self.answer(prepared, reply)
        return prepared

    async def learn(
        self,
        *,
        model: SmallModel | None = None,
        summarising: Summarising | None = None,
        learning: Learning | None = None,
    ) -> None:
        """Learn from all that is due, and summarise with the model where that is due."""
        derived = self.store.derived
        while due := await derived.claim(owner=OWNER, now_ms=self.clock(), lease_ms=HOUR_MS, limit=100):
            for one in due:
                ledger = one.ledger
                self.outcomes.append(await learn(derived, ledger, learning or Learning(), model, last_try=True))
                if model is not None and summarising is not None:
                    where = (ledger.scope_id, ledger.session_id)
                    await summarise(
                        derived, *where, summarising, model, ids=self._ids, owner=OWNER, clock=lambda: self.clock.now
                    )
                await derived.release(ledger.scope_id, owner=OWNER)


@asynccontextmanager
async def opened(column: Column, *, clock: Clock | None = None, policy: Policy = POLICY) -> AsyncIterator[Core]:
    """Open a memory on the column's database; called again with the same clock, as after a restart."""
    clock = clock or Clock()
    async with column.open(ids=Ids(1, clock)) as store:
        yield Core(store, clock=clock, policy=policy)


@contextmanager
def columns() -> Iterator[dict[str, Column]]:
    """Give an empty database of each kind."""
    with (
        TemporaryDirectory(prefix="clew-bench-") as folder,
        running_postgres() as postgres,
        running_valkey() as valkey,
        postgres.database() as alone,
        postgres.database() as behind_redis,
    ):
        yield {
            "SQLite": SqliteColumn(Path(folder)),
            "PostgreSQL": PostgresColumn(alone),
            "PostgreSQL + Redis": RedisColumn(behind_redis, valkey.url),
        }


def print_on_all(title: str, rows: Callable[[Column], AsyncIterator[str]]) -> None:
    """Print what `rows` tells of each database, under a title."""
    sys.stdout.write(f"{title}\n")
    with columns() as all_columns:
        for name, column in all_columns.items():
            for line in asyncio.run(_told(rows, column)):
                sys.stdout.write(f"{name} | {line}\n")
                sys.stdout.flush()


async def _told(rows: Callable[[Column], AsyncIterator[str]], column: Column) -> Sequence[str]:
    return [line async for line in rows(column)]
