-- Which message of its platform an event is, or is about: an edit may come while its message waits, or before it.

ALTER TABLE inbox_events ADD COLUMN subject BYTEA;

-- Conditions that no query by lane or kind alone can meet: `engines.md` A.8, 4.
CREATE INDEX inbox_subject_waiting ON inbox_events (subject)
  WHERE state IN ('accepted', 'running') AND kind = 'message' AND subject IS NOT NULL;

CREATE INDEX inbox_subject_controls ON inbox_events (subject)
  WHERE kind = 'control' AND subject IS NOT NULL;
