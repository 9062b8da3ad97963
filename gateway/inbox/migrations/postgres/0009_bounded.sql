-- works with: 7
-- Rows come and go all the time here, and a share of the table, as by default, is the more the longer it was not cleaned up: by numbers
-- instead, so that what was deleted makes room for what comes.
ALTER TABLE inbox_events SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

ALTER TABLE inbox_dedupe SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

ALTER TABLE outbox_chunks SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

ALTER TABLE outbox_replies SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- How many messages wait, counted by one instance at a time for all.
CREATE UNLOGGED TABLE inbox_backlog (
  one BOOLEAN PRIMARY KEY CHECK (one),
  waiting BIGINT NOT NULL,
  counted TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);
