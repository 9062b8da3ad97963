"""The statements of a turn on PostgreSQL: append, load, and both in one. Text only; `postgres.py` runs them.

Every part of a load is one subselect over `here`, the one-row table of where the turn stands. Joined they are one statement
and one round trip; alone, each is the fallback that keeps a broken part from taking the others with it (A27 to A31).

All is written for READ COMMITTED: the update of the scope's row makes appends wait for each other and sees its newest
state; everything else sees the statement's own snapshot, in which a scope's earlier appends are complete.
"""

from __future__ import annotations

from memory.base import Message
from memory.coverage import MOST
from memory.derived import READ_FOR_A_HIT
from memory.postgres_fences import LOWEST
from memory.stores.postgres_owner import OWNER
from memory.stores.postgres_statement import statement

CARRIED = 20
"""How many messages of the scope it continues open a new one."""

MESSAGE = "json_build_array(" + ", ".join(f'm."{field}"' for field in Message.__struct_fields__) + ")"
"""A message as it is decoded: an array in the order of its fields."""

_INSERTED = """id, scope_id, session_id, turn_id, event_id, role, text, "user", channel, conversation, chat_type, agent,
  speaker_name, person_id, tokens, low_value, created_ms, version, platform_message_id, reply_to, quote, thinking, thinking_s,
  steps, looked_up_ms"""

_PROFILE = """SELECT to_json(p) AS row FROM profile_items p
  WHERE p.person_id = %(person_id)s AND p.namespace = %(namespace)s AND p.status = 'active' AND p.valid_from_ms <= %(now_ms)s
  AND (p.valid_to_ms IS NULL OR p.valid_to_ms > %(now_ms)s) AND (p.chat_type = 'group' OR %(private_too)s)"""

_LAST_SESSION = """FROM sessions c WHERE c.scope_id = here.carry_scope_id AND c.first_id <= here.carry_last_id
    ORDER BY c.first_id DESC LIMIT 1"""


def same_agent(fragments: str) -> str:
    """Return the condition that the scope of these fragments has, by one of its names, the agent that is asked. Whether the
    message itself does, who fetches it looks."""
    return f"""(EXISTS (SELECT FROM scopes s WHERE s.id = {fragments}.scope_id AND s.agent = %(agent)s)
        OR EXISTS (SELECT FROM scopes s WHERE s.alias_of = {fragments}.scope_id AND s.agent = %(agent)s))"""


_THERE = """{m}.deleted_ms IS NULL
    AND NOT EXISTS (SELECT FROM withheld w WHERE w.scope_id = {m}.scope_id AND w.id = {m}.id)"""
_NEWEST_SUMMARY = """FROM summaries s
    WHERE s.scope_id = here.scope_id AND s.session_id = here.session_id ORDER BY s.id DESC LIMIT 1"""
COVERING = f"""SELECT json_build_array(to_json(s), b.digest, (
    SELECT coalesce(json_agg(json_build_array(m.id, m.version) ORDER BY m.id), '[]') FROM (SELECT m.id, m.version FROM messages m
      WHERE m.scope_id = s.scope_id AND m.session_id = s.session_id AND m.id <= s.last_id
      AND m.id > greatest(coalesce(b.last_id, 0), here.first_id - 1) AND {_THERE.format(m="m")}
      AND EXISTS (SELECT FROM messages q WHERE q.scope_id = m.scope_id AND q.turn_id = m.turn_id
        AND q.role = 'user' AND {_THERE.format(m="q")})
      ORDER BY m.id LIMIT {MOST + 1}) m)) AS row
  FROM (SELECT s.* {_NEWEST_SUMMARY}) s
  LEFT JOIN LATERAL (SELECT e.digest, e.last_id FROM summaries e
    WHERE e.scope_id = s.scope_id AND e.session_id = s.session_id AND e.id < s.id ORDER BY e.id DESC LIMIT 1) b ON true"""
"""The newest summary of the session that stands in `here`, as a `memory.coverage.Covering`."""

PARTS = {
    "window": f"""SELECT {MESSAGE} AS row FROM messages m
  WHERE m.scope_id = here.scope_id AND m.id BETWEEN here.first_id AND here.until_id AND m.session_id = here.session_id
  ORDER BY m.id DESC LIMIT %(page)s + 1""",
    "observed": """SELECT to_json(o) AS row FROM observed o
  WHERE o.scope_id = here.scope_id ORDER BY o.id DESC LIMIT %(observed)s""",
    "summary": COVERING,
    "facts": """SELECT to_json(f) AS row FROM facts f
  WHERE f.scope_id = here.scope_id AND f.session_id = here.session_id AND f.person_id = %(person_id)s
  AND f.status = 'active' AND f.expires_ms > %(now_ms)s ORDER BY f.id""",
    "pinned": f"{_PROFILE} AND p.pinned ORDER BY p.id",
    "profile": f"{_PROFILE} AND NOT p.pinned ORDER BY p.id DESC LIMIT %(profile)s",
    "unlearned": """SELECT count(*) AS row FROM ledgers l WHERE l.scope_id = here.scope_id AND l.due_ms IS NOT NULL""",
    "hits": f"""SELECT json_build_array(t.scope_id, t.id, t.session_id, t."position", t.length,
    json_object_agg(t.term, t.times)) AS row
  FROM unnest(%(terms)s::bigint[]) AS asked (term)
  CROSS JOIN LATERAL (SELECT t.term, t.times, mine.scope_id, mine.id, mine.session_id, mine."position", mine.length
    FROM (SELECT t.term, t.times, t.scope_id, t.id FROM terms t WHERE t.term = asked.term
      ORDER BY t.id DESC LIMIT {READ_FOR_A_HIT} * %(hits)s) t JOIN fragments mine ON mine.scope_id = t.scope_id AND mine.id = t.id
    WHERE mine.person_id = %(person_id)s AND mine.namespace = %(namespace)s
      AND (mine.scope_id = 0 OR mine.scope_id = %(scope_id)s OR (%(private)s AND {same_agent("mine")}))
      AND (mine.chat_type = 'group' OR %(private_too)s)
    ORDER BY t.id DESC LIMIT %(hits)s) t
  GROUP BY t.scope_id, t.id, t.session_id, t."position", t.length""",
    "corpus": """SELECT json_build_object('fragments', c.fragments, 'length', c.length, 'generation', c.generation) AS row
  FROM corpora c WHERE c.person_id = %(person_id)s AND c.namespace = %(namespace)s""",
    "handover": f"""SELECT to_json(s) AS row FROM summaries s
  WHERE s.scope_id = here.carry_scope_id AND s.session_id = (SELECT c.id {_LAST_SESSION}) ORDER BY s.id DESC LIMIT 1""",
    "carried": f"""SELECT {MESSAGE} AS row FROM messages m
  WHERE m.scope_id = here.carry_scope_id AND m.id BETWEEN (SELECT c.first_id {_LAST_SESSION}) AND here.carry_last_id
  AND m.session_id = (SELECT c.id {_LAST_SESSION}) ORDER BY m.id DESC LIMIT {CARRIED}""",
}
"""What each part of `memory.base.Loaded` selects, given `here`: a JSON value a row."""

PERSONAL = ("pinned", "profile", "hits", "corpus")
"""The parts that need no scope."""

# The scope and the session to read. `until_id`: the last id of an ended session, and of what stood before a turn's own rows.
_HERE = """here AS (
  SELECT s.id AS scope_id, coalesce(%(session_id)s, s.session_id) AS session_id, e.first_id, s.generation,
    least(e.last_id, %(before_id)s::bigint - 1, 9223372036854775807) AS until_id,
    CASE WHEN s.session_no <= 1 THEN s.carry_scope_id END AS carry_scope_id, s.carry_last_id
  FROM scopes s LEFT JOIN sessions e ON e.id = coalesce(%(session_id)s, s.session_id) AND e.scope_id = s.id
  WHERE s.id = %(scope_id)s)"""


def _joined(parts: dict[str, str]) -> str:
    return ",\n".join(f"(SELECT json_agg(w.row) FROM ({select}) w) AS {name}" for name, select in parts.items())


LOAD = statement(f"WITH {OWNER}, {_HERE} SELECT here.session_id, here.generation,\n{_joined(PARTS)} FROM me, here")

HEAD = statement(f"WITH {_HERE} SELECT here.session_id, here.generation, here.carry_scope_id FROM here")

ALONE = {
    name: statement(
        f"WITH {OWNER} SELECT {_joined({name: select})} FROM me"
        if name in PERSONAL
        else f"WITH {OWNER}, {_HERE} SELECT {_joined({name: select})} FROM me, here"
    )
    for name, select in (
        PARTS | {"summary": f"SELECT json_build_array(to_json(s), NULL, NULL) AS row {_NEWEST_SUMMARY}"}
    ).items()
}
"""One statement a part; the summary's does without the messages, which it is what is left of where they can't be read."""

# The session goes on: the turn stands in one already, or the active one has not expired and no other one was asked for.
_CONTINUES = """(turn.session_id IS NOT NULL OR (s.session_id IS NOT NULL AND %(now_ms)s - s.session_last_ms < %(idle_ms)s
      AND coalesce(%(asked)s, s.session_id) = s.session_id))"""
# How far the ids drawn by the caller are lifted, so that the scope's ids grow whatever the clock did.
_LIFT = "greatest(0, s.last_id + 1 - %(first_id)s)"

_IN_TIME = f"s.fence <= %(fence)s AND {LOWEST} <= %(fence)s"

_ERASED = "SELECT p.id FROM persons p WHERE p.id = ANY(%(persons)s::bigint[]) AND p.erased_ms IS NOT NULL"

_APPEND = f"""turn AS MATERIALIZED (
  SELECT (SELECT m.session_id FROM messages m WHERE m.scope_id = %(scope_id)s AND m.turn_id = %(turn_id)s
    ORDER BY m.id + 0 LIMIT 1) AS session_id -- + 0: not by walking the scope's whole history in the order of its ids
), head AS (
  UPDATE scopes s SET
    last_id = %(last_id)s + {_LIFT},
    fence = %(fence)s,
    session_id = CASE WHEN {_CONTINUES} THEN s.session_id ELSE %(fresh_id)s END,
    session_first_id = CASE WHEN {_CONTINUES} THEN s.session_first_id ELSE %(first_id)s + {_LIFT} END,
    session_last_ms = CASE WHEN turn.session_id IS NOT NULL AND turn.session_id IS DISTINCT FROM s.session_id
      THEN s.session_last_ms ELSE greatest(s.session_last_ms, %(now_ms)s) END,
    session_no = s.session_no + CASE WHEN {_CONTINUES} THEN 0 ELSE 1 END,
    last_ms = greatest(s.last_ms, %(now_ms)s),
    title_id = CASE WHEN s.title = '' THEN %(title_id)s + {_LIFT} ELSE s.title_id END,
    title = CASE WHEN s.title = '' THEN %(title)s ELSE s.title END
  FROM turn WHERE s.id = %(scope_id)s AND {_IN_TIME} AND (s.alias_of IS NULL OR turn.session_id IS NOT NULL)
    AND NOT EXISTS ({_ERASED})
  RETURNING s.id AS scope_id, s.last_id, s.session_id AS active_id, s.session_no, s.session_first_id,
    coalesce(turn.session_id, s.session_id) AS session_id, s.last_id - %(last_id)s AS lift,
    s.session_first_id = %(first_id)s + s.last_id - %(last_id)s AS opened, s.carry_scope_id, s.carry_last_id
), ended AS (
  UPDATE sessions e SET last_id = (SELECT session_first_id - 1 FROM head), ended_ms = %(now_ms)s
  WHERE (SELECT opened FROM head) AND e.scope_id = %(scope_id)s AND e.ended_ms IS NULL
), started AS (
  INSERT INTO sessions (id, scope_id, first_id, started_ms)
  SELECT head.session_id, head.scope_id, head.session_first_id, %(now_ms)s FROM head WHERE head.opened
), lengthened AS (
  UPDATE sessions e SET last_id = (SELECT last_id FROM head)
  WHERE (SELECT session_id IS DISTINCT FROM active_id FROM head) AND e.id = (SELECT session_id FROM head)
), added AS (
  INSERT INTO messages ({_INSERTED})
  SELECT m.id + head.lift, head.scope_id, head.session_id, %(turn_id)s, m.event_id, m.role, m.text, m."user", m.channel,
    m.conversation, m.chat_type, m.agent, m.speaker_name, m.person_id, m.tokens, m.low_value, %(now_ms)s, 1,
    m.platform_message_id, m.reply_to, m.quote, m.thinking, m.thinking_s, m.steps, m.looked_up_ms
  FROM head, json_populate_recordset(NULL::messages, %(messages)s) m
)"""

_APPENDED = "head.lift, head.session_id, head.opened"

_LEDGER = """INSERT INTO ledgers (turn_id, scope_id, created_ms, due_ms, body)
  SELECT %(ledger_turn_id)s, %(ledger_scope_id)s, %(ledger_ms)s, %(ledger_ms)s, %(ledger)s FROM {source}
  ON CONFLICT (turn_id) DO UPDATE
  SET created_ms = excluded.created_ms, due_ms = excluded.due_ms, tries = 0, body = excluded.body
  WHERE ledgers.scope_id = excluded.scope_id"""

# The row is locked, not only read: a newer owner's append has either been seen, or waits.
SAVE_LEDGER = statement(f"""WITH head AS (
  SELECT FROM scopes s WHERE s.id = %(ledger_scope_id)s AND {_IN_TIME} AND NOT EXISTS ({_ERASED})
  FOR NO KEY UPDATE OF s
), ledger AS (
  {_LEDGER.format(source="head")}
) SELECT true FROM head""")

APPEND = statement(f"WITH {_APPEND} SELECT {_APPENDED} FROM head")

APPEND_WITH_LEDGER = statement(f"""WITH {_APPEND}, ledger AS (
  {_LEDGER.format(source="head")}
) SELECT {_APPENDED} FROM head""")

# The generation is the snapshot's, as the window is: the one that `head` sees may belong to an edit that the window does not.
APPEND_AND_LOAD = statement(f"""WITH {OWNER}, {_APPEND}, here AS (
  SELECT head.scope_id, head.session_id, head.last_id AS until_id, head.carry_last_id,
    CASE WHEN head.session_no <= 1 THEN head.carry_scope_id END AS carry_scope_id,
    CASE WHEN head.session_id = head.active_id THEN head.session_first_id
      ELSE (SELECT e.first_id FROM sessions e WHERE e.id = head.session_id) END AS first_id
  FROM head)
SELECT {_APPENDED}, (SELECT s.generation FROM scopes s WHERE s.id = %(scope_id)s),
{_joined(PARTS)} FROM me, head, here""")

# A newer lane owner repeats what an older one has stored: the rows stand, and the older one is shut out from here on.
REPEATED = "messages_turn"
"""The unique index that refuses a message which an earlier try has stored."""

REPEAT = statement(f"""WITH head AS (
  UPDATE scopes s SET fence = %(fence)s WHERE s.id = %(scope_id)s AND {_IN_TIME})
SELECT (SELECT json_agg(w.row) FROM (SELECT {MESSAGE} AS row FROM messages m
  WHERE m.scope_id = %(scope_id)s AND m.turn_id = %(turn_id)s ORDER BY m.id + 0 DESC) w)""")

ERASED = statement(_ERASED)
FENCE = statement(f"SELECT greatest(s.fence, {LOWEST}), s.alias_of FROM scopes s WHERE s.id = %(scope_id)s")
