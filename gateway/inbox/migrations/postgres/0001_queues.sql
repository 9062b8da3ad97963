-- The durable queues, shared by any number of instances. Text compares by bytes: lanes and queues are locked in that order.

-- The running instances. A row past its lease is dead, as is one whose advisory lock nobody holds: its lanes go to others.
CREATE TABLE inbox_instances (
  id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  lease_until TIMESTAMPTZ NOT NULL
);

-- The lanes in which something waits. `owner` NULL: anybody may claim it; `lease_until` is its owner's.
CREATE TABLE inbox_lanes (
  lane TEXT COLLATE "C" PRIMARY KEY,
  since_ms BIGINT NOT NULL,
  owner INTEGER,
  lease_until TIMESTAMPTZ,
  fence BIGINT
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE INDEX inbox_free ON inbox_lanes (since_ms)
  WHERE owner IS NULL;

CREATE SEQUENCE inbox_fence;

-- No index on the id but the key, and none beside it that a query by lane could prefer: `engines.md` A.8, 4.
CREATE TABLE inbox_events (
  id BIGINT PRIMARY KEY,
  seq BIGINT GENERATED ALWAYS AS IDENTITY, -- order of acceptance; instances' clocks, and so ids, differ
  turn_id BIGINT NOT NULL,
  lane TEXT COLLATE "C" NOT NULL,
  channel TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('message', 'control')),
  speaker BYTEA NOT NULL,
  body BYTEA NOT NULL,
  token TEXT NOT NULL,
  fingerprint TEXT,
  state TEXT COLLATE "C" NOT NULL,
  outcome TEXT,
  attempts INTEGER NOT NULL,
  accepted_ms BIGINT NOT NULL,
  session TEXT,
  owner INTEGER NOT NULL -- the instance that accepted it: applies it, if it is a control event
);

CREATE INDEX inbox_waiting ON inbox_events (lane, seq)
  WHERE state IN ('accepted', 'running') AND kind = 'message';

CREATE INDEX inbox_controls ON inbox_events (seq)
  WHERE state IN ('accepted', 'running') AND kind = 'control';

CREATE INDEX inbox_joined ON inbox_events (turn_id)
  WHERE turn_id <> id;

CREATE INDEX inbox_dead ON inbox_events (id)
  WHERE state = 'dead';

CREATE TABLE inbox_dedupe (
  digest BYTEA PRIMARY KEY,
  event_id BIGINT NOT NULL
);

CREATE INDEX inbox_dedupe_age ON inbox_dedupe (event_id);

CREATE TABLE outbox_replies (
  turn_id BIGINT PRIMARY KEY,
  text TEXT NOT NULL
);

-- No index on the id, for the same reason: the head of a queue is its smallest.
CREATE TABLE outbox_chunks (
  id BIGINT GENERATED ALWAYS AS IDENTITY,
  turn_id BIGINT NOT NULL,
  channel TEXT COLLATE "C" NOT NULL,
  queue TEXT COLLATE "C" NOT NULL,
  address BYTEA NOT NULL,
  part INTEGER NOT NULL,
  parts INTEGER NOT NULL,
  text TEXT NOT NULL,
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'sending', 'sent', 'unknown', 'dead')),
  attempts INTEGER NOT NULL,
  put_ms BIGINT NOT NULL,
  due_ms BIGINT NOT NULL,
  settled_ms BIGINT, -- when its end became known
  message_id TEXT,
  error TEXT,
  PRIMARY KEY (turn_id, part)
);

CREATE INDEX outbox_line ON outbox_chunks (queue, id)
  WHERE state IN ('waiting', 'sending');

-- The queues with something to send. `owner` is the instance that is sending the head.
CREATE TABLE outbox_queues (
  queue TEXT COLLATE "C" PRIMARY KEY,
  due_ms BIGINT NOT NULL,
  owner INTEGER
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE INDEX outbox_due ON outbox_queues (due_ms)
  WHERE owner IS NULL;
