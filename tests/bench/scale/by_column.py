"""By which column tables would go to nodes, and by that of which kind a statement is, out of PostgreSQL's catalogue and plans.

Citus puts a table's rows on nodes by one column: ours by `scope_id`, or by `person_id`. A statement's tables are those that its
plan reads and writes, so that nothing has to be known of its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import psycopg
from psycopg.errors import AmbiguousFunction, IndeterminateDatatype, UndefinedFunction

from tests.bench.scale.cluster import admin

SCOPE, PERSON, QUEUE, OTHER = "scope_id", "person_id", "queue", "other"
BOTH, ERASED, MIXED, NONE, UNKNOWN = "both", "erased", "mixed", "none", "unknown"

# Rows of somebody's own are behind a policy, and go by the person even where they name a scope, too. A table with neither column
# goes by its id where others' columns refer to that. Which tables are the queue's no catalogue knows: by their names.
_TABLES = f"""SELECT c.relname::text, coalesce(p.relname, c.relname)::text,
    CASE WHEN c.relname ~ '^(inbox|outbox)' THEN '{QUEUE}'
      WHEN EXISTS (SELECT FROM pg_policy o WHERE o.polrelid = c.oid) THEN '{PERSON}'
      WHEN coalesce(has.scope_id, referred.by = '{SCOPE}', false) THEN '{SCOPE}'
      WHEN coalesce(has.person_id, referred.by = '{PERSON}', false) THEN '{PERSON}' ELSE '{OTHER}' END,
    referred.by IS NOT NULL AND NOT coalesce(has.scope_id OR has.person_id, false),
    (SELECT coalesce(json_object_agg(x.relname, (SELECT json_agg(a.attname) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum = ANY(i.indkey))), '{{}}')
      FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = c.oid AND i.indisunique)
  FROM pg_class c LEFT JOIN pg_inherits h ON h.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = h.inhparent
  LEFT JOIN LATERAL (SELECT bool_or(attname = '{SCOPE}') OR NULL AS scope_id, bool_or(attname = '{PERSON}') OR NULL AS person_id
    FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) has ON true
  LEFT JOIN LATERAL (SELECT min(a.attname) AS by FROM pg_constraint k JOIN pg_attribute a
    ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
    WHERE k.confrelid = c.oid AND cardinality(k.conkey) = 1 AND a.attname IN ('{SCOPE}', '{PERSON}')) referred ON true
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"""

_PLANNED = re.compile(r"(SELECT|INSERT|UPDATE|DELETE|WITH|MERGE|VALUES)\b", re.IGNORECASE)
_UNTYPED = re.compile(r"parameter (\$\d+)")
_LITERALS = (
    (re.compile(r"\bextract\(\$\d+ FROM", re.IGNORECASE), "extract(epoch FROM"),
    (re.compile(r"\binterval \$\d+", re.IGNORECASE), "interval '1 second'"),
)
_CHOICE_AS_TEXT = re.compile(
    r"\+ CASE((?:(?!\bCASE\b).)*?)THEN (\$\d+)(?:::text)? ELSE (\$\d+)(?:::text)? END", re.DOTALL
)
_AT_THE_END = re.compile(r"(\$\d+)\s*$")
_EXPLAIN = "EXPLAIN (GENERIC_PLAN, FORMAT JSON) "
_CONDITIONS = ("Index Cond", "Recheck Cond", "Filter", "Join Filter", "Hash Cond", "Merge Cond", "One-Time Filter")
_ONE = {name: re.compile(rf"\b{name} = \(?\$\d|\$\d+\)? = (\w+\.)?{name}\b") for name in (SCOPE, PERSON, "id")}

Node = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A table: of what it is a part (itself), by which column it would go, whether that is its own id; unique keys' columns."""

    of: str
    by: str
    own_id: bool
    unique: Mapping[str, Sequence[str]]

    @property
    def lacking(self) -> list[str]:
        """The unique keys that lack the column, and would have to change."""
        return [name for name, columns in self.unique.items() if ("id" if self.own_id else self.by) not in columns]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A statement under load: calls and the server's time of all, what it reads or writes, and of which kind it is. `one`, of
    one whose tables go by one column: it names a single value of it, or only adds rows, which each go to their node."""

    query: str
    calls: int
    ms: float
    tables: Sequence[str] = ()
    kind: str
    one: bool = True


def spread(url: str) -> dict[str, Spread]:
    """Return by which column each of the database's tables would go."""
    with admin(url) as db:
        return {
            str(name): Spread(of=str(of), by=str(by), own_id=bool(own_id), unique=unique)
            for name, of, by, own_id, unique in db.execute(_TABLES).fetchall()
        }


def sorted_out(db: psycopg.Connection, tables: Mapping[str, Spread], query: str, *, calls: int, ms: float) -> Sent:
    """Return the statement with what it is, by the plan of whoever is connected."""
    if not _PLANNED.match(query.lstrip()):
        return Sent(query=query, calls=calls, ms=ms, kind=NONE)
    try:
        nodes = list(_nodes(_plan(db, query)))
    except psycopg.Error:
        return Sent(query=query, calls=calls, ms=ms, kind=UNKNOWN)
    of = {str(node["Relation Name"]) for node in nodes if "Relation Name" in node} & tables.keys()
    kind = _kind([tables[name] for name in of])
    read = [node for node in nodes if node.get("Relation Name") in of and node.get("Operation") != "Insert"]
    return Sent(
        query=query, calls=calls, ms=ms, tables=sorted({tables[name].of for name in of}),
        kind=kind, one=not read or any(_names_one(node, tables, kind) for node in nodes),
    )  # fmt: skip


def _plan(db: psycopg.Connection, query: str) -> Node:
    """Return PostgreSQL's plan for whatever values. Raises the driver's errors.

    Counted, constants are parameters: those of the grammar are put back, those that had their type by themselves are given it.
    """
    for literal, put_back in _LITERALS:
        query = literal.sub(put_back, query)
    while True:
        try:
            ((plan,),) = db.execute(f"{_EXPLAIN}{query}".encode(), prepare=False).fetchall()
        except IndeterminateDatatype as exc:
            untyped = _UNTYPED.search(str(exc))
            if untyped is None:
                raise
            query = re.sub(rf"{re.escape(untyped[1])}(?!\d)", f"{untyped[1]}::text", query)
        except AmbiguousFunction as exc:  # of two such constants, or of one and a parameter
            at = int(exc.diag.statement_position or 0) - 1 - len(_EXPLAIN)
            before, typed = _AT_THE_END.subn(r"\1::bigint ", query[:at])
            if not typed:
                raise
            query = before + query[at:]
        except UndefinedFunction:
            if not _CHOICE_AS_TEXT.search(query):
                raise
            query = _CHOICE_AS_TEXT.sub(r"+ CASE\1THEN \2::integer ELSE \3::integer END", query)
        else:
            whole: Node = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
            return whole


def _nodes(plan: Node) -> Iterator[Node]:
    yield plan
    for below in plan.get("Plans", ()):  # type: ignore[attr-defined]
        yield from _nodes(below)


def _names_one(node: Node, tables: Mapping[str, Spread], column: str) -> bool:
    """Whether the node looks for a single value of the column, or of the id that it is; of any other column there is none."""
    if column not in _ONE:
        return False
    conditions = " ".join(str(node[name]) for name in _CONDITIONS if name in node)
    table = tables.get(str(node.get("Relation Name")))
    own_id = table is not None and table.own_id and table.by == column
    return bool(_ONE[column].search(conditions) or (own_id and _ONE["id"].search(conditions)))


def _kind(of: Sequence[Spread]) -> str:
    by = {one.by for one in of}
    columns = by & {SCOPE, PERSON}
    if QUEUE in by:
        return MIXED if columns else QUEUE
    if len(columns) == 2:  # who writes looks whether somebody was erased meanwhile
        return ERASED if all(one.own_id for one in of if one.by == PERSON) else BOTH
    return next(iter(columns), OTHER if by else NONE)
