"""What a turn's memory costs on each store, at 100, 10,000 and 100,000 messages in its conversation.

Each store stands beside its limit: the same bytes moved by the fewest statements one could write by hand, on the same
engine and machine, in turns of the same loop. Goals M1 to M6 of engines.md B.1. A subject joins `measure` by one line.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from memory.base import Fact, Load, NewMessage, Owner, ProfileItem, SessionRule, Summary
from memory.coverage import coverage
from memory.derived import FullStore
from memory.ids import Ids
from memory.key import ConversationKey, scope_of
from memory.stores.sqlite import SqliteStore
from memory.stores.sqlite_file import Synchronous

SIZES = (100, 10_000, 100_000)
TURNS = 1_000
OTHERS = 200
"""Other conversations, of ten turns each, in the same store."""

USER = "Could you check whether order 8821 has been shipped, and when it arrives?"
REPLY = "Order 8821 left the warehouse on Tuesday; the carrier expects to deliver it on Friday."
PAGE = 20
SUMMARISED = 24
"""Messages that the newest summary covers: looked at with every load."""
NOW = 1_790_000_000_000
KEY = ConversationKey(user="u1", channel="web", room="r1", thread=None, chat_type="private", agent="helper")
SESSION = SessionRule(fresh_id="s-" + "0" * 32, idle_ms=7_200_000)


class Subject(Protocol):
    """One store, or one limit, holding a conversation and others."""

    async def fill(self, messages: int) -> None:
        """Bring the conversation to so many messages, and the store to `OTHERS` more conversations."""
        ...

    async def append(self, turn: int) -> None:
        """Append a whole turn, both messages in one write, as the peers do."""
        ...

    async def load(self) -> None:
        """Load the last `PAGE` messages, the summary, the facts and the profile."""
        ...

    async def turn(self, turn: int) -> None:
        """Do what our turn does: append the user's message and load; append the reply. For limits, `append` and `load`."""
        ...

    async def bytes(self) -> int | None:
        """Return the size of the data; None where that isn't told simply."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Medians (and 99th percentiles) in milliseconds; `rss_mb` is how much the process grew while it was measured."""

    subject: str
    limit: str | None
    messages: int
    append_ms: float
    load_ms: float
    turn_ms: float
    turn_p99_ms: float
    bytes_a_turn: int | None
    rss_mb: float


Opener = Callable[[Path], AbstractAsyncContextManager[Subject]]


class Stored:
    """Our store as a subject; `scope_id` is its conversation once it is filled."""

    def __init__(self, store: FullStore, size: Callable[[], Awaitable[int | None]]) -> None:
        self._store = store
        self._size = size
        self.scope_id = 0
        self._load = self._wish()

    def _wish(self) -> Load:
        owner = Owner(scope_id=self.scope_id, person_id=7, namespace="shared", chat_type="private")
        return Load(owner=owner, now_ms=NOW, page=PAGE, profile=3)

    async def fill(self, messages: int) -> None:
        self.scope_id = await self._conversation(KEY, turns=messages // 2, batch=100)
        for n in range(OTHERS):
            key = ConversationKey(
                user=f"o{n}", channel="web", room="r", thread=None, chat_type="private", agent="helper"
            )
            await self._conversation(key, turns=10, batch=10)
        self._load = self._wish()
        told = await self._store.derived.stretch(self.scope_id, SESSION.fresh_id, after_id=0, limit=SUMMARISED)
        await self._store.put_summary(
            Summary(
                id=1,
                scope_id=self.scope_id,
                session_id=SESSION.fresh_id,
                text=USER * 4,
                first_id=told[0].id,
                last_id=told[-1].id,
                digest=coverage("", [(row.id, row.version) for row in told]),
                tokens=80,
                created_ms=NOW,
            )
        )
        await self._store.put_facts([_fact(n, self.scope_id) for n in range(5)])
        await self._store.put_profile([_item(n) for n in range(50)])

    async def _conversation(self, key: ConversationKey, *, turns: int, batch: int) -> int:
        scope = await self._store.open_scope(scope_of(key, mode="conversation"), now_ms=NOW, agent_change="fresh")
        fresh = f"s-{scope.id:032}" if key != KEY else SESSION.fresh_id
        rule = SessionRule(fresh_id=fresh, idle_ms=SESSION.idle_ms)
        for first in range(0, turns, batch):
            many = [message for n in range(first, min(first + batch, turns)) for message in conversation_turn(n, key)]
            await self._store.append(scope.id, many, turn_id=-first - 1, session=rule, now_ms=NOW, fence=1)
        return scope.id

    async def append(self, turn: int) -> None:
        await self._store.append(
            self.scope_id, conversation_turn(turn), turn_id=turn, session=SESSION, now_ms=NOW, fence=1
        )

    async def load(self) -> None:
        loaded = await self._store.load(self._load)
        assert (PAGE, 5, 3, True) == (len(loaded.window), len(loaded.facts), len(loaded.profile), loaded.more)

    def continues(self, scope_id: int) -> None:
        """Go on with what another object has filled."""
        self.scope_id = scope_id
        self._load = self._wish()

    async def ask(self, turn: int) -> None:
        """Append the user's message of a turn, and load."""
        question, _ = conversation_turn(turn)
        await self._store.append_and_load(self.scope_id, [question], self._load, turn_id=turn, session=SESSION, fence=1)

    async def turn(self, turn: int) -> None:
        _, reply = conversation_turn(turn)
        await self.ask(turn)
        await self._store.append(self.scope_id, [reply], turn_id=turn, session=SESSION, now_ms=NOW, fence=1)

    async def bytes(self) -> int | None:
        return await self._size()


def conversation_turn(n: int, key: ConversationKey = KEY) -> tuple[NewMessage, NewMessage]:
    """Return the question and the reply of turn `n`."""
    return (
        NewMessage(key=key, event_id=n, role="user", text=USER, speaker_name="Ann", person_id=7, tokens=16),
        NewMessage(key=key, event_id=n, role="assistant", text=REPLY, tokens=19),
    )


def _fact(n: int, scope_id: int) -> Fact:
    return Fact(
        id=n + 1,
        scope_id=scope_id,
        session_id=SESSION.fresh_id,
        person_id=7,
        speaker_name="Ann",
        slot=f"slot{n}",
        value="8821",
        source_ids=(1,),
        status="active",
        created_ms=NOW,
        expires_ms=NOW + 7_200_000,
    )


def _item(n: int) -> ProfileItem:
    return ProfileItem(
        id=n + 1,
        person_id=7,
        namespace="shared",
        kind="preference",
        slot="",
        text="Likes dark colours, no white",
        pinned=False,
        chat_type="private",
        source_ids=(1,),
        status="active",
        valid_from_ms=0,
        valid_to_ms=None,
    )


class RawSqlite:
    """The limit on SQLite: narrow tables, one insert of two rows, four selects, values left as the driver gives them."""

    def __init__(self, path: Path, synchronous: Synchronous) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(f"PRAGMA synchronous = {synchronous}")
        for table in (
            "m (c INTEGER, id INTEGER, role TEXT, text TEXT, tokens INTEGER, PRIMARY KEY (c, id)) WITHOUT ROWID",
            "s (c INTEGER PRIMARY KEY, text TEXT)",
            "f (c INTEGER, slot TEXT, value TEXT, PRIMARY KEY (c, slot)) WITHOUT ROWID",
            "p (person INTEGER, id INTEGER, text TEXT, PRIMARY KEY (person, id)) WITHOUT ROWID",
        ):
            self._db.execute(f"CREATE TABLE {table}")
        self._id = 0

    async def fill(self, messages: int) -> None:
        self._db.execute("BEGIN")
        for conversation, turns in [(1, messages // 2), *((n + 2, 10) for n in range(OTHERS))]:
            for _ in range(turns):
                self._insert(conversation)
        self._db.execute("INSERT INTO s VALUES (1, ?)", (USER * 4,))
        self._db.executemany("INSERT INTO f VALUES (1, ?, '8821')", [(f"slot{n}",) for n in range(5)])
        self._db.executemany("INSERT INTO p VALUES (7, ?, 'Likes dark colours, no white')", [(n,) for n in range(50)])
        self._db.execute("COMMIT")

    def _insert(self, conversation: int) -> None:
        self._id += 2
        rows = (conversation, self._id, "user", USER, 16, conversation, self._id + 1, "assistant", REPLY, 19)
        self._db.execute("INSERT INTO m VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)", rows)

    async def append(self, turn: int) -> None:
        self._insert(1)

    async def load(self) -> None:
        run = self._db.execute
        rows = run("SELECT id, role, text, tokens FROM m WHERE c = 1 ORDER BY id DESC LIMIT ?", (PAGE,)).fetchall()
        run("SELECT text FROM s WHERE c = 1").fetchone()
        run("SELECT slot, value FROM f WHERE c = 1").fetchall()
        run("SELECT text FROM p WHERE person = 7 ORDER BY id DESC LIMIT 3").fetchall()
        assert PAGE == len(rows)

    async def turn(self, turn: int) -> None:
        await self.append(turn)
        await self.load()

    async def bytes(self) -> int | None:
        (pages,), (page,) = (self._db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
        return int(pages * page)

    def close(self) -> None:
        self._db.close()


def sqlite_store(synchronous: Synchronous) -> Opener:
    """Return an opener of our store on a file in the folder it is given."""

    @asynccontextmanager
    async def opener(folder: Path) -> AsyncIterator[Subject]:
        async with SqliteStore(
            folder / f"ours-{synchronous}.db",
            ids=Ids(1),
            write_turn=asyncio.Lock(),
            timeout_s=5,
            synchronous=synchronous,
        ) as store:

            async def size() -> int:
                return (await store.size())["bytes"]

            yield Stored(store, size)

    return opener


def sqlite_limit(synchronous: Synchronous) -> Opener:
    """Return an opener of the limit beside it."""

    @asynccontextmanager
    async def opener(folder: Path) -> AsyncIterator[Subject]:
        raw = RawSqlite(folder / f"raw-{synchronous}.db", synchronous)
        try:
            yield raw
        finally:
            raw.close()

    return opener


SUBJECTS: dict[str, tuple[str | None, Opener]] = {
    "limit SQLite NORMAL": (None, sqlite_limit("NORMAL")),
    "SQLite NORMAL": ("limit SQLite NORMAL", sqlite_store("NORMAL")),
    "limit SQLite FULL": (None, sqlite_limit("FULL")),
    "SQLite FULL": ("limit SQLite FULL", sqlite_store("FULL")),
}
"""Each subject with the limit it stands beside; the limit comes first."""


def measure(sizes: Sequence[int] = SIZES, subjects: dict[str, tuple[str | None, Opener]] = SUBJECTS) -> list[Figure]:
    """Return a figure for each subject at each size."""
    return [figure for size in sizes for figure in asyncio.run(_measure(size, subjects))]


def report(figures: list[Figure]) -> str:
    """Return the figures as lines of text, each beside its limit, and each store's last size beside its first."""
    lines = ["memory store, p50 ms (x of the limit on the same engine); turn = question + load, then reply"]
    of = {(figure.subject, figure.messages): figure for figure in figures}
    smallest = min(figure.messages for figure in figures)
    for figure in figures:
        first = of[figure.subject, smallest]
        line = (
            f"  {figure.subject:22} {figure.messages:7,} messages: append {figure.append_ms:.3f}, "
            f"load {figure.load_ms:.3f}, both {figure.append_ms + figure.load_ms:.3f}"
        )
        if figure.limit is not None:
            limit = of[figure.limit, figure.messages]
            both = (figure.append_ms + figure.load_ms) / (limit.append_ms + limit.load_ms)
            flat = (figure.append_ms + figure.load_ms) / (first.append_ms + first.load_ms)
            line += f" ({both:.1f}x limit, {flat:.2f}x of {smallest}); turn {figure.turn_ms:.3f} (p99 {figure.turn_p99_ms:.3f})"
        if figure.bytes_a_turn is not None:
            line += f"; {figure.bytes_a_turn} bytes a turn"
        lines.append(f"{line}; RSS +{figure.rss_mb:.1f} MB")
    return "\n".join(lines)


async def _measure(size: int, subjects: dict[str, tuple[str | None, Opener]]) -> list[Figure]:
    with TemporaryDirectory(prefix="clew-bench-") as folder:
        async with AsyncExitStack() as stack:
            opened = {
                name: (limit, await stack.enter_async_context(opener(Path(folder))))
                for name, (limit, opener) in subjects.items()
            }
            figures = []
            for name, (limit, subject) in opened.items():
                await subject.fill(size)
                figures.append(await _figure(name, limit, subject, size))
            return figures


async def _figure(name: str, limit: str | None, subject: Subject, size: int) -> Figure:
    for n in range(50):
        await subject.append(1_000_000 + n)
        await subject.load()
    bytes_before, rss_before = await subject.bytes(), _rss_mb()
    appends, loads, turns = [], [], []
    for n in range(TURNS):
        appends.append(await timed(subject.append(2_000_000 + n)))
        loads.append(await timed(subject.load()))
        turns.append(await timed(subject.turn(3_000_000 + n)))
    bytes_after = await subject.bytes()
    grown = None if bytes_before is None or bytes_after is None else (bytes_after - bytes_before) // (2 * TURNS)
    return Figure(
        subject=name,
        limit=limit,
        messages=size,
        append_ms=statistics.median(appends),
        load_ms=statistics.median(loads),
        turn_ms=statistics.median(turns),
        turn_p99_ms=statistics.quantiles(turns, n=100)[98],
        bytes_a_turn=grown,
        rss_mb=_rss_mb() - rss_before,
    )


async def timed(call: Awaitable[None]) -> float:
    """Await a call and return the milliseconds that it took."""
    began = time.perf_counter()
    await call
    return (time.perf_counter() - began) * 1000


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1_000_000
