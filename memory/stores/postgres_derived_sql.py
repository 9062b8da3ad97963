"""The statements of what memory makes of messages on PostgreSQL. Text only; `postgres_derived.py` runs them."""

from __future__ import annotations

from memory.base import Fact, ProfileItem, Summary
from memory.derived import ENDED_ROWS, LIMIT_TURNS
from memory.stores.postgres_owner import OWNER
from memory.stores.postgres_statement import statement
from memory.stores.postgres_turn import COVERING, MESSAGE

# --- the queue ---

# Each scope's oldest turn that is due, found by stepping from scope to scope through the index of what is due: a plan that looks
# for the oldest of all turns instead reads every one that was learned from, and comparing all that is due is quadratic.
_HEADS = """head AS (
  (SELECT l.scope_id, l.turn_id, l.due_ms FROM ledgers l WHERE l.due_ms IS NOT NULL ORDER BY l.scope_id, l.turn_id LIMIT 1)
  UNION ALL SELECT further.* FROM head CROSS JOIN LATERAL (
    SELECT l.scope_id, l.turn_id, l.due_ms FROM ledgers l
    WHERE l.due_ms IS NOT NULL AND l.scope_id > head.scope_id ORDER BY l.scope_id, l.turn_id LIMIT 1) further)"""

# Of two that claim one scope at a moment the second finds the first one's row, and gets nothing.
CLAIM = statement(f"""WITH RECURSIVE {_HEADS}, chosen AS MATERIALIZED (
  SELECT head.turn_id FROM head WHERE head.due_ms <= %(now_ms)s
    AND NOT EXISTS (SELECT FROM learners h WHERE h.scope_id = head.scope_id AND h.until_ms > %(now_ms)s)
  ORDER BY head.turn_id LIMIT %(limit)s
), oldest AS (
  SELECT l.scope_id, l.turn_id, l.body, l.tries FROM chosen JOIN ledgers l USING (turn_id)
), held AS (
  INSERT INTO learners AS h (scope_id, owner, until_ms) SELECT scope_id, %(owner)s, %(until_ms)s FROM oldest ORDER BY scope_id
  ON CONFLICT (scope_id) DO UPDATE SET owner = excluded.owner, until_ms = excluded.until_ms WHERE h.until_ms <= %(now_ms)s
  RETURNING scope_id)
SELECT oldest.turn_id, oldest.body, oldest.tries FROM oldest JOIN held USING (scope_id) ORDER BY oldest.turn_id""")
RELEASE = statement("DELETE FROM learners WHERE scope_id = %(scope_id)s AND owner = %(owner)s")
# What can't be read is set aside, and its scope given back at once.
SET_ASIDE = statement("""WITH aside AS (
  UPDATE ledgers SET due_ms = NULL WHERE turn_id = ANY(%(turn_ids)s::bigint[]) RETURNING scope_id)
DELETE FROM learners h USING aside WHERE h.scope_id = aside.scope_id AND h.owner = %(owner)s""")
PUT_OFF = statement(
    "UPDATE ledgers SET due_ms = %(due_ms)s, tries = tries + 1 WHERE turn_id = %(turn_id)s AND due_ms IS NOT NULL"
)
NEXT_DUE = statement(f"""WITH RECURSIVE {_HEADS}
SELECT min(greatest(head.due_ms, (SELECT until_ms FROM learners h WHERE h.scope_id = head.scope_id))) FROM head""")
BACKLOG = statement("SELECT count(*), min(turn_id) FROM ledgers WHERE due_ms IS NOT NULL")

# --- what a turn is learned from ---

# Whom a person is one with now (memory/links.py).
_LIVING = """who (id, linked_to, erased_ms) AS (
  SELECT id, linked_to, erased_ms FROM persons WHERE id = %(person_id)s
  UNION ALL SELECT p.id, p.linked_to, p.erased_ms FROM persons p JOIN who ON p.id = who.linked_to
), living AS MATERIALIZED (SELECT id FROM who WHERE linked_to IS NULL AND erased_ms IS NULL)"""
PERSON = statement(f"WITH RECURSIVE {_LIVING} SELECT id FROM living")
# No session's messages stand before its first one: what the scope had said earlier is not walked through.
_AFTER = """greatest({}, coalesce((SELECT e.first_id - 1 FROM sessions e
    WHERE e.id = {} AND e.scope_id = %(scope_id)s), 0))"""
# The turn's messages, newest first; the one before them in their session; which of all these are withheld.
OF_TURN = statement(f"""WITH said AS MATERIALIZED (
  SELECT m.id, m.session_id, {MESSAGE} AS row FROM messages m WHERE m.scope_id = %(scope_id)s AND m.turn_id = %(turn_id)s
), first AS MATERIALIZED (SELECT id, session_id FROM said ORDER BY id LIMIT 1
), earlier AS MATERIALIZED (
  SELECT m.id, {MESSAGE} AS row FROM messages m
  WHERE m.scope_id = %(scope_id)s AND m.id < (SELECT id FROM first) AND m.session_id = (SELECT session_id FROM first)
    AND m.id > {_AFTER.format("0", "(SELECT session_id FROM first)")} ORDER BY m.id DESC LIMIT 1)
SELECT (SELECT json_agg(row ORDER BY id DESC) FROM said), (SELECT json_agg(row) FROM earlier),
  ARRAY(SELECT w.id FROM (SELECT id FROM said UNION ALL SELECT id FROM earlier) one
    JOIN withheld w ON w.scope_id = %(scope_id)s AND w.id = one.id)""")
WITHHELD = statement("SELECT id FROM withheld WHERE scope_id = %(scope_id)s AND id = ANY(%(ids)s::bigint[])")
_LIVE_FACTS = "f.status = 'active' AND f.expires_ms > %(now_ms)s"
_LIVE_ITEMS = "p.status = 'active' AND (p.valid_to_ms IS NULL OR p.valid_to_ms > %(now_ms)s)"
# Of whom the person is one with, who is named for these rows as in `OWNER`; no row: of nobody.
MATERIAL = statement(f"""WITH RECURSIVE {_LIVING}, me AS MATERIALIZED (
  SELECT id, set_config('clew.person', '{{' || id || '}}', true) FROM living)
  SELECT me.id,
  (SELECT json_agg(to_json(f) ORDER BY f.id) FROM facts f WHERE f.person_id = me.id
    AND f.scope_id = %(scope_id)s AND f.session_id = %(session_id)s AND {_LIVE_FACTS}),
  (SELECT json_agg(to_json(p) ORDER BY p.id) FROM profile_items p WHERE p.person_id = me.id
    AND p.namespace = %(namespace)s AND {_LIVE_ITEMS})
  FROM me""")
# Names the person for the rest of the transaction, too.
LIVE_IDS = statement(f"""WITH {OWNER} SELECT
  ARRAY(SELECT f.id FROM facts f WHERE f.person_id = %(person_id)s
    AND f.scope_id = %(scope_id)s AND f.session_id = %(session_id)s AND {_LIVE_FACTS} ORDER BY f.id),
  ARRAY(SELECT p.id FROM profile_items p WHERE p.person_id = %(person_id)s
    AND p.namespace = %(namespace)s AND {_LIVE_ITEMS} ORDER BY p.id)
  FROM me""")
KNOWN = statement(f"""WITH {OWNER} SELECT
  (SELECT json_agg(to_json(f) ORDER BY f.id) FROM facts f WHERE f.person_id = %(person_id)s AND {_LIVE_FACTS}),
  (SELECT json_agg(to_json(p) ORDER BY p.id) FROM profile_items p WHERE p.person_id = %(person_id)s AND {_LIVE_ITEMS})
  FROM me""")

# --- what was learned ---

# The rows stay locked: an edit waits until what was learned stands, and then takes it along.
UNCHANGED = statement("""SELECT count(*) FROM (SELECT FROM messages m
  JOIN unnest(%(ids)s::bigint[], %(versions)s::bigint[]) AS a (id, version) ON m.id = a.id AND m.version = a.version
  WHERE m.scope_id = %(scope_id)s AND m.deleted_ms IS NULL FOR SHARE OF m) same""")
# Of one person one turn, or one correction, is written at a time: each sees what the last one made live.
LOCK_PERSON = statement("SELECT id FROM persons WHERE id = %(person_id)s FOR NO KEY UPDATE")
DONE = statement("""UPDATE ledgers SET due_ms = NULL, body = %(ledger)s
  WHERE turn_id = %(turn_id)s AND scope_id = %(scope_id)s AND due_ms IS NOT NULL RETURNING turn_id""")
END_FACTS = statement("""UPDATE facts SET status = %(status)s, expires_ms = least(expires_ms, %(now_ms)s)
  WHERE id = ANY(%(ids)s::bigint[]) AND person_id = %(person_id)s AND status = 'active'""")
END_ITEMS = statement("""UPDATE profile_items SET status = %(status)s, valid_to_ms = %(now_ms)s
  WHERE id = ANY(%(ids)s::bigint[]) AND person_id = %(person_id)s AND status = 'active'""")
SLIDE = statement("""UPDATE facts SET expires_ms = greatest(expires_ms, %(until_ms)s)
  WHERE scope_id = %(scope_id)s AND session_id = %(session_id)s AND person_id = %(person_id)s AND status = 'active'
  AND expires_ms > %(now_ms)s""")


def _insert(table: str, columns: tuple[str, ...]) -> str:
    names = ", ".join(columns)
    return f"INSERT INTO {table} ({names}) SELECT {names} FROM json_populate_recordset(NULL::{table}, %(rows)s)"


ADD_FACTS = statement(_insert("facts", Fact.__struct_fields__))
ADD_ITEMS = statement(_insert("profile_items", ProfileItem.__struct_fields__))

# --- the index of recall ---

# What has no position yet comes behind the rest of its session, in the order of ids. OFFSET 0: looked up one by one, where a plan
# made while the table is small would read all of the person's.
ADD_FRAGMENTS = statement("""WITH given AS MATERIALIZED (
  SELECT g.* FROM json_to_recordset(%(rows)s) AS g (scope_id bigint, id bigint, namespace text, chat_type text, session_id text,
    "position" bigint, length bigint, terms bigint[], times bigint[])
  WHERE NOT EXISTS (SELECT FROM fragments f WHERE f.scope_id = g.scope_id AND f.id = g.id OFFSET 0)
), fresh AS (
  INSERT INTO fragments (scope_id, id, person_id, namespace, chat_type, session_id, "position", length, terms)
  SELECT g.scope_id, g.id, %(person_id)s, g.namespace, g.chat_type, g.session_id, coalesce(g."position",
    (SELECT coalesce(max(f."position"), -1) FROM fragments f WHERE f.scope_id = g.scope_id AND f.session_id = g.session_id)
      + row_number() OVER (PARTITION BY g.scope_id, g.session_id, g."position" IS NULL ORDER BY g.id)), g.length, g.terms
  FROM given g ON CONFLICT DO NOTHING RETURNING scope_id, id, namespace, length
), added AS (
  INSERT INTO terms (term, id, scope_id, times)
  SELECT t.term, g.id, g.scope_id, t.times
  FROM fresh JOIN given g USING (scope_id, id), unnest(g.terms, g.times) AS t (term, times)
)
INSERT INTO corpora AS c (person_id, namespace, fragments, length, generation)
SELECT %(person_id)s, namespace, count(*), sum(length), 1 FROM fresh GROUP BY namespace
ON CONFLICT (person_id, namespace) DO UPDATE SET fragments = c.fragments + excluded.fragments,
  length = c.length + excluded.length, generation = c.generation + 1""")

# Follows a table `dropped (scope_id, id)`.
DROPPED = """index_gone AS (
  DELETE FROM fragments f USING dropped d WHERE f.scope_id = d.scope_id AND f.id = d.id
  RETURNING f.scope_id, f.id, f.person_id, f.namespace, f.length, f.terms
), terms_gone AS (
  DELETE FROM terms t USING (SELECT g.scope_id, g.id, unnest(g.terms) AS term FROM index_gone g) x
  WHERE t.term = x.term AND t.id = x.id AND t.scope_id = x.scope_id
), counted AS (
  UPDATE corpora c SET fragments = c.fragments - g.fragments, length = c.length - g.length, generation = c.generation + 1
  FROM (SELECT person_id, namespace, count(*) AS fragments, sum(length) AS length FROM index_gone
    GROUP BY person_id, namespace) g
  WHERE c.person_id = g.person_id AND c.namespace = g.namespace)"""
DROP_FRAGMENTS = statement(f"""WITH dropped AS (
  SELECT * FROM unnest(%(scope_ids)s::bigint[], %(ids)s::bigint[]) AS d (scope_id, id)
), {DROPPED} SELECT count(*) FROM index_gone""")

# Follow a table `touched (scope_id, id, turn_id)` of messages: what came from them is deleted.
_TAKEN_ALONG = f"""facts_gone AS (
  DELETE FROM facts f USING touched t WHERE f.scope_id = t.scope_id AND f.last_source >= t.id AND t.id = ANY(f.source_ids)
), items_gone AS (
  DELETE FROM profile_items p USING touched t
  WHERE p.scope_id = t.scope_id AND p.scope_id <> 0 AND p.last_source >= t.id AND t.id = ANY(p.source_ids) RETURNING p.id
), dropped AS (
  SELECT scope_id, id FROM touched UNION SELECT 0, id FROM items_gone
), {DROPPED}"""
SOURCE_CHANGED = f"""summaries_gone AS (
  DELETE FROM summaries s USING touched t WHERE s.scope_id = t.scope_id AND t.id BETWEEN s.first_id AND s.last_id
), again AS (
  UPDATE ledgers l SET due_ms = %(now_ms)s, tries = 0 FROM touched t
  WHERE l.turn_id = t.turn_id AND l.scope_id = t.scope_id
), {_TAKEN_ALONG}"""
FORGET_SOURCES = statement(f"""WITH touched AS (
  SELECT %(scope_id)s::bigint AS scope_id, id FROM unnest(%(ids)s::bigint[]) AS s (id)
), {_TAKEN_ALONG} SELECT count(*) FROM index_gone""")

# --- summaries ---

COVERED = statement(f"""WITH here AS (SELECT %(scope_id)s::bigint AS scope_id, %(session_id)s::text AS session_id, coalesce((
    SELECT e.first_id FROM sessions e WHERE e.id = %(session_id)s AND e.scope_id = %(scope_id)s), 0) AS first_id
), newest AS (SELECT w.row FROM here, LATERAL ({COVERING}) w)
SELECT (SELECT row FROM newest), count(DISTINCT m.turn_id), coalesce(sum(m.tokens), 0)::bigint FROM (
  SELECT turn_id, tokens FROM messages WHERE scope_id = %(scope_id)s AND session_id = %(session_id)s
    AND id > {_AFTER.format("(SELECT (row #>> '{{0,last_id}}')::bigint FROM newest)", "%(session_id)s")} AND deleted_ms IS NULL
  ORDER BY id LIMIT {2 * LIMIT_TURNS}) m""")
DROP_SUMMARY = statement("DELETE FROM summaries WHERE scope_id = %(scope_id)s AND id = %(id)s")
STRETCH = statement(f"""SELECT json_agg(w.row ORDER BY w.id DESC) FROM (SELECT {MESSAGE} AS row, m.id FROM messages m
  WHERE m.scope_id = %(scope_id)s AND m.id > {_AFTER.format("%(after_id)s", "%(session_id)s")} AND m.session_id = %(session_id)s
  ORDER BY m.id LIMIT %(limit)s) w""")
HOLDS = statement("""SELECT (SELECT max(s.id) FROM summaries s WHERE s.scope_id = %(scope_id)s
    AND s.session_id = %(session_id)s) IS NOT DISTINCT FROM %(replaces)s::bigint
  FROM learners WHERE scope_id = %(scope_id)s AND owner = %(owner)s AND until_ms > %(now_ms)s FOR UPDATE""")
ADD_SUMMARY = statement(_insert("summaries", Summary.__struct_fields__))

# --- what a person is shown ---

# The stretches are reckoned apart: arithmetic on a guarded column would keep the comparison with it out of the index. Step by
# step (OFFSET 0), because a plan made on empty tables would begin with all messages.
FRAGMENTS = statement(f"""WITH {OWNER} SELECT (SELECT json_agg(w.row ORDER BY w.created_ms DESC, w.id DESC) FROM (
  WITH stretch AS MATERIALIZED (
    SELECT f.scope_id, f.session_id, f."position" - 2 AS first, f."position" + 2 AS last
    FROM unnest(%(scope_ids)s::bigint[], %(ids)s::bigint[]) AS asked (scope_id, id)
    JOIN fragments f ON f.scope_id = asked.scope_id AND f.id = asked.id
    WHERE f.person_id + 0 = %(person_id)s AND f.namespace = %(namespace)s
      AND (f.scope_id = %(scope_id)s OR %(private)s) AND (f.chat_type = 'group' OR %(private_too)s))
  SELECT DISTINCT ON (m.scope_id, m.id) {MESSAGE} AS row, m.created_ms, m.id
  FROM stretch, LATERAL (SELECT f.scope_id, f.id FROM fragments f
    WHERE f.scope_id = stretch.scope_id AND f.session_id = stretch.session_id
      AND f."position" BETWEEN stretch.first AND stretch.last
      AND f.person_id + 0 = %(person_id)s AND f.namespace = %(namespace)s OFFSET 0) near, -- + 0: not all of the person's
  LATERAL (SELECT * FROM messages WHERE scope_id = near.scope_id AND id = near.id AND deleted_ms IS NULL
    AND (scope_id = %(scope_id)s OR agent = %(agent)s) OFFSET 0) m) w)
FROM me""")
_THEIRS = """p.id = ANY(%(items)s::bigint[]) AND p.person_id = %(person_id)s AND p.namespace = %(namespace)s
  AND (p.chat_type = 'group' OR %(private_too)s)"""
ITEMS = statement(f"""WITH {OWNER} SELECT (SELECT json_agg(to_json(p) ORDER BY p.id) FROM profile_items p
  WHERE {_THEIRS} AND p.status = 'active') FROM me""")


def _ended_items(pinned: str, status: str) -> str:
    return f"""(SELECT true, p.scope_id, p.slot, p.value, p.source_ids FROM profile_items p
    WHERE p.person_id = %(person_id)s AND p.namespace = %(namespace)s AND p.pinned = {pinned} AND p.status = '{status}'
      AND p.value <> '' ORDER BY p.id DESC LIMIT {ENDED_ROWS})"""


_ENDED_ITEMS = " UNION ALL ".join(
    _ended_items(pinned, status) for pinned in ("false", "true") for status in ("superseded", "retracted")
)
ENDED = statement(f"""WITH {OWNER} SELECT (SELECT json_agg(json_build_array(e.lasting, e.scope_id, e.slot, e.value, e.source_ids))
  FROM ({_ENDED_ITEMS}
    UNION ALL SELECT false, f.scope_id, f.slot, f.value, f.source_ids
    FROM (SELECT DISTINCT * FROM unnest(%(scope_ids)s::bigint[], %(session_ids)s::text[]) AS s (scope_id, session_id)) s
    CROSS JOIN unnest(ARRAY['superseded', 'retracted']) AS ends (status)
    CROSS JOIN LATERAL (SELECT f.* FROM facts f WHERE f.scope_id = s.scope_id AND f.session_id = s.session_id
      AND f.person_id = %(person_id)s AND f.status = ends.status ORDER BY f.id DESC LIMIT {ENDED_ROWS}) f
    WHERE f.value <> '' AND NOT EXISTS (SELECT FROM facts again WHERE again.scope_id = f.scope_id
      AND again.session_id = f.session_id AND again.person_id = f.person_id AND again.status = 'active'
      AND again.slot = f.slot AND again.value = f.value)
  ) AS e (lasting, scope_id, slot, value, source_ids)) FROM me""")
SHOWN = statement(f"""WITH {OWNER} SELECT
  (SELECT json_agg(to_json(f) ORDER BY f.id) FROM facts f
    WHERE f.id = ANY(%(facts)s::bigint[]) AND f.scope_id = %(scope_id)s AND f.person_id = %(person_id)s
      AND f.status <> 'retracted'),
  (SELECT json_agg(to_json(p) ORDER BY p.id) FROM profile_items p
    WHERE {_THEIRS} AND p.status <> 'retracted'),
  (SELECT json_agg(to_json(s) ORDER BY s.id) FROM summaries s
    WHERE s.id = ANY(%(summaries)s::bigint[]) AND s.scope_id = %(scope_id)s) FROM me""")
