"""What PostgreSQL reads for a turn that recalls and is learned from: the same in a long life of talk as in a short one (M4).

Counted in pages, never in time, as a plain role that policies hold for. `test_store_postgres.py` counts the window's part.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from memory.base import Load, Owner
from memory.key import ConversationKey
from memory.stores import postgres_derived_sql as derived_sql
from memory.stores import postgres_turn as turn_sql
from memory.stores.postgres_rows import load_values
from memory.stores.postgres_statement import Statement
from tests.bench.core import START_MS
from tests.bench.scale.filler import WORDS, Talk, fill, session_of
from tests.contracts.test_store_postgres import pages
from tests.services import Postgres, as_admin

SHORT, LONG = 2_000, 8_000
"""Messages of two people; of each word both have more than a load looks at."""


def _talk(name: str, messages: int) -> Talk:
    key = ConversationKey(user=name, channel="web", room=name, thread=None, chat_type="private", agent="a")
    return Talk(key, 10**15 + messages, 10**14 + messages, messages)


TALKS = (_talk("短", SHORT), _talk("长🧵", LONG))


@pytest.fixture(scope="module")
def filled(postgres_server: Postgres) -> Iterator[str]:
    with postgres_server.database() as url:
        fill(url, TALKS, others=1_000)
        yield url


async def _values(db: psycopg.AsyncConnection[tuple[Any, ...]], talk: Talk) -> dict[str, Any]:
    """Return the parameters of a turn of who talks: 20 messages are to be fetched, the words of the last are looked for."""
    await db.execute(f"SET clew.person = '{{{talk.person_id}}}'".encode())
    said = await (
        await db.execute(f"SELECT id, terms FROM fragments WHERE scope_id = {talk.scope_id} ORDER BY id".encode())
    ).fetchall()
    chosen = sorted(random.Random(7).sample(said, 20))
    (last, terms) = said[-1]
    owner = Owner(scope_id=talk.scope_id, person_id=talk.person_id, namespace="shared", chat_type="private", agent="a")
    return load_values(Load(owner=owner, now_ms=START_MS, terms=tuple(terms), hits=5)) | {
        "ids": [id_ for id_, _ in chosen],
        "scope_ids": [talk.scope_id] * len(chosen),
        "versions": [1] * len(chosen),
        "session_id": session_of(talk),
        "session_ids": [session_of(talk)],
        "turn_id": last,
        "rows": _new_fragment(talk, last + 1),
        "after_id": said[-40][0],
        "limit": 40,
        "items": [],
        "facts": [],
        "summaries": [],
    }


def _new_fragment(talk: Talk, id_: int) -> str:
    """As `postgres_derived.add_fragments` tells of one that stands behind the rest."""
    place = {"scope_id": talk.scope_id, "id": id_, "namespace": "shared", "chat_type": "private"}
    words = {"length": 3, "terms": [7, 8], "times": [1, 2]}
    return json.dumps([place | words | {"session_id": session_of(talk), "position": None}])


@pytest.mark.parametrize("known", [True, False], ids=["analyzed", "not analyzed"])
@pytest.mark.parametrize(
    ("name", "of", "most"),
    [
        ("LOAD", turn_sql, 500),
        ("FRAGMENTS", derived_sql, 700),
        ("ENDED", derived_sql, 80),
        ("ITEMS", derived_sql, 80),
        ("OF_TURN", derived_sql, 80),
        ("MATERIAL", derived_sql, 80),
        ("LIVE_IDS", derived_sql, 80),
        ("ADD_FRAGMENTS", derived_sql, 150),
        ("UNCHANGED", derived_sql, 150),
        ("STRETCH", derived_sql, 80),
    ],
)
async def test_four_times_as_much_to_remember_costs_no_more(
    filled: str, name: str, of: Any, most: int, known: bool
) -> None:
    """Recall reads the newest of each word and what stands around a hit; learning, its turn (B45). Also by a plan that was made
    while nothing was known of the tables, which would gladly begin with all of the person's fragments."""
    tested: Statement = getattr(of, name)
    async with await psycopg.AsyncConnection.connect(as_admin(filled), cursor_factory=psycopg.AsyncRawCursor) as db:
        for setting in ("plan_cache_mode = force_generic_plan", "enable_seqscan = off", "jit = off"):
            await db.execute(f"SET {setting}".encode())
        counted = []
        for talk in TALKS:
            values = await _values(db, talk)
            await db.commit()
            if not known:
                await db.execute(b"DELETE FROM pg_statistic WHERE starelid IN (SELECT relid FROM pg_stat_user_tables)")
            await db.execute(b"SET LOCAL ROLE clew")
            counted.append(await pages(db, tested, values))

    short, long = counted
    assert long <= 2 * short + 8
    assert long <= most


def test_the_words_are_as_many_as_the_count_needs() -> None:
    """Of each word there are five times as many messages as a load may get hits, in the short life too."""
    assert SHORT * 8 / len(WORDS) > 5 * 5
