-- works with: 7
-- What many instances share beyond lanes: numbers for their ids, leases on what only one may do, turns to be cut short wherever
-- they run, and hot state for who runs without Redis.

-- `number` is the instance's own in the ids it draws (memory/ids.py), least used first; NULL: of an earlier release, which draws
-- one. The others are for people to see.
ALTER TABLE inbox_instances ADD COLUMN number SMALLINT UNIQUE;

ALTER TABLE inbox_instances ADD COLUMN release TEXT;

ALTER TABLE inbox_instances ADD COLUMN settings TEXT;

ALTER TABLE inbox_instances ADD COLUMN host TEXT;

ALTER TABLE inbox_instances ADD COLUMN joined TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp();

-- The numbers that were given up, and when: an id must not come twice from two clocks.
CREATE TABLE inbox_numbers (
  number SMALLINT PRIMARY KEY,
  left_at TIMESTAMPTZ NOT NULL
);

-- What only one instance may do at a time. `owner` NULL, or of an instance that is gone: anybody may take it; `fence` grows with
-- each holder.
CREATE TABLE inbox_leases (
  name TEXT COLLATE "C" PRIMARY KEY,
  owner INTEGER,
  fence BIGINT NOT NULL
) WITH (fillfactor = 50);

-- Why a running turn is to end early. Whoever runs it looks, by its messages' ids, so that no index is needed.
ALTER TABLE inbox_events ADD COLUMN halt TEXT;

-- May be lost without loss of truth, and is, in a crash of the server. `at` is the moment of the last count, in seconds; `room` what
-- was left of the limit before it.
CREATE UNLOGGED TABLE hot_counts (
  key BYTEA PRIMARY KEY,
  at DOUBLE PRECISION NOT NULL,
  count INTEGER NOT NULL,
  before INTEGER NOT NULL,
  room INTEGER NOT NULL,
  until TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);

CREATE UNLOGGED TABLE hot_shelf (
  key BYTEA PRIMARY KEY,
  value BYTEA NOT NULL,
  until TIMESTAMPTZ NOT NULL
);

CREATE INDEX hot_shelf_until ON hot_shelf (until);

-- Which server's database this is, and on which branch of its history: another one after a restore (postgres_arriving.py).
CREATE TABLE inbox_origin (
  origin TEXT NOT NULL
);
