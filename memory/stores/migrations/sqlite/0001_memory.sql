-- Times are UTC milliseconds since 1970, ids 64-bit and time-ordered. The five key columns hold the key's encoded parts and
-- are compared by equality only.

CREATE TABLE scopes (
  id INTEGER PRIMARY KEY,
  "user" TEXT NOT NULL,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  chat_type TEXT NOT NULL,
  agent TEXT NOT NULL,
  alias_of INTEGER REFERENCES scopes (id), -- always a scope that is no alias itself
  created_ms INTEGER NOT NULL,
  last_id INTEGER NOT NULL DEFAULT 0, -- of its messages and observed ones: the next id is greater
  fence INTEGER NOT NULL DEFAULT 0,
  session_id TEXT, -- the active session
  session_first_id INTEGER,
  session_last_ms INTEGER,
  session_no INTEGER NOT NULL DEFAULT 0, -- how many it has had
  title TEXT NOT NULL DEFAULT '',
  title_id INTEGER, -- the message that the title was taken from
  last_ms INTEGER NOT NULL DEFAULT 0,
  carry_scope_id INTEGER REFERENCES scopes (id),
  carry_last_id INTEGER,
  UNIQUE (channel, conversation, "user", chat_type, agent)
) STRICT;

CREATE INDEX scopes_alias ON scopes (alias_of) WHERE alias_of IS NOT NULL;

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scopes (id),
  first_id INTEGER NOT NULL,
  last_id INTEGER, -- set when it has ended
  started_ms INTEGER NOT NULL,
  ended_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_scope ON sessions (scope_id, first_id);

CREATE TABLE messages (
  scope_id INTEGER NOT NULL, -- of scopes: every append reads that row first, so a foreign key would check it twice
  id INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  turn_id INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  role TEXT NOT NULL,
  text TEXT NOT NULL,
  "user" TEXT NOT NULL,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  chat_type TEXT NOT NULL,
  agent TEXT NOT NULL,
  speaker_name TEXT NOT NULL,
  person_id INTEGER,
  tokens INTEGER NOT NULL,
  low_value INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  version INTEGER NOT NULL,
  edited_ms INTEGER,
  deleted_ms INTEGER,
  platform_message_id TEXT,
  reply_to TEXT,
  quote TEXT, -- JSON
  thinking TEXT,
  thinking_s REAL,
  steps TEXT, -- JSON, NULL where there are none
  looked_up_ms INTEGER,
  PRIMARY KEY (scope_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX messages_turn ON messages (scope_id, turn_id); -- appends repeat by it: one writer at a time needs no UNIQUE
CREATE INDEX messages_platform ON messages (scope_id, platform_message_id) WHERE platform_message_id IS NOT NULL;

CREATE INDEX messages_quote ON messages (scope_id, reply_to) WHERE quote IS NOT NULL;

CREATE TABLE message_versions ( -- what an edit replaced; the newest version stands in messages
  scope_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  text TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  low_value INTEGER NOT NULL,
  edited_ms INTEGER,
  PRIMARY KEY (scope_id, id, version),
  FOREIGN KEY (scope_id, id) REFERENCES messages (scope_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE observed (
  scope_id INTEGER NOT NULL REFERENCES scopes (id),
  id INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  "user" TEXT NOT NULL,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  chat_type TEXT NOT NULL,
  agent TEXT NOT NULL,
  speaker_name TEXT NOT NULL,
  text TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  version INTEGER NOT NULL,
  platform_message_id TEXT,
  PRIMARY KEY (scope_id, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX observed_event ON observed (scope_id, event_id);

CREATE TABLE summaries (
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scopes (id),
  session_id TEXT NOT NULL,
  text TEXT NOT NULL,
  first_id INTEGER NOT NULL,
  last_id INTEGER NOT NULL,
  digest TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX summaries_session ON summaries (scope_id, session_id, id);

CREATE TABLE facts (
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scopes (id),
  session_id TEXT NOT NULL,
  person_id INTEGER NOT NULL,
  speaker_name TEXT NOT NULL,
  slot TEXT NOT NULL,
  value TEXT NOT NULL,
  source_ids TEXT, -- JSON, NULL where there are none
  status TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX facts_speaker ON facts (scope_id, session_id, person_id, status, id);

CREATE TABLE persons (
  id INTEGER PRIMARY KEY,
  created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE identities ( -- the three parts encoded as a key's; tenant may be empty
  kind TEXT NOT NULL,
  tenant TEXT NOT NULL,
  account TEXT NOT NULL,
  person_id INTEGER NOT NULL REFERENCES persons (id),
  PRIMARY KEY (kind, tenant, account)
) STRICT, WITHOUT ROWID;

CREATE INDEX identities_person ON identities (person_id);

CREATE TABLE profile_items (
  id INTEGER PRIMARY KEY,
  person_id INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  kind TEXT NOT NULL,
  slot TEXT NOT NULL,
  text TEXT NOT NULL,
  pinned INTEGER NOT NULL,
  chat_type TEXT NOT NULL,
  source_ids TEXT, -- JSON, NULL where there are none
  status TEXT NOT NULL,
  valid_from_ms INTEGER NOT NULL,
  valid_to_ms INTEGER
) STRICT;

CREATE INDEX profile_items_owner ON profile_items (person_id, namespace, pinned, status, id);

CREATE TABLE ledgers (
  turn_id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  body BLOB NOT NULL -- JSON
) STRICT;

CREATE INDEX ledgers_age ON ledgers (created_ms);

-- Which agent a person asked for in a conversation: by the key's first four columns.
CREATE TABLE agent_choices (
  user TEXT NOT NULL,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  chat_type TEXT NOT NULL,
  agent TEXT NOT NULL,
  chosen_ms INTEGER NOT NULL,
  PRIMARY KEY (user, channel, conversation, chat_type)
) STRICT, WITHOUT ROWID;

CREATE TABLE revisions (
  revision TEXT PRIMARY KEY,
  created_ms INTEGER NOT NULL,
  document TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE heartbeat (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  beats INTEGER NOT NULL
) STRICT;
