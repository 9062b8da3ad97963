-- Times are UTC milliseconds since 1970, ids 64-bit and time-ordered. The five key columns hold the key's encoded parts and
-- are compared by equality only. Wide columns first: PostgreSQL pads to their alignment.

CREATE TABLE scopes (
  id bigint PRIMARY KEY,
  alias_of bigint REFERENCES scopes (id), -- always a scope that is no alias itself
  created_ms bigint NOT NULL,
  last_id bigint NOT NULL DEFAULT 0, -- of its messages and observed ones: the next id is greater
  fence bigint NOT NULL DEFAULT 0,
  generation bigint NOT NULL DEFAULT 0, -- grows when a stored message changes: caches compare it
  session_first_id bigint,
  session_last_ms bigint,
  title_id bigint, -- the message that the title was taken from
  last_ms bigint NOT NULL DEFAULT 0,
  carry_scope_id bigint REFERENCES scopes (id),
  carry_last_id bigint,
  session_no integer NOT NULL DEFAULT 0, -- how many it has had
  session_id text, -- the active session
  "user" text NOT NULL,
  channel text NOT NULL,
  conversation text NOT NULL,
  chat_type text NOT NULL,
  agent text NOT NULL,
  title text NOT NULL DEFAULT '',
  UNIQUE (channel, conversation, "user", chat_type, agent)
) WITH (fillfactor = 50); -- each append rewrites the row: in place, if the page has room

CREATE INDEX scopes_alias ON scopes (alias_of) WHERE alias_of IS NOT NULL;

CREATE TABLE sessions (
  id text PRIMARY KEY,
  scope_id bigint NOT NULL REFERENCES scopes (id),
  first_id bigint NOT NULL,
  last_id bigint, -- set when it has ended
  started_ms bigint NOT NULL,
  ended_ms bigint
);

CREATE INDEX sessions_scope ON sessions (scope_id, first_id);
CREATE INDEX sessions_active ON sessions (scope_id) WHERE ended_ms IS NULL;

CREATE TABLE messages (
  scope_id bigint NOT NULL, -- no foreign key: it would lock the scope's row once more for each message
  id bigint NOT NULL,
  turn_id bigint NOT NULL,
  event_id bigint NOT NULL,
  person_id bigint,
  created_ms bigint NOT NULL,
  edited_ms bigint,
  deleted_ms bigint,
  looked_up_ms bigint,
  thinking_s double precision,
  tokens integer NOT NULL,
  version integer NOT NULL,
  low_value boolean NOT NULL,
  session_id text NOT NULL,
  role text NOT NULL,
  text text NOT NULL,
  "user" text NOT NULL,
  channel text NOT NULL,
  conversation text NOT NULL,
  chat_type text NOT NULL,
  agent text NOT NULL,
  speaker_name text NOT NULL,
  platform_message_id text,
  reply_to text,
  quote json,
  thinking text,
  steps json NOT NULL,
  PRIMARY KEY (scope_id, id)
);

CREATE UNIQUE INDEX messages_turn ON messages (turn_id, scope_id, event_id, role); -- turns grow: filled from the right, densely
CREATE INDEX messages_platform ON messages (scope_id, platform_message_id) WHERE platform_message_id IS NOT NULL;
CREATE INDEX messages_quote ON messages (scope_id, reply_to) WHERE quote IS NOT NULL;

CREATE TABLE message_versions ( -- what an edit replaced; the newest version stands in messages
  scope_id bigint NOT NULL,
  id bigint NOT NULL,
  version integer NOT NULL,
  tokens integer NOT NULL,
  low_value boolean NOT NULL,
  edited_ms bigint,
  text text NOT NULL,
  PRIMARY KEY (scope_id, id, version),
  FOREIGN KEY (scope_id, id) REFERENCES messages (scope_id, id)
);

CREATE TABLE observed (
  scope_id bigint NOT NULL REFERENCES scopes (id),
  id bigint NOT NULL,
  event_id bigint NOT NULL,
  created_ms bigint NOT NULL,
  tokens integer NOT NULL,
  version integer NOT NULL,
  "user" text NOT NULL,
  channel text NOT NULL,
  conversation text NOT NULL,
  chat_type text NOT NULL,
  agent text NOT NULL,
  speaker_name text NOT NULL,
  text text NOT NULL,
  platform_message_id text,
  PRIMARY KEY (scope_id, id)
);

CREATE UNIQUE INDEX observed_event ON observed (scope_id, event_id);

CREATE TABLE summaries (
  id bigint PRIMARY KEY,
  scope_id bigint NOT NULL REFERENCES scopes (id),
  first_id bigint NOT NULL,
  last_id bigint NOT NULL,
  created_ms bigint NOT NULL,
  tokens integer NOT NULL,
  session_id text NOT NULL,
  text text NOT NULL,
  digest text NOT NULL
);

CREATE INDEX summaries_session ON summaries (scope_id, session_id, id);

CREATE TABLE facts (
  id bigint PRIMARY KEY,
  scope_id bigint NOT NULL REFERENCES scopes (id),
  person_id bigint NOT NULL,
  created_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  session_id text NOT NULL,
  speaker_name text NOT NULL,
  slot text NOT NULL,
  value text NOT NULL,
  source_ids bigint[] NOT NULL,
  status text NOT NULL
);

CREATE INDEX facts_speaker ON facts (scope_id, session_id, person_id, status, id);

CREATE TABLE persons (
  id bigint PRIMARY KEY,
  created_ms bigint NOT NULL
);

CREATE TABLE identities ( -- the three parts encoded as a key's; tenant may be empty
  kind text NOT NULL,
  tenant text NOT NULL,
  account text NOT NULL,
  person_id bigint NOT NULL REFERENCES persons (id),
  PRIMARY KEY (kind, tenant, account)
);

CREATE INDEX identities_person ON identities (person_id);

CREATE TABLE profile_items (
  id bigint PRIMARY KEY,
  person_id bigint NOT NULL,
  valid_from_ms bigint NOT NULL,
  valid_to_ms bigint,
  pinned boolean NOT NULL,
  namespace text NOT NULL,
  kind text NOT NULL,
  slot text NOT NULL,
  text text NOT NULL,
  chat_type text NOT NULL,
  source_ids bigint[] NOT NULL,
  status text NOT NULL
);

CREATE INDEX profile_items_owner ON profile_items (person_id, namespace, pinned, status, id);

CREATE TABLE ledgers (
  turn_id bigint PRIMARY KEY,
  scope_id bigint NOT NULL,
  created_ms bigint NOT NULL,
  body bytea NOT NULL -- JSON
);

CREATE INDEX ledgers_age ON ledgers (created_ms);

CREATE TABLE revisions (
  revision text PRIMARY KEY,
  created_ms bigint NOT NULL,
  document text NOT NULL
);

CREATE TABLE heartbeat (
  id integer PRIMARY KEY CHECK (id = 1),
  beats bigint NOT NULL
);

CREATE TABLE agent_choices ( -- which agent a person asked for in a conversation: by the key's first four columns
  "user" text NOT NULL,
  channel text NOT NULL,
  conversation text NOT NULL,
  chat_type text NOT NULL,
  agent text NOT NULL,
  chosen_ms bigint NOT NULL,
  PRIMARY KEY (channel, conversation, "user", chat_type)
);
