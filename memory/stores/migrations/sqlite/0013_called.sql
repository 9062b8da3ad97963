-- By what names persons are found, wherever in a name (memory/called.py): each end of it, folded. Noted when a turn is learned from,
-- so of who has spoken since this table is there.
CREATE TABLE called (
  channel TEXT NOT NULL, -- encoded, as in a key
  part TEXT NOT NULL,
  person_id INTEGER NOT NULL,
  name TEXT NOT NULL, -- as it was written
  PRIMARY KEY (channel, part, person_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX called_person ON called (person_id, channel, name);
