-- A second wall around what is known of people (memory/stores/postgres_owner.py): these tables show a transaction the rows of
-- the persons it has named, and one that has named nobody nothing. '*' names everybody: for counts, ids and migrations.

-- The setting is read in subselects: once a statement, not once a row. FORCE, because the gateway's role owns the tables.
DO $$
DECLARE
  personal text;
BEGIN
  FOREACH personal IN ARRAY ARRAY['facts', 'profile_items', 'fragments', 'corpora', 'vectors'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', personal);
    EXECUTE format($policy$CREATE POLICY owner ON %I USING (
      person_id = ANY ((SELECT nullif(nullif(current_setting('clew.person', true), ''), '*')::bigint[])::bigint[])
      OR (SELECT current_setting('clew.person', true)) = '*')$policy$, personal);
  END LOOP;
END $$;

-- A term is its fragment's owner's. The fragment is written by the same statement, which does not see it yet: writing is let
-- be to whoever names somebody.
ALTER TABLE terms ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON terms
  USING (EXISTS (SELECT FROM fragments f WHERE f.scope_id = terms.scope_id AND f.id = terms.id))
  WITH CHECK ((SELECT current_setting('clew.person', true)) <> '');
