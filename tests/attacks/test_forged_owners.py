"""A forged owner through every verb of memory's protocols, on every database (C18, C21, survey: isolation under attack).

What was there is read by the database's superuser, past row-level security: the attacks fail because of what the verbs do, not
because there was nothing to find.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.attacks.neighbours import WORDS, Neighbours, neighbours
from tests.attacks.verbs import ATTACKS, NOBODYS, PROTOCOLS, personal, verbs
from tests.contracts.columns import COLUMNS, Column, PostgresColumn, RedisColumn, SqliteColumn
from tests.services import Postgres, Valkey

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module", params=COLUMNS)
def column(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Column]:
    if request.param == "sqlite":
        yield SqliteColumn(tmp_path_factory.mktemp("forged"))
        return
    server: Postgres = request.getfixturevalue("postgres_server")
    with server.database() as url:
        if request.param == "postgres":
            yield PostgresColumn(url)
        else:
            cache: Valkey = request.getfixturevalue("valkey_server")
            yield RedisColumn(url, cache.emptied())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(column: Column) -> AsyncIterator[Neighbours]:
    async with neighbours(column) as living:
        yield living


async def test_everything_is_known_of_the_victim(there: Neighbours) -> None:
    """An attack on an empty table would prove nothing: each table that holds what is said or known has rows of hers, and whoever
    is she is told all of it."""
    hers = {table for table, _ in there.hers()}

    of_people = {
        "agent_choices", "called", "corpora", "facts", "fragments", "identities", "ledgers", "link_codes", "listings",
        "messages", "observed", "persons", "privacy_requests", "profile_items", "scopes", "sessions", "summaries", "vectors",
    }  # fmt: skip
    assert set() == of_people - hers - {"agent_choices"}, "a choice names its account alone"
    loaded = await there.store.load(there.ann.load())
    assert loaded.facts
    assert loaded.profile
    assert loaded.hits
    assert set(WORDS[:3]) <= set(there.leaks(personal(loaded)))


@pytest.mark.parametrize("verb", ATTACKS)
async def test_nothing_of_somebody_else_s_comes_back_or_changes(there: Neighbours, verb: str) -> None:
    """Own person, forged numbers, patterns for names: zero rows."""
    before = there.seen or there.hers()

    result = await ATTACKS[verb](there)

    after = there.hers()
    there.seen = after
    assert [] == there.leaks(result)
    assert set() == before - after, "changed or gone"
    assert set() == after - before, "written in her name"


async def test_no_verb_is_without_an_attack() -> None:
    """A verb that is added to a protocol has to be tried, or to say why it can't be."""
    promised = set().union(*(verbs(protocol) for protocol in PROTOCOLS))

    assert set() == promised - set(ATTACKS) - set(NOBODYS)
    assert set() == (set(ATTACKS) | set(NOBODYS)) - promised, "of no protocol any more"
