-- works with: 13
-- Whether a term is its owner's is looked up for each term that is read, by its key. Without the OFFSET the planner may instead
-- read all of the owner's fragments into a table, once a statement, and does so as soon as it expects many terms.
ALTER POLICY owner ON terms
  USING (EXISTS (SELECT FROM fragments f WHERE f.scope_id = terms.scope_id AND f.id = terms.id OFFSET 0));
