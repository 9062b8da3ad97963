-- What is made of messages after the reply (memory/derived.py).

-- The queue of that work: a turn's ledger is due until it was learned from; NULL: it is not.
ALTER TABLE ledgers ADD COLUMN due_ms INTEGER;
ALTER TABLE ledgers ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
CREATE INDEX ledgers_due ON ledgers (scope_id, turn_id) WHERE due_ms IS NOT NULL;

-- Who learns from a scope's turns at the moment.
CREATE TABLE learners (
  scope_id INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT;

-- Where an item was said: with source_ids the messages it came from; 0: a person or an admin wrote it.
ALTER TABLE profile_items ADD COLUMN scope_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE profile_items ADD COLUMN value TEXT NOT NULL DEFAULT '';
CREATE INDEX profile_items_source ON profile_items (scope_id) WHERE scope_id <> 0;

-- Set when the person was erased: late work for them writes nothing (redis/agent-memory-server#184).
ALTER TABLE persons ADD COLUMN erased_ms INTEGER;

-- What recall finds: messages, and profile items with scope_id 0. Terms are keyed hashes: no words stand here.
CREATE TABLE fragments (
  scope_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  person_id INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  chat_type TEXT NOT NULL,
  session_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  length INTEGER NOT NULL, -- of all its terms
  terms BLOB NOT NULL, -- their ids, 8 bytes each, so that they are found again when the fragment goes
  PRIMARY KEY (scope_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX fragments_session ON fragments (scope_id, session_id, position);
CREATE INDEX fragments_person ON fragments (person_id, scope_id, id);

CREATE TABLE terms (
  term INTEGER NOT NULL,
  id INTEGER NOT NULL,
  scope_id INTEGER NOT NULL,
  times INTEGER NOT NULL,
  PRIMARY KEY (term, id, scope_id)
) STRICT, WITHOUT ROWID;

-- How much there is of each person's: what a term's weight is reckoned from. generation grows with every change.
CREATE TABLE corpora (
  person_id INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  fragments INTEGER NOT NULL,
  length INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  PRIMARY KEY (person_id, namespace)
) STRICT, WITHOUT ROWID;
