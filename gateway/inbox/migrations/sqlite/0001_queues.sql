-- The durable queues beside the memory store in one file. Which lanes are held is known to the one process that has the
-- file; the rows know what waits.

-- One row; `run` grows with every opening: the upper half of the fences, so that they grow across restarts.
CREATE TABLE queue_run (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  run INTEGER NOT NULL
) STRICT;

INSERT INTO queue_run (only, run) VALUES (1, 0);

CREATE TABLE inbox_events (
  id INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL, -- order of acceptance; ids may step back with the clock
  turn_id INTEGER NOT NULL,
  lane TEXT NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('message', 'control')),
  speaker BLOB NOT NULL,
  body BLOB NOT NULL,
  token TEXT NOT NULL,
  fingerprint TEXT,
  state TEXT NOT NULL,
  outcome TEXT,
  attempts INTEGER NOT NULL,
  accepted_ms INTEGER NOT NULL,
  session TEXT,
  owner INTEGER NOT NULL -- the run that accepted it: applies it, if it is a control event
) STRICT;

CREATE INDEX inbox_waiting ON inbox_events (lane, seq)
  WHERE state IN ('accepted', 'running') AND kind = 'message';

CREATE INDEX inbox_controls ON inbox_events (seq)
  WHERE state IN ('accepted', 'running') AND kind = 'control';

CREATE INDEX inbox_joined ON inbox_events (turn_id)
  WHERE turn_id <> id;

CREATE INDEX inbox_dead ON inbox_events (id)
  WHERE state = 'dead';

CREATE TABLE inbox_dedupe (
  digest BLOB PRIMARY KEY,
  event_id INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_dedupe_age ON inbox_dedupe (event_id);

CREATE TABLE outbox_replies (
  turn_id INTEGER PRIMARY KEY,
  text TEXT NOT NULL
) STRICT;

CREATE TABLE outbox_chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice, also after a purge
  turn_id INTEGER NOT NULL,
  channel TEXT NOT NULL,
  queue TEXT NOT NULL,
  address BLOB NOT NULL,
  part INTEGER NOT NULL,
  parts INTEGER NOT NULL,
  text TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'sending', 'sent', 'unknown', 'dead')),
  attempts INTEGER NOT NULL,
  put_ms INTEGER NOT NULL,
  due_ms INTEGER NOT NULL,
  settled_ms INTEGER, -- when its end became known
  message_id TEXT,
  error TEXT,
  UNIQUE (turn_id, part)
) STRICT;

CREATE INDEX outbox_line ON outbox_chunks (queue, id)
  WHERE state IN ('waiting', 'sending');

-- The queues with something to send. `owner` is the run that is sending the head.
CREATE TABLE outbox_queues (
  queue TEXT PRIMARY KEY,
  due_ms INTEGER NOT NULL,
  owner INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX outbox_due ON outbox_queues (due_ms)
  WHERE owner IS NULL;
