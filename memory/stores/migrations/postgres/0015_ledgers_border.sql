-- works with: 13
-- outside a transaction
-- Ledgers come apart by quarters (0016). First the border of what is there already is proved, which stops nobody: attached with that
-- proof, the old table is not read again while everybody waits. By ids, whose upper bits are milliseconds since 2024; beyond the last
-- there is, should a clock have been ahead.
ALTER TABLE ledgers DROP CONSTRAINT IF EXISTS ledgers_border;

DO $$ BEGIN EXECUTE format('ALTER TABLE ledgers ADD CONSTRAINT ledgers_border CHECK (turn_id < %s) NOT VALID',
  ((extract(epoch FROM date_trunc('quarter', greatest((now() AT TIME ZONE 'UTC') + interval '7 days',
    (SELECT to_timestamp(((max(turn_id) >> 22) + 1704067200000) / 1000.0) AT TIME ZONE 'UTC' FROM ledgers))) + interval '3 months')
    * 1000)::bigint - 1704067200000) << 22); END $$;

ALTER TABLE ledgers VALIDATE CONSTRAINT ledgers_border;
