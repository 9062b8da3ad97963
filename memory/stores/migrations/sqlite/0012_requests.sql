-- What persons asked for that an admin has to do by a day (memory/people.py): one of a kind a person, until it is done.
CREATE TABLE privacy_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  person_id INTEGER NOT NULL REFERENCES persons (id),
  kind TEXT NOT NULL, -- erasure, export
  channel TEXT, -- where they asked, encoded; NULL: an admin noted it
  asked_ms INTEGER NOT NULL,
  due_ms INTEGER NOT NULL,
  UNIQUE (person_id, kind)
) STRICT;
CREATE INDEX privacy_requests_due ON privacy_requests (due_ms, id);

-- An account may be asked for without its kind and tenant.
CREATE INDEX identities_account ON identities (account);
