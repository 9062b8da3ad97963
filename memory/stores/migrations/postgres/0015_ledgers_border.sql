-- works with: 13
-- outside a transaction
-- Ledgers come apart by quarters (0016). First the border of what is there already is proved, which stops nobody: attached with that
-- proof, the old table is not read again while everybody waits. By ids, whose upper bits are milliseconds since 2024.
ALTER TABLE ledgers DROP CONSTRAINT IF EXISTS ledgers_border;

DO $$ BEGIN EXECUTE format('ALTER TABLE ledgers ADD CONSTRAINT ledgers_border CHECK (turn_id < %s) NOT VALID',
  ((extract(epoch FROM date_trunc('quarter', (now() AT TIME ZONE 'UTC') + interval '7 days') + interval '3 months')
    * 1000)::bigint - 1704067200000) << 22); END $$;

ALTER TABLE ledgers VALIDATE CONSTRAINT ledgers_border;
