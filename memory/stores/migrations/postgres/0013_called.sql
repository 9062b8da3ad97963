-- By what names persons are found, wherever in a name (memory/called.py): each end of it, folded. Noted when a turn is learned from,
-- so of who has spoken since this table is there. No prompt is made from it: admins read it, by their rights.
CREATE TABLE called (
  channel text NOT NULL, -- encoded, as in a key
  part text COLLATE "C" NOT NULL, -- a beginning is a stretch of the index
  person_id bigint NOT NULL,
  name text COLLATE "C" NOT NULL, -- as it was written
  PRIMARY KEY (channel, part, person_id, name)
);
CREATE INDEX called_person ON called (person_id, channel, name);
