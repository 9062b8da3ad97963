-- works with: 13
-- What has had its time goes by whole tables instead of row by row. Later quarters are made ahead (memory/stores/postgres_quarters.py);
-- there is no partition for what fits none: each new one would have to search it.
LOCK TABLE ledgers IN ACCESS EXCLUSIVE MODE;
ALTER TABLE ledgers RENAME TO ledgers_first;
ALTER INDEX ledgers_pkey RENAME TO ledgers_first_pkey;
ALTER INDEX ledgers_age RENAME TO ledgers_first_age;
ALTER INDEX ledgers_due RENAME TO ledgers_first_due;

CREATE TABLE ledgers (LIKE ledgers_first INCLUDING DEFAULTS) PARTITION BY RANGE (turn_id);
ALTER TABLE ledgers ADD PRIMARY KEY (turn_id);
CREATE INDEX ledgers_age ON ledgers (created_ms);
CREATE INDEX ledgers_due ON ledgers (scope_id, turn_id) WHERE due_ms IS NOT NULL;

DO $$ BEGIN EXECUTE format('ALTER TABLE ledgers ATTACH PARTITION ledgers_first FOR VALUES FROM (MINVALUE) TO (%s)',
  (SELECT substring(pg_get_constraintdef(oid) FROM '\d+') FROM pg_constraint
    WHERE conrelid = 'ledgers_first'::regclass AND conname = 'ledgers_border')); END $$;

ALTER TABLE ledgers_first DROP CONSTRAINT ledgers_border;
