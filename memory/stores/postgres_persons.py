"""Persons, what they forget and how they are joined, on PostgreSQL: shared steps (`person_steps.py`), each in a transaction."""

from __future__ import annotations

from typing import TypeVar

from memory.stores.forgetting import StoredForgetting
from memory.stores.links import StoredLinks
from memory.stores.person_steps import Dialect, Drop, Name, Put, Step
from memory.stores.persons import Run, StoredPersons
from memory.stores.postgres_derived import add_fragments, entry
from memory.stores.postgres_derived_sql import DROP_FRAGMENTS
from memory.stores.postgres_pool import Database, Transaction, columns
from memory.stores.postgres_steps import statement_of
from memory.stores.postgres_turn import MESSAGE
from memory.stores.purging import StoredPurging

Result = TypeVar("Result")

_DIALECT = Dialect(
    message=MESSAGE,
    overheard="to_json(o)",
    item="to_json(p)",
    fact="to_json(f)",
    summary="to_json(s)",
    no_steps="'[]'",
    no_ids="'{}'",
    among="= ANY(ARRAY(SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(:ids AS json))))",
    pairs="""(SELECT CAST(value ->> 0 AS bigint), CAST(value ->> 1 AS bigint)
      FROM json_array_elements(CAST(:pairs AS json)))""",
    stretches="""(SELECT CAST(value ->> 0 AS bigint) AS scope_id, value ->> 1 AS session_id,
      CAST(value ->> 2 AS bigint) AS first_id FROM json_array_elements(CAST(:stretches AS json)))""",
    lock=" FOR UPDATE",  # what is being learned or summarised from them has to stand before it is looked for
    touch="UPDATE scopes SET generation = generation + 1 WHERE id = :scope",
    barrier="LOCK TABLE messages, observed IN SHARE MODE",  # an append takes milliseconds; those that begin now see the mark
)


def postgres_persons(database: Database) -> StoredPersons:
    """Return the persons of a database."""
    run = _runner(database)
    return StoredPersons(_DIALECT, read=run, write=run, settled=_nothing)


def postgres_forgetting(database: Database) -> StoredForgetting:
    """Return what people forget of a database."""
    run = _runner(database)
    return StoredForgetting(_DIALECT, read=run, write=run)


def postgres_links(database: Database) -> StoredLinks:
    """Return the links of a database."""
    return StoredLinks(_DIALECT, write=_runner(database))


def postgres_purging(database: Database) -> StoredPurging:
    """Return what goes of a database when its time is over."""
    return StoredPurging(_DIALECT, write=_runner(database))


def _runner(database: Database) -> Run:
    async def run(step: Step[Result]) -> Result:
        async with database.transaction() as transaction:
            try:
                asked = next(step)
                while True:
                    if isinstance(asked, Drop):
                        await transaction.fetch(DROP_FRAGMENTS, columns(asked.fragments))
                        asked = step.send([])
                    elif isinstance(asked, Put):
                        await _put(transaction, asked)
                        asked = step.send([])
                    elif isinstance(asked, Name):
                        await _name(transaction, asked)
                        asked = step.send([])
                    else:
                        asked = step.send(await transaction.fetch(statement_of(asked.sql), asked.values))
            except StopIteration as done:
                result: Result = done.value
                return result

    return run


async def _put(transaction: Transaction, asked: Put) -> None:
    where = {"namespace": asked.namespace, "chat_type": asked.chat_type, "session_id": asked.session_id}
    await add_fragments(transaction, asked.person_id, [entry(asked.fragment, position=asked.position, **where)])


async def _name(transaction: Transaction, asked: Name) -> None:
    if asked.scope_id is not None:
        await transaction.name_owners(asked.scope_id)
    elif asked.fragments is not None:
        await transaction.name_owners_among(asked.fragments)
    else:
        await transaction.name(*asked.persons)


async def _nothing() -> None:
    """The server cleans up after itself."""
