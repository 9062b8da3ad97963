"""The instruments of `make bench-scale PART=engines` on small measure: what they tell apart is apart."""

from __future__ import annotations

import psycopg
import pytest
import redis
from redis.exceptions import ClusterCrossSlotError, MovedError

from memory.stores.postgres_turn import APPEND, APPEND_AND_LOAD, FENCE
from tests.bench.scale.by_column import BOTH, ERASED, NONE, OTHER, PERSON, QUEUE, SCOPE, UNKNOWN, sorted_out, spread
from tests.bench.scale.redis_said import listening, node_of, running_cluster
from tests.services import Valkey


@pytest.mark.parametrize(
    ("query", "kind", "one"),
    [
        ("SELECT text FROM messages WHERE scope_id = $1 AND id < $2", SCOPE, True),
        ("SELECT turn_id FROM ledgers WHERE due_ms < $1", SCOPE, False),
        ("SELECT title FROM scopes WHERE id = $1", SCOPE, True),
        ("SELECT text FROM messages WHERE scope_id = ANY($1::bigint[])", SCOPE, False),
        ("SELECT text FROM profile_items WHERE person_id = $1", PERSON, True),
        ("SELECT value FROM facts WHERE scope_id = $1", PERSON, False),
        ("SELECT value FROM facts f JOIN messages m USING (scope_id) WHERE f.person_id = $1", BOTH, False),
        ("SELECT json_build_object($1, text, $2, id) FROM messages WHERE scope_id = $3", SCOPE, True),
        ("INSERT INTO message_versions SELECT * FROM json_populate_recordset($1::message_versions, $2)", SCOPE, True),
        ("SELECT lane FROM inbox_lanes WHERE lane = $1", QUEUE, False),
        ("SELECT value FROM meta WHERE name = $1", OTHER, False),
        ("SELECT pg_notify($1, $2)", NONE, True),
        ("BEGIN", NONE, True),
        ("SELECT date $1", UNKNOWN, True),
        (
            "SELECT id FROM messages WHERE scope_id = $1 AND created_ms < extract($2 FROM now() - interval $3)",
            SCOPE,
            True,
        ),
        (FENCE.text.decode(), SCOPE, True),
        (APPEND.text.decode(), ERASED, False),
        (APPEND_AND_LOAD.text.decode(), BOTH, False),
    ],
)
def test_a_statement_is_sorted_by_the_tables_of_its_plan(postgres_url: str, query: str, kind: str, one: bool) -> None:
    """Whether it names one scope or person, too; constants that were counted as parameters have no type any more."""
    with psycopg.connect(postgres_url, autocommit=True) as db:
        sent = sorted_out(db, spread(postgres_url), query, calls=1, ms=1.0)

    assert (kind, one) == (sent.kind, sent.one), sent


def test_tables_go_by_the_column_that_the_catalogue_tells(postgres_url: str) -> None:
    tables = spread(postgres_url)

    assert {SCOPE} == {tables[name].by for name in ("scopes", "sessions", "messages", "ledgers", "ledgers_rest")}
    assert {PERSON} == {tables[name].by for name in ("persons", "identities", "facts", "fragments", "terms")}
    assert "ledgers" == tables["ledgers_rest"].of
    assert ["facts_pkey"] == tables["facts"].lacking
    assert [] == tables["messages"].lacking == tables["scopes"].lacking[1:]


async def test_what_is_said_to_redis_is_heard_word_for_word(valkey_server: Valkey, redis_url: str) -> None:
    """Whatever bytes it is made of; what a script calls is not a client's."""
    value = bytes(range(256)) + b'"\\" \\x41'
    async with listening(valkey_server) as heard:
        with redis.Redis.from_url(redis_url) as client:
            client.set("kéy", value)
            client.eval("return redis.call('GET', KEYS[1])", 1, "kéy")
        said = await heard.until_now()

    assert [("kéy".encode(), value)] == [one.words[1:] for one in said if one.name == "SET"]
    assert ["SET", "EVAL", "ECHO"] == [one.name for one in said if one.name in ("SET", "GET", "EVAL", "ECHO")]


def test_masters_share_the_slots() -> None:
    """A key of another's is refused, and so are keys of two slots in one command."""
    with running_cluster() as nodes:
        clients = [redis.Redis.from_url(node.url) for node in nodes]
        slot_of = {name: node_of(redis.crc.key_slot(name.encode())) for name in ("a", "b", "c", "d", "e", "f")}
        for name, number in slot_of.items():
            clients[number].set(name, "1")
        stranger = next(name for name, number in slot_of.items() if number != 0)
        with pytest.raises(MovedError):
            clients[0].get(stranger)
        with pytest.raises(ClusterCrossSlotError):
            clients[slot_of["a"]].delete("a", "b")
        for client in clients:
            client.close()

    assert {0, 1, 2} == set(slot_of.values())
