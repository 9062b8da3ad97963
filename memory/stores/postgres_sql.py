"""The statements of everything but a turn on PostgreSQL. Text only; `postgres.py` runs them, each in one round trip."""

from __future__ import annotations

import re

from memory.base import ANSWERED_REACH
from memory.stores.postgres_derived_sql import SOURCE_CHANGED
from memory.stores.postgres_owner import OWNERS, counting
from memory.stores.postgres_statement import Statement, statement
from memory.stores.postgres_turn import MESSAGE

_FIVE = '"user", channel, conversation, chat_type, agent'
_SAME_FIVE = """s."user" = %(user)s AND s.channel = %(channel)s AND s.conversation = %(conversation)s
  AND s.chat_type = %(chat_type)s AND s.agent = %(agent)s"""

FIND_SCOPE = statement(f"""SELECT t.id, t.title, t.last_ms, t.session_id, t.carry_scope_id, t.carry_last_id,
    t."user", t.channel, t.conversation, t.chat_type, t.agent
  FROM scopes s JOIN scopes t ON t.id = coalesce(s.alias_of, s.id) WHERE {_SAME_FIVE}""")

IN_PLACE = statement("""SELECT coalesce(alias_of, id) FROM scopes
  WHERE channel = %(channel)s AND conversation = %(conversation)s AND chat_type = %(chat_type)s
    AND ("user" = %(user)s OR chat_type = 'group')
  ORDER BY "user" = %(user)s AND agent = %(agent)s DESC LIMIT 1""")

# Another starter may create the same scope, or the other agent's, at the same moment: the first one stands.
CREATE_SCOPE = statement(f"""WITH other AS (
  SELECT t.id, t.last_id, t.session_id FROM scopes s JOIN scopes t ON t.id = coalesce(s.alias_of, s.id)
  WHERE s."user" = %(user)s AND s.channel = %(channel)s AND s.conversation = %(conversation)s
    AND s.chat_type = %(chat_type)s AND s.agent <> %(agent)s AND %(agent_change)s <> 'fresh'
  ORDER BY t.last_ms DESC, t.id DESC LIMIT 1)
INSERT INTO scopes (id, {_FIVE}, created_ms, alias_of, carry_scope_id, carry_last_id)
SELECT %(id)s, %(user)s, %(channel)s, %(conversation)s, %(chat_type)s, %(agent)s, %(now_ms)s,
  CASE %(agent_change)s WHEN 'alias' THEN other.id END,
  CASE WHEN %(agent_change)s = 'carry' AND other.session_id IS NOT NULL THEN other.id END, -- not what was ended
  CASE WHEN %(agent_change)s = 'carry' AND other.session_id IS NOT NULL THEN other.last_id END
FROM (SELECT 1) one LEFT JOIN other ON true ON CONFLICT DO NOTHING""")

ALIAS_TARGET = statement("SELECT coalesce(s.alias_of, s.id) FROM scopes s WHERE s.id = %(target_id)s")
_COUNTED = "counted AS (UPDATE meta SET value = value + 1 WHERE name = 'names')"
PUT_ALIAS = statement(f"""WITH {_COUNTED}, alias AS (
  INSERT INTO scopes AS s (id, {_FIVE}, created_ms, alias_of)
  VALUES (%(id)s, %(user)s, %(channel)s, %(conversation)s, %(chat_type)s, %(agent)s, %(now_ms)s, %(target_id)s)
  ON CONFLICT (channel, conversation, "user", chat_type, agent) DO UPDATE SET alias_of = excluded.alias_of
    WHERE s.id <> excluded.alias_of RETURNING s.id)
UPDATE scopes SET alias_of = %(target_id)s FROM alias WHERE alias_of = alias.id""")
DROP_ALIAS = statement(f"""WITH {_COUNTED}
UPDATE scopes s SET alias_of = NULL WHERE {_SAME_FIVE} AND s.alias_of IS NOT NULL""")

GROUP_SCOPES = statement("""SELECT root.id, root.last_ms, root.session_id IS NOT NULL, named.alias_of IS NOT NULL,
    named."user", named.channel, named.conversation, named.chat_type, named.agent
  FROM scopes named JOIN scopes root ON root.id = coalesce(named.alias_of, named.id)
  WHERE named.channel = %(channel)s AND named.chat_type = 'group' ORDER BY named.id""")

ANSWERED = statement(f"""SELECT EXISTS (SELECT 1 FROM scopes named
  WHERE channel = %(channel)s AND conversation = %(conversation)s AND "user" = %(user)s AND chat_type = %(chat_type)s
  AND EXISTS (SELECT 1 FROM (SELECT role, conversation FROM messages WHERE scope_id = coalesce(named.alias_of, named.id)
      ORDER BY id DESC LIMIT {ANSWERED_REACH}) AS said
    WHERE role = 'assistant' AND (%(within)s::text IS NULL OR said.conversation = %(within)s::text)))""")

# A room's conversations are itself and `room/thread`, and no part can hold a `/`.
_IN_ROOM = "channel = %(channel)s AND split_part(conversation, '/', 1) = %(room)s::text"
_THERE = "%(now_room)s::text || substr(conversation, length(%(room)s::text) + 1)"
NAMES_IN_ROOM = statement(
    f'SELECT coalesce(alias_of, id), "user", {_THERE}, chat_type, agent FROM scopes WHERE {_IN_ROOM} ORDER BY id'
)
# A row may be written once in a statement: names that get a new target themselves are not moved along with another's.
MOVE_ROOM = statement(f"""WITH {_COUNTED}, named AS (
  INSERT INTO scopes AS s (id, {_FIVE}, created_ms, alias_of)
  SELECT id, {_FIVE}, %(now_ms)s, alias_of FROM json_populate_recordset(NULL::scopes, %(names)s) ORDER BY alias_of, id
  ON CONFLICT (channel, conversation, "user", chat_type, agent) DO UPDATE SET alias_of = excluded.alias_of
    WHERE s.id <> excluded.alias_of RETURNING s.id, s.alias_of
), along AS (
  UPDATE scopes s SET alias_of = named.alias_of FROM named
  WHERE s.alias_of = named.id AND s.id NOT IN (SELECT id FROM named)
), choices AS (
  INSERT INTO agent_choices ("user", channel, conversation, chat_type, agent, chosen_ms)
  SELECT "user", channel, {_THERE}, chat_type, agent, chosen_ms FROM agent_choices WHERE {_IN_ROOM}
  ON CONFLICT DO NOTHING
), again AS (
  UPDATE moved_rooms SET now_room = %(now_room)s
  WHERE channel = %(channel)s AND now_room = %(room)s AND room <> %(now_room)s
), arrived AS (
  DELETE FROM moved_rooms WHERE channel = %(channel)s AND room = %(now_room)s
)
INSERT INTO moved_rooms AS m (channel, room, now_room, moved_ms) VALUES (%(channel)s, %(room)s, %(now_room)s, %(now_ms)s)
ON CONFLICT (channel, room) DO UPDATE SET now_room = excluded.now_room, moved_ms = excluded.moved_ms
  WHERE m.now_room <> excluded.now_room""")
MOVED_ROOMS = statement("SELECT channel, room, now_room, moved_ms FROM moved_rooms ORDER BY moved_ms, channel, room")
KEY_VERSION = statement("SELECT value FROM meta WHERE name = 'key_version'")
NAME_CHANGES = statement("SELECT value FROM meta WHERE name = 'names'")

OLDER = statement(f"""SELECT json_agg(w.row) FROM (
  SELECT {MESSAGE} AS row FROM sessions e JOIN messages m ON m.scope_id = e.scope_id
    AND m.id BETWEEN e.first_id AND least(e.last_id, %(before_id)s::bigint - 1) AND m.session_id = e.id
  WHERE e.id = %(session_id)s AND e.scope_id = %(scope_id)s
  ORDER BY m.id DESC LIMIT %(limit)s) w""")

OF_TURN = statement(f"""SELECT json_agg(w.row) FROM (SELECT {MESSAGE} AS row FROM messages m
  WHERE m.scope_id = %(scope_id)s AND m.turn_id = %(turn_id)s ORDER BY m.id + 0 DESC) w""")

# An id asked for in the version that stands, or in one that an edit replaced; a deleted one in any version it had.
_OLD_VERSION = re.sub(r'm\."(version|text|tokens|low_value|edited_ms)"', r'v."\1"', MESSAGE)
BY_ID = statement(f"""WITH asked AS (SELECT * FROM unnest(%(ids)s::bigint[], %(versions)s::bigint[]) AS a (id, version))
SELECT json_agg(w.row ORDER BY w.id DESC, w.version DESC) FROM (
  SELECT {MESSAGE} AS row, asked.* FROM asked
    JOIN messages m ON m.scope_id = %(scope_id)s AND m.id = asked.id AND m.version = asked.version
  UNION ALL
  SELECT {_OLD_VERSION} AS row, asked.* FROM asked
    JOIN message_versions v ON v.scope_id = %(scope_id)s AND v.id = asked.id AND v.version = asked.version
    JOIN messages m ON m.scope_id = %(scope_id)s AND m.id = asked.id) w""")

OBSERVE = statement(f"""WITH head AS (
  UPDATE scopes s SET last_id = greatest(s.last_id + 1, %(id)s) WHERE s.id = %(scope_id)s RETURNING s.id, s.last_id
), added AS (
  INSERT INTO observed (id, scope_id, event_id, {_FIVE}, speaker_name, text, tokens, created_ms, version, platform_message_id,
    person_id)
  SELECT head.last_id, head.id, %(event_id)s, %(user)s, %(channel)s, %(conversation)s, %(chat_type)s, %(agent)s,
    %(speaker_name)s, %(text)s, %(tokens)s, %(now_ms)s, 1, %(platform_message_id)s, %(person_id)s::bigint
  FROM head WHERE NOT EXISTS (SELECT FROM persons p WHERE p.id = %(person_id)s::bigint AND p.erased_ms IS NOT NULL)
  ON CONFLICT (scope_id, event_id) DO NOTHING)
SELECT 1 FROM head""")

# A statement of its own, after OBSERVE: inside it the snapshot would miss what a concurrent call has just added.
FORGET_OBSERVED = statement("""DELETE FROM observed WHERE scope_id = %(scope_id)s AND id <=
  (SELECT id FROM observed WHERE scope_id = %(scope_id)s ORDER BY id DESC OFFSET %(keep)s LIMIT 1)""")

# The platform knows no agents: a message is looked for in all scopes of its place, a private one's being one person's.
# A scope with several names is in several places (a room that has moved).
PLACE = statement("""SELECT id FROM (
    SELECT DISTINCT coalesce(b.alias_of, b.id) AS id FROM (
      SELECT * FROM scopes WHERE id = %(scope_id)s UNION ALL SELECT * FROM scopes WHERE alias_of = %(scope_id)s) a
    JOIN scopes b ON b.channel = a.channel AND b.conversation = a.conversation AND b.chat_type = a.chat_type
      AND (b."user" = a."user" OR a.chat_type = 'group')) near
  WHERE id = %(scope_id)s
    OR EXISTS (SELECT FROM messages m WHERE m.scope_id = near.id AND m.platform_message_id = %(platform_message_id)s)
    OR EXISTS (SELECT FROM messages m WHERE m.scope_id = near.id AND m.reply_to = %(platform_message_id)s
      AND m.quote IS NOT NULL)
    OR EXISTS (SELECT FROM observed o WHERE o.scope_id = near.id AND o.platform_message_id = %(platform_message_id)s)""")

# A room that moved may have given its ids anew (`Store.edit`). No part can hold a `/`, so the beginning is a whole part.
_IN_ROOM = "split_part(conversation, '/', 1) = %(room)s"
_MEANT = f"""scope_id = %(scope_id)s AND platform_message_id = %(platform_message_id)s
    AND ({_IN_ROOM} OR "user" = %(user)s)"""
_QUOTES = f"""scope_id = %(scope_id)s AND reply_to = %(platform_message_id)s AND quote IS NOT NULL AND {_IN_ROOM}"""
# Follows a table `said` of messages: with what was replied to them, which may repeat the words.
_WITH_REPLIES = """touched AS (
  SELECT scope_id, id, turn_id FROM said UNION SELECT m.scope_id, m.id, m.turn_id FROM said
  JOIN messages m ON m.turn_id = said.turn_id AND m.scope_id = said.scope_id AND m.role = 'assistant')"""

EDIT = statement(f"""WITH old AS (
  SELECT * FROM messages WHERE {_MEANT} AND deleted_ms IS NULL FOR UPDATE
), kept AS (
  INSERT INTO message_versions (scope_id, id, version, text, tokens, low_value, edited_ms)
  SELECT scope_id, id, version, text, tokens, low_value, edited_ms FROM old WHERE text <> %(text)s
), changed AS (
  UPDATE messages m SET text = %(text)s, tokens = %(tokens)s, low_value = %(low_value)s, version = m.version + 1,
    edited_ms = %(now_ms)s
  FROM old WHERE m.scope_id = old.scope_id AND m.id = old.id AND old.text <> %(text)s
), quotes AS (
  UPDATE messages SET quote = jsonb_set(quote::jsonb, '{{text}}', to_jsonb(%(text)s::text))::json
  WHERE {_QUOTES} AND id NOT IN (SELECT id FROM old)
), overheard AS (
  UPDATE observed SET version = version + CASE WHEN text = %(text)s THEN 0 ELSE 1 END, text = %(text)s, tokens = %(tokens)s
  WHERE {_MEANT} RETURNING id
), head AS (
  UPDATE scopes SET generation = generation + 1,
    title = CASE WHEN title_id IN (SELECT id FROM old) THEN %(title)s ELSE title END
  WHERE id = %(scope_id)s
), said AS (SELECT scope_id, id, turn_id FROM old WHERE text <> %(text)s
), {_WITH_REPLIES}, {SOURCE_CHANGED}
SELECT EXISTS (SELECT FROM old) OR EXISTS (SELECT FROM overheard)""")

DELETE = statement(f"""WITH gone AS (
  UPDATE messages SET text = '', tokens = 0, quote = NULL, thinking = NULL, steps = '[]', deleted_ms = %(now_ms)s
  WHERE {_MEANT} AND deleted_ms IS NULL RETURNING scope_id, id, turn_id
), versions AS (
  UPDATE message_versions SET text = '', tokens = 0 WHERE scope_id = %(scope_id)s AND id IN (SELECT id FROM gone)
), quotes AS (
  UPDATE messages SET quote = NULL WHERE {_QUOTES} AND id NOT IN (SELECT id FROM gone)
), overheard AS (
  DELETE FROM observed WHERE {_MEANT} RETURNING id
), head AS (
  UPDATE scopes SET generation = generation + 1,
    title = CASE WHEN title_id IN (SELECT id FROM gone) THEN '' ELSE title END,
    title_id = CASE WHEN title_id IN (SELECT id FROM gone) THEN NULL ELSE title_id END
  WHERE id = %(scope_id)s
), said AS (SELECT * FROM gone
), {_WITH_REPLIES}, {SOURCE_CHANGED}
SELECT EXISTS (SELECT FROM gone) OR EXISTS (SELECT FROM overheard)""")

# Before EDIT and DELETE, in their transaction: what is being learned from the message has to stand before they look for it.
# In between those are named of whom something came from it.
LOCK_MEANT = statement(f"""WITH said AS MATERIALIZED (
  SELECT scope_id, id, turn_id FROM messages WHERE {_MEANT} AND deleted_ms IS NULL FOR UPDATE
), {_WITH_REPLIES} SELECT id FROM touched""")

END_SESSION = statement("""WITH head AS (
  UPDATE scopes SET session_id = NULL, session_first_id = NULL, session_last_ms = NULL
  WHERE id = %(scope_id)s AND session_id IS NOT NULL RETURNING id, last_id
), ended AS (
  UPDATE sessions e SET last_id = head.last_id, ended_ms = %(now_ms)s
  FROM head WHERE e.scope_id = head.id AND e.ended_ms IS NULL)
SELECT EXISTS (SELECT FROM head)""")


def put(table: str, columns: tuple[str, ...], *, owner: str = "person_id") -> Statement:
    """Return the statement that inserts rows of `owners`, given as JSON, or replaces them by their id; only by one with the same
    `owner`, a column."""
    names = ", ".join(columns)
    replaced = ", ".join(f"{column} = excluded.{column}" for column in columns if column != "id")
    return statement(f"""WITH {OWNERS}
INSERT INTO {table} ({names}) SELECT {names} FROM me, json_populate_recordset(NULL::{table}, %(rows)s)
  ON CONFLICT (id) DO UPDATE SET {replaced} WHERE {table}.{owner} = excluded.{owner}""")


LEDGER = statement("SELECT body FROM ledgers WHERE turn_id = %(turn_id)s")
LEDGERS = statement("""SELECT created_ms, turn_id, body FROM ledgers WHERE (created_ms, turn_id) > (%(made_ms)s, %(turn_id)s)
  ORDER BY created_ms, turn_id LIMIT %(limit)s""")
# By an array, because a join is planned as a pass over all ledgers.
PURGE_LEDGERS = statement("""WITH gone AS (
  DELETE FROM ledgers WHERE turn_id = ANY(ARRAY(SELECT turn_id FROM ledgers WHERE created_ms < %(before_ms)s
    ORDER BY created_ms LIMIT %(limit)s FOR UPDATE SKIP LOCKED)) RETURNING 1)
SELECT count(*) FROM gone""")

PERSON = statement("""SELECT i.person_id FROM identities i JOIN persons p ON p.id = i.person_id
  WHERE i.kind = %(kind)s AND i.tenant = %(tenant)s AND i.account = %(account)s AND p.erased_ms IS NULL""")
# An account whose person is being erased is a new person's.
CREATE_PERSON = statement("""WITH fresh AS (
  INSERT INTO identities AS i (kind, tenant, account, person_id) VALUES (%(kind)s, %(tenant)s, %(account)s, %(id)s)
  ON CONFLICT (kind, tenant, account) DO UPDATE SET person_id = excluded.person_id
    WHERE EXISTS (SELECT FROM persons p WHERE p.id = i.person_id AND p.erased_ms IS NOT NULL) RETURNING person_id)
INSERT INTO persons (id, created_ms) SELECT person_id, %(now_ms)s FROM fresh""")

PUT_REVISION = statement("""INSERT INTO revisions (revision, created_ms, document) VALUES (%(revision)s, %(now_ms)s, %(document)s)
  ON CONFLICT DO NOTHING""")
REVISION = statement("SELECT document FROM revisions WHERE revision = %(revision)s")

_SAME_FOUR = (
    """"user" = %(user)s AND channel = %(channel)s AND conversation = %(conversation)s AND chat_type = %(chat_type)s"""
)
CHOOSE_AGENT = statement("""INSERT INTO agent_choices ("user", channel, conversation, chat_type, agent, chosen_ms)
  VALUES (%(user)s, %(channel)s, %(conversation)s, %(chat_type)s, %(agent)s, %(now_ms)s)
  ON CONFLICT (channel, conversation, "user", chat_type) DO UPDATE SET agent = excluded.agent, chosen_ms = excluded.chosen_ms""")
UNCHOOSE_AGENT = statement(f"DELETE FROM agent_choices WHERE {_SAME_FOUR}")
CHOSEN_AGENT = statement(f"SELECT agent FROM agent_choices WHERE {_SAME_FOUR}")

PING = statement(
    """INSERT INTO heartbeat (id, beats) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET beats = heartbeat.beats + 1"""
)
SCHEMA_VERSION = statement("SELECT coalesce(max(version), 0) FROM memory_schema")
TABLE_SIZES = statement("""SELECT coalesce(p.relname, c.relname)::text AS name, sum(s.n_live_tup)::bigint,
    sum(s.n_dead_tup)::bigint, sum(pg_total_relation_size(c.oid))::bigint
  FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
  LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
  WHERE s.schemaname = current_schema() GROUP BY name ORDER BY name""")
TABLES = ("scopes", "sessions", "messages", "observed", "summaries", "facts", "profile_items", "persons", "ledgers")
SIZE = statement(
    counting(
        f"pg_database_size(current_database()), {', '.join(f'(SELECT count(*) FROM {table})' for table in TABLES)}"
    )
)
