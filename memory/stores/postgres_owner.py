"""Whose rows a statement may see: the second wall around what is known of people (row-level security).

The personal tables show a transaction the rows of those persons that it has named in the setting `clew.person`, and one that
has named nobody nothing: a query that forgot its filter finds nobody else's. The name ends with the transaction, so that no
pooled connection hands it on. Where one statement is all there is, it names the owner itself: no further round trip.
"""

from __future__ import annotations

from memory.stores.postgres_statement import Statement, statement

OWNER = """me AS MATERIALIZED (
  SELECT set_config('clew.person', coalesce('{' || %(person_id)s::bigint || '}', ''), true) AS person)"""
"""The one-row table `me`, for `WITH`: names the owner. What is personal stands in subselects `FROM me`: they are evaluated for
its row, after it. A scan beside `me` in a join may come before it, and then finds nothing."""

OWNERS = "me AS MATERIALIZED (SELECT set_config('clew.person', %(owners)s::bigint[]::text, true))"
"""As `OWNER`, of several persons."""

NAME = statement(f"WITH {OWNERS} SELECT FROM me")
"""Names persons for the rest of a transaction."""

_EVERYBODY = "everybody AS MATERIALIZED (SELECT set_config('clew.person', '*', true))"

# Ids alone, of whom something came from these messages; NULL: from any of the scope's, a branch of its own, as all of its index
# would be walked through for a few otherwise. Not by the messages' speakers: persons are joined and parted, and what is left of a
# deleted message is looked for with everybody. NAME follows.
OWNERS_OF = statement(f"""WITH {_EVERYBODY} SELECT (SELECT array_agg(DISTINCT o.person_id) FROM (
    SELECT f.person_id FROM facts f WHERE f.scope_id = %(scope_id)s AND f.last_source >= %(first_id)s
      AND (%(ids)s::bigint[] IS NULL OR f.source_ids && %(ids)s::bigint[])
    UNION ALL SELECT p.person_id FROM profile_items p
    WHERE p.scope_id = %(scope_id)s AND p.scope_id <> 0 AND p.last_source >= %(first_id)s
      AND (%(ids)s::bigint[] IS NULL OR p.source_ids && %(ids)s::bigint[])
    UNION ALL SELECT f.person_id FROM fragments f WHERE f.scope_id = %(scope_id)s AND f.id = ANY(%(ids)s::bigint[])
    UNION ALL SELECT f.person_id FROM fragments f WHERE f.scope_id = %(scope_id)s AND %(ids)s::bigint[] IS NULL) o)
  FROM everybody""")

OWNERS_AMONG = statement(f"""WITH {_EVERYBODY} SELECT (SELECT array_agg(DISTINCT o.person_id)
    FROM unnest(%(scope_ids)s::bigint[], %(ids)s::bigint[]) AS asked (scope_id, id), LATERAL (
      SELECT f.person_id FROM fragments f WHERE f.scope_id = asked.scope_id AND f.id = asked.id OFFSET 0) o)
  FROM everybody""")
"""As `OWNERS_OF`, of whom these fragments are, by name: several scopes' at once."""


def owned(select: str) -> Statement:
    """Return the statement of several rows of the owner's; `select` asks for `me.person <> ''`, so that it comes after it."""
    return statement(f"WITH {OWNER} SELECT mine.* FROM me, LATERAL ({select} OFFSET 0) mine")


def counting(columns: str) -> str:
    """Return the query of these columns, subselects over everybody's rows: for numbers about the whole store, and ids."""
    return f"WITH {_EVERYBODY} SELECT {columns} FROM everybody"
